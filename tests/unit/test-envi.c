/* SPDX-License-Identifier: BSD-2-Clause */
#include "rasters.h"

#include <math.h>
#include <pthread.h>
#include <sys/stat.h>
#include <zlib.h>

#define ENVI FORMATS "envi/"

static const struct known {
	const char *path, *dtype;
	unsigned lines, samples;
	const char *sha256;
} shared[] = {
	{ "snap_clear_land_count", "int16", 5, 5,
	    "673bf2926fef9bfa13f8c1828538a9171a5b4688ea76e7b2fbdbbd19fae562da" },
	{ "snap_l1_flags", "uint8", 2, 2,
	    "df3f619804a92fdb4057192dc43dd748ea778adc52bc498ce80524c014b81119" },
	{ "snap_new_band_2", "float32", 2, 2,
	    "7d1e79dac3bf875d4ae3e1290bac09a80b1272082401af22225a02a65dd89e3f" },
	{ "snap_tp_latitude", "float32", 3, 3,
	    "214954a78aaca5dd530186e8b345a648f02fcdfa2ba35e31fac22b75308be4f8" },
	{ "snap_tp_longitude", "float32", 3, 3,
	    "1c26b7ebf1a60c6d7520a79400da046caee95e2f1bdeb82da44656bad0e7ffbb" },
};

static void test_shared(void **state)
{
	(void)state;
	for (size_t i = 0; i < TD_COUNT(shared); i++) {
		char path[128];
		struct notices n;
		snprintf(path, sizeof path, "fixtures/formats/envi/%s.hdr", shared[i].path);
		struct td_raster *r = open_raster(shared_path(path), &n);
		assert_int_equal(n.n, 0);
		assert_string_equal(td_elem_name(td_raster_info(r)->dtype), shared[i].dtype);
		must_have_shape(r, 0, shared[i].lines, shared[i].samples, 1);
		must_be_array(r, 0, shared[i].sha256, path);
		td_raster_close(r);
	}
}

/* One array in each type, whatever the interleave and the order of bytes. */
static void test_types(void **state)
{
	(void)state;
	static const struct {
		unsigned code;
		const char *dtype, *sha256;
	} types[] = {
		{ 1, "uint8", "effbc976a8ffb2f6e42b2369400e15e0c2cda8f1a1274a7a46751d351d5ff21f" },
		{ 2, "int16", "c86fb9cb6f70337681b6225f52113a98060e2d34a969b1e129e36c19a1a2bc70" },
		{ 3, "int32", "d286ea31e67022ee1db3a712235889f033b5490a33c491338e927c93aaa3c432" },
		{ 4, "float32", "1bc6b07dca1abd948397416eef5d3ab6dbeb8f66df818f41237962ba6bb63951" },
		{ 5, "float64", "36588555b99686972731237df77eb9ff77dead6ea43ae89a29a1fb5fbb6ba261" },
		{ 6, "complex64", "44bc5bbff17bbd955deb393bab656dc4c4ee109477478f61be55b987f04f36ce" },
		{ 9, "complex128", "38d201d3e55c2f23a78c7820db612c753ac5580b53dc5386ae3db90c7fe03115" },
		{ 12, "uint16", "e4cdcbe57f1d0c0044901275ec9c7d00829557a2570902b4f9c0262fa35c5f27" },
		{ 13, "uint32", "ae36c528d3650a1c9138082cbf3df05cd4bb84094f724185ca8bd1f6a67d87de" },
		{ 14, "int64", "bdcf5b0013ca9d1d40f749d71959df924e2bf1812b5aeb7be061b294929ea1d4" },
		{ 15, "uint64", "3db9004663332fe1988dded2d2cf4df890229b2e00a57964ccb19cda2abb9ea7" },
	};
	static const char *const forms[] = { "bsq_le", "bsq_be", "bil_le", "bil_be", "bip_le", "bip_be" };
	unsigned found = 0;
	for (size_t i = 0; i < TD_COUNT(types) * TD_COUNT(forms); i++) {
		char path[128];
		struct notices n;
		snprintf(path, sizeof path, ENVI "t%u_%s.hdr", types[i / 6].code, forms[i % 6]);
		const char *full = source_path(path);
		if (access(full, F_OK) != 0)
			continue; /* the collection does not have all */
		struct td_raster *r = open_raster(full, &n);
		assert_int_equal(n.n, 0);
		assert_string_equal(td_elem_name(td_raster_info(r)->dtype), types[i / 6].dtype);
		must_have_shape(r, 0, 5, 4, 3);
		must_be_array(r, 0, types[i / 6].sha256, path);
		parts_equal_whole(r, 0, 20);
		td_raster_close(r);
		found++;
	}
	assert_int_equal(found, 44);
}

