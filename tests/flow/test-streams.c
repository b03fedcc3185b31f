/* SPDX-License-Identifier: BSD-2-Clause
 * Compressed files: read forward only, they give what records found by position give. */
#include "sets.h"

#define RECORDS 23
static const unsigned counts[] = { 7, 0, 9, 3, 4 };
#define FILES 5

static bool is_bad;

static enum flaw some_bad(unsigned id)
{
	return is_bad && id % 5 == 3 ? NO_PICTURE : GOOD;
}

static const char *write_files(const char *name, int compression)
{
	const char *folder = in_scratch(name);
	struct td_buf record = { 0 };
	unsigned id = 0;
	assert_int_equal(mkdir(folder, 0755), 0);
	for (unsigned i = 0; i < FILES; i++) {
		char path[256];
		struct tundish_writer *w;
		snprintf(path, sizeof path, "%s/s-%05u-of-%05u", folder, i, FILES);
		assert_int_equal(tundish_writer_open(&w, path, compression, 0, NULL), 0);
		for (unsigned k = 0; k < counts[i]; k++, id++) {
			make_record(&record, id, true, some_bad(id));
			assert_int_equal(tundish_writer_append(w, record.data, record.len, NULL), 0);
		}
		assert_int_equal(tundish_writer_close(w, NULL), 0);
	}
	td_buf_free(&record);
	return folder;
}

static const char *plain, *packed;

static int make_sets(void **state)
{
	int rc = make_scratch(state);
	plain = write_files("plain", TUNDISH_NONE);
	packed = write_files("packed", TUNDISH_GZIP);
	return rc;
}

static void setup_run(struct run *r, const char *set)
{
	run_init(r, set, "random_resized_crop:16 hflip");
	r->o.batch = 4;
	r->o.seed = 3;
	r->o.epochs = 2;
}

/* The same from both. */
static void check_same(struct run *of_plain)
{
	static struct run r;
	for (unsigned threads = 1; threads <= 8; threads += 7) {
		r = *of_plain;
		r.faults = (struct td_buf){ 0 };
		r.path = packed;
		r.o.threads = threads;
		run_flow(&r);
		assert_int_equal(r.rc, 0);
		assert_int_equal(r.samples, of_plain->samples);
		assert_memory_equal(r.labels, of_plain->labels, r.samples * sizeof *r.labels);
		assert_string_equal(r.digest, of_plain->digest);
		td_buf_free(&r.faults);
	}
}

static void test_turns(void **state)
{
	(void)state;
	static struct run r;
	static const char *const orders[] = { NULL, "shards", "buffer:6", "shards+buffer:50" };
	for (int order = 0; order < 4; order++) {
		for (unsigned cycle = 1; cycle <= 6; cycle += cycle < 3 ? 1 : 3) {
			for (unsigned length = 1; length <= 3; length++) {
				setup_run(&r, plain);
				r.o.shuffle = orders[order];
				r.o.cycle_length = cycle;
				r.o.block_length = length;
				r.o.flow_epochs = length == 2;
				run_flow(&r);
				assert_each(&r, RECORDS, 2);
				check_same(&r);
				td_buf_free(&r.faults);
			}
		}
	}
}

static void test_ranks(void **state)
{
	(void)state;
	static struct run r, all;
	for (unsigned world = 2; world <= 9; world += world < 4 ? 1 : 5) {
		unsigned together = 0, batches = 0;
		for (unsigned rank = 0; rank < world; rank++) {
			for (int uneven = TUNDISH_UNEVEN_KEEP; uneven <= TUNDISH_UNEVEN_DROP; uneven++) {
				setup_run(&r, plain);
				r.o.rank = rank;
				r.o.world = world;
				r.o.uneven = uneven;
				r.o.batch = 2;
				r.o.cycle_length = 2;
				run_flow(&r);
				assert_int_equal(r.rc, 0);
				check_same(&r);
				td_buf_free(&r.faults);
				if (uneven == TUNDISH_UNEVEN_DROP) {
					assert_int_equal(r.samples, 2 * (RECORDS / world));
					assert_true(rank == 0 || r.batches == batches);
					batches = r.batches;
					continue;
				}
				memcpy(all.labels + together, r.labels, r.samples * sizeof *r.labels);
				together += r.samples;
			}
		}
		all.samples = together;
		assert_each(&all, RECORDS, 2);
	}
	setup_run(&r, packed);
	r.o.world = 2;
	run_flow(&r);
	assert_int_equal(r.rc, TUNDISH_E_USAGE);
	assert_non_null(strstr(r.e.text, "uneven keep or drop"));
	td_buf_free(&r.faults);
}

