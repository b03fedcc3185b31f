/* SPDX-License-Identifier: BSD-2-Clause
 * Files that hold several items: one entry of the listing for each. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "archive.h"
#include "base/crc32c.h"
#include "base/err.h"
#include "base/held.h"
#include "base/map.h"
#include "base/pool.h"
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
	size_t next; /* item to be looked at */
	struct indexed {
		size_t like; /* the root whose folder it has */
		struct td_buf index;
	} *roots; /* new ones, of files with an index */
	size_t n_roots, roots_cap;
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

bool td_listing_note(struct td_listing *l, const char *name, const struct td_parts *parts)
{
	if (!parts->pictures)
		note_shape(&l->arrays, parts);
	l->files = td_crc32c(l->files, &parts->sum, sizeof parts->sum);
	l->n_clips += parts->clips ? parts->n : 0;
	l->n_sounds += parts->sound ? parts->n : 0;
	l->sequences |= parts->sequence && parts->n > 1;
	l->parts_left_out += parts->n_left_out;
	l->work_bytes = TD_MAX(l->work_bytes, parts->work_bytes);
	return !parts->about || td_about_add(&l->about, name, parts->about);
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

static int add_parts(struct divide *d, const struct td_item *file, const struct td_parts *parts)
{
	const char *label = d->own_labels ? td_first_text(&parts->labels) : NULL;
	const char *group = td_first_text(&parts->groups);
	struct td_item item = *file;
	int rc = 0;
	item.bytes = parts->bytes;
	if (parts->n > 1 || parts->grouped || parts->numbers)
		item.flags |= parts->samples ? TD_ITEM_SAMPLE : TD_ITEM_PART;
	for (uint32_t i = 0; rc == 0 && i < parts->n; i++) {
		item.part = parts->numbers ? parts->numbers[i] : i;
		item.class = file->class;
		item.flags &= (uint8_t)~(TD_ITEM_LABELS | TD_ITEM_UNLABELLED);
		if (label && *label)
			rc = find_class(d, &item, label);
		else if (label && parts->unlabelled)
			item.flags |= TD_ITEM_UNLABELLED;
		if (rc == 0 && group)
			rc = find_group(d, &item, group);
		if (rc == 0)
			rc = add_item(d, &item);
		label = td_next_text(label);
		group = td_next_text(group);
	}
	return rc;
}

/* An index is kept by a root of the file's own. The roots that are there are being read
 * by others: new ones join them at the end. */
static int keep_index(struct divide *d, struct td_item *item, struct td_parts *parts)
{
	if (parts->index.len == 0)
		return 0;
	if (d->l->n_roots + d->n_roots >= UINT32_MAX ||
	    !td_grow(&d->roots, &d->roots_cap, d->n_roots, sizeof *d->roots))
		return td_err_memory(d->e);
	d->roots[d->n_roots] = (struct indexed){ item->root, parts->index };
	parts->index = (struct td_buf){ 0 };
	item->root = (uint32_t)(d->l->n_roots + d->n_roots++);
	return 0;
}

static int add_roots(struct divide *d)
{
	struct td_listing *l = d->l;
	for (size_t i = 0; i < d->n_roots; i++) {
		const struct td_root like = l->roots[d->roots[i].like];
		if (!td_listing_root(l, like.folder, like.skip, like.spec))
			return td_err_memory(d->e);
		l->roots[l->n_roots - 1].index = d->roots[i].index;
		d->roots[i].index = (struct td_buf){ 0 };
	}
	return 0;
}

/* The classes in the order that a file gives them; all files that do must agree. */
static int take_classes(struct divide *d, const struct td_parts *parts)
{
	struct td_classes *c = &d->l->classes;
	size_t n = 0;
	if (d->o->class_list || parts->classes.len == 0)
		return 0;
	bool first = c->n == 0;
	for (size_t at = 0; at < parts->classes.len; n++) {
		const char *name = (const char *)parts->classes.data + at;
		size_t len = strlen(name);
		int32_t class = first ? td_classes_add(c, name, len) : td_classes_find(c, name, len);
		if (class == -2)
			return td_err_memory(d->e);
		if (class != (int32_t)n)
			return td_err(d->e, TUNDISH_E_USAGE, first ? "class \"%s\" stands twice in the label raster" :
			    "class \"%s\" is not the same for all files: give a --class-list", TD_ESC(name));
		at += len + 1;
	}
	c->fixed = true;
	return 0;
}

static int add_file(struct divide *d, struct td_item item, struct td_parts *parts)
{
	int rc = 0;
	if (parts->loss)
		rc = td_bad_item(d->bad, TUNDISH_E_CORRUPT, TD_PLACE((const char *)d->path.data),
		    td_item_name(d->l, &item), parts->loss, d->e);
	if (rc == 0 && !td_listing_note(d->l, td_item_name(d->l, &item), parts))
		rc = td_err_memory(d->e);
	if (rc == 0)
		rc = keep_index(d, &item, parts);
	if (rc == 0)
		rc = take_classes(d, parts);
	if (rc == 0)
		rc = add_parts(d, &item, parts);
	if (rc == 0 && parts->data_path && !td_map_at(&d->data_files, parts->data_path, strlen(parts->data_path)))
		rc = td_err_memory(d->e);
	td_specs_meet(&d->l->specs, &parts->specs);
	return rc;
}

int td_listing_forget(struct td_listing *l, const struct td_map *files, const struct td_list_options *o,
    struct tundish_error *e)
{
	for (size_t i = 0; i < files->n; i++) {
		char *path = strndup(td_map_key(files, i), files->entries[i].key_bytes);
		if (!path)
			return td_err_memory(e);
		for (size_t k = 0; k < o->n_sources; k++) {
			size_t len = strlen(o->sources[k]);
			/* below a source that is a folder it was met, and left out */
			if (strncmp(path, o->sources[k], len) == 0 && (path[len] == '/' || (len && path[len - 1] == '/')))
				td_listing_take_back(l, path);
		}
		free(path);
	}
	return 0;
}

/* ---- all files, in parallel ---- */

/* Items that are files of one item each, and behind them one that is to be divided. */
struct job {
	struct td_held held; /* first: see stop() */
	const struct tundish_listener *listener;
	size_t first, end; /* end is the file to be divided, or there is none */
	bool divides;
	int rc;
	struct td_parts parts;
	struct td_buf path;
	struct td_spill spill;
	struct tundish_error why;
};

static int take(void *ctx, void *job, uint64_t *ret_bytes, struct tundish_error *e)
{
	struct divide *d = ctx;
	struct job *j = job;
	*ret_bytes = 0;
	if (td_stopped(d->o->listener))
		return td_err(e, TUNDISH_E_STOPPED, "stopped");
	j->first = d->next;
	while (d->next < d->l->n && !td_format_divides(d->l->items[d->next].format))
		d->next++;
	j->end = d->next;
	j->divides = d->next < d->l->n;
	d->next += j->divides;
	return d->next > j->first;
}

/* What a held listener is given is the job. */
static int stop(void *data)
{
	const struct job *j = data;
	return td_stopped(j->listener);
}

int td_file_parts(struct td_parts *ret, unsigned format, const struct td_file *file, const struct td_cut *cut,
    const struct tundish_listener *l, struct tundish_error *e)
{
	struct td_parts p = { 0 };
	int rc = td_format_parts(&p, format, file, cut, l, e);
	if (rc == 0 && p.timed && cut->align) {
		int64_t frames = !p.clips ? 1 : cut->edge == TD_EDGE_KEEP ? -1 : (int64_t)cut->av.clip;
		rc = td_aligns_check(cut->align, &p, td_file_shown(file), frames, l, e);
	}
	if (rc == 0)
		*ret = p;
	else
		td_parts_free(&p);
	return rc;
}

static int work(void *ctx, void *job, unsigned worker, struct tundish_error *e)
{
	const struct divide *d = ctx;
	struct job *j = job;
	struct td_file file;
	(void)worker;
	if (!j->divides)
		return 0;
	const struct td_item *item = &d->l->items[j->end];
	struct tundish_listener listener = td_held_listener(&j->held);
	j->listener = d->o->listener;
	listener.stop = stop;
	j->parts = (struct td_parts){ 0 };
	if (!td_item_file(&file, &j->path, d->l, item))
		return td_err_memory(e);
	j->rc = item->member ? td_member_spill(&j->spill, &file, d->l, item, d->o->cut->max_bytes, &j->why) : 0;
	if (j->rc == 0)
		j->rc = td_file_parts(&j->parts, item->format, &file, d->o->cut, &listener, &j->why);
	td_spill_free(&j->spill);
	if (j->rc == TUNDISH_E_MEMORY || j->rc == TUNDISH_E_MODULE || j->rc == TUNDISH_E_STOPPED ||
	    j->rc == TUNDISH_E_SPACE)
		return td_err(e, j->rc, "%s", j->why.text);
	/* what is wrong with the words behind the file's name */
	if (j->rc == TUNDISH_E_USAGE && file.spec)
		return td_err(e, j->rc, "%s: %s", TD_ESC(td_file_shown(&file)), j->why.text);
	return 0;
}

static int put(void *ctx, void *job, struct tundish_error *e)
{
	struct divide *d = ctx;
	struct job *j = job;
	int rc = 0;
	d->e = e;
	for (size_t i = j->first; rc == 0 && i < j->end; i++) {
		struct td_specs none = { 0 };
		td_specs_meet(&d->l->specs, &none);
		rc = add_item(d, &d->l->items[i]);
	}
	if (rc < 0 || !j->divides)
		return rc;
	const struct td_item *item = &d->l->items[j->end];
	rc = td_held_tell(&j->held, d->o->listener, e);
	if (rc == 0 && !td_item_path(&d->path, d->l, item))
		rc = td_err_memory(e);
	if (rc == 0 && j->rc < 0)
		return td_bad_item(d->bad, j->rc, TD_PLACE((const char *)d->path.data), td_item_name(d->l, item),
		    j->why.text, e);
	if (rc == 0)
		rc = add_file(d, *item, &j->parts);
	td_parts_free(&j->parts);
	return rc;
}

static void free_job(void *job)
{
	struct job *j = job;
	td_held_free(&j->held);
	td_parts_free(&j->parts);
	td_buf_free(&j->path);
	td_spill_free(&j->spill);
}

/* What a file takes to be looked through is known only then: a guess for a video. */
#define WORK_BYTES ((uint64_t)96 << 20)

static int divide_all(struct divide *d)
{
	uint64_t most = TD_MAX(td_memory(d->o->memory) / 2 / WORK_BYTES, (uint64_t)1);
	struct tundish_error *e = d->e;
	const struct td_ordered loop = {
		.job_bytes = sizeof(struct job),
		.threads = (unsigned)TD_MIN((uint64_t)td_threads(d->o->threads), most),
		.take = take,
		.work = work,
		.put = put,
		.free_job = free_job,
	};
	int rc = td_ordered_run(&loop, d, NULL, e);
	d->e = e;
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
		rc = td_listing_forget(l, &d.data_files, o, e);
		rc = rc == 0 ? add_roots(&d) : rc;
	}
	for (size_t i = 0; i < d.n_roots; i++)
		td_buf_free(&d.roots[i].index);
	free(d.roots);
	free(d.items);
	td_map_free(&d.data_files);
	td_buf_free(&d.path);
	return rc;
}
