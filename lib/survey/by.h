/* SPDX-License-Identifier: BSD-2-Clause
 * How many records hold which value of a feature. */
#pragma once
#include "base/map.h"
#include "tundish.h"

/* Keys are the values as text. */
struct td_by {
	struct td_map values;
	struct td_buf text; /* scratch */
	uint64_t without;
};

#define TD_BY_INIT { .values = { .value_bytes = sizeof(struct td_by_value) } }

struct td_by_value {
	uint64_t records;
	int kind; /* INT64, FLOAT where the value is one number, else BYTES */
	int64_t number;
	float real;
};

/* Counts a record whose feature is f, or which has none (NULL). */
bool td_by_add(struct td_by *by, const struct tundish_feature *f) td_must_check;
/* Adds what `part` counted and empties it. */
bool td_by_merge(struct td_by *by, struct td_by *part) td_must_check;
/* Numbers ascending, then text bytewise; the strings belong to the array. NULL when
 * out of memory. */
struct tundish_count_value *td_by_sorted(const struct td_by *by) td_must_check;
/* The entries of `values` in the same order; to be freed. */
size_t *td_by_order(const struct td_by *by) td_must_check;
void td_by_free(struct td_by *by);
