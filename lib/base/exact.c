/* SPDX-License-Identifier: BSD-2-Clause
 * Sums without any rounding: they do not depend on the order of what is added. */
#include "exact.h"

#include <math.h>
#include <string.h>

/* Each addition changes a limb by less than 2^33. */
#define PENDING_MOST ((uint32_t)1 << 28)
/* Sums of doubles are whole steps of 2^-STEP / 2: their lower limbs are 0. */
#define HALF (TD_EXACT_STEP / 64)

/* Brings all limbs but the highest, which has the sign, to 32 bits. */
static void carry(struct td_exact *x)
{
	int64_t over = 0;
	for (int i = 0; i < TD_EXACT_LIMBS; i++) {
		int64_t v = x->limb[i] + over;
		over = v >> 32;
		x->limb[i] = i + 1 < TD_EXACT_LIMBS ? v & UINT32_MAX : v;
	}
	x->pending = 0;
}

void td_exact_add(struct td_exact *x, bool negative, unsigned __int128 value, int exponent)
{
	unsigned bit = (unsigned)(exponent + TD_EXACT_STEP), shift = bit % 32;
	for (int64_t *limb = &x->limb[bit / 32]; value; value >>= 32, limb++) {
		uint64_t v = (uint64_t)(uint32_t)value << shift;
		int64_t low = (int64_t)(v & UINT32_MAX), high = (int64_t)(v >> 32);
		limb[0] += negative ? -low : low;
		if (high)
			limb[1] += negative ? -high : high;
	}
	if (++x->pending == PENDING_MOST)
		carry(x);
}

uint64_t td_exact_parts(double number, int *ret_exponent)
{
	uint64_t bits;
	memcpy(&bits, &number, sizeof bits);
	int e = (int)(bits >> 52 & 0x7ff);
	uint64_t fraction = bits & (((uint64_t)1 << 52) - 1);
	*ret_exponent = (e ? e : 1) - 1075;
	return e ? fraction | (uint64_t)1 << 52 : fraction;
}

void td_exact_merge(struct td_exact *x, struct td_exact *more)
{
	carry(x);
	carry(more);
	for (int i = 0; i < TD_EXACT_LIMBS; i++)
		x->limb[i] += more->limb[i];
	carry(x);
	*more = (struct td_exact){ .pending = 0 };
}

/* The limbs without sign. True where it is below 0. */
static bool magnitude(const struct td_exact *x, uint32_t to[TD_EXACT_LIMBS])
{
	struct td_exact copy = *x;
	carry(&copy);
	bool negative = copy.limb[TD_EXACT_LIMBS - 1] < 0;
	for (int i = 0; negative && i < TD_EXACT_LIMBS; i++)
		copy.limb[i] = -copy.limb[i];
	carry(&copy);
	for (int i = 0; i < TD_EXACT_LIMBS; i++)
		to[i] = (uint32_t)copy.limb[i];
	return negative;
}

/* Of n limbs of 32 bits, times 2^-STEP. */
static long double value_of(const uint32_t *limbs, int n)
{
	unsigned __int128 top = 0;
	while (n > 0 && limbs[n - 1] == 0)
		n--;
	int taken = n < 4 ? n : 4;
	for (int i = 1; i <= taken; i++)
		top = top << 32 | limbs[n - i];
	return ldexpl((long double)top, 32 * (n - taken) - TD_EXACT_STEP);
}

/* a * n into two limbs more. */
static void times(uint32_t *to, const uint32_t *a, int limbs, uint64_t n)
{
	unsigned __int128 over = 0;
	for (int i = 0; i < limbs + 2; i++) {
		over += i < limbs ? (unsigned __int128)a[i] * n : 0;
		to[i] = (uint32_t)over;
		over >>= 32;
	}
}

/* to -= a * a, which is no more. */
static void take_square(uint32_t *to, int n_to, const uint32_t *a, int n)
{
	for (int i = 0; i < n; i++) {
		uint64_t up = 0;
		int64_t below = 0;
		for (int k = 0; a[i] && i + k < n_to; k++) {
			up += k < n ? (uint64_t)a[i] * a[k] : 0;
			int64_t v = (int64_t)to[i + k] - (uint32_t)up + below;
			to[i + k] = (uint32_t)v;
			below = v >> 32;
			up >>= 32;
		}
	}
}

void td_exact_spread(const struct td_exact *sum, const struct td_exact *squares, uint64_t n,
    double *ret_mean, double *ret_std)
{
	uint32_t s[TD_EXACT_LIMBS], q[TD_EXACT_LIMBS], spread[TD_EXACT_LIMBS + 2];
	bool negative = magnitude(sum, s);
	magnitude(squares, q);
	long double mean = value_of(s, TD_EXACT_LIMBS) / (long double)n;
	*ret_mean = (double)(negative ? -mean : mean);
	/* n * squares - sum^2 is exact: nothing cancels */
	times(spread, q, TD_EXACT_LIMBS, n);
	take_square(spread, TD_EXACT_LIMBS + 2, s + HALF, TD_EXACT_LIMBS - HALF);
	*ret_std = (double)(sqrtl(value_of(spread, TD_EXACT_LIMBS + 2)) / (long double)n);
}