/* value(b, l, s) = (30 b + 5 l + s) * 13 mod 4000, which types of one byte hold mod 200. */
static void must_be_cube(const char *path, unsigned mod)
{
	struct notices n;
	uint64_t bytes;
	struct td_raster *r = open_raster(path, &n);
	must_have_shape(r, 0, 6, 5, 4);
	uint8_t *all = read_all(r, 0, &bytes);
	for (unsigned i = 0; i < 120; i++) {
		unsigned b = i % 4, s = i / 4 % 5, l = i / 20;
		double want = (30 * b + 5 * l + s) * 13 % 4000 % mod;
		double got = td_elem_value(td_raster_info(r)->dtype, all, i);
		if (got != want)
			fail_msg("%s: number %u is %g instead of %g", path, i, got, want);
	}
	free(all);
	parts_equal_whole(r, 0, 20);
	td_raster_close(r);
}

static void test_case_90(void **state)
{
	(void)state;
	static const char *const good[] = { "upper", "comments", "crlf", "bom", "interleave-caps",
		"leading-space", "no-offset-no-byteorder" };
	static const struct {
		const char *name;
		int code;
		const char *part;
	} bad[] = {
		{ "no-interleave", TUNDISH_E_CORRUPT, "no \"interleave\"" },
		{ "no-bands", TUNDISH_E_CORRUPT, "no \"bands\"" },
		{ "open-brace", TUNDISH_E_CORRUPT, "brace opened on line 11 (band names)" },
		{ "wrong-magic", TUNDISH_E_UNSUPPORTED, "no known kind of raster" },
		{ "negative", TUNDISH_E_CORRUPT, "lines = -6" },
		{ "huge", TUNDISH_E_LIMIT, "4294967295" },
	};
	char path[128];
	for (size_t i = 0; i < TD_COUNT(good); i++) {
		snprintf(path, sizeof path, CASES "90-envi-header-habits/%s.hdr", good[i]);
		must_be_cube(source_path(path), 4000);
	}
	for (size_t i = 0; i < TD_COUNT(bad); i++) {
		snprintf(path, sizeof path, CASES "90-envi-header-habits/%s.hdr", bad[i].name);
		must_fail(source_path(path), bad[i].code, bad[i].part);
	}
	must_fail(source_path(ENVI "neg_dims.hdr"), TUNDISH_E_CORRUPT, "samples = -4");
	must_fail(source_path(ENVI "overflow.hdr"), TUNDISH_E_CORRUPT, "18446744073709551616");
}

static void test_case_92(void **state)
{
	(void)state;
	static const char *const forms[] = { "bsq", "bil", "bip" };
	static const unsigned codes[] = { 1, 2, 3, 4, 5, 12, 13, 14, 15 };
	char path[128];
	for (int i = 0; i < 6; i++) {
		snprintf(path, sizeof path, CASES "92-envi-layouts/u16-%s-%s.hdr", forms[i / 2],
		    i % 2 ? "be" : "le");
		must_be_cube(source_path(path), 4000);
	}
	for (size_t i = 0; i < TD_COUNT(codes); i++) {
		snprintf(path, sizeof path, CASES "92-envi-layouts/type-%u.hdr", codes[i]);
		must_be_cube(source_path(path), 200);
	}
	must_fail(source_path(CASES "92-envi-layouts/type-7-none.hdr"), TUNDISH_E_UNSUPPORTED,
	    "unknown data type 7");
}

