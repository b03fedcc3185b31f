/* SPDX-License-Identifier: BSD-2-Clause
 * Ranks and cursors: the union over ranks is the set, and any rest can be resumed. */
#include "sets.h"

/* For small combinations of records, ranks and batch: labels of all ranks together. */
static void check_union(unsigned n, unsigned world, unsigned batch, int uneven, const char *set)
{
	static struct run r;
	unsigned seen[64] = { 0 }, total = 0, least = UINT32_MAX, most = 0, repeats = 0;
	for (unsigned rank = 0; rank < world; rank++) {
		run_init(&r, set, NULL);
		r.o.rank = rank;
		r.o.world = world;
		r.o.batch = batch;
		r.o.uneven = uneven;
		r.o.shuffle = "full";
		r.o.threads = 2;
		run_flow(&r);
		bool none = uneven != TUNDISH_UNEVEN_PAD && rank >= n;
		bool dropped = uneven == TUNDISH_UNEVEN_DROP && n < world;
		if (none || dropped) {
			assert_int_equal(r.rc, TUNDISH_E_USAGE);
			td_buf_free(&r.faults);
			least = 0;
			continue;
		}
		assert_int_equal(r.rc, 0);
		for (unsigned i = 0; i < r.samples; i++)
			seen[r.labels[i]]++;
		total += r.samples;
		repeats += r.repeats;
		least = r.batches < least ? r.batches : least;
		most = r.batches > most ? r.batches : most;
		td_buf_free(&r.faults);
	}
	for (unsigned i = 0; i < n; i++)
		assert_true(uneven == TUNDISH_UNEVEN_DROP ? seen[i] <= 1 : seen[i] >= 1);
	if (uneven == TUNDISH_UNEVEN_KEEP)
		assert_int_equal(total, n);
	if (uneven == TUNDISH_UNEVEN_DROP)
		assert_int_equal(total, n / world * world);
	if (uneven == TUNDISH_UNEVEN_PAD) {
		assert_int_equal(total, (n + world - 1) / world * world);
		assert_int_equal(repeats, total - n);
		assert_int_equal(least, most);
	}
}

static void test_union(void **state)
{
	(void)state;
	for (unsigned n = 1; n < 12; n += n < 4 ? 1 : 3) {
		char name[32];
		snprintf(name, sizeof name, "u%u", n);
		const char *set = write_set(name, n, 2, false, NULL);
		for (unsigned world = 1; world <= 9; world += 2) {
			for (unsigned batch = 1; batch <= 4; batch += 3) {
				check_union(n, world, batch, TUNDISH_UNEVEN_KEEP, set);
				check_union(n, world, batch, TUNDISH_UNEVEN_DROP, set);
				check_union(n, world, batch, TUNDISH_UNEVEN_PAD, set);
			}
		}
	}
}

static void test_uneven(void **state)
{
	(void)state;
	static struct run r;
	const char *set = write_set("uneven", 23, 4, false, NULL);
	run_init(&r, set, NULL);
	r.o.world = 4;
	r.o.batch = 4;
	run_flow(&r); /* shares of 6, 6, 6, 5 are two batches each */
	assert_int_equal(r.rc, 0);
	assert_int_equal(r.samples, 6);
	td_buf_free(&r.faults);
	run_init(&r, set, NULL);
	r.o.world = 4;
	r.o.batch = 5;
	run_flow(&r);
	assert_int_equal(r.rc, TUNDISH_E_USAGE);
	assert_non_null(strstr(r.e.text, "23 records give some of 4 ranks 2 batches of 5 and others 1"));
	td_buf_free(&r.faults);
}

