/* SPDX-License-Identifier: BSD-2-Clause
 * Which parts of an array of an instrument are items. */
#include "grid.h"

#include <inttypes.h>

#include "base/err.h"

static uint64_t count_tiles(uint64_t length, uint64_t tile, uint64_t step, enum td_edge edge)
{
	if (edge == TD_EDGE_DROP)
		return length < tile ? 0 : (length - tile) / step + 1;
	return (length + step - 1) / step;
}

int td_grid_make(struct td_grid *ret, const struct td_raster_info *info, unsigned region,
    const struct td_cut *cut, struct tundish_error *e)
{
	const struct td_raster_region *r = &info->regions[region];
	struct td_grid g = { .frames = 1, .down = 1, .across = 1 };
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

struct td_spot td_grid_spot(const struct td_arrays_file *o, unsigned region, const struct td_grid *g, uint64_t number)
{
	struct td_spot s = { .part = td_raster_all(o->raster, region) };
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

enum td_elem td_grid_dtype(const struct td_raster_info *info, const struct td_cut *cut)
{
	return cut->apply_scale ? TD_FLOAT32 : info->dtype;
}

unsigned td_grid_shape(uint64_t shape[TD_AXES], const struct td_arrays_file *o, const struct td_grid *g,
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

bool td_grid_bytes(uint64_t *ret, const uint64_t *shape, unsigned n, enum td_elem dtype)
{
	uint64_t bytes = td_elem_bytes(dtype);
	for (unsigned i = 0; i < n; i++)
		if (td_mul_overflow(bytes, shape[i], &bytes) || bytes > (uint64_t)1 << 62)
			return false;
	*ret = bytes;
	return true;
}

int td_grid_find(struct td_arrays_file *o, const struct td_cut *cut, uint64_t *number, unsigned *ret_region,
    struct td_grid *ret, struct tundish_error *e)
{
	const struct td_raster_info *info = td_raster_info(o->raster);
	for (unsigned i = 0; i < info->n_regions; i++) {
		int rc = td_grid_make(ret, info, i, cut, e);
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
