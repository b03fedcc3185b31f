/* SPDX-License-Identifier: BSD-2-Clause
 * PNG: chunks and checksums, and pixels through libpng. */
#include "png.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdio.h>
#include <string.h>

#include <isa-l/crc.h>
#include <png.h>

#include "base/bits.h"
#include "base/err.h"
#include "jpeg.h"

#define SIGNATURE_BYTES 8
#define CHUNK_EXTRA 12 /* length, name, checksum */

struct chunk {
	const uint8_t *name, *data;
	uint32_t len;
	size_t at;
};

/* Reads the chunk at *at with its checksum and moves *at behind it. */
static int next_chunk(
    struct chunk *ret, const uint8_t *p, size_t len, size_t *at, struct tundish_error *e)
{
	size_t left = len - *at;
	struct chunk c = { .at = *at };
	c.len = left >= 4 ? td_be32(p + *at) : 0;
	if (left >= 4 && c.len > 0x7fffffff)
		return td_err(e, TUNDISH_E_CORRUPT, "PNG chunk at byte %zu has length %" PRIu32,
		    *at, c.len);
	if (left < (size_t)c.len + CHUNK_EXTRA)
		return td_err(e, TUNDISH_E_TRUNCATED,
		    "PNG is cut: the chunk at byte %zu needs %zu bytes, %zu are there", *at,
		    (size_t)c.len + CHUNK_EXTRA, left);
	c.name = p + *at + 4;
	c.data = c.name + 4;
	for (int i = 0; i < 4; i++)
		if (((c.name[i] | 0x20) < 'a') || (c.name[i] | 0x20) > 'z')
			return td_err(e, TUNDISH_E_CORRUPT, "no PNG chunk at byte %zu", *at);
	if (crc32_gzip_refl(0, c.name, (uint64_t)c.len + 4) != td_be32(c.data + c.len))
		return td_err(e, TUNDISH_E_CORRUPT,
		    "PNG chunk %.4s at byte %zu: checksum mismatch", (const char *)c.name, *at);
	*at += c.len + (size_t)CHUNK_EXTRA;
	*ret = c;
	return 0;
}

static bool is_named(const struct chunk *c, const char *name)
{
	return memcmp(c->name, name, 4) == 0;
}

/* Bits a sample against the colour type, as the standard's table 11.1 has it. */
static bool fits(unsigned colour, unsigned bits)
{
	bool power = bits == 1 || bits == 2 || bits == 4 || bits == 8 || bits == 16;
	switch (colour) {
	case PNG_COLOR_TYPE_GRAY:
		return power;
	case PNG_COLOR_TYPE_PALETTE:
		return power && bits <= 8;
	case PNG_COLOR_TYPE_RGB:
	case PNG_COLOR_TYPE_GRAY_ALPHA:
	case PNG_COLOR_TYPE_RGB_ALPHA:
		return power && bits >= 8;
	default:
		return false;
	}
}

int td_png_header(struct td_image_info *ret, const void *data, size_t len, uint64_t max_pixels,
    struct tundish_error *e)
{
	struct chunk c = { 0 };
	size_t at = SIGNATURE_BYTES;
	int r = next_chunk(&c, data, len, &at, e);
	if (r < 0)
		return r;
	if (!is_named(&c, "IHDR") || c.len != 13)
		return td_err(e, TUNDISH_E_CORRUPT, "PNG does not begin with a header");
	uint32_t width = td_be32(c.data), height = td_be32(c.data + 4);
	unsigned bits = c.data[8], colour = c.data[9];
	r = td_image_check_size(width, height, max_pixels, e);
	if (r < 0)
		return r;
	if (width > PNG_UINT_31_MAX || height > PNG_UINT_31_MAX)
		return td_err(
		    e, TUNDISH_E_CORRUPT, "PNG claims %" PRIu32 " x %" PRIu32, width, height);
	if (!fits(colour, bits))
		return td_err(
		    e, TUNDISH_E_CORRUPT, "PNG with colour type %u and %u bits", colour, bits);
	if (c.data[10] || c.data[11] || c.data[12] > 1)
		return td_err(e, TUNDISH_E_UNSUPPORTED,
		    "PNG with compression %u, filter %u, interlace %u is not supported",
		    c.data[10], c.data[11], c.data[12]);
	bool palette = colour == PNG_COLOR_TYPE_PALETTE, alpha = colour & PNG_COLOR_MASK_ALPHA;
	unsigned channels = (colour & PNG_COLOR_MASK_COLOR ? 3u : 1u) + alpha;
	*ret = (struct td_image_info){ .kind = TD_IMAGE_PNG,
		.width = width,
		.height = height,
		.channels = channels,
		.bits = bits,
		.palette = palette,
		.alpha = alpha };
	return 0;
}

