/* SPDX-License-Identifier: BSD-2-Clause
 * The same batches for any number of threads, any memory, any way the threads fall. */
#include "sets.h"

#include <dirent.h>

#include "base/outfile.h"

static const char *small_set, *jpeg_set;

static int setup(void **state)
{
	if (make_scratch(state) < 0)
		return -1;
	small_set = write_set("small", 23, 4, false, NULL);
	jpeg_set = write_set("jpeg", 41, 3, true, NULL);
	return 0;
}

static void test_threads(void **state)
{
	(void)state;
	static const unsigned threads[] = { 1, 2, 3, 8, 99 };
	static const char *const shuffles[] = { "off", "full", "block:5", "shards+buffer:7+batch:2" };
	static const struct {
		unsigned batch, prefetch;
		uint64_t memory;
	} shapes[] = { { 1, 0, 0 }, { 7, 0, 1 << 20 }, { 7, 1, 64 << 10 }, { 64, 0, 256 << 20 } };
	static struct run r;
	for (size_t k = 0; k < 4; k++) {
		char digest[4][65] = { 0 };
		for (size_t t = 0; t < 5; t++) {
			for (size_t i = 0; i < 4; i++) {
				run_init(&r, jpeg_set, "random_resized_crop:16 hflip normalize");
				r.o.shuffle = shuffles[k];
				r.o.threads = threads[t];
				r.o.batch = shapes[i].batch;
				r.o.prefetch = shapes[i].prefetch;
				r.o.memory = shapes[i].memory;
				r.o.epochs = 2;
				r.o.seed = 11;
				run_flow(&r);
				assert_int_equal(r.rc, 0);
				assert_each(&r, 41, 2);
				/* shapes 1 and 2 differ in memory alone */
				size_t at = i == 2 ? 1 : i;
				if (!*digest[at])
					strcpy(digest[at], r.digest);
				assert_string_equal(r.digest, digest[at]);
				td_buf_free(&r.faults);
			}
		}
	}
}

/* What is kept between epochs changes nothing but the time, whether all fits or not. */
static void test_cache(void **state)
{
	(void)state;
	static const char *const ops[] = { "random_resized_crop:16 hflip normalize",
		"resize:40 normalize:seed hflip random_crop:20", "central_crop:0.9 resize:8 normalize",
		"hflip:1 vflip:1 grayscale:1 center_crop:30 random_erasing cast:float16 layout:nchw" };
	static const char *const kinds[] = { "memory", "memory:ops", "memory:raw", "memory:index" };
	for (size_t i = 0; i < 4; i++) {
		static struct run plain, r;
		run_init(&plain, jpeg_set, ops[i]);
		plain.o.epochs = 3;
		plain.o.shuffle = "full";
		plain.o.batch = 5;
		run_flow(&plain);
		assert_each(&plain, 41, 3);
		for (size_t k = 0; k < 8; k++) {
			if (i == 0 && k % 4 == 1)
				continue; /* nothing to keep before the first draw */
			run_init(&r, jpeg_set, ops[i]);
			r.o.epochs = 3;
			r.o.shuffle = "full";
			r.o.batch = 5;
			r.o.cache = kinds[k % 4];
			r.o.prefetch = 1; /* else all epochs are under way before any is kept */
			r.o.memory = k < 4 ? 64 << 20 : 300000;
			run_flow(&r);
			assert_int_equal(r.rc, 0);
			assert_string_equal(r.digest, plain.digest);
			/* later epochs read nothing, or what had no room; indexes are no records */
			uint64_t all = plain.stats.record_bytes, read = r.stats.record_bytes;
			assert_true(k % 4 == 3 ? read == all : k < 4 ? read < all / 2 : read < all);
			td_buf_free(&r.faults);
		}
		td_buf_free(&plain.faults);
	}
	static struct run r;
	run_init(&r, jpeg_set, "resize:8");
	r.o.cache = "memory:disk";
	run_flow(&r);
	assert_int_equal(r.rc, TUNDISH_E_USAGE);
	td_buf_free(&r.faults);
	run_init(&r, jpeg_set, ops[0]);
	r.o.cache = "memory:ops";
	run_flow(&r);
	assert_int_equal(r.rc, TUNDISH_E_USAGE);
	assert_non_null(strstr(r.e.text, "the first operation draws"));
	td_buf_free(&r.faults);
}

