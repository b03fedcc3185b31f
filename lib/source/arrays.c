/* SPDX-License-Identifier: BSD-2-Clause
 * Arrays from instruments: whole, frame by frame, or in tiles. */
#include "arrays.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/json.h"
#include "grid.h"

static int probe(const char *path, const uint8_t *head, size_t len)
{
	(void)path;
	if (td_archive_marked(head, len))
		return 0; /* one of its first members is */
	switch (td_raster_probe(head, len)) {
	case TD_RASTER_NONE:
		return 0;
	case TD_RASTER_SPE: /* has no mark of its own */
		return 20;
	default:
		return 60;
	}
}

/* ---- opening ---- */

static void close_opened(void *ctx)
{
	struct td_arrays_file *o = ctx;
	if (!o)
		return;
	td_raster_close(o->raster);
	free(o->bands);
	free(o);
}

static bool has_bands(const struct td_raster_info *info)
{
	return info->kind == TD_RASTER_ENVI && info->regions[0].n_axes == 3;
}

/* The bands that are left of all: named ones, without bad ones. */
static int choose_bands(struct td_arrays_file *o, const struct td_cut *cut, struct tundish_error *e)
{
	const struct td_raster_info *info = td_raster_info(o->raster);
	uint64_t all = info->regions[0].shape[2];
	if (!has_bands(info) || (!cut->bands && !(cut->drop_bad_bands && info->bad_bands)))
		return 0;
	o->bands = malloc((cut->bands ? cut->n_bands : all) * sizeof *o->bands);
	if (!o->bands)
		return td_err_memory(e);
	for (uint64_t i = 0; i < (cut->bands ? cut->n_bands : all); i++) {
		uint32_t band = cut->bands ? cut->bands[i] : (uint32_t)i;
		if (band >= all)
			return td_err(e, TUNDISH_E_UNSUPPORTED, "no band %" PRIu32 ", there are %" PRIu64,
			    band + 1, all);
		if (!(cut->drop_bad_bands && info->bad_bands && info->bad_bands[band]))
			o->bands[o->n_bands++] = band;
	}
	return o->n_bands ? 0 : td_err(e, TUNDISH_E_UNSUPPORTED, "no band is left, all are bad");
}

static int open_file(struct td_arrays_file **ret, const struct td_file *file, const struct td_cut *cut,
    const struct tundish_listener *l, struct tundish_error *e)
{
	struct td_arrays_file *o = calloc(1, sizeof *o);
	int rc = o ? td_raster_open_pair(&o->raster, file->path, file->data_path, file->name, cut->raster_flags, l, e) :
		     td_err_memory(e);
	if (rc == 0)
		rc = choose_bands(o, cut, e);
	if (rc < 0)
		close_opened(o);
	else
		*ret = o;
	return rc;
}

/* ---- parts ---- */

static bool same_shape(const struct td_parts *p, const uint64_t *shape, unsigned n)
{
	bool same = p->n_axes == n;
	for (unsigned i = 0; same && i < n; i++)
		same = p->shape[i] == shape[i];
	return same;
}

static int add_region(struct td_parts *p, const struct td_arrays_file *o, unsigned region, const struct td_cut *cut,
    struct tundish_error *e)
{
	struct td_grid g = { .frames = 0 };
	uint64_t shape[TD_AXES], bytes, n;
	int rc = td_grid_make(&g, td_raster_info(o->raster), region, cut, e);
	if (rc < 0)
		return rc;
	if (td_mul_overflow(g.down, g.across, &n) || td_mul_overflow(n, g.frames, &n) || n + p->n >= UINT32_MAX)
		return td_err(e, TUNDISH_E_LIMIT, "more than %" PRIu32 " items in one file", UINT32_MAX - 1);
	if (n == 0)
		return 0;
	struct td_spot spot = td_grid_spot(o, region, &g, 0);
	unsigned axes = td_grid_shape(shape, o, &g, cut, &spot.part);
	if (!td_grid_bytes(&bytes, shape, axes, p->dtype))
		return td_err(e, TUNDISH_E_LIMIT, "record would be more than 2^62 bytes");
	if (p->n == 0) {
		p->n_axes = axes;
		memcpy(p->shape, shape, sizeof shape);
	}
	/* what is cut off at the border is smaller */
	bool whole = cut->edge != TD_EDGE_KEEP || !cut->tile_h ||
	    (g.height % g.step_y == 0 && g.width % g.step_x == 0 && g.step_y == g.tile_h && g.step_x == g.tile_w);
	p->alike &= whole && same_shape(p, shape, axes);
	p->bytes = TD_MAX(p->bytes, bytes);
	p->n += (uint32_t)n;
	return 0;
}

