/* SPDX-License-Identifier: BSD-2-Clause
 * What is kept of records from one epoch to the next. */
#include "cache.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"

int td_cache_parse(enum td_cache_kind *ret, const char *text, struct tundish_error *e)
{
	static const struct {
		const char *text;
		enum td_cache_kind kind;
	} kinds[] = {
		{ "memory", TD_CACHE_DECODED },
		{ "memory:decoded", TD_CACHE_DECODED },
		{ "memory:ops", TD_CACHE_OPS },
		{ "memory:raw", TD_CACHE_RAW },
		{ "memory:index", TD_CACHE_INDEX },
	};
	*ret = TD_CACHE_NONE;
	if (!text)
		return 0;
	for (size_t i = 0; i < TD_COUNT(kinds); i++) {
		if (strcmp(text, kinds[i].text) == 0) {
			*ret = kinds[i].kind;
			return 0;
		}
	}
	return td_err(e, TUNDISH_E_USAGE,
	    "cache \"%s\" is not understood: memory, or memory: and decoded, ops, raw or index",
	    TD_ESC(text));
}

int td_cache_open(struct td_cache *ret, enum td_cache_kind kind, uint64_t records, uint64_t limit,
    struct td_ledger *ledger, struct tundish_error *e)
{
	*ret = (struct td_cache){ .kind = kind, .limit = limit, .ledger = ledger, .n = records };
	if (kind == TD_CACHE_NONE)
		return 0;
	ret->entries = calloc(records, sizeof *ret->entries);
	if (!ret->entries) {
		ret->kind = TD_CACHE_NONE;
		return td_err_memory(e);
	}
	return 0;
}

const struct td_cached *td_cache_get(const struct td_cache *c, uint64_t record)
{
	return c->entries ? atomic_load_explicit(&c->entries[record], memory_order_acquire) : NULL;
}

struct td_cached *td_cache_room(struct td_cache *c, size_t bytes)
{
	size_t all = sizeof(struct td_cached) + bytes;
	if (atomic_fetch_add_explicit(&c->used, all, memory_order_relaxed) + all > c->limit) {
		atomic_fetch_sub_explicit(&c->used, all, memory_order_relaxed);
		return NULL;
	}
	struct td_cached *entry = malloc(all);
	if (!entry) {
		atomic_fetch_sub_explicit(&c->used, all, memory_order_relaxed);
		return NULL;
	}
	td_ledger_take(c->ledger, all);
	*entry = (struct td_cached){ .bytes = bytes };
	return entry;
}

void td_cache_drop(struct td_cache *c, struct td_cached *entry)
{
	size_t all = sizeof *entry + entry->bytes;
	td_ledger_give(c->ledger, all);
	atomic_fetch_sub_explicit(&c->used, all, memory_order_relaxed);
	free(entry);
}

void td_cache_put(struct td_cache *c, uint64_t record, struct td_cached *entry)
{
	struct td_cached *none = NULL;
	/* two epochs may meet a record at once: the first one stays */
	if (!atomic_compare_exchange_strong_explicit(&c->entries[record], &none, entry,
		memory_order_release, memory_order_relaxed))
		td_cache_drop(c, entry);
}

void td_cache_close(struct td_cache *c)
{
	for (uint64_t i = 0; c->entries && i < c->n; i++)
		free(c->entries[i]);
	free(c->entries);
	*c = (struct td_cache){ 0 };
}
