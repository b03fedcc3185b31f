/* SPDX-License-Identifier: BSD-2-Clause
 * Features on their way from records into the arrays of a batch. */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "outs.h"
#include "record/example.h"
#include "record/sequence.h"

/* Buffers above that are given back once their batch is packed. */
#define LOOSE_KEEP ((size_t)64 << 10)
/* A padded array may take that in any case. */
#define PACKED_SMALL ((uint64_t)16 << 20)

struct td_column *td_columns_new(const struct td_outs *outs, unsigned rows, struct td_ledger *l)
{
	struct td_column *columns = calloc(outs->n, sizeof *columns);
	bool ok = columns != NULL;
	for (unsigned i = 0; i < outs->n && ok; i++) {
		const struct td_out *out = &outs->list[i];
		if (out->row_bytes)
			ok = (columns[i].fixed = calloc(rows, out->row_bytes));
		else if (out->lengths)
			ok = (columns[i].loose = calloc(rows, sizeof *columns[i].loose));
	}
	if (!ok) {
		td_columns_free(columns, outs, rows);
		return NULL;
	}
	td_ledger_take(l, outs->row_bytes * rows);
	return columns;
}

void td_columns_free(struct td_column *columns, const struct td_outs *outs, unsigned rows)
{
	for (unsigned i = 0; columns && i < outs->n; i++) {
		free(columns[i].fixed);
		for (unsigned k = 0; columns[i].loose && k < rows; k++)
			td_buf_free(&columns[i].loose[k]);
		free(columns[i].loose);
		td_buf_free(&columns[i].packed);
		td_buf_free(&columns[i].lengths);
	}
	free(columns);
}

/* ---- from the record ---- */

static int not_good(const struct td_out *out, const struct tundish_feature *f, struct tundish_error *e)
{
	if (f->kind != out->kind && !(f->kind == TUNDISH_KIND_NONE && out->ragged))
		return td_err(e, TUNDISH_E_SCHEMA, "feature %s is %s, wanted is %s", TD_ESC(out->key),
		    td_kind_name(f->kind), td_kind_name(out->kind));
	if (!out->ragged && f->count != out->count)
		return td_err(e, TUNDISH_E_SCHEMA,
		    "feature %s has %llu values, wanted are %llu; with =ragged select takes any number",
		    TD_ESC(out->key), (unsigned long long)f->count, (unsigned long long)out->count);
	return 0;
}

/* Room for more bytes of a row. */
static uint8_t *more(struct td_buf *b, size_t bytes, struct td_ledger *l)
{
	size_t cap = b->cap;
	if (!td_buf_reserve(b, bytes))
		return NULL;
	td_ledger_take(l, b->cap - cap);
	b->len += bytes;
	return b->data + b->len - bytes;
}

/* Texts one after another, each behind its length. */
static int read_texts(struct td_buf *to, const struct tundish_feature *f, struct td_ledger *l)
{
	struct td_values v;
	const uint8_t *data;
	size_t bytes;
	uint64_t n = 0;
	td_values_start(&v, f);
	while (n < f->count && td_values_bytes(&v, &data, &bytes)) {
		uint8_t *at = more(to, sizeof(uint64_t) + bytes, l);
		if (!at)
			return TUNDISH_E_MEMORY;
		const uint64_t length = bytes;
		memcpy(at, &length, sizeof length);
		if (bytes)
			memcpy(at + sizeof length, data, bytes);
		n++;
	}
	return n == f->count ? 0 : TUNDISH_E_CORRUPT;
}

static int read_numbers(uint8_t *to, const struct tundish_feature *f)
{
	struct td_values v;
	uint64_t n = 0;
	int64_t whole;
	float real;
	td_values_start(&v, f);
	if (f->kind == TUNDISH_INT64)
		for (; n < f->count && td_values_int64(&v, &whole); n++, to += sizeof whole)
			memcpy(to, &whole, sizeof whole);
	else
		for (; n < f->count && td_values_float(&v, &real); n++, to += sizeof real)
			memcpy(to, &real, sizeof real);
	return n == f->count ? 0 : TUNDISH_E_CORRUPT;
}

