/* SPDX-License-Identifier: BSD-2-Clause
 * Which kind of picture bytes begin. */
#include <string.h>

#include "image.h"

static const struct {
	enum td_image_kind kind;
	const char *name, *magic;
	size_t at, len;
} kinds[] = {
	{ TD_IMAGE_JPEG, "JPEG", "\xff\xd8", 0, 2 },
	{ TD_IMAGE_PNG, "PNG", "\x89PNG\r\n\x1a\n", 0, 8 },
	{ TD_IMAGE_BMP, "BMP", "BM", 0, 2 },
	{ TD_IMAGE_GIF, "GIF", "GIF8", 0, 4 },
	{ TD_IMAGE_WEBP, "WebP", "WEBP", 8, 4 },
	{ TD_IMAGE_TIFF, "TIFF", "II*\0", 0, 4 },
	{ TD_IMAGE_TIFF, "TIFF", "MM\0*", 0, 4 },
};

/* "BM" begins many a text: the header length behind it must be one of Windows' or OS/2's. */
static bool is_bmp(const uint8_t *p, size_t len)
{
	static const uint8_t lengths[] = { 12, 16, 40, 52, 56, 64, 108, 124 };
	return len >= 15 && memchr(lengths, p[14], sizeof lengths);
}

enum td_image_kind td_image_probe(const void *data, size_t len)
{
	const uint8_t *p = data;
	for (size_t i = 0; i < TD_COUNT(kinds); i++) {
		if (len < kinds[i].at + kinds[i].len ||
		    memcmp(p + kinds[i].at, kinds[i].magic, kinds[i].len) != 0)
			continue;
		if (kinds[i].kind == TD_IMAGE_BMP && !is_bmp(p, len))
			continue;
		if (kinds[i].kind == TD_IMAGE_WEBP && memcmp(p, "RIFF", 4) != 0)
			continue;
		return kinds[i].kind;
	}
	return TD_IMAGE_NONE;
}

const char *td_image_kind_name(enum td_image_kind kind)
{
	for (size_t i = 0; i < TD_COUNT(kinds); i++)
		if (kinds[i].kind == kind)
			return kinds[i].name;
	return "no known picture format";
}

const char *td_image_format_name(enum td_image_kind kind)
{
	static const char *const names[] = {
		[TD_IMAGE_JPEG] = "jpeg",
		[TD_IMAGE_PNG] = "png",
		[TD_IMAGE_BMP] = "bmp",
		[TD_IMAGE_GIF] = "gif",
		[TD_IMAGE_WEBP] = "webp",
		[TD_IMAGE_TIFF] = "tiff",
	};
	return kind == TD_IMAGE_NONE ? "" : names[kind];
}
