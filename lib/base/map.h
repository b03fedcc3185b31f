/* SPDX-License-Identifier: BSD-2-Clause
 * A hash map from bytes to small values, kept in the order of arrival. */
#pragma once
#include "buf.h"

struct td_map_entry {
	uint64_t hash;
	size_t key, key_bytes; /* where in `keys` */
};

/* Zeroed memory with value_bytes set is an empty map. */
struct td_map {
	size_t value_bytes;
	size_t n; /* entries 0 .. n-1, in the order in which they came */
	struct td_map_entry *entries;
	size_t cap;
	uint8_t *values;
	size_t values_cap;
	struct td_buf keys;
	uint32_t *slots; /* entry number plus 1, or 0 */
	size_t n_slots;
};

/* The value at a key, put there zeroed when it is new; NULL when out of memory (or
 * past 2^32 - 2 entries). The pointer is good until the next call. */
void *td_map_at(struct td_map *m, const void *key, size_t key_bytes);
/* The value at a key, or NULL. */
void *td_map_find(const struct td_map *m, const void *key, size_t key_bytes);
void td_map_clear(struct td_map *m); /* empty, memory kept */
void td_map_free(struct td_map *m);

static inline void *td_map_value(const struct td_map *m, size_t i)
{
	return m->values + i * m->value_bytes;
}

static inline const void *td_map_key(const struct td_map *m, size_t i)
{
	return m->keys.data + m->entries[i].key;
}
