/* SPDX-License-Identifier: BSD-2-Clause
 * What bench found, as text and as JSON. */
#pragma once
#include "pass.h"

#define BENCHOUT_POINTS 64

/* The samples of one setting. */
struct benchout_point {
	const char *value; /* of the swept option; NULL without a sweep */
	struct pass *passes;
	unsigned n;
};

struct benchout {
	const char *ops;   /* NULL: decode only */
	const char *sweep; /* name of the swept option; NULL */
	unsigned warmup, repeat, batch;
	const struct benchout_point *points;
	unsigned n_points;
};

void benchout_text(const struct benchout *out);
void benchout_json(const struct benchout *out);
