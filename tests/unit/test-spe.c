/* SPDX-License-Identifier: BSD-2-Clause */
#include "rasters.h"

#define SPE_FIXTURES "fixtures/formats/spe/"

static const struct known {
	const char *name, *dtype;
	unsigned frames, rows, columns;
	const char *sha256;
	double exposure;
	const char *date;
} known[] = {
	{ "v2_aspirin.spe", "float32", 1, 1, 1024,
	    "660bc1efe6b48aad238b51bf609173364e670bccb33d3e2820a7ac9231712881", 0, NULL },
	{ "v2_blut1.SPE", "uint16", 10, 1, 1023,
	    "9cc2113b253ad78b70814295c3ba08c26850a6dbe0c5a4edf405656cde9e3d0c", 3, "20Aug2013" },
	{ "v2_kuvette.SPE", "uint16", 10, 1, 1023,
	    "61578dd4f9da8f4ab8b88ce8605b842af1db1e89ea20b85eb28a48135da95ab0", 3, "20Aug2013" },
	{ "v2_polystyrene.SPE", "uint16", 1, 1, 1340,
	    "64749594158ffdeaa54aba6796a54a072d837ff5333703df4b791f3aa4c037e7", 0.10000000149011612,
	    "23Jun2015" },
	{ "v2_spestack_test.spe", "uint16", 5, 128, 128,
	    "0d9597a15ec14a773292751840389c0ef8b6d4e954fbef759002adabd4fe8e29", 0, "22Jul2015" },
	{ "v2_step_and_glue_andor.spe", "float32", 1, 1, 4711,
	    "ca74fe44eb8d132da7eac3c0a353ccbc5db00b3b122a7be8914549219038fa4d", 0.019999999552965164,
	    "21Nov2024" },
	{ "v3_spe_format_3.0.SPE", "float32", 1, 1, 1340,
	    "f481261a21c69543c0463c4584e4660cb4786c3b216d9c6ea1388e8676a6bbd8", 4, NULL },
	{ "v3_step_and_glue_lightfield.spe", "uint16", 1, 1, 5344,
	    "57d667ed71bdd5ba60b31643866bf3067b2eeb20878c71d51e4db7366faa08ae", -1, NULL },
};

static struct td_raster *open_known(const char *name, struct notices *n)
{
	char path[128];
	snprintf(path, sizeof path, SPE_FIXTURES "%s", name);
	return open_raster(shared_path(path), n);
}

static void test_known(void **state)
{
	(void)state;
	for (size_t i = 0; i < TD_COUNT(known); i++) {
		const struct known *k = &known[i];
		struct notices n;
		struct td_raster *r = open_known(k->name, &n);
		if (n.n)
			fail_msg("%s: %s", k->name, n.last);
		assert_int_equal(td_raster_info(r)->kind, TD_RASTER_SPE);
		assert_string_equal(td_elem_name(td_raster_info(r)->dtype), k->dtype);
		must_have_shape(r, 0, k->frames, k->rows, k->columns);
		must_be_array(r, 0, k->sha256, k->name);
		if (k->exposure >= 0)
			near(json_real_value(meta(r, "exposure_s")), k->exposure);
		if (k->date)
			meta_text(r, "date", k->date);
		parts_equal_whole(r, 0, 60);
		td_raster_close(r);
	}
}

/* Order and unit of the header's calibration, and the polynomial at the first pixels. */
static void test_axis_2(void **state)
{
	(void)state;
	struct notices n;
	struct td_raster *r = open_known("v2_blut1.SPE", &n);
	double axis[1023];
	const double c[] = { 805.3970247667676, 0.3180204630272863, -4.2273047286305724e-05 };
	assert_int_equal(td_raster_axis(axis, r, 0, 1), 1);
	near(axis[0], c[0] + c[1] + c[2]);
	near(axis[1022], c[0] + c[1] * 1023 + c[2] * 1023 * 1023);
	assert_int_equal(td_raster_axis(axis, r, 0, 0), 1);
	near(axis[0], c[0]);
	assert_string_equal(td_raster_info(r)->axis_unit, "nm");
	const json_t *x = meta(r, "x_calibration");
	assert_int_equal(json_integer_value(json_object_get(x, "order")), 2);
	assert_int_equal(json_array_size(json_object_get(x, "coefficients")), 3);
	near(json_real_value(json_object_get(x, "laser_nm")), 784.068);
	meta_text(r, "software", "2.6.5 Aug2011");
	meta_text(r, "local_time", "165014");
	near(json_real_value(meta(r, "detector_temperature")), -70);
	assert_int_equal(json_integer_value(meta(r, "accumulations")) >= 0, 1);
	td_raster_close(r);

	r = open_known("v2_spestack_test.spe", &n);
	meta_text(r, "local_time", "094018");
	assert_int_equal(json_array_size(meta(r, "comments")), 2);
	assert_int_equal(td_raster_axis(axis, r, 0, 1), 0);
	td_raster_close(r);
}