static void test_epochs(void **state)
{
	(void)state;
	static struct run a, b;
	run_init(&a, small_set, NULL);
	a.o.shuffle = "full";
	a.o.batch = 4;
	a.o.epochs = 2;
	run_flow(&a);
	assert_each(&a, 23, 2);
	assert_int_equal(a.batches, 12);
	assert_int_equal(a.counts[5], 3);
	assert_int_equal(a.counts[11], 3);
	/* each epoch is a permutation of its own */
	assert_memory_not_equal(a.labels, a.labels + 23, 23 * sizeof *a.labels);
	run_init(&b, small_set, NULL);
	b.o.shuffle = "full";
	b.o.batch = 4;
	run_flow(&b);
	assert_each(&b, 23, 1);
	assert_memory_equal(a.labels, b.labels, 23 * sizeof *a.labels);
	td_buf_free(&b.faults);
	run_init(&b, small_set, NULL);
	run_flow(&b);
	assert_int_equal(b.batches, 1);
	for (int i = 0; i < 23; i++)
		assert_int_equal(b.labels[i], i);
	td_buf_free(&a.faults);
	td_buf_free(&b.faults);
}

static void test_last(void **state)
{
	(void)state;
	static const struct {
		int last;
		unsigned batches, count, rows;
	} want[] = { { TUNDISH_LAST_KEEP, 6, 3, 3 }, { TUNDISH_LAST_DROP, 5, 4, 4 },
		{ TUNDISH_LAST_PAD, 6, 3, 4 } };
	for (int i = 0; i < 3; i++) {
		static struct run r;
		run_init(&r, small_set, NULL);
		r.o.batch = 4;
		r.o.last = want[i].last;
		run_flow(&r);
		assert_int_equal(r.rc, 0);
		assert_int_equal(r.batches, want[i].batches);
		assert_int_equal(r.counts[r.batches - 1], want[i].count);
		assert_int_equal(r.rows[r.batches - 1], want[i].rows);
		td_buf_free(&r.faults);
	}
}

static void test_skip_limit(void **state)
{
	(void)state;
	static struct run r;
	run_init(&r, small_set, NULL);
	r.o.skip = 5;
	r.o.limit = 9;
	run_flow(&r);
	assert_int_equal(r.samples, 9);
	for (int i = 0; i < 9; i++)
		assert_int_equal(r.labels[i], 5 + i);
	td_buf_free(&r.faults);
	run_init(&r, small_set, NULL);
	r.o.skip = 23;
	run_flow(&r);
	assert_int_equal(r.rc, TUNDISH_E_EMPTY);
	td_buf_free(&r.faults);
}

static void test_few_records(void **state)
{
	(void)state;
	static struct run r;
	const char *one = write_set("one", 1, 1, false, NULL);
	const char *sparse = write_set("sparse", 2, 5, false, NULL);
	run_init(&r, one, NULL);
	r.o.threads = 8;
	r.o.epochs = 40;
	r.o.shuffle = "full";
	run_flow(&r);
	assert_each(&r, 1, 40);
	td_buf_free(&r.faults);
	run_init(&r, sparse, NULL);
	r.o.threads = 8;
	run_flow(&r);
	assert_each(&r, 2, 1);
	td_buf_free(&r.faults);
	run_init(&r, write_set("none", 0, 2, false, NULL), NULL);
	run_flow(&r);
	assert_int_equal(r.rc, TUNDISH_E_EMPTY);
	td_buf_free(&r.faults);
}

