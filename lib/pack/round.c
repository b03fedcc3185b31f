/* SPDX-License-Identifier: BSD-2-Clause
 * Controlled rounding: whole numbers in a table whose rows and columns add up. */
#include <stdlib.h>
#include <string.h>

#include "plan.h"

/*
 * Each cell is the class's share, rounded down, plus one or not. Which cells get the
 * extra one is a matching of rows that lack items with columns that lack them: first
 * greedily, then along alternating paths between columns, of which there are few.
 */
struct table {
	size_t rows, columns;
	uint64_t *up;	   /* a bit a column: has its extra one */
	uint64_t *allowed; /* a bit a column: the share is no whole number */
	int64_t lack[TD_PLAN_SPLITS];
};

static void give(struct table *t, size_t row, uint64_t n)
{
	for (; n > 0; n--) {
		size_t best = t->columns;
		for (int any = 0; any < 2 && best == t->columns; any++) {
			uint64_t open = (any ? ~(uint64_t)0 : t->allowed[row]) & ~t->up[row];
			for (size_t s = 0; s < t->columns; s++)
				if (open >> s & 1 && (best == t->columns || t->lack[s] > t->lack[best]))
					best = s;
		}
		t->up[row] |= (uint64_t)1 << best;
		t->lack[best]--;
	}
}

/* A row that has its extra in `from` and may have it in `to`. */
static bool find_row(const struct table *t, size_t from, size_t to, bool any, size_t *ret_row)
{
	for (size_t k = 0; k < t->rows; k++) {
		uint64_t open = (any ? ~(uint64_t)0 : t->allowed[k]) & ~t->up[k];
		if (t->up[k] >> from & 1 && open >> to & 1) {
			*ret_row = k;
			return true;
		}
	}
	return false;
}

/* Moves one extra away from column `from`, over others, to one that lacks. */
static bool move_along(struct table *t, size_t from, bool any)
{
	size_t queue[TD_PLAN_SPLITS], before[TD_PLAN_SPLITS], row[TD_PLAN_SPLITS], n = 0;
	uint64_t seen = (uint64_t)1 << from;
	queue[n++] = from;
	for (size_t i = 0; i < n; i++) {
		for (size_t s = 0; s < t->columns; s++) {
			if (seen >> s & 1 || !find_row(t, queue[i], s, any, &row[s]))
				continue;
			seen |= (uint64_t)1 << s;
			before[s] = queue[i];
			queue[n++] = s;
			if (t->lack[s] <= 0)
				continue;
			t->lack[s]--;
			t->lack[from]++;
			for (size_t at = s; at != from; at = before[at])
				t->up[row[at]] ^= (uint64_t)1 << at | (uint64_t)1 << before[at];
			return true;
		}
	}
	return false;
}

static void settle(struct table *t)
{
	for (size_t s = 0; s < t->columns; s++)
		while (t->lack[s] < 0 && (move_along(t, s, false) || move_along(t, s, true)))
			;
}

bool td_plan_round(uint64_t *c, const uint64_t *class_n, size_t n_classes,
    const struct td_plan_split *splits, size_t n_splits)
{
	struct table t = { .rows = n_classes, .columns = n_splits };
	unsigned __int128 whole = 0;
	t.up = calloc(n_classes + 1, sizeof *t.up);
	t.allowed = calloc(n_classes + 1, sizeof *t.allowed);
	if (!t.up || !t.allowed)
		return free(t.up), free(t.allowed), false;
	for (size_t s = 0; s < n_splits; s++) {
		whole += splits[s].part;
		t.lack[s] = (int64_t)splits[s].n;
	}
	for (size_t k = 0; k < n_classes; k++) {
		for (size_t s = 0; s < n_splits; s++) {
			unsigned __int128 share = (unsigned __int128)class_n[k] * splits[s].part;
			c[k * n_splits + s] = (uint64_t)(share / whole);
			t.lack[s] -= (int64_t)c[k * n_splits + s];
			t.allowed[k] |= (uint64_t)(share % whole != 0) << s;
		}
	}
	for (size_t k = 0; k < n_classes; k++) {
		uint64_t rest = class_n[k];
		for (size_t s = 0; s < n_splits; s++)
			rest -= c[k * n_splits + s];
		give(&t, k, rest);
	}
	settle(&t);
	for (size_t i = 0; i < n_classes * n_splits; i++)
		c[i] += t.up[i / n_splits] >> i % n_splits & 1;
	free(t.up);
	free(t.allowed);
	return true;
}