static void test_axis_3(void **state)
{
	(void)state;
	static const struct {
		const char *name;
		unsigned n;
		double first, second, last;
	} axes[] = {
		{ "v3_spe_format_3.0.SPE", 1340, 782.1702507093323, 782.4320135256274,
		    1073.2541899884045 },
		{ "v3_step_and_glue_lightfield.spe", 5344, 340.0304014991146, 340.09784218338234,
		    690.0564202615287 },
		{ "derived_v3_demo_2roi_first3frames.spe", 1024, 431.6658874510205,
		    431.79901292978803, 568.1635259510349 },
	};
	static double axis[5344];
	for (size_t i = 0; i < TD_COUNT(axes); i++) {
		struct notices n;
		struct td_raster *r = open_known(axes[i].name, &n);
		assert_int_equal(td_raster_axis(axis, r, td_raster_info(r)->n_regions - 1, 1), 1);
		near(axis[0], axes[i].first);
		near(axis[1], axes[i].second);
		near(axis[axes[i].n - 1], axes[i].last);
		assert_string_equal(td_raster_info(r)->axis_unit, "nm");
		td_raster_close(r);
	}
}

/* Two regions and four values behind each frame, which stand in the way of the next. */
static void test_demo(void **state)
{
	(void)state;
	static const char *const names[] = { "exposure_started", "exposure_ended",
		"frame_tracking_number", "gate_delay" };
	static const int64_t whole[3][3] = { { 109296, 259296, 1 }, { 811765, 961765, 2 },
		{ 1525582, 1675582, 3 } };
	static const double delay[] = { 1000000.0, 1444444.44, 1888888.89 };
	struct notices n;
	struct td_raster *r = open_known("derived_v3_demo_2roi_first3frames.spe", &n);
	const struct td_raster_info *info = td_raster_info(r);
	assert_int_equal(n.n, 0);
	assert_int_equal(info->n_regions, 2);
	must_have_shape(r, 0, 3, 77, 1024);
	must_have_shape(r, 1, 3, 77, 1024);
	must_be_array(r, 0, "47cd464a3e11b409c4fcbf56077cc757ecaac332a8e51c93ad1062655ac2c3af", "0");
	must_be_array(r, 1, "4fe08eefb891d66cea2ac4a2f2064cb9b8b18f2126fd76bf5b24fe7a9ed476ec", "1");
	assert_int_equal(info->regions[0].y, 0);
	assert_int_equal(info->regions[1].y, 172);
	parts_equal_whole(r, 1, 40);
	assert_int_equal(info->n_fields, 4);
	for (unsigned i = 0; i < 4; i++)
		assert_string_equal(info->fields[i].name, names[i]);
	assert_int_equal(info->fields[0].resolution, 10000000);
	for (uint64_t f = 0; f < 3; f++) {
		union td_raster_value v[4];
		assert_int_equal(td_raster_frame(v, r, f, NULL), 0);
		for (int i = 0; i < 3; i++)
			assert_int_equal(v[i].i, whole[f][i]);
		near(v[3].f, delay[f]);
	}
	union td_raster_value v[4];
	assert_int_equal(td_raster_frame(v, r, 3, NULL), TUNDISH_E_INVALID);
	td_raster_close(r);
}

