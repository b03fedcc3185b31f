/* SPDX-License-Identifier: BSD-2-Clause
 * The classes of a set: names to numbers, by bytewise order or by a list. */
#include "classes.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/infile.h"

#define LIST_MAX ((uint64_t)64 << 20)

int32_t td_classes_find(const struct td_classes *c, const char *name, size_t len)
{
	const int32_t *found = td_map_find(&c->index, name, len);
	return found ? *found : -1;
}

static bool index_class(struct td_classes *c, size_t i)
{
	c->index.value_bytes = sizeof(int32_t);
	int32_t *value = td_map_at(&c->index, c->list[i].name, strlen(c->list[i].name));
	if (value)
		*value = (int32_t)i;
	return value != NULL;
}

static int32_t append(struct td_classes *c, const char *name, size_t len)
{
	if (c->n == INT32_MAX || !td_grow(&c->list, &c->cap, c->n, sizeof *c->list))
		return -2;
	char *copy = strndup(name, len);
	if (!copy)
		return -2;
	c->list[c->n] = (struct td_class){ .name = copy };
	return index_class(c, c->n++) ? (int32_t)c->n - 1 : -2;
}

int32_t td_classes_add(struct td_classes *c, const char *name, size_t len)
{
	int32_t found = td_classes_find(c, name, len);
	return found >= 0 || c->fixed ? found : append(c, name, len);
}

static bool blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f';
}

/* Cuts blanks off both ends; a CR alone at the end is no fault. */
static char *trim(char *line, bool *ret_cut)
{
	size_t n = strlen(line);
	if (n && line[n - 1] == '\r')
		line[--n] = 0;
	size_t was = n;
	while (n && blank(line[n - 1]))
		line[--n] = 0;
	char *start = line;
	while (blank(*start))
		start++;
	*ret_cut = *start && (n != was || start != line);
	return start;
}

static int add_line(struct td_classes *c, const char *path, char *line, int64_t number,
    const struct tundish_listener *l, struct tundish_error *e)
{
	bool cut;
	const char *name = trim(line, &cut);
	struct td_place at = TD_PLACE(path);
	at.line = number;
	if (!*name)
		return 0;
	if (cut)
		td_notice(l, "%s: line %d: blanks around class \"%s\" are left out", TD_ESC(path),
		    (int)number, TD_ESC(name));
	if (td_classes_find(c, name, strlen(name)) >= 0)
		return td_err_at(e, TUNDISH_E_USAGE, at, "class \"%s\" is listed twice", TD_ESC(name));
	return append(c, name, strlen(name)) < 0 ? td_err_memory(e) : 0;
}

int td_classes_parse(struct td_classes *c, const char *path, struct td_buf *text,
    const struct tundish_listener *l, struct tundish_error *e)
{
	int rc = 0;
	if (text->len && memchr(text->data, 0, text->len))
		rc = td_err(e, TUNDISH_E_USAGE, "%s: no text file: holds a NUL", TD_ESC(path));
	else if (!td_buf_add(text, "\n", 2))
		rc = td_err_memory(e);
	char *line = (char *)text->data;
	if (rc == 0 && strncmp(line, "\xef\xbb\xbf", 3) == 0)
		line += 3;
	for (int64_t number = 1; rc == 0 && *line; number++) {
		char *end = strchr(line, '\n');
		*end = 0;
		rc = add_line(c, path, line, number, l, e);
		line = end + 1;
	}
	if (rc == 0 && c->n == 0)
		rc = td_err(e, TUNDISH_E_USAGE, "%s: no class in the list", TD_ESC(path));
	c->fixed = true;
	return rc;
}

int td_classes_load(struct td_classes *c, const char *path, const struct tundish_listener *l,
    struct tundish_error *e)
{
	struct td_buf text = { 0 };
	int rc = td_read_named(&text, path, LIST_MAX, e);
	if (rc == 0)
		rc = td_classes_parse(c, path, &text, l, e);
	td_buf_free(&text);
	return rc;
}

