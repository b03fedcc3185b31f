/* SPDX-License-Identifier: BSD-2-Clause
 * Raw tensors in records. */
#include "tensor.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "record/beside.h"
#include "tundish.h"

static_assert(TD_TENSOR_AXES == TD_BESIDE_AXES, "shapes are copied");
#define KEY_MAX 256

static const char value_end[] = "/value", shape_end[] = "/shape";

/* The feature with the shape of "NAME/value"; "" when `key` is not like that. */
static void shape_key(char ret[KEY_MAX], const char *key)
{
	size_t n = strlen(key), end = strlen(value_end);
	*ret = 0;
	if (n > end && n < KEY_MAX && strcmp(key + n - end, value_end) == 0)
		snprintf(ret, KEY_MAX, "%.*s%s", (int)(n - end), key, shape_end);
}

/* The one text of a feature of the record. */
static bool find_text(const void *record, size_t bytes, const char *key, const char **ret, size_t *ret_len)
{
	struct tundish_feature f;
	const uint8_t *data;
	if (tundish_example_find(record, bytes, key, strlen(key), &f) != 1 || f.kind != TUNDISH_BYTES ||
	    tundish_feature_bytes(&f, 0, &data, ret_len) != 1)
		return false;
	*ret = (const char *)data;
	return true;
}

void td_tensor_look(struct td_tensor *t, const char *key, const void *record, size_t bytes,
    const void *data, size_t len)
{
	char name[KEY_MAX];
	const char *text;
	size_t text_len;
	struct tundish_feature f;
	if (find_text(record, bytes, "dtype", &text, &text_len))
		t->known = t->on = td_elem_named(&t->elem, text, text_len);
	t->on = t->on || td_image_probe(data, len) == TD_IMAGE_NONE;
	shape_key(name, key);
	t->shaped = *name && tundish_example_find(record, bytes, name, strlen(name), &f) == 1 &&
	    f.kind == TUNDISH_INT64;
	t->n_axes = t->shaped && f.count <= TD_TENSOR_AXES ? (unsigned)f.count : 0;
}

static bool look_beside(struct td_tensor *t, const char *path, const char *key)
{
	struct td_beside beside;
	if (!td_beside_tensor(&beside, path, key) || (t->known && beside.elem != t->elem))
		return false;
	t->elem = beside.elem;
	t->n_axes = beside.n_axes;
	memcpy(t->shape, beside.shape, sizeof t->shape);
	return true;
}

static int check_open(const struct td_tensor *t, struct tundish_error *e)
{
	unsigned open = 0;
	for (unsigned i = 0; i < t->n_axes; i++)
		open += t->shape[i] == 0;
	if (open <= 1)
		return 0;
	return td_err(e, TUNDISH_E_USAGE, "features.json leaves %u of %u sides of the arrays open, and bytes tell "
	    "one at most; tensor:HxWxC says them", open, t->n_axes);
}

int td_tensor_settle(struct td_tensor *t, const struct td_chain *chain, const char *key, const char *path,
    struct tundish_error *e)
{
	if (chain->tensor_axes) {
		t->on = true;
		t->shaped = false;
		t->n_axes = chain->tensor_axes;
		memcpy(t->shape, chain->tensor_shape, sizeof t->shape);
		t->elem = chain->tensor_typed ? chain->tensor_elem : t->known ? t->elem : TD_UINT8;
	} else if (t->on && !t->shaped && look_beside(t, path, key)) {
		int rc = check_open(t, e);
		if (rc < 0)
			return rc;
	} else if (t->on && !t->shaped) {
		/* bytes that are no picture may just be damaged */
		if (t->known)
			return td_err(e, TUNDISH_E_USAGE, "records hold arrays of %s, but nothing tells their "
			    "shape: no feature beside them and no features.json; tensor:HxWxC says it",
			    td_elem_name(t->elem));
		t->on = false;
	}
	t->plain = t->n_axes == 1 || t->n_axes > 3;
	return 0;
}

/* ---- records ---- */

