/* SPDX-License-Identifier: BSD-2-Clause
 * One record, readable. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/table.h"
#include "base/utf8.h"
#include "record/example.h"
#include "record/sequence.h"
#include "survey.h"
#include "value.h"

#define SHOWN_VALUES 1000 /* of a feature */
#define SHOWN_BYTES 1000  /* of a value; JSON holds longer ones by size only */

struct shown {
	const struct tundish_survey *s;
	struct td_table table;
	struct td_json j;
	bool lost;
};

#define cell(x, ...) ((x)->lost |= !td_table_cell(&(x)->table, __VA_ARGS__))

/* "JPEG 96x128, 3 channels, 8 bits", or false when it is no picture. */
static bool picture_text(char out[160], struct td_image_info *info, const struct tundish_survey *s,
    const uint8_t *data, size_t bytes)
{
	enum td_image_kind kind = td_image_probe(data, bytes);
	if (kind == TD_IMAGE_NONE)
		return false;
	struct tundish_error e = { 0 };
	*info = (struct td_image_info){ .kind = kind };
	if (td_image_header(info, data, bytes, s->options.max_pixels, &e) < 0) {
		*info = (struct td_image_info){ .kind = kind };
		snprintf(out, 160, "%s, bad: %.100s", td_image_kind_name(kind), e.text);
	} else {
		snprintf(out, 160, "%s %" PRIu32 "x%" PRIu32 ", %u channel%s, %u bits",
		    td_image_kind_name(kind), info->width, info->height, info->channels,
		    info->channels == 1 ? "" : "s", info->bits);
	}
	return true;
}

static json_t *picture_json(struct shown *x, const struct td_image_info *info, size_t bytes)
{
	json_t *o = json_object();
	td_json_string(&x->j, o, "picture", td_image_kind_name(info->kind));
	if (info->width) {
		td_json_int(&x->j, o, "width", info->width);
		td_json_int(&x->j, o, "height", info->height);
		td_json_int(&x->j, o, "channels", info->channels);
		td_json_int(&x->j, o, "bits", info->bits);
	}
	td_json_int(&x->j, o, "bytes", bytes);
	return o;
}

static json_t *bytes_value(struct shown *x, struct td_buf *text, const uint8_t *data, size_t bytes)
{
	char picture[160];
	struct td_image_info info;
	if (picture_text(picture, &info, x->s, data, bytes)) {
		x->lost |= !td_buf_printf(text, "%s, %zu bytes", picture, bytes);
		return picture_json(x, &info, bytes);
	}
	x->lost |= !td_buf_printf(text, "\"") || !td_text_bytes(text, data, bytes, SHOWN_BYTES) ||
	    !td_buf_printf(text, "\"");
	if (bytes <= SHOWN_BYTES)
		return td_json_text(data, bytes);
	json_t *o = json_object();
	td_json_int(&x->j, o, "bytes", bytes);
	return o;
}

/* The next value: into text, and as JSON; NULL at the end (or without memory). */
static json_t *next_value(struct shown *x, struct td_buf *text, struct td_values *v)
{
	int64_t n;
	float real;
	const uint8_t *data;
	size_t bytes;
	if (v->kind == TUNDISH_INT64 && td_values_int64(v, &n)) {
		x->lost |= !td_buf_printf(text, "%" PRId64, n);
		return json_integer(n);
	}
	if (v->kind == TUNDISH_FLOAT && td_values_float(v, &real)) {
		x->lost |= !td_text_float(text, real);
		return td_json_real((double)real);
	}
	if (v->kind == TUNDISH_BYTES && td_values_bytes(v, &data, &bytes))
		return bytes_value(x, text, data, bytes);
	return NULL;
}

/* "[1, 2, 3]", a single value bare; the JSON list. */
static json_t *values(struct shown *x, struct td_buf *text, const struct tundish_feature *f)
{
	json_t *list = json_array();
	struct td_values v;
	td_values_start(&v, f);
	uint64_t n = TD_MIN(f->count, (uint64_t)SHOWN_VALUES);
	bool one = f->count == 1;
	x->lost |= !td_buf_printf(text, one ? "" : "[");
	for (uint64_t i = 0; i < n; i++) {
		x->lost |= i && !td_buf_printf(text, ", ");
		td_json_add(&x->j, list, next_value(x, text, &v));
	}
	if (n < f->count)
		x->lost |= !td_buf_printf(text, ", ... (%" PRIu64 " values)", f->count);
	x->lost |= !td_buf_printf(text, one ? "" : "]");
	return list;
}

