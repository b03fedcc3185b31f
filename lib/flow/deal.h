/* SPDX-License-Identifier: BSD-2-Clause
 * Records of several strata dealt to batches, so that each batch holds all in proportion. */
#pragma once
#include <stdbool.h>

#include "base/attr.h"

/*
 * All of it is arithmetic on a position, and needs nothing of what came before. Think of
 * the slots of an epoch in a line, stratum after stratum. First the slots of the last,
 * shorter batch are picked from it at even distances; the rest is dealt out like cards,
 * one to each batch in turn. So a batch holds of each stratum its part of an epoch, rounded
 * up or down. Within a batch slot t stands at the position q for which a q + o = t modulo
 * its size, a and o drawn for each batch and a prime to the size: ranks that take every
 * W-th position then hold the strata in proportion as well.
 */
struct td_deal {
	uint64_t seed;
	uint64_t batch;	   /* positions in a batch of all ranks */
	unsigned n_strata;
	uint64_t *starts;  /* of each stratum's slots, and the number of all: n_strata + 1 */
	uint64_t least;	   /* of each stratum in a batch */
};

struct td_dealt {
	unsigned stratum;
	uint64_t number; /* of the stratum's slots of this epoch, in the order of batches */
	bool extra;	 /* to reach `least`: has no number */
};

struct td_dealt td_deal_at(const struct td_deal *d, uint64_t epoch, uint64_t position);
