/* SPDX-License-Identifier: BSD-2-Clause
 * Pictures in files of their own: what their headers say. */
#include "raw.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/infile.h"

/* By the first bytes of a regular file; NONE also when it cannot be read. */
static enum td_image_kind probe(const char *path)
{
	uint8_t first[16];
	int fd = strcmp(path, "-") == 0 ? -1 : td_open_file(path, NULL, NULL);
	if (fd < 0)
		return TD_IMAGE_NONE;
	int64_t n = td_read_at(fd, first, sizeof first, 0, NULL);
	close(fd);
	return n > 0 ? td_image_probe(first, (size_t)n) : TD_IMAGE_NONE;
}

static bool describe(struct tundish_survey *s, const char *path, const struct td_image_info *info,
    size_t bytes)
{
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
	td_json_int(&j, o, "bytes", bytes);
	td_json_add(&j, s->pictures, o);
	return !j.lost && td_buf_printf(&s->text, "%s: %s %" PRIu32 "x%" PRIu32 ", %u channel%s, %u bits"
	    "%s%s, %zu bytes\n", TD_ESC(path), td_image_kind_name(info->kind), info->width, info->height,
	    info->channels, info->channels == 1 ? "" : "s", info->bits,
	    info->progressive ? ", progressive" : "", info->palette ? ", palette" : "", bytes);
}

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
		return describe(s, path, &info, data->len) ? 0 : td_err_memory(e);
	if (rc == TUNDISH_E_MEMORY)
		return td_err_memory(e);
	if (o->on_error == TUNDISH_FAIL)
		return td_err_at(e, rc, TD_PLACE(path), "%s", why.text);
	s->faults++;
	td_fault(&o->listener, rc, TD_PLACE(path), 0, "%s", why.text);
	return 0;
}

int td_raw_pictures(struct tundish_survey *s, const char **paths, size_t *n, struct tundish_error *e)
{
	struct td_decoder *decoder = NULL;
	struct td_buf data = { 0 };
	size_t left = 0;
	int rc = 0;
	for (size_t i = 0; i < *n && rc == 0; i++) {
		if (probe(paths[i]) == TD_IMAGE_NONE) {
			paths[left++] = paths[i];
			continue;
		}
		if (!s->pictures && !(s->pictures = json_array()))
			rc = td_err_memory(e);
		if (rc == 0 && !decoder)
			rc = td_decoder_new(&decoder, e);
		if (rc == 0)
			rc = look_at(s, paths[i], &data, decoder, e);
	}
	*n = left;
	td_decoder_free(decoder);
	td_buf_free(&data);
	return rc;
}
