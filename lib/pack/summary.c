/* SPDX-License-Identifier: BSD-2-Clause
 * What became of it all, for people and for programs. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/path.h"
#include "base/table.h"
#include "items.h"
#include "pack.h"

#define CLASSES_SHOWN 20

/* Records of a split: written, or planned for a dry run. */
static uint64_t split_records(const struct td_pack *p, const struct td_plan_split *split)
{
	uint64_t n = 0;
	for (size_t i = 0; !p->o->dry_run && i < split->n_shards; i++)
		n += p->set.shards[split->first_shard + i].records;
	return p->o->dry_run ? split->n : n;
}

static uint64_t planned_bytes(const struct td_pack *p, const struct td_plan_shard *shard)
{
	uint64_t n = 0;
	for (uint64_t i = 0; i < shard->n; i++)
		n += p->item_bytes[p->plan.order[shard->first + i]];
	return n;
}

static uint64_t shard_bytes(const struct td_pack *p, size_t i)
{
	return p->o->dry_run ? planned_bytes(p, &p->plan.shards[i]) : p->set.shards[i].bytes;
}

static void size_text(char text[32], uint64_t bytes)
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
	unsigned unit = 0;
	uint64_t rest = 0;
	for (; bytes >= 1024; unit++) {
		rest = bytes % 1024;
		bytes /= 1024;
	}
	if (unit == 0)
		snprintf(text, 32, "%" PRIu64 " B", bytes);
	else
		snprintf(text, 32, "%" PRIu64 ".%" PRIu64 " %s", bytes, rest * 10 / 1024, units[unit]);
}

static bool print_size(struct td_table *t, uint64_t bytes)
{
	char text[32];
	size_text(text, bytes);
	return td_table_cell(t, "%s", text);
}

static bool splits_table(struct td_buf *out, const struct td_pack *p)
{
	struct td_table t = { .columns = 4, .align = "lrrr" };
	bool ok = td_table_cell(&t, "split") && td_table_cell(&t, "records") && td_table_cell(&t, "shards") &&
	    td_table_cell(&t, "size");
	for (size_t i = 0; ok && i < p->plan.n_splits; i++) {
		const struct td_plan_split *split = &p->plan.splits[i];
		uint64_t bytes = 0;
		for (size_t k = 0; k < split->n_shards; k++)
			bytes += shard_bytes(p, split->first_shard + k);
		ok = td_table_cell(&t, "%s", split->name) &&
		    td_table_cell(&t, "%" PRIu64, split_records(p, split)) &&
		    td_table_cell(&t, "%zu", split->n_shards) && print_size(&t, bytes);
	}
	ok = ok && td_table_print(&t, out, 0);
	td_table_free(&t);
	return ok;
}

/* Records of each class in each split, written or planned: splits * classes. */
static uint64_t *count_classes(const struct td_pack *p)
{
	uint64_t *counts = calloc(p->plan.n_splits * p->classes.n + 1, sizeof *counts);
	if (counts && p->class_counts)
		memcpy(counts, p->class_counts, p->plan.n_splits * p->classes.n * sizeof *counts);
	else if (counts && p->item_class)
		for (size_t i = 0; i < p->plan.n_shards; i++)
			for (uint64_t k = 0; k < p->plan.shards[i].n; k++) {
				int32_t class = p->item_class[p->plan.order[p->plan.shards[i].first + k]];
				if (class >= 0)
					counts[p->plan.shards[i].split * p->classes.n + (size_t)class]++;
			}
	return counts;
}

static bool class_row(struct td_table *t, const struct td_pack *p, const uint64_t *counts, size_t k)
{
	const struct td_class *class = &p->classes.list[k];
	uint64_t all = 0;
	for (size_t s = 0; s < p->plan.n_splits; s++)
		all += counts[s * p->classes.n + k];
	bool ok = td_table_cell(t, "%" PRId64, class->label) &&
	    td_table_cell(t, "%s", p->classes.numbers ? "" : TD_ESC(class->name)) &&
	    td_table_cell(t, "%" PRIu64, all);
	for (size_t s = 0; ok && p->plan.n_splits > 1 && s < p->plan.n_splits; s++)
		ok = td_table_cell(t, "%" PRIu64, counts[s * p->classes.n + k]);
	return ok;
}

static bool classes_table(struct td_buf *out, const struct td_pack *p)
{
	char align[TD_PLAN_SPLITS + 4];
	size_t n = p->classes.n;
	if (n == 0)
		return true;
	memset(align, 'r', sizeof align);
	align[1] = 'l';
	struct td_table t = { .columns = (unsigned)(p->plan.n_splits > 1 ? 3 + p->plan.n_splits : 3),
		.align = align };
	uint64_t *counts = count_classes(p);
	bool ok = counts && td_buf_printf(out, "\n") && td_table_cell(&t, "label") &&
	    td_table_cell(&t, "%s", p->classes.numbers ? "" : "class") && td_table_cell(&t, "records");
	for (size_t s = 0; ok && p->plan.n_splits > 1 && s < p->plan.n_splits; s++)
		ok = td_table_cell(&t, "%s", p->plan.splits[s].name);
	for (size_t k = 0; ok && k < n && k < (n > CLASSES_SHOWN + 1 ? CLASSES_SHOWN : n); k++)
		ok = class_row(&t, p, counts, k);
	ok = ok && td_table_print(&t, out, 0);
	if (ok && n > CLASSES_SHOWN + 1)
		ok = td_buf_printf(out, "and %zu more classes\n", n - CLASSES_SHOWN);
	td_table_free(&t);
	free(counts);
	return ok;
}

