/* SPDX-License-Identifier: BSD-2-Clause */
#include "rasters.h"

#define PICTURE "e6f1f3ed94f9538066a9e10a0649e0e2fe6f293574e2c7c56608d0ab6cbdd2bf"

/* From the top left corner; all stand in that order in their files. */
static const struct known {
	const char *path;
	unsigned rows, columns;
	const char *sha256;
} shared[] = {
	{ "imagers_old-rle.hdr", 276, 551,
	    "30a3b3ef14f255a249d80d06054db83b125ba099c92741af4ea9261585780894" },
	{ "rad_Earth128.pic", 128, 128,
	    "7bb7045345f84e5b944556a6ffd66506652f4d1252eebf63d566cfd78fdabd1e" },
	{ "rad_h_gradient.hdr", 128, 128,
	    "25e14d07ed8860c8d117f8f87525b805bc9241e51d4b1fb6bb8f4435622c51d1" },
	{ "rad_mist_def.hdr", 128, 128,
	    "11db00e8b3dad2b43a7eb96c0255a303519b38a2fdcb8fa76038b9ae36848f74" },
	{ "rad_psign.hdr", 680, 200,
	    "b17c2b0326a1a12794eb5f427877c11bc0b8c10ff239085c0ec9b383eb82603c" },
	{ "rad_v_gradient.hdr", 128, 128,
	    "19590917ef7edef254c8bc26359ae8085de49be14f13d9f891818f5bde460d0c" },
	{ "vips_sample.hdr", 980, 141,
	    "5b4dfda79ce692098b06251ad23210645a2fa992a1b5c32804373c9ea979f604" },
}, made[] = {
	{ "flat.hdr", 12, 20, PICTURE },
	{ "oldrle.hdr", 12, 20, PICTURE },
	{ "oldrle_multibyte_70000.hdr", 1, 70000,
	    "3063c5e2c73ff9d1321d6d6a051863de9111a12f3fb0d4ebaf8c1a3731600f1f" },
	{ "orient_mYpX.hdr", 12, 20, PICTURE },
	{ "orient_pYpX.hdr", 12, 20, PICTURE },
	{ "xyze_exposure.hdr", 12, 20, PICTURE },
};

static void check(const struct known *k, const char *path)
{
	struct notices n;
	struct td_raster *r = open_raster(path, &n);
	assert_int_equal(td_raster_info(r)->kind, TD_RASTER_RADIANCE);
	assert_int_equal(td_raster_info(r)->dtype, TD_FLOAT32);
	must_have_shape(r, 0, k->rows, k->columns, 3);
	must_be_array(r, 0, k->sha256, k->path);
	parts_equal_whole(r, 0, 25);
	td_raster_close(r);
}

static void test_shared(void **state)
{
	(void)state;
	for (size_t i = 0; i < TD_COUNT(shared); i++) {
		char path[128];
		snprintf(path, sizeof path, "fixtures/formats/radiance/%s", shared[i].path);
		check(&shared[i], shared_path(path));
	}
}

static void test_made(void **state)
{
	(void)state;
	for (size_t i = 0; i < TD_COUNT(made); i++) {
		char path[128];
		snprintf(path, sizeof path, FORMATS "radiance/%s", made[i].path);
		check(&made[i], source_path(path));
	}
}

static void test_metadata(void **state)
{
	(void)state;
	struct notices n;
	struct td_raster *r = open_raster(source_path(FORMATS "radiance/xyze_exposure.hdr"), &n);
	meta_text(r, "channels", "XYZ");
	near(json_real_value(meta(r, "EXPOSURE")), 0.5);
	td_raster_close(r);
	r = open_raster(shared_path("fixtures/formats/radiance/rad_Earth128.pic"), &n);
	near(json_real_value(meta(r, "EXPOSURE")), 4.926198e+00 * 2.000000e-01 * 2.571646e+00);
	near(json_real_value(meta(r, "PIXASPECT")), 0.5);
	td_raster_close(r);
	r = open_raster(shared_path("fixtures/formats/radiance/vips_sample.hdr"), &n);
	assert_int_equal(json_array_size(meta(r, "PRIMARIES")), 8);
	assert_int_equal(json_array_size(meta(r, "COLORCORR")), 3);
	meta_text(r, "SOFTWARE", "vips 8.19.0");
	td_raster_close(r);
}

