/* SPDX-License-Identifier: BSD-2-Clause
 * JPEG and PNG files from pixels. */
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>

#include <jpeglib.h>
#include <jerror.h>
#include <png.h>

#include "base/err.h"
#include "image.h"

static int check_pixels(const struct td_pixels *p, uint32_t max_side, struct tundish_error *e)
{
	if (p->width == 0 || p->height == 0 || p->width > max_side || p->height > max_side ||
	    p->channels != 3 || p->step < 3 || p->step > 4)
		return td_err(e, TUNDISH_E_INVALID,
		    "%u x %u pixels of %u bytes cannot be written", p->width, p->height,
		    p->step);
	return 0;
}

struct jpeg_writer {
	struct jpeg_compress_struct c;
	struct jpeg_error_mgr err;
	struct jpeg_destination_mgr dest;
	jmp_buf jump;
	int code;
	char message[JMSG_LENGTH_MAX];
	struct td_buf *out;
};

static void jpeg_fail(j_common_ptr c)
{
	struct jpeg_writer *w = c->client_data;
	c->err->format_message(c, w->message);
	w->code = c->err->msg_code == JERR_OUT_OF_MEMORY ? TUNDISH_E_MEMORY : TUNDISH_E_INVALID;
	longjmp(w->jump, 1);
}

static void jpeg_quiet(j_common_ptr c, int level)
{
	(void)c;
	(void)level;
}

static void dest_more(j_compress_ptr c)
{
	struct jpeg_writer *w = c->client_data;
	if (!td_buf_reserve(w->out, 1 << 16))
		ERREXIT1(c, JERR_OUT_OF_MEMORY, 0);
	w->dest.next_output_byte = w->out->data + w->out->len;
	w->dest.free_in_buffer = w->out->cap - w->out->len;
}

static boolean dest_full(j_compress_ptr c)
{
	struct jpeg_writer *w = c->client_data;
	w->out->len = w->out->cap;
	dest_more(c);
	return TRUE;
}

static void dest_end(j_compress_ptr c)
{
	struct jpeg_writer *w = c->client_data;
	w->out->len = w->out->cap - w->dest.free_in_buffer;
}

static void write_jpeg(struct jpeg_writer *w, const struct td_pixels *p, int quality)
{
	struct jpeg_compress_struct *c = &w->c;
	jpeg_create_compress(c);
	c->dest = &w->dest;
	c->image_width = p->width;
	c->image_height = p->height;
	c->input_components = (int)p->step;
	c->in_color_space = p->step == 4 ? JCS_EXT_RGBX : JCS_RGB;
	jpeg_set_defaults(c);
	if (p->grey)
		jpeg_set_colorspace(c, JCS_GRAYSCALE);
	jpeg_set_quality(c, quality, TRUE);
	c->dct_method = JDCT_ISLOW;
	jpeg_start_compress(c, TRUE);
	while (c->next_scanline < c->image_height) {
		JSAMPROW row = (JSAMPROW)(p->data + c->next_scanline * p->stride);
		jpeg_write_scanlines(c, &row, 1);
	}
	jpeg_finish_compress(c);
}

static int guarded_write_jpeg(struct jpeg_writer *w, const struct td_pixels *p, int quality)
{
	w->c.err = jpeg_std_error(&w->err);
	w->err.error_exit = jpeg_fail;
	w->err.emit_message = jpeg_quiet;
	w->c.client_data = w;
	w->dest = (struct jpeg_destination_mgr){ .init_destination = dest_more,
		.empty_output_buffer = dest_full,
		.term_destination = dest_end };
	if (setjmp(w->jump) == 0)
		write_jpeg(w, p, quality);
	jpeg_destroy_compress(&w->c);
	return w->code;
}

int td_jpeg_encode(
    struct td_buf *out, const struct td_pixels *pixels, int quality, struct tundish_error *e)
{
	int r = check_pixels(pixels, JPEG_MAX_DIMENSION, e);
	if (r < 0)
		return r;
	struct jpeg_writer w = { .out = out };
	size_t before = out->len;
	r = guarded_write_jpeg(&w, pixels, quality);
	if (r == 0)
		return 0;
	out->len = before;
	return td_err(e, r, "JPEG encoder: %s", w.message);
}

struct png_writer {
	jmp_buf jump;
	int code;
	char message[200];
	png_structp png;
	png_infop info;
	struct td_buf *out, row;
};

static void png_fail(png_structp png, png_const_charp text)
{
	struct png_writer *w = png_get_error_ptr(png);
	snprintf(w->message, sizeof w->message, "%s", text);
	if (w->code == 0)
		w->code = TUNDISH_E_INVALID;
	longjmp(w->jump, 1);
}

static void png_quiet(png_structp png, png_const_charp text)
{
	(void)png;
	(void)text;
}

static void png_bytes(png_structp png, png_bytep data, size_t n)
{
	struct png_writer *w = png_get_io_ptr(png);
	if (td_buf_add(w->out, data, n))
		return;
	w->code = TUNDISH_E_MEMORY;
	png_error(png, "out of memory");
}

static void png_flushed(png_structp png)
{
	(void)png;
}

/* One of three for each pixel. */
static uint8_t *grey_row(struct png_writer *w, const struct td_pixels *p, const uint8_t *row)
{
	if (!td_buf_fit(&w->row, p->width)) {
		w->code = TUNDISH_E_MEMORY;
		png_error(w->png, "out of memory");
	}
	for (uint32_t x = 0; x < p->width; x++)
		w->row.data[x] = row[x * p->step];
	return w->row.data;
}

static void write_png(struct png_writer *w, const struct td_pixels *p)
{
	png_set_write_fn(w->png, w, png_bytes, png_flushed);
	png_set_user_limits(w->png, PNG_UINT_31_MAX, PNG_UINT_31_MAX);
	png_set_IHDR(w->png, w->info, p->width, p->height, 8,
	    p->grey ? PNG_COLOR_TYPE_GRAY : PNG_COLOR_TYPE_RGB,
	    PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
	png_write_info(w->png, w->info);
	if (p->step == 4 && !p->grey)
		png_set_filler(w->png, 0, PNG_FILLER_AFTER);
	for (uint32_t y = 0; y < p->height; y++) {
		const uint8_t *row = p->data + y * p->stride;
		png_write_row(w->png, p->grey ? grey_row(w, p, row) : row);
	}
	png_write_end(w->png, w->info);
}

static int guarded_write_png(struct png_writer *w, const struct td_pixels *p)
{
	if (setjmp(w->jump) == 0) {
		w->png = png_create_write_struct(PNG_LIBPNG_VER_STRING, w, png_fail, png_quiet);
		w->info = w->png ? png_create_info_struct(w->png) : NULL;
		if (!w->info)
			w->code = TUNDISH_E_MEMORY;
		else
			write_png(w, p);
	}
	png_destroy_write_struct(&w->png, &w->info);
	td_buf_free(&w->row);
	return w->code;
}

int td_png_encode(struct td_buf *out, const struct td_pixels *pixels, struct tundish_error *e)
{
	int r = check_pixels(pixels, PNG_UINT_31_MAX, e);
	if (r < 0)
		return r;
	struct png_writer w = { .out = out };
	size_t before = out->len;
	r = guarded_write_png(&w, pixels);
	if (r == 0)
		return 0;
	out->len = before;
	return td_err(e, r, "PNG encoder: %s", w.message);
}
