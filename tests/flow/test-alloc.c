/* SPDX-License-Identifier: BSD-2-Clause
 * No allocation of ours for a record once a flow has run a while: the linker puts these
 * counters before every call in our own objects; those of libraries are not seen. */
#include "sets.h"

#include <stdatomic.h>

static _Atomic uint64_t calls;

/* The linker's names for what is wrapped and for the wrapper. */
#define WRAP(type, name, parameters, arguments)  \
	type __real_##name parameters;           \
	type __wrap_##name parameters;           \
	type __wrap_##name parameters            \
	{                                        \
		atomic_fetch_add(&calls, 1);     \
		return __real_##name arguments;  \
	}
WRAP(void *, malloc, (size_t bytes), (bytes))
WRAP(void *, calloc, (size_t n, size_t bytes), (n, bytes))
WRAP(void *, realloc, (void *old, size_t bytes), (old, bytes))
WRAP(void *, aligned_alloc, (size_t align, size_t bytes), (align, bytes))
WRAP(char *, strdup, (const char *s), (s))

#define EPOCHS 40

/* Allocations in the last three quarters of the epochs. */
static uint64_t late_calls(const char *path, const char *ops, const char *shuffle)
{
	struct tundish_flow_options o;
	struct tundish_flow *flow;
	struct tundish_batch b;
	struct tundish_error e = { 0 };
	uint64_t early = 0;
	tundish_flow_options_init(&o);
	o.paths = &path;
	o.n_paths = 1;
	o.ops = ops;
	o.batch = 8;
	o.epochs = EPOCHS;
	o.shuffle = shuffle;
	o.threads = 2;
	o.prefetch = 2;
	if (tundish_flow_open(&flow, &o, &e) < 0)
		fail_msg("%s: %s", ops, e.text);
	while (tundish_flow_next(flow, &b, &e) == 1) {
		if (b.epoch == EPOCHS / 4)
			early = calls;
		tundish_flow_release(flow, &b);
	}
	assert_int_equal(e.code, 0);
	uint64_t late = calls - early;
	tundish_flow_close(flow);
	return late;
}

/* Arrays of 5 channels, with texts and numbers beside them. */
static const char *write_rows(unsigned n)
{
	struct tundish_writer *w;
	struct td_buf record = { 0 };
	static uint16_t array[8 * 9 * 5];
	assert_int_equal(tundish_writer_open(&w, in_scratch("rows"), TUNDISH_NONE, 0, NULL), 0);
	for (unsigned i = 0; i < n; i++) {
		const struct td_bytes texts[3] = { { "one", 3 }, { "", 0 }, { "three", 5 } };
		const struct td_bytes image = { array, sizeof array };
		const int64_t label = i % 4, ids[4] = { 1, 2, 3, 4 };
		const struct td_field fields[4] = {
			{ .key = "image", .kind = TUNDISH_BYTES, .n = 1, .bytes = &image },
			{ .key = "label", .kind = TUNDISH_INT64, .n = 1, .ints = &label },
			{ .key = "ids", .kind = TUNDISH_INT64, .n = i % 5, .ints = ids },
			{ .key = "tags", .kind = TUNDISH_BYTES, .n = i % 4, .bytes = texts },
		};
		record.len = 0;
		assert_int_equal(td_example_encode(&record, fields, 4, 1 << 20, NULL), 0);
		assert_int_equal(tundish_writer_append(w, record.data, record.len, NULL), 0);
	}
	assert_int_equal(tundish_writer_close(w, NULL), 0);
	td_buf_free(&record);
	return in_scratch("rows");
}

static void test_steady(void **state)
{
	(void)state;
	const unsigned n = 48;
	const char *pictures = write_set("pictures", n, 2, true, NULL), *rows = write_rows(n);
	const struct {
		const char *path, *ops;
	} runs[] = {
		{ pictures, "random_resized_crop:24 hflip normalize" },
		{ pictures, "resize:20 one_hot:48 color_jitter:brightness=.4 mixup:0.2 cutmix:1 cast:float16" },
		{ pictures, "random_crop:20 rotate:20 gaussian_blur:5 random_erasing pad:2 layout:nchw" },
		{ rows, "tensor:8x9x5,dtype=uint16 random_crop:6 hflip normalize:mean=3,std=7" },
		{ rows, "tensor:8x9x5,dtype=uint16 select:tags=ragged,image,ids=ragged,label bands:2-4 resize:5" },
	};
	for (size_t i = 0; i < TD_COUNT(runs); i++) {
		uint64_t late = late_calls(runs[i].path, runs[i].ops, "block:5");
		/* a buffer may still grow when the largest record comes to it; far below one a record */
		if (late > n * EPOCHS * 3 / 4 / 50)
			fail_msg("%s: %llu allocations for %u records", runs[i].ops, (unsigned long long)late,
			    n * EPOCHS * 3 / 4);
	}
}

/* The counters count. */
static void test_counters(void **state)
{
	(void)state;
	struct td_buf b = { 0 };
	uint64_t before = calls;
	assert_true(td_buf_add(&b, "x", 1));
	td_buf_free(&b);
	assert_true(calls > before);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_counters),
		cmocka_unit_test(test_steady),
	};
	return cmocka_run_group_tests(tests, make_scratch, clear_scratch);
}
