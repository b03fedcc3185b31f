/* SPDX-License-Identifier: BSD-2-Clause
 * Labels and features from a JSON file beside each picture. */
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "assign.h"
#include "base/err.h"
#include "base/infile.h"
#include "base/json.h"
#include "base/path.h"
#include "base/pool.h"
#include "group.h"
#include "member.h"


struct sidecars {
	struct td_listing *l;
	const struct td_labels *labels;
	const struct td_list_options *o;
	struct td_bad *bad;
	struct td_buf path, words; /* of the one at hand */
	struct td_map used; /* their paths: they were listed as files of no known kind */
	bool text_labels;
	size_t next, n_items, kept;
};

/* "a/cat.jpg" becomes "a/cat.json". */
static bool sidecar_path(struct td_buf *out, const struct td_listing *l, const struct td_item *item)
{
	if (!td_item_path(out, l, item))
		return false;
	size_t suffix = strlen(td_path_suffix((const char *)out->data));
	out->len -= suffix + 1; /* and the NUL */
	return td_buf_add(out, ".json", 6);
}

/* That of a group of members. */
static int read_companion(struct td_buf *text, const struct td_listing *l, const struct td_item *item,
    struct tundish_error *e)
{
	const struct td_archived *m = &l->members[item->member - 1];
	while (m->more && m->role != TD_ROLE_JSON)
		m++;
	if (m->role != TD_ROLE_JSON)
		return TUNDISH_E_NOT_FOUND;
	int fd = td_open_file(l->roots[item->root].folder, NULL, e);
	int rc = fd < 0 ? fd : td_member_read(text, fd, m, TD_COMPANION_MAX, e);
	if (fd >= 0)
		close(fd);
	return rc;
}

static int read_json(json_t **ret, const struct td_buf *at, struct td_buf *text, const struct td_listing *l,
    const struct td_item *item, struct tundish_error *e)
{
	json_error_t why;
	const char *path = (const char *)at->data;
	int rc = item->member ? read_companion(text, l, item, e) : td_read_file(text, path, TD_COMPANION_MAX, e);
	if (rc == TUNDISH_E_NOT_FOUND)
		return td_err(e, rc, "no %s beside it", TD_ESC(td_path_base(path)));
	if (rc < 0) {
		td_err_prefix(e, "%s", TD_ESC(td_path_base(path)));
		return rc;
	}
	json_t *o = json_loadb((const char *)text->data, text->len, JSON_REJECT_DUPLICATES, &why);
	if (!o)
		return td_err(e, TUNDISH_E_CORRUPT, "%s: line %d: %s", TD_ESC(td_path_base(path)), why.line,
		    TD_ESC(why.text));
	if (json_is_object(o)) {
		*ret = o;
		return 0;
	}
	json_decref(o);
	return td_err(e, TUNDISH_E_SCHEMA, "%s: no JSON object", TD_ESC(td_path_base(path)));
}

/* A scalar as text, appended with its NUL; false for what is none. */
static bool put_scalar(struct td_buf *out, const json_t *v)
{
	if (json_is_string(v))
		return td_buf_add(out, json_string_value(v), json_string_length(v) + 1);
	if (json_is_integer(v))
		return td_buf_printf(out, "%" JSON_INTEGER_FORMAT, json_integer_value(v)) && td_buf_add(out, "", 1);
	if (json_is_real(v))
		return td_buf_printf(out, "%.17g", json_real_value(v)) && td_buf_add(out, "", 1);
	return json_is_boolean(v) && td_buf_add(out, json_is_true(v) ? "1" : "0", 2);
}

