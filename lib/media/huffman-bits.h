/* SPDX-License-Identifier: BSD-2-Clause
 * What the loops over Huffman codes share: bits from a place in the data, and the long way
 * for codes that are in no lookup. */
#pragma once
#include <string.h>

#include "huffman.h"

#define TD_HUFF_LOOKUPS (1u << TD_HUFF_BITS)
#define TD_HUFF_END 128 /* places to go on: out of any block */

#define BODY static inline __attribute__((always_inline))

BODY void refill(struct td_bits *b)
{
	uint64_t next;
	memcpy(&next, b->at, sizeof next);
	b->buf |= __builtin_bswap64(next) >> b->n;
	b->at += (63 - b->n) >> 3;
	b->n |= 56;
}

BODY void take(struct td_bits *b, uint64_t bits)
{
	b->buf <<= bits & 63;
	b->n -= (uint8_t)bits;
}

/* The value whose `size` bits end where `right` bits are left; a first bit 0 means that
 * it is negative. */
BODY int32_t value(uint64_t buf, uint64_t right, uint64_t size)
{
	uint32_t mask = (uint32_t)(1u << (size & 31)) - 1,
		 v = (uint32_t)(buf >> (right & 63)) & mask;
	return (int32_t)(v - (2 * v <= mask ? mask : 0));
}

/* 1 and, for each lookup, the length of its code and its symbol (0 where the code is
 * longer) when the code is another than before; 0 when it is the same; -1 when it is none:
 * then the next one counts as another. */
int td_huff_new_code(struct td_huff_code *c, uint16_t symbols[TD_HUFF_LOOKUPS],
    const uint8_t bits[17], const uint8_t values[256]);

/* Places that an AC symbol goes on. */
static inline unsigned td_huff_places(unsigned symbol)
{
	unsigned run = symbol >> 4 & 15, size = symbol & 15;
	return size == 0 && run != 15 ? TD_HUFF_END : run + 1;
}

/* Length and symbol of a code longer than a lookup; 0 if there is none. */
unsigned td_huff_long_code(const struct td_huff_code *c, uint64_t buf);
bool td_huff_slow_dc(const struct td_huff_code *c, struct td_bits *b, int32_t *ret);

/* Takes a DC difference; the lookup comes before the refill, which it does not need. */
BODY bool td_huff_add_dc(const struct td_huff_dc *dc, struct td_bits *b, int32_t *last)
{
	uint32_t e = dc->fast[b->buf >> (64 - TD_HUFF_BITS)];
	refill(b);
	int32_t change = value(b->buf, e >> 8, e >> 16 & 255);
	take(b, e);
	if (td_unlikely(!(e & 255))) {
		/* copies, so that the loop's own state stays in registers */
		struct td_bits slow = *b;
		int32_t found;
		if (!td_huff_slow_dc(&dc->code, &slow, &found))
			return false;
		refill(&slow);
		*b = slow;
		change = found;
	}
	*last = (int32_t)((uint32_t)*last + (uint32_t)change);
	return true;
}

/* Whether bits beyond the end were taken. */
BODY bool td_bits_behind(const struct td_bits *b)
{
	return b->at > b->end && (size_t)(b->at - b->end) * 8 > b->n;
}

#define TD_HUFF_PASSES(isa, attribute)                                                     \
	attribute bool td_huff_pass_##isa(                                                 \
	    const struct td_mcu *mcu, struct td_bits *b, int32_t dc[4], uint64_t n);       \
	attribute size_t td_huff_walk_##isa(const struct td_mcu *mcu, const uint8_t *data, \
	    size_t len, struct td_walk *w, uint64_t left)

TD_HUFF_PASSES(plain, );
#if defined(__x86_64__)
#define TD_HUFF_BMI2 __attribute__((target("bmi,bmi2")))
TD_HUFF_PASSES(bmi2, TD_HUFF_BMI2);
#endif
