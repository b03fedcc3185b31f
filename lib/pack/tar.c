/* SPDX-License-Identifier: BSD-2-Clause
 * Records as members of a tar, as WebDataset reads them. */
#include "tar.h"

#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/utf8.h"
#include "media/image.h"
#include "record/example.h"
#include "record/sample.h"
#include "record/sequence.h"
#include "source/format.h"

#define BLOCK 512

struct tar {
	struct td_buf *out;
	uint64_t key;
	struct tundish_error *e;
};

/* ---- members ---- */

/* With a NUL behind the digits, which is there already. */
static void octal(char *field, size_t width, uint64_t value)
{
	for (size_t i = width - 1; i-- > 0; value >>= 3)
		field[i] = (char)('0' + (value & 7));
}

/* A ustar header. Sizes have 33 bits there, more than a record can have. */
static int add_header(struct tar *t, const char *name, uint64_t bytes)
{
	char h[BLOCK] = { 0 };
	unsigned sum = 0;
	if (strlen(name) > 100)
		return td_err(t->e, TUNDISH_E_UNSUPPORTED, "a tar member's name of more than 100 bytes: %s", TD_ESC(name));
	memcpy(h, name, strlen(name));
	octal(h + 100, 8, 0644);
	octal(h + 108, 8, 0);
	octal(h + 116, 8, 0);
	octal(h + 124, 12, bytes);
	octal(h + 136, 12, 0);
	memset(h + 148, ' ', 8);
	h[156] = '0';
	memcpy(h + 257, "ustar\0" "00", 8);
	for (unsigned i = 0; i < BLOCK; i++)
		sum += (unsigned char)h[i];
	octal(h + 148, 7, sum);
	return td_buf_add(t->out, h, BLOCK) ? 0 : td_err_memory(t->e);
}

static int add_member(struct tar *t, const char *extension, const void *data, size_t bytes)
{
	static const char zeros[BLOCK];
	char *name;
	if (asprintf(&name, "%09" PRIu64 ".%s", t->key, extension) < 0)
		return td_err_memory(t->e);
	int rc = add_header(t, name, bytes);
	free(name);
	if (rc < 0)
		return rc;
	return td_buf_add(t->out, data, bytes) && td_buf_add(t->out, zeros, -bytes % BLOCK) ? 0 : td_err_memory(t->e);
}

/* A value that is no text. Percent signs and slashes of the name are written as %25, %2F. */
static int add_bytes(struct tar *t, const char *name, const uint8_t *data, size_t bytes)
{
	struct td_buf extension = { 0 };
	bool ok = true;
	for (const char *c = name; ok && *c; c++)
		ok = *c == '%' || *c == '/' ? td_buf_printf(&extension, "%%%02X", (unsigned)*c) :
		    td_buf_add(&extension, c, 1);
	bool picture = td_format_named(name) >= 0 && td_image_probe(data, bytes) != TD_IMAGE_NONE;
	ok = ok && td_buf_printf(&extension, "%s", picture ? "" : ".bin");
	int rc = ok ? add_member(t, (const char *)extension.data, data, bytes) : td_err_memory(t->e);
	td_buf_free(&extension);
	return rc;
}

/* ---- values ---- */

static int add_float(const struct tar *t, json_t *list, const char *name, float v)
{
	if (!isfinite(v))
		return td_err(t->e, TUNDISH_E_UNSUPPORTED, "feature %s: JSON has no word for %g", TD_ESC(name), (double)v);
	return json_array_append_new(list, json_real((double)v)) == 0 ? 0 : td_err_memory(t->e);
}

static int add_text(const struct tar *t, json_t *list, const char *name, const uint8_t *data, size_t bytes)
{
	if (!td_utf8_valid((const char *)data, bytes))
		return td_err(t->e, TUNDISH_E_UNSUPPORTED, "feature %s: several values that are no text", TD_ESC(name));
	return json_array_append_new(list, json_stringn((const char *)data, bytes)) == 0 ? 0 : td_err_memory(t->e);
}

static int fill_list(const struct tar *t, json_t *list, const char *name, const struct tundish_feature *f)
{
	struct td_values v;
	int64_t whole;
	float real;
	const uint8_t *data;
	size_t bytes;
	int rc = 0;
	td_values_start(&v, f);
	if (f->kind == TUNDISH_INT64)
		while (rc == 0 && td_values_int64(&v, &whole))
			rc = json_array_append_new(list, json_integer(whole)) == 0 ? 0 : td_err_memory(t->e);
	else if (f->kind == TUNDISH_FLOAT)
		while (rc == 0 && td_values_float(&v, &real))
			rc = add_float(t, list, name, real);
	else
		while (rc == 0 && td_values_bytes(&v, &data, &bytes))
			rc = add_text(t, list, name, data, bytes);
	return rc;
}

