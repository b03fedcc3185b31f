/* SPDX-License-Identifier: BSD-2-Clause
 * Which kind of picture it is, and on to the code for that kind. */
#include "image.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "jpeg.h"
#include "other.h"
#include "png.h"

struct td_decoder {
	struct td_jpeg *jpeg;
	struct td_buf pixels, row;
	int background;
	bool sixteen;
};

/* Says as much as can be said about bytes that begin like no picture. */
static int unknown(const uint8_t *p, size_t len, struct tundish_error *e)
{
	if (len == 0)
		return td_err(e, TUNDISH_E_TRUNCATED, "empty file");
	size_t n = TD_MIN(len, (size_t)256);
	const uint8_t *soi = memmem(p, n, "\xff\xd8\xff", 3);
	if (soi)
		return td_err(e, TUNDISH_E_CORRUPT, "%zu stray bytes before a JPEG picture",
		    (size_t)(soi - p));
	return td_err(e, TUNDISH_E_UNSUPPORTED, "no known picture format");
}

int td_image_check_size(
    uint32_t width, uint32_t height, uint64_t max_pixels, struct tundish_error *e)
{
	if (width == 0 || height == 0)
		return td_err(e, TUNDISH_E_CORRUPT, "%s 0", width ? "height" : "width");
	if ((uint64_t)width * height > max_pixels)
		return td_err(e, TUNDISH_E_LIMIT,
		    "%" PRIu32 " x %" PRIu32 " is above the limit of %" PRIu64 " pixels", width,
		    height, max_pixels);
	return 0;
}

int td_image_header(struct td_image_info *ret, const void *data, size_t len,
    uint64_t max_pixels, struct tundish_error *e)
{
	enum td_image_kind kind = td_image_probe(data, len);
	switch (kind) {
	case TD_IMAGE_NONE:
		return unknown(data, len, e);
	case TD_IMAGE_JPEG:
		return td_jpeg_header(ret, data, len, max_pixels, e);
	case TD_IMAGE_PNG:
		return td_png_header(ret, data, len, max_pixels, e);
	default:
		return td_other_header(ret, kind, data, len, max_pixels, e);
	}
}

static int decode(struct td_decoder *d, struct td_pixels *ret, struct td_buf *pixels,
    const struct td_image_info *info, const void *data, size_t len,
    const struct td_window *window, bool lenient, struct tundish_error *e)
{
	if (info->kind == TD_IMAGE_PNG && d->sixteen && info->bits == 16 && pixels)
		return td_png_decode16(ret, pixels, &d->row, d->background, info, data, len, e);
	if (info->kind == TD_IMAGE_PNG)
		return td_png_decode(
		    ret, pixels, &d->row, d->background, info, data, len, window, e);
	if (info->kind != TD_IMAGE_JPEG)
		return td_other_decode(ret, pixels, info, data, len, window, d->background, e);
	return td_jpeg_decode(d->jpeg, ret, pixels, info, data, len, window, lenient, e);
}

/* What only libav reads is decoded to be checked. */
static int walk_other(const struct td_image_info *info, const void *data, size_t len, struct tundish_error *e)
{
	const struct td_window all = { 0, 0, info->width, info->height };
	struct td_buf pixels = { 0 };
	struct td_pixels seen;
	int r = td_other_decode(&seen, &pixels, info, data, len, &all, -1, e);
	td_buf_free(&pixels);
	return r;
}

/* What td_image_check() promises of the structure. */
static int walk(const struct td_image_info *info, const void *data, size_t len, struct tundish_error *e)
{
	switch (info->kind) {
	case TD_IMAGE_PNG:
		return td_png_walk(data, len, e);
	case TD_IMAGE_JPEG:
		return td_jpeg_walk(data, len, e);
	default:
		return walk_other(info, data, len, e);
	}
}

int td_image_check(struct td_image_info *ret, const void *data, size_t len, int check,
    uint64_t max_pixels, struct td_decoder *d, struct tundish_error *e)
{
	struct td_image_info info = { .kind = TD_IMAGE_NONE };
	int r = td_image_header(&info, data, len, max_pixels, e);
	if (r == 0 && check >= TUNDISH_CHECK_STRUCTURE)
		r = walk(&info, data, len, e);
	bool native = info.kind == TD_IMAGE_PNG || info.kind == TD_IMAGE_JPEG;
	if (r == 0 && native && check >= TUNDISH_CHECK_DECODE) {
		struct td_window all = { 0, 0, info.width, info.height };
		r = decode(d, NULL, NULL, &info, data, len, &all, false, e);
	}
	if (r == 0)
		*ret = info;
	return r;
}

