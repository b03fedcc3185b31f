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

/* Builds a table; one that was built for the same code stays as it is. False: the
 * code contradicts itself. */
bool td_huff_build_dc(struct td_huff_dc *t, const uint8_t bits[17], const uint8_t values[256]);
bool td_huff_build_ac(struct td_huff_ac *t, const uint8_t bits[17], const uint8_t values[256]);

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

/* What an MCU is made of. */
struct td_mcu {
	unsigned n;
	struct {
		const struct td_huff_dc *dc;
		const struct td_huff_ac *ac;
		unsigned component;
	} block[TD_MCU_BLOCKS];
};

typedef int16_t td_block[64];

/* The two loops, one set for each instruction set; all give the same. */
struct td_huff {
	const char *name;
	/* Decodes an MCU into zeroed blocks, coefficients in natural order as libjpeg wants
	 * them. False when the data are not sound: a bad code, coefficients beyond the 64th,
	 * a DC value outside of 16 bits, bits beyond the end. */
	bool (*decode)(const struct td_mcu *mcu, struct td_bits *b, int32_t dc[4],
	    td_block *const *blocks);
	/* Passes over n MCUs. */
	bool (*pass)(const struct td_mcu *mcu, struct td_bits *b, int32_t dc[4], uint64_t n);
};

/* The sets that run here, the best one last, NULL behind it; the first is plain C. */
const struct td_huff *td_huff_at(unsigned i);
const struct td_huff *td_huff_best(void);
