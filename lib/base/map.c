/* SPDX-License-Identifier: BSD-2-Clause
 * A hash map from bytes to small values, kept in the order of arrival. */
#include "map.h"

#include <stdlib.h>
#include <string.h>

#include "bits.h"

static uint64_t mix(uint64_t h, uint64_t v)
{
	__uint128_t p = (__uint128_t)(h ^ v) * 0x9e3779b97f4a7c15u;
	return (uint64_t)p ^ (uint64_t)(p >> 64);
}

static uint64_t hash_of(const void *key, size_t bytes)
{
	const uint8_t *p = key;
	uint64_t h = mix(0x243f6a8885a308d3u, bytes);
	for (; bytes >= 8; p += 8, bytes -= 8)
		h = mix(h, td_le64(p));
	uint8_t rest[8] = { 0 };
	if (bytes)
		memcpy(rest, p, bytes);
	return mix(h, td_le64(rest));
}

/* The slot that holds the key, or the free one where it belongs. */
static uint32_t *slot_of(const struct td_map *m, const void *key, size_t bytes, uint64_t hash)
{
	for (size_t i = hash & (m->n_slots - 1);; i = (i + 1) & (m->n_slots - 1)) {
		uint32_t *slot = &m->slots[i];
		if (*slot == 0)
			return slot;
		const struct td_map_entry *e = &m->entries[*slot - 1];
		if (e->hash == hash && e->key_bytes == bytes &&
		    (bytes == 0 || memcmp(m->keys.data + e->key, key, bytes) == 0))
			return slot;
	}
}

static bool more_slots(struct td_map *m)
{
	size_t n_slots = m->n_slots ? m->n_slots * 2 : 32;
	uint32_t *slots = calloc(n_slots, sizeof *slots);
	if (!slots)
		return false;
	free(m->slots);
	m->slots = slots;
	m->n_slots = n_slots;
	for (size_t e = 0; e < m->n; e++) {
		size_t i = m->entries[e].hash & (n_slots - 1);
		while (slots[i])
			i = (i + 1) & (n_slots - 1);
		slots[i] = (uint32_t)e + 1;
	}
	return true;
}

static void *add(struct td_map *m, uint32_t *slot, const void *key, size_t bytes, uint64_t hash)
{
	size_t at = m->keys.len;
	if (m->n >= UINT32_MAX - 1 ||
	    !td_grow(&m->entries, &m->cap, m->n, sizeof *m->entries) ||
	    !td_grow(&m->values, &m->values_cap, m->n, m->value_bytes) ||
	    !td_buf_add(&m->keys, key, bytes))
		return NULL;
	m->entries[m->n] = (struct td_map_entry){ hash, at, bytes };
	*slot = (uint32_t)++m->n;
	return memset(td_map_value(m, m->n - 1), 0, m->value_bytes);
}

void *td_map_at(struct td_map *m, const void *key, size_t key_bytes)
{
	uint64_t hash = hash_of(key, key_bytes);
	if (m->n * 4 >= m->n_slots * 3 && !more_slots(m))
		return NULL;
	uint32_t *slot = slot_of(m, key, key_bytes, hash);
	if (*slot)
		return td_map_value(m, *slot - 1);
	return add(m, slot, key, key_bytes, hash);
}

void *td_map_find(const struct td_map *m, const void *key, size_t key_bytes)
{
	if (m->n == 0)
		return NULL;
	uint32_t *slot = slot_of(m, key, key_bytes, hash_of(key, key_bytes));
	return *slot ? td_map_value(m, *slot - 1) : NULL;
}

void td_map_clear(struct td_map *m)
{
	if (m->n)
		memset(m->slots, 0, m->n_slots * sizeof *m->slots);
	m->n = m->keys.len = 0;
}

void td_map_free(struct td_map *m)
{
	free(m->entries);
	free(m->values);
	free(m->slots);
	td_buf_free(&m->keys);
	*m = (struct td_map){ .value_bytes = m->value_bytes };
}