/* 5 frames of 6 x 8 with (48 k + 8 y + x) * 7, whatever the old header says. */
static void test_case_96(void **state)
{
	(void)state;
	static const struct {
		const char *name;
		unsigned notices;
	} files[] = { { "footer", 0 }, { "frame-metadata", 0 }, { "header-dims-wrong", 0 },
		{ "header-dims-zero", 0 }, { "footer-offset-past-end", 1 }, { "footer-cut", 1 } };
	for (size_t i = 0; i < TD_COUNT(files); i++) {
		char path[128];
		struct notices n;
		uint64_t bytes;
		snprintf(path, sizeof path, CASES "96-spe3-footer-and-stride/%s.spe", files[i].name);
		struct td_raster *r = open_raster(source_path(path), &n);
		if (!!n.n != files[i].notices)
			fail_msg("%s: %u notices, the last: %s", files[i].name, n.n, n.last);
		must_have_shape(r, 0, 5, 6, 8);
		uint8_t *all = read_all(r, 0, &bytes);
		for (unsigned k = 0; k < 240; k++)
			assert_int_equal(((uint16_t *)all)[k], k * 7);
		free(all);
		parts_equal_whole(r, 0, 40);
		td_raster_close(r);
	}
	must_fail(source_path(CASES "96-spe3-footer-and-stride/two-regions.spe"), TUNDISH_E_CORRUPT,
	    "2 regions do not fit into frames of 96 bytes");
}

/* A version 2 file in memory, 3 frames of 4 x 2. */
struct file {
	uint8_t bytes[4100 + 3 * 4 * 2 * 8];
	size_t len;
};

static void put16(struct file *f, size_t at, unsigned v)
{
	f->bytes[at] = (uint8_t)v;
	f->bytes[at + 1] = (uint8_t)(v >> 8);
}

static void make(struct file *f, unsigned type, unsigned z, unsigned frames)
{
	memset(f, 0, sizeof *f);
	put16(f, 42, 4);
	put16(f, 656, 2);
	put16(f, 108, type);
	put16(f, 1446, frames);
	memcpy(f->bytes + 2996, "\x67\x45\x23\x01", 4);
	for (unsigned i = 0; i < 24 * z; i++)
		f->bytes[4100 + i] = (uint8_t)(i + 1);
	f->len = 4100 + 24 * z;
}

static int open_made(struct td_raster **ret, const struct file *f, struct notices *n,
    struct tundish_error *e)
{
	struct tundish_listener l = listen_to(n);
	memset(n, 0, sizeof *n);
	memset(e, 0, sizeof *e);
	return td_raster_open_memory(ret, f->bytes, f->len, NULL, 0, &l, e);
}

static void test_types(void **state)
{
	(void)state;
	static const struct {
		unsigned code, z;
		enum td_elem dtype;
	} types[] = { { 0, 4, TD_FLOAT32 }, { 1, 4, TD_INT32 }, { 2, 2, TD_INT16 }, { 3, 2, TD_UINT16 },
		{ 5, 8, TD_FLOAT64 }, { 6, 1, TD_UINT8 }, { 7, 1, TD_UINT8 }, { 8, 4, TD_UINT32 } };
	struct file f;
	struct notices n;
	struct tundish_error e;
	struct td_raster *r;
	for (size_t i = 0; i < TD_COUNT(types); i++) {
		uint64_t bytes;
		make(&f, types[i].code, types[i].z, 3);
		assert_int_equal(open_made(&r, &f, &n, &e), 0);
		assert_int_equal(n.n, types[i].code == 6);
		assert_int_equal(td_raster_info(r)->dtype, types[i].dtype);
		must_have_shape(r, 0, 3, 2, 4);
		uint8_t *all = read_all(r, 0, &bytes);
		assert_int_equal(bytes, 24 * types[i].z);
		assert_memory_equal(all, f.bytes + 4100, bytes);
		free(all);
		td_raster_close(r);
	}
	make(&f, 4, 1, 3);
	assert_int_equal(open_made(&r, &f, &n, &e), TUNDISH_E_UNSUPPORTED);
	assert_non_null(strstr(e.text, "data type 4"));
}

