/* SPDX-License-Identifier: BSD-2-Clause
 * BMP, GIF, TIFF and WebP: their headers, and the door to the module that decodes them. */
#include "other.h"

#include <stdatomic.h>
#include <string.h>

#include "base/bits.h"
#include "base/err.h"
#include "base/module.h"
#include "tiff.h"

static int cut(struct tundish_error *e, const char *kind)
{
	return td_err(e, TUNDISH_E_TRUNCATED, "%s header is cut", kind);
}

static int bmp_header(struct td_image_info *i, const uint8_t *p, size_t len, struct tundish_error *e)
{
	if (len < 30)
		return cut(e, "BMP");
	bool old = td_le32(p + 14) == 12;
	int64_t height = old ? (int64_t)td_le16(p + 20) : (int32_t)td_le32(p + 22);
	i->width = old ? td_le16(p + 18) : td_le32(p + 18);
	i->height = (uint32_t)(height < 0 ? -height : height); /* negative: from the top */
	i->palette = td_le16(p + (old ? 24 : 28)) <= 8;
	/* masks of the colours, the last one alpha's */
	i->alpha = len >= 70 && td_le32(p + 14) >= 56 && td_le32(p + 30) == 3 && td_le32(p + 66);
	return 0;
}

/* Whether what stands before the first picture says that a colour of it is transparent. */
static bool gif_transparent(const uint8_t *p, size_t len)
{
	size_t at = 13 + (p[10] & 0x80 ? (size_t)6 << (p[10] & 7) : 0);
	while (at + 4 <= len && p[at] == 0x21) {
		if (p[at + 1] == 0xf9)
			return p[at + 3] & 1;
		for (at += 2; at < len && p[at]; at += (size_t)p[at] + 1)
			;
		at++;
	}
	return false;
}

static int gif_header(struct td_image_info *i, const uint8_t *p, size_t len, struct tundish_error *e)
{
	if (len < 13)
		return cut(e, "GIF");
	i->width = td_le16(p + 6);
	i->height = td_le16(p + 8);
	i->palette = true;
	i->alpha = gif_transparent(p, len);
	return 0;
}

static uint32_t le24(const uint8_t *p)
{
	return td_le16(p) | (uint32_t)p[2] << 16;
}

static int webp_header(struct td_image_info *i, const uint8_t *p, size_t len, struct tundish_error *e)
{
	if (len < 30)
		return cut(e, "WebP");
	if (memcmp(p + 12, "VP8X", 4) == 0) {
		i->width = le24(p + 24) + 1;
		i->height = le24(p + 27) + 1;
		i->alpha = p[20] & 16;
	} else if (memcmp(p + 12, "VP8L", 4) == 0) {
		uint32_t bits = td_le32(p + 21);
		i->width = (bits & 0x3fff) + 1;
		i->height = (bits >> 14 & 0x3fff) + 1;
		i->alpha = bits >> 28 & 1;
	} else if (memcmp(p + 12, "VP8 ", 4) == 0) {
		i->width = td_le16(p + 26) & 0x3fff;
		i->height = td_le16(p + 28) & 0x3fff;
	} else {
		return td_err(e, TUNDISH_E_CORRUPT, "WebP without a picture");
	}
	return 0;
}

static int tiff_header(struct td_image_info *i, const uint8_t *p, size_t len, struct tundish_error *e)
{
	struct td_tiff t;
	struct td_tiff_entry entry;
	if (!td_tiff_open(&t, p, len) || t.cut)
		return cut(e, "TIFF");
	while (td_tiff_next(&t, &entry)) {
		if (entry.tag == 256)
			i->width = entry.value;
		else if (entry.tag == 257)
			i->height = entry.value;
		else if (entry.tag == 258 && entry.count == 1)
			i->bits = TD_MIN(entry.value, 16u);
		else if (entry.tag == 262)
			i->palette = entry.value == 3;
		else if (entry.tag == 338)
			i->alpha = entry.count == 1 && entry.value > 0 && entry.value < 3;
	}
	return 0;
}

/* The module's; NULL when it is missing. */
static const struct td_picture_codec *codec(struct tundish_error *e)
{
	static _Atomic(const struct td_picture_codec *) opened;
	const struct td_picture_codec *known = atomic_load(&opened);
	const struct td_module *module;
	if (known || td_module_open(&module, "pictures", "picture", "tundish-video", e) < 0)
		return known;
	atomic_store(&opened, module->vtable);
	return module->vtable;
}

int td_other_header(struct td_image_info *ret, enum td_image_kind kind, const void *data, size_t len,
    uint64_t max_pixels, struct tundish_error *e)
{
	static int (*const readers[])(struct td_image_info *, const uint8_t *, size_t, struct tundish_error *) = {
		[TD_IMAGE_BMP] = bmp_header,
		[TD_IMAGE_GIF] = gif_header,
		[TD_IMAGE_WEBP] = webp_header,
		[TD_IMAGE_TIFF] = tiff_header,
	};
	struct td_image_info info = { .kind = kind, .channels = 3, .bits = 8 };
	struct tundish_error why = { 0 };
	if (!codec(&why))
		return td_err(e, TUNDISH_E_UNSUPPORTED, "%s is not supported: %s", td_image_kind_name(kind), why.text);
	int rc = readers[kind](&info, data, len, e);
	if (rc == 0)
		rc = td_image_check_size(info.width, info.height, max_pixels, e);
	if (rc == 0)
		*ret = info;
	return rc;
}

int td_other_decode(struct td_pixels *ret, struct td_buf *pixels, const struct td_image_info *info,
    const void *data, size_t len, const struct td_window *window, int background, struct tundish_error *e)
{
	const struct td_picture_codec *c = codec(e);
	int rc = c ? c->decode(pixels, info, data, len, background, e) : TUNDISH_E_MODULE;
	size_t stride = (size_t)info->width * 3;
	if (rc == 0 && ret)
		*ret = (struct td_pixels){ .data = pixels->data + window->y * stride + (size_t)window->x * 3,
			.width = window->width, .height = window->height, .channels = 3, .step = 3, .stride = stride };
	return rc;
}
