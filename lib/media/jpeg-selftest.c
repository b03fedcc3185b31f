/* SPDX-License-Identifier: BSD-2-Clause
 * Is our own entropy decoder at home in the libjpeg that is loaded? Small pictures of
 * each sampling have to come out the same with and without it. */
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>

#include "jpeg.h"

#define WIDTH 45
#define HEIGHT 37

static const struct sample {
	int components, h, v;
	int restart_mcus;
} samples[] = {
	{ 3, 1, 1, 0 },
	{ 3, 2, 1, 0 },
	{ 3, 2, 2, 0 },
	{ 3, 2, 2, 2 },
	{ 3, 1, 2, 0 },
	{ 3, 4, 1, 0 },
	{ 1, 1, 1, 0 },
	{ 1, 1, 1, 3 },
};

struct writer {
	struct jpeg_compress_struct c;
	struct jpeg_error_mgr err;
	jmp_buf jump;
	uint8_t *data;
	unsigned long len;
};

static void on_error(j_common_ptr c)
{
	struct writer *w = c->client_data;
	longjmp(w->jump, 1);
}

static void write_sample(struct writer *w, const struct sample *s)
{
	struct jpeg_compress_struct *c = &w->c;
	jpeg_create_compress(c);
	jpeg_mem_dest(c, &w->data, &w->len);
	c->image_width = WIDTH;
	c->image_height = HEIGHT;
	c->input_components = s->components;
	c->in_color_space = s->components == 1 ? JCS_GRAYSCALE : JCS_RGB;
	jpeg_set_defaults(c);
	jpeg_set_quality(c, 90, TRUE);
	c->comp_info[0].h_samp_factor = s->h;
	c->comp_info[0].v_samp_factor = s->v;
	c->restart_interval = (unsigned)s->restart_mcus;
	jpeg_start_compress(c, TRUE);
	uint32_t noise = 1;
	while (c->next_scanline < HEIGHT) {
		uint8_t pixels[WIDTH * 3], *row = pixels;
		for (int i = 0; i < WIDTH * s->components; i++) {
			noise = noise * 1664525u + 1013904223u;
			pixels[i] =
			    (uint8_t)(i * 3 + (int)c->next_scanline * 5 + (int)(noise >> 26));
		}
		jpeg_write_scanlines(c, &row, 1);
	}
	jpeg_finish_compress(c);
}

static bool guarded_write(struct writer *w, const struct sample *s)
{
	memset(w, 0, sizeof *w);
	w->c.err = jpeg_std_error(&w->err);
	w->err.error_exit = on_error;
	w->c.client_data = w;
	bool fine = setjmp(w->jump) == 0;
	if (fine)
		write_sample(w, s);
	jpeg_destroy_compress(&w->c);
	return fine && w->len > 0;
}

static bool same(const struct td_pixels *a, const struct td_pixels *b)
{
	for (uint32_t y = 0; y < a->height; y++)
		if (memcmp(a->data + y * a->stride, b->data + y * b->stride,
			(size_t)a->width * a->step) != 0)
			return false;
	return true;
}

/* In full, a window in the middle, and one that is made smaller, both ways. */
static bool agree(
    struct td_jpeg *j[2], struct td_buf pixels[2], const uint8_t *data, size_t len)
{
	static const struct td_window windows[] = { { 0, 0, WIDTH, HEIGHT }, { 19, 18, 7, 9 },
		{ 3, 1, 41, 33 } };
	struct td_image_info info;
	if (td_jpeg_header(&info, data, len, UINT32_MAX, NULL) < 0)
		return false;
	for (size_t i = 0; i < TD_COUNT(windows); i++) {
		struct td_pixels p[2];
		for (int k = 0; k < 2; k++) {
			if (i == 2)
				td_jpeg_set_least(j[k], 9, 8);
			if (td_jpeg_decode(j[k], &p[k], &pixels[k], &info, data, len,
				&windows[i], false, NULL) < 0)
				return false;
		}
		if (!td_jpeg_used_own(j[1]) || !same(&p[0], &p[1]))
			return false;
	}
	return true;
}

static bool works;

static void try_all(void)
{
	struct td_jpeg *j[2] = { NULL, NULL };
	struct td_buf pixels[2] = { { 0 } };
	const char *wish = getenv("TUNDISH_JPEG");
	if (wish && strcmp(wish, "libjpeg") == 0)
		return;
	works = td_jpeg_new(&j[0], NULL) == 0 && td_jpeg_new(&j[1], NULL) == 0;
	if (works)
		td_jpeg_use_own(j[1], true);
	for (size_t i = 0; works && i < TD_COUNT(samples); i++) {
		struct writer w;
		works = guarded_write(&w, &samples[i]) && agree(j, pixels, w.data, w.len);
		free(w.data);
	}
	for (int k = 0; k < 2; k++) {
		td_jpeg_free(j[k]);
		td_buf_free(&pixels[k]);
	}
}

bool td_jpeg_own_works(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	pthread_once(&once, try_all);
	return works;
}
