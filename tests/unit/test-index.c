/* SPDX-License-Identifier: BSD-2-Clause */
#include "pictures.h"

#define LIMIT 268435456u

static struct td_decoder *decoder, *plain;

static struct td_pixels decode(
    struct td_decoder *d, const struct blob *b, const struct td_window *w)
{
	struct td_image_info info;
	struct td_pixels p;
	struct tundish_error e = { 0 };
	assert_int_equal(td_image_header(&info, b->data, b->len, LIMIT, NULL), 0);
	if (td_decode(d, &p, &info, b->data, b->len, w, true, &e) < 0)
		fail_msg("%s", e.text);
	return p;
}

static struct jpeg_wish draw_wish(uint32_t *state, const struct sampling *s)
{
	struct jpeg_wish w = { .width = 1 + draw(state) % 120,
		.height = 1 + draw(state) % 120,
		.components = s->components,
		.rgb = s->rgb,
		.quality = 5 + (int)(draw(state) % 96) };
	memcpy(w.sampling, s->factors, sizeof w.sampling);
	return w;
}

static void test_windows(void **state)
{
	(void)state;
	uint32_t seed = 17;
	for (uint32_t i = 0; i < rounds(220); i++) {
		struct jpeg_wish wish = draw_wish(&seed, &samplings[i % TD_COUNT(samplings)]);
		struct blob b = make_jpeg(&wish, i);
		uint8_t *want = full_decode(&b, NULL);
		struct td_buf index = { 0 };
		static const uint32_t spacings[] = { 0, 1, 2, 5, 8, 1000 };
		assert_int_equal(td_jpeg_index(decoder, &index, b.data, b.len,
				     spacings[draw(&seed) % TD_COUNT(spacings)], NULL),
		    0);
		for (int k = 0; k < 25; k++) {
			struct td_window w = draw_window(&seed, wish.width, wish.height);
			td_decoder_index(decoder, index.data, index.len);
			struct td_pixels p = decode(decoder, &b, &w);
			assert_true(td_decoder_used_own(decoder));
			assert_false(td_decoder_index_refused(decoder));
			if (p.warnings || !same_window(want, wish.width, &w, &p))
				fail_msg("%s file %u: window %u x %u at %u, %u differs",
				    samplings[i % TD_COUNT(samplings)].name, i, w.width,
				    w.height, w.x, w.y);
		}
		td_buf_free(&index);
		free(want);
		free(b.data);
	}
}

static void test_size(void **state)
{
	(void)state;
	struct jpeg_wish wish = { .width = 400,
		.height = 300,
		.components = 3,
		.quality = 90,
		.sampling = { 0x22, 0x11, 0x11 } };
	struct blob b = make_jpeg(&wish, 1);
	struct td_buf index = { 0 };
	assert_int_equal(td_jpeg_index(decoder, &index, b.data, b.len, 0, NULL), 0);
	assert_int_equal(index.len, 16 + 8 * 19);
	index.len = 0;
	assert_int_equal(td_jpeg_index(decoder, &index, b.data, b.len, 8, NULL), 0);
	assert_int_equal(index.len, 16 + 8 * 19 * 4);
	td_buf_free(&index);
	free(b.data);
}

static void test_none(void **state)
{
	(void)state;
	struct jpeg_wish wishes[] = {
		{ .width = 50,
		    .height = 50,
		    .components = 3,
		    .quality = 90,
		    .sampling = { 0x11, 0x11, 0x11 },
		    .progressive = true },
		{ .width = 50,
		    .height = 50,
		    .components = 3,
		    .quality = 90,
		    .sampling = { 0x11, 0x11, 0x11 },
		    .restart_rows = 1 },
		{ .width = 50,
		    .height = 50,
		    .components = 4,
		    .quality = 90,
		    .sampling = { 0x11, 0x11, 0x11, 0x11 } },
		{ .width = 50,
		    .height = 50,
		    .components = 3,
		    .quality = 90,
		    .sampling = { 0x11, 0x11, 0x11 },
		    .one_scan_each = true },
	};
	struct td_buf index = { 0 };
	struct tundish_error e;
	for (size_t i = 0; i < TD_COUNT(wishes); i++) {
		struct blob b = make_jpeg(&wishes[i], 1);
		assert_int_equal(td_jpeg_index(decoder, &index, b.data, b.len, 0, &e),
		    TUNDISH_E_UNSUPPORTED);
		assert_int_equal(index.len, 0);
		/* one that is given all the same is refused */
		td_decoder_index(decoder, "TDJ1", 4);
		decode(decoder, &b, NULL);
		assert_true(td_decoder_index_refused(decoder));
		decode(decoder, &b, NULL);
		assert_false(td_decoder_index_refused(decoder));
		free(b.data);
	}
	assert_int_equal(td_jpeg_index(decoder, &index, "\x89PNG\r\n\x1a\n", 8, 0, &e),
	    TUNDISH_E_UNSUPPORTED);
	td_buf_free(&index);
}

static void same_full(const struct blob *b)
{
	struct td_pixels p = decode(decoder, b, NULL), q = decode(plain, b, NULL);
	assert_int_equal(p.warnings, q.warnings);
	for (uint32_t y = 0; y < p.height; y++)
		assert_memory_equal(p.data + y * p.stride, q.data + y * q.stride, 4 * p.width);
}

/* Another picture's index is refused; one whose entries lie never shows in a full
 * decode, and never leads out of the data. */
