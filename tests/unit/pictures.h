/* SPDX-License-Identifier: BSD-2-Clause
 * Pictures for the media tests: files, arrays of NumPy, and JPEGs made to order. */
#pragma once
#include "draw.h"
#include "unit.h"

#include <stdbool.h>

#include <jpeglib.h>

#include "crc32c.h"
#include "media/image.h"

struct blob {
	uint8_t *data;
	size_t len;
};

static inline struct blob load(const char *path)
{
	struct blob b = { 0 };
	FILE *f = fopen(path, "rbe");
	if (!f)
		fail_msg("%s: cannot be opened", path);
	fseek(f, 0, SEEK_END);
	b.len = (size_t)ftell(f);
	rewind(f);
	b.data = malloc(b.len + 1);
	assert_int_equal(fread(b.data, 1, b.len, f), b.len);
	fclose(f);
	return b;
}

static inline struct blob load_case(const char *path)
{
	char text[512];
	snprintf(text, sizeof text, "tests/golden/cases/%s", path);
	return load(source_path(text));
}

/* The array in an .npy file of version 1; its shape is the test's business. */
static inline const void *npy_data(const struct blob *b)
{
	assert_true(b->len > 10 && memcmp(b->data, "\x93NUMPY\1", 7) == 0);
	return b->data + 10 + (b->data[8] | b->data[9] << 8);
}

/* TUNDISH_LONG_TESTS=N does N times as many. */
static inline uint32_t rounds(uint32_t n)
{
	const char *s = getenv("TUNDISH_LONG_TESTS");
	return n * (s ? (uint32_t)TD_MAX(atoi(s), 1) : 1);
}

struct jpeg_wish {
	uint32_t width, height;
	int components;	     /* 1, 3 or 4 */
	uint8_t sampling[4]; /* h << 4 | v for each component */
	int quality;
	int restart_rows, restart_mcus;
	bool rgb, plain_cmyk, progressive, arithmetic, one_scan_each;
};

/* A picture with slopes, edges and noise, so that each coefficient matters. */
static inline void paint(uint8_t *row, const struct jpeg_wish *w, uint32_t y, uint32_t *state)
{
	for (uint32_t x = 0; x < w->width; x++)
		for (int c = 0; c < w->components; c++) {
			unsigned v = (x * (unsigned)(3 + c) + y * (unsigned)(5 - c)) & 255;
			if (((x >> 3) ^ (y >> 2)) & 1)
				v = 255 - v;
			row[x * (unsigned)w->components + (unsigned)c] =
			    (uint8_t)(v ^ (draw(state) & 31));
		}
}

static inline void one_scan_each(struct jpeg_compress_struct *c, jpeg_scan_info *scans)
{
	for (int i = 0; i < c->num_components; i++)
		scans[i] =
		    (jpeg_scan_info){ .comps_in_scan = 1, .component_index = { i }, .Se = 63 };
	c->scan_info = scans;
	c->num_scans = c->num_components;
}

static inline struct blob make_jpeg(const struct jpeg_wish *w, uint32_t seed)
{
	struct jpeg_compress_struct c;
	struct jpeg_error_mgr err;
	jpeg_scan_info scans[4];
	unsigned char *out = NULL;
	unsigned long len = 0;
	c.err = jpeg_std_error(&err);
	jpeg_create_compress(&c);
	jpeg_mem_dest(&c, &out, &len);
	c.image_width = w->width;
	c.image_height = w->height;
	c.input_components = w->components;
	c.in_color_space = w->components == 1	? JCS_GRAYSCALE
			   : w->components == 3 ? JCS_RGB
						: JCS_CMYK;
	jpeg_set_defaults(&c);
	if (w->rgb)
		jpeg_set_colorspace(&c, JCS_RGB);
	if (w->components == 4 && !w->plain_cmyk)
		jpeg_set_colorspace(&c, JCS_YCCK);
	jpeg_set_quality(&c, w->quality, TRUE);
	c.optimize_coding = (seed & 1) && !w->arithmetic;
	c.restart_in_rows = w->restart_rows;
	c.restart_interval = (unsigned)w->restart_mcus;
	for (int i = 0; i < w->components; i++) {
		c.comp_info[i].h_samp_factor = w->sampling[i] >> 4;
		c.comp_info[i].v_samp_factor = w->sampling[i] & 15;
	}
	if (w->progressive)
		jpeg_simple_progression(&c);
	else if (w->one_scan_each)
		one_scan_each(&c, scans);
	c.arith_code = w->arithmetic;
	jpeg_start_compress(&c, TRUE);
	uint8_t *row = malloc((size_t)w->width * (unsigned)w->components);
	for (uint32_t y = 0; y < w->height; y++) {
		paint(row, w, y, &seed);
		jpeg_write_scanlines(&c, &row, 1);
	}
	jpeg_finish_compress(&c);
	jpeg_destroy_compress(&c);
	free(row);
	struct blob b = { .data = out, .len = len };
	return b;
}

