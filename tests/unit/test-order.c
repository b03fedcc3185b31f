/* SPDX-License-Identifier: BSD-2-Clause
 * Orders: each record once, in the place that its rule allows, the same at each call. */
#include "unit.h"

#include "flow/order.h"

static void test_permutation(void **state)
{
	(void)state;
	static uint8_t seen[5000];
	for (uint64_t n = 1; n < 5000; n = n < 70 ? n + 1 : n * 7 / 5) {
		struct td_permutation p;
		td_permutation_init(&p, n, 9, n, 0);
		memset(seen, 0, sizeof seen);
		for (uint64_t i = 0; i < n; i++) {
			uint64_t v = td_permutation_at(&p, i);
			assert_true(v < n && !seen[v]);
			seen[v] = 1;
			assert_int_equal(td_permutation_place(&p, v), i);
		}
	}
	/* large ones stay within their range, and come back */
	const uint64_t large[] = { 1281167, (1ull << 32) + 1, (1ull << 52) - 1 };
	for (int k = 0; k < 3; k++) {
		struct td_permutation p;
		td_permutation_init(&p, large[k], 1, 2, 3);
		for (uint64_t i = 0; i < 1000; i++) {
			uint64_t at = i * (large[k] / 1000), v = td_permutation_at(&p, at);
			assert_true(v < large[k]);
			assert_int_equal(td_permutation_place(&p, v), at);
		}
	}
}

/* All orders of n records come about equally often. Returns chi-square over n! of them. */
static double unevenness(unsigned n, unsigned runs, unsigned all)
{
	static unsigned counts[46656];
	double chi = 0, want = (double)runs / all;
	unsigned kinds = 0, codes = 1;
	memset(counts, 0, sizeof counts);
	for (unsigned i = 0; i < n; i++)
		codes *= n;
	for (unsigned epoch = 0; epoch < runs; epoch++) {
		struct td_permutation p;
		unsigned code = 0;
		td_permutation_init(&p, n, 77, epoch, 0);
		for (uint64_t i = 0; i < n; i++)
			code = code * n + (unsigned)td_permutation_at(&p, i);
		counts[code]++;
	}
	for (unsigned i = 0; i < codes; i++) {
		kinds += counts[i] > 0;
		chi += counts[i] ? (counts[i] - want) * (counts[i] - want) / want : 0;
	}
	assert_int_equal(kinds, all);
	return chi;
}

/* Below what 99.9 % of fair ones give, for n! - 1 degrees of freedom. */
static void test_fairness(void **state)
{
	(void)state;
	assert_true(unevenness(2, 20000, 2) < 10.8);
	assert_true(unevenness(3, 20000, 6) < 20.5);
	assert_true(unevenness(4, 20000, 24) < 49.7);
	assert_true(unevenness(5, 60000, 120) < 172);
	assert_true(unevenness(6, 300000, 720) < 842);
}

/* Over files of 0, 1, 2 ... times 7 records. */
static struct td_order *order_with(const char *text, uint64_t records, uint64_t cycle, uint64_t length)
{
	uint64_t first[64] = { 0 };
	for (uint64_t i = 1; i < 64; i++)
		first[i] = TD_MIN(first[i - 1] + (i - 1) * 7, records);
	first[63] = records;
	struct td_order_spec spec = { .records = records, .seed = 4, .first = first, .n_files = 63,
		.cycle = cycle, .length = length };
	struct td_order *o;
	assert_int_equal(td_order_parse(&spec, text, NULL), 0);
	assert_int_equal(td_order_open(&o, &spec, NULL), 0);
	return o;
}

static struct td_order *order_of(const char *text, uint64_t records)
{
	return order_with(text, records, 1, 1);
}

static void read_epoch(struct td_order *o, uint64_t epoch, uint64_t n, uint64_t *ret)
{
	for (uint64_t i = 0; i < n; i++)
		assert_int_equal(td_order_at(o, epoch, i, &ret[i]), 0);
}

static void assert_each_once(const uint64_t *records, uint64_t n)
{
	static uint8_t seen[4096];
	memset(seen, 0, sizeof seen);
	for (uint64_t i = 0; i < n; i++) {
		assert_true(records[i] < n && !seen[records[i]]);
		seen[records[i]] = 1;
	}
}

