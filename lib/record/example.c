/* SPDX-License-Identifier: BSD-2-Clause
 * Examples on the wire: features read in place, Examples written with sorted keys. */
#include "example.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "base/err.h"
#include "wire.h"

/* ---- reading ---- */

/* What tundish_feature.merged says of its list. */
enum { MERGED_IN_ENTRY = 1, MERGED_IN_FEATURE = 2 };

static bool is_message(const struct td_wire_field *f, uint32_t number)
{
	return f->number == number && f->type == TD_WIRE_BYTES;
}

/* The lists inside the Feature of a map entry. A Feature may come in parts, and each
 * part may hold several lists; those of one kind in a row are one list. */
struct lists {
	struct td_span entry, value;
	int kind;
};

static int next_list(struct lists *l, struct td_span *ret)
{
	for (;;) {
		while (l->value.p < l->value.end) {
			struct td_wire_field f;
			if (!td_wire_next(&l->value, &f))
				return TUNDISH_E_CORRUPT;
			if (f.type == TD_WIRE_BYTES && f.number <= TUNDISH_INT64) {
				l->kind = (int)f.number;
				*ret = f.body;
				return 1;
			}
		}
		int rc = td_wire_message(&l->entry, 2, &l->value);
		if (rc <= 0)
			return rc;
	}
}

static int count_bytes(struct td_span list, uint64_t *n)
{
	struct td_span value;
	int rc;
	while ((rc = td_wire_message(&list, 1, &value)) == 1)
		++*n;
	return rc;
}

static int count_floats(struct td_span list, uint64_t *n)
{
	while (list.p < list.end) {
		struct td_wire_field f;
		if (!td_wire_next(&list, &f))
			return TUNDISH_E_CORRUPT;
		size_t bytes = td_span_bytes(f.body);
		if (f.number != 1 || (f.type != TD_WIRE_32 && f.type != TD_WIRE_BYTES))
			continue;
		if (bytes % sizeof(float) != 0)
			return TUNDISH_E_CORRUPT;
		*n += bytes / sizeof(float);
	}
	return 0;
}

static int count_ints(struct td_span list, uint64_t *n)
{
	while (list.p < list.end) {
		struct td_wire_field f;
		if (!td_wire_next(&list, &f))
			return TUNDISH_E_CORRUPT;
		if (f.number != 1 || (f.type != TD_WIRE_VARINT && f.type != TD_WIRE_BYTES))
			continue;
		uint64_t v;
		while (f.body.p < f.body.end) {
			if (!td_varint(&f.body, &v))
				return TUNDISH_E_CORRUPT;
			++*n;
		}
	}
	return 0;
}

static int count_values(int kind, struct td_span list, uint64_t *n)
{
	return kind == TUNDISH_BYTES ? count_bytes(list, n) :
	       kind == TUNDISH_FLOAT ? count_floats(list, n) :
				       count_ints(list, n);
}

/* `whole` is what td_values_start() will look through for a list in several parts. */
static int read_lists(struct tundish_feature *ret, struct lists l, struct td_span whole, int merged)
{
	struct tundish_feature f = { .kind = TUNDISH_KIND_NONE };
	struct td_span list;
	int rc;
	while ((rc = next_list(&l, &list)) == 1) {
		if (l.kind != f.kind) {
			f.kind = l.kind;
			f.count = 0;
			f.merged = 0;
			f.list = list.p;
			f.list_bytes = td_span_bytes(list);
		} else {
			f.merged = merged;
			f.list = whole.p;
			f.list_bytes = td_span_bytes(whole);
		}
		if ((rc = count_values(l.kind, list, &f.count)) < 0)
			return rc;
	}
	if (rc < 0)
		return rc;
	f.key = ret->key;
	f.key_bytes = ret->key_bytes;
	*ret = f;
	return 0;
}

int td_feature_of(struct tundish_feature *ret, struct td_span entry)
{
	return read_lists(ret, (struct lists){ .entry = entry }, entry, MERGED_IN_ENTRY);
}

int td_feature_of_message(struct tundish_feature *ret, struct td_span feature)
{
	return read_lists(ret, (struct lists){ .value = feature }, feature, MERGED_IN_FEATURE);
}

