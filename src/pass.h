/* SPDX-License-Identifier: BSD-2-Clause
 * One timed pass of a flow into nothing: what bench repeats. */
#pragma once
#include "tundish.h"

struct pass {
	uint64_t images, batches;
	uint64_t image_bytes; /* delivered */
	double seconds;	      /* from the first batch asked for to the last one given back */
	struct tundish_flow_stats stats;
};

/* Opens the flow and takes batches to its end, or for `seconds` if that comes first. */
int pass_run(const struct tundish_flow_options *options, double seconds, struct pass *ret_pass,
    struct tundish_error *ret_error);