static void test_wrong(void **state)
{
	(void)state;
	uint32_t seed = 5;
	for (uint32_t i = 0; i < rounds(200); i++) {
		struct jpeg_wish wish = draw_wish(&seed, &samplings[i % TD_COUNT(samplings)]);
		struct blob a = make_jpeg(&wish, i), b = make_jpeg(&wish, i + 1000);
		struct td_buf index = { 0 };
		assert_int_equal(td_jpeg_index(decoder, &index, a.data, a.len, i % 4, NULL), 0);
		td_decoder_index(decoder, index.data, index.len);
		same_full(&b);
		td_decoder_index(decoder, index.data, index.len);
		decode(decoder, &b, NULL);
		/* pictures of a few pixels may come out the same */
		bool differ = a.len != b.len || memcmp(a.data, b.data, a.len) != 0;
		assert_int_equal(td_decoder_index_refused(decoder), differ);
		td_decoder_index(decoder, index.data, index.len - 8);
		decode(decoder, &a, NULL);
		assert_true(td_decoder_index_refused(decoder));
		for (int k = 0; k < 40; k++) {
			uint8_t *bad = malloc(index.len);
			memcpy(bad, index.data, index.len);
			for (unsigned n = 1 + draw(&seed) % 3; n > 0; n--) {
				size_t at = 4 + draw(&seed) % (index.len - 4);
				if (at < 8 || at >= 16)
					bad[at] ^= (uint8_t)(1u << draw(&seed) % 8);
			}
			td_decoder_index(decoder, bad, index.len);
			same_full(&a);
			td_decoder_index(decoder, bad, index.len);
			struct td_window w = draw_window(&seed, wish.width, wish.height);
			decode(decoder, &a, &w);
			free(bad);
		}
		td_buf_free(&index);
		free(a.data);
		free(b.data);
	}
}

/* Damage in the picture under an index that was made for it as it is. */
static void test_damage(void **state)
{
	(void)state;
	uint32_t seed = 23;
	unsigned made = 0;
	for (uint32_t i = 0; i < rounds(300); i++) {
		struct jpeg_wish wish = draw_wish(&seed, &samplings[i % TD_COUNT(samplings)]);
		struct blob b = make_jpeg(&wish, i);
		struct td_buf index = { 0 };
		uint8_t *scan = memmem(b.data, b.len, "\xff\xda", 2);
		assert_non_null(scan);
		size_t at = (size_t)(scan - b.data) + 2 + scan[3]; /* behind its header */
		at += draw(&seed) % (b.len - at);
		b.data[at] ^= (uint8_t)(1u << draw(&seed) % 8);
		uint8_t *tight = realloc(b.data, b.len);
		b.data = tight;
		int r = td_jpeg_index(decoder, &index, b.data, b.len, i % 3, NULL);
		made += r == 0;
		td_decoder_index(decoder, index.data, index.len);
		same_full(&b);
		td_buf_free(&index);
		free(b.data);
	}
	assert_true(made > 20);
}

/* Progressive, arithmetic, several scans, any sampling: plain baseline with one restart
 * marker a row or none, same pixels, same comment. */
static void test_lossless(void **state)
{
	(void)state;
	uint32_t seed = 31;
	for (uint32_t i = 0; i < rounds(120); i++) {
		struct jpeg_wish wish = draw_wish(&seed, &samplings[i % TD_COUNT(samplings)]);
		wish.progressive = i % 4 == 1;
		wish.arithmetic = i % 4 == 2;
		wish.one_scan_each = i % 4 == 3;
		struct blob b = make_jpeg(&wish, i);
		/* a comment behind SOI */
		static const uint8_t comment[] = { 0xff, 0xfe, 0, 7, 'h', 'e', 'l', 'l', 'o' };
		uint8_t *more = malloc(b.len + sizeof comment);
		memcpy(more, b.data, 2);
		memcpy(more + 2, comment, sizeof comment);
		memcpy(more + 2 + sizeof comment, b.data + 2, b.len - 2);
		free(b.data);
		b = (struct blob){ more, b.len + sizeof comment };
		struct td_buf out = { 0 };
		struct tundish_error e = { 0 };
		if (td_jpeg_lossless(decoder, &out, b.data, b.len, i % 3 > 0, LIMIT, &e) < 0)
			fail_msg("file %u: %s", i, e.text);
		struct blob made = { out.data, out.len };
		struct td_image_info info;
		assert_int_equal(td_image_check(&info, made.data, made.len,
				     TUNDISH_CHECK_DECODE, LIMIT, decoder, NULL),
		    0);
		assert_false(info.progressive);
		assert_int_equal(memmem(made.data, made.len, "\xff\xdd\0\4", 4) != NULL, i % 3 > 0);
		assert_non_null(memmem(made.data, made.len, comment, sizeof comment));
		uint8_t *want = full_decode(&b, NULL);
		for (int k = 0; k < 10; k++) {
			struct td_window w = draw_window(&seed, wish.width, wish.height);
			struct td_pixels p = decode(decoder, &made, &w);
			assert_true(td_decoder_used_own(decoder));
			assert_true(same_window(want, wish.width, &w, &p));
		}
		/* a damaged one is not touched */
		struct blob cut = { b.data, b.len - b.len / 4 };
		size_t len = out.len;
		assert_true(td_jpeg_lossless(decoder, &out, cut.data, cut.len, true, LIMIT, &e) < 0);
		assert_int_equal(out.len, len);
		td_buf_free(&out);
		free(want);
		free(b.data);
	}
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
		cmocka_unit_test(test_windows),
		cmocka_unit_test(test_size),
		cmocka_unit_test(test_none),
		cmocka_unit_test(test_wrong),
		cmocka_unit_test(test_damage),
		cmocka_unit_test(test_lossless),
	};
	return cmocka_run_group_tests_name("index", tests, set_up, tear_down);
}
