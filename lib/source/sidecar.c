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

#define SIDECAR_MOST ((uint64_t)16 << 20)

struct sidecars {
	struct td_listing *l;
	const struct td_labels *labels;
	const struct td_list_options *o;
	struct td_buf path, text, words;
	struct td_map used; /* their paths: they were listed as files of no known kind */
	bool text_labels;
};

/* "a/cat.jpg" becomes "a/cat.json", in s->path. */
static bool sidecar_path(struct sidecars *s, const struct td_item *item)
{
	if (!td_item_path(&s->path, s->l, item))
		return false;
	size_t suffix = strlen(td_path_suffix((const char *)s->path.data));
	s->path.len -= suffix + 1; /* and the NUL */
	return td_buf_add(&s->path, ".json", 6);
}

static int read_json(json_t **ret, struct sidecars *s, struct tundish_error *e)
{
	json_error_t why;
	const char *path = (const char *)s->path.data;
	int rc = td_read_file(&s->text, path, SIDECAR_MOST, e);
	if (rc == TUNDISH_E_NOT_FOUND)
		return td_err(e, rc, "no %s beside it", TD_ESC(td_path_base(path)));
	if (rc < 0) {
		td_err_prefix(e, "%s", TD_ESC(td_path_base(path)));
		return rc;
	}
	json_t *o = json_loadb((const char *)s->text.data, s->text.len, JSON_REJECT_DUPLICATES, &why);
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
static const json_t *label_of(const struct sidecars *s, const json_t *o)
{
	const char *asked = s->labels->label_column;
	const json_t *v = json_object_get(o, asked ? asked : "label");
	return v || asked ? v : json_object_get(o, "class");
}

static int put_label(struct sidecars *s, struct td_item *item, const json_t *o, struct tundish_error *e)
{
	const json_t *v = label_of(s, o);
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

static int read_sidecar(struct sidecars *s, struct td_item *item, struct tundish_error *e)
{
	json_t *o = NULL;
	int rc = sidecar_path(s, item) ? read_json(&o, s, e) : td_err_memory(e);
	if (rc != TUNDISH_E_NOT_FOUND && !td_map_at(&s->used, s->path.data, s->path.len - 1))
		rc = td_err_memory(e);
	if (rc < 0) {
		json_decref(o); /* which is there when the map had no room */
		return rc;
	}
	if (!s->labels->no_labels)
		rc = put_label(s, item, o, e);
	if (rc == 0)
		rc = put_columns(s, item, o, e);
	json_decref(o);
	return rc;
}

int td_assign_sidecars(struct td_listing *l, const struct td_labels *labels, const struct td_list_options *o,
    struct td_bad *bad, struct tundish_error *e)
{
	struct sidecars s = { .l = l, .labels = labels, .o = o, .used.value_bytes = 1 };
	struct td_buf path = { 0 };
	size_t n = 0;
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < l->n; i++) {
		struct td_item item = l->items[i];
		struct tundish_error why = { 0 };
		if (i % 256 == 0 && td_stopped(o->listener))
			rc = td_err(e, TUNDISH_E_STOPPED, "stopped");
		int got = rc == 0 ? read_sidecar(&s, &item, &why) : 0;
		if (got == 0)
			l->items[n++] = item;
		else if (got == TUNDISH_E_USAGE || got == TUNDISH_E_MEMORY)
			rc = td_err(e, got, "%s", why.text);
		else if (!td_item_path(&path, l, &item))
			rc = td_err_memory(e);
		else
			rc = td_bad_item(bad, got, TD_PLACE((const char *)path.data), td_item_name(l, &item), why.text, e);
	}
	l->n = n;
	if (rc == 0)
		rc = td_listing_forget(l, &s.used, o, e);
	l->classes.numbers = !s.text_labels && !l->classes.fixed;
	td_map_free(&s.used);
	td_buf_free(&path);
	td_buf_free(&s.path);
	td_buf_free(&s.text);
	td_buf_free(&s.words);
	return rc == 0 ? td_settle_items(l, o, e) : rc;
}
