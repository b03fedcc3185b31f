/* SPDX-License-Identifier: BSD-2-Clause
 * Looking at what would be converted. */
#include "items.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/pool.h"
#include "base/table.h"
#include "base/thread.h"
#include "media/image.h"

#define BLOCK 16

struct looker {
	struct td_pack *p;
	const struct td_listing *l;
	const struct td_cut *cut;
	const struct td_item_hand *hands;
	size_t next, cap;
};

struct job {
	size_t first;
	unsigned n;
	struct seen {
		struct tundish_pack_item item;
		int code;
		struct tundish_error why;
	} seen[BLOCK];
};

static int take(void *ctx, void *job, uint64_t *ret_bytes, struct tundish_error *e)
{
	struct looker *k = ctx;
	struct job *j = job;
	if (td_stopped(&k->p->o->listener))
		return td_err(e, TUNDISH_E_STOPPED, "stopped");
	j->first = k->next;
	j->n = (unsigned)TD_MIN(k->l->n - k->next, (size_t)BLOCK);
	k->next += j->n;
	*ret_bytes = 0;
	for (unsigned i = 0; i < j->n; i++)
		*ret_bytes += k->l->items[j->first + i].bytes;
	return j->n > 0;
}

static int see_picture(struct tundish_pack_item *ret, const struct td_loaded *s, uint64_t max_pixels,
    struct tundish_error *e)
{
	struct td_image_info info;
	const size_t *ends = (const void *)s->ends.data; /* of a clip's pictures */
	unsigned n = 0;
	int rc = td_image_header(&info, s->data.data, s->ends.len ? ends[0] : s->data.len, max_pixels, e);
	if (rc < 0)
		return rc;
	if (s->ends.len)
		ret->shape[n++] = s->ends.len / sizeof *ends;
	ret->kind = td_image_kind_name(info.kind);
	ret->dtype = info.bits > 8 ? "uint16" : "uint8";
	ret->shape[n++] = info.height;
	ret->shape[n++] = info.width;
	ret->shape[n++] = info.channels;
	ret->n_axes = n;
	return 0;
}

static int see(const struct looker *k, unsigned worker, const struct td_item *item, struct tundish_pack_item *ret,
    struct tundish_error *e)
{
	struct td_loaded *s = k->hands[worker].loaded;
	s->kind = NULL;
	int rc = td_item_look(s, k->hands[worker].path, k->l, item, k->cut, e);
	if (rc < 0)
		return rc;
	ret->bytes = item->bytes;
	ret->part = item->part;
	if (s->array) {
		ret->kind = s->kind ? s->kind : td_formats[item->format]->name;
		ret->dtype = td_elem_name(s->dtype);
		ret->n_axes = s->n_axes;
		memcpy(ret->shape, s->shape, sizeof ret->shape);
	} else {
		rc = see_picture(ret, s, k->p->o->max_pixels, e);
	}
	return rc;
}

static int work(void *ctx, void *job, unsigned worker, struct tundish_error *e)
{
	const struct looker *k = ctx;
	struct job *j = job;
	for (unsigned i = 0; i < j->n; i++) {
		struct seen *seen = &j->seen[i];
		*seen = (struct seen){ .item = { .kind = "", .dtype = "" } };
		seen->code = see(k, worker, &k->l->items[j->first + i], &seen->item, &seen->why);
		if (seen->code == TUNDISH_E_MEMORY)
			return td_err_memory(e);
	}
	return 0;
}

static int put_good(struct looker *k, const struct td_item *item, struct tundish_pack_item *seen,
    struct tundish_error *e)
{
	struct td_pack *p = k->p;
	const struct td_classes *classes = &k->l->classes;
	const struct td_class *class = item->class >= 0 ? &classes->list[item->class] : NULL;
	if (!td_grow(&p->items, &k->cap, p->n_items, sizeof *p->items))
		return td_err_memory(e);
	seen->labelled = class || item->flags & TD_ITEM_UNLABELLED;
	seen->label = class ? class->label : -1;
	seen->name = strdup(td_item_name(k->l, item));
	seen->class_name = strdup(class && !classes->numbers ? class->name : "");
	p->items[p->n_items++] = *seen;
	return seen->name && seen->class_name ? 0 : td_err_memory(e);
}

static int put(void *ctx, void *job, struct tundish_error *e)
{
	struct looker *k = ctx;
	struct job *j = job;
	int rc = 0;
	for (unsigned i = 0; rc == 0 && i < j->n; i++) {
		struct seen *seen = &j->seen[i];
		const struct td_item *item = &k->l->items[j->first + i];
		struct td_buf path = { 0 };
		if (seen->code == 0)
			rc = put_good(k, item, &seen->item, e);
		else if (!td_item_path(&path, k->l, item))
			rc = td_err_memory(e);
		else
			rc = td_bad_item(&k->p->bad, seen->code, TD_PLACE((const char *)path.data),
			    td_item_name(k->l, item), seen->why.text, e);
		td_buf_free(&path);
	}
	return rc;
}

int td_pack_items(struct td_pack *p, const struct td_listing *l, const struct td_cut *cut,
    const struct td_item_hand *hands, struct tundish_error *e)
{
	struct looker k = { .p = p, .l = l, .cut = cut, .hands = hands };
	const struct td_ordered loop = {
		.job_bytes = sizeof(struct job),
		.threads = p->threads,
		.max_bytes = td_memory(p->o->memory) / 2,
		.take = take,
		.work = work,
		.put = put,
	};
	return td_ordered_run(&loop, &k, NULL, e);
}

static bool row(struct td_table *t, const struct tundish_pack_item *item)
{
	struct td_buf shape = { 0 };
	char part[32] = "", label[32] = "";
	bool ok = true;
	for (unsigned i = 0; ok && i < item->n_axes; i++)
		ok = td_buf_printf(&shape, "%s%" PRIu64, i ? "x" : "", item->shape[i]);
	if (item->part)
		snprintf(part, sizeof part, " [%" PRIu32 "]", item->part);
	if (item->labelled)
		snprintf(label, sizeof label, "%" PRId64, item->label);
	ok = ok && td_table_cell(t, "%s", item->kind) && td_table_cell(t, "%s", item->dtype) &&
	    td_table_cell(t, "%s", shape.data ? (const char *)shape.data : "") && td_table_cell(t, "%s", label) &&
	    td_table_cell(t, "%s", TD_ESC(item->class_name)) && td_table_cell(t, "%s%s", TD_ESC(item->name), part);
	td_buf_free(&shape);
	return ok;
}

bool td_pack_items_table(struct td_buf *out, const struct tundish_pack_item *items, size_t n)
{
	struct td_table t = { .columns = 6, .align = "lllrll" };
	bool ok = td_table_cell(&t, "kind") && td_table_cell(&t, "dtype") && td_table_cell(&t, "shape") &&
	    td_table_cell(&t, "label") && td_table_cell(&t, "class") && td_table_cell(&t, "item");
	for (size_t i = 0; ok && i < n; i++)
		ok = row(&t, &items[i]);
	ok = ok && td_table_print(&t, out, 0);
	td_table_free(&t);
	return ok;
}

void td_pack_items_free(struct tundish_pack_item *items, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		free((char *)(uintptr_t)items[i].name);
		free((char *)(uintptr_t)items[i].class_name);
	}
	free(items);
}
