/* SPDX-License-Identifier: BSD-2-Clause
 * One timed pass of a flow into nothing: what bench repeats. */
#pragma once
#include "tundish.h"

struct pass {
	uint64_t images;
	uint64_t bytes;	      /* delivered */
	double seconds;	      /* from the first batch asked for to the last one given back */
	struct tundish_flow_stats stats;
};

/* How the consumer behaves. */
struct pass_limits {
	double seconds; /* it has enough after that time */
	double step_ms; /* it works that long with each batch, as a training step does */
	const char *trace; /* a file of what each thread did when; NULL */
};

/* Opens the flow and takes batches to its end, or to the limit. */
int pass_run(const struct tundish_flow_options *options, const struct pass_limits *limits,
    struct pass *ret_pass, struct tundish_error *ret_error);

/* Instead: only reads the records of the same paths and compares all checksums. */
int pass_read(const struct tundish_flow_options *options, const struct pass_limits *limits,
    struct pass *ret_pass, struct tundish_error *ret_error);

/* Adds up what several passes did; the numbers that are no sums come from the last. */
struct pass pass_sum(const struct pass *passes, unsigned n);

/* Parts of the time, from 0 to 1. */
double pass_consumer_wait(const struct pass *pass);
double pass_workers_idle(const struct pass *pass);
