/* SPDX-License-Identifier: BSD-2-Clause
 * What bench found, as text and as JSON. */
#pragma once
#include "pass.h"
#include "sweep.h"

/* The samples of one setting. */
struct benchout_point {
	struct pass *passes;
	unsigned n;
};

struct benchout {
	const char *ops; /* NULL: decode only */
	const struct sweeps *sweeps;
	unsigned warmup, repeat, batch;
	bool explain;
	const struct benchout_point *points; /* sweeps->points of them */
};

void benchout_text(const struct benchout *out);
void benchout_json(const struct benchout *out);

/* The setting with the highest median; of levels the last, which is the whole chain. */
unsigned benchout_best(const struct benchout *out);
/* Writes the best setting to `path`, as JSON. */
int benchout_save(const struct benchout *out, const char *path, struct tundish_error *error);
/* Draws the medians with their ranges, or the stages where there is no sweep, to an
 * SVG, PNG or PDF file, with gnuplot. */
int benchout_plot(const struct benchout *out, const char *path, struct tundish_error *error);