static void test_orders(void **state)
{
	(void)state;
	static const char *const names[] = { "off", "full", "block:1", "block:7", "block:500", "buffer:1",
		"buffer:10", "buffer:9999", "shards", "shards+full", "shards+buffer:10+batch:4",
		"batch:3", "full+batch:5", "block:3+batch:600" };
	static uint64_t first[1000], again[1000], other[1000];
	for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
		for (uint64_t n = 1; n < 1000; n = n * 3 + 1) {
			struct td_order *o = order_of(names[k], n);
			read_epoch(o, 0, n, first);
			read_epoch(o, 1, n, other);
			for (uint64_t e = 2; e < 6; e++)
				read_epoch(o, e, n, again);
			read_epoch(o, 0, n, again);
			assert_each_once(first, n);
			assert_each_once(other, n);
			assert_memory_equal(first, again, n * sizeof *first);
			bool fixed = !strcmp(names[k], "off") || !strcmp(names[k], "buffer:1");
			if (n > 100 && !strstr(names[k], "batch:600"))
				assert_int_equal(memcmp(first, other, n * sizeof *first) == 0, fixed);
			for (uint64_t i = 0; i < n && fixed; i++)
				assert_int_equal(first[i], i);
			td_order_close(o);
		}
	}
}

static void test_reach(void **state)
{
	(void)state;
	static uint64_t r[1000];
	struct td_order *o = order_of("buffer:10", 1000);
	read_epoch(o, 3, 1000, r);
	/* a buffer gives nothing out before it came in */
	for (uint64_t i = 0; i < 1000; i++)
		assert_true(r[i] < i + 10);
	td_order_close(o);
	/* blocks stay together */
	o = order_of("block:64", 1000);
	read_epoch(o, 3, 1000, r);
	unsigned changes = 0;
	for (uint64_t i = 1; i < 1000; i++)
		changes += r[i] / 64 != r[i - 1] / 64;
	assert_int_equal(changes, 15);
	td_order_close(o);
}

static void test_interleave(void **state)
{
	(void)state;
	static uint64_t r[1000];
	/* files of 7, 14 and 21: [0, 7), [7, 21), [21, 42) */
	struct td_order *o = order_with("off", 42, 2, 3);
	read_epoch(o, 0, 42, r);
	const uint64_t want[42] = { 0, 1, 2, 7, 8, 9, 3, 4, 5, 10, 11, 12, 6, 13, 14, 15, 21, 22, 23,
		16, 17, 18, 24, 25, 26, 19, 20, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41 };
	assert_memory_equal(r, want, sizeof want);
	td_order_close(o);
	for (uint64_t cycle = 1; cycle < 70; cycle += 17) {
		o = order_with("shards+buffer:5+batch:7", 900, cycle, 4);
		read_epoch(o, 1, 900, r);
		assert_each_once(r, 900);
		td_order_close(o);
	}
	/* whole files in a drawn order */
	o = order_of("shards", 900);
	read_epoch(o, 0, 900, r);
	unsigned jumps = 0;
	for (int i = 1; i < 900; i++)
		jumps += r[i] != r[i - 1] + 1;
	assert_in_range(jumps, 5, 16);
	td_order_close(o);
	/* groups stay together and begin where groups do */
	o = order_of("batch:50", 900);
	read_epoch(o, 0, 900, r);
	for (int i = 0; i < 900; i++)
		assert_int_equal(r[i] % 50, i % 50);
	td_order_close(o);
}

static void test_wrong(void **state)
{
	(void)state;
	static const char *const wrong[] = { "", "on", "block", "block:", "block:0", "buffer:x",
		"buffer:10 ", "full:3", "buffer:-1", "full+", "+full", "full+full", "batch:3+full",
		"off+batch:3", "full+shards", "shards++full", "buffer:9999999999999999" };
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		struct td_order_spec spec;
		struct tundish_error e = { 0 };
		assert_int_equal(td_order_parse(&spec, wrong[i], &e), TUNDISH_E_USAGE);
		assert_non_null(strstr(e.text, "is not understood"));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_permutation),
		cmocka_unit_test(test_fairness),
		cmocka_unit_test(test_orders),
		cmocka_unit_test(test_reach),
		cmocka_unit_test(test_interleave),
		cmocka_unit_test(test_wrong),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