int td_png_walk(const void *data, size_t len, struct tundish_error *e)
{
	size_t at = SIGNATURE_BYTES;
	bool pixels = false;
	for (;;) {
		struct chunk c = { 0 };
		int r = next_chunk(&c, data, len, &at, e);
		if (r < 0)
			return r;
		pixels |= is_named(&c, "IDAT");
		if (is_named(&c, "IEND"))
			break;
	}
	return pixels ? 0 : td_err(e, TUNDISH_E_CORRUPT, "PNG holds no pixels");
}

/* EXIF may stand behind the pixels. */
void td_png_traits(struct td_image_traits *f, const void *data, size_t len)
{
	struct chunk c = { .name = (const uint8_t *)"none" };
	for (size_t at = SIGNATURE_BYTES; !is_named(&c, "IEND");) {
		if (next_chunk(&c, data, len, &at, NULL) < 0)
			return;
		f->transparent |= is_named(&c, "tRNS");
		f->icc |= is_named(&c, "iCCP");
		if (is_named(&c, "eXIf"))
			f->orientation = td_exif_orientation(c.data, c.len);
	}
}

struct reader {
	jmp_buf jump;
	int code;
	char message[200];
	const uint8_t *data;
	size_t len, at;
	png_structp png;
	png_infop png_info;
	const struct td_image_info *info;
	struct td_window want;
	int background; /* -1: none */
	bool sixteen;
	unsigned step;
	struct td_buf *pixels, *row;
	struct td_pixels out;
};

static void on_error(png_structp png, png_const_charp text)
{
	struct reader *r = png_get_error_ptr(png);
	if (r->code == 0) {
		snprintf(r->message, sizeof r->message, "PNG: %s", text);
		r->code = strcmp(text, "Out of memory") ? TUNDISH_E_CORRUPT : TUNDISH_E_MEMORY;
	}
	longjmp(r->jump, 1);
}

static void on_warning(png_structp png, png_const_charp text)
{
	(void)png;
	(void)text;
}

static void on_read(png_structp png, png_bytep to, size_t n)
{
	struct reader *r = png_get_io_ptr(png);
	if (n > r->len - r->at) {
		r->code = TUNDISH_E_TRUNCATED;
		snprintf(
		    r->message, sizeof r->message, "PNG is cut: no end in %zu bytes", r->len);
		png_error(png, "cut");
	}
	memcpy(to, r->data + r->at, n);
	r->at += n;
}

/* Whatever is stored becomes 8-bit RGB, the way TensorFlow does it. */
static void set_up(struct reader *r)
{
	png_structp png = r->png;
	png_set_crc_action(png, PNG_CRC_ERROR_QUIT, PNG_CRC_WARN_DISCARD);
	png_set_user_limits(png, PNG_UINT_31_MAX, PNG_UINT_31_MAX);
	/* text, profiles and the like are not unpacked at all */
	png_set_keep_unknown_chunks(png, PNG_HANDLE_CHUNK_NEVER, NULL, -1);
	png_set_read_fn(png, r, on_read);
	png_read_info(png, r->png_info);
	if (png_get_image_width(png, r->png_info) != r->info->width ||
	    png_get_image_height(png, r->png_info) != r->info->height)
		png_error(png, "two different headers");
	if (r->sixteen)
		png_set_swap(png);
	else
		png_set_strip_16(png);
	png_set_expand_gray_1_2_4_to_8(png);
	png_set_palette_to_rgb(png);
	if (r->background >= 0 && png_get_valid(png, r->png_info, PNG_INFO_tRNS))
		png_set_tRNS_to_alpha(png);
	if (r->background < 0)
		png_set_strip_alpha(png);
	else
		png_set_add_alpha(png, 255, PNG_FILLER_AFTER);
	png_set_gray_to_rgb(png);
	r->step = r->background < 0 ? 3 : 4;
}

static uint8_t *fit(struct reader *r, struct td_buf *b, size_t stride, size_t rows)
{
	size_t bytes;
	if (td_mul_overflow(stride, rows, &bytes) || !td_buf_fit(b, bytes))
		png_error(r->png, "Out of memory");
	return b->data;
}

static void lay_over(uint8_t *p, size_t pixels, int level)
{
	for (; pixels > 0; pixels--, p += 4)
		for (int c = 0; c < 3; c++)
			p[c] = td_over(p[c], p[3], level);
}

