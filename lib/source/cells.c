/* SPDX-License-Identifier: BSD-2-Clause
 * Columns of a table, or values of side-cars, that become features of the records. */
#include "cells.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/crc32c.h"
#include "base/err.h"
#include "base/number.h"
#include "base/utf8.h"
#include "classes.h"

#define COLUMNS_MOST 1000

static const char *const kinds[] = { "auto", "int", "float", "text" };

static int find(const struct td_cells *c, const char *name)
{
	for (size_t i = 0; i < c->n; i++)
		if (strcmp(c->list[i].name, name) == 0)
			return (int)i;
	return -1;
}

static int add(struct td_cells *c, const char *name, size_t len, enum td_cells_kind kind, bool feature,
    struct tundish_error *e)
{
	struct td_cells_column *more = realloc(c->list, (c->n + 1) * sizeof *more);
	char *copy = strndup(name, len);
	if (more)
		c->list = more;
	if (!more || !copy) {
		free(copy);
		return td_err_memory(e);
	}
	int rc = 0;
	if (len == 0)
		rc = td_err(e, TUNDISH_E_USAGE, "columns: a name is empty");
	else if (!td_utf8_valid(copy, len))
		rc = td_err(e, TUNDISH_E_USAGE, "columns: \"%s\" is no UTF-8", TD_ESC(copy));
	else if (find(c, copy) >= 0)
		rc = td_err(e, TUNDISH_E_USAGE, "columns: %s is given twice", TD_ESC(copy));
	else if (c->n == COLUMNS_MOST)
		rc = td_err(e, TUNDISH_E_USAGE, "columns: more than %d", COLUMNS_MOST);
	if (rc < 0) {
		free(copy);
		return rc;
	}
	c->list[c->n++] = (struct td_cells_column){ .name = copy, .kind = kind, .feature = feature };
	return 0;
}

/* A kind behind the last colon, else all of it is the name. */
static int add_word(struct td_cells *c, const char *word, size_t len, struct tundish_error *e)
{
	const char *colon = memrchr(word, ':', len);
	for (size_t k = 1; colon && k < TD_COUNT(kinds); k++) {
		size_t n = strlen(kinds[k]);
		if (n == len - (size_t)(colon + 1 - word) && memcmp(colon + 1, kinds[k], n) == 0)
			return add(c, word, (size_t)(colon - word), (enum td_cells_kind)k, true, e);
	}
	return add(c, word, len, TD_CELLS_AUTO, true, e);
}

int td_cells_parse(struct td_cells *ret, const char *spec, const char *group, struct tundish_error *e)
{
	struct td_cells c = { 0 };
	int rc = td_buf_add(&c.text, "", 1) ? 0 : td_err_memory(e);
	for (const char *word = spec; rc == 0 && word; word = strchr(word, ',') ? strchr(word, ',') + 1 : NULL)
		rc = add_word(&c, word, strcspn(word, ","), e);
	if (rc == 0 && group && find(&c, group) < 0)
		rc = add(&c, group, strlen(group), TD_CELLS_TEXT, false, e);
	if (rc == 0 && group)
		c.group = (size_t)find(&c, group) + 1;
	if (rc < 0)
		td_cells_free(&c);
	else
		*ret = c;
	return rc;
}

void td_cells_free(struct td_cells *c)
{
	for (size_t i = 0; i < c->n; i++)
		free(c->list[i].name);
	free(c->list);
	free(c->cells);
	td_buf_free(&c->text);
	*c = (struct td_cells){ 0 };
}

bool td_cells_row(struct td_cells *c)
{
	size_t end = (c->rows + 1) * c->n;
	while (c->cells_cap < end)
		if (!td_grow(&c->cells, &c->cells_cap, c->cells_cap, sizeof *c->cells))
			return false;
	memset(c->cells + c->rows * c->n, 0, c->n * sizeof *c->cells);
	c->rows++;
	return true;
}

static void look_at(struct td_cells_column *column, const char *value, bool text)
{
	int64_t whole;
	double real;
	size_t len = strlen(value);
	column->any = true;
	column->no_int |= text || !td_parse_int64(value, &whole);
	column->no_real |= text || !td_parse_double(&real, value, len);
}

/* In the text: how many, then each with its NUL. */
bool td_cells_set(struct td_cells *c, size_t column, const struct td_bytes *values, size_t n, bool text)
{
	struct td_cells_column *kind = &c->list[column];
	size_t at = c->text.len;
	uint32_t count = (uint32_t)n;
	if (!td_buf_add(&c->text, &count, sizeof count))
		return false;
	for (size_t i = 0; i < n; i++) {
		size_t from = c->text.len;
		if (!td_buf_add(&c->text, values[i].data, values[i].len) || !td_buf_add(&c->text, "", 1))
			return false;
		const char *value = (const char *)c->text.data + from;
		if (text || *value || n > 1)
			look_at(kind, value, text);
		else
			kind->gaps = true; /* of a column of numbers */
	}
	kind->length = c->rows == 1 || kind->length == (int64_t)n ? (int64_t)n : -1;
	c->cells[(c->rows - 1) * c->n + column] = at;
	return true;
}

