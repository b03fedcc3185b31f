/* SPDX-License-Identifier: BSD-2-Clause
 * Timing: rounds with warm-up over one or more points, and what the samples say. */
#include "sample.h"

#include <stdlib.h>

int sample_rounds(const struct sample_plan *plan, sample_fn *measure, void *ctx)
{
	int last = (int)plan->repeats;
	for (int round = -(int)plan->warmup; round < last; round++) {
		for (unsigned point = 0; point < plan->points; point++) {
			int rc = measure(ctx, point, round);
			if (rc < 0)
				return rc;
		}
	}
	return 0;
}

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return x < y ? -1 : x > y;
}

/* Sorted values. */
static double middle(const double *values, unsigned n)
{
	return (values[(n - 1) / 2] + values[n / 2]) / 2;
}

static double distance(double a, double b)
{
	return a > b ? a - b : b - a;
}

/* Of sorted values: walks from the median outwards, the nearest first. */
static double median_distance(const double *values, unsigned n, double median)
{
	unsigned low = n / 2, high = n / 2, need = n / 2 + 1;
	double far = 0, previous = 0;
	for (unsigned seen = 0; seen < need; seen++) {
		previous = far;
		if (high >= n || (low > 0 && median - values[low - 1] <= values[high] - median))
			far = distance(values[--low], median);
		else
			far = distance(values[high++], median);
	}
	return n % 2 ? far : (far + previous) / 2;
}

struct sample_summary sample_summarize(double *values, unsigned n)
{
	qsort(values, n, sizeof *values, ascending);
	struct sample_summary s = {
		.median = middle(values, n),
		.min = values[0],
		.max = values[n - 1],
	};
	double off = 1.4826 * median_distance(values, n, s.median);
	s.spread = s.median > 0 ? off / s.median : 0;
	/* the bound that hyperfine uses: beyond any doubt, however few the samples */
	for (unsigned i = 0; i < n; i++)
		s.outliers += off > 0 && distance(values[i], s.median) > 14.8 * off;
	return s;
}