static void test_case_94(void **state)
{
	(void)state;
	static const char *const good[] = { "xnone", "ximg", "xdat", "xraw", "xbsq", "xIMGU" };
	char path[128];
	for (size_t i = 0; i < TD_COUNT(good); i++) {
		snprintf(path, sizeof path, CASES "94-envi-data-name/%s/cube.hdr", good[i]);
		must_be_cube(source_path(path), 4000);
	}
	must_be_cube(source_path(CASES "94-envi-data-name/double/cube.img.hdr"), 4000);
	must_fail(source_path(CASES "94-envi-data-name/nodata/cube.hdr"), TUNDISH_E_NOT_FOUND,
	    "looked for cube, .img, .dat");
	struct notices n;
	struct td_raster *r =
	    open_raster(source_path(CASES "94-envi-data-name/ambiguous/cube.hdr"), &n);
	assert_int_equal(n.n, 1);
	assert_non_null(strstr(n.last, "data are taken from cube.img, though cube.dat"));
	td_raster_close(r);
	r = open_raster(source_path(CASES "94-envi-data-name/radiance/a.hdr"), &n);
	assert_int_equal(td_raster_info(r)->kind, TD_RASTER_RADIANCE);
	must_have_shape(r, 0, 2, 8, 3);
	td_raster_close(r);
}

/* Headers of other programs that came without their data. */
static void test_header_only(void **state)
{
	(void)state;
	static const struct {
		const char *name;
		int code;
		unsigned lines, samples, bands;
		const char *part;
	} files[] = {
		{ "darkReference", 0, 1, 1600, 978, NULL },
		{ "darkReference3", 0, 0, 0, 0, NULL },
		{ "darkReference4", 0, 1, 1600, 978, NULL },
		{ "enmap_berlin", 0, 400, 220, 177, NULL },
		{ "cubus_gamsberg_subset", 0, 25, 10, 189, NULL },
		{ "gdal_rotation", 0, 1, 1, 1, NULL },
		{ "arcgis", TUNDISH_E_UNSUPPORTED, 0, 0, 0, "ESRI BIL" },
		{ "analyze75_t00740", TUNDISH_E_UNSUPPORTED, 0, 0, 0, "Analyze" },
	};
	for (size_t i = 0; i < TD_COUNT(files); i++) {
		char path[128];
		struct notices n = { 0 };
		struct tundish_listener l = listen_to(&n);
		struct tundish_error e = { 0 };
		struct td_raster *r = NULL;
		snprintf(path, sizeof path, "fixtures/formats/envi/hdr_only/%s.hdr", files[i].name);
		int rc = td_raster_open(&r, shared_path(path), TD_RASTER_HEADER_ONLY, &l, &e);
		if (rc != files[i].code || (rc && !strstr(e.text, files[i].part)))
			fail_msg("%s: %d %s", path, rc, e.text);
		if (rc == 0 && files[i].lines) {
			must_have_shape(r, 0, files[i].lines, files[i].samples, files[i].bands);
			assert_non_null(strstr(n.last, "no data file"));
			assert_null(td_raster_info(r)->data_path);
		}
		td_raster_close(r);
	}
	struct notices n = { 0 };
	struct tundish_listener l = listen_to(&n);
	struct tundish_error e = { 0 };
	struct td_raster *r;
	double axis[978];
	/* interleave = bup: for reading one must be said */
	const char *typo = shared_path("fixtures/formats/envi/hdr_only/darkReference4.hdr");
	assert_int_equal(td_raster_open(&r, typo, 0, NULL, &e), TUNDISH_E_CORRUPT);
	assert_non_null(strstr(e.text, "interleave = bup"));
	assert_int_equal(td_raster_open(&r, typo, TD_RASTER_BIL, NULL, &e), TUNDISH_E_NOT_FOUND);
	assert_int_equal(td_raster_open(&r,
			     shared_path("fixtures/formats/envi/hdr_only/darkReference.hdr"),
			     TD_RASTER_HEADER_ONLY, &l, NULL), 0);
	assert_int_equal(td_raster_axis(axis, r, 0, 1), 1);
	near(axis[0], 379.027);
	near(axis[1], 379.663);
	assert_string_equal(td_raster_info(r)->axis_unit, "nm");
	td_raster_close(r);
}

