/* SPDX-License-Identifier: BSD-2-Clause
 * Raw tensors: where shape and type are told, what comes out, operations on any channels. */
#include "sets.h"

#include <math.h>

#define H 6
#define W 5
#define C 4

static double number(unsigned id, unsigned y, unsigned x, unsigned c)
{
	return 100 * id + 17 * y + 5 * x + c;
}

struct kind {
	enum td_elem elem;
	const char *key;   /* of the bytes */
	bool dtype, shape; /* features beside them */
	unsigned flaw;	   /* 1: record 2 is empty, 3 too short, 4 of another type, 5 of fewer channels */
};

static void add_tensor(struct tundish_writer *w, const struct kind *k, unsigned id)
{
	static uint8_t data[H * W * C * 16];
	unsigned channels = k->flaw && id == 5 ? C - 1 : C;
	size_t n = 0, each = td_elem_bytes(k->elem);
	for (unsigned y = 0; y < H; y++)
		for (unsigned x = 0; x < W; x++)
			for (unsigned c = 0; c < channels; c++, n++)
				td_elem_put(k->elem, data + n * each, number(id, y, x, c));
	const char *name = td_elem_name(k->flaw && id == 4 ? TD_INT8 : k->elem);
	const struct td_bytes value = { data, k->flaw && id == 2 ? 0 : n * each - (k->flaw && id == 3) }, dtype = { name, strlen(name) };
	const int64_t shape[3] = { H, W, channels }, label = id;
	struct td_field fields[4] = {
		{ .key = k->key, .kind = TUNDISH_BYTES, .n = 1, .bytes = &value },
		{ .key = "label", .kind = TUNDISH_INT64, .n = 1, .ints = &label },
	};
	size_t fields_n = 2;
	if (k->dtype)
		fields[fields_n++] = (struct td_field){ .key = "dtype", .kind = TUNDISH_BYTES, .n = 1, .bytes = &dtype };
	if (k->shape)
		fields[fields_n++] = (struct td_field){ .key = "image/shape", .kind = TUNDISH_INT64, .n = 3, .ints = shape };
	struct td_buf record = { 0 };
	assert_int_equal(td_example_encode(&record, fields, fields_n, 1 << 20, NULL), 0);
	assert_int_equal(tundish_writer_append(w, record.data, record.len, NULL), 0);
	td_buf_free(&record);
}

static const char *write_tensors(const char *name, struct kind k, unsigned n)
{
	struct tundish_writer *w;
	assert_int_equal(tundish_writer_open(&w, in_scratch(name), TUNDISH_NONE, 0, NULL), 0);
	for (unsigned id = 0; id < n; id++)
		add_tensor(w, &k, id);
	assert_int_equal(tundish_writer_close(w, NULL), 0);
	return in_scratch(name);
}

static const struct kind shaped = { TD_UINT16, "image/value", true, true, 0 };

/* All types come out as they went in, in their shape. */
static void test_types(void **state)
{
	(void)state;
	struct td_buf images = { 0 };
	for (int elem = TD_UINT8; elem <= TD_COMPLEX128; elem++) {
		char name[32];
		struct kind k = shaped;
		k.elem = (enum td_elem)elem;
		snprintf(name, sizeof name, "type-%d", elem);
		struct tundish_batch b = first_batch(write_tensors(name, k, 7), NULL, 0, &images);
		const uint64_t want[4] = { 7, H, W, C };
		assert_int_equal(b.ndim, 4);
		assert_memory_equal(b.shape, want, sizeof want);
		assert_int_equal(b.dtype, td_elem_dtype(k.elem));
		assert_int_equal(b.images_bytes, 7 * H * W * C * td_elem_bytes(k.elem));
		for (unsigned i = 0; i < 7 * H * W * C; i++) {
			double v = number(i / (H * W * C), i / (W * C) % H, i / C % W, i % C);
			v = elem == TD_UINT8 ? fmin(v, 255) : elem == TD_INT8 ? fmin(v, 127) : v;
			assert_true(td_elem_value(k.elem, images.data, i) == v);
		}
	}
	td_buf_free(&images);
}

