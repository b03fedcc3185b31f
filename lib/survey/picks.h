/* SPDX-License-Identifier: BSD-2-Clause
 * A sample of records spread over classes, drawn by a seed while the records pass by. */
#pragma once
#include "base/map.h"

struct td_pick {
	uint64_t draw; /* the smallest ones win */
	uint64_t record, offset;
	size_t file;
};

/* Set `limit`; the rest zeroed. */
struct td_picks {
	unsigned limit;	       /* at most this many in all, and kept for each class */
	struct td_map classes; /* class -> struct td_pick_heap */
};

/* A record of a class (any bytes) passes by. The draw depends on seed, file and record. */
bool td_picks_offer(struct td_picks *p, const void *label, size_t bytes, uint64_t seed,
    struct td_pick pick) td_must_check;
/* Adds those of `part`, which becomes empty. */
bool td_picks_merge(struct td_picks *p, struct td_picks *part) td_must_check;
void td_picks_free(struct td_picks *p);

struct td_picked {
	struct td_pick pick;
	size_t class; /* number in `classes` */
};

/* The draw: one of each class, then a second of each, ... until there are enough; when
 * there are more classes than places, those with the smallest draws. In the order of
 * `rank` (of classes, by their number), then of file and record. To be freed. */
struct td_picked *td_picks_draw(const struct td_picks *p, const size_t *rank, size_t *ret_n)
    td_must_check;