static int entry_key(struct td_span entry, struct tundish_feature *ret)
{
	struct td_wire_field f;
	struct td_span key = td_span("", 0);
	while (entry.p < entry.end) {
		if (!td_wire_next(&entry, &f))
			return TUNDISH_E_CORRUPT;
		if (is_message(&f, 1))
			key = f.body;
	}
	ret->key = (const char *)key.p;
	ret->key_bytes = td_span_bytes(key);
	return 0;
}

int td_entries_next(struct td_entries *it, struct tundish_feature *ret_key, struct td_span *ret_entry)
{
	struct td_span features = it->features, entry;
	int rc;
	while ((rc = td_wire_message(&features, 1, &entry)) == 0)
		if ((rc = td_wire_message(&it->all, 1, &features)) <= 0)
			return rc;
	if (rc < 0 || (rc = entry_key(entry, ret_key)) < 0)
		return rc;
	it->features = features;
	*ret_entry = entry;
	return 1;
}

int tundish_example_find(const void *example, size_t example_bytes, const char *key,
    size_t key_bytes, struct tundish_feature *ret_feature)
{
	struct td_entries it = { .all = td_span(example, example_bytes) };
	struct tundish_feature f, last = { 0 };
	struct td_span entry, found = { 0 };
	int rc;
	while ((rc = td_entries_next(&it, &f, &entry)) == 1) {
		if (f.key_bytes == key_bytes && (key_bytes == 0 || memcmp(f.key, key, key_bytes) == 0)) {
			found = entry;
			last = f;
		}
	}
	if (rc < 0 || !found.end)
		return rc;
	rc = td_feature_of(&last, found);
	if (rc < 0)
		return rc;
	*ret_feature = last;
	return 1;
}

int tundish_example_next(const void *example, size_t example_bytes, size_t *position,
    struct tundish_feature *ret_feature)
{
	struct td_span all = td_span(example, example_bytes), features, entry;
	const uint8_t *from = all.p + *position;
	struct tundish_feature f;
	int rc;
	while ((rc = td_wire_message(&all, 1, &features)) == 1) {
		if (features.end <= from)
			continue;
		features.p = TD_MAX(features.p, from);
		rc = td_wire_message(&features, 1, &entry);
		if (rc == 0)
			continue;
		if (rc < 0 || (rc = entry_key(entry, &f)) < 0 || (rc = td_feature_of(&f, entry)) < 0)
			return rc;
		*position = (size_t)(entry.end - (const uint8_t *)example);
		*ret_feature = f;
		return 1;
	}
	return rc;
}

/* ---- values ---- */

/* Passes over the lists of kinds that a later one replaced. */
static void last_run(struct lists *l)
{
	struct lists ahead = *l, start = *l;
	struct td_span list;
	int before = TUNDISH_KIND_NONE;
	for (struct lists here = ahead; next_list(&ahead, &list) == 1; here = ahead) {
		if (ahead.kind != before)
			start = here;
		before = ahead.kind;
	}
	*l = start;
}

void td_values_start(struct td_values *v, const struct tundish_feature *f)
{
	*v = (struct td_values){ .kind = f->kind };
	if (!f->merged) {
		v->list = td_span(f->list, f->list_bytes);
		return;
	}
	struct td_span whole = td_span(f->list, f->list_bytes);
	struct lists l = { 0 };
	*(f->merged == MERGED_IN_ENTRY ? &l.entry : &l.value) = whole;
	last_run(&l);
	v->entry = l.entry;
	v->value = l.value;
}

/* The next field that holds values: its raw bytes, in v->packed. */
static bool next_values(struct td_values *v, unsigned single)
{
	for (;;) {
		while (v->list.p < v->list.end) {
			struct td_wire_field f;
			if (!td_wire_next(&v->list, &f))
				return false;
			if (f.number == 1 && (f.type == TD_WIRE_BYTES || f.type == single)) {
				v->packed = f.body;
				return true;
			}
		}
		struct lists l = { v->entry, v->value, 0 };
		if (next_list(&l, &v->list) != 1)
			return false;
		v->entry = l.entry;
		v->value = l.value;
	}
}