int td_decoder_new(struct td_decoder **ret, struct tundish_error *e)
{
	struct td_decoder *d = calloc(1, sizeof *d);
	if (!d)
		return td_err_memory(e);
	int r = td_jpeg_new(&d->jpeg, e);
	if (r < 0) {
		free(d);
		return r;
	}
	td_jpeg_use_own(d->jpeg, td_jpeg_own_works());
	d->background = -1;
	*ret = d;
	return 0;
}

void td_decoder_plain(struct td_decoder *d)
{
	td_jpeg_use_own(d->jpeg, false);
}

void td_decoder_background(struct td_decoder *d, int level)
{
	d->background = level;
}

void td_decoder_sixteen(struct td_decoder *d)
{
	d->sixteen = true;
}

bool td_decoder_used_own(const struct td_decoder *d)
{
	return td_jpeg_used_own(d->jpeg);
}

void td_decoder_index(struct td_decoder *d, const void *index, size_t len)
{
	td_jpeg_set_index(d->jpeg, index, len);
}

void td_decoder_fast(struct td_decoder *d, uint32_t width, uint32_t height)
{
	td_jpeg_set_least(d->jpeg, width, height);
}

bool td_decoder_index_refused(const struct td_decoder *d)
{
	return td_jpeg_index_refused(d->jpeg);
}

int td_jpeg_index(struct td_decoder *d, struct td_buf *out, const void *data, size_t len,
    uint32_t spacing, struct tundish_error *e)
{
	if (td_image_probe(data, len) != TD_IMAGE_JPEG)
		return td_err(e, TUNDISH_E_UNSUPPORTED, "no JPEG picture, no index");
	return td_jpeg_build_index(d->jpeg, out, data, len, spacing, e);
}

int td_jpeg_lossless(struct td_decoder *d, struct td_buf *out, const void *data, size_t len,
    bool restarts, uint64_t max_pixels, struct tundish_error *e)
{
	if (td_image_probe(data, len) != TD_IMAGE_JPEG)
		return td_err(e, TUNDISH_E_UNSUPPORTED, "not a JPEG picture");
	return td_jpeg_rewrite(d->jpeg, out, data, len, restarts, max_pixels, e);
}

void td_decoder_free(struct td_decoder *d)
{
	if (!d)
		return;
	td_jpeg_free(d->jpeg);
	td_buf_free(&d->pixels);
	td_buf_free(&d->row);
	free(d);
}

static int check_window(const struct td_image_info *info, const struct td_window *window,
    struct tundish_error *e)
{
	if (info->kind == TD_IMAGE_NONE)
		return td_err(e, TUNDISH_E_INVALID, "no picture");
	if (window->width == 0 || window->height == 0 || window->x >= info->width ||
	    window->y >= info->height || window->width > info->width - window->x ||
	    window->height > info->height - window->y)
		return td_err(e, TUNDISH_E_INVALID,
		    "window %" PRIu32 " x %" PRIu32 " at %" PRIu32 ", %" PRIu32
		    " is not inside a picture of %" PRIu32 " x %" PRIu32,
		    window->width, window->height, window->x, window->y, info->width,
		    info->height);
	return 0;
}

int td_decode(struct td_decoder *d, struct td_pixels *ret, const struct td_image_info *info,
    const void *data, size_t len, const struct td_window *window, bool lenient,
    struct tundish_error *e)
{
	struct td_window all = { 0, 0, info->width, info->height };
	if (!window)
		window = &all;
	int r = check_window(info, window, e);
	if (r == 0)
		r = decode(d, ret, &d->pixels, info, data, len, window, lenient, e);
	/* whoever did not take them */
	td_jpeg_set_index(d->jpeg, NULL, 0);
	td_jpeg_set_least(d->jpeg, 0, 0);
	d->sixteen = false;
	return r;
}
