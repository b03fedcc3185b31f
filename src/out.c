/* SPDX-License-Identifier: BSD-2-Clause
 * Results on stdout: JSON that is always valid, and tables that line up. */
#include "out.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"

/* The program cannot go on without the memory for its own output. */
static void *must(void *p)
{
	if (!p) {
		fputs("tundish: out of memory\n", stderr);
		exit(3);
	}
	return p;
}

int out_flush(void)
{
	static int first; /* a stream only tells that there was an error, not which */
	errno = 0;
	if (fflush(stdout) && !first)
		first = errno ? errno : EIO;
	return first;
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

void out_escaped(const char *text)
{
	struct td_buf escaped = { 0 };
	if (!td_buf_escape(&escaped, text, strlen(text)))
		must(NULL);
	fwrite(escaped.data, 1, escaped.len, stdout);
	td_buf_free(&escaped);
}

void out_lines(const char *text)
{
	size_t n = strlen(text);
	fwrite(text, 1, n, stdout);
	if (n && text[n - 1] != '\n')
		putchar('\n');
}

void out_set_text(json_t *object, const char *key, const char *text)
{
	out_set(object, key, td_json_text(text, strlen(text)));
}

void out_json(json_t *value)
{
	json_dumpf(value, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(9));
	putchar('\n');
	json_decref(value);
}

void out_cell(struct td_table *t, const char *fmt, ...)
{
	va_list args;
	char *text;
	va_start(args, fmt);
	if (vasprintf(&text, fmt, args) < 0 || !td_table_cell(t, "%s", text))
		must(NULL);
	va_end(args);
	free(text);
}

void out_table(struct td_table *t, FILE *to)
{
	struct td_buf text = { 0 };
	if (!td_table_print(t, &text, 0))
		must(NULL);
	fwrite(text.data, 1, text.len, to);
	td_buf_free(&text);
	td_table_free(t);
}
