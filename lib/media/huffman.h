/* SPDX-License-Identifier: BSD-2-Clause
 * Baseline JPEG's Huffman codes: tables, and blocks of coefficients from bits. Knows
 * nothing of files and of libjpeg. */
#pragma once
#include <stdbool.h>

#include "base/attr.h"

#define TD_HUFF_BITS 10 /* of a lookup */
#define TD_HUFF_PADDING \
	3072 /* bytes behind the data that may be read: more than any MCU takes */
#define TD_MCU_BLOCKS 10

/* A code as the file gives it, for the few symbols that are longer than a lookup. */
struct td_huff_code {
	uint8_t bits[17], values[256];
	int32_t last[17];   /* largest code of each length, -1 if there is none */
	int32_t offset[17]; /* from a code of that length to its place in `values` */
};

/* Lookups by the next 10 bits. DC, from the lowest byte: bits of code and value, 64 less
 * that, bits of the value. AC: bits taken in all; places to go on, 64 less the bits up to
 * the end of the value, bits of the value; the same three for a second coefficient,
 * whose code lies in these 10 bits as well (0 places and the first one again if not).
 * A first byte 0: not in the table. */
struct td_huff_dc {
	uint32_t fast[1 << TD_HUFF_BITS];
	struct td_huff_code code;
};
struct td_huff_ac {
	uint64_t fast[1 << TD_HUFF_BITS];
	struct td_huff_code code;
};

/* Lookups by the next 12 bits to pass over AC coefficients: bits taken, and in the upper
 * byte places to go on, of as many codes as lie in there whole, their values' bits or not.
 * `fast` holds those of 0 bits, of 1, of 2, ... one after another; only the last are looked
 * up. Places over 62, or 129 and over 62, are to be done code by code. */
#define TD_SKIP_BITS 12
struct td_huff_skip {
	uint16_t fast[2 << TD_SKIP_BITS];
	uint16_t symbols[1 << TD_HUFF_BITS]; /* length of the code and symbol */
	struct td_huff_code code;
};

/* Builds a table; one that was built for the same code stays as it is. False: the
 * code contradicts itself. */
bool td_huff_build_dc(struct td_huff_dc *t, const uint8_t bits[17], const uint8_t values[256]);
bool td_huff_build_ac(struct td_huff_ac *t, const uint8_t bits[17], const uint8_t values[256]);
bool td_huff_build_skip(
    struct td_huff_skip *t, const uint8_t bits[17], const uint8_t values[256]);

/* A place in data without stuffed zeros. The upper n bits of `buf` come next; what is
 * below them is no more than a copy of what lies at `at`. */
struct td_bits {
	const uint8_t *at, *end;
	uint64_t buf;
	unsigned n;
};

void td_bits_start(
    struct td_bits *b, const uint8_t *at, const uint8_t *end, unsigned skip_bits);
/* Bits between `base` and the place. */
static inline uint64_t td_bits_place(const struct td_bits *b, const uint8_t *base)
{
	return (uint64_t)(b->at - base) * 8 - b->n;
}

/* What an MCU is made of: `ac` is for decoding, `skip` for the rest. */
struct td_mcu {
	unsigned n;
	struct {
		const struct td_huff_dc *dc;
		const struct td_huff_ac *ac;
		const struct td_huff_skip *skip;
		unsigned component;
	} block[TD_MCU_BLOCKS];
};

typedef int16_t td_block[64];

/* Where an MCU begins: bits from the start of the data; DC values before it. */
struct td_mark {
	uint32_t place;
	int32_t dc[3];
};

/* Working memory for walking over the data at several places at once: a code read from any
 * place soon falls into step with the true one. marks[0] is what is asked for: where it
 * begins, and then where each MCU behind it does. */
#define TD_LANES 3
#define TD_LANE_MARKS 2048
struct td_walk {
	struct td_mark marks[TD_LANES * TD_LANE_MARKS];
	struct td_mark guesses[TD_LANES - 1][TD_LANE_MARKS];
};

/* The loops, one set for each instruction set; all give the same. */
struct td_huff {
	const char *name;
	/* Decodes an MCU into zeroed blocks, coefficients in natural order as libjpeg wants
	 * them. False when the data are not sound: a bad code, coefficients beyond the 64th,
	 * a DC value outside of 16 bits, bits beyond the end. */
	bool (*decode)(const struct td_mcu *mcu, struct td_bits *b, int32_t dc[4],
	    td_block *const *blocks);
	/* Passes over n MCUs. */
	bool (*pass)(const struct td_mcu *mcu, struct td_bits *b, int32_t dc[4], uint64_t n);
	/* From marks[0] on over at most `left` MCUs and as many as have room; the number of
	 * marks behind it, 0 when the data are not sound. The DC values are only sure to be
	 * of 16 bits if those of all marks are. Three components at most, data of less than
	 * 2^29 bytes. */
	size_t (*walk)(const struct td_mcu *mcu, const uint8_t *data, size_t len,
	    struct td_walk *w, uint64_t left);
};

/* The sets that run here, the best one last, NULL behind it; the first is plain C. */
const struct td_huff *td_huff_at(unsigned i);
const struct td_huff *td_huff_best(void);
