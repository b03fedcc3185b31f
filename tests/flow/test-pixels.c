/* SPDX-License-Identifier: BSD-2-Clause
 * Pixels from record to batch: against other libraries' results, and by hand. */
#include "sets.h"

#include <math.h>

#include "../unit/pictures.h"

static const char *const names[] = { "cat", "grey", "progressive" };

/* One record with this file in it. */
static const char *record_of(const char *path, const char *name)
{
	struct blob file = load(path);
	struct td_bytes image = { file.data, file.len };
	const struct td_field field = { .key = "image", .kind = TUNDISH_BYTES, .n = 1, .bytes = &image };
	struct td_buf record = { 0 };
	struct tundish_writer *w;
	assert_int_equal(td_example_encode(&record, &field, 1, 1 << 30, NULL), 0);
	assert_int_equal(tundish_writer_open(&w, in_scratch(name), TUNDISH_NONE, 0, NULL), 0);
	assert_int_equal(tundish_writer_append(w, record.data, record.len, NULL), 0);
	assert_int_equal(tundish_writer_close(w, NULL), 0);
	td_buf_free(&record);
	free(file.data);
	return in_scratch(name);
}

struct made {
	uint8_t *data;
	struct tundish_batch b;
};

static struct made make(const char *path, const char *ops)
{
	struct tundish_flow_options o;
	struct tundish_flow *flow;
	struct tundish_error e = { 0 };
	struct made m;
	tundish_flow_options_init(&o);
	o.paths = &path;
	o.n_paths = 1;
	o.ops = ops;
	o.threads = 1;
	if (tundish_flow_open(&flow, &o, &e) < 0 || tundish_flow_next(flow, &m.b, &e) != 1)
		fail_msg("%s: %s", ops ? ops : "decode", e.text);
	m.data = malloc(m.b.images_bytes);
	memcpy(m.data, m.b.images, m.b.images_bytes);
	tundish_flow_release(flow, &m.b);
	tundish_flow_close(flow);
	return m;
}

static double value(const struct made *m, size_t i)
{
	return m->b.dtype == TUNDISH_FLOAT32 ? (double)((const float *)(const void *)m->data)[i] :
					       m->data[i];
}

/* The largest difference to an array of NumPy in ../shared. */
static double difference(const char *name, const char *ops, const char *array, bool floats)
{
	char path[256];
	snprintf(path, sizeof path, "tests/golden/pixels/%s.jpg", name);
	struct made m = make(record_of(source_path(path), name), ops);
	snprintf(path, sizeof path, "fixtures/pixels/%s.%s.npy", name, array);
	struct blob b = load(shared_path(path));
	const uint8_t *want = npy_data(&b);
	size_t n = m.b.images_bytes / (m.b.dtype == TUNDISH_FLOAT32 ? 4 : 1);
	double most = 0;
	assert_int_equal((size_t)(b.data + b.len - want), n * (floats ? 4 : 1));
	for (size_t i = 0; i < n; i++) {
		float f;
		memcpy(&f, want + 4 * (floats ? i : 0), 4);
		double d = fabs(value(&m, i) - (floats ? (double)f : want[i]));
		most = d > most ? d : most;
	}
	free(b.data);
	free(m.data);
	return most;
}

static void test_goldens(void **state)
{
	(void)state;
	static const struct {
		const char *ops, *array;
		bool floats;
		double most;
	} rows[] = {
		{ NULL, "islow", false, 0 },
		{ "crop:150x170,x=31,y=40", "crop", false, 0 },
		{ "hflip:1 hflip:1 vflip:1 vflip:1", "islow", false, 0 },
		{ "rot90:1 rot90:1 hflip:1 vflip:1", "islow", false, 0 },
		{ "pad:3/4/5/6 hflip:1 vflip:1 pad:1 rot90:1 rot90:1", "none", false, 0 },
		{ "resize:224", "tf-bilinear", true, 0.02 },
		{ "resize:224,rule=area", "tf-area", true, 0.02 },
		{ "resize:224,rule=antialias", "pil-bilinear", false, 1 },
		{ "central_crop:0.875 resize:224 normalize:seed", "tf-eval", true, 0.001 },
		{ "resize_shorter:256,rule=antialias cast:uint8 center_crop:224 normalize layout:nchw",
		    "torch-eval", true, 0.02 },
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		for (int k = 0; k < 3 && strcmp(rows[i].array, "none"); k++) {
			double most = difference(names[k], rows[i].ops, rows[i].array, rows[i].floats);
			if (most > rows[i].most)
				fail_msg("%s of %s is off by %g", rows[i].ops, names[k], most);
		}
	}
}