static void test_counts(void **state)
{
	(void)state;
	struct file f;
	struct notices n;
	struct tundish_error e;
	struct td_raster *r;
	/* said, there, read, missing */
	static const unsigned cases[][4] = { { 0, 3, 3, 0 }, { 2, 3, 2, 0 }, { 9, 3, 3, 6 },
		{ 3, 2, 2, 1 } };
	for (size_t i = 0; i < TD_COUNT(cases); i++) {
		make(&f, 3, 2, cases[i][0]);
		f.len = 4100 + 16 * cases[i][1] + 5 * (cases[i][0] == 0);
		assert_int_equal(open_made(&r, &f, &n, &e), 0);
		assert_int_equal(n.n > 0, 1);
		assert_int_equal(td_raster_info(r)->regions[0].shape[0], cases[i][2]);
		assert_int_equal(td_raster_info(r)->missing_frames, cases[i][3]);
		td_raster_close(r);
	}
	make(&f, 3, 2, 3);
	f.len = 4100 + 15;
	assert_int_equal(open_made(&r, &f, &n, &e), TUNDISH_E_TRUNCATED);
	make(&f, 3, 2, 3);
	put16(&f, 656, 0);
	assert_int_equal(open_made(&r, &f, &n, &e), TUNDISH_E_CORRUPT);
	make(&f, 3, 4, 3);
	assert_int_equal(open_made(&r, &f, &n, &e), 0);
	assert_int_equal(n.n, 2);
	td_raster_close(r);
}

/* Frames of two regions one behind the other, the second with its ends exchanged. */
static void test_regions_2(void **state)
{
	(void)state;
	static const unsigned table[2][6] = { { 11, 12, 1, 21, 22, 1 }, { 40, 33, 2, 5, 5, 1 } };
	struct file f;
	struct notices n;
	struct tundish_error e;
	struct td_raster *r;
	uint64_t bytes;
	make(&f, 3, 2, 3);
	put16(&f, 1510, 2);
	for (unsigned i = 0; i < 12; i++)
		put16(&f, 1512 + 2 * i, table[i / 6][i % 6]);
	assert_int_equal(open_made(&r, &f, &n, &e), 0);
	const struct td_raster_info *info = td_raster_info(r);
	assert_int_equal(info->n_regions, 2);
	must_have_shape(r, 0, 3, 2, 2);
	must_have_shape(r, 1, 3, 1, 4);
	assert_int_equal(info->regions[0].x, 10);
	assert_int_equal(info->regions[1].x, 32);
	assert_int_equal(info->regions[1].x_binning, 2);
	for (unsigned region = 0; region < 2; region++) {
		uint8_t *all = read_all(r, region, &bytes);
		for (unsigned k = 0; k < 3; k++)
			assert_memory_equal(all + 8 * k, f.bytes + 4100 + 16 * k + 8 * region, 8);
		free(all);
	}
	json_t *j = td_raster_describe(r);
	assert_int_equal(json_array_size(json_object_get(j, "regions")), 2);
	json_decref(j);
	td_raster_close(r);
	put16(&f, 1512 + 4, 2);
	assert_int_equal(open_made(&r, &f, &n, &e), 0);
	assert_int_equal(td_raster_info(r)->n_regions, 1);
	assert_int_equal(n.n, 1);
	td_raster_close(r);
}

/* A version 3 file with any footer, over 80 bytes of data. */
static int open_footer(struct td_raster **ret, const char *xml, struct notices *n,
    struct tundish_error *e)
{
	static uint8_t bytes[8192];
	struct tundish_listener l = listen_to(n);
	size_t len = strlen(xml);
	memset(bytes, 0, sizeof bytes);
	memset(n, 0, sizeof *n);
	memset(e, 0, sizeof *e);
	memcpy(bytes + 2996, "\x67\x45\x23\x01", 4);
	memcpy(bytes + 1992, "\0\0\x40\x40", 4);
	bytes[678] = (4100 + 80) & 255;
	bytes[679] = (4100 + 80) >> 8;
	for (unsigned i = 0; i < 80; i++)
		bytes[4100 + i] = (uint8_t)i;
	memcpy(bytes + 4180, xml, len);
	return td_raster_open_memory(ret, bytes, 4180 + len, NULL, 0, &l, e);
}

#define FRAME(attributes, regions, more)                                                           \
	"<SpeFormat><DataFormat><DataBlock type='Frame' pixelFormat='MonochromeUnsigned16' " attributes  \
	">" regions "</DataBlock></DataFormat>" more "</SpeFormat>"
#define REGION(attributes) "<DataBlock type='Region' " attributes "/>"

