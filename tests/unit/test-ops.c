/* SPDX-License-Identifier: BSD-2-Clause
 * Chains of operations: their text, their sizes, their windows, their draws. */
#include "unit.h"

#include "base/real.h"
#include "flow/order.h"
#include "flow/picture.h"

static struct td_chain parse(const char *text)
{
	struct td_chain c;
	struct tundish_error e = { 0 };
	if (td_chain_parse(&c, text, &e) < 0)
		fail_msg("%s: %s", text, e.text);
	return c;
}

static void assert_wrong(const char *text, const char *want)
{
	struct td_chain c;
	struct tundish_error e = { 0 };
	assert_int_equal(td_chain_parse(&c, text, &e), TUNDISH_E_USAGE);
	if (!strstr(e.text, want))
		fail_msg("\"%s\" gives \"%s\", wanted \"%s\"", text, e.text, want);
}

static void test_text(void **state)
{
	(void)state;
	struct td_chain c = parse("random_resized_crop:224 hflip normalize:imagenet cast:float16 layout:nchw");
	assert_int_equal(c.n, 3);
	assert_int_equal(c.dtype, TUNDISH_FLOAT16);
	assert_true(c.nchw && c.random);
	struct td_size s = td_chain_size(&c);
	assert_int_equal(s.width, 224);
	assert_int_equal(s.height, 224);
	td_chain_close(&c);
	c = parse("");
	assert_int_equal(c.n, 0);
	assert_int_equal(c.dtype, TUNDISH_UINT8);
	c = parse("  decode\tcenter_crop:20x30 \n hflip:1 ");
	s = td_chain_size(&c);
	assert_int_equal(s.height, 20);
	assert_int_equal(s.width, 30);
	assert_int_equal(c.dtype, TUNDISH_UINT8);
	assert_false(c.random);
	c = parse("resize:8,rule=area cast:uint8 normalize:mean=0.5,std=.1/.2/.3 clamp:-1-1");
	assert_int_equal(c.ops[0].rule, TD_RESIZE_AREA);
	assert_true(c.ops[2].mean.list[1] == 0.5 && c.ops[2].std.list[2] == .3);
	assert_true(c.ops[3].range[0] == -1 && c.ops[3].range[1] == 1);
	assert_int_equal(c.dtype, TUNDISH_FLOAT32);
	td_chain_close(&c);
	c = parse("bands:10-12,3,55 tensor:8x6x70,dtype=int16 clamp:0-9");
	assert_int_equal(c.n, 2);
	static const uint32_t bands[5] = { 9, 10, 11, 2, 54 };
	assert_int_equal(c.ops[0].bands.n, 5);
	assert_memory_equal(c.ops[0].bands.list, bands, sizeof bands);
	assert_true(c.tensor_axes == 3 && c.tensor_shape[0] == 8 && c.tensor_shape[2] == 70);
	assert_true(c.tensor_typed && c.tensor_elem == TD_INT16);
	uint32_t channels;
	struct tundish_error e = { 0 };
	assert_int_equal(td_chain_channels(&c, TD_INT16, 70, &channels, &e), 0);
	assert_int_equal(channels, 5);
	assert_int_equal(td_chain_channels(&c, TD_INT16, 54, &channels, &e), TUNDISH_E_USAGE);
	assert_string_equal(e.text, "bands cannot be done to pictures or arrays of 54 channels");
	td_chain_close(&c);
}

