/* SPDX-License-Identifier: BSD-2-Clause
 * What a picture's file says beside its pixels: which side is up, colours, transparency. */
#include "jpeg.h"
#include "png.h"
#include "tiff.h"

#define TAG_ORIENTATION 0x0112

unsigned td_exif_orientation(const void *tiff, size_t len)
{
	struct td_tiff t;
	struct td_tiff_entry e;
	bool there = td_tiff_open(&t, tiff, len);
	while (there && td_tiff_next(&t, &e)) {
		bool number = e.count == 1 && (e.type == TD_TIFF_SHORT || e.type == TD_TIFF_LONG);
		if (e.tag == TAG_ORIENTATION && number && e.value >= 1 && e.value <= 8)
			return e.value;
	}
	return 0;
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
