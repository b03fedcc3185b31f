/* SPDX-License-Identifier: BSD-2-Clause
 * Baseline JPEG's Huffman codes: tables, and blocks of coefficients from bits. */
#include "huffman.h"

#include <string.h>

#include "base/bits.h"

#define LOOKUPS (1u << TD_HUFF_BITS)
#define END_OF_BLOCK 128 /* places to go on: out of any block */

/* Place in a block by its number in the file plus one. Whatever is no coefficient goes
 * to place 0, which the DC value is written to last. */
static const uint8_t order[256] = { 0, 0, 1, 8, 16, 9, 2, 3, 10, 17, 24, 32, 25, 18, 11, 4, 5,
	12, 19, 26, 33, 40, 48, 41, 34, 27, 20, 13, 6, 7, 14, 21, 28, 35, 42, 49, 56, 57, 50,
	43, 36, 29, 22, 15, 23, 30, 37, 44, 51, 58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54,
	47, 55, 62, 63 };

static bool fill_code(struct td_huff_code *c, const uint8_t bits[17], const uint8_t values[256])
{
	int32_t code = 0, place = 0;
	for (int len = 1; len <= 16; len++) {
		c->offset[len] = place - code;
		code += bits[len];
		place += bits[len];
		if (place > 256 || code > 1 << len)
			return false;
		c->last[len] = bits[len] ? code - 1 : -1;
		code <<= 1;
	}
	memcpy(c->bits, bits, sizeof c->bits);
	memcpy(c->values, values, sizeof c->values);
	return true;
}

static bool same_code(
    const struct td_huff_code *c, const uint8_t bits[17], const uint8_t values[256])
{
	return memcmp(c->bits, bits, sizeof c->bits) == 0 &&
	       memcmp(c->values, values, sizeof c->values) == 0;
}

/* For each lookup the length of its code and its symbol, 0 where the code is longer. */
static void fill_symbols(uint16_t symbols[LOOKUPS], const struct td_huff_code *c)
{
	unsigned at = 0, place = 0;
	for (unsigned len = 1; len <= TD_HUFF_BITS; len++)
		for (unsigned i = 0; i < c->bits[len]; i++, place++) {
			unsigned n = LOOKUPS >> len;
			for (unsigned k = 0; k < n; k++)
				symbols[at + k] = (uint16_t)(len << 8 | c->values[place]);
			at += n;
		}
	memset(symbols + at, 0, (LOOKUPS - at) * sizeof *symbols);
}

/* 1 and the symbols when the code is another than before, 0 when it is the same, -1
 * when it is none: then the next one counts as another. */
static int new_code(struct td_huff_code *c, uint16_t symbols[LOOKUPS], const uint8_t bits[17],
    const uint8_t values[256])
{
	if (same_code(c, bits, values))
		return 0;
	if (!fill_code(c, bits, values)) {
		memset(c, 0, sizeof *c);
		return -1;
	}
	fill_symbols(symbols, c);
	return 1;
}

bool td_huff_build_dc(struct td_huff_dc *t, const uint8_t bits[17], const uint8_t values[256])
{
	uint16_t symbols[LOOKUPS];
	int rc = new_code(&t->code, symbols, bits, values);
	if (rc <= 0)
		return rc == 0;
	for (unsigned i = 0; i < LOOKUPS; i++) {
		unsigned size = symbols[i] & 255, total = (symbols[i] >> 8) + size;
		bool usable = symbols[i] && size <= 15;
		t->fast[i] = usable ? total | (64 - total) << 8 | size << 16 : 0;
	}
	return true;
}

/* Places to go on and bits of the value: the upper bytes of a part of a lookup. */
static unsigned places(unsigned symbol)
{
	unsigned run = symbol >> 4 & 15, size = symbol & 15;
	return size == 0 && run != 15 ? END_OF_BLOCK : run + 1;
}

static uint64_t part(unsigned total, unsigned symbol, unsigned go_on)
{
	return go_on | (64 - total) << 8 | (symbol & 15) << 16;
}

bool td_huff_build_ac(struct td_huff_ac *t, const uint8_t bits[17], const uint8_t values[256])
{
	uint16_t symbols[LOOKUPS];
	int rc = new_code(&t->code, symbols, bits, values);
	if (rc <= 0)
		return rc == 0;
	for (unsigned i = 0; i < LOOKUPS; i++) {
		unsigned first = symbols[i], total = (first >> 8) + (first & 15);
		if (!first) {
			t->fast[i] = 0;
			continue;
		}
		uint64_t one = part(total, first, places(first)), two = part(total, first, 0);
		unsigned second =
		    total < TD_HUFF_BITS ? symbols[i << total & (LOOKUPS - 1)] : 0;
		if (places(first) != END_OF_BLOCK && second &&
		    total + (second >> 8) <= TD_HUFF_BITS) {
			total += (second >> 8) + (second & 15);
			two = part(total, second, places(second));
		}
		t->fast[i] = total | one << 8 | two << 32;
	}
	return true;
}

#define BODY static inline __attribute__((always_inline))

BODY void refill(struct td_bits *b)
{
	uint64_t next;
	memcpy(&next, b->at, sizeof next);
	b->buf |= __builtin_bswap64(next) >> b->n;
	b->at += (63 - b->n) >> 3;
	b->n |= 56;
}