bool td_values_int64(struct td_values *v, int64_t *ret)
{
	uint64_t n;
	while (v->packed.p == v->packed.end)
		if (!next_values(v, TD_WIRE_VARINT))
			return false;
	if (!td_varint(&v->packed, &n))
		return false;
	*ret = (int64_t)n;
	return true;
}

bool td_values_float(struct td_values *v, float *ret)
{
	while (td_span_bytes(v->packed) < sizeof *ret)
		if (!next_values(v, TD_WIRE_32))
			return false;
	memcpy(ret, v->packed.p, sizeof *ret);
	v->packed.p += sizeof *ret;
	return true;
}

bool td_values_bytes(struct td_values *v, const uint8_t **ret_data, size_t *ret_bytes)
{
	if (!next_values(v, TD_WIRE_BYTES))
		return false;
	*ret_data = v->packed.p;
	*ret_bytes = td_span_bytes(v->packed);
	return true;
}

static int check_kind(const struct tundish_feature *f, int kind, uint64_t index, struct td_values *v)
{
	if (f->kind != kind)
		return TUNDISH_E_SCHEMA;
	td_values_start(v, f);
	return index < f->count;
}

int tundish_feature_bytes(const struct tundish_feature *feature, uint64_t index,
    const uint8_t **ret_data, size_t *ret_bytes)
{
	struct td_values v;
	int rc = check_kind(feature, TUNDISH_BYTES, index, &v);
	if (rc <= 0)
		return rc;
	const uint8_t *data;
	size_t bytes;
	do
		if (!td_values_bytes(&v, &data, &bytes))
			return TUNDISH_E_CORRUPT;
	while (index-- > 0);
	*ret_data = data;
	*ret_bytes = bytes;
	return 1;
}

int tundish_feature_int64(const struct tundish_feature *feature, uint64_t index, int64_t *ret_value)
{
	struct td_values v;
	int rc = check_kind(feature, TUNDISH_INT64, index, &v);
	if (rc <= 0)
		return rc;
	int64_t value;
	do
		if (!td_values_int64(&v, &value))
			return TUNDISH_E_CORRUPT;
	while (index-- > 0);
	*ret_value = value;
	return 1;
}

int tundish_feature_float(const struct tundish_feature *feature, uint64_t index, float *ret_value)
{
	struct td_values v;
	int rc = check_kind(feature, TUNDISH_FLOAT, index, &v);
	if (rc <= 0)
		return rc;
	float value;
	do
		if (!td_values_float(&v, &value))
			return TUNDISH_E_CORRUPT;
	while (index-- > 0);
	*ret_value = value;
	return 1;
}

/* ---- writing ---- */

static uint64_t varint_bytes(uint64_t v)
{
	return 1 + (63 - (uint64_t)__builtin_clzll(v | 1)) / 7;
}

/* A field of wire type BYTES with so much in it: tags here are one byte. */
static uint64_t field_bytes(uint64_t content)
{
	return 1 + varint_bytes(content) + content;
}

static uint64_t list_bytes(const struct td_field *f)
{
	uint64_t n = 0;
	switch (f->kind) {
	case TUNDISH_BYTES:
		for (size_t i = 0; i < f->n; i++)
			n += field_bytes(f->bytes[i].len);
		return n;
	case TUNDISH_FLOAT:
		return f->n ? field_bytes((uint64_t)f->n * sizeof(float)) : 0;
	case TUNDISH_INT64:
		for (size_t i = 0; i < f->n; i++)
			n += varint_bytes((uint64_t)f->ints[i]);
		return f->n ? field_bytes(n) : 0;
	default:
		return 0;
	}
}

struct sizes {
	const struct td_field *field;
	uint64_t list, feature, entry;
};

static struct sizes sizes_of(const struct td_field *f)
{
	struct sizes s = { .field = f, .list = list_bytes(f) };
	s.feature = f->kind == TUNDISH_KIND_NONE ? 0 : field_bytes(s.list);
	s.entry = field_bytes(strlen(f->key)) + field_bytes(s.feature);
	return s;
}

static void put_varint(struct td_buf *b, uint64_t v)
{
	while (v >= 0x80) {
		b->data[b->len++] = (uint8_t)(v | 0x80);
		v >>= 7;
	}
	b->data[b->len++] = (uint8_t)v;
}