/* The features of the first item in each region. */
static int add_specs(struct td_parts *p, const struct td_arrays_file *o, const struct td_cut *cut,
    struct tundish_error *e)
{
	const struct td_raster_info *info = td_raster_info(o->raster);
	int rc = 0;
	for (unsigned i = 0; rc == 0 && i < info->n_regions; i++) {
		struct td_extras x = { 0 };
		struct td_specs specs = { 0 };
		struct td_grid g = { .frames = 0 };
		rc = td_grid_make(&g, info, i, cut, e);
		if (rc == 0 && g.down * g.across == 0)
			continue;
		struct td_spot spot = td_grid_spot(o, i, &g, 0);
		if (rc == 0)
			rc = td_grid_extras(&x, o, &g, &spot, cut, e);
		if (rc == 0 && !td_specs_of(&specs, &x))
			rc = td_err_memory(e);
		td_specs_meet(&p->specs, &specs);
		td_extras_free(&x);
	}
	/* tiles at a border have less of an axis */
	for (size_t i = 0; i < p->specs.n; i++)
		if (p->specs.list[i].doubles && !p->alike)
			p->specs.list[i].length = -1;
	return rc;
}

static int note_loss(struct td_parts *p, const struct td_raster_info *info, struct tundish_error *e)
{
	if (info->missing_frames &&
	    asprintf(&p->loss, "%" PRIu64 " frames by the header are not in the file", info->missing_frames) < 0) {
		p->loss = NULL;
		return td_err_memory(e);
	}
	return 0;
}

static int parts(struct td_parts *ret, const struct td_file *file, const struct td_cut *cut,
    const struct tundish_listener *l, struct tundish_error *e)
{
	struct td_arrays_file *o;
	int rc = open_file(&o, file, cut, l, e);
	if (rc < 0)
		return rc;
	const struct td_raster_info *info = td_raster_info(o->raster);
	struct td_parts p = { .alike = true, .dtype = td_grid_dtype(info, cut) };
	for (unsigned i = 0; rc == 0 && i < info->n_regions; i++)
		rc = add_region(&p, o, i, cut, e);
	if (rc == 0 && p.n == 0)
		rc = td_err(e, TUNDISH_E_UNSUPPORTED, "no tile of this size is in it");
	p.sequence = info->kind == TD_RASTER_SPE;
	if (rc == 0)
		rc = add_specs(&p, o, cut, e);
	if (rc == 0 && td_grid_chooses(cut))
		rc = td_grid_choose(&p, o, file, cut, l, e);
	if (rc == 0)
		rc = note_loss(&p, info, e);
	p.about = json_incref((json_t *)(uintptr_t)info->metadata);
	if (rc == 0 && info->data_path) {
		p.data_path = strdup(info->data_path);
		rc = p.data_path ? 0 : td_err_memory(e);
	}
	close_opened(o);
	if (rc == 0)
		*ret = p;
	else
		td_parts_free(&p);
	return rc;
}

/* ---- reading ---- */

