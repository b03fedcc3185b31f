/* SPDX-License-Identifier: BSD-2-Clause */
#include "pictures.h"

#include <math.h>

#include "media/kernels.h"
#include "media/resize.h"

#define LIMIT 268435456u

static struct td_decoder *decoder;
static struct td_scratch scratch;

static struct td_pixels decode(const struct blob *b, const struct td_window *w)
{
	struct td_image_info info;
	struct td_pixels p;
	assert_int_equal(td_image_header(&info, b->data, b->len, LIMIT, NULL), 0);
	assert_int_equal(td_decode(decoder, &p, &info, b->data, b->len, w, false, NULL), 0);
	return p;
}

static double worst(const float *got, const float *want, size_t n)
{
	double most = 0;
	for (size_t i = 0; i < n; i++)
		most = fmax(most, fabs((double)got[i] - (double)want[i]));
	return most;
}

static const char *pixel_file(const char *name, const char *what)
{
	char path[128];
	snprintf(path, sizeof path, "fixtures/pixels/%s%s", name, what);
	return shared_path(path);
}

/* Against TensorFlow and Pillow. */
static void test_fixtures(void **state)
{
	(void)state;
	static const struct {
		const char *what;
		enum td_resize_rule rule;
		double most;
	} rules[] = {
		{ ".tf-bilinear.npy", TD_RESIZE_BILINEAR, 0.02 },
		{ ".tf-area.npy", TD_RESIZE_AREA, 0.02 },
	};
	static const char *const names[] = { "cat", "grey", "progressive" };
	float *out = malloc(224 * 224 * 3 * sizeof *out);
	for (size_t i = 0; i < TD_COUNT(names); i++) {
		struct blob b = load(pixel_file(names[i], ".jpg")), npy;
		struct td_pixels p = decode(&b, NULL);
		struct td_store to = {
			.width = 224, .height = 224, .dtype = TUNDISH_FLOAT32, .out = out
		};
		for (size_t k = 0; k < TD_COUNT(rules); k++) {
			to.rule = rules[k].rule;
			assert_int_equal(td_store_pixels(&p, &to, &scratch, NULL), 0);
			npy = load(pixel_file(names[i], rules[k].what));
			double d = worst(out, npy_data(&npy), 224 * 224 * 3);
			print_message("%s%s: %g\n", names[i], rules[k].what, d);
			assert_true(d <= rules[k].most);
			free(npy.data);
		}
		to.rule = TD_RESIZE_ANTIALIAS;
		assert_int_equal(td_store_pixels(&p, &to, &scratch, NULL), 0);
		npy = load(pixel_file(names[i], ".pil-bilinear.npy"));
		const uint8_t *want = npy_data(&npy);
		for (size_t k = 0; k < 224 * 224 * 3; k++)
			assert_true(fabsf(out[k] - want[k]) <= 1);
		free(npy.data);
		free(b.data);
	}
	free(out);
}

/* central_crop:0.875 resize:224 normalize:seed, from a decoded window. */
static void test_eval_chain(void **state)
{
	(void)state;
	static const char *const names[] = { "cat", "grey", "progressive" };
	float *out = malloc(224 * 224 * 3 * sizeof *out);
	for (size_t i = 0; i < TD_COUNT(names); i++) {
		struct blob b = load(pixel_file(names[i], ".jpg"));
		struct td_image_info info;
		assert_int_equal(td_image_header(&info, b.data, b.len, LIMIT, NULL), 0);
		uint32_t x = (uint32_t)((info.width - info.width * 0.875) / 2);
		uint32_t y = (uint32_t)((info.height - info.height * 0.875) / 2);
		struct td_window w = { x, y, info.width - 2 * x, info.height - 2 * y };
		struct td_pixels p = decode(&b, &w);
		struct td_store to = { .width = 224,
			.height = 224,
			.dtype = TUNDISH_FLOAT32,
			.out = out,
			.scale = (const float[3]){ 1 / 127.5f, 1 / 127.5f, 1 / 127.5f },
			.bias = (const float[3]){ -1, -1, -1 } };
		assert_int_equal(td_store_pixels(&p, &to, &scratch, NULL), 0);
		struct blob npy = load(pixel_file(names[i], ".tf-eval.npy"));
		assert_true(worst(out, npy_data(&npy), 224 * 224 * 3) <= 0.001);
		free(npy.data);
		free(b.data);
	}
	free(out);
}