static void test_resume(void **state)
{
	(void)state;
	static struct run whole, part, rest;
	const char *set = write_set("resume", 23, 4, true, NULL);
	run_init(&whole, set, "random_resized_crop:8 hflip");
	whole.o.batch = 4;
	whole.o.epochs = 2;
	whole.o.shuffle = "buffer:9";
	whole.o.seed = 6;
	run_flow(&whole);
	assert_int_equal(whole.batches, 12);
	for (unsigned stop = 1; stop < 12; stop++) {
		part = whole;
		part.faults = (struct td_buf){ 0 };
		part.stop_after = stop;
		run_flow(&part);
		rest = whole;
		rest.faults = (struct td_buf){ 0 };
		rest.o.start = part.cursor;
		rest.o.threads = 1 + stop % 4;
		run_flow(&rest);
		assert_int_equal(rest.rc, 0);
		assert_int_equal(rest.batches, 12 - stop);
		assert_int_equal(part.samples + rest.samples, 46);
		assert_memory_equal(rest.labels, whole.labels + part.samples,
		    rest.samples * sizeof *rest.labels);
		/* at half the batch on two ranks */
		rest.o.batch = 2;
		rest.o.world = 2;
		rest.o.rank = stop % 2;
		rest.o.uneven = TUNDISH_UNEVEN_KEEP;
		td_buf_free(&rest.faults);
		run_flow(&rest);
		assert_int_equal(rest.rc, 0);
		unsigned first = stop / 6 * 23 + stop % 6 * 4;
		assert_int_equal(rest.labels[0], whole.labels[first + stop % 2]);
		if (stop % 6 < 5)
			assert_int_equal(rest.labels[1], whole.labels[first + 2 + stop % 2]);
		td_buf_free(&part.faults);
		td_buf_free(&rest.faults);
	}
	td_buf_free(&whole.faults);
}

/* Batches that flow over the ends of epochs: all whole but the last, the same samples. */
static void test_flowing(void **state)
{
	(void)state;
	static struct run whole, part, rest;
	const char *set = write_set("flowing", 23, 4, false, NULL);
	run_init(&whole, set, NULL);
	whole.o.batch = 4;
	whole.o.epochs = 3;
	whole.o.shuffle = "full";
	run_flow(&whole);
	run_init(&rest, set, NULL);
	rest.o.batch = 4;
	rest.o.epochs = 3;
	rest.o.shuffle = "full";
	rest.o.flow_epochs = 1;
	run_flow(&rest);
	assert_int_equal(rest.batches, 18);
	for (int i = 0; i < 17; i++)
		assert_int_equal(rest.counts[i], 4);
	assert_int_equal(rest.counts[17], 1);
	assert_memory_equal(rest.labels, whole.labels, 69 * sizeof *rest.labels);
	td_buf_free(&rest.faults);
	for (unsigned stop = 1; stop < 18; stop += 4) {
		part = rest;
		part.faults = (struct td_buf){ 0 };
		part.stop_after = stop;
		run_flow(&part);
		td_buf_free(&part.faults);
		part.stop_after = 0;
		part.o.start = part.cursor;
		run_flow(&part);
		assert_int_equal(part.rc, 0);
		assert_int_equal(part.batches, 18 - stop);
		assert_memory_equal(part.labels, whole.labels + 4 * stop, part.samples * sizeof *part.labels);
		td_buf_free(&part.faults);
	}
	/* less than a batch in an epoch */
	rest.o.batch = 50;
	rest.o.last = TUNDISH_LAST_DROP;
	run_flow(&rest);
	assert_int_equal(rest.batches, 1);
	assert_int_equal(rest.counts[0], 50);
	td_buf_free(&rest.faults);
	td_buf_free(&whole.faults);
}

static void test_wrong_start(void **state)
{
	(void)state;
	static struct run r;
	static const char *const wrong[] = { "", "1", "0:0:3", "0:9:0", "0:0:24", "7:0:0", "0:0:0x" };
	const char *set = write_set("start", 23, 1, false, NULL);
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		run_init(&r, set, NULL);
		r.o.batch = 4;
		r.o.start = wrong[i];
		run_flow(&r);
		assert_int_equal(r.rc, TUNDISH_E_USAGE);
		td_buf_free(&r.faults);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_union),
		cmocka_unit_test(test_uneven),
		cmocka_unit_test(test_resume),
		cmocka_unit_test(test_flowing),
		cmocka_unit_test(test_wrong_start),
	};
	return cmocka_run_group_tests(tests, make_scratch, clear_scratch);
}
