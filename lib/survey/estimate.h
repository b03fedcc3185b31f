/* SPDX-License-Identifier: BSD-2-Clause
 * How many records there are, about, from a seeded sample of places. */
#pragma once
#include <stdbool.h>

#include "record/paths.h"
#include "tundish.h"

struct td_estimate_options {
	const struct td_paths *paths;
	int compression;
	uint64_t max_record_bytes, seed;
	uint64_t all_below; /* files together smaller than that are not estimated */
	const struct tundish_listener *listener;
};

struct td_estimate {
	bool *sampled;	/* by file: estimated, else to be counted */
	double *records;/* by file, of the sampled ones */
	double bound;	/* with 95 % certainty the true sum of those is that near */
};

/* Decides which files are worth a sample and takes it. 0, or an error of reading. */
int td_estimate_run(struct td_estimate *ret, const struct td_estimate_options *o, struct tundish_error *e);
void td_estimate_free(struct td_estimate *est);
