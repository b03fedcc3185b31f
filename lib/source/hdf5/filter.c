/* SPDX-License-Identifier: BSD-2-Clause
 * Undoing the filters of a chunk: deflate, LZF, shuffle, fletcher32. */
#include <inttypes.h>
#include <isa-l/igzip_lib.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "base/err.h"
#include "inside.h"

enum {
	DEFLATE = 1,
	SHUFFLE = 2,
	FLETCHER32 = 3,
	LZF = 32000,
};

bool td_h5_filters_ours(const struct td_h5_filter *filters, unsigned n)
{
	unsigned packers = 0;
	for (unsigned i = 0; i < n; i++) {
		bool packs = filters[i].id == DEFLATE || filters[i].id == LZF;
		if (!packs && filters[i].id != SHUFFLE && filters[i].id != FLETCHER32)
			return false;
		packers += packs;
	}
	return packers <= 1; /* how much lies between two is known nowhere */
}

static int inflate_all(uint8_t *out, const struct td_buf *in, uint64_t bytes, struct tundish_error *e)
{
	struct inflate_state *s = malloc(sizeof *s);
	if (!s)
		return td_err_memory(e);
	isal_inflate_init(s);
	s->crc_flag = ISAL_ZLIB;
	s->next_in = in->data;
	s->next_out = out;
	s->avail_in = (uint32_t)in->len;
	s->avail_out = (uint32_t)bytes;
	int status = isal_inflate(s);
	bool whole = status == ISAL_DECOMP_OK && s->block_state == ISAL_BLOCK_FINISH && s->avail_out == 0;
	free(s);
	return whole ? 0 : td_err(e, TUNDISH_E_CORRUPT, "damaged chunk: its deflate data do not hold");
}

/* LibLZF's form: a byte below 32 is followed by that many and one literals, any other by
 * where a copy comes from and how long it is. */
static int unpack_lzf(uint8_t *out, const struct td_buf *in, uint64_t bytes, struct tundish_error *e)
{
	const uint8_t *p = in->data, *end = p + in->len;
	uint8_t *o = out, *o_end = o + bytes;
	while (p < end) {
		unsigned control = *p++;
		if (control < 32) {
			size_t n = control + 1;
			if (n > (size_t)(end - p) || n > (size_t)(o_end - o))
				break;
			memcpy(o, p, n);
			o += n;
			p += n;
			continue;
		}
		size_t n = (control >> 5) + 2;
		if (n == 9 && p < end)
			n += *p++;
		if (p == end) {
			p = NULL;
			break;
		}
		size_t back = (size_t)(control & 31) << 8 | *p++;
		back++;
		if (back > (size_t)(o - out) || n > (size_t)(o_end - o)) {
			p = NULL;
			break;
		}
		for (; n; n--, o++)
			*o = o[-(ptrdiff_t)back];
	}
	return p == end && o == o_end ? 0 : td_err(e, TUNDISH_E_CORRUPT, "damaged chunk: its LZF data do not hold");
}

/* Byte k of all numbers stand together: `n` bytes on from byte k - 1. */
#define JOIN(type)                                                                                         \
	for (size_t i = 0; i < n; i++) {                                                                   \
		type v = 0;                                                                                \
		for (size_t k = 0; k < sizeof v; k++)                                                      \
			v |= (type)((type)in[k * n + i] << 8 * k);                                         \
		memcpy(out + i * sizeof v, &v, sizeof v);                                                  \
	}

static void unshuffle(uint8_t *restrict out, const uint8_t *restrict in, uint64_t bytes, size_t width)
{
	size_t n = width > 1 ? bytes / width : 0;
	if (width == 2)
		JOIN(uint16_t)
	else if (width == 4)
		JOIN(uint32_t)
	else if (width == 8)
		JOIN(uint64_t)
	else
		for (size_t i = 0; i < n; i++)
			for (size_t k = 0; k < width; k++)
				out[i * width + k] = in[k * n + i];
	memcpy(out + n * width, in + n * width, bytes - n * width);
}

