/* SPDX-License-Identifier: BSD-2-Clause */
#include "pictures.h"


#define LIMIT 268435456u

static struct td_decoder *new_decoder(void)
{
	struct td_decoder *d;
	assert_int_equal(td_decoder_new(&d, NULL), 0);
	return d;
}

/* Checks a file of tests/golden/cases: 0, or the code and what the text must hold. */
static void check_case(const char *path, int level, int want, const char *part)
{
	struct blob b = load_case(path);
	struct td_decoder *d = new_decoder();
	struct td_image_info info;
	struct tundish_error e = { 0 };
	int r = td_image_check(&info, b.data, b.len, level, LIMIT, d, &e);
	if (r != want || (part && !strstr(e.text, part)))
		fail_msg(
		    "%s: %d '%s' instead of %d '%s'", path, r, e.text, want, part ? part : "");
	td_decoder_free(d);
	free(b.data);
}

static void test_probe(void **state)
{
	(void)state;
	assert_int_equal(td_image_probe("BMW is no picture", 17), TD_IMAGE_NONE);
	assert_int_equal(td_image_probe("RIFF\0\0\0\0WAVE", 12), TD_IMAGE_NONE);
	assert_int_equal(td_image_probe("", 0), TD_IMAGE_NONE);
	assert_string_equal(td_image_kind_name(TD_IMAGE_WEBP), "WebP");
#define DIR "33-disguised-formats/in/c/"
	/* the module is found in its folder only */
	setenv("TUNDISH_MODULES", "/nowhere", 1);
	check_case(DIR "jpeg-named.png", TUNDISH_CHECK_DECODE, 0, NULL);
	check_case(DIR "no-extension", TUNDISH_CHECK_DECODE, 0, NULL);
	check_case(DIR "png-named.jpg", TUNDISH_CHECK_DECODE, 0, NULL);
	check_case(DIR "bmp-named.jpg", 0, TUNDISH_E_UNSUPPORTED, "BMP is not supported");
	check_case(DIR "gif-named.jpg", 0, TUNDISH_E_UNSUPPORTED, "GIF is not supported");
	check_case(DIR "webp-named.jpg", 0, TUNDISH_E_UNSUPPORTED, "WebP is not supported");
	check_case(DIR "tiff-named.png", 0, TUNDISH_E_UNSUPPORTED, "TIFF is not supported");
	check_case(DIR "html-named.jpg", 0, TUNDISH_E_UNSUPPORTED, "no known picture format");
	check_case(DIR "text-named.png", 0, TUNDISH_E_UNSUPPORTED, "no known picture format");
#undef DIR
}

static void test_one_bad(void **state)
{
	(void)state;
#define DIR "34-one-bad-image/in/c/"
	check_case(DIR "0.jpg", TUNDISH_CHECK_DECODE, 0, NULL);
	check_case(DIR "4.jpg", 0, TUNDISH_E_TRUNCATED, "empty file");
	check_case(DIR "6.jpg", 0, TUNDISH_E_UNSUPPORTED, "no known picture format");
	check_case(DIR "7.jpg", 0, TUNDISH_E_TRUNCATED, "JPEG header is cut");
#undef DIR
}

static void test_extra_bytes(void **state)
{
	(void)state;
	static const char *const good[] = { "fill-bytes", "junk-after-eoi", "junk-before-dqt",
		"junk-before-eoi", "thumb-then-full" };
	struct blob clean = load_case("72-jpeg-extra-bytes/clean.jpg");
	uint8_t *want = full_decode(&clean, NULL);
	struct td_decoder *d = new_decoder();
	for (size_t i = 0; i < TD_COUNT(good); i++) {
		char path[128];
		struct td_image_info info;
		struct td_pixels p;
		struct td_window all = { 0, 0, 128, 96 };
		snprintf(path, sizeof path, "72-jpeg-extra-bytes/in/c/%s.jpg", good[i]);
		check_case(path, TUNDISH_CHECK_DECODE, 0, NULL);
		struct blob b = load_case(path);
		assert_int_equal(td_image_header(&info, b.data, b.len, LIMIT, NULL), 0);
		assert_int_equal(info.width, 128);
		assert_int_equal(info.height, 96);
		assert_int_equal(td_decode(d, &p, &info, b.data, b.len, NULL, false, NULL), 0);
		assert_int_equal(p.warnings, 0);
		assert_true(same_window(want, 128, &all, &p));
		free(b.data);
	}
	check_case("72-jpeg-extra-bytes/in/c/junk-before-soi.jpg", 0, TUNDISH_E_CORRUPT,
	    "before a JPEG picture");
	td_decoder_free(d);
	free(want);
	free(clean.data);
}

static struct td_pixels decode_case(struct td_decoder *d, const char *path, struct blob *b)
{
	struct td_image_info info;
	struct td_pixels p;
	*b = load_case(path);
	assert_int_equal(td_image_header(&info, b->data, b->len, LIMIT, NULL), 0);
	assert_int_equal(td_decode(d, &p, &info, b->data, b->len, NULL, false, NULL), 0);
	assert_int_equal(p.channels, 3);
	return p;
}

