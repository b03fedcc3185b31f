/* SPDX-License-Identifier: BSD-2-Clause
 * Which records to keep, by the value of one feature. */
#include "filter.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"

/* The operator at s and its length; 0: there is none. */
static size_t op_at(const char *s, enum td_filter_op *ret)
{
	static const struct {
		const char *text;
		enum td_filter_op op;
	} ops[] = {
		{ "!=", TD_FILTER_UNEQUAL }, { "<=", TD_FILTER_LESS_EQUAL },
		{ ">=", TD_FILTER_GREATER_EQUAL }, { "==", TD_FILTER_EQUAL }, { "=", TD_FILTER_EQUAL },
		{ "<", TD_FILTER_LESS }, { ">", TD_FILTER_GREATER }, { " in ", TD_FILTER_EQUAL },
	};
	for (size_t i = 0; i < TD_COUNT(ops); i++) {
		if (strncmp(s, ops[i].text, strlen(ops[i].text)) == 0) {
			*ret = ops[i].op;
			return strlen(ops[i].text);
		}
	}
	return 0;
}

static char *trimmed(const char *s, size_t len)
{
	while (len && *s == ' ')
		s++, len--;
	while (len && s[len - 1] == ' ')
		len--;
	return strndup(s, len);
}

/* Takes the text. */
static int add_value(struct td_filter *f, char *text, const struct td_classes *names, struct tundish_error *e)
{
	struct td_filter_value *more = text ? realloc(f->values, (f->n + 1) * sizeof *more) : NULL;
	if (!more) {
		free(text);
		return td_err_memory(e);
	}
	f->values = more;
	struct td_filter_value *v = &more[f->n++];
	*v = (struct td_filter_value){ .text = text };
	if (!*text)
		return td_err(e, TUNDISH_E_USAGE, "filter: an empty value");
	char *end;
	v->is_int = td_parse_int64(text, &v->number);
	v->real = strtod(text, &end);
	v->is_real = *end == 0;
	int32_t class = names && !v->is_int ? td_classes_find(names, text, strlen(text)) : -1;
	if (class >= 0) {
		v->is_int = true;
		v->number = names->list[class].label;
	}
	return 0;
}

int td_filter_parse(struct td_filter *ret, const char *spec, const struct td_classes *names,
    struct tundish_error *e)
{
	struct td_filter f = { 0 };
	size_t at = 0, len = 0;
	if (!spec) {
		*ret = f;
		return 0;
	}
	while (spec[at] && !(len = op_at(spec + at, &f.op)))
		at++;
	f.key = trimmed(spec, at);
	int rc = f.key ? 0 : td_err_memory(e);
	if (rc == 0 && (!len || !*f.key))
		rc = td_err(e, TUNDISH_E_USAGE, "filter: \"%s\" is not FEATURE in A,B or FEATURE=A, !=, <, <=, >, >=",
		    TD_ESC(spec));
	for (const char *word = spec + at + len; rc == 0 && word; word = strchr(word, ',') ? strchr(word, ',') + 1 : NULL)
		rc = add_value(&f, trimmed(word, strcspn(word, ",")), names, e);
	if (rc == 0 && f.n > 1 && f.op >= TD_FILTER_LESS)
		rc = td_err(e, TUNDISH_E_USAGE, "filter: \"%s\" compares with more than one value", TD_ESC(spec));
	if (rc < 0)
		td_filter_free(&f);
	else
		*ret = f;
	return rc;
}

/* What the comparison of a feature's value with one of ours gives. */
struct order {
	bool known; /* they can be compared */
	int sign;
};

static struct order compare_int(int64_t x, const struct td_filter_value *v)
{
	if (v->is_int)
		return (struct order){ true, x < v->number ? -1 : x > v->number };
	double real = (double)x;
	return (struct order){ v->is_real && v->real == v->real, real < v->real ? -1 : real > v->real };
}

static struct order compare_real(double x, const struct td_filter_value *v)
{
	bool known = v->is_real && v->real == v->real && x == x;
	return (struct order){ known, x < v->real ? -1 : x > v->real };
}

static struct order compare_bytes(const uint8_t *data, size_t len, const struct td_filter_value *v)
{
	size_t n = strlen(v->text);
	int sign = memcmp(data, v->text, TD_MIN(len, n));
	return (struct order){ true, sign ? sign : len < n ? -1 : len > n };
}

static struct order compare(const struct tundish_feature *feature, const struct td_filter_value *v)
{
	const uint8_t *data;
	size_t len;
	int64_t number;
	float real;
	if (tundish_feature_int64(feature, 0, &number) > 0)
		return compare_int(number, v);
	if (tundish_feature_float(feature, 0, &real) > 0)
		return compare_real((double)real, v);
	if (tundish_feature_bytes(feature, 0, &data, &len) > 0)
		return compare_bytes(data, len, v);
	return (struct order){ false, 0 };
}

bool td_filter_keeps(const struct td_filter *f, const struct tundish_feature *feature)
{
	bool equal = false;
	if (feature->count == 0)
		return false;
	for (size_t i = 0; f->op <= TD_FILTER_UNEQUAL && i < f->n && !equal; i++) {
		struct order o = compare(feature, &f->values[i]);
		equal = o.known && o.sign == 0;
	}
	if (f->op <= TD_FILTER_UNEQUAL)
		return equal == (f->op == TD_FILTER_EQUAL);
	struct order o = compare(feature, &f->values[0]);
	switch (f->op) {
	case TD_FILTER_LESS:
		return o.known && o.sign < 0;
	case TD_FILTER_LESS_EQUAL:
		return o.known && o.sign <= 0;
	case TD_FILTER_GREATER:
		return o.known && o.sign > 0;
	default:
		return o.known && o.sign >= 0;
	}
}

void td_filter_free(struct td_filter *f)
{
	for (size_t i = 0; i < f->n; i++)
		free(f->values[i].text);
	free(f->values);
	free(f->key);
	*f = (struct td_filter){ 0 };
}