/* A cube in memory: header text and pixels. */
static int open_text(struct td_raster **ret, const char *text, const void *pixels, size_t len,
    struct notices *n, struct tundish_error *e)
{
	struct tundish_listener l = listen_to(n);
	memset(n, 0, sizeof *n);
	memset(e, 0, sizeof *e);
	return td_raster_open_memory(ret, text, strlen(text), pixels, len, &l, e);
}

static void test_metadata(void **state)
{
	(void)state;
	static const char text[] = "ENVI\nsamples = 2\nlines = 1\nbands = 2\ndata type = 1\n"
	    "interleave = bip\nBand_Names = {a b,\n\xb5m, }\nwavelength = {1.5 ,\n;2.5\n 3e2}\n"
	    "bbl = {1.0, 0}\ndescription = { free, text\n of two lines }\ndata ignore value = 7\n"
	    "fwhm = {1}\nunits of\twork =  x = y \nlines = 1\nwavelength units =\nno value\n"
	    "map info = {UTM, 1.0, units=Meters}\nsensor  type = \n; remark = none\n";
	struct td_raster *r;
	struct notices n;
	struct tundish_error e;
	assert_int_equal(open_text(&r, text, "abcdef", 6, &n, &e), 0);
	assert_int_equal(n.n, 2); /* fwhm, and bytes behind the array */
	const struct td_raster_info *info = td_raster_info(r);
	const json_t *names = meta(r, "band names");
	assert_int_equal(json_array_size(names), 2);
	assert_string_equal(json_string_value(json_array_get(names, 1)), "\xc2\xb5m");
	near(json_real_value(json_array_get(meta(r, "wavelength"), 1)), 300);
	assert_int_equal(info->bad_bands[0], 0);
	assert_int_equal(info->bad_bands[1], 1);
	meta_text(r, "description", "free, text\n of two lines");
	meta_text(r, "units of work", "x = y");
	meta_text(r, "wavelength units", "");
	meta_text(r, "map info", "UTM, 1.0, units=Meters");
	meta_text(r, "sensor type", "");
	assert_null(json_object_get(info->metadata, "fwhm"));
	assert_int_equal(json_integer_value(meta(r, "data ignore value")), 7);
	assert_true(info->has_ignore && info->ignore == 7 && !info->has_scale);
	json_t *j = td_raster_describe(r);
	char *dump = json_dumps(j, JSON_COMPACT);
	assert_non_null(strstr(dump, "{\"kind\":\"ENVI\",\"dtype\":\"uint8\","
				     "\"axes\":[\"lines\",\"samples\",\"bands\"],\"shape\":[1,2,2],"));
	free(dump);
	json_decref(j);
	td_raster_close(r);
}

