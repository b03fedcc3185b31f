/* SPDX-License-Identifier: BSD-2-Clause
 * Pictures and arrays out of records, each into a file of its own. */
#include "extract.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/err.h"
#include "base/npy.h"
#include "base/outfile.h"
#include "media/image.h"
#include "record/example.h"
#include "record/sample.h"
#include "record/sequence.h"

int td_extract_folder(const char *folder, struct tundish_error *e)
{
	if (mkdir(folder, 0777) == 0 || errno == EEXIST)
		return 0;
	int rc = td_err_errno(e, errno, "%s", TD_ESC(folder));
	/* a folder above it that is missing is no missing input */
	return rc == TUNDISH_E_NOT_FOUND ? td_err(e, TUNDISH_E_IO, "%s: no such folder", TD_ESC(folder)) :
					   rc;
}

static const char *suffix_of(enum td_image_kind kind)
{
	return kind == TD_IMAGE_JPEG ? "jpg" : kind == TD_IMAGE_TIFF ? "tif" : td_image_kind_name(kind);
}

static int write_value(const char *folder, const char *prefix, uint64_t record, unsigned k,
    const char *suffix, const void *data, size_t bytes, struct tundish_error *e)
{
	char further[16] = "", *path;
	if (k)
		snprintf(further, sizeof further, "-%u", k);
	if (asprintf(&path, "%s/%s%08" PRIu64 "%s.%s", folder, prefix, record, further,
		suffix) < 0)
		return td_err_memory(e);
	for (char *p = path + strlen(path); *p != '.'; p--)
		*p = (char)tolower((unsigned char)*p);
	int rc = td_write_file(path, data, bytes, e);
	free(path);
	return rc;
}

static int extract_feature(const char *folder, const char *prefix, const struct tundish_record *r,
    const struct tundish_feature *f, unsigned *k, struct tundish_error *e)
{
	const uint8_t *data;
	size_t bytes;
	struct td_values values;
	td_values_start(&values, f);
	while (f->kind == TUNDISH_BYTES && td_values_bytes(&values, &data, &bytes)) {
		enum td_image_kind kind = td_image_probe(data, bytes);
		if (kind == TD_IMAGE_NONE)
			continue;
		int rc = write_value(folder, prefix, r->number, (*k)++, suffix_of(kind), data, bytes, e);
		if (rc < 0)
			return rc;
	}
	return 0;
}

/* Those in the feature lists of a SequenceExample. */
static int extract_lists(const char *folder, const char *prefix, const struct tundish_record *r,
    unsigned *k, struct tundish_error *e)
{
	struct td_sequence sequence;
	struct td_feature_list list;
	struct tundish_feature step;
	int rc = 0;
	td_sequence_start(&sequence, r->data, r->bytes);
	while (rc == 0 && td_sequence_next(&sequence, &list) > 0) {
		for (struct td_steps rest = list.features; rc == 0 && td_sequence_step(&rest, &step) > 0;)
			rc = extract_feature(folder, prefix, r, &step, k, e);
	}
	return rc;
}

/* ---- arrays ---- */

/* The type that the record gives its array; false: it holds none. */
static bool dtype_of(enum td_elem *ret, const struct tundish_record *r)
{
	struct tundish_feature f;
	const uint8_t *data;
	size_t bytes;
	return tundish_example_find(r->data, r->bytes, "dtype", 5, &f) == 1 && f.kind == TUNDISH_BYTES &&
	    tundish_feature_bytes(&f, 0, &data, &bytes) == 1 && td_elem_named(ret, (const char *)data, bytes);
}

/* The shape beside "NAME/value"; false when the feature is called otherwise. */
static bool own_shape(struct td_beside *ret, const struct tundish_record *r, const struct tundish_feature *f)
{
	static const char end[] = "/value";
	size_t n = sizeof end - 1;
	char key[256];
	struct tundish_feature shape;
	int64_t side;
	if (f->key_bytes < n || f->key_bytes > sizeof key || memcmp(f->key + f->key_bytes - n, end, n) != 0)
		return false;
	memcpy(key, f->key, f->key_bytes);
	memcpy(key + f->key_bytes - n, "/shape", n);
	if (tundish_example_find(r->data, r->bytes, key, f->key_bytes, &shape) != 1 || shape.kind != TUNDISH_INT64 ||
	    shape.count == 0 || shape.count > TD_BESIDE_AXES)
		return false;
	ret->n_axes = (unsigned)shape.count;
	for (unsigned i = 0; i < ret->n_axes; i++) {
		if (tundish_feature_int64(&shape, i, &side) != 1 || side < 0)
			return false;
		ret->shape[i] = (uint64_t)side;
	}
	return true;
}

static bool fits(const struct td_beside *t, enum td_elem dtype, size_t bytes)
{
	uint64_t all = td_elem_bytes(dtype);
	bool over = false;
	for (unsigned i = 0; i < t->n_axes; i++)
		over |= td_mul_overflow(all, t->shape[i], &all);
	return !over && all == bytes;
}

/* Without a shape that fits it is a row of numbers. */
static int write_array(const char *folder, const char *prefix, const struct tundish_record *r, unsigned k,
    const struct td_beside *shape, enum td_elem dtype, const uint8_t *data, size_t bytes, struct tundish_error *e)
{
	struct td_npy_header header;
	struct td_buf file = { 0 };
	const struct td_beside row = { .n_axes = 1, .shape = { bytes / td_elem_bytes(dtype) } };
	const struct td_beside *t = shape && fits(shape, dtype, bytes) ? shape : &row;
	td_npy_header(&header, td_npy_descr(td_elem_dtype(dtype)), t->shape, t->n_axes, "image");
	int rc = td_buf_add(&file, header.bytes, header.n) && td_buf_add(&file, data, bytes) ?
	    write_value(folder, prefix, r->number, k, "npy", file.data, file.len, e) : td_err_memory(e);
	td_buf_free(&file);
	return rc;
}

static int extract_array(const char *folder, const char *prefix, const struct tundish_record *r,
    const struct tundish_feature *f, const struct td_beside *beside, enum td_elem dtype, unsigned *k,
    struct tundish_error *e)
{
	struct td_beside shape = { .n_axes = 0 };
	const uint8_t *data;
	size_t bytes;
	bool own = own_shape(&shape, r, f);
	bool named = own || td_key_rank(f->key, f->key_bytes, NULL, td_image_keys) >= 0;
	if (f->kind != TUNDISH_BYTES || f->count != 1 || !named ||
	    tundish_feature_bytes(f, 0, &data, &bytes) != 1 || td_image_probe(data, bytes) != TD_IMAGE_NONE ||
	    bytes % td_elem_bytes(dtype))
		return 0;
	return write_array(folder, prefix, r, (*k)++, own ? &shape : beside, dtype, data, bytes, e);
}

int td_extract(const char *folder, const char *prefix, const struct tundish_record *r,
    const struct td_beside *beside, struct tundish_error *e)
{
	struct tundish_feature f;
	enum td_elem dtype = TD_UINT8;
	unsigned k = 0;
	bool arrays = dtype_of(&dtype, r);
	int rc = 0;
	for (size_t at = 0; rc == 0 && tundish_example_next(r->data, r->bytes, &at, &f) > 0;) {
		rc = arrays ? extract_array(folder, prefix, r, &f, beside, dtype, &k, e) :
			      extract_feature(folder, prefix, r, &f, &k, e);
	}
	if (rc == 0 && td_message_kind(r->data, r->bytes) == TD_MESSAGE_SEQUENCE)
		rc = extract_lists(folder, prefix, r, &k, e);
	return rc;
}