/* Records that can only be read in order give what indexed ones give. */
static void test_streams(void **state)
{
	(void)state;
	static const int kinds[] = { TUNDISH_GZIP, TUNDISH_ZLIB };
	static struct run plain, r;
	run_init(&plain, jpeg_set, "random_resized_crop:16 hflip");
	plain.o.batch = 5;
	plain.o.epochs = 2;
	run_flow(&plain);
	for (int k = 0; k < 2; k++) {
		char name[32];
		struct tundish_writer *w;
		struct td_buf record = { 0 };
		snprintf(name, sizeof name, "packed-%d", k);
		assert_int_equal(tundish_writer_open(&w, in_scratch(name), kinds[k], 0, NULL), 0);
		for (unsigned id = 0; id < 41; id++) {
			make_record(&record, id, true, GOOD);
			assert_int_equal(tundish_writer_append(w, record.data, record.len, NULL), 0);
		}
		assert_int_equal(tundish_writer_close(w, NULL), 0);
		td_buf_free(&record);
		for (unsigned threads = 1; threads < 9; threads += 3) {
			run_init(&r, in_scratch(name), "random_resized_crop:16 hflip");
			r.o.batch = 5;
			r.o.epochs = 2;
			r.o.threads = threads;
			run_flow(&r);
			assert_int_equal(r.rc, 0);
			assert_string_equal(r.digest, plain.digest);
			td_buf_free(&r.faults);
		}
		run_init(&r, in_scratch(name), "resize:8");
		r.o.shuffle = "full";
		run_flow(&r);
		assert_int_equal(r.rc, TUNDISH_E_USAGE);
		assert_non_null(strstr(r.e.text, "tundish shard"));
		td_buf_free(&r.faults);
	}
	td_buf_free(&plain.faults);
}

/* Class folders of pictures, read in place, give what records of them give. */
static void test_pictures(void **state)
{
	(void)state;
	static struct run records, r;
	const char *folder = in_scratch("pictures");
	struct td_buf file = { 0 };
	char path[256];
	assert_int_equal(mkdir(folder, 0755), 0);
	for (unsigned id = 0; id < 41; id++) {
		/* a class for each, named so that bytewise order is that of the numbers */
		snprintf(path, sizeof path, "%s/c%02u", folder, id);
		assert_int_equal(mkdir(path, 0755), 0);
		snprintf(path, sizeof path, "%s/c%02u/a.jpg", folder, id);
		add_picture(&file, id, true);
		assert_int_equal(td_write_file(path, file.data, file.len, NULL), 0);
	}
	td_buf_free(&file);
	run_init(&records, jpeg_set, "random_resized_crop:16 hflip");
	records.o.shuffle = "full";
	records.o.batch = 5;
	run_flow(&records);
	for (unsigned threads = 1; threads < 9; threads += 3) {
		run_init(&r, folder, "random_resized_crop:16 hflip");
		r.o.shuffle = "full";
		r.o.batch = 5;
		r.o.threads = threads;
		r.o.cache = threads == 4 ? "memory" : NULL;
		run_flow(&r);
		assert_int_equal(r.rc, 0);
		assert_string_equal(r.digest, records.digest);
		td_buf_free(&r.faults);
	}
	run_init(&r, folder, NULL);
	run_flow(&r);
	assert_int_equal(r.rc, TUNDISH_E_SCHEMA);
	assert_non_null(strstr(r.e.text, "c00/a.jpg: 30x40, then "));
	assert_non_null(strstr(r.e.text, "c01/a.jpg: 41x49; "));
	td_buf_free(&r.faults);
	/* one that is no picture is named by its path */
	snprintf(path, sizeof path, "%s/c07/a.jpg", folder);
	assert_int_equal(td_write_file(path, "none", 4, NULL), 0);
	run_init(&r, folder, "resize:8");
	run_flow(&r);
	assert_int_equal(r.samples, 40);
	assert_string_equal(FAULTS(&r), "a.jpg: no known picture format\n");
	td_buf_free(&r.faults);
	td_buf_free(&records.faults);
}