static void run(struct reader *r)
{
	set_up(r);
	int passes = png_set_interlace_handling(r->png);
	png_read_update_info(r->png, r->png_info);
	const struct td_window *w = &r->want;
	size_t row_bytes = png_get_rowbytes(r->png, r->png_info),
	       stride = (size_t)w->width * r->step;
	if (row_bytes != (size_t)r->info->width * r->step)
		png_error(r->png, "unexpected pixel format");
	/* interlaced rows are put together pass by pass and need their full width */
	bool whole = passes > 1 || w->width == r->info->width;
	if (whole)
		stride = row_bytes;
	uint8_t *spare = fit(r, r->row, row_bytes, 1), *to = NULL;
	if (r->pixels)
		to = fit(r, r->pixels, stride, w->height);
	uint32_t end = passes > 1 ? r->info->height : w->y + w->height;
	for (int pass = 0; pass < passes; pass++) {
		for (uint32_t y = 0; y < end; y++) {
			bool wanted = to && y >= w->y && y - w->y < w->height;
			uint8_t *row = wanted ? to + (y - w->y) * stride : spare;
			png_read_row(r->png, whole ? row : spare, NULL);
			if (wanted && !whole)
				memcpy(row, spare + (size_t)w->x * r->step, stride);
		}
	}
	if (to && r->background >= 0)
		lay_over(to, stride * w->height / 4, r->background);
	r->out = (struct td_pixels){ .data = whole && to ? to + (size_t)w->x * r->step : to,
		.width = w->width,
		.height = w->height,
		.channels = 3,
		.step = r->step,
		.stride = stride,
		.grey = r->info->channels - r->info->alpha == 1 };
}

/* Without alpha, or with it laid over the background, rounded to nearest. */
static void to_floats(const struct reader *r, float *out, const uint16_t *in, size_t pixels)
{
	uint64_t level = (uint64_t)TD_MAX(r->background, 0) * 257;
	for (; pixels > 0; pixels--, in += r->step)
		for (int c = 0; c < 3; c++) {
			uint64_t v = in[c];
			if (r->step == 4)
				v = (v * in[3] + level * (65535u - in[3]) + 32767) / 65535;
			*out++ = (float)v;
		}
}

static void run_sixteen(struct reader *r)
{
	set_up(r);
	int passes = png_set_interlace_handling(r->png);
	png_read_update_info(r->png, r->png_info);
	size_t width = r->info->width, height = r->info->height, stride = width * r->step * 2;
	if (png_get_rowbytes(r->png, r->png_info) != stride)
		png_error(r->png, "unexpected pixel format");
	uint8_t *all = fit(r, r->row, stride, height);
	float *out = (float *)(void *)fit(r, r->pixels, width * 3 * sizeof(float), height);
	for (int pass = 0; pass < passes; pass++)
		for (size_t y = 0; y < height; y++)
			png_read_row(r->png, all + y * stride, NULL);
	to_floats(r, out, (const uint16_t *)(const void *)all, width * height);
	r->out = (struct td_pixels){ .data = r->pixels->data,
		.width = r->info->width,
		.height = r->info->height,
		.channels = 3,
		.step = 3,
		.stride = width * 3 * sizeof(float),
		.elem = TD_FLOAT32,
		.grey = r->info->channels - r->info->alpha == 1 };
}

static int guarded_run(struct reader *r)
{
	if (setjmp(r->jump) == 0) {
		r->png = png_create_read_struct(PNG_LIBPNG_VER_STRING, r, on_error, on_warning);
		r->png_info = r->png ? png_create_info_struct(r->png) : NULL;
		if (!r->png_info)
			r->code = TUNDISH_E_MEMORY;
		else
			(r->sixteen ? run_sixteen : run)(r);
	}
	png_destroy_read_struct(&r->png, &r->png_info, NULL);
	return r->code;
}

static int finish(struct reader *r, struct td_pixels *ret, struct tundish_error *e)
{
	if (guarded_run(r) < 0)
		return td_err(
		    e, r->code, "%s", r->code == TUNDISH_E_MEMORY ? "out of memory" : r->message);
	if (r->pixels)
		*ret = r->out;
	return 0;
}

int td_png_decode(struct td_pixels *ret, struct td_buf *pixels, struct td_buf *row, int background,
    const struct td_image_info *info, const void *data, size_t len,
    const struct td_window *window, struct tundish_error *e)
{
	struct reader r = { .data = data,
		.len = len,
		.info = info,
		.want = *window,
		.background = background,
		.pixels = pixels,
		.row = row };
	return finish(&r, ret, e);
}

int td_png_decode16(struct td_pixels *ret, struct td_buf *pixels, struct td_buf *row,
    int background, const struct td_image_info *info, const void *data, size_t len,
    struct tundish_error *e)
{
	struct reader r = { .data = data,
		.len = len,
		.info = info,
		.background = background,
		.sixteen = true,
		.pixels = pixels,
		.row = row };
	return finish(&r, ret, e);
}
