/* SPDX-License-Identifier: BSD-2-Clause
 * ENVI: the numbers of a part, from any interleave and byte order. */
#include <string.h>

#include "base/bits.h"
#include "base/err.h"
#include "envi.h"

/* Read at once at most, and lines are taken together as long as what they become is no
 * larger: it stays in the cache while bands are put in one after another. */
#define BLOCK_BYTES (1u << 20)

#define SWAP(type, swap)                                                                           \
	do {                                                                                       \
		for (size_t i = 0; i < bytes; i += sizeof(type)) {                                 \
			type v;                                                                    \
			memcpy(&v, (char *)data + i, sizeof v);                                    \
			v = swap(v);                                                               \
			memcpy((char *)data + i, &v, sizeof v);                                    \
		}                                                                                  \
	} while (0)

static void swap_bytes(void *data, size_t bytes, size_t number_bytes)
{
	if (number_bytes == 2)
		SWAP(uint16_t, __builtin_bswap16);
	else if (number_bytes == 4)
		SWAP(uint32_t, __builtin_bswap32);
	else
		SWAP(uint64_t, __builtin_bswap64);
}

struct item16 {
	uint64_t half[2];
};

#define SPREAD(type)                                                                               \
	do {                                                                                       \
		for (size_t i = 0; i < n; i++) {                                                   \
			type v;                                                                    \
			memcpy(&v, (const char *)in + i * in_step, sizeof v);                      \
			memcpy((char *)out + i * out_step, &v, sizeof v);                          \
		}                                                                                  \
	} while (0)

/* Copies n items of z bytes, with steps in bytes. */
static void spread(void *out, size_t out_step, const void *in, size_t in_step, size_t n, size_t z)
{
	switch (z) {
	case 1:
		SPREAD(uint8_t);
		break;
	case 2:
		SPREAD(uint16_t);
		break;
	case 4:
		SPREAD(uint32_t);
		break;
	case 8:
		SPREAD(uint64_t);
		break;
	default:
		SPREAD(struct item16);
	}
}

/* A part in terms of the file. */
struct window {
	const struct td_raster *r;
	const struct td_envi *v;
	uint64_t line, lines, sample, samples, band, bands;
	const uint32_t *list;
	size_t z, number_bytes;
	uint8_t *out;
	struct td_buf *scratch;
};

static uint64_t band_at(const struct window *w, uint64_t i)
{
	return w->list ? w->list[i] : w->band + i;
}

static uint64_t address(const struct window *w, uint64_t line, uint64_t sample, uint64_t band)
{
	const struct td_envi *v = w->v;
	return v->start + line * v->line + sample * v->sample + band * v->band;
}

static int fetch(const struct window *w, void *out, size_t bytes, uint64_t at,
    struct tundish_error *e)
{
	int rc = td_bytes_read(&w->r->pixels, out, bytes, at, e);
	if (rc == 0 && w->v->swap)
		swap_bytes(out, bytes, w->number_bytes);
	return rc;
}

/* Whole pixels in the order of the file: straight into place, as much at once as lies
 * together. */
static int read_straight(const struct window *w, struct tundish_error *e)
{
	const struct td_envi *v = w->v;
	uint64_t row = w->samples * w->bands * w->z, rows = 1;
	if (row == v->line)
		rows = TD_MAX(BLOCK_BYTES / row, (uint64_t)1);
	for (uint64_t l = 0; l < w->lines;) {
		uint64_t n = TD_MIN(rows, w->lines - l);
		uint64_t from = address(w, w->line + l, w->sample, w->band);
		int rc = fetch(w, w->out + l * row, (size_t)(n * row), from, e);
		if (rc < 0)
			return rc;
		l += n;
	}
	return 0;
}

