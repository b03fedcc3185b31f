/* SPDX-License-Identifier: BSD-2-Clause
 * How often each whole number occurs: exact medians that do not depend on threads. */
#include "tally.h"

#include <stdlib.h>
#include <string.h>

bool td_tally_add(struct td_tally *t, int64_t value, uint64_t n)
{
	t->map.value_bytes = sizeof(uint64_t);
	uint64_t *count = td_map_at(&t->map, &value, sizeof value);
	if (!count)
		return false;
	*count += n;
	t->n += n;
	return true;
}

static struct td_tally_entry entry_at(const struct td_tally *t, size_t i)
{
	struct td_tally_entry e = { .n = *(uint64_t *)td_map_value(&t->map, i) };
	memcpy(&e.value, td_map_key(&t->map, i), sizeof e.value);
	return e;
}

bool td_tally_merge(struct td_tally *t, struct td_tally *part)
{
	for (size_t i = 0; i < part->map.n; i++) {
		struct td_tally_entry e = entry_at(part, i);
		if (!td_tally_add(t, e.value, e.n))
			return false;
	}
	td_map_clear(&part->map);
	part->n = 0;
	return true;
}

static int by_value(const void *pa, const void *pb)
{
	const struct td_tally_entry *a = pa, *b = pb;
	return (a->value > b->value) - (a->value < b->value);
}

struct td_tally_entry *td_tally_sorted(const struct td_tally *t)
{
	struct td_tally_entry *out = calloc(t->map.n + 1, sizeof *out);
	if (!out)
		return NULL;
	for (size_t i = 0; i < t->map.n; i++)
		out[i] = entry_at(t, i);
	qsort(out, t->map.n, sizeof *out, by_value);
	return out;
}

bool td_tally_spread(const struct td_tally *t, struct td_spread *ret)
{
	*ret = (struct td_spread){ 0 };
	if (t->n == 0)
		return true;
	struct td_tally_entry *e = td_tally_sorted(t);
	if (!e)
		return false;
	size_t i = 0;
	for (uint64_t before = e[0].n; before <= (t->n - 1) / 2; before += e[i].n)
		i++;
	*ret = (struct td_spread){ t->n, e[0].value, e[i].value, e[t->map.n - 1].value };
	free(e);
	return true;
}

void td_tally_histogram(const struct td_tally *t, struct td_histogram *ret)
{
	*ret = (struct td_histogram){ .first = t->map.n ? TD_BINS : 0 };
	for (size_t i = 0; i < t->map.n; i++) {
		struct td_tally_entry e = entry_at(t, i);
		size_t bin = e.value > 0 ? 64 - (size_t)__builtin_clzll((uint64_t)e.value) : 0;
		ret->n[bin] += e.n;
		ret->first = TD_MIN(ret->first, bin);
		ret->end = TD_MAX(ret->end, bin + 1);
	}
}

void td_tally_free(struct td_tally *t)
{
	td_map_free(&t->map);
	t->n = 0;
}