static void test_footers(void **state)
{
	(void)state;
	struct notices n;
	struct tundish_error e;
	struct td_raster *r;
	/* two frames of 40 bytes, a region counted twice, 8 bytes of values */
	const char *xml = FRAME("count='2' size='32' stride='40' metaFormat='7'",
	    REGION("count='2' width='4' height='2' size='16' stride='16' calibrations='3'"),
	    "<MetaFormat><MetaBlock id='7'><GateTracking component='Width' type='Double' "
	    "bitDepth='64'/></MetaBlock></MetaFormat><Calibrations>"
	    "<SensorMapping id='3' x='2' y='1' width='8' height='2' xBinning='2' yBinning='1'/>"
	    "<WavelengthMapping id='3'><WavelengthError>1,9 2,9 3,9 4,9 5,9 6,9 7,9 8,9 9,9 10,9"
	    "</WavelengthError></WavelengthMapping></Calibrations>");
	assert_int_equal(open_footer(&r, xml, &n, &e), 0);
	assert_int_equal(n.n, 0);
	assert_int_equal(td_raster_info(r)->n_regions, 2);
	must_have_shape(r, 1, 2, 2, 4);
	uint64_t bytes;
	uint8_t *all = read_all(r, 1, &bytes);
	assert_int_equal(all[0], 16);
	assert_int_equal(all[16], 56);
	free(all);
	assert_string_equal(td_raster_info(r)->fields[0].name, "gate_width");
	double axis[4];
	assert_int_equal(td_raster_axis(axis, r, 0, 1), 1);
	near(axis[0], 3.5);
	near(axis[3], 9.5);
	td_raster_close(r);

	static const struct {
		const char *xml;
		int code;
		const char *part;
	} bad[] = {
		{ FRAME("count='1' size='8' stride='4'",
		    REGION("width='2' height='2' size='8' stride='8'"), ""), TUNDISH_E_CORRUPT,
		    "every 4" },
		{ FRAME("count='1' size='8' stride='8'",
		    REGION("width='2' height='2' size='6' stride='8'"), ""), TUNDISH_E_CORRUPT,
		    "region 0" },
		{ FRAME("count='1' size='8' stride='8'",
		    REGION("width='4294967296' height='4294967296' size='0' stride='8'"), ""),
		    TUNDISH_E_CORRUPT, "region 0" },
		{ FRAME("count='1' size='8' stride='8'",
		    REGION("count='1025' width='2' height='2' size='8' stride='8'"), ""),
		    TUNDISH_E_LIMIT, "regions" },
		{ FRAME("count='1' size='96' stride='96'",
		    REGION("width='8' height='6' size='96' stride='96'"), ""), TUNDISH_E_TRUNCATED,
		    "not one whole frame" },
	};
	for (size_t i = 0; i < TD_COUNT(bad); i++) {
		int rc = open_footer(&r, bad[i].xml, &n, &e);
		if (rc != bad[i].code || !strstr(e.text, bad[i].part))
			fail_msg("footer %zu: %d %s", i, rc, e.text);
	}
}

/* Entities are never unfolded; with this header there is nothing to fall back on. */
static void test_entities(void **state)
{
	(void)state;
	struct notices n;
	struct tundish_error e;
	struct td_raster *r;
	const char *xml = "<!DOCTYPE a [<!ENTITY b 'bbbb'><!ENTITY c '&b;&b;&b;'>]>"
			  "<SpeFormat>&c;&c;</SpeFormat>";
	assert_int_equal(open_footer(&r, xml, &n, &e), TUNDISH_E_CORRUPT);
	assert_non_null(strstr(n.last, "entities"));
	/* values that do not fill the room behind a frame are left out */
	xml = FRAME("count='1' size='16' stride='32' metaFormat='1'",
	    REGION("width='4' height='2' size='16' stride='16'"),
	    "<MetaFormat><MetaBlock id='1'><FrameTrackingNumber type='Int64' bitDepth='64'/>"
	    "</MetaBlock></MetaFormat>");
	assert_int_equal(open_footer(&r, xml, &n, &e), 0);
	assert_int_equal(td_raster_info(r)->n_fields, 0);
	assert_non_null(strstr(n.last, "left out"));
	td_raster_close(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_known),
		cmocka_unit_test(test_axis_2),
		cmocka_unit_test(test_axis_3),
		cmocka_unit_test(test_demo),
		cmocka_unit_test(test_case_96),
		cmocka_unit_test(test_types),
		cmocka_unit_test(test_counts),
		cmocka_unit_test(test_regions_2),
		cmocka_unit_test(test_footers),
		cmocka_unit_test(test_entities),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
