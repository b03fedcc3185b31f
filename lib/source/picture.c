/* SPDX-License-Identifier: BSD-2-Clause
 * Encoded pictures: one file, one item, bytes as they are. */
#include "picture.h"

#include <strings.h>

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
	const char *suffix = td_path_suffix(path);
	for (unsigned i = 0; i < TD_COUNT(suffixes); i++)
		if (strcasecmp(suffix, suffixes[i]) == 0)
			return true;
	return false;
}

static int load(struct td_loaded *out, const struct td_file *file, uint32_t part, const struct td_cut *cut,
    struct tundish_error *e)
{
	(void)part;
	out->array = false;
	int rc = td_read_file(&out->data, file->path, cut->max_bytes, e);
	if (rc == 0 && out->data.len == 0)
		rc = td_err(e, TUNDISH_E_CORRUPT, "empty file");
	return rc;
}

const struct td_format td_format_picture = {
	.name = "picture",
	.probe = probe,
	.named = named,
	.load = load,
};