/* What libjpeg itself makes of a file, in full: RGBX or CMYK rows, and its warnings; with
 * its sides divided by 1, 2, 4 or 8. */
static inline uint8_t *full_decode_by(const struct blob *b, unsigned by, uint32_t *ret_width,
    uint32_t *ret_warnings)
{
	struct jpeg_decompress_struct c;
	struct jpeg_error_mgr err;
	c.err = jpeg_std_error(&err);
	jpeg_create_decompress(&c);
	jpeg_mem_src(&c, b->data, b->len);
	jpeg_read_header(&c, TRUE);
	c.out_color_space = c.num_components == 4 ? JCS_CMYK : JCS_EXT_RGBX;
	c.scale_num = 1;
	c.scale_denom = by;
	jpeg_start_decompress(&c);
	uint8_t *all = malloc((size_t)c.output_width * c.output_height * 4);
	while (c.output_scanline < c.output_height) {
		uint8_t *row = all + (size_t)c.output_scanline * c.output_width * 4;
		jpeg_read_scanlines(&c, &row, 1);
	}
	if (ret_warnings)
		*ret_warnings = (uint32_t)err.num_warnings;
	if (ret_width)
		*ret_width = c.output_width;
	jpeg_destroy_decompress(&c);
	return all;
}

static inline uint8_t *full_decode(const struct blob *b, uint32_t *ret_warnings)
{
	return full_decode_by(b, 1, NULL, ret_warnings);
}

static inline bool same_window(const uint8_t *all, uint32_t all_width,
    const struct td_window *w, const struct td_pixels *p)
{
	for (uint32_t y = 0; y < w->height; y++)
		for (uint32_t x = 0; x < w->width; x++)
			if (memcmp(all + ((size_t)(w->y + y) * all_width + w->x + x) * 4,
				p->data + y * p->stride + (size_t)x * p->step, 3) != 0)
				return false;
	return true;
}

/* Windows of every kind: small, large, and touching each border. */
static inline struct td_window draw_window(uint32_t *state, uint32_t width, uint32_t height)
{
	struct td_window w;
	w.width = 1 + draw(state) % (draw(state) % 4 ? width : TD_MIN(width, 9u));
	w.height = 1 + draw(state) % (draw(state) % 4 ? height : TD_MIN(height, 9u));
	w.x = draw(state) % (width - w.width + 1);
	w.y = draw(state) % (height - w.height + 1);
	unsigned border = draw(state) % 8;
	if (border == 0)
		w.x = 0;
	else if (border == 1)
		w.x = width - w.width;
	else if (border == 2)
		w.y = 0;
	else if (border == 3)
		w.y = height - w.height;
	return w;
}

static const struct sampling {
	const char *name;
	int components;
	uint8_t factors[4];
	bool rgb;
} samplings[] = {
	{ "4:4:4", 3, { 0x11, 0x11, 0x11 }, false },
	{ "4:2:2", 3, { 0x21, 0x11, 0x11 }, false },
	{ "4:2:0", 3, { 0x22, 0x11, 0x11 }, false },
	{ "4:4:0", 3, { 0x12, 0x11, 0x11 }, false },
	{ "4:1:1", 3, { 0x41, 0x11, 0x11 }, false },
	{ "4:1:0", 3, { 0x42, 0x11, 0x11 }, false },
	{ "chroma 2x2, 1x2", 3, { 0x22, 0x22, 0x12 }, false },
	{ "chroma 2x1, 1x2", 3, { 0x22, 0x21, 0x12 }, false },
	{ "grey", 1, { 0x11 }, false },
	{ "grey 2x2", 1, { 0x22 }, false },
	{ "RGB", 3, { 0x11, 0x11, 0x11 }, true },
};

/* CRC-32C over the RGB bytes, row by row. */
static inline uint32_t rgb_sum(const struct td_pixels *p)
{
	uint32_t crc = 0;
	for (uint32_t y = 0; y < p->height; y++)
		for (uint32_t x = 0; x < p->width; x++)
			crc = td_crc32c(crc, p->data + y * p->stride + (size_t)x * p->step, 3);
	return crc;
}
