/* SPDX-License-Identifier: BSD-2-Clause */
#include "pictures.h"

#include <dirent.h>
#include <math.h>

#include "media/resize.h"


#define LIMIT 268435456u

static struct td_decoder *decoder, *plain;

static int decode(struct td_pixels *p, const struct blob *b, const struct td_window *w,
    bool lenient, struct tundish_error *e)
{
	struct td_image_info info;
	int r = td_image_header(&info, b->data, b->len, LIMIT, e);
	return r < 0 ? r : td_decode(decoder, p, &info, b->data, b->len, w, lenient, e);
}

static struct td_pixels must_decode(const struct blob *b, const struct td_window *w)
{
	struct td_pixels p;
	struct tundish_error e = { 0 };
	if (decode(&p, b, w, false, &e) < 0)
		fail_msg("%s", e.text);
	return p;
}

/* Checksums of what Pillow and TensorFlow make of them: in full, and 170 x 150 at 31, 40. */
static void test_fixtures(void **state)
{
	(void)state;
	static const struct {
		const char *name;
		uint32_t full, crop;
	} files[] = {
		{ "cat", 0x49c2f27e, 0x3815cbee },
		{ "grey", 0x5aa090ae, 0x23688085 },
		{ "progressive", 0x26dcb11f, 0x3d309547 },
	};
	for (size_t i = 0; i < TD_COUNT(files); i++) {
		char path[128];
		snprintf(path, sizeof path, "tests/golden/pixels/%s.jpg", files[i].name);
		struct blob b = load(source_path(path));
		struct td_pixels p = must_decode(&b, NULL);
		assert_int_equal(rgb_sum(&p), files[i].full);
		struct td_window crop = { 31, 40, 170, 150 };
		p = must_decode(&b, &crop);
		assert_int_equal(rgb_sum(&p), files[i].crop);
		free(b.data);
	}
}

static struct jpeg_wish draw_wish(uint32_t *state, const struct sampling *s)
{
	static const int qualities[] = { 5, 30, 75, 92, 100 };
	struct jpeg_wish w = { .width = 1 + draw(state) % 90,
		.height = 1 + draw(state) % 90,
		.components = s->components,
		.rgb = s->rgb,
		.quality = qualities[draw(state) % TD_COUNT(qualities)] };
	memcpy(w.sampling, s->factors, sizeof w.sampling);
	switch (draw(state) % 8) {
	case 0:
		w.progressive = true;
		break;
	case 1:
		w.restart_rows = 1;
		break;
	case 2:
		w.restart_mcus = 7;
		break;
	case 3:
		w.one_scan_each = true;
		break;
	case 4:
		w.arithmetic = true;
		break;
	default:
		break;
	}
	return w;
}

static void test_windows(void **state)
{
	(void)state;
	uint32_t seed = 7;
	for (uint32_t i = 0; i < rounds(440); i++) {
		const struct sampling *s = &samplings[i % TD_COUNT(samplings)];
		struct jpeg_wish wish = draw_wish(&seed, s);
		struct blob b = make_jpeg(&wish, i);
		uint8_t *want = full_decode(&b, NULL);
		for (int k = 0; k < 25; k++) {
			struct td_window w = draw_window(&seed, wish.width, wish.height);
			struct td_pixels p = must_decode(&b, &w);
			assert_int_equal(td_decoder_used_own(decoder),
			    !wish.progressive && !wish.arithmetic &&
				(!wish.one_scan_each || s->components == 1));
			if (p.warnings || !same_window(want, wish.width, &w, &p))
				fail_msg(
				    "%s file %u of %u x %u: window %u x %u at %u, %u differs",
				    s->name, i, wish.width, wish.height, w.width, w.height, w.x,
				    w.y);
		}
		free(want);
		free(b.data);
	}
}

/* Made smaller while it is decoded: what libjpeg makes of all of it, and the place of the
 * window in there. */