static int read_feature(struct td_column *c, const struct td_out *out, unsigned row,
    const struct tundish_feature *f, struct td_ledger *l, struct tundish_error *e)
{
	int rc = not_good(out, f, e);
	if (rc < 0)
		return rc;
	size_t bytes = 0;
	if (c->fixed)
		rc = read_numbers(c->fixed + row * out->row_bytes, f);
	else if (f->count == 0)
		c->loose[row].len = 0;
	else if (out->kind == TUNDISH_BYTES)
		rc = read_texts(&c->loose[row], f, l);
	else if (td_mul_overflow(f->count, out->kind == TUNDISH_FLOAT ? sizeof(float) : sizeof(int64_t), &bytes) ||
	    !more(&c->loose[row], bytes, l))
		rc = TUNDISH_E_MEMORY;
	else
		rc = read_numbers(c->loose[row].data, f);
	return rc == TUNDISH_E_MEMORY ? td_err_memory(e) :
	    rc < 0		      ? td_err(e, rc, "not an Example") : 0;
}

/* ---- from the lists of SequenceExamples ---- */

static int check_step(const struct td_out *out, const struct tundish_feature *f, uint64_t number,
    struct tundish_error *e)
{
	if (f->kind != out->kind)
		return td_err(e, TUNDISH_E_SCHEMA, "step %llu of list %s is %s, wanted is %s", (unsigned long long)number,
		    TD_ESC(out->key), td_kind_name(f->kind), td_kind_name(out->kind));
	if (f->count != out->step)
		return td_err(e, TUNDISH_E_SCHEMA, "step %llu of list %s has %llu values, wanted are %llu",
		    (unsigned long long)number, TD_ESC(out->key), (unsigned long long)f->count,
		    (unsigned long long)out->step);
	return 0;
}

/* The values of a step behind those before. */
static int read_step(struct td_column *c, const struct td_out *out, unsigned row, uint64_t number,
    const struct tundish_feature *f, struct td_ledger *l)
{
	size_t bytes = f->count * (out->kind == TUNDISH_FLOAT ? sizeof(float) : sizeof(int64_t));
	if (c->fixed)
		return read_numbers(c->fixed + row * out->row_bytes + number * bytes, f);
	if (out->kind == TUNDISH_BYTES)
		return read_texts(&c->loose[row], f, l);
	uint8_t *to = more(&c->loose[row], bytes, l);
	return to ? read_numbers(to, f) : TUNDISH_E_MEMORY;
}

static int read_list(struct td_column *c, const struct td_out *out, unsigned row, const void *record,
    size_t bytes, struct td_ledger *l, struct tundish_error *e)
{
	struct td_feature_list list;
	struct tundish_feature step;
	int rc = td_sequence_find(&list, out->key, record, bytes);
	if (rc < 0)
		return td_err(e, TUNDISH_E_CORRUPT, "not a SequenceExample");
	if (rc == 0 && !out->ragged)
		return td_err(e, TUNDISH_E_SCHEMA, "list %s is missing", TD_ESC(out->key));
	if (rc > 0 && !out->ragged && list.steps != out->count)
		return td_err(e, TUNDISH_E_SCHEMA, "list %s has %llu steps, wanted are %llu", TD_ESC(out->key),
		    (unsigned long long)list.steps, (unsigned long long)out->count);
	for (uint64_t i = 0; rc > 0 && i < list.steps; i++) {
		int got = td_sequence_step(&list.features, &step);
		rc = got > 0 ? check_step(out, &step, i, e) : td_err(e, TUNDISH_E_CORRUPT, "not a SequenceExample");
		if (rc < 0)
			return rc;
		rc = read_step(c, out, row, i, &step, l);
		if (rc < 0)
			return rc == TUNDISH_E_MEMORY ? td_err_memory(e) : td_err(e, rc, "not a SequenceExample");
		rc = 1;
	}
	return 0;
}

int td_columns_read(struct td_column *columns, const struct td_outs *outs, unsigned row,
    const void *example, size_t bytes, struct td_ledger *l, struct tundish_error *e)
{
	for (unsigned i = 0; i < outs->n; i++) {
		const struct td_out *out = &outs->list[i];
		struct tundish_feature f = { .key = "" };
		if (out->source != TD_OUT_FEATURE)
			continue;
		if (columns[i].loose)
			columns[i].loose[row].len = 0;
		if (out->step) {
			int rc = read_list(&columns[i], out, row, example, bytes, l, e);
			if (rc < 0)
				return rc;
			continue;
		}
		int rc = tundish_example_find(example, bytes, out->key, strlen(out->key), &f);
		if (rc < 0)
			return td_err(e, TUNDISH_E_CORRUPT, "not an Example");
		if (rc == 0 && !out->ragged)
			return td_err(e, TUNDISH_E_SCHEMA, "feature %s is missing", TD_ESC(out->key));
		if (rc > 0)
			rc = read_feature(&columns[i], out, row, &f, l, e);
		if (rc < 0)
			return rc;
	}
	return 0;
}