static const char *cat(void)
{
	return record_of(source_path("tests/golden/pixels/cat.jpg"), "cat");
}

/* Chains that say the same in other words. */
static void test_equal_chains(void **state)
{
	(void)state;
	static const char *const pairs[][2] = {
		{ "hflip:1 crop:50x60,x=10,y=20", "crop:50x60,x=347,y=20 hflip:1" },
		{ "pad:2 crop:259x417,x=2,y=2", "decode" },
		{ "rot90:1 rot90:1 rot90:1 rot90:1", "decode" },
		{ "center_crop:300", "pad:0/20/0/21 center_crop:300" },
		{ "cast:float32 cast:uint8", "decode" },
		{ "resize:64 crop:32", "resize:64 hflip:1 crop:32,x=32 hflip:1" },
		{ "grayscale:1 clamp:0-255 resize:64", "grayscale:1 resize:64 clamp:0-255" },
		{ "normalize:mean=0,std=0.00392156862745098 cast:uint8", "decode" },
		{ "resize:64 normalize", "resize:64 pad:0 normalize" },
		{ "resize:64 rotate:90-90", "resize:64 rot90:1" },
		{ "rotate:0", "cast:float32" },
		{ "gaussian_blur:1", "cast:float32" },
		{ "color_jitter", "cast:float32" },
		{ "random_erasing:0", "decode" },
		{ "random_erasing:1,value=9 resize:8 clamp:5-5", "resize:8 clamp:5-5" },
	};
	for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
		struct made a = make(cat(), pairs[i][0]), b = make(cat(), pairs[i][1]);
		assert_int_equal(a.b.images_bytes, b.b.images_bytes);
		assert_memory_equal(a.b.shape, b.b.shape, sizeof a.b.shape);
		for (size_t k = 0; k < a.b.images_bytes / (a.b.dtype == TUNDISH_FLOAT32 ? 4 : 1); k++) {
			double d = fabs(value(&a, k) - value(&b, k));
			if (d > 2e-5)
				fail_msg("\"%s\" and \"%s\" differ by %g at %zu", pairs[i][0], pairs[i][1], d, k);
		}
		free(a.data);
		free(b.data);
	}
}

static void test_layout_and_cast(void **state)
{
	(void)state;
	struct made f = make(cat(), "resize:24x32 normalize"), c = make(cat(), "resize:24x32 normalize layout:nchw");
	struct made b = make(cat(), "resize:24x32 normalize cast:bfloat16"), h = make(cat(), "resize:24x32 normalize cast:float16");
	struct made u = make(cat(), "resize:24x32 cast:uint8"), r = make(cat(), "resize:24x32");
	const uint64_t nchw[4] = { 1, 3, 24, 32 };
	assert_memory_equal(c.b.shape, nchw, sizeof nchw);
	for (size_t i = 0; i < 24 * 32 * 3; i++) {
		double v = value(&f, i), size = fabs(v);
		assert_true(value(&c, i % 3 * 24 * 32 + i / 3) == v);
		uint32_t bits = (uint32_t)((const uint16_t *)(const void *)b.data)[i] << 16;
		float back;
		memcpy(&back, &bits, 4);
		assert_true(fabs((double)back - v) <= size / 256 + 1e-30);
		uint16_t half = ((const uint16_t *)(const void *)h.data)[i];
		double e = (half >> 10 & 31) ? ldexp(1024 + (half & 1023), (half >> 10 & 31) - 25) :
					       ldexp(half & 1023, -24);
		assert_true(fabs((half >> 15 ? -e : e) - v) <= size / 2048 + 1e-7);
		assert_true(fabs(value(&u, i) - value(&r, i)) <= 0.5);
	}
	assert_int_equal(b.b.dtype, TUNDISH_BFLOAT16);
	assert_int_equal(h.b.images_bytes, 24 * 32 * 3 * 2);
	free(f.data), free(c.data), free(b.data), free(h.data), free(u.data), free(r.data);
}

