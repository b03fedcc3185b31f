/* SPDX-License-Identifier: BSD-2-Clause
 * ENVI: the numbers of a part, from any interleave and byte order. */
#include <string.h>

#include "base/err.h"
#include "envi.h"

#define BLOCK_BYTES (1u << 20) /* read before it is put in order, at most */
#define SLOT_BYTES (1u << 14)  /* of it for one band of BSQ, unless a line has more */
#define GAP_BYTES 4096u
#define BANDS_TOGETHER 64

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

#define TRANSPOSE(type)                                                                            \
	do {                                                                                       \
		for (size_t s = 0; s < samples; s++)                                               \
			for (size_t b = 0; b < bands; b++) {                                       \
				type v;                                                            \
				memcpy(&v, in + b * band_step + s * sizeof v, sizeof v);           \
				memcpy(out + s * out_step + b * sizeof v, &v, sizeof v);           \
			}                                                                          \
	} while (0)

/* From bands of samples to pixels of bands. */
static void transpose(uint8_t *out, size_t out_step, const uint8_t *in, size_t band_step,
    size_t bands, size_t samples, size_t z)
{
	switch (z) {
	case 1:
		TRANSPOSE(uint8_t);
		break;
	case 2:
		TRANSPOSE(uint16_t);
		break;
	case 4:
		TRANSPOSE(uint32_t);
		break;
	case 8:
		TRANSPOSE(uint64_t);
		break;
	default:
		TRANSPOSE(struct item16);
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
	uint64_t out_line; /* bytes of a line there */
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
		td_elem_swap(out, bytes, w->number_bytes);
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

/* Some bands of some lines, in memory before they are put in order: number (l, s, b) at
 * l * line_step + s * z + b * band_step. */
struct block {
	uint64_t line, lines, band, bands; /* in the window */
	uint64_t line_step, band_step;
};

/* Rows of one kind that lie `step` apart in the file, read with what is between them. */
static int fetch_rows(const struct window *w, uint8_t *to, uint64_t line, uint64_t band, uint64_t n,
    uint64_t step, struct tundish_error *e)
{
	uint64_t at = address(w, w->line + line, w->sample, band_at(w, band));
	return fetch(w, to, (size_t)((n - 1) * step + w->samples * w->z), at, e);
}

/* BSQ: rows of one band lie together, when they are that close. */
static int fill_bsq(const struct window *w, const struct block *k, struct tundish_error *e)
{
	uint64_t at_once = k->line_step == w->v->line ? k->lines : 1;
	for (uint64_t b = 0; b < k->bands; b++)
		for (uint64_t l = 0; l < k->lines; l += at_once) {
			uint8_t *to = w->scratch->data + b * k->band_step + l * k->line_step;
			int rc = fetch_rows(w, to, k->line + l, k->band + b, at_once, k->line_step, e);
			if (rc < 0)
				return rc;
		}
	return 0;
}

/* BIL: bands of one line lie together, when they are that close and follow each other. */
static int fill_bil(const struct window *w, const struct block *k, struct tundish_error *e)
{
	bool close = k->band_step == w->v->band;
	for (uint64_t b = 0, n; b < k->bands; b += n) {
		uint64_t first = band_at(w, k->band + b);
		n = 1;
		while (close && b + n < k->bands && band_at(w, k->band + b + n) == first + n)
			n++;
		uint8_t *to = w->scratch->data + b * k->band_step;
		int rc = fetch_rows(w, to, k->line, k->band + b, n, k->band_step, e);
		if (rc < 0)
			return rc;
	}
	return 0;
}

/* A few bands at a time, so that what is read and what is written stay in the cache. */
static void put_block(const struct window *w, const struct block *k)
{
	size_t pixel = (size_t)(w->bands * w->z);
	for (uint64_t l = 0; l < k->lines; l++)
		for (uint64_t b = 0; b < k->bands; b += BANDS_TOGETHER) {
			uint64_t n = TD_MIN(k->bands - b, (uint64_t)BANDS_TOGETHER);
			uint8_t *out = w->out + (k->line + l) * w->out_line + (k->band + b) * w->z;
			transpose(out, pixel, w->scratch->data + l * k->line_step + b * k->band_step,
			    (size_t)k->band_step, (size_t)n, (size_t)w->samples, w->z);
		}
}

/* How far apart rows are in memory: as in the file, if what lies between them is less
 * than the page that the system reads anyway. */
static uint64_t step_of(uint64_t row, uint64_t step)
{
	return step - row <= GAP_BYTES ? step : row;
}

static int read_bands(const struct window *w, struct tundish_error *e)
{
	bool bil = w->v->interleave == TD_ENVI_BIL;
	uint64_t row = w->samples * w->z, lines = 1, bands;
	struct block k = { 0 };
	k.line_step = bil ? row : step_of(row, w->v->line);
	if (!bil)
		lines = TD_MIN(TD_MAX(SLOT_BYTES / k.line_step, (uint64_t)1), w->lines);
	k.band_step = bil ? step_of(row, w->v->band) : lines * k.line_step;
	bands = TD_MIN(TD_MAX(BLOCK_BYTES / k.band_step, (uint64_t)1), w->bands);
	if (!td_buf_fit(w->scratch, (size_t)(bands * k.band_step)))
		return td_err_memory(e);
	for (; k.line < w->lines; k.line += lines) {
		k.lines = TD_MIN(lines, w->lines - k.line);
		for (k.band = 0; k.band < w->bands; k.band += bands) {
			k.bands = TD_MIN(bands, w->bands - k.band);
			int rc = bil ? fill_bil(w, &k, e) : fill_bsq(w, &k, e);
			if (rc < 0)
				return rc;
			put_block(w, &k);
		}
	}
	return 0;
}

/* Rows that are longer than what is read at once are windows of their own. */
static int read_pieces(const struct window *w, struct tundish_error *e)
{
	uint64_t most = BLOCK_BYTES / w->z;
	for (uint64_t s = 0; s < w->samples; s += most) {
		struct window piece = *w;
		piece.sample += s;
		piece.samples = TD_MIN(most, w->samples - s);
		piece.out += s * w->bands * w->z;
		int rc = read_bands(&piece, e);
		if (rc < 0)
			return rc;
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
	w.out_line = w.samples * w.bands * w.z;
	if (r->path && !r->given && !r->pixels_path)
		return td_err(e, TUNDISH_E_NOT_FOUND, "no data file beside the ENVI header");
	int rc = v->gzip ? td_envi_unpack(r, e) : 0;
	if (rc < 0)
		return rc;
	bool all = w.bands == v->bands && (!w.list || w.bands == 1);
	if (all && (v->bands == 1 || v->interleave == TD_ENVI_BIP))
		return read_straight(&w, e);
	return v->interleave == TD_ENVI_BIP ? read_pixels(&w, e) : read_pieces(&w, e);
}