static int read_shape(const struct td_tensor *t, uint64_t shape[TD_TENSOR_AXES], const char *key,
    const void *record, size_t bytes, struct tundish_error *e)
{
	char name[KEY_MAX];
	struct tundish_feature f;
	int64_t side = 0;
	memcpy(shape, t->shape, sizeof t->shape);
	if (!t->shaped)
		return 0;
	shape_key(name, key);
	if (tundish_example_find(record, bytes, name, strlen(name), &f) != 1 || f.kind != TUNDISH_INT64 ||
	    f.count != t->n_axes)
		return td_err(e, TUNDISH_E_SCHEMA, "feature %s does not hold %u sides", TD_ESC(name), t->n_axes);
	for (unsigned i = 0; i < t->n_axes; i++) {
		if (tundish_feature_int64(&f, i, &side) != 1 || side <= 0)
			return td_err(e, TUNDISH_E_CORRUPT, "feature %s holds a side of %" PRId64, TD_ESC(name), side);
		shape[i] = (uint64_t)side;
	}
	return 0;
}

static int wrong_bytes(const struct td_tensor *t, size_t len, const uint64_t shape[TD_TENSOR_AXES],
    struct tundish_error *e)
{
	char text[TD_TENSOR_AXES * 21 + 1] = "";
	size_t n = 0;
	for (unsigned i = 0; i < t->n_axes; i++) {
		n += (size_t)snprintf(text + n, sizeof text - n, i ? "x" : "");
		n += (size_t)(shape[i] ? snprintf(text + n, sizeof text - n, "%" PRIu64, shape[i]) :
					 snprintf(text + n, sizeof text - n, "?"));
	}
	return td_err(e, TUNDISH_E_CORRUPT, "%zu bytes are no array %s of %s", len, text, td_elem_name(t->elem));
}

/* One open side follows from the number of bytes; the product of all. */
static int check_bytes(const struct td_tensor *t, uint64_t shape[TD_TENSOR_AXES], size_t len,
    struct tundish_error *e)
{
	if (len == 0)
		return td_err(e, TUNDISH_E_CORRUPT, "the array is empty");
	uint64_t bytes = td_elem_bytes(t->elem), *open = NULL;
	bool over = false;
	for (unsigned i = 0; i < t->n_axes; i++) {
		if (shape[i])
			over |= td_mul_overflow(bytes, shape[i], &bytes);
		else
			open = &shape[i];
	}
	if (over || (open ? len % bytes != 0 : bytes != len))
		return wrong_bytes(t, len, shape, e);
	if (open)
		*open = len / bytes;
	return 0;
}

void td_tensor_fix(struct td_tensor *t, const char *key, const void *record, size_t bytes, size_t len)
{
	uint64_t shape[TD_TENSOR_AXES];
	if (!t->plain || read_shape(t, shape, key, record, bytes, NULL) < 0 ||
	    check_bytes(t, shape, len, NULL) < 0)
		return;
	memcpy(t->shape, shape, sizeof shape);
	t->fixed = true;
}

int td_tensor_take(const struct td_tensor *t, struct td_raw *ret, const char *key, const void *record,
    size_t bytes, const void *data, size_t len, uint64_t max_pixels, struct tundish_error *e)
{
	uint64_t shape[TD_TENSOR_AXES], pixels;
	const char *text;
	size_t text_len;
	enum td_elem elem;
	if (t->known && (!find_text(record, bytes, "dtype", &text, &text_len) ||
	    !td_elem_named(&elem, text, text_len) || elem != t->elem))
		return td_err(e, TUNDISH_E_SCHEMA, "an array that is not of %s", td_elem_name(t->elem));
	int rc = read_shape(t, shape, key, record, bytes, e);
	if (rc == 0)
		rc = check_bytes(t, shape, len, e);
	if (rc == 0 && t->fixed && memcmp(shape, t->shape, t->n_axes * sizeof *shape) != 0)
		rc = td_err(e, TUNDISH_E_SCHEMA, "an array of another shape than the first one");
	if (rc < 0)
		return rc;
	if (t->plain) {
		for (unsigned i = 1; i < t->n_axes; i++)
			shape[0] *= shape[i]; /* no more than len */
		shape[1] = 1;
	}
	uint64_t height = t->plain ? 1 : shape[0], width = t->plain ? shape[0] : shape[1];
	uint64_t channels = t->n_axes == 3 ? shape[2] : 1;
	if (td_mul_overflow(height, width, &pixels) || pixels > max_pixels || height > INT32_MAX / 8 ||
	    width > INT32_MAX / 8 / channels)
		return td_err(e, TUNDISH_E_LIMIT, "%" PRIu64 "x%" PRIu64 " pixels of %" PRIu64
		    " channels are above the limit of %" PRIu64, height, width, channels, max_pixels);
	*ret = (struct td_raw){ data, (uint32_t)width, (uint32_t)height, (uint32_t)channels, t->elem };
	return 0;
}
