/* SPDX-License-Identifier: BSD-2-Clause
 * Results on stdout: JSON that is always valid, and tables that line up. */
#include "out.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/utf8.h"

/* The program cannot go on without the memory for its own output. */
static void *must(void *p)
{
	if (!p) {
		fputs("tundish: out of memory\n", stderr);
		exit(3);
	}
	return p;
}

void out_set(json_t *object, const char *key, json_t *value)
{
	if (json_object_set_new(object, key, must(value)))
		must(NULL);
}

void out_set_count(json_t *object, const char *key, uint64_t n)
{
	out_set(object, key, json_integer((json_int_t)n));
}

/* All of it, however long. The caller frees. */
static char *escaped_copy(const char *text)
{
	size_t n = strlen(text);
	char *out = must(malloc(4 * n + 8));
	td_escape(out, 4 * n + 8, text, n);
	return out;
}

void out_escaped(const char *text)
{
	char *escaped = escaped_copy(text);
	fputs(escaped, stdout);
	free(escaped);
}

json_t *out_text(const char *text)
{
	size_t n = strlen(text);
	if (td_utf8_valid(text, n))
		return must(json_stringn(text, n));
	char *escaped = escaped_copy(text);
	json_t *value = json_string(escaped);
	free(escaped);
	return must(value);
}

void out_set_text(json_t *object, const char *key, const char *text)
{
	out_set(object, key, out_text(text));
}

const char *out_compression(int compression)
{
	static const char *const names[] = { "none", "gzip", "zlib", "snappy" };
	return compression >= 0 && compression < (int)TD_COUNT(names) ? names[compression] : "unknown";
}

void out_json(json_t *value)
{
	json_dumpf(value, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(9));
	putchar('\n');
	json_decref(value);
}

void out_cell(struct out_table *t, const char *fmt, ...)
{
	va_list args;
	va_start(args, fmt);
	if (!td_grow(&t->cells, &t->cap, t->n, sizeof *t->cells) ||
	    vasprintf(&t->cells[t->n], fmt, args) < 0)
		must(NULL);
	va_end(args);
	t->n++;
}

/* Characters, not bytes. */
static size_t width(const char *s)
{
	size_t n = 0, len = strlen(s);
	for (size_t i = 0; i < len; n++)
		i += TD_MAX(td_utf8_char(s + i, len - i), (size_t)1);
	return n;
}

static void print_row(char *const *cells, const struct out_table *t, const size_t *widths)
{
	for (unsigned c = 0; c < t->columns; c++) {
		int pad = (int)(widths[c] - width(cells[c]));
		bool right = t->align[c] == 'r', last = c + 1 == t->columns;
		printf("%*s%s%*s", right ? pad : 0, "", cells[c], right || last ? 0 : pad, "");
		fputs(last ? "\n" : "  ", stdout);
	}
}

void out_table(struct out_table *t)
{
	size_t *widths = must(calloc(t->columns, sizeof *widths));
	for (size_t i = 0; i < t->n; i++)
		widths[i % t->columns] = TD_MAX(widths[i % t->columns], width(t->cells[i]));
	for (size_t i = 0; i + t->columns <= t->n; i += t->columns)
		print_row(t->cells + i, t, widths);
	for (size_t i = 0; i < t->n; i++)
		free(t->cells[i]);
	free(t->cells);
	free(widths);
	*t = (struct out_table){ .columns = t->columns, .align = t->align };
}