static void test_fast(void **state)
{
	(void)state;
	uint32_t seed = 41, shrunk[4] = { 0 };
	for (uint32_t i = 0; i < rounds(220); i++) {
		struct jpeg_wish wish = draw_wish(&seed, &samplings[i % TD_COUNT(samplings)]);
		struct blob b = make_jpeg(&wish, i);
		struct td_image_info info;
		assert_int_equal(td_image_header(&info, b.data, b.len, LIMIT, NULL), 0);
		for (int k = 0; k < 20; k++) {
			struct td_window w = draw_window(&seed, wish.width, wish.height);
			uint32_t least = 1 + draw(&seed) % 30, width, by = 1;
			bool can = (wish.sampling[0] >> 4) <= 2;
			while (can && by < 8 && w.width / by / 2 >= least && w.height / by / 2 >= least)
				by *= 2;
			shrunk[by == 8 ? 3 : by / 2]++;
			uint8_t *want = full_decode_by(&b, by, &width, NULL);
			struct td_window in = { w.x / by, w.y / by, 0, 0 };
			in.width = (w.x + w.width + by - 1) / by - in.x;
			in.height = (w.y + w.height + by - 1) / by - in.y;
			struct td_decoder *both[] = { decoder, plain };
			for (int d = 0; d < 2; d++) {
				struct td_pixels p;
				td_decoder_fast(both[d], least, least);
				assert_int_equal(td_decode(both[d], &p, &info, b.data, b.len, &w,
						     false, NULL),
				    0);
				assert_int_equal(p.width, in.width);
				assert_int_equal(p.height, in.height);
				if (!same_window(want, width, &in, &p))
					fail_msg("file %u: %u x %u at %u, %u by %u differs", i,
					    w.width, w.height, w.x, w.y, by);
				assert_true(by == 1 ? p.across == 0
						    : p.across == (double)w.width / by &&
							  p.left == (double)w.x / by - in.x &&
							  p.down == (double)w.height / by &&
							  p.top == (double)w.y / by - in.y);
			}
			free(want);
		}
		free(b.data);
	}
	for (int i = 0; i < 4; i++)
		assert_true(shrunk[i] > 20);
}

/* The same picture by the exact way, but for a few grey levels: nothing is shifted. */
static void test_fast_is_close(void **state)
{
	(void)state;
	struct blob b = load(source_path("tests/golden/pixels/cat.jpg"));
	struct td_image_info info;
	struct td_scratch scratch = { { 0 } };
	assert_int_equal(td_image_header(&info, b.data, b.len, LIMIT, NULL), 0);
	for (uint32_t shift = 0; shift < 8; shift++) {
		static float out[2][50 * 50 * 3];
		struct td_window w = { 11 + shift, 13 + shift, 203, 202 };
		struct td_pixels p;
		for (int fast = 0; fast < 2; fast++) {
			if (fast)
				td_decoder_fast(decoder, 50, 50);
			assert_int_equal(td_decode(decoder, &p, &info, b.data, b.len, &w, false,
					     NULL),
			    0);
			assert_int_equal(p.across > 0, fast);
			struct td_store to = { .width = 50, .height = 50,
				.rule = TD_RESIZE_ANTIALIAS, .dtype = TUNDISH_FLOAT32,
				.out = out[fast] };
			assert_int_equal(td_store_pixels(&p, &to, &scratch, NULL), 0);
		}
		double sum = 0, most = 0;
		for (size_t i = 0; i < TD_COUNT(out[0]); i++) {
			double d = fabs((double)out[0][i] - (double)out[1][i]);
			sum += d;
			most = d > most ? d : most;
		}
		if (sum / TD_COUNT(out[0]) > 2 || most > 25)
			fail_msg("shift %u: mean %f, most %f", shift, sum / TD_COUNT(out[0]), most);
	}
	td_scratch_free(&scratch);
	free(b.data);
}

/* Each position of a small window in a picture a few MCUs wide and high. */
static void test_alignments(void **state)
{
	(void)state;
	for (size_t i = 0; i < TD_COUNT(samplings); i++) {
		struct jpeg_wish wish = { .width = 69,
			.height = 53,
			.quality = 90,
			.components = samplings[i].components,
			.rgb = samplings[i].rgb };
		memcpy(wish.sampling, samplings[i].factors, sizeof wish.sampling);
		struct blob b = make_jpeg(&wish, 3);
		uint8_t *want = full_decode(&b, NULL);
		for (uint32_t at = 0; at < 69 * 53; at++) {
			struct td_window w = { at % 69, at / 69, 3, 2 };
			w.width = TD_MIN(w.width, 69 - w.x);
			w.height = TD_MIN(w.height, 53 - w.y);
			struct td_pixels p = must_decode(&b, &w);
			if (!same_window(want, 69, &w, &p))
				fail_msg("%s: window at %u, %u differs", samplings[i].name, w.x,
				    w.y);
		}
		free(want);
		free(b.data);
	}
}

/* libjpeg's writer puts Adobe's marker into YCCK and CMYK: 0 is full ink. Without the
 * marker it is the other way round. */
