/* SPDX-License-Identifier: BSD-2-Clause
 * How well the labels of a set are mixed: runs, and entropy of records in a row. */
#pragma once
#include "base/map.h"

#define TD_ORDER_WINDOW 64 /* records in a row */

/* Zeroed is empty. Labels are any bytes. */
struct td_order {
	uint64_t records, runs;
	struct td_buf first, last; /* labels */
	struct td_map window;	   /* label -> how often in the window at hand */
	unsigned in_window;
	uint64_t windows;
	double bits; /* entropy, summed over whole windows */
};

/* The label of the next record. */
bool td_order_add(struct td_order *o, const void *label, size_t bytes) td_must_check;
/* Adds what comes behind, and empties `part`. Windows do not span parts. */
bool td_order_merge(struct td_order *o, struct td_order *part) td_must_check;
void td_order_free(struct td_order *o);