/* A feature that is neither the picture nor the label. */
static int add_feature(struct tar *t, json_t *object, const char *name, const struct tundish_feature *f)
{
	const uint8_t *data;
	size_t bytes;
	if (f->count == 0)
		return 0;
	if (f->kind == TUNDISH_BYTES && f->count == 1 && tundish_feature_bytes(f, 0, &data, &bytes) == 1 &&
	    !td_utf8_valid((const char *)data, bytes))
		return add_bytes(t, name, data, bytes);
	json_t *list = json_array();
	int rc = list ? fill_list(t, list, name, f) : td_err_memory(t->e);
	if (rc == 0 && json_array_size(list) > 0 &&
	    json_object_set(object, name, json_array_size(list) == 1 ? json_array_get(list, 0) : list) != 0)
		rc = td_err(t->e, TUNDISH_E_UNSUPPORTED, "feature %s: its name is no UTF-8", TD_ESC(name));
	json_decref(list);
	return rc;
}

/* ---- records ---- */

static int add_picture(struct tar *t, const struct tundish_feature *image)
{
	const uint8_t *data;
	size_t bytes;
	if (tundish_feature_bytes(image, 0, &data, &bytes) != 1)
		return td_err(t->e, TUNDISH_E_SCHEMA, "feature image has no bytes");
	enum td_image_kind kind = td_image_probe(data, bytes);
	const char *extension = kind == TD_IMAGE_NONE ? "image.bin" :
	    kind == TD_IMAGE_JPEG		      ? "jpg" :
							td_image_format_name(kind);
	return add_member(t, extension, data, bytes);
}

static bool is_feature(const struct tundish_feature *f, const struct tundish_feature *one)
{
	return one && f->key_bytes == one->key_bytes && memcmp(f->key, one->key, f->key_bytes) == 0;
}

/* All but those two. */
static int add_others(struct tar *t, json_t *object, const struct tundish_feature *image,
    const struct tundish_feature *label, const void *example, size_t bytes)
{
	struct tundish_feature f;
	size_t position = 0;
	int rc;
	while ((rc = tundish_example_next(example, bytes, &position, &f)) == 1) {
		if (is_feature(&f, image) || is_feature(&f, label))
			continue;
		char *name = strndup(f.key, f.key_bytes);
		rc = name ? add_feature(t, object, name, &f) : td_err_memory(t->e);
		free(name);
		if (rc < 0)
			return rc;
	}
	return rc == 0 ? 0 : td_err(t->e, TUNDISH_E_CORRUPT, "not an Example");
}

static int add_json(struct tar *t, const json_t *object)
{
	char *text = json_dumps(object, JSON_COMPACT | JSON_SORT_KEYS | JSON_REAL_PRECISION(9));
	int rc = text ? add_member(t, "json", text, strlen(text)) : td_err_memory(t->e);
	free(text);
	return rc;
}

int td_tar_record(struct td_buf *out, uint64_t key, const void *example, size_t bytes, struct tundish_error *e)
{
	struct tar t = { .out = out, .key = key, .e = e };
	const struct td_keys keys = { 0 };
	struct td_sample s;
	char number[32];
	int64_t label;
	if (td_message_kind(example, bytes) == TD_MESSAGE_SEQUENCE)
		return td_err(e, TUNDISH_E_UNSUPPORTED, "a SequenceExample has no form in a tar");
	int rc = td_sample_find(&s, &keys, example, bytes);
	if (rc < 0)
		return td_err(e, rc, "not an Example");
	bool labelled = s.label && s.label->count == 1 && tundish_feature_int64(s.label, 0, &label) == 1;
	bool pictured = s.image && s.image->kind == TUNDISH_BYTES && s.image->count == 1;
	json_t *object = json_object();
	if (!object)
		return td_err_memory(e);
	if (pictured)
		rc = add_picture(&t, s.image);
	if (rc == 0 && labelled) {
		int n = snprintf(number, sizeof number, "%" PRId64, label);
		rc = add_member(&t, "cls", number, (size_t)n);
	}
	if (rc == 0)
		rc = add_others(&t, object, pictured ? s.image : NULL, labelled ? s.label : NULL, example, bytes);
	if (rc == 0)
		rc = add_json(&t, object);
	json_decref(object);
	return rc;
}
