/* SPDX-License-Identifier: BSD-2-Clause
 * A sample of records spread over classes, drawn by a seed while the records pass by. */
#include "picks.h"

#include <stdlib.h>
#include <string.h>

#include "base/rng.h"

/* The largest draw is first; a child is never larger than its parent. */
struct td_pick_heap {
	struct td_pick *items;
	size_t n, cap;
};

static bool before(const struct td_pick *a, const struct td_pick *b)
{
	if (a->draw != b->draw)
		return a->draw < b->draw;
	if (a->file != b->file)
		return a->file < b->file;
	return a->record < b->record;
}

static void sink(struct td_pick_heap *h, size_t i)
{
	for (;;) {
		size_t child = 2 * i + 1;
		if (child + 1 < h->n && before(&h->items[child], &h->items[child + 1]))
			child++;
		if (child >= h->n || !before(&h->items[i], &h->items[child]))
			return;
		struct td_pick swap = h->items[i];
		h->items[i] = h->items[child];
		h->items[child] = swap;
		i = child;
	}
}

static void rise(struct td_pick_heap *h, size_t i)
{
	while (i > 0 && before(&h->items[(i - 1) / 2], &h->items[i])) {
		struct td_pick swap = h->items[i];
		h->items[i] = h->items[(i - 1) / 2];
		h->items[(i - 1) / 2] = swap;
		i = (i - 1) / 2;
	}
}

static bool add(struct td_picks *p, const void *label, size_t bytes, const struct td_pick *pick)
{
	p->classes.value_bytes = sizeof(struct td_pick_heap);
	struct td_pick_heap *h = td_map_at(&p->classes, label, bytes);
	if (!h)
		return false;
	if (h->n < p->limit) {
		if (!td_grow(&h->items, &h->cap, h->n, sizeof *h->items))
			return false;
		h->items[h->n] = *pick;
		rise(h, h->n++);
	} else if (before(pick, &h->items[0])) {
		h->items[0] = *pick;
		sink(h, 0);
	}
	return true;
}

bool td_picks_offer(struct td_picks *p, const void *label, size_t bytes, uint64_t seed,
    struct td_pick pick)
{
	struct td_rng rng;
	td_rng_at(&rng, seed, (uint32_t)pick.file, pick.record, TD_RNG_SAMPLE);
	pick.draw = td_rng_u64(&rng);
	return add(p, label, bytes, &pick);
}

static void empty(struct td_picks *p)
{
	for (size_t i = 0; i < p->classes.n; i++)
		free(((struct td_pick_heap *)td_map_value(&p->classes, i))->items);
	td_map_clear(&p->classes);
}

bool td_picks_merge(struct td_picks *p, struct td_picks *part)
{
	for (size_t i = 0; i < part->classes.n; i++) {
		const struct td_pick_heap *h = td_map_value(&part->classes, i);
		for (size_t k = 0; k < h->n; k++) {
			if (!add(p, td_map_key(&part->classes, i),
				part->classes.entries[i].key_bytes, &h->items[k]))
				return false;
		}
	}
	empty(part);
	return true;
}

void td_picks_free(struct td_picks *p)
{
	empty(p);
	td_map_free(&p->classes);
}

/* A pick with its turn: the first of a class comes before any second. */
struct turn {
	struct td_picked picked;
	size_t turn, rank;
};

static int by_draw(const void *a, const void *b)
{
	const struct td_pick *pa = a, *pb = b;
	return before(pa, pb) ? -1 : before(pb, pa);
}

static int by_turn(const void *a, const void *b)
{
	const struct turn *ta = a, *tb = b;
	if (ta->turn != tb->turn)
		return ta->turn < tb->turn ? -1 : 1;
	return by_draw(&ta->picked.pick, &tb->picked.pick);
}

static int by_rank(const void *a, const void *b)
{
	const struct turn *ta = a, *tb = b;
	const struct td_pick *pa = &ta->picked.pick, *pb = &tb->picked.pick;
	if (ta->rank != tb->rank)
		return ta->rank < tb->rank ? -1 : 1;
	if (pa->file != pb->file)
		return pa->file < pb->file ? -1 : 1;
	return (pa->record > pb->record) - (pa->record < pb->record);
}

static struct turn *all_turns(const struct td_picks *p, const size_t *rank, size_t *ret_n)
{
	size_t n = 0;
	for (size_t i = 0; i < p->classes.n; i++)
		n += ((struct td_pick_heap *)td_map_value(&p->classes, i))->n;
	struct turn *turns = calloc(n + 1, sizeof *turns);
	*ret_n = 0;
	for (size_t i = 0; turns && i < p->classes.n; i++) {
		struct td_pick_heap *h = td_map_value(&p->classes, i);
		struct turn *first = turns + *ret_n;
		for (size_t k = 0; k < h->n; k++)
			turns[(*ret_n)++] = (struct turn){ { h->items[k], i }, 0, rank[i] };
		qsort(first, h->n, sizeof *first, by_turn);
		for (size_t k = 0; k < h->n; k++)
			first[k].turn = k;
	}
	return turns;
}

struct td_picked *td_picks_draw(const struct td_picks *p, const size_t *rank, size_t *ret_n)
{
	size_t n;
	struct turn *turns = all_turns(p, rank, &n);
	struct td_picked *out = calloc(p->limit + 1, sizeof *out);
	if (turns && out) {
		qsort(turns, n, sizeof *turns, by_turn);
		n = TD_MIN(n, (size_t)p->limit);
		qsort(turns, n, sizeof *turns, by_rank);
		for (size_t i = 0; i < n; i++)
			out[i] = turns[i].picked;
		*ret_n = n;
	} else {
		free(out);
		out = NULL;
	}
	free(turns);
	return out;
}