/* What the picture of 3 x 2 is in each of the eight orders of a file. */
static void test_orientations(void **state)
{
	(void)state;
	static const struct {
		const char *line;
		char order[7]; /* of pixels abc / def in the file */
	} forms[] = {
		{ "-Y 2 +X 3", "abcdef" }, { "-Y 2 -X 3", "cbafed" }, { "+Y 2 +X 3", "defabc" },
		{ "+Y 2 -X 3", "fedcba" }, { "+X 3 +Y 2", "daebfc" }, { "-X 3 +Y 2", "fcebda" },
		{ "-X 3 -Y 2", "cfbead" }, { "+X 3 -Y 2", "adbecf" },
	};
	for (size_t i = 0; i < TD_COUNT(forms); i++) {
		uint8_t file[128];
		struct td_raster *r;
		uint64_t bytes;
		int len = snprintf((char *)file, sizeof file, "#?RADIANCE\n\n%s\n", forms[i].line);
		for (unsigned k = 0; k < 6; k++) {
			uint8_t v = (uint8_t)forms[i].order[k];
			memcpy(file + len, (uint8_t[]){ v, (uint8_t)(v + 1), (uint8_t)(v + 2), 136 }, 4);
			len += 4;
		}
		assert_int_equal(td_raster_open_memory(&r, file, (size_t)len, NULL, 0, NULL, NULL), 0);
		must_have_shape(r, 0, 2, 3, 3);
		float *all = (float *)read_all(r, 0, &bytes);
		for (unsigned k = 0; k < 18; k++)
			if (all[k] != (float)('a' + k / 3 + k % 3))
				fail_msg("%s: number %u is %g", forms[i].line, k, (double)all[k]);
		free(all);
		parts_equal_whole(r, 0, 60);
		td_raster_close(r);
	}
}

/* All exponents, down to numbers that are no normal floats. */
static void test_exponents(void **state)
{
	(void)state;
	uint8_t file[64 + 256 * 4];
	struct td_raster *r;
	uint64_t bytes;
	int len = snprintf((char *)file, sizeof file, "#?RGBE\n\n-Y 1 +X 256\n");
	for (unsigned e = 0; e < 256; e++) {
		memcpy(file + len, (uint8_t[]){ 3, 255, 0, (uint8_t)e }, 4);
		len += 4;
	}
	assert_int_equal(td_raster_open_memory(&r, file, (size_t)len, NULL, 0, NULL, NULL), 0);
	float *all = (float *)read_all(r, 0, &bytes);
	double scale = 1;
	for (int e = 0; e < 135; e++)
		scale /= 2;
	assert_true(all[0] == 0);
	for (unsigned e = 1; e < 256; e++, scale *= 2) {
		assert_true((double)all[3 * e] == 3 * scale);
		assert_true((double)all[3 * e + 1] == 255 * scale);
		assert_true(all[3 * e + 2] == 0);
	}
	free(all);
	td_raster_close(r);
}

static void test_bad_files(void **state)
{
	(void)state;
	must_fail(source_path(FORMATS "radiance/bad_huge.hdr"), TUNDISH_E_TRUNCATED,
	    "2000000000 x 2000000000 pixels cannot be in");
	must_fail(source_path(FORMATS "radiance/bad_truncated.hdr"), TUNDISH_E_TRUNCATED, "end early");
	must_fail(source_path(FORMATS "radiance/bad_wronglen.hdr"), TUNDISH_E_CORRUPT, "instead of");
}

