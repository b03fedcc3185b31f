/* SPDX-License-Identifier: BSD-2-Clause
 * Pictures out of records, each into a file of its own. */
#include "extract.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/err.h"
#include "base/outfile.h"
#include "media/image.h"
#include "record/example.h"

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

static int write_picture(const char *folder, const char *prefix, uint64_t record, unsigned k,
    enum td_image_kind kind, const uint8_t *data, size_t bytes, struct tundish_error *e)
{
	char further[16] = "", *path;
	if (k)
		snprintf(further, sizeof further, "-%u", k);
	if (asprintf(&path, "%s/%s%08" PRIu64 "%s.%s", folder, prefix, record, further,
		suffix_of(kind)) < 0)
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
		int rc = write_picture(folder, prefix, r->number, (*k)++, kind, data, bytes, e);
		if (rc < 0)
			return rc;
	}
	return 0;
}

int td_extract(const char *folder, const char *prefix, const struct tundish_record *r,
    struct tundish_error *e)
{
	struct tundish_feature f;
	unsigned k = 0;
	for (size_t at = 0; tundish_example_next(r->data, r->bytes, &at, &f) > 0;) {
		int rc = extract_feature(folder, prefix, r, &f, &k, e);
		if (rc < 0)
			return rc;
	}
	return 0;
}
