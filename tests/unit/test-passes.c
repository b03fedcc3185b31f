/* SPDX-License-Identifier: BSD-2-Clause
 * Passes over pixels, by hand. */
#include "unit.h"

#include <math.h>

#include "base/real.h"
#include "flow/passes.h"

static struct td_frame frame(uint32_t width, uint32_t height)
{
	struct td_frame f = { .width = width, .height = height, .channels = 3, .elem = TD_FLOAT32 };
	assert_true(td_buf_fit(&f.buf, (size_t)width * height * 12));
	memset(f.buf.data, 0, (size_t)width * height * 12);
	return f;
}

static float *at(struct td_frame *f, uint32_t x, uint32_t y)
{
	return (float *)(void *)f->buf.data + ((size_t)y * f->width + x) * 3;
}

static void assert_pixel(struct td_frame *f, uint32_t x, uint32_t y, double r, double g, double b)
{
	const float *v = at(f, x, y);
	if (fabs((double)v[0] - r) > 1e-3 || fabs((double)v[1] - g) > 1e-3 || fabs((double)v[2] - b) > 1e-3)
		fail_msg("%g %g %g at %u, %u, wanted %g %g %g", (double)v[0], (double)v[1],
		    (double)v[2], x, y, r, g, b);
}

static void set(struct td_frame *f, uint32_t x, uint32_t y, float r, float g, float b)
{
	float *v = at(f, x, y);
	v[0] = r;
	v[1] = g;
	v[2] = b;
}

static void test_hue(void **state)
{
	(void)state;
	struct td_frame f = frame(4, 1);
	set(&f, 0, 0, 255, 0, 0);
	set(&f, 1, 0, 90, 90, 90);
	set(&f, 2, 0, 200, 100, 50);
	set(&f, 3, 0, 0, 0, 255);
	td_pass_hue(&f, 1.0f / 3);
	assert_pixel(&f, 0, 0, 0, 255, 0);
	assert_pixel(&f, 1, 0, 90, 90, 90);
	assert_pixel(&f, 2, 0, 50, 200, 100);
	assert_pixel(&f, 3, 0, 255, 0, 0);
	td_pass_hue(&f, -0.5f);
	assert_pixel(&f, 0, 0, 255, 0, 255);
	for (int i = 0; i < 100; i++)
		td_pass_hue(&f, 0.01f * 50);
	assert_pixel(&f, 1, 0, 90, 90, 90);
	td_buf_free(&f.buf);
}

static void test_colours(void **state)
{
	(void)state;
	struct td_frame f = frame(2, 1);
	set(&f, 0, 0, 100, 200, 50);
	set(&f, 1, 0, 0, 0, 0);
	double grey = 0.2989 * 100 + 0.587 * 200 + 0.114 * 50;
	td_pass_saturation(&f, 1);
	assert_pixel(&f, 0, 0, 100, 200, 50);
	td_pass_brightness(&f, 1.5f);
	assert_pixel(&f, 0, 0, 150, 255, 75);
	set(&f, 0, 0, 100, 200, 50);
	td_pass_contrast(&f, 0.5f);
	assert_pixel(&f, 0, 0, 50 + grey / 4, 100 + grey / 4, 25 + grey / 4);
	assert_pixel(&f, 1, 0, grey / 4, grey / 4, grey / 4);
	set(&f, 0, 0, 100, 200, 50);
	td_pass_saturation(&f, 0);
	assert_pixel(&f, 0, 0, grey, grey, grey);
	td_buf_free(&f.buf);
}

static void test_rotate(void **state)
{
	(void)state;
	struct td_frame f = frame(7, 7), a = frame(7, 7), b = frame(7, 7);
	for (uint32_t i = 0; i < 49; i++)
		set(&f, i % 7, i / 7, (float)i, (float)(i * i % 31), 5);
	double s, c;
	td_sin_cos(90, &s, &c);
	assert_true(s == 1 && c == 0);
	td_pass_rotate(&a, &f, s, c, -1);
	td_pass_rot90(&b, &f);
	for (uint32_t i = 0; i < 49; i++)
		assert_pixel(&a, i % 7, i / 7, (double)at(&b, i % 7, i / 7)[0],
		    (double)at(&b, i % 7, i / 7)[1], 5);
	td_sin_cos(45, &s, &c);
	assert_true(fabs(s - sqrt(0.5)) < 1e-15 && fabs(c - sqrt(0.5)) < 1e-15);
	td_pass_rotate(&a, &f, s, c, -1);
	assert_pixel(&a, 3, 3, 24, 24 * 24 % 31, 5); /* the middle stays, corners are outside */
	assert_pixel(&a, 0, 0, -1, -1, -1);
	for (double d = -720; d < 720; d += 7.3) {
		td_sin_cos(d, &s, &c);
		assert_true(fabs(s - sin(d * M_PI / 180)) < 1e-13 && fabs(c - cos(d * M_PI / 180)) < 1e-13);
	}
	td_buf_free(&f.buf);
	td_buf_free(&a.buf);
	td_buf_free(&b.buf);
}

static void test_filter(void **state)
{
	(void)state;
	struct td_frame f = frame(5, 4), t = frame(4, 5), back = frame(5, 4);
	const float w[3] = { 0.25f, 0.5f, 0.25f };
	set(&f, 2, 1, 16, 16, 16);
	set(&f, 0, 3, 16, 0, 0);
	td_pass_filter(&t, &f, w, 3);
	td_pass_filter(&back, &t, w, 3);
	assert_pixel(&back, 2, 1, 4, 4, 4);
	assert_pixel(&back, 1, 1, 2, 2, 2);
	assert_pixel(&back, 3, 2, 1, 1, 1);
	/* the border is mirrored about its last pixel */
	assert_pixel(&back, 0, 3, 4, 0, 0);
	assert_pixel(&back, 1, 3, 2, 0, 0);
	td_buf_free(&f.buf);
	td_buf_free(&t.buf);
	td_buf_free(&back.buf);
}

static void test_fill(void **state)
{
	(void)state;
	struct td_frame f = frame(5, 4);
	td_pass_fill(&f, (struct td_window){ 1, 2, 3, 1 }, 7.5);
	assert_pixel(&f, 1, 2, 7.5, 7.5, 7.5);
	assert_pixel(&f, 3, 2, 7.5, 7.5, 7.5);
	assert_pixel(&f, 4, 2, 0, 0, 0);
	assert_pixel(&f, 1, 1, 0, 0, 0);
	f.elem = TD_UINT8;
	memset(f.buf.data, 0, 60);
	td_pass_fill(&f, (struct td_window){ 0, 0, 5, 4 }, 300);
	for (int i = 0; i < 60; i++)
		assert_int_equal(f.buf.data[i], 255);
	td_buf_free(&f.buf);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_hue),
		cmocka_unit_test(test_colours),
		cmocka_unit_test(test_rotate),
		cmocka_unit_test(test_filter),
		cmocka_unit_test(test_fill),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
