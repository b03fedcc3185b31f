/* SPDX-License-Identifier: BSD-2-Clause
 * Tables of text that line up on a terminal. */
#include "table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

bool td_table_cell(struct td_table *t, const char *fmt, ...)
{
	va_list args;
	char *text;
	va_start(args, fmt);
	int n = vasprintf(&text, fmt, args);
	va_end(args);
	if (n < 0)
		return false;
	bool ok = td_buf_add(&t->cells, text, (size_t)n + 1);
	free(text);
	t->n += ok;
	return ok;
}

/* Columns of a terminal that s takes. */
static size_t width_of(const char *s)
{
	size_t width = 0;
	while (*s) {
		utf8proc_int32_t c;
		utf8proc_ssize_t n = utf8proc_iterate((const utf8proc_uint8_t *)s, -1, &c);
		width += n > 0 ? (size_t)utf8proc_charwidth(c) : 1;
		s += n > 0 ? n : 1;
	}
	return width;
}

static bool blanks(struct td_buf *out, size_t n)
{
	if (!td_buf_reserve(out, n + 1))
		return false;
	memset(out->data + out->len, ' ', n);
	out->len += n;
	return true;
}

static bool print_cell(const struct td_table *t, struct td_buf *out, const char *cell, unsigned c,
    size_t width)
{
	size_t pad = width - width_of(cell);
	bool right = t->align[c] == 'r', last = c + 1 == t->columns;
	return blanks(out, right ? pad : 0) && td_buf_add(out, cell, strlen(cell)) &&
	    blanks(out, right || last ? 0 : pad) && blanks(out, last ? 0 : 2);
}

/* Ends a line without the blanks at its end. */
static bool end_line(struct td_buf *out)
{
	while (out->len > 0 && out->data[out->len - 1] == ' ')
		out->len--;
	return td_buf_printf(out, "\n");
}

static bool print_rows(const struct td_table *t, struct td_buf *out, unsigned indent, size_t *widths)
{
	const char *cell = (const char *)t->cells.data;
	for (size_t i = 0; i < t->n; i++, cell += strlen(cell) + 1)
		widths[i % t->columns] = TD_MAX(widths[i % t->columns], width_of(cell));
	cell = (const char *)t->cells.data;
	for (size_t i = 0; i < t->n - t->n % t->columns; i++, cell += strlen(cell) + 1) {
		unsigned c = (unsigned)(i % t->columns);
		if ((c == 0 && !blanks(out, indent)) || !print_cell(t, out, cell, c, widths[c]) ||
		    (c + 1 == t->columns && !end_line(out)))
			return false;
	}
	return true;
}

bool td_table_print(struct td_table *t, struct td_buf *out, unsigned indent)
{
	size_t *widths = calloc(t->columns, sizeof *widths);
	bool ok = widths && print_rows(t, out, indent, widths);
	free(widths);
	t->n = t->cells.len = 0;
	return ok;
}

void td_table_free(struct td_table *t)
{
	td_buf_free(&t->cells);
	t->n = 0;
}
