/* SPDX-License-Identifier: BSD-2-Clause
 * Memory: peaks stay near the budget, and epochs leave nothing behind. */
#include "sets.h"

#define MIB ((uint64_t)1 << 20)

/* VmRSS or VmHWM of this process, in bytes. */
static uint64_t memory(const char *what)
{
	char line[256];
	uint64_t kb = 0;
	FILE *f = fopen("/proc/self/status", "re");
	while (fgets(line, sizeof line, f)) {
		if (strncmp(line, what, strlen(what)) == 0)
			kb = strtoull(line + strlen(what) + 1, NULL, 10);
	}
	fclose(f);
	return kb * 1024;
}

/* Sanitizers keep shadows of all memory: no figures with them. */
static bool measurable(void)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	return false;
#else
	return true;
#endif
}

/* A noisy JPEG of side * side pixels. */
static void add_square(struct td_buf *out, uint32_t side, uint32_t seed)
{
	uint8_t *pixels = malloc((size_t)side * side * 3);
	for (size_t i = 0; i < (size_t)side * side * 3; i++)
		pixels[i] = (uint8_t)((seed = seed * 1664525 + 1013904223) >> 27);
	const struct td_pixels p = { .data = pixels, .width = side, .height = side, .channels = 3,
		.step = 3, .stride = (size_t)side * 3 };
	out->len = 0;
	assert_int_equal(td_jpeg_encode(out, &p, 80, NULL), 0);
	free(pixels);
}

/* One record in a hundred holds fifty times the pixels of the others. */
static const char *write_lumpy(void)
{
	const char *path = in_scratch("lumpy");
	struct tundish_writer *w;
	struct td_buf small = { 0 }, large = { 0 }, record = { 0 };
	add_square(&small, 380, 1);
	add_square(&large, 2700, 2);
	assert_int_equal(tundish_writer_open(&w, path, TUNDISH_NONE, 0, NULL), 0);
	for (unsigned id = 0; id < 300; id++) {
		const struct td_buf *b = id % 100 == 40 ? &large : &small;
		const struct td_bytes image = { b->data, b->len };
		const int64_t label = id;
		const struct td_field fields[2] = {
			{ .key = "image", .kind = TUNDISH_BYTES, .n = 1, .bytes = &image },
			{ .key = "label", .kind = TUNDISH_INT64, .n = 1, .ints = &label },
		};
		record.len = 0;
		assert_int_equal(td_example_encode(&record, fields, 2, 1 << 30, NULL), 0);
		assert_int_equal(tundish_writer_append(w, record.data, record.len, NULL), 0);
	}
	assert_int_equal(tundish_writer_close(w, NULL), 0);
	td_buf_free(&small);
	td_buf_free(&large);
	td_buf_free(&record);
	return path;
}

static void test_lumpy(void **state)
{
	(void)state;
	static struct run r;
	const uint64_t budget = 64 * MIB;
	const char *path = write_lumpy();
	FILE *f = fopen("/proc/self/clear_refs", "we"); /* forget the peak so far */
	if (f) {
		fputs("5", f);
		fclose(f);
	}
	uint64_t before = memory("VmRSS:");
	run_init(&r, path, "random_resized_crop:224 hflip normalize");
	r.o.batch = 16;
	r.o.threads = 8;
	r.o.shuffle = "full";
	r.o.memory = budget;
	r.sleep_us = 2000;
	run_flow(&r);
	assert_each(&r, 300, 1);
	assert_true(r.stats.memory_peak <= budget + 2700 * 2700 * 4);
	if (!f || !measurable())
		skip();
	uint64_t used = memory("VmHWM:") - before;
	if (used > budget + 32 * MIB)
		fail_msg("%llu MiB used of %llu", (unsigned long long)(used / MIB),
		    (unsigned long long)(budget / MIB));
	td_buf_free(&r.faults);
}

static void test_epochs(void **state)
{
	(void)state;
	const char *set = write_set("ids", 23, 4, false, NULL);
	struct tundish_flow_options o;
	struct tundish_flow *flow;
	struct tundish_batch b;
	uint64_t early = 0;
	tundish_flow_options_init(&o);
	o.paths = &set;
	o.n_paths = 1;
	o.shuffle = "buffer:9";
	o.epochs = 300;
	o.batch = 4;
	assert_int_equal(tundish_flow_open(&flow, &o, NULL), 0);
	while (tundish_flow_next(flow, &b, NULL) == 1) {
		if (b.epoch == 20)
			early = memory("VmRSS:");
		tundish_flow_release(flow, &b);
	}
	uint64_t late = memory("VmRSS:");
	tundish_flow_close(flow);
	if (measurable())
		assert_true(late < early + 5 * MIB);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_epochs),
		cmocka_unit_test(test_lumpy),
	};
	return cmocka_run_group_tests(tests, make_scratch, clear_scratch);
}