static void grey_to(const char *path, enum td_resize_rule rule, uint32_t width, uint32_t height,
    const float *want, double most)
{
	struct blob b = load_case(path);
	struct td_pixels p = decode(&b, NULL);
	float out[4 * 4 * 3];
	struct td_store to = { .width = width,
		.height = height,
		.rule = rule,
		.dtype = TUNDISH_FLOAT32,
		.out = out };
	assert_int_equal(td_store_pixels(&p, &to, &scratch, NULL), 0);
	for (uint32_t i = 0; i < width * height * 3; i++)
		if (!(fabs((double)out[i] - (double)want[i / 3]) <= most))
			fail_msg("%s: %g at %u", path, (double)out[i], i);
	free(b.data);
}

static void test_resize_rules(void **state)
{
	(void)state;
#define DIR "81-resize-rules/in/c/"
	static const float square[] = { 200, 160, 80, 40, 160, 140, 100, 80, 80, 100, 140, 160,
		40, 80, 160, 200 };
	static const float ramp[] = { 18.75f, 81.25f, 143.75f, 206.25f },
			   smooth[] = { 25, 81, 144, 200 };
	struct td_pixels p;
	grey_to(DIR "two-by-two.png", TD_RESIZE_BILINEAR, 4, 4, square, 0);
	struct blob b = load_case(DIR "ramp.png");
	p = decode(&b, NULL);
	grey_to(DIR "ramp.png", TD_RESIZE_BILINEAR, 4, p.height < 4 ? p.height : 1, ramp, 0);
	grey_to(DIR "ramp.png", TD_RESIZE_ANTIALIAS, 4, p.height < 4 ? p.height : 1, smooth, 1);
	free(b.data);
	b = load_case(DIR "checker.png");
	p = decode(&b, NULL);
	assert_int_equal(p.width, 64);
	float out[16 * 16 * 3];
	struct td_store to = {
		.width = 16, .height = 16, .dtype = TUNDISH_FLOAT32, .out = out
	};
	for (to.rule = TD_RESIZE_BILINEAR; to.rule <= TD_RESIZE_AREA; to.rule++) {
		assert_int_equal(td_store_pixels(&p, &to, &scratch, NULL), 0);
		for (size_t i = 0; i < TD_COUNT(out); i++)
			assert_true(fabsf(out[i] - 127.5f) <= 1);
	}
	free(b.data);
#undef DIR
}

static void test_normalise(void **state)
{
	(void)state;
	struct blob b = load_case("82-normalise-rounding/in/c/all-256.png");
	struct td_pixels p = decode(&b, NULL);
	assert_int_equal(p.width * p.height, 256);
	static float unit[256 * 3];
	static uint8_t back[256 * 3];
	struct td_store to = {
		.width = 16, .height = 16, .dtype = TUNDISH_FLOAT32, .out = unit,
		.scale = (const float[3]){ 1 / 255.0f, 1 / 255.0f, 1 / 255.0f }, .bias = (const float[3]){ 0 }
	};
	assert_int_equal(td_store_pixels(&p, &to, &scratch, NULL), 0);
	for (unsigned i = 0; i < 768; i++)
		unit[i] *= 255;
	for (unsigned i = 0; td_kernels_at(i); i++) {
		td_kernels_at(i)->to_u8(back, unit, 768);
		for (unsigned k = 0; k < 768; k++)
			assert_int_equal(back[k], p.data[k]);
		static const float odd[] = { 0.9999f * 255, 300, -4, NAN, INFINITY, 0.5f, 1.5f,
			254.5f, -0.0f };
		td_kernels_at(i)->to_u8(back, odd, TD_COUNT(odd));
		assert_memory_equal(back, "\377\377\0\0\377\0\2\376\0", TD_COUNT(odd));
	}
	free(b.data);
}

/* One pixel of the answer, written as the header says it. */
static float pixel(
    const struct td_pixels *p, const struct td_store *s, uint32_t x, uint32_t y, int c)
{
	if (s->hflip)
		x = s->width - 1 - x;
	if (s->vflip)
		y = s->height - 1 - y;
	double fx = fmax((x + 0.5) * ((double)p->width / s->width) - 0.5, 0);
	double fy = fmax((y + 0.5) * ((double)p->height / s->height) - 0.5, 0);
	uint32_t x0 = TD_MIN((uint32_t)fx, p->width - 1), x1 = TD_MIN(x0 + 1, p->width - 1);
	uint32_t y0 = TD_MIN((uint32_t)fy, p->height - 1), y1 = TD_MIN(y0 + 1, p->height - 1);
	const uint8_t *r0 = p->data + y0 * p->stride, *r1 = p->data + y1 * p->stride;
	float ty = (float)(fy - y0), tx = (float)(fx - x0);
	size_t at = x0 * p->step + (unsigned)c;
	float a = (float)td_elem_value(p->elem, r0, at), b = (float)td_elem_value(p->elem, r1, at);
	float left = a + (b - a) * ty;
	at = x1 * p->step + (unsigned)c;
	a = (float)td_elem_value(p->elem, r0, at);
	b = (float)td_elem_value(p->elem, r1, at);
	float right = a + (b - a) * ty;
	float v = left + (right - left) * tx;
	return s->scale ? v * s->scale[c] + s->bias[c] : v;
}