/* Operations that keep the type do so; others give float32. */
static void test_ops(void **state)
{
	(void)state;
	const char *path = write_tensors("ops", shaped, 7);
	struct td_buf a = { 0 };
	struct tundish_batch b = first_batch(path, "crop:3x2,x=1,y=2 hflip:1 bands:4,2-3", 0, &a);
	assert_int_equal(b.dtype, TUNDISH_UINT16);
	const uint64_t want[4] = { 7, 3, 2, 3 };
	assert_memory_equal(b.shape, want, sizeof want);
	for (unsigned i = 0; i < 7 * 3 * 2 * 3; i++) {
		unsigned c = (unsigned[]){ 3, 1, 2 }[i % 3], x = 2 - i / 3 % 2, y = 2 + i / 6 % 3;
		assert_int_equal(((uint16_t *)(void *)a.data)[i], (int)number(i / 18, y, x, c));
	}
	b = first_batch(path, "bands:1 rot90:1 pad:1,value=9 layout:nchw", 0, &a);
	assert_int_equal(b.dtype, TUNDISH_UINT16);
	assert_int_equal(b.shape[1], 1);
	assert_int_equal(b.shape[2], W + 2);
	assert_int_equal(b.shape[3], H + 2);
	assert_int_equal(((uint16_t *)(void *)a.data)[0], 9);
	assert_int_equal(((uint16_t *)(void *)a.data)[H + 3], (int)number(0, 0, W - 1, 0));
	/* values are taken as they are: no part of 255 */
	b = first_batch(path, "normalize:mean=1/2/3/4,std=10 layout:nchw", 0, &a);
	assert_int_equal(b.dtype, TUNDISH_FLOAT32);
	for (unsigned i = 0; i < 7 * H * W * C; i++) {
		unsigned c = i / (H * W) % C;
		double v = number(i / (H * W * C), i / W % H, i % W, c);
		assert_true(fabs((double)((float *)(void *)a.data)[i] - (v - (c + 1)) / 10) < 1e-4);
	}
	b = first_batch(path, "resize:3x5,rule=area cast:uint8", 0, &a);
	assert_int_equal(b.dtype, TUNDISH_UINT8);
	for (unsigned i = 0; i < 3 * W * C; i++) {
		/* rows 2y and 2y + 1 have a mean that ends in a half: to even */
		double v = (number(1, i / (W * C) * 2, i / C % W, i % C) + number(1, i / (W * C) * 2 + 1, i / C % W, i % C)) / 2;
		assert_int_equal(a.data[3 * W * C + i], (int)fmin(rint(v), 255));
	}
	first_batch(path, "gaussian_blur:3 rotate:30 clamp:0-5 random_erasing:1 resize_shorter:4 random_resized_crop:2", 0, &a);
	td_buf_free(&a);
}

/* A linear ramp stays one under any resize that is not at its border. */
static void test_resize(void **state)
{
	(void)state;
	struct td_buf a = { 0 };
	struct kind k = shaped;
	for (int elem = TD_UINT16; elem <= TD_FLOAT64; elem += TD_FLOAT64 - TD_UINT16) {
		k.elem = (enum td_elem)elem;
		first_batch(write_tensors(elem == TD_UINT16 ? "ramp-16" : "ramp-64", k, 7), "resize:12x10", 0, &a);
		const float *v = (const float *)(const void *)a.data;
		for (unsigned y = 1; y < 11; y++)
			for (unsigned x = 1; x < 9; x++)
				for (unsigned c = 0; c < C; c++) {
					double want = 100 + 17 * ((y + .5) / 2 - .5) + 5 * ((x + .5) / 2 - .5) + c;
					assert_true(fabs((double)v[((12 + y) * 10 + x) * C + c] - want) < 1e-3);
				}
	}
	td_buf_free(&a);
}

static void write_text(const char *path, const char *text)
{
	FILE *f = fopen(path, "we");
	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	fclose(f);
}

/* Without a shape in the record: features.json, or the operation. */
static void test_shapes(void **state)
{
	(void)state;
	static const char features[] = "{\"featuresDict\":{\"features\":{\"image\":{\"tensor\":{\"shape\":"
		"{\"dimensions\":[%s]},\"dtype\":\"uint16\",\"encoding\":\"bytes\"}}}}}";
	static struct run r;
	char text[512];
	struct td_buf a = { 0 };
	assert_int_equal(mkdir(in_scratch("told"), 0755), 0);
	const char *path = write_tensors("told/s", (struct kind){ TD_UINT16, "image", true, false, 0 }, 7);
	const char *bare = write_tensors("told/bare", (struct kind){ TD_UINT16, "image", false, false, 0 }, 7);
	const char *json = in_scratch("told/features.json");
	again(&r, path, NULL);
	run_flow(&r);
	assert_int_equal(r.rc, TUNDISH_E_USAGE);
	assert_non_null(strstr(r.e.text, "records hold arrays of uint16, but nothing tells their shape"));
	struct tundish_batch b = first_batch(path, "tensor:12x5x2 bands:1", 0, &a);
	assert_true(b.ndim == 4 && b.shape[1] == 12 && b.shape[3] == 1 && b.dtype == TUNDISH_UINT16);
	b = first_batch(path, "tensor:10x12", 0, &a);
	assert_true(b.ndim == 4 && b.shape[1] == 10 && b.shape[2] == 12 && b.shape[3] == 1);
	b = first_batch(path, "tensor:2x3x4x5 clamp:0-2", 0, &a);
	assert_true(b.ndim == 5 && b.shape[1] == 2 && b.shape[4] == 5 && b.dtype == TUNDISH_FLOAT32);
	b = first_batch(bare, "tensor:240", 0, &a);
	assert_true(b.ndim == 2 && b.shape[1] == 240 && b.dtype == TUNDISH_UINT8);
	snprintf(text, sizeof text, features, "\"6\",\"-1\",\"4\"");
	write_text(json, text);
	for (int i = 0; i < 2; i++) {
		b = first_batch(i ? bare : path, NULL, 0, &a);
		assert_true(b.ndim == 4 && b.shape[1] == H && b.shape[2] == W && b.dtype == TUNDISH_UINT16);
	}
	snprintf(text, sizeof text, features, "\"-1\",\"0\",\"4\"");
	write_text(json, text);
	again(&r, path, NULL);
	run_flow(&r);
	assert_int_equal(r.rc, TUNDISH_E_USAGE);
	assert_non_null(strstr(r.e.text, "features.json leaves 2 of 3 sides of the arrays open"));
	snprintf(text, sizeof text, features, "\"7\",\"5\",\"4\"");
	write_text(json, text);
	again(&r, path, NULL);
	run_flow(&r);
	assert_int_equal(r.rc, TUNDISH_E_USAGE);
	assert_non_null(strstr(r.e.text, "none of the first records holds an array of the shape and type"));
	static const char *const wrong[][2] = {
		{ "tensor:8x5x3,dtype=uint16 hflip normalize", "normalize of uint16 arrays needs mean and std" },
		{ "tensor:6x5x4,dtype=uint16 grayscale", "grayscale cannot be done to pictures or arrays of 4 channels" },
		{ "tensor:6x5x4,dtype=uint16 bands:5", "bands cannot be done to pictures or arrays of 4 channels" },
		{ "tensor:6x5x4,dtype=uint16 normalize:mean=1/2/3,std=1", "normalize cannot be done to" },
		{ "tensor:120,dtype=uint16 hflip", "arrays of 1 axes can be normalized, clamped and cast alone" },
		{ "tensor:120,dtype=uint16 layout:nchw", "arrays of 1 axes can be normalized" },
		{ "tensor:15x1x2,dtype=complex64 clamp:0-1", "complex numbers can be cropped and turned only" },
	};
	for (size_t i = 0; i < TD_COUNT(wrong); i++) {
		again(&r, bare, wrong[i][0]);
		run_flow(&r);
		assert_int_equal(r.rc, TUNDISH_E_USAGE);
		if (!strstr(r.e.text, wrong[i][1]))
			fail_msg("%s: %s", wrong[i][0], r.e.text);
	}
	td_buf_free(&a);
	td_buf_free(&r.faults);
}

