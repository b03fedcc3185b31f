/* SPDX-License-Identifier: BSD-2-Clause
 * Which shard an item goes to by its number within its class alone. */
#include "deal.h"

#include <stdlib.h>

#include "base/err.h"
#include "base/rng.h"

/* The split that lacks most comes next. */
static void fill_turns(struct td_deal *d)
{
	const struct td_plan *plan = d->plan;
	int64_t lack[TD_PLAN_SPLITS] = { 0 }, whole = 0;
	for (size_t s = 0; s < plan->n_splits; s++)
		whole += (int64_t)plan->splits[s].part;
	for (size_t i = 0; i < TD_DEAL_TURNS; i++) {
		size_t best = 0;
		for (size_t s = 0; s < plan->n_splits; s++) {
			lack[s] += (int64_t)plan->splits[s].part;
			if (lack[s] > lack[best])
				best = s;
		}
		lack[best] -= whole;
		d->turns[i] = (uint8_t)best;
		for (size_t s = 0; s < plan->n_splits; s++) {
			uint32_t *before = d->before + s * (TD_DEAL_TURNS + 1) + i;
			before[1] = before[0] + (s == best);
		}
	}
}

int td_deal_init(struct td_deal *ret, const struct td_plan *plan, uint64_t seed, struct tundish_error *e)
{
	struct td_deal d = { .plan = plan, .seed = seed };
	d.turns = calloc(TD_DEAL_TURNS, 1);
	d.before = calloc(plan->n_splits * (TD_DEAL_TURNS + 1), sizeof *d.before);
	*ret = d;
	if (!d.turns || !d.before)
		return td_err_memory(e);
	fill_turns(ret);
	return 0;
}

void td_deal_free(struct td_deal *d)
{
	free(d->turns);
	free(d->before);
}

/* How many of the first n turns from the round's start are a split's. */
static uint64_t turns_of(const struct td_deal *d, size_t split, uint64_t n)
{
	const uint32_t *before = d->before + split * (TD_DEAL_TURNS + 1);
	return n / TD_DEAL_TURNS * before[TD_DEAL_TURNS] + before[n % TD_DEAL_TURNS];
}

size_t td_deal_in_split(const struct td_deal *d, size_t split, uint64_t class, uint64_t n)
{
	struct td_rng rng;
	const struct td_plan_split *s = &d->plan->splits[split];
	td_rng_at(&rng, d->seed, (uint32_t)split, class, TD_RNG_SHARD);
	return s->first_shard + (size_t)((td_rng_below(&rng, s->n_shards) + n) % s->n_shards);
}

size_t td_deal_shard(struct td_deal *d, uint64_t class, uint64_t n)
{
	struct td_rng rng;
	td_rng_at(&rng, d->seed, 0, class, TD_RNG_SPLIT);
	uint64_t first = td_rng_below(&rng, TD_DEAL_TURNS);
	size_t s = d->turns[(first + n) % TD_DEAL_TURNS];
	uint64_t number = turns_of(d, s, first + n) - turns_of(d, s, first);
	d->got[s]++;
	return td_deal_in_split(d, s, class, number);
}
