/* SPDX-License-Identifier: BSD-2-Clause
 * What is kept of records from one epoch to the next. */
#pragma once
#include <stdatomic.h>
#include <stdbool.h>

#include "base/elem.h"
#include "base/ledger.h"
#include "tundish.h"

enum td_cache_kind {
	TD_CACHE_NONE,
	TD_CACHE_INDEX,	  /* where the rows of a JPEG begin; the record is read again */
	TD_CACHE_RAW,	  /* the record as it was read */
	TD_CACHE_DECODED, /* the whole picture, or tensor */
	TD_CACHE_OPS,	  /* the picture behind the operations that do not draw */
};

/* Never changed once it is in the cache. */
struct td_cached {
	uint32_t width, height, channels; /* of a picture */
	enum td_elem elem;
	int64_t label;
	size_t bytes;
	uint8_t data[] __attribute__((aligned(16)));
};

/* Records are let in until the limit is reached, and then stay: what is kept changes
 * nothing but the time. Any thread may ask and add at once. */
struct td_cache {
	enum td_cache_kind kind;
	uint64_t limit;
	struct td_ledger *ledger;
	uint64_t n;
	struct td_cached *_Atomic *entries;
	_Atomic uint64_t used;
};

/* Reads "memory", "memory:decoded", "memory:ops", "memory:raw", "memory:index"; NULL:
 * none. USAGE. */
int td_cache_parse(enum td_cache_kind *ret, const char *text, struct tundish_error *e);
int td_cache_open(struct td_cache *ret, enum td_cache_kind kind, uint64_t records, uint64_t limit,
    struct td_ledger *ledger, struct tundish_error *e);
/* NULL where nothing is kept. */
const struct td_cached *td_cache_get(const struct td_cache *c, uint64_t record);
/* Room for an entry, to be filled and put; NULL when the cache is full. */
struct td_cached *td_cache_room(struct td_cache *c, size_t bytes);
void td_cache_put(struct td_cache *c, uint64_t record, struct td_cached *entry);
/* For room that is not filled after all. */
void td_cache_drop(struct td_cache *c, struct td_cached *entry);
void td_cache_close(struct td_cache *c);
