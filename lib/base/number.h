/* SPDX-License-Identifier: BSD-2-Clause
 * Numbers in text, read the same way under any locale. */
#pragma once
#include <stdbool.h>

#include "attr.h"

/* Digits alone, no sign, nothing behind. False also when it does not fit. */
bool td_parse_u64(uint64_t *ret, const char *s, size_t len);
/* As C writes them, "nan" and "inf" too, nothing before or behind; correctly rounded for
 * any number of digits (td_parse_real() is for the short ones that options have). */
bool td_parse_double(double *ret, const char *s, size_t len);