int td_classes_copy(struct td_classes *c, const struct td_classes *from, struct tundish_error *e)
{
	for (size_t i = 0; i < from->n; i++)
		if (append(c, from->list[i].name, strlen(from->list[i].name)) < 0)
			return td_err_memory(e);
	c->fixed = true;
	return 0;
}

bool td_parse_int64(const char *text, int64_t *ret)
{
	while (blank(*text))
		text++;
	char *end;
	errno = 0;
	long long value = strtoll(text, &end, 10);
	if (end == text || errno || !isdigit((unsigned char)end[-1]))
		return false;
	while (blank(*end))
		end++;
	if (*end)
		return false;
	*ret = value;
	return true;
}

int32_t td_classes_known(const struct td_classes *c, const char *name, size_t len, int64_t offset)
{
	int32_t found = td_classes_find(c, name, len);
	char text[32];
	int64_t number;
	if (found >= 0 || len >= sizeof text)
		return found;
	memcpy(text, name, len);
	text[len] = 0;
	bool good = td_parse_int64(text, &number) && !td_add_overflow(number, -offset, &number);
	return good && number >= 0 && (uint64_t)number < c->n ? (int32_t)number : -1;
}

int32_t td_classes_label(struct td_classes *c, const char *name, size_t len, int64_t offset)
{
	return c->fixed ? td_classes_known(c, name, len, offset) : td_classes_add(c, name, len);
}

/* For sorting: the class with its old index. */
struct ranked {
	struct td_class class;
	int32_t old;
};

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct ranked *)a)->class.name, ((const struct ranked *)b)->class.name);
}

static int by_number(const void *a, const void *b)
{
	int64_t x = ((const struct ranked *)a)->class.label, y = ((const struct ranked *)b)->class.label;
	return x < y ? -1 : x > y;
}

static int rank_classes(struct td_classes *c, int32_t *map, struct tundish_error *e)
{
	struct ranked *ranked = malloc((c->n + 1) * sizeof *ranked);
	if (!ranked)
		return td_err_memory(e);
	size_t n = 0;
	for (size_t i = 0; i < c->n; i++) {
		map[i] = -1;
		if (c->list[i].items == 0) {
			free(c->list[i].name);
			continue;
		}
		ranked[n] = (struct ranked){ .class = c->list[i], .old = (int32_t)i };
		if (c->numbers)
			td_parse_int64(c->list[i].name, &ranked[n].class.label);
		n++;
	}
	qsort(ranked, n, sizeof *ranked, c->numbers ? by_number : by_name);
	for (size_t i = 0; i < n; i++) {
		c->list[i] = ranked[i].class;
		map[ranked[i].old] = (int32_t)i;
	}
	c->n = n;
	free(ranked);
	td_map_clear(&c->index);
	for (size_t i = 0; i < n; i++)
		if (!index_class(c, i))
			return td_err_memory(e);
	return 0;
}

int td_classes_settle(struct td_classes *c, int64_t offset, int32_t *map, struct tundish_error *e)
{
	for (size_t i = 0; c->fixed && i < c->n; i++)
		map[i] = (int32_t)i;
	int rc = c->fixed ? 0 : rank_classes(c, map, e);
	for (size_t i = 0; rc == 0 && i < c->n; i++) {
		int64_t base = c->numbers ? c->list[i].label : (int64_t)i;
		if (td_add_overflow(base, offset, &c->list[i].label))
			rc = td_err(e, TUNDISH_E_USAGE, "label %s with its offset is out of range",
			    TD_ESC(c->list[i].name));
	}
	return rc;
}

void td_classes_free(struct td_classes *c)
{
	for (size_t i = 0; i < c->n; i++)
		free(c->list[i].name);
	free(c->list);
	td_map_free(&c->index);
	*c = (struct td_classes){ 0 };
}
