/* SPDX-License-Identifier: BSD-2-Clause
 * Arrays from instruments: whole, frame by frame, or in tiles. */
#include "arrays.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/json.h"
#include "base/talk.h"
#include "media/raster.h"

/* How one region of a file is divided. */
struct grid {
	unsigned y;	   /* the axis of lines; samples are the next one */
	uint64_t frames;   /* items along an axis before that; 1 for a stack */
	bool framed;	   /* there is such an axis, and it goes */
	bool flat;	   /* no lines and samples: a spectral library */
	uint64_t top, left, height, width;
	uint64_t tile_h, tile_w, step_y, step_x;
	uint64_t down, across; /* tiles */
};

struct opened {
	struct td_raster *raster;
	uint32_t *bands; /* those that are asked for; NULL: all */
	uint32_t n_bands;
};

static int probe(const char *path, const uint8_t *head, size_t len)
{
	(void)path;
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
	struct opened *o = ctx;
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
static int choose_bands(struct opened *o, const struct td_cut *cut, struct tundish_error *e)
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

static int open_file(struct opened **ret, const char *path, const struct td_cut *cut,
    const struct tundish_listener *l, struct tundish_error *e)
{
	struct opened *o = calloc(1, sizeof *o);
	int rc = o ? td_raster_open(&o->raster, path, 0, l, e) : td_err_memory(e);
	if (rc == 0)
		rc = choose_bands(o, cut, e);
	if (rc < 0)
		close_opened(o);
	else
		*ret = o;
	return rc;
}

/* ---- geometry ---- */

static uint64_t count_tiles(uint64_t length, uint64_t tile, uint64_t step, enum td_edge edge)
{
	if (edge == TD_EDGE_DROP)
		return length < tile ? 0 : (length - tile) / step + 1;
	return (length + step - 1) / step;
}

static int make_grid(struct grid *ret, const struct td_raster_info *info, unsigned region,
    const struct td_cut *cut, struct tundish_error *e)
{
	const struct td_raster_region *r = &info->regions[region];
	struct grid g = { .frames = 1, .down = 1, .across = 1 };
	g.flat = r->n_axes < 3;
	g.y = info->kind == TD_RASTER_SPE ? 1 : 0;
	g.framed = g.y == 1 && !cut->stack;
	if (g.framed)
		g.frames = r->shape[0];
	g.height = r->shape[g.y];
	g.width = g.flat ? 1 : r->shape[g.y + 1];
	if (g.flat && (cut->has_region || cut->tile_h))
		return td_err(e, TUNDISH_E_UNSUPPORTED, "spectra have no lines and samples to cut");
	if (cut->has_region) {
		if (cut->region[0] + cut->region[2] > g.height || cut->region[1] + cut->region[3] > g.width)
			return td_err(e, TUNDISH_E_UNSUPPORTED, "the region is not inside of %" PRIu64 "x%" PRIu64,
			    g.height, g.width);
		g.top = cut->region[0];
		g.left = cut->region[1];
		g.height = cut->region[2];
		g.width = cut->region[3];
	}
	g.tile_h = cut->tile_h ? cut->tile_h : g.height;
	g.tile_w = cut->tile_w ? cut->tile_w : g.width;
	g.step_y = cut->stride ? cut->stride : g.tile_h;
	g.step_x = cut->stride ? cut->stride : g.tile_w;
	if (cut->tile_h) {
		g.down = count_tiles(g.height, g.tile_h, g.step_y, cut->edge);
		g.across = count_tiles(g.width, g.tile_w, g.step_x, cut->edge);
	}
	*ret = g;
	return 0;
}

/* A place in a file: what to read, and what of a tile lies inside. */
struct spot {
	struct td_raster_part part;
	uint64_t frame, y, x;
};

static struct spot spot_of(const struct opened *o, unsigned region, const struct grid *g, uint64_t number)
{
	struct spot s = { .part = td_raster_all(o->raster, region) };
	uint64_t tile = number % (g->down * g->across);
	s.frame = number / (g->down * g->across);
	s.y = g->top + tile / g->across * g->step_y;
	s.x = g->left + tile % g->across * g->step_x;
	if (g->framed) {
		s.part.start[0] = s.frame;
		s.part.count[0] = 1;
	}
	if (!g->flat) {
		s.part.start[g->y] = s.y;
		s.part.count[g->y] = TD_MIN(g->tile_h, g->top + g->height - s.y);
		s.part.start[g->y + 1] = s.x;
		s.part.count[g->y + 1] = TD_MIN(g->tile_w, g->left + g->width - s.x);
	}
	s.part.bands = o->bands;
	s.part.n_bands = o->n_bands;
	return s;
}

static enum td_elem dtype_of(const struct td_raster_info *info, const struct td_cut *cut)
{
	return cut->apply_scale ? TD_FLOAT32 : info->dtype;
}

/* The item's shape: that of the part, or of the whole tile where it is filled up. */
static unsigned shape_of(uint64_t shape[TD_AXES], const struct opened *o, const struct grid *g,
    const struct td_cut *cut, const struct td_raster_part *part)
{
	const struct td_raster_region *r = &td_raster_info(o->raster)->regions[part->region];
	unsigned n = 0;
	for (unsigned i = g->framed; i < r->n_axes; i++) {
		shape[n] = part->bands && i + 1 == r->n_axes ? part->n_bands : part->count[i];
		if (cut->tile_h && cut->edge == TD_EDGE_PAD && !g->flat && i == g->y)
			shape[n] = g->tile_h;
		if (cut->tile_h && cut->edge == TD_EDGE_PAD && !g->flat && i == g->y + 1)
			shape[n] = g->tile_w;
		n++;
	}
	return n;
}

/* Bytes of the item; false past 2^62. */
static bool bytes_of(uint64_t *ret, const uint64_t *shape, unsigned n, enum td_elem dtype)
{
	uint64_t bytes = td_elem_bytes(dtype);
	for (unsigned i = 0; i < n; i++)
		if (td_mul_overflow(bytes, shape[i], &bytes) || bytes > (uint64_t)1 << 62)
			return false;
	*ret = bytes;
	return true;
}

/* ---- parts ---- */

static bool same_shape(const struct td_parts *p, const uint64_t *shape, unsigned n)
{
	bool same = p->n_axes == n;
	for (unsigned i = 0; same && i < n; i++)
		same = p->shape[i] == shape[i];
	return same;
}

static int add_region(struct td_parts *p, const struct opened *o, unsigned region, const struct td_cut *cut,
    struct tundish_error *e)
{
	struct grid g = { .frames = 0 };
	uint64_t shape[TD_AXES], bytes, n;
	int rc = make_grid(&g, td_raster_info(o->raster), region, cut, e);
	if (rc < 0)
		return rc;
	if (td_mul_overflow(g.down, g.across, &n) || td_mul_overflow(n, g.frames, &n) || n + p->n >= UINT32_MAX)
		return td_err(e, TUNDISH_E_LIMIT, "more than %" PRIu32 " items in one file", UINT32_MAX - 1);
	if (n == 0)
		return 0;
	struct spot spot = spot_of(o, region, &g, 0);
	unsigned axes = shape_of(shape, o, &g, cut, &spot.part);
	if (!bytes_of(&bytes, shape, axes, p->dtype))
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

static bool add_specs(struct td_specs *specs, const struct td_raster_info *info, const struct td_cut *cut)
{
	bool spe = info->kind == TD_RASTER_SPE;
	return (!spe || info->n_regions == 1 || td_specs_add(specs, "region", TUNDISH_INT64, 1)) &&
	    (!spe || cut->stack || td_specs_add(specs, "frame", TUNDISH_INT64, 1)) &&
	    (!cut->tile_h || (td_specs_add(specs, "y", TUNDISH_INT64, 1) && td_specs_add(specs, "x", TUNDISH_INT64, 1)));
}

/* Which region holds item `number`, which is counted on from there. */
static int find_region(struct opened *o, const struct td_cut *cut, uint64_t *number, unsigned *ret_region,
    struct grid *ret, struct tundish_error *e)
{
	const struct td_raster_info *info = td_raster_info(o->raster);
	for (unsigned i = 0; i < info->n_regions; i++) {
		int rc = make_grid(ret, info, i, cut, e);
		if (rc < 0)
			return rc;
		uint64_t n = ret->frames * ret->down * ret->across;
		if (*number < n) {
			*ret_region = i;
			return 0;
		}
		*number -= n;
	}
	return td_err(e, TUNDISH_E_CORRUPT, "the file has changed");
}

/* ---- which of them ---- */

/* "ROW:COLUMN" of the block that a tile lies in; false when it lies in several. */
static bool block_of(char out[48], const struct td_cut *cut, const struct grid *g, const struct spot *spot)
{
	uint64_t row = spot->y / cut->block_h, column = spot->x / cut->block_w;
	uint64_t h = spot->part.count[g->y], w = spot->part.count[g->y + 1];
	snprintf(out, 48, "%" PRIu64 ":%" PRIu64, row, column);
	return (spot->y + h - 1) / cut->block_h == row && (spot->x + w - 1) / cut->block_w == column;
}

/* What the user asked for decides which items there are. */
static int choose(struct td_parts *p, struct opened *o, const struct td_cut *cut, struct tundish_error *e)
{
	uint32_t n = 0;
	if (!cut->block_h)
		return 0;
	p->numbers = malloc(p->n * sizeof *p->numbers);
	if (!p->numbers)
		return td_err_memory(e);
	for (uint32_t i = 0; i < p->n; i++) {
		struct grid g = { .frames = 0 };
		uint64_t number = i;
		unsigned region = 0;
		char block[48];
		int rc = find_region(o, cut, &number, &region, &g, e);
		if (rc < 0)
			return rc;
		struct spot spot = spot_of(o, region, &g, number);
		if (!block_of(block, cut, &g, &spot))
			continue;
		if (!td_buf_add(&p->groups, block, strlen(block) + 1))
			return td_err_memory(e);
		p->numbers[n++] = i;
	}
	p->n_left_out = p->n - n;
	p->n = n;
	return 0;
}

static int parts(struct td_parts *ret, const struct td_file *file, const struct td_cut *cut,
    const struct tundish_listener *l, struct tundish_error *e)
{
	struct opened *o;
	int rc = open_file(&o, file->path, cut, l, e);
	if (rc < 0)
		return rc;
	const struct td_raster_info *info = td_raster_info(o->raster);
	struct td_parts p = { .alike = true, .dtype = dtype_of(info, cut) };
	for (unsigned i = 0; rc == 0 && i < info->n_regions; i++)
		rc = add_region(&p, o, i, cut, e);
	if (rc == 0 && p.n == 0)
		rc = td_err(e, TUNDISH_E_UNSUPPORTED, "no tile of this size is in it");
	p.sequence = info->kind == TD_RASTER_SPE;
	if (rc == 0)
		rc = choose(&p, o, cut, e);
	if (rc == 0 && p.n_left_out)
		td_notice(l, "%s: %" PRIu64 " tiles left out, across the borders of blocks", TD_ESC(file->path),
		    p.n_left_out);
	if (rc == 0 && info->data_path) {
		p.data_path = strdup(info->data_path);
		rc = p.data_path ? 0 : td_err_memory(e);
	}
	if (rc == 0 && !add_specs(&p.specs, info, cut))
		rc = td_err_memory(e);
	close_opened(o);
	if (rc == 0)
		*ret = p;
	else
		td_parts_free(&p);
	return rc;
}

/* ---- reading ---- */

static int read_numbers(struct td_loaded *s, struct opened *o, const struct td_raster_part *part,
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
	double v = info->has_ignore && !cut->apply_scale ? info->ignore : 0;
	enum td_elem dtype = dtype_of(info, cut);
	memset(out, 0, 16);
#define PUT(elem, type, least, most)                                                               \
	case elem: {                                                                               \
		type x = v >= (double)(least) && v <= (double)(most) ? (type)v : 0;                \
		memcpy(out, &x, sizeof x);                                                         \
		break;                                                                             \
	}
	switch (dtype) {
		PUT(TD_UINT8, uint8_t, 0, UINT8_MAX)
		PUT(TD_INT8, int8_t, INT8_MIN, INT8_MAX)
		PUT(TD_UINT16, uint16_t, 0, UINT16_MAX)
		PUT(TD_INT16, int16_t, INT16_MIN, INT16_MAX)
		PUT(TD_UINT32, uint32_t, 0, UINT32_MAX)
		PUT(TD_INT32, int32_t, INT32_MIN, INT32_MAX)
	case TD_FLOAT32: {
		float x = (float)v;
		memcpy(out, &x, sizeof x);
		break;
	}
	case TD_FLOAT64:
		memcpy(out, &v, sizeof v);
		break;
	default:
		break;
	}
#undef PUT
}

/* Sets the lines of a part into a tile that is filled up. */
static int pad_tile(struct td_loaded *s, const struct opened *o, const struct grid *g,
    const struct td_raster_part *part, const struct td_cut *cut, struct tundish_error *e)
{
	const struct td_raster_info *info = td_raster_info(o->raster);
	uint64_t h = part->count[g->y], w = part->count[g->y + 1], elem = td_elem_bytes(s->dtype), inner = elem;
	uint64_t outer = g->y == 1 ? part->count[0] : 1, bytes;
	struct td_buf tile = { 0 };
	uint8_t value[16];
	if (g->y == 0)
		inner *= part->bands ? part->n_bands : part->count[2];
	if (!bytes_of(&bytes, s->shape, s->n_axes, s->dtype) || !td_buf_fit(&tile, bytes))
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

static bool add_place(struct td_loaded *s, const char *key, uint64_t value)
{
	return td_extra_ints(&s->extras, key, &(int64_t){ (int64_t)value }, 1);
}

/* Where the item was cut out. */
static bool add_places(struct td_loaded *s, const struct td_raster_info *info, unsigned region,
    const struct grid *g, const struct spot *spot, const struct td_cut *cut)
{
	bool regions = info->kind == TD_RASTER_SPE && info->n_regions > 1;
	return (!regions || add_place(s, "region", region)) && (!g->framed || add_place(s, "frame", spot->frame)) &&
	    (!cut->tile_h || (add_place(s, "y", spot->y) && add_place(s, "x", spot->x)));
}

static int read_item(struct td_loaded *s, struct opened *o, uint64_t number, const struct td_cut *cut,
    struct tundish_error *e)
{
	const struct td_raster_info *info = td_raster_info(o->raster);
	struct grid g = { .frames = 0 };
	unsigned region = 0;
	uint64_t bytes = 0;
	int rc = find_region(o, cut, &number, &region, &g, e);
	if (rc < 0)
		return rc;
	const struct spot spot = spot_of(o, region, &g, number);
	s->array = true;
	s->dtype = dtype_of(info, cut);
	s->n_axes = shape_of(s->shape, o, &g, cut, &spot.part);
	if (!bytes_of(&bytes, s->shape, s->n_axes, s->dtype) || bytes > cut->max_bytes)
		return td_err(e, TUNDISH_E_LIMIT, "record would be %" PRIu64 " bytes; the limit is %" PRIu64,
		    bytes, cut->max_bytes);
	rc = read_numbers(s, o, &spot.part, cut, &s->data, e);
	if (rc == 0 && s->data.len < bytes)
		rc = pad_tile(s, o, &g, &spot.part, cut, e);
	if (rc == 0 && !add_places(s, info, region, &g, &spot, cut))
		rc = td_err_memory(e);
	return rc;
}

static int load(struct td_loaded *s, const struct td_file *file, uint32_t part, const struct td_cut *cut,
    struct tundish_error *e)
{
	if (!s->opened || strcmp(s->opened_path, file->path) != 0) {
		struct opened *o;
		char *copy = strdup(file->path);
		int rc = copy ? open_file(&o, file->path, cut, NULL, e) : td_err_memory(e);
		if (rc < 0) {
			free(copy);
			return rc;
		}
		if (s->opened)
			s->close(s->opened);
		free(s->opened_path);
		s->opened = o;
		s->opened_path = copy;
		s->close = close_opened;
	}
	return read_item(s, s->opened, part, cut, e);
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
	.describe = describe,
};
