/* SPDX-License-Identifier: BSD-2-Clause
 * What is kept of records from one epoch to the next. */
#pragma once
#include <stdatomic.h>
#include <stdbool.h>

#include "base/elem.h"
#include "base/ledger.h"
#include "base/talk.h"

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

/* What the user asks for. */
struct td_cache_spec {
	enum td_cache_kind kind;
	char *folder; /* NULL: memory */
};

/* Records are let in until the limit is reached, and then stay: what is kept changes
 * nothing but the time. Any thread may ask and add at once. In a folder it is a shelf.h,
 * whose entries are read like records. */
struct td_shelf;
struct td_cache {
	enum td_cache_kind kind;
	uint64_t limit;
	struct td_ledger *ledger;
	uint64_t n;
	struct td_cached *_Atomic *entries;
	_Atomic uint64_t used;
	struct td_shelf *shelf; /* instead of entries; NULL: in memory */
};

/* Reads "memory", "memory:decoded", "memory:ops", "memory:raw", "memory:index", or a folder
 * alone or with :decoded, :ops or :raw; NULL: none. USAGE. */
int td_cache_parse(struct td_cache_spec *ret, const char *text, struct tundish_error *e);
void td_cache_spec_free(struct td_cache_spec *spec);
int td_cache_open(struct td_cache *ret, enum td_cache_kind kind, uint64_t records, uint64_t limit,
    struct td_ledger *ledger, struct tundish_error *e);
/* On a shelf, which becomes the cache's. */
void td_cache_open_shelf(struct td_cache *ret, enum td_cache_kind kind, struct td_shelf *shelf,
    struct td_ledger *ledger);
/* NULL where nothing is kept in memory. */
const struct td_cached *td_cache_get(const struct td_cache *c, uint64_t record);
/* Bytes that an entry on the shelf takes in memory; 0: there is none. */
uint64_t td_cache_on_shelf(const struct td_cache *c, uint64_t record);
/* Room for an entry, to be filled and put; NULL when the cache is full. */
struct td_cached *td_cache_room(struct td_cache *c, size_t bytes);
void td_cache_put(struct td_cache *c, uint64_t record, struct td_cached *entry);
/* For room that is not filled after all. */
void td_cache_drop(struct td_cache *c, struct td_cached *entry);
void td_cache_close(struct td_cache *c, const struct tundish_listener *l);
