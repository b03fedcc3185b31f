/* SPDX-License-Identifier: BSD-2-Clause
 * How well the labels of a set are mixed: runs, and entropy of records in a row. */
#include "order.h"

#include <math.h>
#include <string.h>

static bool same(const struct td_buf *a, const void *label, size_t bytes)
{
	return a->len == bytes && (bytes == 0 || memcmp(a->data, label, bytes) == 0);
}

static bool set(struct td_buf *b, const void *label, size_t bytes)
{
	b->len = 0;
	return td_buf_add(b, label, bytes);
}

/* Entropy of the window at hand; empties it. */
static double take_window(struct td_order *o)
{
	double bits = 0;
	for (size_t i = 0; i < o->window.n; i++) {
		double share = *(const unsigned *)td_map_value(&o->window, i) / (double)TD_ORDER_WINDOW;
		bits -= share * log2(share);
	}
	td_map_clear(&o->window);
	o->in_window = 0;
	return bits;
}

bool td_order_add(struct td_order *o, const void *label, size_t bytes)
{
	o->window.value_bytes = sizeof(unsigned);
	unsigned *count = td_map_at(&o->window, label, bytes);
	if (!count || (o->records == 0 && !set(&o->first, label, bytes)))
		return false;
	o->runs += o->records == 0 || !same(&o->last, label, bytes);
	o->records++;
	++*count;
	if (++o->in_window == TD_ORDER_WINDOW) {
		o->bits += take_window(o);
		o->windows++;
	}
	return set(&o->last, label, bytes);
}

bool td_order_merge(struct td_order *o, struct td_order *part)
{
	if (part->records == 0)
		return true;
	if (o->records == 0 && !set(&o->first, part->first.data, part->first.len))
		return false;
	o->runs += part->runs;
	o->runs -= o->records > 0 && same(&o->last, part->first.data, part->first.len);
	o->records += part->records;
	o->windows += part->windows;
	o->bits += part->bits;
	bool ok = set(&o->last, part->last.data, part->last.len);
	td_map_clear(&part->window);
	part->records = part->runs = part->windows = part->in_window = 0;
	part->bits = 0;
	return ok;
}

void td_order_free(struct td_order *o)
{
	td_buf_free(&o->first);
	td_buf_free(&o->last);
	td_map_free(&o->window);
}
