/* SPDX-License-Identifier: BSD-2-Clause
 * Pictures: header, walk, whole decode and the decode of a window. */
#include "fuzz.h"

#include "media/image.h"

#define PIXELS_MOST (1 << 20)

static void window(struct td_decoder *d, const struct td_image_info *info, const uint8_t *data, size_t len)
{
	struct tundish_error e = { 0 };
	struct td_pixels all, part;
	int r = td_decode(d, &all, info, data, len, NULL, true, &e);
	if (r) {
		must_be_told(r, &e);
		return;
	}
	bool whole = !all.warnings;
	MUST(all.width == info->width && all.height == info->height);
	struct td_window w = { info->width / 3, info->height / 3, 0, 0 };
	w.width = info->width - w.x;
	w.height = (info->height - w.y + 1) / 2;
	size_t row = (size_t)w.width * all.step;
	uint8_t *kept = malloc(row);
	MUST(kept);
	memcpy(kept, all.data + w.y * all.stride + w.x * all.step, row);
	unsigned step = all.step;
	r = td_decode(d, &part, info, data, len, &w, !whole, &e);
	MUST(!whole || !r);
	if (r)
		must_be_told(r, &e);
	for (size_t x = 0; whole && x < w.width; x++)
		MUST(!memcmp(kept + x * step, part.data + x * part.step, 3));
	free(kept);
}

/* Over a background, and with all bits. */
static void other_ways(struct td_decoder *d, const struct td_image_info *info, const uint8_t *data, size_t len)
{
	struct tundish_error e = { 0 };
	struct td_image_traits t;
	struct td_pixels p;
	td_image_traits(&t, info, data, len);
	MUST(t.orientation >= 1 && t.orientation <= 8 && t.colours && (t.grey || info->channels > 1 || info->palette));
	for (int level = -1; level < 256; level += 128) {
		td_decoder_background(d, level);
		td_decoder_sixteen(d);
		int r = td_decode(d, &p, info, data, len, NULL, true, &e);
		if (r)
			must_be_told(r, &e);
		else
			MUST(p.width == info->width && (p.elem == TD_FLOAT32) == (info->kind == TD_IMAGE_PNG && info->bits == 16));
	}
	td_decoder_background(d, -1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static struct td_decoder *d;
	struct tundish_error e = { 0 };
	if (!d)
		MUST(!td_decoder_new(&d, &e));
	struct td_image_info info;
	int r = td_image_header(&info, data, len, PIXELS_MOST, &e);
	if (r) {
		must_be_told(r, &e);
		return 0;
	}
	MUST(info.width && info.height && (uint64_t)info.width * info.height <= PIXELS_MOST);
	for (int check = TUNDISH_CHECK_HEADER; check <= TUNDISH_CHECK_DECODE; check++) {
		struct tundish_error why = { 0 };
		r = td_image_check(&info, data, len, check, PIXELS_MOST, d, &why);
		if (r)
			must_be_told(r, &why);
	}
	window(d, &info, data, len);
	other_ways(d, &info, data, len);
	return 0;
}