static void test_bad_headers(void **state)
{
	(void)state;
#define SIZES "ENVI\nsamples = 2\nlines = 1\nbands = 2\ninterleave = bsq\n"
	static const struct {
		const char *text;
		int code;
		const char *part;
	} bad[] = {
		{ SIZES, TUNDISH_E_CORRUPT, "no \"data type\"" },
		{ SIZES "data type = x\n", TUNDISH_E_CORRUPT, "data type = x" },
		{ SIZES "data type = 99\n", TUNDISH_E_UNSUPPORTED, "unknown data type 99" },
		{ SIZES "data type = 1\nbyte order = 2\n", TUNDISH_E_LIMIT, "byte order" },
		{ SIZES "data type = 1\nsamples = 0\n", TUNDISH_E_CORRUPT, "samples = 0" },
		{ SIZES "data type = 1\nsamples = 2 x\n", TUNDISH_E_CORRUPT, "samples = 2 x" },
		{ SIZES "data type = 9\nsamples=2147483647\nlines=2147483647\nbands=2147483647\n",
		    TUNDISH_E_LIMIT, "more than any file holds" },
		{ SIZES "data type = 1\nheader offset = 9223372036854775806\n", TUNDISH_E_LIMIT,
		    "more than any file holds" },
		{ SIZES "data type = 1\nfile type = envi meta file\n", TUNDISH_E_UNSUPPORTED,
		    "no pixels" },
		{ SIZES "data type = 1\nfile type = ENVI Spectral Library\n", TUNDISH_E_CORRUPT,
		    "of 2 bands" },
		{ SIZES "data type = 1\nmajor frame offsets = {1, 0}\n", TUNDISH_E_UNSUPPORTED,
		    "major frame offsets" },
		{ SIZES "data type = 1\nminor frame offsets = {0, 1}\n", TUNDISH_E_UNSUPPORTED,
		    "minor frame offsets" },
		{ SIZES "data type = 1\nheader offset = 1\n", TUNDISH_E_TRUNCATED,
		    "data file of 4 bytes, where the ENVI header asks for 5" },
		{ SIZES "data type = 1\na = {\n;}\n", TUNDISH_E_CORRUPT, "line 7 (a)" },
	};
	for (size_t i = 0; i < TD_COUNT(bad); i++) {
		struct td_raster *r;
		struct notices n;
		struct tundish_error e;
		int rc = open_text(&r, bad[i].text, "abcd", 4, &n, &e);
		if (rc != bad[i].code || !strstr(e.text, bad[i].part))
			fail_msg("header %zu: %d %s", i, rc, e.text);
	}
}

static void test_library(void **state)
{
	(void)state;
	static const char text[] = "ENVI\nsamples = 3\nlines = 2\nbands = 1\ninterleave = bsq\n"
	    "data type = 2\nbyte order = 1\nfile type = ENVI Spectral Library\n"
	    "wavelength = {1, 2, 3}\nspectra names = {oak, ash}\n";
	static const int16_t want[] = { 1, 2, 3, 4, 5, 6 };
	struct td_raster *r;
	struct notices n;
	struct tundish_error e;
	uint64_t bytes;
	double axis[3];
	assert_int_equal(open_text(&r, text, "\0\1\0\2\0\3\0\4\0\5\0\6", 12, &n, &e), 0);
	assert_int_equal(n.n, 0);
	must_have_shape(r, 0, 2, 3, 0);
	assert_string_equal(td_raster_info(r)->regions[0].axes[1], "channels");
	uint8_t *all = read_all(r, 0, &bytes);
	assert_int_equal(bytes, sizeof want);
	assert_memory_equal(all, want, sizeof want);
	free(all);
	assert_int_equal(td_raster_axis(axis, r, 0, 1), 1);
	near(axis[2], 3);
	assert_int_equal(json_array_size(meta(r, "spectra names")), 2);
	parts_equal_whole(r, 0, 40);
	td_raster_close(r);
}

