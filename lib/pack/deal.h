/* SPDX-License-Identifier: BSD-2-Clause
 * Which shard an item goes to by its number within its class alone. */
#pragma once
#include "plan.h"

struct td_deal {
	const struct td_plan *plan;
	uint64_t seed;
	uint8_t *turns;	  /* the splits in turn, TD_DEAL_TURNS of them, each by its part */
	uint32_t *before; /* turns of a split before each place: splits * (turns + 1) */
	uint64_t got[TD_PLAN_SPLITS];
};
/* So many make up a round: parts of a split are kept to one in as many. */
#define TD_DEAL_TURNS 10000

int td_deal_init(struct td_deal *ret, const struct td_plan *plan, uint64_t seed, struct tundish_error *e);
/* The shard of item number n of a class, which begins at its own place of the round and at
 * its own shard. */
size_t td_deal_shard(struct td_deal *d, uint64_t class, uint64_t n);
/* The same within a split that is known, by the item's number in its class and the split. */
size_t td_deal_in_split(const struct td_deal *d, size_t split, uint64_t class, uint64_t n);
void td_deal_free(struct td_deal *d);
