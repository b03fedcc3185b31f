/* SPDX-License-Identifier: BSD-2-Clause
 * Timing: rounds with warm-up over one or more points, and what the samples say. */
#pragma once

struct sample_plan {
	unsigned warmup, repeats; /* rounds */
	unsigned points;
};

/* Measures one point once; `round` is negative while warming up. Negative: error. */
typedef int sample_fn(void *ctx, unsigned point, int round);

/* Each round visits all points in turn, so that a machine that changes its speed
 * changes it for all of them. 0, or the first error. */
int sample_rounds(const struct sample_plan *plan, sample_fn *measure, void *ctx);

struct sample_summary {
	double median, min, max;
	double spread;	   /* median distance from the median, scaled to a standard deviation; / median */
	unsigned outliers; /* so far off that something else was going on */
};

/* Sorts `values`; n > 0. */
struct sample_summary sample_summarize(double *values, unsigned n);
