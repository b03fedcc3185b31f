/* SPDX-License-Identifier: BSD-2-Clause
 * How often each whole number occurs: exact medians that do not depend on threads. */
#pragma once
#include "base/map.h"

struct td_tally {
	struct td_map map; /* int64_t -> uint64_t */
	uint64_t n;
};

struct td_tally_entry {
	int64_t value;
	uint64_t n;
};

struct td_spread {
	uint64_t n; /* all else is 0 when this is */
	int64_t least, median, most; /* of an even number of values, the lower median */
};

bool td_tally_add(struct td_tally *t, int64_t value, uint64_t n) td_must_check;
/* Adds what `part` counted and empties it. */
bool td_tally_merge(struct td_tally *t, struct td_tally *part) td_must_check;
/* By value, ascending; to be freed. NULL when out of memory. */
struct td_tally_entry *td_tally_sorted(const struct td_tally *t) td_must_check;
bool td_tally_spread(const struct td_tally *t, struct td_spread *ret) td_must_check;
/* Values by powers of two: bin 0 holds 0, bin i those from 2^(i-1) on. */
#define TD_BINS 64
struct td_histogram {
	uint64_t n[TD_BINS];
	size_t first, end; /* of the bins that are used */
};

static inline uint64_t td_histogram_from(size_t bin)
{
	return bin ? (uint64_t)1 << (bin - 1) : 0;
}

/* Negative values do not occur. */
void td_tally_histogram(const struct td_tally *t, struct td_histogram *ret);

void td_tally_free(struct td_tally *t);
