/* SPDX-License-Identifier: BSD-2-Clause
 * Files of raw data, pictures and others: what their headers say. */
#include "raw.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/infile.h"
#include "outline.h"
#include "record/frame.h"
#include "source/archive.h"
#include "source/list.h"

enum kind {
	KIND_TAR = -4, /* archives */
	KIND_ZIP = -3,
	KIND_OTHER = -2, /* records, or for others to tell why it cannot be read */
	KIND_PICTURE = -1,
	/* else the number of a format */
};

/* By the first bytes of a regular file. */
static int probe(const char *path)
{
	uint8_t head[TD_HEAD_BYTES];
	int64_t n = strcmp(path, "-") == 0 ? -1 : td_read_head(path, head, sizeof head);
	if (n <= 0 || (n >= TD_FRAME_HEADER && td_frame_length_ok(head)))
		return KIND_OTHER;
	if (td_image_probe(head, (size_t)n) != TD_IMAGE_NONE)
		return KIND_PICTURE;
	int format = td_format_probe(path, head, (size_t)n);
	return format >= 0 && td_format_describes((unsigned)format) ? format : KIND_OTHER;
}

static bool describe(struct tundish_survey *s, const char *path, const struct td_image_info *info,
    const struct td_buf *data)
{
	size_t bytes = data->len;
	struct td_image_traits traits;
	char turned[32] = "";
	td_image_traits(&traits, info, data->data, bytes);
	if (traits.orientation != 1)
		snprintf(turned, sizeof turned, ", EXIF orientation %u", traits.orientation);
	struct td_json j = { 0 };
	json_t *o = json_object();
	td_json_string(&j, o, "path", path);
	td_json_string(&j, o, "kind", td_image_kind_name(info->kind));
	td_json_int(&j, o, "width", info->width);
	td_json_int(&j, o, "height", info->height);
	td_json_int(&j, o, "channels", info->channels);
	td_json_int(&j, o, "bits", info->bits);
	td_json_set(&j, o, "progressive", json_boolean(info->progressive));
	td_json_set(&j, o, "palette", json_boolean(info->palette));
	td_json_string(&j, o, "colours", traits.colours);
	td_json_int(&j, o, "orientation", traits.orientation);
	td_json_set(&j, o, "icc_profile", json_boolean(traits.icc));
	td_json_int(&j, o, "bytes", bytes);
	td_json_add(&j, s->pictures, o);
	return !j.lost && td_buf_printf(&s->text, "%s: %s %" PRIu32 "x%" PRIu32 ", %u channel%s, %u bits"
	    "%s%s%s%s, %zu bytes\n", TD_ESC(path), td_image_kind_name(info->kind), info->width, info->height,
	    info->channels, info->channels == 1 ? "" : "s", info->bits,
	    info->progressive ? ", progressive" : "", info->palette ? ", palette" : "",
	    turned, traits.icc ? ", ICC profile" : "", bytes);
}

static int bad_file(struct tundish_survey *s, int code, const char *path, const char *why,
    struct tundish_error *e)
{
	if (code == TUNDISH_E_MEMORY || code == TUNDISH_E_MODULE)
		return td_err(e, code, "%s", why);
	if (s->options.on_error == TUNDISH_FAIL)
		return td_err_at(e, code, TD_PLACE(path), "%s", why);
	s->faults++;
	td_fault(&s->options.listener, code, TD_PLACE(path), 0, "%s", why);
	return 0;
}

/* A picture file. */
static int look_at(struct tundish_survey *s, const char *path, struct td_buf *data, struct td_decoder *d,
    struct tundish_error *e)
{
	const struct tundish_inspect_options *o = &s->options;
	struct td_image_info info;
	struct tundish_error why = { 0 };
	int check = o->decode ? TUNDISH_CHECK_DECODE : TUNDISH_CHECK_HEADER;
	/* a header is read at no cost, whatever it says */
	uint64_t max_pixels = o->decode ? o->max_pixels : UINT64_MAX;
	int rc = td_read_file(data, path, o->max_record_bytes, &why);
	if (rc == 0)
		rc = td_image_check(&info, data->data, data->len, check, max_pixels, d, &why);
	if (rc == 0 && (uint64_t)info.width * info.height > o->max_pixels)
		td_notice(&o->listener, "%s: over the limit of %" PRIu64 " pixels: bad for what decodes it",
		    TD_ESC(path), o->max_pixels);
	if (rc == 0)
		return describe(s, path, &info, data) ? 0 : td_err_memory(e);
	return bad_file(s, rc, path, why.text, e);
}

