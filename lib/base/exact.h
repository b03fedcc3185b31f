/* SPDX-License-Identifier: BSD-2-Clause
 * Sums without any rounding: they do not depend on the order of what is added. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "attr.h"

/* A number of whole steps of 2^-TD_EXACT_STEP, 32 bits in each limb: holds sums of 2^64
 * doubles, or squares of them. Zeroed memory is 0. Read only once it is carried. */
#define TD_EXACT_STEP 2176
#define TD_EXACT_LIMBS 136
struct td_exact {
	int64_t limb[TD_EXACT_LIMBS];
	uint32_t pending;
};

/* Adds, or takes away, value * 2^exponent; exponent is -2148 or more. */
void td_exact_add(struct td_exact *x, bool negative, unsigned __int128 value, int exponent);
/* What a finite number is: the value returned * 2^exponent, without its sign. */
uint64_t td_exact_parts(double number, int *ret_exponent);
/* Adds all of `more`, which is 0 then. */
void td_exact_merge(struct td_exact *x, struct td_exact *more);
/* Mean and standard deviation of the n > 0 numbers whose sum, and sum of squares, these are:
 * rounded at the very end alone. */
void td_exact_spread(const struct td_exact *sum, const struct td_exact *squares, uint64_t n,
    double *ret_mean, double *ret_std);