static unsigned open_files(void)
{
	unsigned n = 0;
	DIR *d = opendir("/proc/self/fd");
	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

/* Closing with work under way, after no batch, one, or a few. */
static void test_early_close(void **state)
{
	(void)state;
	unsigned before = open_files();
	for (unsigned stop = 1; stop < 6; stop++) {
		static struct run r;
		run_init(&r, jpeg_set, "random_resized_crop:64");
		r.o.epochs = UINT64_MAX;
		r.o.batch = 3;
		r.o.threads = stop;
		r.stop_after = stop;
		run_flow(&r);
		assert_int_equal(r.batches, stop);
		td_buf_free(&r.faults);
	}
	struct tundish_flow *flow;
	struct tundish_flow_options o;
	tundish_flow_options_init(&o);
	o.paths = &jpeg_set;
	o.n_paths = 1;
	o.ops = "resize:8";
	assert_int_equal(tundish_flow_open(&flow, &o, NULL), 0);
	assert_int_equal(tundish_flow_records(flow), 41);
	assert_int_equal(tundish_flow_batches(flow), 1);
	tundish_flow_close(flow);
	assert_int_equal(open_files(), before);
}

static void test_slow_consumer(void **state)
{
	(void)state;
	static struct run r, quick;
	run_init(&r, jpeg_set, "resize:32");
	r.o.batch = 3;
	r.o.prefetch = 2;
	r.sleep_us = 3000;
	run_flow(&r);
	run_init(&quick, jpeg_set, "resize:32");
	quick.o.batch = 3;
	run_flow(&quick);
	assert_string_equal(r.digest, quick.digest);
	/* three slots, and the records in flight */
	assert_true(r.stats.memory_peak < 3 * 3 * 32 * 32 * 3 * 4 + (1 << 20));
	assert_true(r.stats.workers_wait_ns > 0);
	td_buf_free(&r.faults);
	td_buf_free(&quick.faults);
}

/* Several batches held at once, given back in another order; and all of them held. */
static void test_holding(void **state)
{
	(void)state;
	struct tundish_flow *flow;
	struct tundish_flow_options o;
	struct tundish_batch b[4];
	struct tundish_error e = { 0 };
	tundish_flow_options_init(&o);
	o.paths = &small_set;
	o.n_paths = 1;
	o.batch = 2;
	o.prefetch = 2;
	assert_int_equal(tundish_flow_open(&flow, &o, &e), 0);
	for (int i = 0; i < 3; i++)
		assert_int_equal(tundish_flow_next(flow, &b[i], &e), 1);
	assert_int_equal(tundish_flow_next(flow, &b[3], &e), TUNDISH_E_INVALID);
	assert_non_null(strstr(e.text, "all 3 batches are held"));
	assert_int_equal(b[1].labels[0], 2);
	tundish_flow_release(flow, &b[1]);
	assert_int_equal(tundish_flow_next(flow, &b[1], &e), 1);
	assert_int_equal(b[1].labels[0], 6);
	assert_int_equal(b[0].labels[1], 1);
	assert_int_equal(b[2].labels[1], 5);
	for (int i = 2; i >= 0; i--)
		tundish_flow_release(flow, &b[i]);
	assert_int_equal(tundish_flow_next(flow, &b[0], &e), 1);
	assert_int_equal(b[0].labels[0], 8);
	tundish_flow_close(flow);
}

struct own {
	unsigned taken, freed;
};

static void *own_alloc(void *data, size_t bytes)
{
	((struct own *)data)->taken++;
	return aligned_alloc(64, (bytes + 63) / 64 * 64);
}

static void own_free(void *data, void *memory, size_t bytes)
{
	(void)bytes;
	((struct own *)data)->freed++;
	free(memory);
}

static void test_allocator(void **state)
{
	(void)state;
	static struct run r;
	struct own own = { 0 };
	run_init(&r, jpeg_set, "resize:8");
	r.o.batch = 4;
	r.o.prefetch = 3;
	r.o.allocator = (struct tundish_allocator){ &own, own_alloc, own_free };
	run_flow(&r);
	assert_each(&r, 41, 1);
	assert_in_range(own.taken, 1, 4);
	assert_int_equal(own.freed, own.taken);
	td_buf_free(&r.faults);
}

static int stop_now(void *data)
{
	return ++*(unsigned *)data > 20;
}

static void test_stop(void **state)
{
	(void)state;
	static struct run r;
	unsigned polls = 0;
	run_init(&r, jpeg_set, "resize:8");
	r.o.epochs = UINT64_MAX;
	r.o.batch = 1;
	r.o.listener = (struct tundish_listener){ .data = &polls, .stop = stop_now };
	r.stop_after = 500;
	run_flow(&r);
	assert_int_equal(r.rc, TUNDISH_E_STOPPED);
	td_buf_free(&r.faults);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_threads),
		cmocka_unit_test(test_cache),
		cmocka_unit_test(test_epochs),
		cmocka_unit_test(test_last),
		cmocka_unit_test(test_skip_limit),
		cmocka_unit_test(test_few_records),
		cmocka_unit_test(test_streams),
		cmocka_unit_test(test_pictures),
		cmocka_unit_test(test_early_close),
		cmocka_unit_test(test_slow_consumer),
		cmocka_unit_test(test_holding),
		cmocka_unit_test(test_allocator),
		cmocka_unit_test(test_stop),
	};
	return cmocka_run_group_tests(tests, setup, clear_scratch);
}
