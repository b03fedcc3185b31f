/* SPDX-License-Identifier: BSD-2-Clause
 * What the raster tests share: whole arrays, their digests, and parts against the whole. */
#pragma once
#include "draw.h"
#include "unit.h"

#include <unistd.h>

#include "base/sha256.h"
#include "media/raster.h"

#define FORMATS "tests/golden/formats/"
#define CASES "tests/golden/cases/"

struct notices {
	unsigned n;
	char last[1024];
};

static inline void on_notice(void *data, const char *text)
{
	struct notices *n = data;
	n->n++;
	snprintf(n->last, sizeof n->last, "%s", text);
}

static inline struct tundish_listener listen_to(struct notices *n)
{
	struct tundish_listener l = { .data = n, .notice = on_notice };
	return l;
}

static inline const char *digest(const void *data, size_t len)
{
	static char hex[65];
	struct td_sha256 s;
	td_sha256_init(&s);
	td_sha256_add(&s, data, len);
	td_sha256_hex(&s, hex);
	return hex;
}

static inline struct td_raster *open_raster(const char *path, struct notices *n)
{
	struct td_raster *r = NULL;
	struct tundish_error e = { 0 };
	struct tundish_listener l = listen_to(n);
	memset(n, 0, sizeof *n);
	int rc = td_raster_open(&r, path, 0, &l, &e);
	if (rc != 0)
		fail_msg("%s: %d %s", path, rc, e.text);
	return r;
}

/* Opening or reading must fail like this. */
static inline void must_fail(const char *path, int code, const char *part)
{
	struct td_raster *r = NULL;
	struct tundish_error e = { 0 };
	struct td_buf scratch = { 0 }, all = { 0 };
	int rc = td_raster_open(&r, path, 0, NULL, &e);
	if (rc == 0) {
		uint64_t bytes;
		struct td_raster_part part_of = td_raster_all(r, 0);
		assert_int_equal(td_raster_part_bytes(&bytes, r, &part_of, NULL), 0);
		assert_true(td_buf_fit(&all, (size_t)bytes));
		rc = td_raster_read(r, &part_of, all.data, &scratch, &e);
	}
	if (rc != code || !strstr(e.text, part))
		fail_msg("%s: %d \"%s\" instead of %d \"%s\"", path, rc, e.text, code, part);
	td_raster_close(r);
	td_buf_free(&scratch);
	td_buf_free(&all);
}

static inline uint8_t *read_part(struct td_raster *r, const struct td_raster_part *part,
    uint64_t *ret_bytes)
{
	struct td_buf scratch = { 0 };
	struct tundish_error e = { 0 };
	if (td_raster_part_bytes(ret_bytes, r, part, &e) != 0)
		fail_msg("%s", e.text);
	uint8_t *out = malloc((size_t)*ret_bytes);
	assert_non_null(out);
	if (td_raster_read(r, part, out, &scratch, &e) != 0)
		fail_msg("%s", e.text);
	assert_true(scratch.cap <= 2 << 20);
	td_buf_free(&scratch);
	return out;
}

static inline uint8_t *read_all(struct td_raster *r, unsigned region, uint64_t *ret_bytes)
{
	struct td_raster_part part = td_raster_all(r, region);
	return read_part(r, &part, ret_bytes);
}

static inline void must_be_array(struct td_raster *r, unsigned region, const char *sha256,
    const char *what)
{
	uint64_t bytes;
	uint8_t *all = read_all(r, region, &bytes);
	if (strcmp(digest(all, (size_t)bytes), sha256) != 0)
		fail_msg("%s: another array", what);
	free(all);
}

static inline void must_have_shape(const struct td_raster *r, unsigned region, uint64_t a,
    uint64_t b, uint64_t c)
{
	const struct td_raster_region *g = &td_raster_info(r)->regions[region];
	uint64_t want[] = { a, b, c };
	assert_int_equal(g->n_axes, c ? 3 : 2);
	for (unsigned i = 0; i < g->n_axes; i++)
		assert_int_equal(g->shape[i], want[i]);
}

/* A part of the whole, item by item. */
static inline void must_be_part(const struct td_raster *r, const struct td_raster_part *p,
    const uint8_t *part, const uint8_t *all)
{
	const struct td_raster_region *g = &td_raster_info(r)->regions[p->region];
	size_t z = td_elem_bytes(td_raster_info(r)->dtype);
	uint64_t shape[3] = { 1, 1, 1 }, start[3] = { 0 }, count[3] = { 1, 1, 1 };
	for (unsigned i = 0; i < g->n_axes; i++) {
		unsigned k = i + 3 - g->n_axes;
		shape[k] = g->shape[i];
		start[k] = p->start[i];
		count[k] = p->count[i];
	}
	if (p->bands)
		count[2] = p->n_bands;
	for (uint64_t a = 0; a < count[0]; a++)
		for (uint64_t b = 0; b < count[1]; b++)
			for (uint64_t c = 0; c < count[2]; c++) {
				uint64_t last = p->bands ? p->bands[c] : start[2] + c;
				uint64_t from = ((start[0] + a) * shape[1] + start[1] + b) * shape[2] + last;
				uint64_t to = (a * count[1] + b) * count[2] + c;
				assert_memory_equal(part + to * z, all + from * z, z);
			}
}

/* Draws parts, lists of bands among them, and holds each against the whole. */
static inline void parts_equal_whole(struct td_raster *r, unsigned region, unsigned rounds)
{
	const struct td_raster_info *info = td_raster_info(r);
	const struct td_raster_region *g = &info->regions[region];
	uint32_t state = rounds + region, list[7];
	uint64_t bytes;
	uint8_t *all = read_all(r, region, &bytes);
	for (unsigned i = 0; i < rounds; i++) {
		struct td_raster_part p = { .region = region };
		for (unsigned k = 0; k < g->n_axes; k++) {
			uint64_t most = draw(&state) % 3 ? g->shape[k] : TD_MIN(g->shape[k], (uint64_t)3);
			p.count[k] = 1 + draw(&state) % most;
			p.start[k] = draw(&state) % (g->shape[k] - p.count[k] + 1);
		}
		if (info->kind == TD_RASTER_ENVI && draw(&state) % 2) {
			p.n_bands = 1 + draw(&state) % TD_COUNT(list);
			for (uint32_t k = 0; k < p.n_bands; k++)
				list[k] = draw(&state) % (uint32_t)g->shape[g->n_axes - 1];
			p.bands = list;
		}
		uint8_t *part = read_part(r, &p, &bytes);
		must_be_part(r, &p, part, all);
		free(part);
	}
	free(all);
}

/* A number or text of the metadata. */
static inline const json_t *meta(const struct td_raster *r, const char *key)
{
	const json_t *v = json_object_get(td_raster_info(r)->metadata, key);
	if (!v)
		fail_msg("no metadata \"%s\"", key);
	return v;
}

static inline void meta_text(const struct td_raster *r, const char *key, const char *want)
{
	assert_string_equal(json_string_value(meta(r, key)), want);
}

static inline void near(double got, double want)
{
	double d = got - want, most = (want < 0 ? -want : want) * 1e-12;
	if (!(d <= most && -d <= most))
		fail_msg("%.17g instead of %.17g", got, want);
}