int td_columns_label(struct td_column *columns, const struct td_outs *outs, unsigned row,
    int64_t label, struct tundish_error *e)
{
	for (unsigned i = 0; i < outs->n; i++) {
		if (outs->list[i].source == TD_OUT_VALID)
			columns[i].fixed[row] = 1;
		if (outs->list[i].source != TD_OUT_LABEL || !outs->classes)
			continue;
		float *classes = (float *)(columns[i].fixed + row * outs->list[i].row_bytes);
		if (label < -1 || label >= (int64_t)outs->classes)
			return td_err(e, TUNDISH_E_SCHEMA, "label %lld is not one of one_hot:%u",
			    (long long)label, outs->classes);
		memset(classes, 0, outs->list[i].row_bytes);
		if (label >= 0)
			classes[label] = 1;
	}
	return 0;
}

void td_columns_blank(struct td_column *columns, const struct td_outs *outs, unsigned row)
{
	for (unsigned i = 0; i < outs->n; i++) {
		if (columns[i].fixed)
			memset(columns[i].fixed + row * outs->list[i].row_bytes, 0, outs->list[i].row_bytes);
		if (columns[i].loose)
			columns[i].loose[row].len = 0;
	}
}

void td_columns_move(struct td_column *columns, const struct td_outs *outs, unsigned to, unsigned from)
{
	for (unsigned i = 0; i < outs->n; i++) {
		size_t n = outs->list[i].row_bytes;
		if (columns[i].fixed)
			memcpy(columns[i].fixed + to * n, columns[i].fixed + from * n, n);
		if (columns[i].loose) {
			struct td_buf b = columns[i].loose[to];
			columns[i].loose[to] = columns[i].loose[from];
			columns[i].loose[from] = b;
		}
	}
}

/* ---- into the array ---- */

/* How long the longest row is, in values; and for texts how long the longest of them. */
struct extent {
	size_t values, bytes;
};

static size_t value_bytes(const struct td_out *out)
{
	return out->kind == TUNDISH_FLOAT ? sizeof(float) : out->kind == TUNDISH_INT64 ? sizeof(int64_t) : 1;
}

/* The text at `at` in a row's buffer; moves behind it. */
static const uint8_t *next_text(const struct td_buf *b, size_t *at, uint64_t *ret_bytes)
{
	memcpy(ret_bytes, b->data + *at, sizeof *ret_bytes);
	const uint8_t *text = b->data + *at + sizeof *ret_bytes;
	*at += sizeof *ret_bytes + *ret_bytes;
	return text;
}

static struct extent measure(const struct td_column *c, const struct td_out *out, unsigned rows)
{
	struct extent x = { out->ragged ? 0 : out->count * TD_MAX(out->step, (uint64_t)1), 0 };
	for (unsigned row = 0; row < rows; row++) {
		const struct td_buf *b = &c->loose[row];
		size_t n = b->len / value_bytes(out);
		if (out->kind == TUNDISH_BYTES) {
			uint64_t bytes;
			n = 0;
			for (size_t at = 0; at < b->len; n++) {
				next_text(b, &at, &bytes);
				x.bytes = TD_MAX(x.bytes, bytes);
			}
		}
		x.values = TD_MAX(x.values, n);
	}
	return x;
}

/* Records may have another number of texts than one: then that is an axis. */
static bool several(const struct td_out *out)
{
	return out->kind == TUNDISH_BYTES && (out->ragged || out->count > 1 || out->step);
}

static void pack_texts(const struct td_buf *b, uint8_t *to, int64_t *lengths, const struct extent *x,
    int64_t none)
{
	uint64_t bytes;
	size_t n = 0;
	for (size_t at = 0; at < b->len; n++, to += x->bytes) {
		const uint8_t *text = next_text(b, &at, &bytes);
		if (bytes)
			memcpy(to, text, bytes);
		lengths[n] = (int64_t)bytes;
	}
	for (; n < x->values; n++)
		lengths[n] = none;
}

