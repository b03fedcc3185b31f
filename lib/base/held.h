/* SPDX-License-Identifier: BSD-2-Clause
 * Faults and notices held back by a parallel job, told later in the order of the jobs. */
#pragma once
#include "buf.h"
#include "tundish.h"

/* Zeroed memory holds nothing. One thread at a time. */
struct td_held {
	struct td_buf events;
	size_t last_path, last_reason; /* where in events: repeated strings are kept once */
	bool lost;		       /* out of memory: something could not be held */
};

/* A listener that writes into h; give it to readers and to td_fault(). */
struct tundish_listener td_held_listener(struct td_held *h);

/* Tells all of it to l (which may be NULL) and forgets it. MEMORY when something
 * could not be held. */
int td_held_tell(struct td_held *h, const struct tundish_listener *l, struct tundish_error *e)
    td_must_check;
void td_held_free(struct td_held *h);