static json_t *feature(struct shown *x, const struct tundish_feature *f)
{
	json_t *o = json_object();
	struct td_buf text = { 0 };
	char name[64];
	td_escape(name, sizeof name, f->key, f->key_bytes);
	td_json_set(&x->j, o, "name", td_json_text(f->key, f->key_bytes));
	td_json_string(&x->j, o, "kind", td_kind_name(f->kind));
	td_json_int(&x->j, o, "count", f->count);
	td_json_set(&x->j, o, "values", values(x, &text, f));
	cell(x, "%s", *name ? name : "\"\"");
	cell(x, "%s", td_kind_name(f->kind));
	cell(x, "%" PRIu64, f->count);
	cell(x, "%s", text.data ? (const char *)text.data : "");
	td_buf_free(&text);
	return o;
}

/* The features of an Example, or of the context of a SequenceExample. */
static json_t *features(struct shown *x, const struct tundish_record *r)
{
	json_t *list = json_array();
	struct tundish_feature f;
	for (size_t at = 0; tundish_example_next(r->data, r->bytes, &at, &f) > 0;)
		td_json_add(&x->j, list, feature(x, &f));
	return list;
}

static json_t *steps(struct shown *x, struct td_buf *text, const struct td_feature_list *list)
{
	json_t *array = json_array();
	struct td_steps rest = list->features;
	struct tundish_feature f = { 0 };
	for (uint64_t i = 0; td_sequence_step(&rest, &f) > 0; i++) {
		if (i == SHOWN_VALUES) {
			x->lost |= !td_buf_printf(text, "; ... (%" PRIu64 " steps)", list->steps);
			break;
		}
		x->lost |= i && !td_buf_printf(text, "; ");
		td_json_add(&x->j, array, values(x, text, &f));
	}
	return array;
}

static json_t *lists(struct shown *x, const struct tundish_record *r)
{
	json_t *array = json_array();
	struct td_sequence sequence;
	struct td_feature_list list;
	td_sequence_start(&sequence, r->data, r->bytes);
	while (td_sequence_next(&sequence, &list) > 0) {
		json_t *o = json_object();
		struct td_buf text = { 0 };
		char name[64];
		td_escape(name, sizeof name, list.key, list.key_bytes);
		td_json_set(&x->j, o, "name", td_json_text(list.key, list.key_bytes));
		td_json_string(&x->j, o, "kind", td_kind_name(list.kind));
		td_json_int(&x->j, o, "steps", list.steps);
		td_json_set(&x->j, o, "values", steps(x, &text, &list));
		cell(x, "%s", name);
		cell(x, "%s", td_kind_name(list.kind));
		cell(x, "%" PRIu64 " steps", list.steps);
		cell(x, "%s", text.data ? (const char *)text.data : "");
		td_buf_free(&text);
		td_json_add(&x->j, array, o);
	}
	return array;
}

static void bare(struct shown *x, json_t *o, const struct tundish_record *r, struct td_buf *out)
{
	struct td_buf text = { 0 };
	td_json_set(&x->j, o, "data", bytes_value(x, &text, r->data, r->bytes));
	x->lost |= !td_buf_printf(out, "  %s\n", text.data ? (const char *)text.data : "");
	td_buf_free(&text);
}

int td_survey_show(struct tundish_survey *s, const char *path, const struct tundish_record *r,
    struct tundish_error *e)
{
	struct shown x = { .s = s, .table = { .columns = 4, .align = "llrl" } };
	enum td_message kind = td_message_kind(r->data, r->bytes);
	json_t *o = json_object();
	td_json_string(&x.j, o, "path", path);
	td_json_int(&x.j, o, "record", r->number);
	td_json_int(&x.j, o, "offset", r->offset);
	td_json_int(&x.j, o, "bytes", r->bytes);
	td_json_string(&x.j, o, "type", td_message_name(kind));
	x.lost |= !td_buf_printf(&s->text, "%s: record %" PRIu64 " at byte %" PRIu64 ": %" PRIu64
	    " bytes, %s\n", TD_ESC(path), r->number, r->offset, r->bytes, td_message_name(kind));
	if (kind == TD_MESSAGE_OTHER) {
		bare(&x, o, r, &s->text);
	} else {
		td_json_set(&x.j, o, kind == TD_MESSAGE_SEQUENCE ? "context" : "features",
		    features(&x, r));
		if (kind == TD_MESSAGE_SEQUENCE)
			td_json_set(&x.j, o, "feature_lists", lists(&x, r));
		if (x.table.n == 0)
			x.lost |= !td_buf_printf(&s->text, "  0 features\n");
		x.lost |= !td_table_print(&x.table, &s->text, 2);
	}
	td_table_free(&x.table);
	return td_json_dump(&x.j, o, &s->json) && !x.lost ? 0 : td_err_memory(e);
}
