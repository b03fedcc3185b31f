/* SPDX-License-Identifier: BSD-2-Clause
 * Encoded pictures: one file, one item, bytes as they are. */
#pragma once
#include "format.h"

extern const struct td_format td_format_picture;

/* The name of a picture that is a JPEG or a PNG now: another picture's suffix becomes .jpg or
 * .png. To be freed; NULL without memory. */
char *td_picture_name(const char *name, bool png);