/* A file of another format; "FILE:SPEC" may say which part of it. */
static int look_into(struct tundish_survey *s, const char *source, const struct td_file *file,
    int kind, struct tundish_error *e)
{
	struct td_json j = { 0 };
	struct tundish_error why = { 0 };
	json_t *about;
	int rc = kind >= 0 ? td_format_describe(&about, (unsigned)kind, file, &s->options.listener, &why) :
	    td_archive_describe(&about, file->path, kind == KIND_ZIP ? TD_ARCHIVE_ZIP : TD_ARCHIVE_TAR,
		&s->options.listener, &why);
	if (rc < 0)
		return bad_file(s, rc, source, why.text, e);
	bool ok = td_outline(&s->text, source, about);
	const json_t *damage = json_object_get(about, "damage");
	if (damage)
		rc = bad_file(s, TUNDISH_E_CORRUPT, source, json_string_value(damage), e);
	json_t *o = json_object();
	td_json_string(&j, o, "path", source);
	j.lost |= json_object_update_missing(o, about) != 0;
	json_decref(about);
	td_json_add(&j, s->sources, o);
	return ok && !j.lost ? rc : td_err_memory(e);
}

static int find_archive(const char *path, int *ret_kind, struct tundish_error *e)
{
	enum td_archive_kind found;
	int rc = td_archive_plain(&found, path, e);
	if (rc == 0 && found != TD_ARCHIVE_NONE)
		*ret_kind = found == TD_ARCHIVE_ZIP ? KIND_ZIP : KIND_TAR;
	return rc;
}

/* 1: described; 0: it is no raw data. */
static int look_at_path(struct tundish_survey *s, const char *path, struct td_buf *data,
    struct td_decoder **decoder, struct tundish_error *e)
{
	char *name = NULL;
	struct td_file file = { .path = path, .decode = s->options.decode };
	int kind = probe(path), rc = 0;
	if (kind == KIND_OTHER && access(path, F_OK) != 0 && td_source_spec(path, &name, &file.spec)) {
		file.path = name;
		kind = probe(name);
	}
	if (kind == KIND_OTHER)
		rc = find_archive(path, &kind, e);
	if (kind == KIND_PICTURE && !s->pictures && !(s->pictures = json_array()))
		rc = td_err_memory(e);
	const bool source = kind != KIND_OTHER && kind != KIND_PICTURE;
	if (source && !s->sources && !(s->sources = json_array()))
		rc = td_err_memory(e);
	if (rc == 0 && kind == KIND_PICTURE && !*decoder)
		rc = td_decoder_new(decoder, e);
	if (rc == 0 && kind == KIND_PICTURE)
		rc = look_at(s, path, data, *decoder, e);
	else if (rc == 0 && source)
		rc = look_into(s, path, &file, kind, e);
	free(name);
	return rc < 0 ? rc : kind != KIND_OTHER;
}

int td_raw_files(struct tundish_survey *s, const char **paths, size_t *n, struct tundish_error *e)
{
	struct td_decoder *decoder = NULL;
	struct td_buf data = { 0 };
	size_t left = 0;
	int rc = 0;
	for (size_t i = 0; i < *n && rc >= 0; i++) {
		rc = look_at_path(s, paths[i], &data, &decoder, e);
		if (rc == 0)
			paths[left++] = paths[i];
	}
	*n = left;
	td_decoder_free(decoder);
	td_buf_free(&data);
	return rc < 0 ? rc : 0;
}
