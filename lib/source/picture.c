/* SPDX-License-Identifier: BSD-2-Clause
 * Encoded pictures: one file, one item, bytes as they are. */
#include "picture.h"

#include <string.h>

#include "base/err.h"
#include "base/infile.h"
#include "base/path.h"
#include "media/image.h"

static int probe(const char *path, const uint8_t *head, size_t len)
{
	(void)path;
	return td_image_probe(head, len) == TD_IMAGE_NONE ? 0 : 80;
}

static bool named(const char *path)
{
	static const char *const suffixes[] = { ".jpg", ".jpeg", ".jpe", ".jfif", ".png", ".bmp",
		".gif", ".webp", ".tif", ".tiff" };
	return td_path_has_suffix(path, suffixes, TD_COUNT(suffixes));
}

char *td_picture_name(const char *name, bool png)
{
	static const char *const jpeg[] = { ".jpg", ".jpeg", ".jpe", ".jfif" }, *const pngs[] = { ".png" };
	struct td_buf out = { 0 };
	bool fits = png ? td_path_has_suffix(name, pngs, TD_COUNT(pngs)) : td_path_has_suffix(name, jpeg, TD_COUNT(jpeg));
	size_t stem = strlen(name) - (named(name) ? strlen(td_path_suffix(name)) : 0);
	if (fits)
		return strdup(name);
	if (td_buf_printf(&out, "%.*s.%s", (int)stem, name, png ? "png" : "jpg"))
		return (char *)out.data;
	td_buf_free(&out);
	return NULL;
}

/* Of what is no picture: an ENVI header beside it, which should have been named. */
static int find_header(const char *path, struct tundish_error *e)
{
	struct td_buf name = { 0 };
	int rc = 0;
	for (int whole = 0; rc == 0 && whole < 2; whole++) {
		size_t n = strlen(path) - (whole ? 0 : strlen(td_path_suffix(path)));
		char head[4];
		name.len = 0;
		if (!td_buf_printf(&name, "%.*s.hdr", (int)n, path))
			rc = td_err_memory(e);
		else if (td_read_head((const char *)name.data, head, sizeof head) == sizeof head && memcmp(head, "ENVI", 4) == 0)
			rc = td_err(e, TUNDISH_E_UNSUPPORTED, "no known format; its header is %s: name that instead",
			    TD_ESC(td_path_base((const char *)name.data)));
	}
	td_buf_free(&name);
	return rc;
}

/* By its name, and text in it. */
static bool is_table(const char *path, const struct td_buf *data)
{
	const char *suffix = td_path_suffix(path);
	return (strcasecmp(suffix, ".csv") == 0 || strcasecmp(suffix, ".tsv") == 0) && !memchr(data->data, 0, data->len);
}

static int load(struct td_loaded *out, const struct td_file *file, uint32_t part, const struct td_cut *cut,
    struct tundish_error *e)
{
	(void)part;
	out->array = false;
	int rc = td_read_file(&out->data, file->path, cut->max_bytes, e);
	if (rc == 0 && out->data.len == 0)
		rc = td_err(e, TUNDISH_E_CORRUPT, "empty file");
	else if (rc == 0 && td_image_probe(out->data.data, out->data.len) == TD_IMAGE_NONE)
		rc = is_table(file->path, &out->data) ? td_err(e, TUNDISH_E_UNSUPPORTED, "a table is no item: its "
		    "files are the sources, with --labels csv:%s", TD_ESC(td_path_base(file->path))) :
		    find_header(file->path, e);
	return rc;
}

const struct td_format td_format_picture = {
	.name = "picture",
	.probe = probe,
	.named = named,
	.load = load,
};