static void test_class_and_offset(void **state)
{
	(void)state;
	struct notices n;
	struct td_raster *r = open_raster(source_path(ENVI "class.hdr"), &n);
	must_have_shape(r, 0, 3, 4, 1);
	must_be_array(r, 0, "a3bd0770a661c531bb1bdbf393f2f5da21c447b89c57d1ed39076b201b450cd1", "class");
	assert_int_equal(json_integer_value(meta(r, "classes")), 4);
	const json_t *names = meta(r, "class names");
	assert_string_equal(json_string_value(json_array_get(names, 3)), "Roof");
	assert_int_equal(json_array_size(meta(r, "class lookup")), 12);
	td_raster_close(r);

	r = open_raster(source_path(ENVI "offset128_crlf.hdr"), &n);
	must_be_array(r, 0, "875690761bbb835671778b570ebae9998feb9db7f0fdfdca92b17f03965a9df9", "offset");
	const struct td_raster_info *info = td_raster_info(r);
	assert_true(info->has_ignore && info->ignore == 65535 && info->has_scale);
	uint64_t bytes;
	uint16_t *all = (uint16_t *)read_all(r, 0, &bytes);
	float scaled[24];
	struct td_raster_part part = td_raster_all(r, 0);
	assert_int_equal(td_raster_ignored(r, &part, all), 0);
	all[4] = all[5] = all[7] = 65535;
	assert_int_equal(td_raster_ignored(r, &part, all), 1);
	td_raster_scale(scaled, r, &part, all);
	for (unsigned i = 0; i < 24; i++) {
		double v = i % 2 ? all[i] * 0.5 - 1 : all[i] * 2.0 + 1;
		if (i == 4 || i == 5 || i == 7)
			assert_true(isnan(scaled[i]));
		else
			assert_true(scaled[i] == (float)(v / 10000));
	}
	/* one band by its number: gains go with it */
	uint32_t second = 1;
	part.bands = &second;
	part.n_bands = 1;
	td_raster_scale(scaled, r, &part, all + 1);
	assert_true(scaled[0] == (float)((all[1] * 0.5 - 1) / 10000));
	free(all);
	td_raster_close(r);
}

static void test_frame_offsets(void **state)
{
	(void)state;
	static const char text[] = "ENVI\nsamples = 4\nlines = 3\nbands = 1\ninterleave = bsq\n"
	    "data type = 12\nmajor frame offsets = {2, 4}\n";
	static const uint16_t file[] = { 99, 0, 1, 2, 3, 98, 97, 99, 4, 5, 6, 7, 98, 97, 99, 8, 9, 10,
		11, 98, 97 };
	struct td_raster *r;
	struct notices n;
	struct tundish_error e;
	uint64_t bytes;
	assert_int_equal(open_text(&r, text, file, sizeof file, &n, &e), 0);
	uint16_t *all = (uint16_t *)read_all(r, 0, &bytes);
	for (unsigned i = 0; i < 12; i++)
		assert_int_equal(all[i], i);
	free(all);
	parts_equal_whole(r, 0, 40);
	td_raster_close(r);
}

/* A cube whose number (l, s, b) is known, in any layout; `at` is its place in the file. */
static void large(const char *interleave, uint64_t lines, uint64_t samples, uint64_t bands)
{
	char text[256];
	size_t items = (size_t)(lines * samples * bands);
	uint16_t *file = malloc(items * 2);
	assert_non_null(file);
	bool bsq = strcmp(interleave, "bsq") == 0, bil = strcmp(interleave, "bil") == 0;
	for (uint64_t l = 0; l < lines; l++)
		for (uint64_t s = 0; s < samples; s++)
			for (uint64_t b = 0; b < bands; b++) {
				uint64_t at = bsq ? (b * lines + l) * samples + s :
				    bil		  ? (l * bands + b) * samples + s :
						    (l * samples + s) * bands + b;
				uint64_t i = (l * samples + s) * bands + b;
				file[at] = (uint16_t)((i * 40503u) >> 5);
			}
	snprintf(text, sizeof text, "ENVI\nsamples = %u\nlines = %u\nbands = %u\ninterleave = %s\n"
	    "data type = 12\n", (unsigned)samples, (unsigned)lines, (unsigned)bands, interleave);
	struct td_raster *r;
	struct notices n;
	struct tundish_error e;
	uint64_t bytes;
	if (open_text(&r, text, file, items * 2, &n, &e) != 0)
		fail_msg("%s", e.text);
	uint16_t *all = (uint16_t *)read_all(r, 0, &bytes);
	for (size_t i = 0; i < items; i++)
		if (all[i] != (uint16_t)((i * 40503u) >> 5))
			fail_msg("%s %u x %u x %u: number %zu", interleave, (unsigned)lines,
			    (unsigned)samples, (unsigned)bands, i);
	/* a corner, and the last two bands the wrong way round */
	uint32_t list[] = { (uint32_t)bands - 1, 0 };
	struct td_raster_part p = { .start = { lines / 2, samples / 3, 0 },
		.count = { lines - lines / 2, samples - samples / 3, 0 }, .bands = list, .n_bands = 2 };
	uint8_t *part = read_part(r, &p, &bytes);
	must_be_part(r, &p, part, (uint8_t *)all);
	free(part);
	free(all);
	td_raster_close(r);
	free(file);
}