static void check_store(const struct td_pixels *p, struct td_store *s)
{
	size_t channels = p->channels, n = (size_t)s->width * s->height * channels, bytes = s->dtype == TUNDISH_UINT8	   ? 1
							     : s->dtype == TUNDISH_FLOAT32 ? 4
											   : 2;
	/* exactly as large as needed: writes beyond are seen */
	s->out = malloc(n * bytes);
	assert_int_equal(td_store_pixels(p, s, &scratch, NULL), 0);
	const struct td_kernels *plain = td_kernels_at(0);
	for (size_t i = 0; i < n; i++) {
		int c = (int)(s->nchw ? i / (n / channels) : i % channels);
		size_t at = s->nchw ? i % (n / channels) : i / channels;
		float want =
		    pixel(p, s, (uint32_t)(at % s->width), (uint32_t)(at / s->width), c);
		uint8_t cast[4];
		if (s->dtype == TUNDISH_UINT8)
			plain->to_u8(cast, &want, 1);
		else if (s->dtype == TUNDISH_FLOAT16)
			plain->to_f16((uint16_t *)cast, &want, 1);
		else if (s->dtype == TUNDISH_BFLOAT16)
			plain->to_bf16((uint16_t *)cast, &want, 1);
		else
			memcpy(cast, &want, 4);
		assert_memory_equal((uint8_t *)s->out + i * bytes, cast, bytes);
	}
	free(s->out);
}

/* Sizes, channels, steps, flips, types and layouts, against the plain words above. */
static void test_store(void **state)
{
	(void)state;
	uint32_t seed = 3;
	for (int i = 0; i < 600; i++) {
		struct td_pixels p = { .width = 1 + draw(&seed) % 40,
			.height = 1 + draw(&seed) % 40,
			.channels = i % 2 ? 3 : 1 + draw(&seed) % 9,
			.elem = i % 3 ? TD_UINT8 : TD_FLOAT32 };
		p.step = p.channels + (p.channels == 3 ? draw(&seed) % 2 : 0);
		size_t values = (size_t)p.width * p.step, bytes = td_elem_bytes(p.elem);
		p.stride = values * bytes;
		uint8_t *data = malloc(p.stride * p.height);
		for (size_t k = 0; k < values * p.height; k++)
			td_elem_put(p.elem, data + k * bytes, (double)(uint8_t)draw(&seed));
		p.data = data;
		bool same = draw(&seed) % 3 == 0;
		struct td_store s = { .width = same ? p.width : 1 + draw(&seed) % 50,
			.height = same ? p.height : 1 + draw(&seed) % 50,
			.hflip = draw(&seed) % 2,
			.vflip = draw(&seed) % 2,
			.dtype = (int)(draw(&seed) % 4),
			.nchw = draw(&seed) % 2 };
		float scale[9], bias[9];
		for (int c = 0; c < 9; c++) {
			scale[c] = (float)(draw(&seed) % 1000) / 313;
			bias[c] = (float)(draw(&seed) % 1000) / 7 - 70;
		}
		s.scale = draw(&seed) % 2 ? scale : NULL;
		s.bias = bias;
		check_store(&p, &s);
		free(data);
	}
}

/* The weights of each rule add up to one: a flat picture stays flat. */
static void test_flat(void **state)
{
	(void)state;
	uint32_t seed = 8;
	static uint8_t data[50 * 50 * 4];
	static float out[100 * 100 * 3];
	memset(data, 200, sizeof data);
	for (int i = 0; i < 300; i++) {
		struct td_pixels p = { .data = data,
			.width = 1 + draw(&seed) % 50,
			.height = 1 + draw(&seed) % 50,
			.channels = 3,
			.step = 4,
			.stride = 200 };
		struct td_store s = { .width = 1 + draw(&seed) % 100,
			.height = 1 + draw(&seed) % 100,
			.rule = i % 3,
			.dtype = TUNDISH_FLOAT32,
			.out = out,
			.hflip = i % 2 };
		assert_int_equal(td_store_pixels(&p, &s, &scratch, NULL), 0);
		for (size_t k = 0; k < (size_t)s.width * s.height * 3; k++)
			assert_true(fabsf(out[k] - 200) < 0.001f);
	}
}

