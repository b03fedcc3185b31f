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

#include "array.h"
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

/* Without a shape that fits it is a row of numbers. */
static int write_array(const char *folder, const char *prefix, const struct tundish_record *r, unsigned k,
    const struct td_array *a, struct tundish_error *e)
{
	struct td_npy_header header;
	struct td_buf file = { 0 };
	const uint64_t all = a->bytes / td_elem_bytes(a->elem);
	td_npy_header(&header, td_npy_descr(td_elem_dtype(a->elem)), a->n_axes ? a->shape : &all,
	    a->n_axes ? a->n_axes : 1, "image");
	int rc = td_buf_add(&file, header.bytes, header.n) && td_buf_add(&file, a->data, a->bytes) ?
	    write_value(folder, prefix, r->number, k, "npy", file.data, file.len, e) : td_err_memory(e);
	td_buf_free(&file);
	return rc;
}

int td_extract(const char *folder, const char *prefix, const struct tundish_record *r, const char *asked,
    const struct td_beside *beside, struct tundish_error *e)
{
	struct tundish_feature f;
	enum td_elem dtype = TD_UINT8;
	unsigned k = 0;
	bool arrays = td_array_elem(&dtype, r);
	struct td_array array;
	int rc = 0;
	for (size_t at = 0; rc == 0 && tundish_example_next(r->data, r->bytes, &at, &f) > 0;) {
		if (!arrays)
			rc = extract_feature(folder, prefix, r, &f, &k, e);
		else if (td_array_take(&array, r, &f, dtype, asked, beside))
			rc = write_array(folder, prefix, r, k++, &array, e);
	}
	if (rc == 0 && td_message_kind(r->data, r->bytes) == TD_MESSAGE_SEQUENCE)
		rc = extract_lists(folder, prefix, r, &k, e);
	return rc;
}
