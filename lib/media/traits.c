/* SPDX-License-Identifier: BSD-2-Clause
 * What a picture's file says beside its pixels: which side is up, colours, transparency. */
#include <string.h>

#include "base/bits.h"
#include "jpeg.h"
#include "png.h"

#define TAG_ORIENTATION 0x0112
#define TYPE_SHORT 3
#define TYPE_LONG 4

struct tiff {
	const uint8_t *p;
	size_t len;
	bool big;
};

static uint32_t number16(const struct tiff *t, size_t at)
{
	return t->big ? td_be16(t->p + at) : td_le16(t->p + at);
}

static uint32_t number32(const struct tiff *t, size_t at)
{
	return t->big ? td_be32(t->p + at) : td_le32(t->p + at);
}

/* The value in an entry of the first directory. */
static unsigned orientation_at(const struct tiff *t, size_t at)
{
	uint32_t type = number16(t, at + 2), v = 0;
	if (number16(t, at) != TAG_ORIENTATION || number32(t, at + 4) != 1)
		return 0;
	if (type == TYPE_SHORT)
		v = number16(t, at + 8);
	else if (type == TYPE_LONG)
		v = number32(t, at + 8);
	return v >= 1 && v <= 8 ? v : 0;
}

unsigned td_exif_orientation(const void *tiff, size_t len)
{
	struct tiff t = { tiff, len, false };
	if (len < 14 || (memcmp(t.p, "II*\0", 4) != 0 && memcmp(t.p, "MM\0*", 4) != 0))
		return 0;
	t.big = t.p[0] == 'M';
	size_t at = number32(&t, 4);
	if (at > len - 2)
		return 0;
	size_t n = number16(&t, at), room = (len - at - 2) / 12;
	unsigned found = 0;
	for (size_t i = 0; i < TD_MIN(n, room) && !found; i++)
		found = orientation_at(&t, at + 2 + 12 * i);
	return found;
}

void td_image_traits(struct td_image_traits *ret, const struct td_image_info *info,
    const void *data, size_t len)
{
	struct td_image_traits f = { .transparent = info->alpha };
	unsigned colours = info->channels - info->alpha;
	if (info->kind == TD_IMAGE_PNG)
		td_png_traits(&f, data, len);
	else if (info->kind == TD_IMAGE_JPEG)
		td_jpeg_traits(&f, data, len);
	else if (info->kind == TD_IMAGE_TIFF)
		f.orientation = td_exif_orientation(data, len);
	f.grey = colours == 1 && !info->palette;
	if (f.orientation == 0)
		f.orientation = 1;
	if (info->palette)
		f.colours = f.transparent ? "palette+alpha" : "palette";
	else if (f.grey)
		f.colours = f.transparent ? "grey+alpha" : "grey";
	else if (colours == 4)
		f.colours = f.ycck ? "ycck" : "cmyk";
	else
		f.colours = f.transparent ? "rgb+alpha" : "rgb";
	*ret = f;
}
