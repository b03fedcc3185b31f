/* SPDX-License-Identifier: BSD-2-Clause
 * Files that hold several items: one entry of the listing for each. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "archive.h"
#include "base/err.h"
#include "base/map.h"
#include "list.h"

struct divide {
	struct td_listing *l;
	const struct td_list_options *o;
	struct td_bad *bad;
	struct tundish_error *e;
	struct td_item *items;
	size_t n, cap;
	bool own_labels;
	struct td_map data_files; /* that belong to another: no items and not left out */
	struct td_buf path;
	struct td_spill spill;
};

static int add_item(struct divide *d, const struct td_item *item)
{
	if (!td_grow(&d->items, &d->cap, d->n, sizeof *d->items))
		return td_err_memory(d->e);
	d->items[d->n++] = *item;
	return 0;
}

static void note_shape(struct td_arrays *a, const struct td_parts *p)
{
	if (a->n == 0) {
		a->alike = p->alike;
		a->one_kind = true;
		a->dtype = p->dtype;
		a->n_axes = p->n_axes;
		memcpy(a->shape, p->shape, sizeof a->shape);
	}
	a->one_kind &= p->dtype == a->dtype && p->n_axes == a->n_axes;
	a->alike &= a->one_kind && p->alike &&
	    memcmp(p->shape, a->shape, p->n_axes * sizeof *a->shape) == 0;
	a->n += p->n;
}

/* The class that the file itself gives an item. */
static int find_class(struct divide *d, struct td_item *item, const char *name)
{
	struct td_classes *c = &d->l->classes;
	item->class = td_classes_add(c, name, strlen(name));
	item->flags |= TD_ITEM_LABELS;
	if (item->class == -1)
		return td_err(d->e, TUNDISH_E_USAGE, "class \"%s\" is not in the class list %s", TD_ESC(name),
		    TD_ESC(d->o->class_list));
	return item->class < 0 ? td_err_memory(d->e) : 0;
}

/* "a/c.hdr:3:1" */
static int find_group(struct divide *d, struct td_item *item, const char *group)
{
	struct td_buf name = { 0 };
	bool ok = td_buf_printf(&name, "%s:%s", td_item_name(d->l, item), group) &&
	    td_listing_group(d->l, (const char *)name.data, &item->group);
	td_buf_free(&name);
	return ok ? 0 : td_err_memory(d->e);
}

/* The text behind this one in a list of them. */
static const char *next_text(const char *text)
{
	return text ? text + strlen(text) + 1 : NULL;
}

static const char *first_text(const struct td_buf *texts)
{
	return texts->len ? (const char *)texts->data : NULL;
}

static int add_parts(struct divide *d, const struct td_item *file, const struct td_parts *parts)
{
	const char *label = d->own_labels ? first_text(&parts->labels) : NULL;
	const char *group = first_text(&parts->groups);
	struct td_item item = *file;
	int rc = 0;
	item.bytes = parts->bytes;
	item.flags |= parts->n > 1 || parts->numbers ? TD_ITEM_PART : 0;
	for (uint32_t i = 0; rc == 0 && i < parts->n; i++) {
		item.part = parts->numbers ? parts->numbers[i] : i;
		item.class = file->class;
		item.flags &= (uint8_t)~TD_ITEM_LABELS;
		if (label && *label)
			rc = find_class(d, &item, label);
		if (rc == 0 && group)
			rc = find_group(d, &item, group);
		if (rc == 0)
			rc = add_item(d, &item);
		label = next_text(label);
		group = next_text(group);
	}
	return rc;
}

static int divide_file(struct divide *d, const struct td_item *item)
{
	struct td_parts parts = { 0 };
	struct td_file file;
	struct tundish_error why = { 0 };
	if (!td_item_file(&file, &d->path, d->l, item))
		return td_err_memory(d->e);
	const char *path = file.path;
	int rc = item->member ? td_member_spill(&d->spill, &file, d->l, item, d->o->cut->max_bytes, &why) : 0;
	if (rc == 0)
		rc = td_format_parts(&parts, item->format, &file, d->o->cut, d->o->listener, &why);
	if (rc == TUNDISH_E_MEMORY || rc == TUNDISH_E_MODULE)
		return td_err(d->e, rc, "%s", why.text);
	if (rc < 0)
		return td_bad_item(d->bad, rc, TD_PLACE(path), td_item_name(d->l, item), why.text, d->e);
	if (!parts.pictures)
		note_shape(&d->l->arrays, &parts);
	rc = add_parts(d, item, &parts);
	if (rc == 0 && parts.data_path && !td_map_at(&d->data_files, parts.data_path, strlen(parts.data_path)))
		rc = td_err_memory(d->e);
	d->l->sequences |= parts.sequence && parts.n > 1;
	d->l->parts_left_out += parts.n_left_out;
	td_specs_meet(&d->l->specs, &parts.specs);
	td_parts_free(&parts);
	return rc;
}

/* A cube's numbers lie in a file of their own, which was listed as one that is no data. */
static int forget_data_files(struct divide *d)
{
	struct td_listing *l = d->l;
	uint64_t n = 0;
	for (size_t i = 0; i < d->data_files.n; i++) {
		char *path = strndup(td_map_key(&d->data_files, i), d->data_files.entries[i].key_bytes);
		if (!path)
			return td_err_memory(d->e);
		for (size_t k = 0; k < d->o->n_sources; k++) {
			size_t len = strlen(d->o->sources[k]);
			/* below a source that is a folder it was met, and left out */
			n += strncmp(path, d->o->sources[k], len) == 0 && (path[len] == '/' || (len && path[len - 1] == '/'));
		}
		free(path);
	}
	l->left_out -= TD_MIN(n, l->left_out);
	if (l->left_out == 0)
		l->left_out_kinds[0] = 0;
	return 0;
}

static int divide_all(struct divide *d)
{
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < d->l->n; i++) {
		const struct td_item *item = &d->l->items[i];
		struct td_specs none = { 0 };
		if (td_format_divides(item->format)) {
			rc = divide_file(d, item);
		} else {
			td_specs_meet(&d->l->specs, &none);
			rc = add_item(d, item);
		}
	}
	return rc;
}

int td_listing_divide(struct td_listing *l, const struct td_list_options *o, bool own_labels,
    struct td_bad *bad, struct tundish_error *e)
{
	struct divide d = { .l = l, .o = o, .bad = bad, .e = e, .own_labels = own_labels,
		.data_files.value_bytes = 1 };
	bool any = false;
	for (size_t i = 0; i < l->n; i++)
		any |= td_format_divides(l->items[i].format);
	if (!any)
		return 0;
	int rc = divide_all(&d);
	if (rc == 0 && d.n >= UINT32_MAX)
		rc = td_err(e, TUNDISH_E_LIMIT, "more than %" PRIu32 " items", UINT32_MAX - 1);
	if (rc == 0) {
		struct td_item *old = l->items;
		l->items = d.items;
		l->n = d.n;
		l->cap = d.cap;
		d.items = old;
		rc = forget_data_files(&d);
	}
	free(d.items);
	td_map_free(&d.data_files);
	td_buf_free(&d.path);
	td_spill_free(&d.spill);
	return rc;
}
