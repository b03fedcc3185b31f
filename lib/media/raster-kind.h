/* SPDX-License-Identifier: BSD-2-Clause
 * Behind raster.h: what each kind of file fills in. */
#pragma once
#include "base/talk.h"
#include "bytes.h"
#include "raster.h"

/* Larger along any axis is no file of this world. */
#define TD_RASTER_AXIS_MOST INT32_MAX

struct td_raster_ops {
	/* Fills in info, regions and metadata from r->file; on failure close is called. */
	int (*open)(struct td_raster *r, struct tundish_error *e);
	/* The part was checked. */
	int (*read)(struct td_raster *r, const struct td_raster_part *part, void *out,
	    struct td_buf *scratch, struct tundish_error *e);
	/* Frees r->own. */
	void (*close)(struct td_raster *r);
	/* May be NULL */
	int (*axis)(double *ret, const struct td_raster *r, unsigned region, int first_pixel);
	int (*frame)(union td_raster_value *ret, const struct td_raster *r, uint64_t frame,
	    struct tundish_error *e);
};
extern const struct td_raster_ops td_envi_ops, td_spe_ops, td_radiance_ops;

struct td_raster {
	struct td_raster_info info;
	const struct td_raster_ops *ops;
	const struct tundish_listener *listener; /* while it is being opened */
	int flags;
	char *path;	       /* NULL: memory */
	char *name;	       /* in notices, in its place; or NULL */
	uint64_t data_bytes;   /* ENVI: what the pixels take at least where they are not packed */
	char *given;	       /* where the caller says that the pixels are; or NULL */
	struct td_bytes file;  /* what was opened */
	struct td_bytes pixels;/* ENVI: the data file; else unused */
	char *pixels_path;
	struct td_raster_region *regions;
	size_t regions_cap;
	json_t *metadata;
	bool lost;	       /* metadata for which there was no memory */
	double *gain, *offset; /* for each band, or NULL */
	double factor;	       /* reflectance scale factor, or 0 */
	void *own;
};

/* "PATH: TEXT" to the listener. */
void td_raster_notice(const struct td_raster *r, const char *fmt, ...) td_printf_like(2, 3);
/* Adds a zeroed region; NULL without memory. */
struct td_raster_region *td_raster_add_region(struct td_raster *r);

/* Metadata: what cannot be stored sets r->lost. Text that is no UTF-8 is taken for
 * Latin-1; numbers that JSON does not have are left to the caller. */
void td_raster_put(struct td_raster *r, const char *key, json_t *value);
json_t *td_raster_text(const char *s, size_t len);
/* A list; whole numbers without a point when `whole`. NULL when one is not finite. */
json_t *td_raster_numbers(const double *v, size_t n, bool whole);