static uint32_t fletcher32(const uint8_t *p, size_t bytes)
{
	uint32_t a = 0, b = 0;
	for (size_t words = bytes / 2; words;) {
		size_t block = TD_MIN(words, (size_t)360); /* no sum overflows before that */
		words -= block;
		for (; block; block--, p += 2)
			b += a += td_be16(p);
		a = (a & 0xffff) + (a >> 16);
		b = (b & 0xffff) + (b >> 16);
	}
	if (bytes % 2) {
		b += a += (uint32_t)*p << 8;
		a = (a & 0xffff) + (a >> 16);
		b = (b & 0xffff) + (b >> 16);
	}
	a = (a & 0xffff) + (a >> 16);
	b = (b & 0xffff) + (b >> 16);
	return b << 16 | a;
}

/* Old writers turned the bytes of each half around. */
static int check_sum(struct td_buf *data, struct tundish_error *e)
{
	if (data->len < 4)
		return td_err(e, TUNDISH_E_CORRUPT, "damaged chunk: no room for its checksum");
	data->len -= 4;
	uint32_t told = td_le32(data->data + data->len), is = fletcher32(data->data, data->len);
	uint32_t turned = (is & 0x00ff00ff) << 8 | (is >> 8 & 0x00ff00ff);
	return told == is || told == turned ? 0 :
	    td_err(e, TUNDISH_E_CORRUPT, "damaged chunk: its checksum is %08" PRIx32 ", not %08" PRIx32, is, told);
}

/* The filters that change bytes from `i` down, this one not counted. */
static bool more_below(const struct td_h5_filter *filters, unsigned i, uint32_t mask)
{
	while (i-- > 0)
		if (filters[i].id != FLETCHER32 && !(mask >> i & 1))
			return true;
	return false;
}

/* Undoes one that changes bytes: the last straight into `out`, others into the raw buffer. */
static int undo(uint8_t *out, uint64_t bytes, struct td_h5_room *room, const struct td_h5_filter *f, uint64_t packed,
    bool last, struct tundish_error *e)
{
	uint64_t makes = f->id == SHUFFLE ? room->raw.len : packed;
	bool direct = last && makes == bytes;
	int rc = 0;
	if (!direct && !td_buf_fit(&room->scratch, makes))
		return td_err_memory(e);
	uint8_t *to = direct ? out : room->scratch.data;
	if (f->id == DEFLATE)
		rc = inflate_all(to, &room->raw, makes, e);
	else if (f->id == LZF)
		rc = unpack_lzf(to, &room->raw, makes, e);
	else
		unshuffle(to, room->raw.data, makes, f->n_values ? f->values[0] : 0);
	if (direct || rc < 0)
		return rc < 0 ? rc : 1;
	struct td_buf swap = room->raw;
	room->raw = room->scratch;
	room->scratch = swap;
	room->raw.len = makes;
	return 0;
}

int td_h5_unfilter(uint8_t *out, uint64_t bytes, struct td_h5_room *room, const struct td_h5_filter *filters,
    unsigned n, uint32_t mask, struct tundish_error *e)
{
	uint64_t packed = bytes; /* what goes into the packing filter */
	int rc = 0;
	bool sums = false; /* some that come behind the bytes are still to be checked */
	for (unsigned i = 0; i < n && filters[i].id != DEFLATE && filters[i].id != LZF; i++)
		packed += filters[i].id == FLETCHER32 && !(mask >> i & 1) ? 4 : 0;
	sums = packed != bytes;
	for (unsigned i = n; rc == 0 && i-- > 0;) {
		if (mask >> i & 1)
			continue;
		if (filters[i].id == FLETCHER32)
			rc = check_sum(&room->raw, e);
		else
			rc = undo(out, bytes, room, &filters[i], packed, !sums && !more_below(filters, i, mask), e);
	}
	if (rc == 0 && room->raw.len != bytes)
		rc = td_err(e, TUNDISH_E_CORRUPT, "damaged chunk: %zu bytes, not %" PRIu64, room->raw.len, bytes);
	if (rc == 0)
		memcpy(out, room->raw.data, bytes);
	return rc > 0 ? 0 : rc;
}