static bool summarize(struct td_buf *out, const struct td_pack *p)
{
	uint64_t written = p->o->list ? p->n_items : p->o->dry_run ? p->plan.n : p->written;
	bool ok = td_buf_printf(out, "%" PRIu64 " found: %" PRIu64 " %s, %" PRIu64 " bad", p->found, written,
	    p->o->dry_run ? "to write" : "written", p->bad.count);
	if (ok && p->left_out)
		ok = td_buf_printf(out, ", %" PRIu64 " %s left out%s%s%s", p->left_out, p->left_out_what,
		    p->left_out_kinds[0] ? " (" : "", p->left_out_kinds, p->left_out_kinds[0] ? ")" : "");
	if (ok && p->window) {
		char size[32];
		size_text(size, p->window);
		ok = td_buf_printf(out, "; shuffled in a window of %s", size);
	}
	if (p->o->list)
		return ok && td_buf_printf(out, "\n\n") && td_pack_items_table(out, p->items, p->n_items);
	if (p->to_folder)
		return ok && td_buf_printf(out, ", to %s\n", TD_ESC(p->to_folder));
	return ok && td_buf_printf(out, "\n\n") && splits_table(out, p) && classes_table(out, p);
}

/* ---- the result ---- */

struct result {
	struct tundish_pack_result r; /* first: what callers hold */
	struct td_buf text;
};

static bool fill_shards(struct tundish_pack_result *r, const struct td_pack *p)
{
	r->shards = calloc(p->plan.n_shards + 1, sizeof *r->shards);
	for (size_t i = 0; r->shards && i < p->plan.n_shards; i++) {
		const struct td_plan_shard *shard = &p->plan.shards[i];
		uint64_t records = p->o->dry_run ? shard->n : p->set.shards[i].records;
		char *file = p->out.stream ? NULL : td_shard_file(p->o->name_template, p->o->count_in_name,
		    p->out.name, &p->plan, i, records);
		r->shards[i] = (struct tundish_pack_shard){
			.path = p->out.stream ? strdup("-") : file ? td_path_join(p->out.folder, file) : NULL,
			.split = strdup(p->plan.splits[shard->split].name),
			.records = records,
			.bytes = shard_bytes(p, i),
		};
		free(file);
		r->n_shards = i + 1;
		if (!r->shards[i].path || !r->shards[i].split)
			return false;
	}
	return r->shards != NULL;
}

static bool fill_classes(struct tundish_pack_result *r, const struct td_pack *p)
{
	uint64_t *counts = count_classes(p);
	r->classes = calloc(p->classes.n + 1, sizeof *r->classes);
	bool ok = counts && r->classes;
	for (size_t k = 0; ok && k < p->classes.n; k++) {
		r->classes[k].label = p->classes.list[k].label;
		r->classes[k].name = strdup(p->classes.numbers ? "" : p->classes.list[k].name);
		for (size_t s = 0; s < p->plan.n_splits; s++)
			r->classes[k].records += counts[s * p->classes.n + k];
		r->n_classes = k + 1;
		ok = r->classes[k].name != NULL;
	}
	free(counts);
	return ok;
}

int td_pack_result(struct tundish_pack_result **ret, struct td_pack *p, struct tundish_error *e)
{
	struct result *result = calloc(1, sizeof *result);
	if (!result)
		return td_err_memory(e);
	struct tundish_pack_result *r = &result->r;
	r->found = p->found;
	r->written = p->o->dry_run && !p->to_folder ? p->plan.n : p->written;
	if (p->o->list) {
		r->written = 0;
		r->items = p->items;
		r->n_items = p->n_items;
	}
	r->bad = p->bad.count;
	r->left_out = p->left_out;
	r->payload_bytes = p->payload_bytes;
	r->file_bytes = p->file_bytes;
	if (!fill_shards(r, p) || !fill_classes(r, p) || !summarize(&result->text, p)) {
		r->items = NULL;
		r->n_items = 0;
		tundish_pack_result_free(r);
		return td_err_memory(e);
	}
	r->summary = (const char *)result->text.data;
	if (r->items)
		p->items = NULL; /* the result's now */
	p->n_items = r->items ? 0 : p->n_items;
	*ret = r;
	return 0;
}

void tundish_pack_result_free(struct tundish_pack_result *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < r->n_shards; i++) {
		free((char *)(uintptr_t)r->shards[i].path);
		free((char *)(uintptr_t)r->shards[i].split);
	}
	for (size_t i = 0; i < r->n_classes; i++)
		free((char *)(uintptr_t)r->classes[i].name);
	td_pack_items_free(r->items, r->n_items);
	free(r->shards);
	free(r->classes);
	td_buf_free(&((struct result *)r)->text);
	free(r);
}