static void test_cmyk(void **state)
{
	(void)state;
	for (int kind = 0; kind < 3; kind++) {
		struct jpeg_wish wish = { .width = 40,
			.height = 30,
			.components = 4,
			.quality = 90,
			.sampling = { 0x11, 0x11, 0x11, 0x11 },
			.plain_cmyk = kind > 0 };
		struct blob b = make_jpeg(&wish, 1);
		uint8_t *adobe = memmem(b.data, b.len,
		    "\xff\xee\0\x0e"
		    "Adobe",
		    9);
		assert_non_null(adobe);
		if (kind == 2)
			memcpy(adobe + 4, "Other", 5);
		uint8_t *raw = full_decode(&b, NULL);
		struct td_window w = { 5, 6, 35, 24 };
		struct td_pixels p = must_decode(&b, &w);
		for (unsigned i = 0; i < 35 * 24 * 3; i++) {
			unsigned x = i / 3 % 35, y = i / 3 / 35, flip = kind == 2 ? 255 : 0;
			const uint8_t *ink = raw + ((y + 6) * 40 + x + 5) * 4;
			assert_int_equal(p.data[y * p.stride + x * 4 + i % 3],
			    (ink[i % 3] ^ flip) * (ink[3] ^ flip) / 255);
		}
		free(raw);
		free(b.data);
	}
}

static void test_cut(void **state)
{
	(void)state;
	for (int kind = 0; kind < 3; kind++) {
		struct jpeg_wish wish = { .width = 120,
			.height = 90,
			.components = 3,
			.quality = 80,
			.sampling = { 0x22, 0x11, 0x11 },
			.progressive = kind == 1,
			.restart_rows = kind == 2 };
		struct blob b = make_jpeg(&wish, 5);
		struct td_pixels p;
		struct td_image_info info;
		struct tundish_error e;
		size_t whole = b.len;
		/* without its end marker a picture is cut for the walk, all there for the
		 * decoder (but a progressive one might have had another scan) */
		b.len = whole - 2;
		assert_int_equal(td_image_check(&info, b.data, b.len, TUNDISH_CHECK_STRUCTURE,
				     LIMIT, decoder, &e),
		    TUNDISH_E_TRUNCATED);
		assert_int_equal(
		    decode(&p, &b, NULL, false, &e), kind == 1 ? TUNDISH_E_TRUNCATED : 0);
		b.len = whole / 2;
		assert_int_equal(decode(&p, &b, NULL, false, &e), TUNDISH_E_TRUNCATED);
		assert_int_equal(decode(&p, &b, NULL, true, &e), 0);
		assert_true(p.warnings > 0);
		/* the upper part is still there */
		struct td_window top = { 10, 0, 100, 8 };
		if (kind != 1)
			assert_int_equal(decode(&p, &b, &top, false, &e), 0);
		b.len = whole;
		assert_int_equal(td_image_check(&info, b.data, b.len, TUNDISH_CHECK_DECODE,
				     LIMIT, decoder, &e),
		    0);
		free(b.data);
	}
}

static void windows_of_file(const char *path, uint32_t *seed)
{
	struct blob b = load(path);
	struct td_image_info info;
	struct td_pixels p, q;
	struct tundish_error e;
	if (td_image_header(&info, b.data, b.len, 1 << 22, &e) == 0 &&
	    info.kind == TD_IMAGE_JPEG &&
	    td_decode(plain, &p, &info, b.data, b.len, NULL, true, &e) == 0) {
		assert_int_equal(
		    td_decode(decoder, &q, &info, b.data, b.len, NULL, true, &e), 0);
		assert_int_equal(p.warnings, q.warnings);
		for (int i = 0; i < 40; i++) {
			struct td_window w = { 0, 0, info.width, info.height };
			if (i > 0)
				w = draw_window(seed, info.width, info.height);
			if (p.warnings && i > 0)
				break;
			assert_int_equal(
			    td_decode(decoder, &q, &info, b.data, b.len, &w, true, &e), 0);
			for (uint32_t y = 0; y < w.height; y++)
				assert_memory_equal(q.data + y * q.stride,
				    p.data + (y + w.y) * p.stride + (size_t)w.x * 4,
				    (size_t)w.width * 4);
		}
	}
	free(b.data);
}

/* Files of other makers. */
static void test_formats(void **state)
{
	(void)state;
	static const char *const folders[] = { "fixtures/formats/jpeg",
		"fixtures/formats/jpeg/made" };
	uint32_t seed = 77;
	unsigned files = 0;
	for (size_t i = 0; i < TD_COUNT(folders); i++) {
		char folder[4096];
		snprintf(folder, sizeof folder, "%s", shared_path(folders[i]));
		DIR *dir = opendir(folder);
		assert_non_null(dir);
		for (struct dirent *d; (d = readdir(dir));) {
			char path[4400];
			snprintf(path, sizeof path, "%s/%s", folder, d->d_name);
			if (d->d_type != DT_DIR && ++files)
				windows_of_file(path, &seed);
		}
		closedir(dir);
	}
	assert_true(files > 30);
}