static int read_numbers(struct td_loaded *s, struct td_arrays_file *o, const struct td_raster_part *part,
    const struct td_cut *cut, struct td_buf *out, struct tundish_error *e)
{
	struct td_buf raw = { 0 };
	uint64_t bytes;
	int rc = td_raster_part_bytes(&bytes, o->raster, part, e);
	struct td_buf *in = cut->apply_scale ? &raw : out;
	if (rc == 0 && !td_buf_fit(in, bytes))
		rc = td_err_memory(e);
	if (rc == 0)
		rc = td_raster_read(o->raster, part, in->data, &s->scratch, e);
	if (rc == 0)
		in->len = bytes;
	if (rc == 0 && cut->apply_scale) {
		size_t n = bytes / td_elem_bytes(td_raster_info(o->raster)->dtype);
		if (!td_buf_fit(out, n * sizeof(float)))
			rc = td_err_memory(e);
		else
			td_raster_scale((float *)(void *)out->data, o->raster, part, raw.data);
		out->len = rc == 0 ? n * sizeof(float) : 0;
	}
	td_buf_free(&raw);
	return rc;
}

/* One element that stands for no data. */
static void fill_value(uint8_t out[16], const struct td_raster_info *info, const struct td_cut *cut)
{
	enum td_elem dtype = td_grid_dtype(info, cut);
	td_elem_put(dtype, out, info->has_ignore && !cut->apply_scale ? info->ignore : 0);
	/* -9999 is no value of bytes, and 0 no better than another */
	if (info->has_ignore && td_elem_value(dtype, out, 0) != info->ignore && !isnan(info->ignore))
		td_elem_put(dtype, out, 0);
}

/* Sets the lines of a part into a tile that is filled up. */
static int pad_tile(struct td_loaded *s, const struct td_arrays_file *o, const struct td_grid *g,
    const struct td_raster_part *part, const struct td_cut *cut, struct tundish_error *e)
{
	const struct td_raster_info *info = td_raster_info(o->raster);
	uint64_t h = part->count[g->y], w = part->count[g->y + 1], elem = td_elem_bytes(s->dtype), inner = elem;
	uint64_t outer = g->y == 1 ? part->count[0] : 1, bytes;
	struct td_buf tile = { 0 };
	uint8_t value[16];
	if (g->y == 0)
		inner *= part->bands ? part->n_bands : part->count[2];
	if (!td_grid_bytes(&bytes, s->shape, s->n_axes, s->dtype) || !td_buf_fit(&tile, bytes))
		return td_err_memory(e);
	fill_value(value, info, cut);
	for (uint64_t i = 0; i < bytes; i += elem)
		memcpy(tile.data + i, value, elem);
	for (uint64_t k = 0; k < outer; k++)
		for (uint64_t y = 0; y < h; y++)
			memcpy(tile.data + (k * g->tile_h + y) * g->tile_w * inner,
			    s->data.data + (k * h + y) * w * inner, w * inner);
	tile.len = bytes;
	td_buf_free(&s->data);
	s->data = tile;
	return 0;
}

/* Where item `number` lies, and what it is. */
static int find_item(struct td_loaded *s, struct td_arrays_file *o, uint64_t number, const struct td_cut *cut,
    struct td_grid *g, struct td_spot *spot, uint64_t *ret_bytes, struct tundish_error *e)
{
	static const char *const kinds[] = { [TD_RASTER_ENVI] = "ENVI", [TD_RASTER_SPE] = "SPE",
		[TD_RASTER_RADIANCE] = "Radiance" };
	const struct td_raster_info *info = td_raster_info(o->raster);
	unsigned region = 0;
	int rc = td_grid_find(o, cut, &number, &region, g, e);
	if (rc < 0)
		return rc;
	*spot = td_grid_spot(o, region, g, number);
	s->array = true;
	s->kind = kinds[info->kind];
	s->dtype = td_grid_dtype(info, cut);
	s->n_axes = td_grid_shape(s->shape, o, g, cut, &spot->part);
	if (!td_grid_bytes(ret_bytes, s->shape, s->n_axes, s->dtype) || *ret_bytes > cut->max_bytes)
		return td_err(e, TUNDISH_E_LIMIT, "record would be %" PRIu64 " bytes; the limit is %" PRIu64,
		    *ret_bytes, cut->max_bytes);
	return 0;
}

