/* SPDX-License-Identifier: BSD-2-Clause
 * File names of shard sets: NAME-SPLIT.tfrecord-00000-of-00010 and its kin. */
#pragma once
#include <stdbool.h>

#include "base/attr.h"

/* More shards than that are no shard set. */
#define TD_SHARDS_MAX 1000000

struct td_shard_name {
	const char *name;   /* base name, the caller's */
	size_t prefix;	    /* bytes of it before the shard number */
	const char *suffix; /* behind "-of-N" and the count */
	uint64_t shard, shards;
	bool has_count;	    /* NAME-00000-of-00010_00001234.tfrecord */
	uint64_t count;
};

/* False when the base name has no "N-of-M" with M from 1 to TD_SHARDS_MAX. */
bool td_shard_name_parse(struct td_shard_name *ret, const char *name);
/* Both are of one set, but for its number of shards. */
bool td_shard_name_same(const struct td_shard_name *a, const struct td_shard_name *b);
/* The count in a name, with or without shard numbers: "train_00012345.tfrecord". */
bool td_name_count(uint64_t *ret_count, const char *name);
