/* SPDX-License-Identifier: BSD-2-Clause
 * What must hold for any raster: the same for each format. */
#pragma once
#include "fuzz.h"

#include "media/raster.h"

#define BYTES_MOST (1 << 20)

/* As much of a region as fits into BYTES_MOST. */
static inline struct td_raster_part some(const struct td_raster *r, unsigned region)
{
	struct td_raster_part p = td_raster_all(r, region);
	uint64_t room = BYTES_MOST / td_elem_bytes(td_raster_info(r)->dtype);
	for (unsigned i = td_raster_info(r)->regions[region].n_axes; i-- > 0;) {
		p.count[i] = TD_MIN(p.count[i], room);
		room = TD_MAX(room / p.count[i], 1u);
	}
	return p;
}

static inline uint8_t *read_or_not(struct td_raster *r, const struct td_raster_part *p,
    uint64_t *ret_bytes)
{
	struct tundish_error e = { 0 };
	struct td_buf scratch = { 0 };
	MUST(td_raster_part_bytes(ret_bytes, r, p, &e) == 0);
	MUST(*ret_bytes > 0 && *ret_bytes <= BYTES_MOST);
	uint8_t *out = malloc((size_t)*ret_bytes);
	MUST(out);
	int rc = td_raster_read(r, p, out, &scratch, &e);
	MUST(scratch.cap <= 2 << 20);
	td_buf_free(&scratch);
	if (rc) {
		must_be_told(rc, &e);
		free(out);
		return NULL;
	}
	return out;
}

/* The last place of the first axis, read alone, is the end of all. */
static inline void read_region(struct td_raster *r, unsigned region)
{
	struct td_raster_part p = some(r, region), last = p;
	uint64_t bytes, last_bytes;
	uint8_t *all = read_or_not(r, &p, &bytes);
	if (!all)
		return;
	last.start[0] = p.count[0] - 1;
	last.count[0] = 1;
	uint8_t *end = read_or_not(r, &last, &last_bytes);
	MUST(end && !memcmp(end, all + (bytes - last_bytes), (size_t)last_bytes));
	free(end);
	size_t z = td_elem_bytes(td_raster_info(r)->dtype);
	float *scaled = malloc((size_t)bytes / z * sizeof *scaled);
	MUST(scaled);
	td_raster_scale(scaled, r, &p, all);
	MUST(td_raster_ignored(r, &p, all) <= bytes / z);
	free(scaled);
	free(all);
}

static inline void notice(void *data, const char *text)
{
	(void)data;
	MUST(text[0] && !strchr(text, '\n'));
}

static inline void try_raster(const void *data, size_t len, const void *pixels, size_t pixels_len)
{
	struct tundish_error e = { 0 };
	struct tundish_listener l = { .notice = notice };
	struct td_raster *r;
	int rc = td_raster_open_memory(&r, data, len, pixels, pixels_len, &l, &e);
	if (rc) {
		must_be_told(rc, &e);
		return;
	}
	const struct td_raster_info *info = td_raster_info(r);
	json_t *j = td_raster_describe(r);
	char *text = json_dumps(j, 0);
	MUST(text);
	free(text);
	json_decref(j);
	MUST(info->n_regions);
	for (unsigned i = 0; i < info->n_regions && i < 4; i++) {
		const struct td_raster_region *g = &info->regions[i];
		uint64_t n = g->shape[g->n_axes - 1];
		double *axis = n <= BYTES_MOST ? malloc((size_t)n * sizeof *axis) : NULL;
		if (axis)
			td_raster_axis(axis, r, i, 1);
		free(axis);
		read_region(r, i);
	}
	union td_raster_value values[256];
	if (info->n_fields)
		rc = td_raster_frame(values, r, info->regions[0].shape[0] - 1, &e);
	if (rc)
		must_be_told(rc, &e);
	td_raster_close(r);
}