static int read_item(struct td_loaded *s, struct td_arrays_file *o, uint64_t number, const struct td_cut *cut,
    struct tundish_error *e)
{
	struct td_grid g = { .frames = 0 };
	struct td_spot spot = { .frame = 0 };
	uint64_t bytes = 0;
	int rc = find_item(s, o, number, cut, &g, &spot, &bytes, e);
	if (rc == 0)
		rc = read_numbers(s, o, &spot.part, cut, &s->data, e);
	if (rc == 0 && s->data.len < bytes)
		rc = pad_tile(s, o, &g, &spot.part, cut, e);
	return rc < 0 ? rc : td_grid_extras(&s->extras, o, &g, &spot, cut, e);
}

static int look_at_item(struct td_loaded *s, struct td_arrays_file *o, uint64_t number, const struct td_cut *cut,
    struct tundish_error *e)
{
	struct td_grid g = { .frames = 0 };
	struct td_spot spot = { .frame = 0 };
	uint64_t bytes = 0;
	return find_item(s, o, number, cut, &g, &spot, &bytes, e);
}

/* Keeps the file open for the next item. */
static int keep_open(struct td_loaded *s, const struct td_file *file, const struct td_cut *cut,
    struct tundish_error *e)
{
	/* what another format holds open has no path here */
	if (!s->opened || s->close != close_opened || strcmp(s->opened_path, file->path) != 0) {
		struct td_arrays_file *o;
		char *copy = strdup(file->path);
		int rc = copy ? open_file(&o, file, cut, NULL, e) : td_err_memory(e);
		if (rc < 0) {
			free(copy);
			return rc;
		}
		td_loaded_close(s);
		s->opened = o;
		s->opened_path = copy;
		s->close = close_opened;
	}
	return 0;
}

static int load(struct td_loaded *s, const struct td_file *file, uint32_t part, const struct td_cut *cut,
    struct tundish_error *e)
{
	int rc = keep_open(s, file, cut, e);
	return rc < 0 ? rc : read_item(s, s->opened, part, cut, e);
}

static int look(struct td_loaded *s, const struct td_file *file, uint32_t part, const struct td_cut *cut,
    struct tundish_error *e)
{
	int rc = keep_open(s, file, cut, e);
	return rc < 0 ? rc : look_at_item(s, s->opened, part, cut, e);
}

/* ---- looking ---- */

static json_t *axis_json(const struct td_raster *r, unsigned region)
{
	const struct td_raster_region *g = &td_raster_info(r)->regions[region];
	size_t n = (size_t)g->shape[g->n_axes - 1];
	double *axis = malloc(n * sizeof *axis);
	json_t *list = axis && td_raster_axis(axis, r, region, 1) ? json_array() : NULL;
	for (size_t i = 0; list && i < n; i++)
		json_array_append_new(list, td_json_real(axis[i]));
	free(axis);
	return list;
}

static int describe(json_t **ret, const struct td_file *file, const struct tundish_listener *l,
    struct tundish_error *e)
{
	struct td_raster *r;
	int rc = td_raster_open(&r, file->path, TD_RASTER_HEADER_ONLY, l, e);
	if (rc < 0)
		return rc;
	json_t *all = td_raster_describe(r);
	/* an ENVI header's wavelengths are in its metadata */
	json_t *axis = all && td_raster_info(r)->kind == TD_RASTER_SPE ? axis_json(r, 0) : NULL;
	if (axis) {
		json_object_set_new(all, "axis", axis);
		json_object_set_new(all, "axis_unit", json_string(td_raster_info(r)->axis_unit));
	}
	td_raster_close(r);
	*ret = all;
	return all ? 0 : td_err_memory(e);
}

const struct td_format td_format_arrays = {
	.name = "array",
	.probe = probe,
	.parts = parts,
	.load = load,
	.look = look,
	.describe = describe,
};