/* Flips, cuts, overwrites: never a crash, and the decoder works on afterwards. */
static void damage(uint8_t *data, size_t *len, uint32_t *state)
{
	unsigned n = 1 + draw(state) % 4;
	for (unsigned i = 0; i < n; i++) {
		size_t at = draw(state) % *len;
		switch (draw(state) % 4) {
		case 0:
			data[at] ^= (uint8_t)(1u << draw(state) % 8);
			break;
		case 1:
			data[at] = draw(state) % 2 ? 0xff : (uint8_t)draw(state);
			break;
		case 2:
			for (size_t end = at + draw(state) % 20; at < end && at < *len; at++)
				data[at] = (uint8_t)draw(state);
			break;
		default:
			*len = TD_MAX(at, (size_t)3);
		}
	}
}

/* Whatever is wrong with a file, our own entropy decoder may not be seen in the result. */
static void same_both_ways(const struct td_image_info *info, const uint8_t *data, size_t len)
{
	struct td_pixels p[2];
	struct tundish_error e[2] = { { 0 }, { 0 } };
	int r = td_decode(decoder, &p[0], info, data, len, NULL, true, &e[0]);
	assert_int_equal(r, td_decode(plain, &p[1], info, data, len, NULL, true, &e[1]));
	assert_string_equal(e[0].text, e[1].text);
	if (r < 0)
		return;
	assert_int_equal(p[0].warnings, p[1].warnings);
	for (uint32_t y = 0; y < info->height; y++)
		assert_memory_equal(p[0].data + y * p[0].stride, p[1].data + y * p[1].stride,
		    (size_t)info->width * p[0].step);
}

static void damage_one(const struct blob *good, uint32_t *seed)
{
	struct td_image_info info;
	struct td_pixels p;
	struct tundish_error e = { 0 };
	size_t len = good->len;
	/* exactly as large as the data, so that ASan sees a read behind them */
	uint8_t *bad = malloc(len);
	memcpy(bad, good->data, len);
	damage(bad, &len, seed);
	uint8_t *cut = realloc(bad, len);
	(void)td_image_check(&info, cut, len, TUNDISH_CHECK_DECODE, 1 << 20, decoder, &e);
	if (td_image_header(&info, cut, len, 1 << 20, &e) == 0) {
		struct td_window w = draw_window(seed, info.width, info.height);
		(void)td_decode(decoder, &p, &info, cut, len, &w, draw(seed) % 2, &e);
		same_both_ways(&info, cut, len);
	}
	free(cut);
}

static void test_damage(void **state)
{
	(void)state;
	uint32_t seed = 99;
	for (uint32_t i = 0; i < rounds(100); i++) {
		struct jpeg_wish wish = draw_wish(&seed, &samplings[i % TD_COUNT(samplings)]);
		struct blob b = make_jpeg(&wish, i);
		if (i % 10 == 0) { /* a PNG of the same */
			struct td_pixels p = must_decode(&b, NULL);
			struct td_buf png = { 0 };
			assert_int_equal(td_png_encode(&png, &p, NULL), 0);
			free(b.data);
			b = (struct blob){ .data = malloc(png.len), .len = png.len };
			memcpy(b.data, png.data, png.len);
			td_buf_free(&png);
		}
		for (int k = 0; k < 100; k++)
			damage_one(&b, &seed);
		struct td_window all = { 0, 0, wish.width, wish.height };
		must_decode(&b, &all);
		free(b.data);
	}
}

/* A thousand scans in a small file. */
static void test_scan_bomb(void **state)
{
	(void)state;
	struct jpeg_wish wish = { .width = 64,
		.height = 64,
		.components = 1,
		.quality = 50,
		.sampling = { 0x11 },
		.progressive = true };
	struct blob b = make_jpeg(&wish, 1);
	size_t sos = b.len - 3;
	while (b.data[sos] != 0xff || b.data[sos + 1] != 0xda)
		sos--;
	size_t scan = b.len - 2 - sos;
	struct blob bomb = { .data = malloc(b.len + 1000 * scan) };
	memcpy(bomb.data, b.data, b.len - 2);
	bomb.len = b.len - 2;
	for (int i = 0; i < 1000; i++, bomb.len += scan)
		memcpy(bomb.data + bomb.len, b.data + sos, scan);
	memcpy(bomb.data + bomb.len, "\xff\xd9", 2);
	bomb.len += 2;
	struct td_pixels p;
	struct tundish_error e = { 0 };
	assert_int_equal(decode(&p, &bomb, NULL, true, &e), TUNDISH_E_LIMIT);
	assert_non_null(strstr(e.text, "scans"));
	free(bomb.data);
	free(b.data);
}