/* Rows, bands and pixels of more bytes than are read at once. */
static void test_blocks(void **state)
{
	(void)state;
	static const char *const forms[] = { "bsq", "bil", "bip" };
	for (int i = 0; i < 3; i++) {
		large(forms[i], 3, 600001, 2);
		large(forms[i], 2, 3, 600001);
		large(forms[i], 700, 900, 3);
		large(forms[i], 37, 53, 29);
	}
}

static void write_gzip(const char *path, const void *data, unsigned len, const char *mode)
{
	gzFile f = gzopen(path, mode);
	assert_non_null(f);
	assert_int_equal(gzwrite(f, data, len), (int)len);
	assert_int_equal(gzclose(f), Z_OK);
}

static void *read_in_thread(void *r)
{
	parts_equal_whole(r, 0, 5);
	return NULL;
}

/* Two members, unpacked by the first of several threads; then cut short; then with a wrong checksum. */
static void test_gzip(void **state)
{
	(void)state;
	static const char text[] = "ENVI\nsamples = 100\nlines = 80\nbands = 3\ninterleave = bsq\n"
	    "data type = 1\nheader offset = 5\nfile compression = 1\n";
	char folder[] = "/tmp/tundish-envi-XXXXXX", hdr[64], img[64];
	uint8_t file[24005];
	struct notices n;
	uint64_t bytes;
	assert_non_null(mkdtemp(folder));
	snprintf(hdr, sizeof hdr, "%s/a.hdr", folder);
	snprintf(img, sizeof img, "%s/a.img", folder);
	FILE *f = fopen(hdr, "we");
	fputs(text, f);
	fclose(f);
	for (unsigned i = 0; i < sizeof file; i++)
		file[i] = (uint8_t)((i * 40503u) >> 6);
	write_gzip(img, file, 10000, "wb");
	write_gzip(img, file + 10000, sizeof file - 10000, "ab");
	struct td_raster *r = open_raster(hdr, &n);
	uint8_t *all = read_all(r, 0, &bytes);
	assert_int_equal(bytes, 24000);
	for (unsigned i = 0; i < 24000; i++)
		assert_int_equal(all[i], file[5 + i % 3 * 8000 + i / 3]);
	free(all);
	td_raster_close(r);
	r = open_raster(hdr, &n);
	pthread_t threads[4];
	for (int i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, read_in_thread, r), 0);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	td_raster_close(r);

	struct stat st;
	assert_int_equal(stat(img, &st), 0);
	f = fopen(img, "r+e");
	fseek(f, -6, SEEK_END);
	fputc(0x55, f);
	fclose(f);
	must_fail(hdr, TUNDISH_E_CORRUPT, "gzip'ed data: incorrect data check");
	assert_int_equal(truncate(img, st.st_size - 30), 0);
	must_fail(hdr, TUNDISH_E_TRUNCATED, "gzip'ed data end early");
	assert_int_equal(truncate(img, 10), 0);
	must_fail(hdr, TUNDISH_E_TRUNCATED, "cannot be in a gzip file");
	unlink(img);
	unlink(hdr);
	rmdir(folder);
}