static int fit(struct td_buf *b, size_t bytes, struct td_ledger *l)
{
	size_t cap = b->cap;
	if (bytes > cap)
		td_ledger_give(l, cap);
	if (!td_buf_fit(b, TD_MAX(bytes, (size_t)1)))
		return TUNDISH_E_MEMORY;
	if (bytes > cap)
		td_ledger_take(l, b->cap);
	if (bytes)
		memset(b->data, 0, bytes);
	b->len = bytes;
	return 0;
}

static int pack_column(struct td_column *c, const struct td_out *out, unsigned rows,
    struct td_ledger *l, struct tundish_error *e)
{
	bool text = out->kind == TUNDISH_BYTES;
	struct extent x = measure(c, out, rows);
	size_t row, bytes, n_lengths = text ? x.values : 1;
	bool over = td_mul_overflow(x.values, text ? x.bytes : value_bytes(out), &row) ||
	    td_mul_overflow(row, rows, &bytes);
	if (over || bytes > TD_MAX(l->budget, PACKED_SMALL))
		return td_err(e, TUNDISH_E_LIMIT, "feature %s: padded to %zu values%s a row, a batch of %u "
		    "does not fit the memory; a smaller batch or more memory helps", TD_ESC(out->key),
		    text ? x.bytes : x.values, text ? " (bytes)" : "", rows);
	if (fit(&c->packed, bytes, l) < 0 || fit(&c->lengths, n_lengths * rows * sizeof(int64_t), l) < 0)
		return td_err_memory(e);
	int64_t *lengths = (int64_t *)c->lengths.data;
	for (unsigned i = 0; i < rows; i++, lengths += n_lengths) {
		struct td_buf *b = &c->loose[i];
		if (text)
			pack_texts(b, c->packed.data + i * row, lengths, &x, several(out) ? -1 : 0);
		else
			*lengths = (int64_t)(b->len / value_bytes(out) / TD_MAX(out->step, (uint64_t)1));
		if (!text && b->len)
			memcpy(c->packed.data + i * row, b->data, b->len);
		if (b->cap > LOOSE_KEEP) {
			td_ledger_give(l, b->cap);
			td_buf_free(b);
		}
	}
	return 0;
}

int td_columns_pack(struct td_column *columns, const struct td_outs *outs, unsigned rows,
    struct td_ledger *l, struct tundish_error *e)
{
	int rc = 0;
	for (unsigned i = 0; i < outs->n && rc == 0; i++) {
		if (columns[i].loose)
			rc = pack_column(&columns[i], &outs->list[i], rows, l, e);
	}
	return rc;
}

static int dtype_of(const struct td_out *out)
{
	return out->source == TD_OUT_VALID ? TUNDISH_UINT8 :
	    out->source == TD_OUT_LABEL || out->kind == TUNDISH_FLOAT ? TUNDISH_FLOAT32 :
	    out->kind == TUNDISH_INT64 ? TUNDISH_DTYPE_INT64 : TUNDISH_UINT8;
}

unsigned td_columns_arrays(const struct td_column *columns, const struct td_outs *outs, unsigned i,
    unsigned rows, struct tundish_array *ret)
{
	const struct td_column *c = &columns[i];
	const struct td_out *out = &outs->list[i];
	struct tundish_array a = { .name = out->name, .dtype = dtype_of(out), .ndim = 1, .shape = { rows } };
	if (c->fixed) {
		uint64_t n = out->source == TD_OUT_LABEL ? outs->classes : out->count;
		a.data = c->fixed;
		a.bytes = rows * out->row_bytes;
		if (n > 1 || out->source == TD_OUT_LABEL || out->step)
			a.shape[a.ndim++] = n;
		if (out->step > 1)
			a.shape[a.ndim++] = out->step;
		ret[0] = a;
		return 1;
	}
	size_t values = c->lengths.len / sizeof(int64_t) / TD_MAX(rows, 1u);
	struct tundish_array lengths = { .name = out->lengths, .dtype = TUNDISH_DTYPE_INT64, .ndim = 1,
		.shape = { rows }, .data = c->lengths.data, .bytes = c->lengths.len };
	if (several(out))
		a.shape[a.ndim++] = lengths.shape[lengths.ndim++] = values;
	a.data = c->packed.data;
	a.bytes = c->packed.len;
	size_t each = value_bytes(out) * rows * (several(out) ? values : 1);
	a.shape[a.ndim++] = each ? c->packed.len / each / TD_MAX(out->step, (uint64_t)1) : 0;
	if (out->step > 1)
		a.shape[a.ndim++] = out->step;
	ret[0] = a;
	ret[1] = lengths;
	return 2;
}