/* Tables of one picture never serve the next. */
static void test_no_lending(void **state)
{
	(void)state;
	struct jpeg_wish wish = {
		.width = 40, .height = 40, .components = 1, .quality = 50, .sampling = { 0x11 }
	};
	struct blob b = make_jpeg(&wish, 1);
	must_decode(&b, NULL);
	uint8_t *dqt = memmem(b.data, b.len, "\xff\xdb", 2);
	assert_non_null(dqt);
	dqt[1] = 0xfe; /* a comment now */
	struct td_pixels p;
	struct tundish_error e = { 0 };
	assert_int_equal(decode(&p, &b, NULL, true, &e), TUNDISH_E_CORRUPT);
	assert_non_null(strstr(e.text, "uantization table"));
	free(b.data);
}

static void test_encode(void **state)
{
	(void)state;
	struct jpeg_wish wish = { .width = 61,
		.height = 47,
		.components = 3,
		.quality = 95,
		.sampling = { 0x11, 0x11, 0x11 } };
	struct blob b = make_jpeg(&wish, 2);
	struct td_window w = { 3, 5, 50, 40 };
	struct td_pixels p = must_decode(&b, &w), q;
	uint8_t copy[40][50][3];
	for (int y = 0; y < 40; y++)
		for (int x = 0; x < 50; x++)
			memcpy(
			    copy[y][x], p.data + (size_t)y * p.stride + (size_t)x * p.step, 3);
	struct td_pixels rgb = { .data = copy[0][0],
		.width = 50,
		.height = 40,
		.channels = 3,
		.step = 3,
		.stride = 150 };
	struct td_buf png[2] = { 0 }, jpeg[2] = { 0 };
	assert_int_equal(td_png_encode(&png[0], &p, NULL), 0);
	assert_int_equal(td_png_encode(&png[1], &rgb, NULL), 0);
	assert_int_equal(td_jpeg_encode(&jpeg[0], &p, 95, NULL), 0);
	assert_int_equal(td_jpeg_encode(&jpeg[1], &rgb, 95, NULL), 0);
	assert_int_equal(png[0].len, png[1].len);
	assert_memory_equal(png[0].data, png[1].data, png[0].len);
	assert_int_equal(jpeg[0].len, jpeg[1].len);
	assert_memory_equal(jpeg[0].data, jpeg[1].data, jpeg[0].len);
	struct blob made = { png[0].data, png[0].len };
	q = must_decode(&made, NULL);
	assert_int_equal(rgb_sum(&q), rgb_sum(&rgb));
	struct td_window part = { 7, 9, 20, 11 };
	q = must_decode(&made, &part);
	for (int y = 0; y < 11; y++)
		assert_memory_equal(q.data + (size_t)y * q.stride, copy[y + 9][7], 60);
	made = (struct blob){ jpeg[0].data, jpeg[0].len };
	q = must_decode(&made, NULL);
	assert_int_equal(q.width, 50);
	rgb.width = 0;
	assert_int_equal(td_jpeg_encode(&jpeg[0], &rgb, 95, NULL), TUNDISH_E_INVALID);
	for (int i = 0; i < 2; i++) {
		td_buf_free(&png[i]);
		td_buf_free(&jpeg[i]);
	}
	free(b.data);
}

static int set_up(void **state)
{
	(void)state;
	int r = td_decoder_new(&decoder, NULL);
	r = r < 0 ? r : td_decoder_new(&plain, NULL);
	if (r == 0)
		td_decoder_plain(plain);
	return r;
}

static int tear_down(void **state)
{
	(void)state;
	td_decoder_free(decoder);
	td_decoder_free(plain);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fixtures),
		cmocka_unit_test(test_windows),
		cmocka_unit_test(test_alignments),
		cmocka_unit_test(test_fast),
		cmocka_unit_test(test_fast_is_close),
		cmocka_unit_test(test_formats),
		cmocka_unit_test(test_cmyk),
		cmocka_unit_test(test_cut),
		cmocka_unit_test(test_damage),
		cmocka_unit_test(test_scan_bomb),
		cmocka_unit_test(test_no_lending),
		cmocka_unit_test(test_encode),
	};
	return cmocka_run_group_tests_name("decode", tests, set_up, tear_down);
}