static int put_column(struct sidecars *s, size_t column, const json_t *v, struct tundish_error *e)
{
	struct td_cells *c = &s->l->columns;
	size_t n = td_json_n(v);
	bool text = false;
	s->words.len = 0;
	if (!v || json_is_null(v))
		return 0;
	for (size_t i = 0; i < n; i++) {
		const json_t *one = td_json_at(v, i);
		text |= json_is_string(one);
		if (!put_scalar(&s->words, one))
			return td_err(e, TUNDISH_E_SCHEMA, "%s: %s is neither a scalar nor a list of them",
			    TD_ESC(td_path_base((const char *)s->path.data)), TD_ESC(c->list[column].name));
	}
	struct td_bytes *values = malloc((n + 1) * sizeof *values);
	const char *word = (const char *)s->words.data;
	bool ok = values;
	for (size_t i = 0; ok && i < n; i++) {
		values[i] = (struct td_bytes){ word, strlen(word) };
		word += values[i].len + 1;
	}
	ok = ok && td_cells_set(c, column, values, n, text);
	free(values);
	return ok ? 0 : td_err_memory(e);
}

static int put_columns(struct sidecars *s, struct td_item *item, const json_t *o, struct tundish_error *e)
{
	struct td_cells *c = &s->l->columns;
	int rc = c->n == 0 || td_cells_row(c) ? 0 : td_err_memory(e);
	for (size_t i = 0; rc == 0 && i < c->n; i++) {
		const json_t *v = json_object_get(o, c->list[i].name);
		c->list[i].found |= v != NULL;
		rc = put_column(s, i, v, e);
	}
	item->row = rc == 0 && c->n ? (uint32_t)c->rows : 0;
	const char *group = item->row && c->group ? td_cells_text(c, c->rows - 1, c->group - 1) : "";
	if (rc == 0 && *group && !td_listing_group(s->l, group, &item->group))
		rc = td_err_memory(e);
	return rc;
}

/* The label under the key that was asked for, or "label", or "class". */
static const json_t *label_of(const struct td_labels *labels, const json_t *o)
{
	const char *asked = labels->label_column;
	const json_t *v = json_object_get(o, asked ? asked : "label");
	return v || asked ? v : json_object_get(o, "class");
}

bool td_sidecar_label(struct td_buf *out, const struct td_labels *labels, const void *json, size_t bytes)
{
	json_t *o = json_loadb(json, bytes, JSON_REJECT_DUPLICATES, NULL);
	const json_t *v = json_is_object(o) ? label_of(labels, o) : NULL;
	out->len = 0;
	bool ok = v && !json_is_real(v) && put_scalar(out, v) && out->len > 1;
	json_decref(o);
	return ok;
}

static int put_label(struct sidecars *s, struct td_item *item, const json_t *o, struct tundish_error *e)
{
	const json_t *v = label_of(s->labels, o);
	const char *key = s->labels->label_column ? s->labels->label_column : "label";
	s->words.len = 0;
	if (!v || json_is_real(v) || !put_scalar(&s->words, v) || s->words.len < 2)
		return td_err(e, TUNDISH_E_SCHEMA, "%s: %s \"%s\"", TD_ESC(td_path_base((const char *)s->path.data)),
		    v ? "no class in" : "no", TD_ESC(key));
	const char *name = (const char *)s->words.data;
	s->text_labels |= json_is_string(v);
	item->class = td_classes_add(&s->l->classes, name, strlen(name));
	if (item->class == -1)
		return td_err(e, TUNDISH_E_USAGE, "class \"%s\" is not in the class list %s", TD_ESC(name),
		    TD_ESC(s->o->class_list));
	return item->class < 0 ? td_err_memory(e) : 0;
}

static int take_sidecar(struct sidecars *s, struct td_item *item, const json_t *o, struct tundish_error *e)
{
	int rc = s->labels->no_labels ? 0 : put_label(s, item, o, e);
	return rc < 0 ? rc : put_columns(s, item, o, e);
}

/* ---- all of them: read and parsed in parallel, taken in order ---- */

/* Of so many items; what is left when so many bytes were read waits for its turn. */
#define JOB_ITEMS 32
#define JOB_BYTES ((size_t)1 << 20)

struct job {
	size_t first, n, done;
	struct td_buf path, text;
	struct read {
		int rc;
		json_t *o;
		struct tundish_error why;
	} read[JOB_ITEMS];
};