void td_bits_start(struct td_bits *b, const uint8_t *at, const uint8_t *end, unsigned skip_bits)
{
	*b = (struct td_bits){ .at = at, .end = end };
	refill(b);
	b->buf <<= skip_bits;
	b->n -= skip_bits;
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

/* Length and symbol of a code longer than a lookup; 0 if there is none. */
static unsigned long_code(const struct td_huff_code *c, uint64_t buf)
{
	for (int len = TD_HUFF_BITS + 1; len <= 16; len++) {
		int32_t code = (int32_t)(buf >> (64 - len));
		if (code <= c->last[len])
			return (unsigned)len << 8 | c->values[(code + c->offset[len]) & 255];
	}
	return 0;
}

static bool slow_dc(const struct td_huff_code *c, struct td_bits *b, int32_t *ret)
{
	unsigned symbol = long_code(c, b->buf), size = symbol & 255,
		 total = (symbol >> 8) + size;
	if (!symbol || size > 15)
		return false;
	*ret = value(b->buf, 64 - total, size);
	take(b, total);
	return true;
}

/* One coefficient by a long code, at place *k + run; *k as in the fast loop. */
static bool slow_ac(
    const struct td_huff_code *c, struct td_bits *b, unsigned *k, int16_t *block)
{
	refill(b);
	unsigned symbol = long_code(c, b->buf), total = (symbol >> 8) + (symbol & 15);
	if (!symbol)
		return false;
	*k += places(symbol);
	if (block)
		block[order[*k]] = (int16_t)value(b->buf, 64 - total, symbol & 15);
	take(b, total);
	return *k <= 64 || *k >= END_OF_BLOCK;
}

/* The coefficients behind DC. `keep`: or just pass over them. */
BODY bool ac_body(const struct td_huff_ac *t, struct td_bits *b, int16_t *block, bool keep)
{
	unsigned k = 1;
	while (k < 64) {
		/* looked up before the refill: no step leaves less than 10 bits, and so only
		 * the lookup itself holds up the next one */
		uint64_t e = t->fast[b->buf >> (64 - TD_HUFF_BITS)];
		refill(b);
		uint64_t before = b->buf;
		if (td_unlikely(!(e & 255))) {
			/* copies, so that the loop's own state stays in registers */
			struct td_bits slow = *b;
			unsigned place = k;
			if (!slow_ac(&t->code, &slow, &place, keep ? block : NULL))
				return false;
			*b = slow;
			k = place;
			continue;
		}
		unsigned k1 = k + (e >> 8 & 255);
		k = k1 + (e >> 32 & 255);
		if (keep) {
			block[order[k1]] = (int16_t)value(b->buf, e >> 16, e >> 24);
			block[order[k]] = (int16_t)value(b->buf, e >> 40, e >> 48);
		}
		take(b, e);
		if (k < 64 || k - END_OF_BLOCK < 64)
			continue;
		if (k1 == 64) { /* full: the second code was of the next block */
			unsigned total = 64 - (e >> 16 & 255);
			b->buf = before << total;
			b->n += (uint8_t)e - total;
			break;
		}
		if (k1 > 64 || k != 64)
			return false;
	}
	return true;
}

BODY bool block_body(const struct td_huff_dc *dc, const struct td_huff_ac *ac,
    struct td_bits *b, int32_t *last_dc, int16_t *block, bool keep)
{
	uint32_t e = dc->fast[b->buf >> (64 - TD_HUFF_BITS)];
	refill(b);
	int32_t change = value(b->buf, e >> 8, e >> 16 & 255);
	take(b, e);
	if (td_unlikely(!(e & 255))) {
		struct td_bits slow = *b;
		int32_t found;
		if (!slow_dc(&dc->code, &slow, &found))
			return false;
		*b = slow;
		change = found;
	}
	*last_dc += change;
	if (*last_dc != (int16_t)*last_dc || !ac_body(ac, b, block, keep))
		return false;
	if (keep)
		block[0] = (int16_t)*last_dc;
	return true;
}

BODY bool mcus_body(const struct td_mcu *mcu, struct td_bits *bits, int32_t dc[4],
    td_block *const *blocks, uint64_t n, bool keep)
{
	struct td_bits b = *bits;
	for (; n > 0; n--) {
		for (unsigned i = 0; i < mcu->n; i++)
			if (!block_body(mcu->block[i].dc, mcu->block[i].ac, &b,
				&dc[mcu->block[i].component], keep ? *blocks[i] : NULL, keep))
				return false;
		if (b.at > b.end && (size_t)(b.at - b.end) * 8 > b.n)
			return false;
	}
	*bits = b;
	return true;
}

#define LOOPS(isa, attribute)                                                           \
	attribute static bool decode_##isa(const struct td_mcu *mcu, struct td_bits *b, \
	    int32_t dc[4], td_block *const *blocks)                                     \
	{                                                                               \
		return mcus_body(mcu, b, dc, blocks, 1, true);                          \
	}                                                                               \
	attribute static bool pass_##isa(                                               \
	    const struct td_mcu *mcu, struct td_bits *b, int32_t dc[4], uint64_t n)     \
	{                                                                               \
		return mcus_body(mcu, b, dc, NULL, n, false);                           \
	}                                                                               \
	static const struct td_huff set_##isa = { #isa, decode_##isa, pass_##isa };

LOOPS(plain, )
#if defined(__x86_64__)
LOOPS(bmi2, __attribute__((target("bmi,bmi2"))))
#endif

const struct td_huff *td_huff_at(unsigned i)
{
#if defined(__x86_64__)
	if (i == 1 && __builtin_cpu_supports("bmi2"))
		return &set_bmi2;
#endif
	return i == 0 ? &set_plain : NULL;
}

const struct td_huff *td_huff_best(void)
{
	const struct td_huff *best = td_huff_at(1);
	return best ? best : td_huff_at(0);
}
