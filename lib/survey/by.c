/* SPDX-License-Identifier: BSD-2-Clause
 * How many records hold which value of a feature. */
#include "by.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "value.h"

#define SHOWN_VALUES 8

bool td_by_add(struct td_by *by, const struct tundish_feature *f)
{
	if (!f) {
		by->without++;
		return true;
	}
	by->text.len = 0;
	if (!td_text_values(&by->text, f, SHOWN_VALUES))
		return false;
	struct td_by_value *v = td_map_at(&by->values, by->text.data, by->text.len);
	if (!v)
		return false;
	if (v->records++ == 0) {
		v->kind = f->count == 1 ? f->kind : TUNDISH_BYTES;
		if (v->kind == TUNDISH_INT64)
			tundish_feature_int64(f, 0, &v->number);
		else if (v->kind == TUNDISH_FLOAT)
			tundish_feature_float(f, 0, &v->real);
	}
	return true;
}

bool td_by_merge(struct td_by *by, struct td_by *part)
{
	for (size_t i = 0; i < part->values.n; i++) {
		const struct td_by_value *from = td_map_value(&part->values, i);
		struct td_by_value *v = td_map_at(&by->values, td_map_key(&part->values, i),
		    part->values.entries[i].key_bytes);
		if (!v)
			return false;
		uint64_t records = v->records + from->records;
		if (v->records == 0)
			*v = *from;
		v->records = records;
	}
	by->without += part->without;
	part->without = 0;
	td_map_clear(&part->values);
	return true;
}

struct item {
	struct td_by_value v;
	const char *text;
	size_t bytes, number;
};

/* -1, 0, 1; exact: an int64 does not fit into a double. */
static int compare_mixed(int64_t n, float x)
{
	if (isnan(x) || x >= 0x1p63f)
		return -1;
	if (x < -0x1p63f)
		return 1;
	int64_t whole = (int64_t)x;
	if (n != whole)
		return n < whole ? -1 : 1;
	float part = x - (float)whole;
	return part > 0 ? -1 : part < 0;
}

static int compare_floats(float a, float b)
{
	if (isnan(a) || isnan(b))
		return isnan(a) - isnan(b);
	return a < b ? -1 : a > b;
}

static int compare_numbers(const struct td_by_value *a, const struct td_by_value *b)
{
	if (a->kind == TUNDISH_INT64 && b->kind == TUNDISH_INT64)
		return a->number < b->number ? -1 : a->number > b->number;
	if (a->kind == TUNDISH_FLOAT && b->kind == TUNDISH_FLOAT)
		return compare_floats(a->real, b->real);
	if (a->kind == TUNDISH_INT64)
		return compare_mixed(a->number, b->real);
	return -compare_mixed(b->number, a->real);
}

static int compare_items(const void *pa, const void *pb)
{
	const struct item *a = pa, *b = pb;
	bool na = a->v.kind == TUNDISH_INT64 || a->v.kind == TUNDISH_FLOAT;
	bool nb = b->v.kind == TUNDISH_INT64 || b->v.kind == TUNDISH_FLOAT;
	if (na != nb)
		return na ? -1 : 1;
	int rc = na ? compare_numbers(&a->v, &b->v) : 0;
	if (rc == 0)
		rc = memcmp(a->text, b->text, TD_MIN(a->bytes, b->bytes));
	return rc ? rc : (a->bytes > b->bytes) - (a->bytes < b->bytes);
}

static struct item *sorted_items(const struct td_by *by, size_t *ret_text_bytes)
{
	struct item *items = calloc(by->values.n + 1, sizeof *items);
	for (size_t i = 0; items && i < by->values.n; i++) {
		const struct td_by_value *v = td_map_value(&by->values, i);
		items[i] = (struct item){ *v, td_map_key(&by->values, i),
			by->values.entries[i].key_bytes, i };
		*ret_text_bytes += items[i].bytes + 1;
	}
	if (items)
		qsort(items, by->values.n, sizeof *items, compare_items);
	return items;
}

struct tundish_count_value *td_by_sorted(const struct td_by *by)
{
	size_t text_bytes = 0, n = by->values.n;
	struct item *items = sorted_items(by, &text_bytes);
	/* one block: the array, then its strings */
	struct tundish_count_value *out = items ? malloc(n * sizeof *out + text_bytes + 1) : NULL;
	char *text = out ? (char *)(out + n) : NULL;
	for (size_t i = 0; out && i < n; i++) {
		memcpy(text, items[i].text, items[i].bytes);
		text[items[i].bytes] = 0;
		out[i] = (struct tundish_count_value){ text, items[i].v.records };
		text += items[i].bytes + 1;
	}
	free(items);
	return out;
}

size_t *td_by_order(const struct td_by *by)
{
	size_t text_bytes = 0;
	struct item *items = sorted_items(by, &text_bytes);
	size_t *order = items ? calloc(by->values.n + 1, sizeof *order) : NULL;
	for (size_t i = 0; order && i < by->values.n; i++)
		order[i] = items[i].number;
	free(items);
	return order;
}

void td_by_free(struct td_by *by)
{
	td_map_free(&by->values);
	td_buf_free(&by->text);
}