/* From each batch, read forward to there, also on two ranks with half the batch. */
static void check_resume(const struct run *whole)
{
	static struct run part, rest;
	for (unsigned stop = 1; stop <= whole->batches; stop++) {
		run_parts(whole, stop, &part, &rest);
		bool ranks = stop < whole->batches && !whole->o.flow_epochs;
		for (unsigned rank = 0; rank < 2 && ranks; rank++) {
			rest.o.batch = whole->o.batch / 2;
			rest.o.world = 2;
			rest.o.rank = rank;
			rest.o.uneven = TUNDISH_UNEVEN_KEEP;
			run_flow(&rest);
			assert_int_equal(rest.rc, 0);
			assert_int_equal(rest.labels[0], whole->labels[part.samples + rank]);
			td_buf_free(&rest.faults);
		}
		td_buf_free(&part.faults);
	}
}

static void test_resume(void **state)
{
	(void)state;
	static struct run r;
	static const char *const orders[] = { NULL, "buffer:6", "shards+buffer:3" };
	for (int order = 0; order < 3; order++) {
		setup_run(&r, packed);
		r.o.shuffle = orders[order];
		r.o.cycle_length = 3;
		r.o.flow_epochs = order == 1;
		run_flow(&r);
		assert_int_equal(r.samples, 2 * RECORDS);
		check_resume(&r);
		td_buf_free(&r.faults);
	}
	setup_run(&r, packed);
	r.o.start = "3:0:99";
	run_flow(&r);
	assert_int_equal(r.rc, TUNDISH_E_USAGE);
	td_buf_free(&r.faults);
	r.o.start = "3:3:0";
	run_flow(&r);
	assert_int_equal(r.rc, TUNDISH_E_USAGE);
	td_buf_free(&r.faults);
}

/* Whole batches all the same: others stand in, the same ones on each run. */
static void test_stand_ins(void **state)
{
	(void)state;
	static struct run r;
	char digest[65] = "";
	is_bad = true;
	const char *set = write_files("bad", TUNDISH_GZIP);
	is_bad = false;
	for (unsigned threads = 1; threads <= 9; threads += 4) {
		setup_run(&r, set);
		r.o.last = TUNDISH_LAST_DROP;
		r.o.threads = threads;
		run_flow(&r);
		assert_int_equal(r.rc, 0);
		assert_int_equal(r.batches, 10);
		assert_int_equal(r.samples, 40);
		assert_int_equal(r.stats.replaced, 8);
		for (unsigned i = 0; i < r.samples; i++)
			assert_true(r.labels[i] >= 0 && r.labels[i] % 5 != 3);
		assert_true(!*digest || strcmp(digest, r.digest) == 0);
		strcpy(digest, r.digest);
		td_buf_free(&r.faults);
	}
}

static void test_refusals(void **state)
{
	(void)state;
	static struct run r;
	static const char *const orders[] = { "full", "block:4", "buffer:3+batch:2" };
	for (int i = 0; i < 3; i++) {
		setup_run(&r, packed);
		r.o.shuffle = orders[i];
		run_flow(&r);
		assert_int_equal(r.rc, TUNDISH_E_USAGE);
		assert_non_null(strstr(r.e.text, "buffer:N does without"));
		td_buf_free(&r.faults);
	}
	setup_run(&r, packed);
	r.o.cycle_length = 2;
	r.o.limit = 5;
	run_flow(&r);
	assert_int_equal(r.rc, TUNDISH_E_USAGE);
	td_buf_free(&r.faults);
	/* a buffer for which there is no memory */
	setup_run(&r, packed);
	r.o.shuffle = "buffer:20";
	r.o.memory = 12 << 10;
	run_flow(&r);
	assert_int_equal(r.rc, TUNDISH_E_USAGE);
	assert_non_null(strstr(r.e.text, "20 records takes more than half of the memory"));
	td_buf_free(&r.faults);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_turns),
		cmocka_unit_test(test_ranks),
		cmocka_unit_test(test_resume),
		cmocka_unit_test(test_stand_ins),
		cmocka_unit_test(test_refusals),
	};
	return cmocka_run_group_tests(tests, make_sets, clear_scratch);
}