void td_cells_settle(struct td_cells *c)
{
	for (size_t i = 0; i < c->n; i++) {
		struct td_cells_column *column = &c->list[i];
		if (column->kind == TD_CELLS_AUTO)
			column->kind = !column->any || column->no_real ? TD_CELLS_TEXT :
			    column->no_int				? TD_CELLS_FLOAT :
									  TD_CELLS_INT;
		/* an empty text is one */
		column->gaps &= column->kind != TD_CELLS_TEXT;
		for (size_t row = 0; !column->gaps && row < c->rows; row++)
			column->gaps = c->cells[row * c->n + i] == 0;
	}
}

const char *td_cells_text(const struct td_cells *c, size_t row, size_t column)
{
	size_t at = c->cells[row * c->n + column];
	uint32_t n = 0;
	if (at)
		memcpy(&n, c->text.data + at, sizeof n);
	return n ? (const char *)c->text.data + at + sizeof n : "";
}

static int wrong(const struct td_cells_column *column, const char *value, struct tundish_error *e)
{
	return td_err(e, TUNDISH_E_SCHEMA, "column %s: \"%s\" is no %s", TD_ESC(column->name),
	    TD_ESC(value), column->kind == TD_CELLS_INT ? "whole number" : "number");
}

/* The n values behind `text`, as they will be in the record. */
struct values {
	int64_t *ints;
	float *floats;
	struct td_bytes *bytes;
};

static int convert(const struct td_cells_column *column, const char *text, size_t n, void *out, struct tundish_error *e)
{
	const struct values v = { out, out, out };
	for (size_t i = 0; i < n; i++) {
		size_t len = strlen(text);
		double real;
		if (column->kind == TD_CELLS_TEXT) {
			v.bytes[i] = (struct td_bytes){ text, len };
		} else if (column->kind == TD_CELLS_INT) {
			if (!td_parse_int64(text, &v.ints[i]))
				return wrong(column, text, e);
		} else if (td_parse_double(&real, text, len)) {
			v.floats[i] = (float)real;
		} else {
			return wrong(column, text, e);
		}
		text += len + 1;
	}
	return 0;
}

static int add_extra(const struct td_cells_column *column, const char *text, size_t n, struct td_extras *x,
    struct tundish_error *e)
{
	void *values = malloc((n + 1) * sizeof(struct td_bytes));
	int rc = values ? convert(column, text, n, values, e) : td_err_memory(e);
	bool ok = true;
	if (rc == 0 && column->kind == TD_CELLS_TEXT)
		ok = td_extra_bytes(x, column->name, values, n);
	else if (rc == 0 && column->kind == TD_CELLS_INT)
		ok = td_extra_ints(x, column->name, values, n);
	else if (rc == 0)
		ok = td_extra_floats(x, column->name, values, n);
	free(values);
	return ok ? rc : td_err_memory(e);
}

int td_cells_extras(const struct td_cells *c, size_t row, struct td_extras *x, struct tundish_error *e)
{
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < c->n; i++) {
		const struct td_cells_column *column = &c->list[i];
		size_t at = c->cells[row * c->n + i];
		uint32_t n;
		if (!column->feature || at == 0)
			continue;
		memcpy(&n, c->text.data + at, sizeof n);
		const char *text = (const char *)c->text.data + at + sizeof n;
		if (n != 1 || *text || column->kind == TD_CELLS_TEXT)
			rc = add_extra(column, text, n, x, e);
	}
	return rc;
}

bool td_cells_specs(const struct td_cells *c, struct td_specs *specs)
{
	static const int of[] = { [TD_CELLS_INT] = TUNDISH_INT64, [TD_CELLS_FLOAT] = TUNDISH_FLOAT,
		[TD_CELLS_TEXT] = TUNDISH_BYTES };
	for (size_t i = 0; i < c->n; i++) {
		const struct td_cells_column *column = &c->list[i];
		if (column->feature && column->found && !column->gaps &&
		    !td_specs_add(specs, column->name, of[column->kind], column->length))
			return false;
	}
	return true;
}

uint32_t td_cells_crc(const struct td_cells *c)
{
	return c->n ? td_crc32c(0, c->text.data, c->text.len) : 0;
}