static void test_png_kinds(void **state)
{
	(void)state;
	struct td_decoder *d = new_decoder();
	struct blob b;
	struct td_pixels p = decode_case(d, "73-png-16-bit/in/c/gray16.png", &b);
	static const uint8_t row16[4] = { 0, 1, 128, 255 };
	for (int x = 0; x < 4; x++)
		for (int c = 0; c < 3; c++)
			assert_int_equal(p.data[x * 3 + c], row16[x]);
	free(b.data);
	p = decode_case(d, "73-png-16-bit/in/c/depth-only-low-values.png", &b);
	for (uint32_t y = 0; y < p.height; y++)
		for (size_t i = 0; i < (size_t)p.width * 3; i++)
			assert_int_equal(p.data[y * p.stride + i], 0);
	free(b.data);
	p = decode_case(d, "75-alpha/in/c/rgba.png", &b);
	assert_memory_equal(p.data, "\0\377\0", 3);
	assert_memory_equal(p.data + 33, "\310\036\050", 3);
	free(b.data);
	p = decode_case(d, "74-png-palette/in/c/onebit.png", &b);
	for (size_t i = 0; i < (size_t)p.width * 3; i++)
		assert_true(p.data[i] == 0 || p.data[i] == 255);
	free(b.data);
	/* the sums of what the case gives by SHA-256 */
	p = decode_case(d, "74-png-palette/in/c/pal8.png", &b);
	assert_int_equal(rgb_sum(&p), 0xe0e1c81f);
	free(b.data);
	p = decode_case(d, "74-png-palette/in/c/pal2bit.png", &b);
	assert_int_equal(rgb_sum(&p), 0x1a5f22ce);
	free(b.data);
	for (int i = 0; i < 2; i++) {
		p = decode_case(d,
		    i ? "74-png-palette/in/c/pal-trns.png"
		      : "74-png-palette/in/c/gray-trns.png",
		    &b);
		assert_int_equal(p.step, 3);
		free(b.data);
	}
	td_decoder_free(d);
}

static void test_sizes(void **state)
{
	(void)state;
#define DIR "78-impossible-sizes/in/c/"
	check_case(DIR "jpeg-height-0.jpg", 0, TUNDISH_E_UNSUPPORTED, "height 0");
	check_case(DIR "jpeg-width-0.jpg", 0, TUNDISH_E_CORRUPT, "width 0");
	check_case(DIR "jpeg-65535x65535.jpg", 0, TUNDISH_E_LIMIT,
	    "65535 x 65535 is above the limit of 268435456 pixels");
	check_case(DIR "png-width-0.png", 0, TUNDISH_E_CORRUPT, "width 0");
	check_case(DIR "png-2g-wide.png", 0, TUNDISH_E_LIMIT, "above the limit");
	check_case(DIR "png-50000x50000.png", 0, TUNDISH_E_LIMIT, "50000 x 50000");
	check_case(DIR "png-20000x20000-real.png", 0, TUNDISH_E_LIMIT,
	    "20000 x 20000 is above the limit of 268435456 pixels");
	struct blob b = load_case(DIR "png-20000x20000-real.png");
#undef DIR
	struct td_decoder *d = new_decoder();
	struct td_image_info info;
	struct td_pixels p;
	struct td_window w = { 19990, 10, 10, 2 };
	assert_int_equal(
	    td_image_check(&info, b.data, b.len, TUNDISH_CHECK_STRUCTURE, 400000000, d, NULL),
	    0);
	assert_int_equal(info.width, 20000);
	/* a window holds no more memory than its rows */
	assert_int_equal(td_decode(d, &p, &info, b.data, b.len, &w, false, NULL), 0);
	assert_int_equal(p.width, 10);
	td_decoder_free(d);
	free(b.data);
}

static void test_jpeg_kinds(void **state)
{
	(void)state;
	static const char *const good[] = { "progressive", "420", "422", "odd-size-420",
		"restart", "gray", "rgb-not-ycc", "mpo-two-pictures" };
	char path[128];
	for (size_t i = 0; i < TD_COUNT(good); i++) {
		snprintf(path, sizeof path, "83-jpeg-kinds/in/c/%s.jpg", good[i]);
		check_case(path, TUNDISH_CHECK_DECODE, 0, NULL);
	}
#define DIR "83-jpeg-kinds/in/c/claims-"
	check_case(
	    DIR "lossless.jpg", 0, TUNDISH_E_UNSUPPORTED, "lossless JPEG is not supported");
	check_case(DIR "12-bit.jpg", 0, TUNDISH_E_UNSUPPORTED, "12-bit JPEG is not supported");
	check_case(DIR "arithmetic.jpg", 0, TUNDISH_E_CORRUPT, "arithmetic");
#undef DIR
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_probe),
		cmocka_unit_test(test_one_bad),
		cmocka_unit_test(test_extra_bytes),
		cmocka_unit_test(test_png_kinds),
		cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_jpeg_kinds),
	};
	return cmocka_run_group_tests_name("image", tests, NULL, NULL);
}