/* Every level of grey there is: (x / 255 - mean) / std as NumPy gives it in float32. */
static void test_levels(void **state)
{
	(void)state;
	static const double mean[3] = { 0.485, 0.456, 0.406 }, std[3] = { 0.229, 0.224, 0.225 };
	const char *set = record_of(source_path("tests/golden/cases/82-normalise-rounding/in/c/all-256.png"), "levels");
	struct made x = make(set, NULL), n = make(set, "normalize"), unit = make(set, "normalize:unit");
	struct made seed = make(set, "normalize:seed"), own = make(set, "normalize:mean=.485/.456/.406,std=.229/.224/.225");
	for (size_t i = 0; i < 256 * 3; i++) {
		double v = (x.data[i] / 255.0 - mean[i % 3]) / std[i % 3];
		assert_true(fabs(value(&n, i) - v) < 1e-6);
		assert_true(value(&own, i) == value(&n, i));
		assert_true(fabs(value(&unit, i) - x.data[i] / 255.0) < 1e-7);
		assert_true(fabs(value(&seed, i) - (x.data[i] - 127.5) / 127.5) < 1e-6);
	}
	free(x.data), free(n.data), free(unit.data), free(seed.data), free(own.data);
}

static void test_small_resize(void **state)
{
	(void)state;
	static const float want[16] = { 200, 160, 80, 40, 160, 140, 100, 80, 80, 100, 140, 160, 40, 80,
		160, 200 };
	const char *folder = "tests/golden/cases/81-resize-rules/in/c/";
	char path[128];
	snprintf(path, sizeof path, "%stwo-by-two.png", folder);
	struct made m = make(record_of(source_path(path), "two"), "resize:4");
	for (size_t i = 0; i < 16; i++)
		assert_true(fabs(value(&m, 3 * i) - (double)want[i]) < 1e-4);
	free(m.data);
	snprintf(path, sizeof path, "%sramp.png", folder);
	static const double plain[4] = { 18.75, 81.25, 143.75, 206.25 }, smooth[4] = { 25, 81, 144, 200 };
	const char *ramp = record_of(source_path(path), "ramp");
	struct made a = make(ramp, NULL);
	unsigned height = (unsigned)a.b.shape[1];
	char ops[64];
	free(a.data);
	snprintf(ops, sizeof ops, "resize:%ux4", height);
	a = make(ramp, ops);
	snprintf(ops, sizeof ops, "resize:%ux4,rule=antialias", height);
	m = make(ramp, ops);
	for (size_t i = 0; i < 4; i++) {
		assert_true(fabs(value(&a, 3 * i) - plain[i]) < 1e-4);
		assert_true(fabs(value(&m, 3 * i) - smooth[i]) <= 1);
	}
	free(a.data);
	free(m.data);
	snprintf(path, sizeof path, "%schecker.png", folder);
	const char *checker = record_of(source_path(path), "checker");
	a = make(checker, "resize:16");
	m = make(checker, "resize:16,rule=antialias");
	for (size_t i = 0; i < 16 * 16 * 3; i++) {
		assert_true(fabs(value(&a, i) - 127.5) <= 1);
		assert_true(fabs(value(&m, i) - 127.5) <= 1);
	}
	free(a.data);
	free(m.data);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_goldens),
		cmocka_unit_test(test_equal_chains),
		cmocka_unit_test(test_layout_and_cast),
		cmocka_unit_test(test_levels),
		cmocka_unit_test(test_small_resize),
	};
	return cmocka_run_group_tests(tests, make_scratch, clear_scratch);
}
