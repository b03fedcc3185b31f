/* SPDX-License-Identifier: BSD-2-Clause
 * Features of a record besides the item itself, its name and its class. */
#include "extra.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"

/* A text in `data`, and behind the texts of a feature where they stand. */
struct text {
	size_t at, len;
};

void td_extras_reset(struct td_extras *x)
{
	x->data.len = 0;
	x->n = 0;
}

void td_extras_free(struct td_extras *x)
{
	td_buf_free(&x->data);
	free(x->list);
	*x = (struct td_extras){ 0 };
}

/* Room for values that may be of any type. */
static bool align(struct td_extras *x)
{
	static const char zeros[16];
	return td_buf_add(&x->data, zeros, -x->data.len % 16);
}

static struct td_extra *add(struct td_extras *x, const char *key, int kind, size_t n)
{
	size_t at = x->data.len;
	if (!td_grow(&x->list, &x->cap, x->n, sizeof *x->list) ||
	    !td_buf_add(&x->data, key, strlen(key) + 1) || !align(x))
		return NULL;
	x->list[x->n] = (struct td_extra){ .kind = kind, .key = at, .values = x->data.len, .n = n };
	return &x->list[x->n++];
}

bool td_extra_ints(struct td_extras *x, const char *key, const int64_t *values, size_t n)
{
	return add(x, key, TUNDISH_INT64, n) && td_buf_add(&x->data, values, n * sizeof *values);
}

bool td_extra_floats(struct td_extras *x, const char *key, const float *values, size_t n)
{
	return add(x, key, TUNDISH_FLOAT, n) && td_buf_add(&x->data, values, n * sizeof *values);
}

bool td_extra_bytes(struct td_extras *x, const char *key, const struct td_bytes *values, size_t n)
{
	const size_t room = n * (sizeof(struct td_bytes) + sizeof(struct text));
	const struct td_extra *extra = add(x, key, TUNDISH_BYTES, n);
	if (!extra || !td_buf_reserve(&x->data, room))
		return false;
	x->data.len += room;
	for (size_t i = 0; i < n; i++) {
		const struct text text = { x->data.len, values[i].len };
		memcpy(x->data.data + extra->values + n * sizeof(struct td_bytes) + i * sizeof text, &text,
		    sizeof text);
		if (!td_buf_add(&x->data, values[i].data, values[i].len))
			return false;
	}
	return true;
}

bool td_extra_doubles(struct td_extras *x, const char *key, const double *values, size_t n)
{
	bool ok = td_extra_bytes(x, key, &(struct td_bytes){ values, n * sizeof *values }, 1);
	if (ok)
		x->list[x->n - 1].doubles = true;
	return ok;
}

bool td_extra_json(struct td_extras *x, const char *key, int kind, const json_t *v)
{
	size_t n = td_json_n(v);
	void *values = calloc(n + 1, sizeof(struct td_bytes));
	bool ok = values != NULL;
	for (size_t i = 0; ok && i < n; i++) {
		const json_t *one = td_json_at(v, i);
		if (kind == TUNDISH_INT64)
			((int64_t *)values)[i] = json_is_boolean(one) ? json_is_true(one) : json_integer_value(one);
		else if (kind == TUNDISH_FLOAT)
			((float *)values)[i] = (float)json_number_value(one);
		else
			((struct td_bytes *)values)[i] = (struct td_bytes){ json_string_value(one),
				json_string_length(one) };
	}
	ok = ok && (kind == TUNDISH_INT64 ? td_extra_ints(x, key, values, n) :
	    kind == TUNDISH_FLOAT ? td_extra_floats(x, key, values, n) : td_extra_bytes(x, key, values, n));
	free(values);
	return ok;
}

bool td_extra_text(struct td_extras *x, const char *key, const char *text)
{
	return td_extra_bytes(x, key, &(struct td_bytes){ text, strlen(text) }, 1);
}

void td_extra_step(struct td_extras *x, size_t values)
{
	x->list[x->n - 1].step = values;
}

/* Only now the texts stay where they are. */
static const struct td_bytes *find_texts(struct td_extras *x, const struct td_extra *extra)
{
	struct td_bytes *bytes = (void *)(x->data.data + extra->values);
	const struct text *texts = (const void *)(bytes + extra->n);
	for (size_t i = 0; i < extra->n; i++)
		bytes[i] = (struct td_bytes){ x->data.data + texts[i].at, texts[i].len };
	return bytes;
}

struct td_field td_extra_field(struct td_extras *x, size_t i)
{
	const struct td_extra *extra = &x->list[i];
	struct td_field f = { .key = (const char *)x->data.data + extra->key, .kind = extra->kind, .n = extra->n,
		.step = extra->step };
	const void *values = x->data.data + extra->values;
	if (f.kind == TUNDISH_BYTES)
		f.bytes = find_texts(x, extra);
	else if (f.kind == TUNDISH_FLOAT)
		f.floats = values;
	else
		f.ints = values;
	return f;
}

/* ---- what a set has ---- */

bool td_specs_add(struct td_specs *s, const char *key, int kind, int64_t length)
{
	char *copy = strdup(key);
	if (!copy || !td_grow(&s->list, &s->cap, s->n, sizeof *s->list)) {
		free(copy);
		return false;
	}
	s->list[s->n++] = (struct td_spec){ .key = copy, .kind = kind, .length = length };
	return true;
}

static size_t count_doubles(const struct td_extras *x, const struct td_extra *extra)
{
	const struct text *text = (const void *)(x->data.data + extra->values + sizeof(struct td_bytes));
	return text->len / sizeof(double);
}

bool td_specs_of(struct td_specs *s, const struct td_extras *x)
{
	bool ok = true;
	for (size_t i = 0; ok && i < x->n; i++) {
		const struct td_extra *extra = &x->list[i];
		size_t n = extra->doubles ? count_doubles(x, extra) : extra->n;
		ok = td_specs_add(s, (const char *)x->data.data + extra->key, extra->kind, (int64_t)n);
		if (ok)
			s->list[s->n - 1].doubles = extra->doubles;
	}
	return ok;
}

static const struct td_spec *find(const struct td_specs *s, const struct td_spec *like)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->list[i].kind == like->kind && s->list[i].doubles == like->doubles &&
		    strcmp(s->list[i].key, like->key) == 0)
			return &s->list[i];
	return NULL;
}

void td_specs_meet(struct td_specs *all, struct td_specs *more)
{
	size_t n = 0;
	if (!all->met) {
		*all = *more;
		all->met = true;
		*more = (struct td_specs){ 0 };
		return;
	}
	for (size_t i = 0; i < all->n; i++) {
		struct td_spec *spec = &all->list[i];
		const struct td_spec *same = find(more, spec);
		if (!same) {
			free(spec->key);
			continue;
		}
		if (same->length != spec->length)
			spec->length = -1;
		all->list[n++] = *spec;
	}
	all->n = n;
	td_specs_free(more);
}

void td_specs_free(struct td_specs *s)
{
	for (size_t i = 0; i < s->n; i++)
		free(s->list[i].key);
	free(s->list);
	*s = (struct td_specs){ 0 };
}