static void put_head(struct td_buf *b, unsigned number, uint64_t bytes)
{
	b->data[b->len++] = (uint8_t)(number << 3 | TD_WIRE_BYTES);
	put_varint(b, bytes);
}

static void put_bytes(struct td_buf *b, unsigned number, const void *data, size_t bytes)
{
	put_head(b, number, bytes);
	if (bytes > 0)
		memcpy(b->data + b->len, data, bytes);
	b->len += bytes;
}

static void put_values(struct td_buf *b, const struct td_field *f)
{
	if (f->kind == TUNDISH_BYTES)
		for (size_t i = 0; i < f->n; i++)
			put_bytes(b, 1, f->bytes[i].data, f->bytes[i].len);
	else if (f->kind == TUNDISH_FLOAT && f->n > 0)
		put_bytes(b, 1, f->floats, f->n * sizeof(float));
	else if (f->kind == TUNDISH_INT64 && f->n > 0) {
		uint64_t n = 0;
		for (size_t i = 0; i < f->n; i++)
			n += varint_bytes((uint64_t)f->ints[i]);
		put_head(b, 1, n);
		for (size_t i = 0; i < f->n; i++)
			put_varint(b, (uint64_t)f->ints[i]);
	}
}

static int by_key(const void *a, const void *b)
{
	return strcmp(((const struct sizes *)a)->field->key, ((const struct sizes *)b)->field->key);
}

static void put_entry(struct td_buf *out, const struct sizes *s)
{
	put_head(out, 1, s->entry);
	put_bytes(out, 1, s->field->key, strlen(s->field->key));
	put_head(out, 2, s->feature);
	if (s->field->kind != TUNDISH_KIND_NONE) {
		put_head(out, (unsigned)s->field->kind, s->list);
		put_values(out, s->field);
	}
}

/* Makes room for an Example whose entries take so many bytes, and writes its head. */
static int begin(struct td_buf *out, uint64_t features, uint64_t max_bytes, struct tundish_error *e)
{
	if (field_bytes(features) > max_bytes)
		return td_err(e, TUNDISH_E_LIMIT, "record would be %" PRIu64 " bytes; the limit is %"
		    PRIu64, field_bytes(features), max_bytes);
	if (!td_buf_reserve(out, (size_t)field_bytes(features)))
		return td_err_memory(e);
	put_head(out, 1, features);
	return 0;
}

int td_example_encode(struct td_buf *out, const struct td_field *fields, size_t n,
    uint64_t max_bytes, struct tundish_error *e)
{
	struct sizes few[16], *sizes = n <= TD_COUNT(few) ? few : malloc(n * sizeof *sizes);
	uint64_t features = 0;
	if (!sizes)
		return td_err_memory(e);
	for (size_t i = 0; i < n; i++) {
		sizes[i] = sizes_of(fields + i);
		features += field_bytes(sizes[i].entry);
	}
	qsort(sizes, n, sizeof *sizes, by_key);
	int rc = begin(out, features, max_bytes, e);
	for (size_t i = 0; i < n && rc == 0; i++)
		put_entry(out, &sizes[i]);
	if (sizes != few)
		free(sizes);
	return rc;
}

/* ---- SequenceExamples ---- */

static struct td_field step_of(const struct td_field *f, size_t step)
{
	struct td_field part = { .key = f->key, .kind = f->kind, .n = f->step };
	if (f->kind == TUNDISH_BYTES)
		part.bytes = f->bytes + step * f->step;
	else if (f->kind == TUNDISH_FLOAT)
		part.floats = f->floats + step * f->step;
	else
		part.ints = f->ints + step * f->step;
	return part;
}

/* Of the FeatureList of a field. */
static uint64_t steps_bytes(const struct td_field *f)
{
	uint64_t bytes = 0;
	for (size_t i = 0; i < f->n / f->step; i++) {
		const struct td_field part = step_of(f, i);
		bytes += field_bytes(sizes_of(&part).feature);
	}
	return bytes;
}