static void test_bad_text(void **state)
{
	(void)state;
#define HEAD "#?RADIANCE\n"
	static const struct {
		const char *file;
		int code;
		const char *part;
	} bad[] = {
		{ HEAD "FORMAT=32-bit_rle_rgbe\n", TUNDISH_E_TRUNCATED, "does not end" },
		{ HEAD "FORMAT=Radiance_spectra\n\n-Y 1 +X 1\n", TUNDISH_E_UNSUPPORTED, "spectra" },
		{ HEAD "\n-Y -1 +X 1\n0000", TUNDISH_E_CORRUPT, "resolution" },
		{ HEAD "\n-Y 0 +X 1\n0000", TUNDISH_E_CORRUPT, "resolution" },
		{ HEAD "\n-Y 1 +Y 1\n0000", TUNDISH_E_CORRUPT, "resolution" },
		{ HEAD "\n-Y 1\n0000", TUNDISH_E_CORRUPT, "resolution" },
		{ HEAD "\n-Y 99999999999 +X 1\n0000", TUNDISH_E_CORRUPT, "resolution" },
		{ HEAD "\n-Y 1 +X 1 +X 1\n0000", TUNDISH_E_CORRUPT, "resolution" },
		{ HEAD "\n-Y 1 +X 2\n\1\1\1\5aaaa", TUNDISH_E_CORRUPT, "repeats nothing" },
		{ HEAD "\n-Y 1 +X 9\n\2\2\1\11\211a\211a\211a\211a", TUNDISH_E_CORRUPT,
		    "265 pixels instead of 9" },
		{ HEAD "\n-Y 2 +X 9\n\2\2", TUNDISH_E_TRUNCATED, "cannot be" },
	};
	for (size_t i = 0; i < TD_COUNT(bad); i++) {
		struct td_raster *r = NULL;
		struct tundish_error e = { 0 };
		struct td_buf scratch = { 0 };
		float out[32];
		int rc = td_raster_open_memory(&r, bad[i].file, strlen(bad[i].file), NULL, 0, NULL, &e);
		if (rc == 0) {
			struct td_raster_part all = td_raster_all(r, 0);
			rc = td_raster_read(r, &all, out, &scratch, &e);
		}
		if (rc != bad[i].code || !strstr(e.text, bad[i].part))
			fail_msg("text %zu: %d %s", i, rc, e.text);
		td_raster_close(r);
		td_buf_free(&scratch);
	}
	/* runs past a scanline's end: cut in the old coding, refused in the new one */
	static const char cut[] = HEAD "\r\n-Y 2 +X 2 \n" "abcd\1\1\1\11" "efghefgh";
	static const char past[] = HEAD "\n-Y 1 +X 9\n\2\2\0\11\212a";
	struct td_raster *r;
	uint64_t bytes;
	assert_int_equal(td_raster_open_memory(&r, cut, sizeof cut - 1, NULL, 0, NULL, NULL), 0);
	float *all = (float *)read_all(r, 0, &bytes);
	assert_true(all[0] == all[3] && all[6] == all[9] && all[0] != all[6]);
	free(all);
	td_raster_close(r);
	struct td_buf scratch = { 0 };
	struct tundish_error e = { 0 };
	float out[27];
	assert_int_equal(td_raster_open_memory(&r, past, sizeof past - 1, NULL, 0, NULL, NULL), 0);
	struct td_raster_part part = td_raster_all(r, 0);
	assert_int_equal(td_raster_read(r, &part, out, &scratch, &e), TUNDISH_E_CORRUPT);
	assert_non_null(strstr(e.text, "run of 10"));
	td_raster_close(r);
	td_buf_free(&scratch);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_made),
		cmocka_unit_test(test_orientations),
		cmocka_unit_test(test_exponents),
		cmocka_unit_test(test_bad_files),
		cmocka_unit_test(test_bad_text),
		cmocka_unit_test(test_shared),
		cmocka_unit_test(test_metadata),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