static void test_bad(void **state)
{
	(void)state;
	static struct run r;
	struct kind k = shaped;
	k.flaw = 1;
	again(&r, write_tensors("bad", k, 20), NULL);
	r.o.batch = 32;
	run_flow(&r);
	assert_int_equal(r.rc, 0);
	assert_int_equal(r.counts[0], 16);
	assert_non_null(strstr(FAULTS(&r), "the array is empty\n"));
	assert_non_null(strstr(FAULTS(&r), "239 bytes are no array 6x5x4 of uint16\n"));
	assert_non_null(strstr(FAULTS(&r), "an array that is not of uint16\n"));
	assert_non_null(strstr(FAULTS(&r), "3 channels, wanted are 4\n"));
	again(&r, write_tensors("none", shaped, 2), "crop:7x7");
	run_flow(&r);
	assert_int_equal(r.samples, 0);
	td_buf_free(&r.faults);
}

/* The same for any number of threads, kept or read. */
static void test_same(void **state)
{
	(void)state;
	static const char *const caches[] = { NULL, "memory:raw", "memory:decoded", "memory:ops" };
	static struct run r;
	char digest[65] = "";
	struct kind k = shaped;
	const char *path = write_tensors("same", k, 61);
	for (unsigned i = 0; i < 8; i++) {
		again(&r, path, "bands:3,1-2 random_crop:4x3 hflip normalize:mean=3,std=7 cast:float16");
		r.o.threads = (unsigned[]){ 1, 2, 3, 8, 99, 2, 2, 3 }[i];
		r.o.cache = caches[i % 4];
		r.o.shuffle = "full";
		r.o.epochs = 2;
		r.o.batch = 8;
		run_flow(&r);
		assert_int_equal(r.rc, 0);
		assert_each(&r, 61, 2);
		if (i)
			assert_string_equal(r.digest, digest);
		strcpy(digest, r.digest);
	}
	td_buf_free(&r.faults);
}

/* normalize takes as many numbers from a file as there are channels. */
static void test_file(void **state)
{
	(void)state;
	struct td_buf a = { 0 };
	char ops[256];
	const char *path = write_tensors("file", shaped, 7), *json = in_scratch("stats.json");
	write_text(json, "{\"mean\": [0, 1, 2, 3], \"std\": [1, 2, 4, 8]}");
	snprintf(ops, sizeof ops, "normalize:%s", json);
	first_batch(path, ops, 0, &a);
	for (unsigned i = 0; i < 7 * H * W * C; i++) {
		double v = number(i / (H * W * C), i / (W * C) % H, i / C % W, i % C);
		assert_true((double)((float *)(void *)a.data)[i] == (v - i % C) / (1 << i % C));
	}
	td_buf_free(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_types),
		cmocka_unit_test(test_ops),
		cmocka_unit_test(test_resize),
		cmocka_unit_test(test_shapes),
		cmocka_unit_test(test_bad),
		cmocka_unit_test(test_same),
		cmocka_unit_test(test_file),
	};
	return cmocka_run_group_tests(tests, make_scratch, clear_scratch);
}
