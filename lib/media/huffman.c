/* SPDX-License-Identifier: BSD-2-Clause
 * Baseline JPEG's Huffman codes: tables, and blocks of coefficients from bits. */
#include "huffman-bits.h"

#include "base/bits.h"

#define LOOKUPS TD_HUFF_LOOKUPS

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

int td_huff_new_code(struct td_huff_code *c, uint16_t symbols[LOOKUPS], const uint8_t bits[17],
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
	int rc = td_huff_new_code(&t->code, symbols, bits, values);
	if (rc <= 0)
		return rc == 0;
	for (unsigned i = 0; i < LOOKUPS; i++) {
		unsigned size = symbols[i] & 255, total = (symbols[i] >> 8) + size;
		bool usable = symbols[i] && size <= 15;
		t->fast[i] = usable ? total | (64 - total) << 8 | size << 16 : 0;
	}
	return true;
}

static uint64_t part(unsigned total, unsigned symbol, unsigned go_on)
{
	return go_on | (64 - total) << 8 | (symbol & 15) << 16;
}

bool td_huff_build_ac(struct td_huff_ac *t, const uint8_t bits[17], const uint8_t values[256])
{
	uint16_t symbols[LOOKUPS];
	int rc = td_huff_new_code(&t->code, symbols, bits, values);
	if (rc <= 0)
		return rc == 0;
	for (unsigned i = 0; i < LOOKUPS; i++) {
		unsigned first = symbols[i], total = (first >> 8) + (first & 15);
		if (!first) {
			t->fast[i] = 0;
			continue;
		}
		uint64_t one = part(total, first, td_huff_places(first)), two = part(total, first, 0);
		unsigned second =
		    total < TD_HUFF_BITS ? symbols[i << total & (LOOKUPS - 1)] : 0;
		if (td_huff_places(first) != TD_HUFF_END && second &&
		    total + (second >> 8) <= TD_HUFF_BITS) {
			total += (second >> 8) + (second & 15);
			two = part(total, second, td_huff_places(second));
		}
		t->fast[i] = total | one << 8 | two << 32;
	}
	return true;
}

void td_bits_start(struct td_bits *b, const uint8_t *at, const uint8_t *end, unsigned skip_bits)
{
	*b = (struct td_bits){ .at = at, .end = end };
	refill(b);
	b->buf <<= skip_bits;
	b->n -= skip_bits;
}

unsigned td_huff_long_code(const struct td_huff_code *c, uint64_t buf)
{
	for (int len = TD_HUFF_BITS + 1; len <= 16; len++) {
		int32_t code = (int32_t)(buf >> (64 - len));
		if (code <= c->last[len])
			return (unsigned)len << 8 | c->values[(code + c->offset[len]) & 255];
	}
	return 0;
}

bool td_huff_slow_dc(const struct td_huff_code *c, struct td_bits *b, int32_t *ret)
{
	unsigned symbol = td_huff_long_code(c, b->buf), size = symbol & 255,
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
	unsigned symbol = td_huff_long_code(c, b->buf), total = (symbol >> 8) + (symbol & 15);
	if (!symbol)
		return false;
	*k += td_huff_places(symbol);
	block[order[*k]] = (int16_t)value(b->buf, 64 - total, symbol & 15);
	take(b, total);
	return *k <= 64 || *k >= TD_HUFF_END;
}

/* The coefficients behind DC. */
BODY bool ac_body(const struct td_huff_ac *t, struct td_bits *b, int16_t *block)
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
			if (!slow_ac(&t->code, &slow, &place, block))
				return false;
			*b = slow;
			k = place;
			continue;
		}
		unsigned k1 = k + (e >> 8 & 255);
		k = k1 + (e >> 32 & 255);
		block[order[k1]] = (int16_t)value(b->buf, e >> 16, e >> 24);
		block[order[k]] = (int16_t)value(b->buf, e >> 40, e >> 48);
		take(b, e);
		if (k < 64 || k - TD_HUFF_END < 64)
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

BODY bool decode_body(const struct td_mcu *mcu, struct td_bits *bits, int32_t dc[4],
    td_block *const *blocks)
{
	struct td_bits b = *bits;
	for (unsigned i = 0; i < mcu->n; i++) {
		int32_t *last = &dc[mcu->block[i].component];
		int16_t *block = *blocks[i];
		if (!td_huff_add_dc(mcu->block[i].dc, &b, last) || *last != (int16_t)*last ||
		    !ac_body(mcu->block[i].ac, &b, block))
			return false;
		block[0] = (int16_t)*last;
	}
	*bits = b;
	return !td_bits_behind(&b);
}

#define LOOPS(isa, attribute)                                                           \
	attribute static bool decode_##isa(const struct td_mcu *mcu, struct td_bits *b, \
	    int32_t dc[4], td_block *const *blocks)                                     \
	{                                                                               \
		return decode_body(mcu, b, dc, blocks);                                 \
	}                                                                               \
	static const struct td_huff set_##isa = { #isa, decode_##isa, td_huff_pass_##isa, \
		td_huff_walk_##isa };

LOOPS(plain, )
#if defined(__x86_64__)
LOOPS(bmi2, TD_HUFF_BMI2)
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
