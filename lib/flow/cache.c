/* SPDX-License-Identifier: BSD-2-Clause
 * What is kept of records from one epoch to the next. */
#include "cache.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "shelf.h"

static const struct {
	const char *text;
	enum td_cache_kind kind;
} kinds[] = {
	{ "decoded", TD_CACHE_DECODED },
	{ "ops", TD_CACHE_OPS },
	{ "raw", TD_CACHE_RAW },
	{ "index", TD_CACHE_INDEX },
};

int td_cache_parse(struct td_cache_spec *ret, const char *text, struct tundish_error *e)
{
	*ret = (struct td_cache_spec){ .kind = TD_CACHE_NONE };
	if (!text)
		return 0;
	const char *colon = strrchr(text, ':');
	if (colon && strchr(colon, '/'))
		colon = NULL; /* of a folder's name */
	size_t len = colon ? (size_t)(colon - text) : strlen(text);
	bool memory = len == 6 && strncmp(text, "memory", len) == 0;
	ret->kind = colon ? TD_CACHE_NONE : TD_CACHE_DECODED;
	for (size_t i = 0; colon && i < TD_COUNT(kinds); i++) {
		if (strcmp(colon + 1, kinds[i].text) == 0)
			ret->kind = kinds[i].kind;
	}
	if (len == 0 || ret->kind == TD_CACHE_NONE || (!memory && ret->kind == TD_CACHE_INDEX))
		return td_err(e, TUNDISH_E_USAGE, "cache \"%s\" is not understood: memory or a folder, alone "
		    "or with :decoded, :ops or :raw behind it, or memory:index", TD_ESC(text));
	if (!memory && !(ret->folder = strndup(text, len)))
		return td_err_memory(e);
	return 0;
}

void td_cache_spec_free(struct td_cache_spec *spec)
{
	free(spec->folder);
	spec->folder = NULL;
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

void td_cache_open_shelf(struct td_cache *ret, enum td_cache_kind kind, struct td_shelf *shelf,
    struct td_ledger *ledger)
{
	*ret = (struct td_cache){ .kind = kind, .limit = UINT64_MAX, .ledger = ledger, .shelf = shelf };
}

uint64_t td_cache_on_shelf(const struct td_cache *c, uint64_t record)
{
	return c->shelf ? td_shelf_bytes(c->shelf, record) : 0;
}

const struct td_cached *td_cache_get(const struct td_cache *c, uint64_t record)
{
	return c->entries ? atomic_load_explicit(&c->entries[record], memory_order_acquire) : NULL;
}

struct td_cached *td_cache_room(struct td_cache *c, size_t bytes)
{
	size_t all = sizeof(struct td_cached) + bytes;
	if (c->shelf && !td_shelf_takes(c->shelf))
		return NULL;
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
	if (c->shelf) {
		td_shelf_add(c->shelf, record, entry);
		td_cache_drop(c, entry);
		return;
	}
	/* two epochs may meet a record at once: the first one stays */
	if (!atomic_compare_exchange_strong_explicit(&c->entries[record], &none, entry,
		memory_order_release, memory_order_relaxed))
		td_cache_drop(c, entry);
}

void td_cache_close(struct td_cache *c, const struct tundish_listener *l)
{
	td_shelf_close(c->shelf, l);
	for (uint64_t i = 0; c->entries && i < c->n; i++)
		free(c->entries[i]);
	free(c->entries);
	*c = (struct td_cache){ 0 };
}
