/* SPDX-License-Identifier: BSD-2-Clause
 * Exact statistics of the channels of arrays. */
#pragma once
#include "array.h"
#include "base/exact.h"

/* The last of three axes are channels; arrays of other axes have one. */
struct td_band {
	struct td_exact sum, squares;
	long double least, most;
	uint64_t n, odd; /* numbers; and what is none: NaN and infinities */
};

struct td_bands {
	uint64_t arrays, pixels;
	enum td_elem elem;
	unsigned n;
	struct td_band *list;
};

#define TD_BANDS_MOST 20000u

/* Adds the array of a record, if it holds one: 1, or 0. SCHEMA for one without a shape, or of
 * another type or number of channels than those before; LIMIT, MEMORY. */
int td_bands_record(struct td_bands *b, const struct tundish_record *r, const char *asked,
    const struct td_beside *beside, struct tundish_error *e);
/* Adds those of `part` and empties it. SCHEMA as above. */
int td_bands_merge(struct td_bands *b, struct td_bands *part, struct tundish_error *e);
/* The JSON file that tundish-inspect(1) documents. */
int td_bands_write(const struct td_bands *b, const char *path, struct tundish_error *e);
void td_bands_free(struct td_bands *b);
