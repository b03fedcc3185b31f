/* SPDX-License-Identifier: BSD-2-Clause
 * Names that came before, in bounded memory. */
#include "seen.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"

static uint64_t hash_of(const char *s)
{
	uint64_t h = 0xcbf29ce484222325u;
	for (; *s; s++)
		h = (h ^ (unsigned char)*s) * 0x100000001b3u;
	h ^= h >> 29;
	return h ? h : 1;
}

/* True where it is there already. */
static bool put(uint64_t *slots, size_t cap, uint64_t hash)
{
	size_t i = (size_t)(hash * 0x9e3779b97f4a7c15u >> 20) & (cap - 1);
	while (slots[i] && slots[i] != hash)
		i = (i + 1) & (cap - 1);
	bool known = slots[i] == hash;
	slots[i] = hash;
	return known;
}

static bool grow(struct td_seen *s)
{
	size_t cap = s->cap ? 2 * s->cap : 256;
	uint64_t *slots = calloc(cap, sizeof *slots);
	if (!slots)
		return false;
	for (size_t i = 0; i < s->cap; i++)
		if (s->slots[i])
			put(slots, cap, s->slots[i]);
	free(s->slots);
	s->slots = slots;
	s->cap = cap;
	return true;
}

bool td_seen_add(struct td_seen *s, const char *name)
{
	if (2 * s->n >= s->cap) {
		if (s->cap && s->cap > s->most / (3 * sizeof *s->slots))
			return true;
		if (!grow(s))
			return false;
	}
	if (!put(s->slots, s->cap, hash_of(name))) {
		s->n++;
		return true;
	}
	if (s->twice++ == 0)
		s->first = strdup(name);
	return s->first != NULL;
}

void td_seen_tell(struct td_seen *s, const char *archive, const struct tundish_listener *l)
{
	if (s->first)
		td_notice(l, "%s: %" PRIu64 " member%s %s a name that another one has, first %s: all are kept",
		    TD_ESC(archive), s->twice, s->twice > 1 ? "s" : "", s->twice > 1 ? "have" : "has", TD_ESC(s->first));
	size_t most = s->most;
	td_seen_free(s);
	s->most = most;
}

void td_seen_free(struct td_seen *s)
{
	free(s->slots);
	free(s->first);
	*s = (struct td_seen){ 0 };
}
