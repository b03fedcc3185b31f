/* SPDX-License-Identifier: BSD-2-Clause
 * UTF-8 by itself: is this a character, is all of this valid. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

/* Bytes of the valid UTF-8 character at s (1 to 4), or 0: none, cut, overlong,
 * a surrogate, or beyond U+10FFFF. */
size_t td_utf8_char(const char *s, size_t len);

bool td_utf8_valid(const char *s, size_t len);