static void test_wrong_text(void **state)
{
	(void)state;
	assert_wrong("resize", "place 1, \"resize\": a value is missing; it is written resize:N|HxW");
	assert_wrong("hflip resize:0", "place 14, \"0\": not understood, or out of range");
	assert_wrong("hflip:0.5 sharpen", "place 11, \"sharpen\": there is no such operation");
	assert_wrong("resize:224,rule=cubic", "place 12, \"rule=cubic\"");
	assert_wrong("resize:224,size=3", "there is no such parameter");
	assert_wrong("resize:224,", "place 12");
	assert_wrong("resize:", "place 8");
	assert_wrong("resize:224x", "not understood");
	assert_wrong("resize:224x224x3", "not understood");
	assert_wrong("resize:99999999999", "not understood");
	assert_wrong("hflip:1.5", "out of range");
	assert_wrong("hflip:0.5,0.5", "given twice");
	assert_wrong("decode:faster", "not understood");
	assert_wrong("resize:2 decode", "decode stands first");
	assert_wrong("layout:nchw hflip", "layout stands last");
	assert_wrong("cast:float16 hflip", "only layout may follow");
	assert_wrong("normalize:mean=1/2,std=1/2/3", "as many numbers");
	assert_wrong("normalize:mean=1//2,std=1", "not understood");
	assert_wrong("bands:0", "not understood");
	assert_wrong("bands:5-4", "not understood");
	assert_wrong("bands:1-100000,1", "not understood");
	assert_wrong("bands:3,x", "not understood");
	assert_wrong("tensor:8x", "not understood");
	assert_wrong("tensor:1x2x3x4x5x6x7x8", "not understood");
	assert_wrong("tensor:8,dtype=float16", "not understood");
	assert_wrong("tensor:8 tensor:8", "given twice");
	assert_wrong("normalize:no-such-file.json", "neither a known name nor a file");
	assert_wrong("normalize:mean=1", "mean and std go together");
	assert_wrong("normalize:unit,mean=1,std=1", "give a name");
	assert_wrong("normalize:mean=0,std=0", "out of range");
	assert_wrong("clamp:2-1", "out of range");
	assert_wrong("random_resized_crop:8,scale=0.9-0.1", "out of range");
	assert_wrong("cast:float64", "not understood");
	assert_wrong("central_crop:1.1", "out of range");
	assert_wrong("pad:1/2", "not understood");
	assert_wrong("gaussian_blur:4", "the size of the filter is odd");
	assert_wrong("rotate:-5", "not understood");
	assert_wrong("color_jitter:hue=0.6", "out of range");
	assert_wrong("color_jitter:0.4", "takes no value");
}

/* The window that is noted for one operation, and the size seen after it. */
static struct td_picture applied(const char *text, uint32_t width, uint32_t height, uint64_t position)
{
	static struct td_image_info info;
	static struct td_desk desk;
	struct td_chain c = parse(text);
	struct td_picture p;
	info = (struct td_image_info){ .width = width, .height = height };
	td_picture_start(&p, &desk, &info, NULL, 0, NULL);
	for (unsigned i = 0; i < c.n; i++) {
		struct td_rng rng;
		td_rng_at(&rng, 1, 0, position, c.ops[i].purpose);
		assert_int_equal(td_op_apply(&c.ops[i], &p, &rng), 0);
	}
	td_chain_close(&c);
	return p;
}

static void assert_window(const char *text, uint32_t width, uint32_t height, uint32_t x, uint32_t y,
    uint32_t w, uint32_t h)
{
	struct td_picture p = applied(text, width, height, 0);
	assert_int_equal(p.window.x, x);
	assert_int_equal(p.window.y, y);
	assert_int_equal(p.window.width, w);
	assert_int_equal(p.window.height, h);
}

static void test_windows(void **state)
{
	(void)state;
	/* int(round((n - N) / 2)) of Python, half to even */
	assert_window("center_crop:224", 227, 229, 2, 2, 224, 224);
	assert_window("center_crop:224", 225, 231, 0, 4, 224, 224);
	assert_window("center_crop:10x20", 21, 13, 0, 2, 20, 10);
	/* start = floor((n - n F) / 2), length n - 2 start */
	assert_window("central_crop:0.875", 417, 259, 26, 16, 365, 227);
	assert_window("central_crop:0.875", 8, 16, 0, 1, 8, 14);
	assert_window("central_crop:1", 7, 9, 0, 0, 7, 9);
	assert_window("crop:5x6,x=1,y=2", 20, 10, 1, 2, 6, 5);
	/* a crop behind a flip lies mirrored in the source */
	assert_window("hflip:1 crop:5x6,x=1,y=2", 20, 10, 13, 2, 6, 5);
	assert_window("vflip:1 crop:5x6,x=1,y=2", 20, 10, 1, 3, 6, 5);
	assert_window("crop:8,x=2,y=1 hflip:1 hflip:1 crop:2,x=1,y=3", 20, 10, 3, 4, 2, 2);
	struct td_picture p = applied("resize_shorter:256", 500, 375, 0);
	assert_int_equal(p.width, 341);
	assert_int_equal(p.height, 256);
	p = applied("random_crop:32", 20, 50, 0);
	assert_int_equal(p.width, 20);
	assert_int_equal(p.height, 32);
	p = applied("hflip:1 vflip:1 hflip:1", 20, 50, 0);
	assert_true(!p.hflip && p.vflip);
	p = applied("hflip:0", 20, 50, 0);
	assert_false(p.hflip);
}

static void test_random_crops(void **state)
{
	(void)state;
	unsigned flips = 0, seen_x[13] = { 0 }, n = 13000;
	for (unsigned i = 0; i < n; i++) {
		flips += applied("hflip", 9, 9, i).hflip;
		seen_x[applied("random_crop:8", 20, 8, i).window.x]++;
	}
	assert_in_range(flips, n / 2 - 300, n / 2 + 300);
	for (int i = 0; i < 13; i++)
		assert_in_range(seen_x[i], 850, 1150);
}

