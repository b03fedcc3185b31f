/* SPDX-License-Identifier: BSD-2-Clause
 * Real numbers that come out the same everywhere: no libm, no locale. */
#pragma once
#include <stdbool.h>

#include "attr.h"

/* From + - * / and a fixed series: the same bits on every CPU, within a few units in
 * the last place of the true value. log: x > 0 and normal; exp: |x| < 700. */
double td_log(double x);
double td_exp(double x);
/* Of an angle in degrees, |degrees| below 1e6; exact at multiples of 90. */
void td_sin_cos(double degrees, double *ret_sin, double *ret_cos);

/* Reads a decimal number ("-.5", "1e-3") at the start of s, at most len bytes; the
 * number of bytes taken, 0: none there. Correctly rounded up to 15 digits. */
size_t td_parse_real(double *ret, const char *s, size_t len);