static int read_one(struct job *j, const struct td_listing *l)
{
	struct read *r = &j->read[j->done];
	r->o = NULL;
	if (!sidecar_path(&j->path, l, &l->items[j->first + j->done]))
		return TUNDISH_E_MEMORY;
	r->rc = read_json(&r->o, &j->path, &j->text, l, &l->items[j->first + j->done], &r->why);
	j->done++;
	return 0;
}

static int take(void *ctx, void *job, uint64_t *ret_bytes, struct tundish_error *e)
{
	struct sidecars *s = ctx;
	struct job *j = job;
	*ret_bytes = 0;
	if (td_stopped(s->o->listener))
		return td_err(e, TUNDISH_E_STOPPED, "stopped");
	j->first = s->next;
	j->n = TD_MIN(s->n_items - s->next, (size_t)JOB_ITEMS);
	j->done = 0;
	s->next += j->n;
	return j->n > 0;
}

static int work(void *ctx, void *job, unsigned worker, struct tundish_error *e)
{
	const struct sidecars *s = ctx;
	struct job *j = job;
	(void)worker;
	for (size_t bytes = 0; j->done < j->n && bytes < JOB_BYTES; bytes += j->text.len)
		if (read_one(j, s->l) < 0)
			return td_err_memory(e);
	return 0;
}

/* Keeps the item, or tells that it is bad. */
static int settle(struct sidecars *s, const struct td_item *from, struct read *r, struct tundish_error *e)
{
	struct td_item item = *from;
	if (!sidecar_path(&s->path, s->l, from))
		return td_err_memory(e);
	if (r->rc != TUNDISH_E_NOT_FOUND && !td_map_at(&s->used, s->path.data, s->path.len - 1))
		return td_err_memory(e);
	int rc = r->rc < 0 ? r->rc : take_sidecar(s, &item, r->o, &r->why);
	json_decref(r->o);
	r->o = NULL;
	if (rc == 0)
		s->l->items[s->kept++] = item;
	else if (rc == TUNDISH_E_USAGE || rc == TUNDISH_E_MEMORY)
		return td_err(e, rc, "%s", r->why.text);
	else if (!td_item_path(&s->path, s->l, from))
		return td_err_memory(e);
	else
		return td_bad_item(s->bad, rc, TD_PLACE((const char *)s->path.data), td_item_name(s->l, from), r->why.text, e);
	return 0;
}

static int put(void *ctx, void *job, struct tundish_error *e)
{
	struct sidecars *s = ctx;
	struct job *j = job;
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < j->n; i++) {
		if (i == j->done && read_one(j, s->l) < 0)
			return td_err_memory(e);
		rc = settle(s, &s->l->items[j->first + i], &j->read[i], e);
	}
	return rc;
}

static void free_job(void *job)
{
	struct job *j = job;
	for (size_t i = 0; i < JOB_ITEMS; i++)
		json_decref(j->read[i].o);
	td_buf_free(&j->path);
	td_buf_free(&j->text);
}

int td_assign_sidecars(struct td_listing *l, const struct td_labels *labels, const struct td_list_options *o,
    struct td_bad *bad, struct tundish_error *e)
{
	struct sidecars s = { .l = l, .labels = labels, .o = o, .bad = bad, .used.value_bytes = 1, .n_items = l->n };
	unsigned threads = td_threads(o->threads);
	const struct td_ordered loop = {
		.job_bytes = sizeof(struct job),
		.threads = threads,
		.slots = threads + 2,
		.take = take,
		.work = work,
		.put = put,
		.free_job = free_job,
	};
	int rc = td_ordered_run(&loop, &s, NULL, e);
	l->n = s.kept;
	if (rc == 0)
		rc = td_listing_forget(l, &s.used, o, e);
	l->classes.numbers = !s.text_labels && !l->classes.fixed;
	td_map_free(&s.used);
	td_buf_free(&s.path);
	td_buf_free(&s.words);
	return rc == 0 ? td_settle_items(l, o, e) : rc;
}
