/* SPDX-License-Identifier: BSD-2-Clause
 * Which parts of an array of an instrument are items. */
#pragma once
#include "format.h"
#include "media/raster.h"

/* How one region of a file is divided. */
struct td_grid {
	unsigned y;	   /* the axis of lines; samples are the next one */
	uint64_t frames;   /* items along an axis before that; 1 for a stack */
	bool framed;	   /* there is such an axis, and it goes */
	bool flat;	   /* no lines and samples: a spectral library */
	uint64_t top, left, height, width;
	uint64_t tile_h, tile_w, step_y, step_x;
	uint64_t down, across; /* tiles */
};

/* A file that is open. */
struct td_arrays_file {
	struct td_raster *raster;
	uint32_t *bands; /* those that are asked for; NULL: all */
	uint32_t n_bands;
};

/* A place in a file: what to read, and what of a tile lies inside. */
struct td_spot {
	struct td_raster_part part;
	uint64_t frame, y, x;
};

int td_grid_make(struct td_grid *ret, const struct td_raster_info *info, unsigned region,
    const struct td_cut *cut, struct tundish_error *e);
/* Which region holds item `number`, which is counted on from there. */
int td_grid_find(struct td_arrays_file *o, const struct td_cut *cut, uint64_t *number, unsigned *ret_region,
    struct td_grid *ret, struct tundish_error *e);
struct td_spot td_grid_spot(const struct td_arrays_file *o, unsigned region, const struct td_grid *g,
    uint64_t number);

enum td_elem td_grid_dtype(const struct td_raster_info *info, const struct td_cut *cut);
/* The item's shape: that of the part, or of the whole tile where it is filled up. */
unsigned td_grid_shape(uint64_t shape[TD_AXES], const struct td_arrays_file *o, const struct td_grid *g,
    const struct td_cut *cut, const struct td_raster_part *part);
/* Bytes of the item; false past 2^62. */
bool td_grid_bytes(uint64_t *ret, const uint64_t *shape, unsigned n, enum td_elem dtype);

/* arrays-extras.c: the features of an item besides its numbers. */
int td_grid_extras(struct td_extras *x, const struct td_arrays_file *o, const struct td_grid *g,
    const struct td_spot *spot, const struct td_cut *cut, struct tundish_error *e);

/* choose.c: what the user asked for decides which of the items there are: tiles across
 * blocks, with too little data, without a label. Fills in numbers, groups and labels. */
int td_grid_choose(struct td_parts *p, struct td_arrays_file *o, const struct td_file *file,
    const struct td_cut *cut, const struct tundish_listener *l, struct tundish_error *e);
/* Whether it has a say. */
bool td_grid_chooses(const struct td_cut *cut);
