/* SPDX-License-Identifier: BSD-2-Clause
 * Arrays from instruments, in ENVI, Princeton SPE and Radiance files: what is in them,
 * and any part of the numbers without reading the rest.
 *
 * Errors hold a reason without the path: the caller knows it. Notices name it. */
#pragma once
#include <jansson.h>
#include <stdbool.h>

#include "base/buf.h"
#include "base/elem.h"
#include "tundish.h"

enum td_raster_kind {
	TD_RASTER_NONE = 0,
	TD_RASTER_ENVI,	   /* the text header; its pixels are in another file */
	TD_RASTER_SPE,
	TD_RASTER_RADIANCE,
	TD_RASTER_ANALYZE, /* known by name only from here on: what else is called .hdr */
	TD_RASTER_ESRI,
};

/* By the first bytes; 4200 are enough. */
enum td_raster_kind td_raster_probe(const void *data, size_t len);

/* One array. An SPE file has one for each region of the sensor, all others have one. */
struct td_raster_region {
	unsigned n_axes; /* 2 for a spectral library, else 3 */
	/* lines, samples, bands; spectra, channels; frames, rows, columns (SPE); rows,
	 * columns, channels (Radiance, the top left corner first) */
	const char *axes[3];
	uint64_t shape[3];
	/* SPE: where the region lies on the sensor, and pixels summed up on it */
	uint64_t x, y;
	uint32_t x_binning, y_binning;
};

/* What an SPE 3 file says of each single frame. */
struct td_raster_field {
	char name[48];	    /* "exposure_started", "frame_tracking_number", "gate_delay" */
	bool real;	    /* a double, else an int64 */
	uint64_t resolution;/* of time stamps: ticks a second, else 0 */
};

union td_raster_value {
	int64_t i;
	double f;
};

struct td_raster_info {
	enum td_raster_kind kind;
	enum td_elem dtype;
	unsigned n_regions; /* 1 at least */
	const struct td_raster_region *regions;
	/* Where the numbers are, NULL when no such file was found (TD_RASTER_HEADER_ONLY) */
	const char *data_path;
	/* SPE: frames that the header promises and the file does not hold: a loss */
	uint64_t missing_frames;
	/* ENVI, for each place on the last axis: 1 for bad by `bbl`; or NULL */
	const uint8_t *bad_bands;
	bool has_ignore, has_scale;
	double ignore;	       /* `data ignore value`; may be NaN or no value of the type */
	const char *axis_unit; /* of td_raster_axis(), as the file has it: "nm", "" */
	unsigned n_fields;
	const struct td_raster_field *fields;
	/* Everything that the file says about itself: texts, numbers and lists of them. */
	const json_t *metadata;
};

enum {
	TD_RASTER_HEADER_ONLY = 1, /* for looking: pixels may be missing or too few */
	TD_RASTER_BSQ = 2, /* this interleave, whatever an ENVI header says of it */
	TD_RASTER_BIL = 4,
	TD_RASTER_BIP = 8,
};

/* Opens a file of one of the kinds, reading its header (and an SPE's footer) alone. For
 * ENVI `path` is the header, the data file is looked for beside it. Notices go to the
 * listener, which may be NULL. Errors: those of opening, UNSUPPORTED, CORRUPT, TRUNCATED,
 * NOT_FOUND (no data file), LIMIT (sizes that nobody has), MEMORY. */
struct td_raster;
int td_raster_open(struct td_raster **ret, const char *path, int flags,
    const struct tundish_listener *l, struct tundish_error *e);
/* The same where the paths tell nothing: `data_path` (NULL: as above) is what belongs to an
 * ENVI header, `name` (or NULL) what notices say. */
int td_raster_open_pair(struct td_raster **ret, const char *path, const char *data_path, const char *name,
    int flags, const struct tundish_listener *l, struct tundish_error *e);
/* Whether what is called `name` may hold the numbers of the ENVI header of that name: 0, or the
 * more the better. Letters may differ in case. */
unsigned td_raster_is_data(const char *header, const char *name);
/* The bytes that they take at least by the header's text; 0: it does not tell, or they are packed. */
uint64_t td_raster_data_bytes(const void *header, size_t len);
/* Whether it may be that for some header. */
bool td_raster_data_named(const char *name);
/* The same for bytes in memory, which must outlive it; `pixels` for ENVI alone. */
int td_raster_open_memory(struct td_raster **ret, const void *data, size_t len, const void *pixels,
    size_t pixels_len, const struct tundish_listener *l, struct tundish_error *e);
void td_raster_close(struct td_raster *r);

const struct td_raster_info *td_raster_info(const struct td_raster *r);
/* The same as JSON: kind, dtype, axes and shape (of the first region), regions when there
 * are several, data_file, frame_fields, metadata. A new reference, or NULL without memory. */
json_t *td_raster_describe(const struct td_raster *r);

/* A part of one region: `count` places from `start` on along each of its axes. With
 * `bands` (ENVI only) the last axis has these places instead, in this order. */
struct td_raster_part {
	unsigned region;
	uint64_t start[3], count[3];
	const uint32_t *bands;
	uint32_t n_bands;
};
/* All of a region. */
struct td_raster_part td_raster_all(const struct td_raster *r, unsigned region);
/* The bytes that a part has; INVALID when it is empty or not inside. */
int td_raster_part_bytes(uint64_t *ret, const struct td_raster *r,
    const struct td_raster_part *part, struct tundish_error *e);

/* Reads a part as little-endian numbers in C order of the axes. `out` has room for
 * td_raster_part_bytes(); on failure its content is of no use. `scratch` is working memory
 * (2 MiB at most). Only what is asked for is read, but Radiance and gzip'ed ENVI data are
 * unpacked from their start. Any number of threads, each with its own scratch. */
int td_raster_read(struct td_raster *r, const struct td_raster_part *part, void *out,
    struct td_buf *scratch, struct tundish_error *e);

/* What the places on the last axis stand for (wavelengths, Raman shifts), one number each
 * of td_raster_region.shape: 1, or 0 when the file does not say. In old SPE files it is
 * the polynomial at pixels first_pixel, first_pixel + 1, ... (1 by their own counting). */
int td_raster_axis(double *ret, const struct td_raster *r, unsigned region, int first_pixel);

/* Physical numbers of a part that was read: (v * gain + offset) / reflectance factor with
 * what the header has of them, ignored values NaN. One float for each element. */
void td_raster_scale(float *out, const struct td_raster *r, const struct td_raster_part *part,
    const void *in);
/* How many pixels of a part that was read have the data ignore value in all bands. */
uint64_t td_raster_ignored(const struct td_raster *r, const struct td_raster_part *part,
    const void *in);

/* The n_fields values of one frame. */
int td_raster_frame(union td_raster_value *ret, const struct td_raster *r, uint64_t frame,
    struct tundish_error *e);