static void put_steps(struct td_buf *out, const struct sizes *s)
{
	put_head(out, 1, s->entry);
	put_bytes(out, 1, s->field->key, strlen(s->field->key));
	put_head(out, 2, s->list);
	for (size_t i = 0; i < s->field->n / s->field->step; i++) {
		const struct td_field part = step_of(s->field, i);
		const struct sizes sizes = sizes_of(&part);
		put_head(out, 1, sizes.feature);
		put_head(out, (unsigned)part.kind, sizes.list);
		put_values(out, &part);
	}
}

/* The context has the form of an Example; the lists follow it. */
int td_sequence_encode(struct td_buf *out, const struct td_field *fields, size_t n, uint64_t max_bytes,
    struct tundish_error *e)
{
	struct sizes *lists = malloc((n + 1) * sizeof *lists);
	struct td_field *context = malloc((n + 1) * sizeof *context);
	size_t n_lists = 0, n_context = 0, start = out->len;
	uint64_t bytes = 0;
	for (size_t i = 0; lists && context && i < n; i++) {
		if (fields[i].step == 0) {
			context[n_context++] = fields[i];
			continue;
		}
		struct sizes *s = &lists[n_lists++];
		*s = (struct sizes){ .field = &fields[i], .list = steps_bytes(&fields[i]) };
		s->entry = field_bytes(strlen(fields[i].key)) + field_bytes(s->list);
		bytes += field_bytes(s->entry);
	}
	int rc = lists && context ? td_example_encode(out, context, n_context, max_bytes, e) : td_err_memory(e);
	uint64_t all = out->len - start + field_bytes(bytes);
	if (rc == 0 && all > max_bytes)
		rc = td_err(e, TUNDISH_E_LIMIT, "record would be %" PRIu64 " bytes; the limit is %" PRIu64, all,
		    max_bytes);
	if (rc == 0 && !td_buf_reserve(out, (size_t)field_bytes(bytes)))
		rc = td_err_memory(e);
	if (rc == 0) {
		put_head(out, 2, bytes);
		qsort(lists, n_lists, sizeof *lists, by_key);
		for (size_t i = 0; i < n_lists; i++)
			put_steps(out, &lists[i]);
	}
	free(lists);
	free(context);
	return rc;
}

/* < 0, 0, > 0 as the keys compare by their bytes. */
static int compare_key(const struct tundish_feature *f, const char *key)
{
	size_t n = strlen(key), both = TD_MIN(f->key_bytes, n);
	int c = both ? memcmp(f->key, key, both) : 0;
	return c ? c : (f->key_bytes > n) - (f->key_bytes < n);
}

/* Bytes of all entries but that of the key, or CORRUPT. */
static int64_t other_bytes(const void *example, size_t bytes, const char *key)
{
	struct td_entries it = { .all = td_span(example, bytes) };
	struct tundish_feature f;
	struct td_span entry;
	int64_t n = 0;
	int rc;
	while ((rc = td_entries_next(&it, &f, &entry)) == 1)
		if (compare_key(&f, key) != 0)
			n += (int64_t)field_bytes(td_span_bytes(entry));
	return rc < 0 ? rc : n;
}

int td_example_replace(struct td_buf *out, const void *example, size_t bytes, const char *key,
    const struct td_bytes *value, uint64_t max_bytes, struct tundish_error *e)
{
	const struct td_field field = { .key = key, .kind = TUNDISH_BYTES, .n = 1, .bytes = value };
	const struct sizes size = value ? sizes_of(&field) : (struct sizes){ 0 };
	int64_t others = other_bytes(example, bytes, key);
	if (others < 0)
		return td_err(e, TUNDISH_E_CORRUPT, "not an Example");
	int rc = begin(out, (uint64_t)others + (value ? field_bytes(size.entry) : 0), max_bytes, e);
	if (rc < 0)
		return rc;
	struct td_entries it = { .all = td_span(example, bytes) };
	struct tundish_feature f;
	struct td_span entry;
	bool due = value;
	while (td_entries_next(&it, &f, &entry) == 1) {
		int c = compare_key(&f, key);
		if (due && c > 0) {
			put_entry(out, &size);
			due = false;
		}
		if (c != 0)
			put_bytes(out, 1, entry.p, td_span_bytes(entry));
	}
	if (due)
		put_entry(out, &size);
	return 0;
}