/* Names that differ by case, unknown suffixes, sizes, and a folder of the same name. */
static void test_find(void **state)
{
	(void)state;
	static const char text[] = "ENVI\nsamples = 2\nlines = 1\nbands = 2\ninterleave = bsq\n"
	    "data type = 1\n";
	static const struct {
		const char *names[3]; /* "x=12": of that many bytes */
		const char *taken;
	} cases[] = {
		{ { "a.Img=4" }, "a.Img" },
		{ { "a.odd=4" }, "a.odd" },
		{ { "a.odd=4", "a.txt=5" }, "a.odd" },
		{ { "a.img=9", "a.dat=4" }, "a.dat" },
		{ { "a.img=9", "b.img=4" }, "a.img" },
		{ { "A=4" }, "A" },
		{ { "ab.img=4" }, NULL },
		{ { "a.txt=5" }, NULL },
	};
	char folder[] = "/tmp/tundish-find-XXXXXX", path[320], hdr[64], sub[64];
	assert_non_null(mkdtemp(folder));
	snprintf(hdr, sizeof hdr, "%s/a.hdr", folder);
	snprintf(sub, sizeof sub, "%s/a", folder);
	assert_int_equal(mkdir(sub, 0700), 0);
	FILE *f = fopen(hdr, "we");
	fputs(text, f);
	fclose(f);
	for (size_t i = 0; i < TD_COUNT(cases); i++) {
		for (int k = 0; k < 3 && cases[i].names[k]; k++) {
			const char *equals = strchr(cases[i].names[k], '=');
			snprintf(path, sizeof path, "%s/%.*s", folder,
			    (int)(equals - cases[i].names[k]), cases[i].names[k]);
			f = fopen(path, "we");
			assert_non_null(f);
			assert_int_equal(fwrite("123456789", 1, (size_t)atoi(equals + 1), f),
			    atoi(equals + 1));
			fclose(f);
		}
		struct td_raster *r = NULL;
		struct tundish_error e = { 0 };
		int rc = td_raster_open(&r, hdr, 0, NULL, &e);
		assert_int_equal(rc, cases[i].taken ? 0 : TUNDISH_E_NOT_FOUND);
		if (rc == 0)
			assert_string_equal(strrchr(td_raster_info(r)->data_path, '/') + 1,
			    cases[i].taken);
		td_raster_close(r);
		for (int k = 0; k < 3 && cases[i].names[k]; k++) {
			snprintf(path, sizeof path, "%s/%.*s", folder,
			    (int)strcspn(cases[i].names[k], "="), cases[i].names[k]);
			unlink(path);
		}
	}
	unlink(hdr);
	rmdir(sub);
	rmdir(folder);
}

static void test_parts(void **state)
{
	(void)state;
	struct notices n;
	struct tundish_error e = { 0 };
	uint64_t bytes = 1;
	struct td_raster *r = open_raster(source_path(ENVI "class.hdr"), &n);
	struct td_raster_part all = td_raster_all(r, 0), p = all;
	uint32_t band = 1;
	p.count[1] = 5;
	assert_int_equal(td_raster_part_bytes(&bytes, r, &p, &e), TUNDISH_E_INVALID);
	p = all;
	p.start[0] = UINT64_MAX;
	assert_int_equal(td_raster_part_bytes(&bytes, r, &p, &e), TUNDISH_E_INVALID);
	p = all;
	p.count[2] = 0;
	assert_int_equal(td_raster_part_bytes(&bytes, r, &p, &e), TUNDISH_E_INVALID);
	p.bands = &band;
	p.n_bands = 1;
	assert_int_equal(td_raster_part_bytes(&bytes, r, &p, &e), TUNDISH_E_INVALID);
	p.region = 1;
	assert_int_equal(td_raster_part_bytes(&bytes, r, &p, &e), TUNDISH_E_INVALID);
	assert_int_equal(bytes, 1);
	assert_int_equal(td_raster_part_bytes(&bytes, r, &all, &e), 0);
	assert_int_equal(bytes, 12);
	td_raster_close(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_types),
		cmocka_unit_test(test_case_90),
		cmocka_unit_test(test_case_92),
		cmocka_unit_test(test_case_94),
		cmocka_unit_test(test_metadata),
		cmocka_unit_test(test_bad_headers),
		cmocka_unit_test(test_library),
		cmocka_unit_test(test_class_and_offset),
		cmocka_unit_test(test_frame_offsets),
		cmocka_unit_test(test_blocks),
		cmocka_unit_test(test_gzip),
		cmocka_unit_test(test_find),
		cmocka_unit_test(test_parts),
		cmocka_unit_test(test_shared),
		cmocka_unit_test(test_header_only),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
