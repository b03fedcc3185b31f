/* SPDX-License-Identifier: BSD-2-Clause
 * Time series beside the frames: --align. */
#pragma once
#include <stdbool.h>

#include "base/buf.h"
#include "tundish.h"

#define TD_ALIGNS_MOST 16

struct td_loaded;
struct td_parts;
struct td_file;
struct td_specs;

/* A table of numbers over time, ascending. */
struct td_series {
	char *path;
	size_t n, n_columns;
	double *times, *values; /* n; n * n_columns */
};

struct td_align {
	char *key;
	char *file; /* {stem} is the video's path without its suffix, {folder} its folder */
	char *time; /* a column's name, or its number from 1; NULL: the first one */
	char **columns; /* NULL: all others */
	size_t n_columns;
	double offset; /* added to a frame's time */
	struct td_series series; /* where one file is for all */
	bool shared;
};

struct td_aligns {
	struct td_align *list;
	size_t n;
	double max_gap; /* 0: none is too long */
};

/* "imu=imu.csv,time=t,columns=ax:ay:az,offset=0.5", several behind semicolons. Files that
 * are for all are read here. NULL: *ret is NULL. USAGE, NOT_FOUND, IO. */
int td_aligns_parse(struct td_aligns **ret, const struct tundish_pack_options *o, struct tundish_error *e);
void td_aligns_free(struct td_aligns *a);

/* For the listing, from the first to the last frame of a file: that its tables can be read,
 * and gaps that are too long; adds to its specs, `frames` values each. Errors are reasons
 * without the path. */
int td_aligns_check(const struct td_aligns *a, struct td_parts *parts, const char *path, int64_t frames,
    const struct tundish_listener *l, struct tundish_error *e);

/* Adds a feature for each to the item's extras, at its times: linear between two rows, the
 * first and last values before and behind all. Errors as of td_format_load(). */
int td_aligns_load(const struct td_aligns *a, struct td_loaded *out, const char *path, struct tundish_error *e);
void td_series_free(struct td_series *s);
