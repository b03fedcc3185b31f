/* SPDX-License-Identifier: BSD-2-Clause
 * The text of an ENVI header: keys and values, whoever wrote it. */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/text.h"
#include "envi.h"

struct parser {
	const char *p;
	size_t len, at, line;
	struct td_envi_header *h;
};

/* The next line, ended by LF, CRLF or CR. */
static bool next_line(struct parser *p, const char **ret, size_t *ret_len)
{
	if (p->at == p->len)
		return false;
	size_t from = p->at;
	while (p->at < p->len && p->p[p->at] != '\n' && p->p[p->at] != '\r')
		p->at++;
	*ret = p->p + from;
	*ret_len = p->at - from;
	if (p->at < p->len && p->p[p->at++] == '\r' && p->at < p->len && p->p[p->at] == '\n')
		p->at++;
	p->line++;
	return true;
}

/* There is room for all of it: parse() saw to that. */
static void add_bytes(struct td_buf *text, const char *s, size_t len)
{
	memcpy(text->data + text->len, s, len);
	text->len += len;
}

/* Keys are told apart whatever their case, and "_" is a blank. */
static void add_key(struct td_buf *text, const char *s, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		char c = s[i] == '_' || td_is_blank(s[i]) ? ' ' : s[i];
		if (c >= 'A' && c <= 'Z')
			c = (char)(c - 'A' + 'a');
		if (c != ' ' || text->data[text->len - 1] != ' ')
			add_bytes(text, &c, 1);
	}
	add_bytes(text, "", 1);
}

static void add_value(struct td_buf *text, const char *s, size_t len)
{
	td_trim(&s, &len);
	memmove(text->data + text->len, s, len);
	text->len += len;
	add_bytes(text, "", 1);
}

/* A value from behind its "{" to the "}", over lines; those that begin with ";" are
 * comments. */
static int add_braces(struct parser *p, const char *s, size_t len, const char *key,
    struct tundish_error *e)
{
	struct td_buf *text = &p->h->text;
	size_t opened = p->line, from = text->len;
	for (;;) {
		const char *end = memchr(s, '}', len);
		add_bytes(text, s, end ? (size_t)(end - s) : len);
		add_bytes(text, "\n", 1);
		if (end)
			break;
		do {
			if (!next_line(p, &s, &len))
				return td_err(e, TUNDISH_E_CORRUPT,
				    "ENVI header: brace opened on line %zu (%s) is never closed",
				    opened, td_escape((char[64]){ 0 }, 64, key, (size_t)-1));
		} while (len && *s == ';');
	}
	size_t n = text->len - from;
	text->len = from;
	add_value(text, (const char *)text->data + from, n);
	return 0;
}

static int add_field(struct parser *p, const char *s, size_t len, size_t equals,
    struct tundish_error *e)
{
	struct td_envi_header *h = p->h;
	const char *key = s, *value = s + equals + 1;
	size_t key_len = equals, value_len = len - equals - 1;
	td_trim(&key, &key_len);
	while (value_len && td_is_blank(*value)) {
		value++;
		value_len--;
	}
	if (!td_grow(&h->fields, &h->cap, h->n, sizeof *h->fields))
		return td_err_memory(e);
	struct td_envi_field *f = &h->fields[h->n];
	f->key = (const char *)h->text.data + h->text.len;
	add_key(&h->text, key, key_len);
	f->value = (const char *)h->text.data + h->text.len;
	f->braces = value_len && *value == '{';
	int rc = 0;
	if (f->braces)
		rc = add_braces(p, value + 1, value_len - 1, f->key, e);
	else
		add_value(&h->text, value, value_len);
	f->len = (size_t)((const char *)h->text.data + h->text.len - 1 - f->value);
	h->n += rc == 0;
	return rc;
}

static int parse(struct parser *p, struct tundish_error *e)
{
	const char *s;
	size_t len;
	if (p->len >= 3 && memcmp(p->p, "\xef\xbb\xbf", 3) == 0)
		p->at = 3;
	do {
		if (!next_line(p, &s, &len))
			return td_err(e, TUNDISH_E_CORRUPT, "ENVI header without ENVI in its first line");
		td_trim(&s, &len);
	} while (len == 0);
	if (len < 4 || memcmp(s, "ENVI", 4) != 0)
		return td_err(e, TUNDISH_E_CORRUPT, "ENVI header without ENVI in its first line");
	/* each "=" of the header brings up to three bytes with it, each line one; the first
	 * byte is there so that there is one before any key */
	if (!td_buf_reserve(&p->h->text, 4 * p->len + 16))
		return td_err_memory(e);
	add_bytes(&p->h->text, "", 1);
	while (next_line(p, &s, &len)) {
		const char *equals = len && *s != ';' ? memchr(s, '=', len) : NULL;
		int rc = equals ? add_field(p, s, len, (size_t)(equals - s), e) : 0;
		if (rc < 0)
			return rc;
	}
	return 0;
}

int td_envi_parse(struct td_envi_header *ret, const void *data, size_t len, struct tundish_error *e)
{
	struct td_envi_header h = { 0 };
	struct parser p = { .p = data, .len = len, .h = &h };
	int rc = parse(&p, e);
	if (rc < 0)
		td_envi_header_free(&h);
	else
		*ret = h;
	return rc;
}

void td_envi_header_free(struct td_envi_header *h)
{
	free(h->fields);
	td_buf_free(&h->text);
	*h = (struct td_envi_header){ 0 };
}

const struct td_envi_field *td_envi_find(const struct td_envi_header *h, const char *key)
{
	for (size_t i = h->n; i-- > 0;)
		if (strcmp(h->fields[i].key, key) == 0)
			return &h->fields[i];
	return NULL;
}

bool td_envi_item(const struct td_envi_field *f, size_t *at, const char **ret, size_t *ret_len)
{
	while (*at < f->len) {
		const char *s = f->value + *at;
		const char *comma = memchr(s, ',', f->len - *at);
		size_t len = comma ? (size_t)(comma - s) : f->len - *at;
		bool edge = *at == 0 || !comma;
		*at += len + (comma ? 1 : 0);
		td_trim(&s, &len);
		if (len == 0 && edge)
			continue;
		*ret = s;
		*ret_len = len;
		return true;
	}
	return false;
}
