/* SPDX-License-Identifier: BSD-2-Clause
 * Encoded pictures: one file, one item, bytes as they are. */
#pragma once
#include "format.h"

extern const struct td_format td_format_picture;