struct work {
	uint8_t a[1024], b[1024];
	float row[1032], out[3][1024];
	uint8_t u8[1024];
	uint16_t f16[1024], bf16[1024];
};

static void run_set(const struct td_kernels *k, struct work *w, uint32_t seed)
{
	struct td_lerp lerp[200];
	struct td_taps taps[200];
	float weights[8], scale[3] = { 0.0171f, 0.0175f, 0.0174f },
			  bias[3] = { -2.1f, -2.0f, -1.8f };
	for (size_t i = 0; i < sizeof w->a; i++) {
		w->a[i] = (uint8_t)draw(&seed);
		w->b[i] = (uint8_t)draw(&seed);
	}
	for (int i = 0; i < 8; i++)
		weights[i] = (float)draw(&seed) / 16777216;
	size_t n = 900 + draw(&seed) % 100;
	for (int i = 0; i < 200; i++) {
		lerp[i] =
		    (struct td_lerp){ draw(&seed) % 890, draw(&seed) % 890, weights[i % 8] };
		taps[i] = (struct td_taps){ draw(&seed) % 800, 1 + draw(&seed) % 8, weights };
	}
	memset(w->row, 0, sizeof w->row);
	memset(w->out, 0, sizeof w->out);
	k->blend(w->row, w->a, w->b, weights[0], n);
	for (int i = 0; i < 3; i++)
		k->weigh(w->out[2], i ? w->b : w->a, weights[i], n, i > 0);
	k->lerp(w->out[0], w->row, lerp, 200, scale, bias);
	k->sum(w->out[1], w->row, taps, 200, 4, scale, bias);
	/* and odd values for the casts */
	static const float odd[] = { NAN, -NAN, INFINITY, -INFINITY, 65519.9f, 65520, 5.9e-8f,
		6e-8f, 2.98e-8f, 3e-8f, 6.1e-5f, -1e-40f, 3.4e38f, 0.0f, -0.0f };
	memcpy(w->row, w->out[0], 600 * sizeof *w->row);
	memcpy(w->row + 600, odd, sizeof odd);
	for (size_t i = 620; i < 1000; i++) {
		uint32_t bits = draw(&seed) << 8 ^ draw(&seed);
		memcpy(&w->row[i], &bits, 4);
	}
	k->to_u8(w->u8, w->row, 1003);
	k->to_f16(w->f16, w->row, 1003);
	k->to_bf16(w->bf16, w->row, 1003);
	k->split(w->out[2], w->out[2] + 200, w->out[2] + 400, w->row, 200);
}

static void test_twins(void **state)
{
	(void)state;
	static struct work plain, other;
	for (uint32_t seed = 1; seed < 200; seed++)
		for (unsigned i = 1; td_kernels_at(i); i++) {
			memset(&plain, 0, sizeof plain);
			memset(&other, 0, sizeof other);
			run_set(td_kernels_at(0), &plain, seed);
			run_set(td_kernels_at(i), &other, seed);
			if (memcmp(&plain, &other, sizeof plain) != 0)
				fail_msg("%s differs from plain C", td_kernels_at(i)->name);
		}
}

/* float16 by its definition, for every value it has and the borders between them. */
static void test_half(void **state)
{
	(void)state;
	const struct td_kernels *k = td_kernels_at(0);
	for (uint32_t h = 0; h < 0x7c00; h++) {
		double at =
		    h < 0x400 ? h * 0x1p-24 : (1024 + h % 1024) * ldexp(1, (int)(h >> 10) - 25);
		double gap = h < 0x400 ? 0x1p-24 : ldexp(1, (int)(h >> 10) - 25);
		float v[3] = { (float)at, (float)(at + gap / 2), (float)(at + gap * 0.5001) };
		uint16_t got[3];
		k->to_f16(got, v, 3);
		assert_int_equal(got[0], h);
		assert_int_equal(got[1], h + (h & 1));
		assert_int_equal(got[2], h + 1);
	}
}

static int set_up(void **state)
{
	(void)state;
	return td_decoder_new(&decoder, NULL);
}

static int tear_down(void **state)
{
	(void)state;
	td_decoder_free(decoder);
	td_scratch_free(&scratch);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fixtures),
		cmocka_unit_test(test_eval_chain),
		cmocka_unit_test(test_resize_rules),
		cmocka_unit_test(test_normalise),
		cmocka_unit_test(test_store),
		cmocka_unit_test(test_flat),
		cmocka_unit_test(test_twins),
		cmocka_unit_test(test_half),
	};
	return cmocka_run_group_tests_name("resize", tests, set_up, tear_down);
}
