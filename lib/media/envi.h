/* SPDX-License-Identifier: BSD-2-Clause
 * The parts of the ENVI reader: header text, data file, pixels. */
#pragma once
#include <pthread.h>

#include "raster-kind.h"

/* One "key = value"; both end with a NUL and may hold others. */
struct td_envi_field {
	const char *key;   /* lower case, "_" and runs of blanks as one blank */
	const char *value; /* trimmed, without the braces */
	size_t len;	   /* of the value */
	bool braces;
};

struct td_envi_header {
	struct td_envi_field *fields;
	size_t n, cap;
	struct td_buf text; /* what they point into */
};

/* CORRUPT for a brace that stays open. */
int td_envi_parse(struct td_envi_header *ret, const void *data, size_t len, struct tundish_error *e);
void td_envi_header_free(struct td_envi_header *h);
/* The last field of that name, or NULL. */
const struct td_envi_field *td_envi_find(const struct td_envi_header *h, const char *key);
/* Goes through a list between commas: true and the next item, trimmed. *at begins at 0.
 * Nothing before the first comma or behind the last is no item. */
bool td_envi_item(const struct td_envi_field *f, size_t *at, const char **ret, size_t *ret_len);

enum td_envi_interleave {
	TD_ENVI_BSQ,
	TD_ENVI_BIL,
	TD_ENVI_BIP,
};

/* Number (l, s, b) lies at start + l * line + s * sample + b * band. */
struct td_envi {
	uint64_t lines, samples, bands; /* a library is lines of one sample with many bands */
	enum td_envi_interleave interleave;
	uint64_t start, line, sample, band;
	uint64_t bytes; /* what the data file must have, unpacked */
	bool library, swap, gzip;
	uint8_t *bad;
	double *axis;
	char unit[64];
	pthread_mutex_t lock;	/* of gzip'ed data: the first reader unpacks them */
	bool unpacked;
};

/* Opens the data file of r->path as r->pixels; NOT_FOUND names what was looked for. */
int td_envi_find_data(struct td_raster *r, struct tundish_error *e);
/* Unpacks gzip'ed data, the first time, into a file without a name: r->pixels from then
 * on. */
int td_envi_unpack(struct td_raster *r, struct tundish_error *e);

int td_envi_read(struct td_raster *r, const struct td_raster_part *part, void *out,
    struct td_buf *scratch, struct tundish_error *e);