/* An erased window lies within the picture, smaller than it, of the areas asked for. */
static void test_erasing(void **state)
{
	(void)state;
	const double scale[2] = { 0.02, 0.33 }, ratio[2] = { 0.3, 3.3 };
	double area = 0;
	const int n = 5000;
	for (int i = 0; i < n; i++) {
		struct td_rng rng;
		td_rng_at(&rng, 5, 0, (uint64_t)i, TD_RNG_OP);
		struct td_window w = td_erasing_window(500, 400, scale, ratio, &rng);
		assert_true(w.width > 0 && w.width < 500 && w.height > 0 && w.height < 400);
		assert_true(w.x + w.width <= 500 && w.y + w.height <= 400);
		area += (double)w.width * w.height / (500 * 400);
	}
	assert_true(area / n > 0.16 && area / n < 0.18);
	struct td_rng rng;
	td_rng_at(&rng, 5, 0, 0, TD_RNG_OP);
	assert_int_equal(td_erasing_window(1, 1, scale, ratio, &rng).width, 0);
	struct td_chain c = parse("rotate:15 random_erasing");
	assert_true(c.ops[0].range[0] == -15 && c.ops[0].range[1] == 15);
	assert_true(c.ops[1].scale[1] == 0.33 && c.ops[1].ratio[0] == 0.3);
}

/* Area uniform in 8 to 100 %, ratio log-uniform in 3/4 to 4/3: on a square large enough
 * that nearly all first tries fit, the means are near those of the plain distribution. */
static void test_random_resized(void **state)
{
	(void)state;
	const double scale[2] = { 0.08, 0.5 }, ratio[2] = { 3.0 / 4, 4.0 / 3 };
	double area = 0, log_ratio = 0, square = 0;
	const int n = 20000;
	for (int i = 0; i < n; i++) {
		struct td_rng rng;
		td_rng_at(&rng, 5, 0, (uint64_t)i, TD_RNG_OP);
		struct td_window w = td_random_resized_window(1000, 1000, scale, ratio, &rng);
		assert_true(w.width > 0 && w.x + w.width <= 1000 && w.height > 0 && w.y + w.height <= 1000);
		double l = td_log((double)w.width / w.height);
		area += (double)w.width * w.height / 1e6;
		log_ratio += l;
		square += l * l;
	}
	const double edge = td_log(4.0 / 3);
	assert_true(area / n > 0.285 && area / n < 0.295);
	assert_true(log_ratio / n > -0.005 && log_ratio / n < 0.005);
	assert_true(square / n > edge * edge / 3 - 0.001 && square / n < edge * edge / 3 + 0.001);
	/* too long for any try: torchvision's middle */
	struct td_rng rng;
	td_rng_at(&rng, 5, 0, 1, TD_RNG_OP);
	struct td_window w = td_random_resized_window(1000, 10, (double[]){ 1, 1 }, ratio, &rng);
	assert_int_equal(w.width, 13);
	assert_int_equal(w.height, 10);
	assert_int_equal(w.x, 493);
}

static void test_real(void **state)
{
	(void)state;
	assert_true(td_log(1) == 0);
	assert_true(td_exp(0) == 1);
	for (double x = 1e-3; x < 1e3; x *= 1.37) {
		double back = td_exp(td_log(x));
		assert_true(back > x * (1 - 1e-14) && back < x * (1 + 1e-14));
	}
	/* log 2, e */
	assert_true(td_log(2) > 0.69314718055994 && td_log(2) < 0.69314718055995);
	assert_true(td_exp(1) > 2.71828182845904 && td_exp(1) < 2.71828182845905);
	double v;
	assert_int_equal(td_parse_real(&v, "0.485/", 6), 5);
	assert_true(v == 0.485);
	assert_int_equal(td_parse_real(&v, "-1e-3x", 6), 5);
	assert_true(v == -1e-3);
	assert_int_equal(td_parse_real(&v, ".5", 2), 2);
	assert_true(v == 0.5);
	assert_int_equal(td_parse_real(&v, "255", 3), 3);
	assert_true(v == 255);
	assert_int_equal(td_parse_real(&v, "-", 1), 0);
	assert_int_equal(td_parse_real(&v, ".", 1), 0);
	assert_int_equal(td_parse_real(&v, "e5", 2), 0);
	assert_int_equal(td_parse_real(&v, "1,5", 3), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_text),
		cmocka_unit_test(test_wrong_text),
		cmocka_unit_test(test_windows),
		cmocka_unit_test(test_random_crops),
		cmocka_unit_test(test_random_resized),
		cmocka_unit_test(test_erasing),
		cmocka_unit_test(test_real),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
