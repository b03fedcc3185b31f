/* SPDX-License-Identifier: BSD-2-Clause
 * The plan of a set: which item goes to which split and shard, in which order. */
#pragma once
#include <stdbool.h>

#include "base/attr.h"
#include "tundish.h"

/*
 * The plan knows nothing but numbers: how many items there are, their classes and sizes.
 * It is a function of these and of the seed. Items that turn out bad later leave their
 * place empty and move nothing.
 *
 * Split totals are exact by largest remainder. With `stratify`, each class is divided
 * within one item of its share among the splits (controlled rounding: rows and columns
 * of the table class by split both come out), and within one item among the shards of a
 * split: its items are dealt to them in turn. The shards of a split differ by one item.
 *
 * Groups are never divided by a split, unless `split_items`: whole groups are drawn, as
 * many as its part of them, and the classes of a split are then those of its groups.
 * Without shuffle a group's items also stand together and in order, in one shard: groups
 * are dealt instead of items, and shards differ by as much as a group has.
 */
struct td_plan_options {
	size_t n;
	const int32_t *classes; /* of each item, -1 for none; NULL: all alike */
	const uint32_t *groups; /* of each item, from 0; NULL: each is its own */
	size_t n_groups;
	bool split_items;	/* a split may divide groups */
	const uint64_t *bytes;	/* of each item; NULL when shards are given by number */
	const char *shards;	/* "10", "train=10,val=2", or NULL: by shard_bytes */
	uint64_t shard_bytes;
	const char *split;	/* "train=.9,val=.1", or NULL: all is "train" */
	bool stratify;
	bool shuffle;		/* else items keep their order within a shard */
	uint64_t seed;
};

struct td_plan_split {
	char *name;
	uint64_t part; /* of the whole, in billionths */
	uint64_t n;
	size_t first_shard, n_shards;
};

struct td_plan_shard {
	uint64_t first, n; /* in the order */
	size_t split;
	size_t number; /* within the split */
};

struct td_plan {
	uint32_t *order; /* items, shard after shard */
	size_t n;
	struct td_plan_split *splits;
	size_t n_splits;
	struct td_plan_shard *shards;
	size_t n_shards;
};

#define TD_PLAN_SPLITS 64
#define TD_PLAN_SHARDS 1000000

/* Errors: USAGE (the options, a split that would get no item), MEMORY. */
int td_plan_make(struct td_plan *ret, const struct td_plan_options *options, struct tundish_error *e);
void td_plan_free(struct td_plan *plan);

/* The splits and shards of items that are not known yet: there is no order. USAGE. */
int td_plan_stream(struct td_plan *ret, const char *shards, const char *split, struct tundish_error *e);
/* Checks the words alone, before there are items to plan: split and shards. */
int td_plan_check(const char *shards, const char *split, struct tundish_error *e);

/* Table of class by split, row after row: c[k * n_splits + s] of class_n[k] items each,
 * with column sums split_n[s]. */
bool td_plan_round(uint64_t *c, const uint64_t *class_n, size_t n_classes,
    const struct td_plan_split *splits, size_t n_splits) td_must_check;
