/* SPDX-License-Identifier: BSD-2-Clause
 * Classes of a set: names, sizes, and how evenly the files share them. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/path.h"
#include "survey.h"

/* FOLDER/label.labels.txt: slashes of the feature's name are dots there. NULL: no memory. */
static char *names_path(const struct tundish_survey *s)
{
	const char *first = s->paths.paths[0], *slash = strrchr(first, '/');
	int folder = slash ? (int)(slash - first + 1) : 0;
	char *path;
	if (asprintf(&path, "%.*s%s.labels.txt", folder, first, s->label_key) < 0)
		return NULL;
	for (char *p = path + folder; (p = strchr(p, '/'));)
		*p = '.';
	return path;
}

int td_class_names_read(struct tundish_survey *s, struct tundish_error *e)
{
	if (!s->label_key || strcmp(s->paths.paths[0], "-") == 0)
		return 0;
	char *path = names_path(s);
	if (!path)
		return td_err_memory(e);
	struct tundish_error why = { 0 };
	int rc = access(path, F_OK) == 0 ?
	    td_classes_load(&s->names, path, &s->options.listener, &why) : 0;
	free(path);
	if (rc == TUNDISH_E_MEMORY)
		return td_err_memory(e);
	if (rc < 0)
		td_notice(&s->options.listener, "no class names: %s", why.text);
	return 0;
}

/* Where the share of a label is, or belongs. */
static size_t share_at(const struct td_file_labels *file, uint32_t label)
{
	size_t low = 0, high = file->n;
	while (low < high) {
		size_t mid = (low + high) / 2;
		if (file->shares[mid].label < label)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

uint64_t td_share_of(const struct td_file_labels *file, uint32_t label)
{
	size_t at = share_at(file, label);
	return at < file->n && file->shares[at].label == label ? file->shares[at].records : 0;
}

static int by_label(const void *pa, const void *pb)
{
	const struct td_share *a = pa, *b = pb;
	return (a->label > b->label) - (a->label < b->label);
}

/* Sorts the shares of a file and makes one of those with the same label. */
static void settle(struct td_file_labels *file)
{
	size_t n = 0;
	if (file->n)
		qsort(file->shares, file->n, sizeof *file->shares, by_label);
	file->records = 0;
	for (size_t i = 0; i < file->n; i++) {
		struct td_share share = file->shares[i];
		file->records += share.records;
		if (n && file->shares[n - 1].label == share.label)
			file->shares[n - 1].records += share.records;
		else
			file->shares[n++] = share;
	}
	file->n = n;
}

bool td_file_labels_add(struct tundish_survey *s, size_t file, const struct td_by *part)
{
	struct td_map *all = &s->facts.labels.values;
	all->value_bytes = sizeof(struct td_by_value);
	for (size_t i = 0; i < part->values.n; i++) {
		const struct td_by_value *v = td_map_value(&part->values, i);
		const uint8_t *at = td_map_at(all, td_map_key(&part->values, i),
		    part->values.entries[i].key_bytes);
		if (!at)
			return false;
		size_t label = (size_t)(at - all->values) / sizeof *v;
		struct td_file_labels *to = &s->file_labels[file];
		if (!td_grow(&to->shares, &to->cap, to->n, sizeof *to->shares))
			return false;
		to->shares[to->n++] = (struct td_share){ (uint32_t)label, v->records };
	}
	return true;
}

static const char *class_name(const struct tundish_survey *s, const struct td_by_value *v)
{
	bool known = v->kind == TUNDISH_INT64 && v->number >= 0 && (uint64_t)v->number < s->names.n;
	return known ? s->names.list[v->number].name : "";
}

static bool fill_items(struct td_class_table *c, const struct tundish_survey *s)
{
	const struct td_by *labels = &s->facts.labels;
	size_t n = labels->values.n;
	size_t *order = td_by_order(labels);
	struct tundish_count_value *values = td_by_sorted(labels);
	c->items = calloc(n + 1, sizeof *c->items);
	c->strings = (char *)values;
	for (size_t i = 0; order && values && c->items && i < n; i++) {
		const struct td_by_value *v = td_map_value(&labels->values, order[i]);
		c->items[c->n++] = (struct td_class_row){ v->number, v->kind == TUNDISH_INT64,
			values[i].value, class_name(s, v), v->records, (uint32_t)order[i] };
	}
	bool ok = order && values && c->items;
	free(order);
	return ok;
}

static void sum_up(struct td_class_table *c)
{
	for (size_t i = 0; i < c->n; i++) {
		c->records += c->items[i].records;
		c->largest = TD_MAX(c->largest, c->items[i].records);
		c->smallest = i ? TD_MIN(c->smallest, c->items[i].records) : c->items[i].records;
	}
	double entropy = 0;
	for (size_t i = 0; i < c->n; i++) {
		double p = (double)c->items[i].records / (double)c->records;
		entropy -= p > 0 ? p * log2(p) : 0;
	}
	c->entropy = entropy;
	c->evenness = c->n > 1 ? entropy / log2((double)c->n) : 1;
}

static void judge_order(struct td_class_table *c, const struct td_order *order)
{
	double n = (double)c->records, squares = 0, least = (double)c->n;
	for (size_t i = 0; i < c->n; i++)
		squares += (double)c->items[i].records * (double)c->items[i].records;
	c->expected_runs = 1 + (n * n - squares) / n;
	/* with one class, or as many as records, every order is as good */
	c->shuffled = c->expected_runs > least + 0.5 ?
	    ((double)order->runs - least) / (c->expected_runs - least) : 1;
	c->shuffled = TD_MAX(0.0, TD_MIN(1.0, c->shuffled));
	c->window_entropy = order->windows ? order->bits / (double)order->windows : 0;
}

/* Half the sum of |share in the file - share in the set| over all classes. */
static double distance(const struct td_class_table *c, const struct td_by *labels,
    const struct td_file_labels *file)
{
	double sum = 0, covered = 0;
	for (size_t i = 0; i < file->n; i++) {
		const struct td_by_value *v = td_map_value(&labels->values, file->shares[i].label);
		double whole = (double)v->records / (double)c->records;
		sum += fabs((double)file->shares[i].records / (double)file->records - whole);
		covered += whole;
	}
	return file->records ? (sum + TD_MAX(0.0, 1 - covered)) / 2 : 0;
}

static void compare_files(struct td_class_table *c, const struct tundish_survey *s)
{
	for (size_t i = 0; i < s->paths.n; i++) {
		double d = distance(c, &s->facts.labels, &s->file_labels[i]);
		if (i == 0)
			c->first_file = 1 - d;
		if (d > c->worst_shard || !c->worst_path) {
			c->worst_shard = d;
			c->worst_path = s->paths.paths[i];
		}
	}
}

bool td_class_table_build(struct td_class_table *ret, struct tundish_survey *s)
{
	for (size_t i = 0; i < s->paths.n; i++)
		settle(&s->file_labels[i]);
	struct td_class_table c = { 0 };
	bool ok = fill_items(&c, s);
	if (ok && c.n) {
		sum_up(&c);
		judge_order(&c, &s->facts.order);
		compare_files(&c, s);
	}
	*ret = c;
	return ok;
}

void td_class_table_free(struct td_class_table *c)
{
	free(c->items);
	free(c->strings);
}