/* Some bands out of whole pixels. */
static int read_pixels(const struct window *w, struct tundish_error *e)
{
	uint64_t least = UINT64_MAX, most = 0;
	for (uint64_t i = 0; i < w->bands; i++) {
		least = TD_MIN(least, band_at(w, i));
		most = TD_MAX(most, band_at(w, i));
	}
	size_t pixel = (size_t)w->v->sample, some = (size_t)((most - least + 1) * w->z);
	uint64_t step = TD_MAX((uint64_t)1, BLOCK_BYTES / pixel);
	step = TD_MIN(step, w->samples);
	/* a pixel of more bands than fit is taken number by number */
	bool single = pixel > BLOCK_BYTES;
	if (!single && !td_buf_fit(w->scratch, (size_t)(step * pixel)))
		return td_err_memory(e);
	uint8_t *to = w->out;
	for (uint64_t l = 0; l < w->lines; l++)
		for (uint64_t s = 0; s < w->samples; s += step) {
			uint64_t n = TD_MIN(step, w->samples - s);
			uint64_t from = address(w, w->line + l, w->sample + s, least);
			int rc = 0;
			if (!single)
				rc = fetch(w, w->scratch->data, (size_t)(n - 1) * pixel + some, from, e);
			for (uint64_t i = 0; rc == 0 && i < w->bands; i++) {
				size_t skip = (size_t)((band_at(w, i) - least) * w->z);
				if (single)
					rc = fetch(w, to + i * w->z, w->z, from + skip, e);
				else
					spread(to + i * w->z, (size_t)(w->bands * w->z),
					    w->scratch->data + skip, pixel, (size_t)n, w->z);
			}
			if (rc < 0)
				return rc;
			to += n * w->bands * w->z;
		}
	return 0;
}

/* Samples [from, from + n) of one band, over `lines` lines at once where they lie together. */
static int read_run(const struct window *w, uint64_t line, uint64_t lines, uint64_t from, uint64_t n,
    uint64_t band, struct tundish_error *e)
{
	size_t bytes = (size_t)(lines * n * w->z);
	uint64_t at = address(w, w->line + line, w->sample + from, band_at(w, band));
	int rc = fetch(w, w->scratch->data, bytes, at, e);
	if (rc < 0)
		return rc;
	uint64_t pixel = line * w->samples + from;
	spread(w->out + (pixel * w->bands + band) * w->z, (size_t)(w->bands * w->z),
	    w->scratch->data, w->z, (size_t)(lines * n), w->z);
	return 0;
}

/* Band after band, for a few lines at a time. */
static int read_bands(const struct window *w, struct tundish_error *e)
{
	uint64_t row = w->samples * w->z, together = 1;
	uint64_t step = TD_MIN(w->samples, BLOCK_BYTES / w->z);
	/* the product of three sizes fits: it is at most the size of the part */
	uint64_t block = TD_MAX((uint64_t)1, BLOCK_BYTES / TD_MAX(row * w->bands, (uint64_t)1));
	block = TD_MIN(block, w->lines);
	if (w->samples == step && w->v->line == row)
		together = TD_MIN(block, BLOCK_BYTES / row);
	if (!td_buf_fit(w->scratch, (size_t)(together * step * w->z)))
		return td_err_memory(e);
	for (uint64_t l = 0; l < w->lines; l += block) {
		uint64_t end = TD_MIN(l + block, w->lines);
		for (uint64_t b = 0; b < w->bands; b++)
			for (uint64_t k = l; k < end; k += together)
				for (uint64_t s = 0; s < w->samples; s += step) {
					int rc = read_run(w, k, TD_MIN(together, end - k), s,
					    TD_MIN(step, w->samples - s), b, e);
					if (rc < 0)
						return rc;
				}
	}
	return 0;
}

int td_envi_read(struct td_raster *r, const struct td_raster_part *part, void *out,
    struct td_buf *scratch, struct tundish_error *e)
{
	const struct td_envi *v = r->own;
	struct window w = { .r = r, .v = v, .out = out, .scratch = scratch, .list = part->bands };
	unsigned last = v->library ? 1 : 2;
	w.z = td_elem_bytes(r->info.dtype);
	w.number_bytes = td_elem_number_bytes(r->info.dtype);
	w.line = part->start[0];
	w.lines = part->count[0];
	w.sample = v->library ? 0 : part->start[1];
	w.samples = v->library ? 1 : part->count[1];
	w.band = part->start[last];
	w.bands = part->bands ? part->n_bands : part->count[last];
	if (r->path && !r->pixels_path)
		return td_err(e, TUNDISH_E_NOT_FOUND, "no data file beside the ENVI header");
	int rc = v->gzip ? td_envi_unpack(r, e) : 0;
	if (rc < 0)
		return rc;
	bool all = w.bands == v->bands && (!w.list || w.bands == 1);
	if (all && (v->bands == 1 || v->interleave == TD_ENVI_BIP))
		return read_straight(&w, e);
	return v->interleave == TD_ENVI_BIP ? read_pixels(&w, e) : read_bands(&w, e);
}
