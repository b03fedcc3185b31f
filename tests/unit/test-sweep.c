/* SPDX-License-Identifier: BSD-2-Clause
 * Sweeps: one after the other, or all combinations. */
#include "unit.h"

#include "sweep.h"

static const char *at(const struct sweeps *s, unsigned point, unsigned k)
{
	const char *value = sweeps_value(s, point, k);
	return value ? value : "-";
}

static void none(void **state)
{
	const struct opt_list texts = { .n = 0 };
	struct sweeps s;
	(void)state;
	assert_int_equal(sweeps_parse(&s, &texts, false), 0);
	assert_int_equal(s.points, 1);
	sweeps_free(&s);
}

static void in_turn(void **state)
{
	const struct opt_list texts = { { "threads=1,2,4", "batch=8,16" }, 2 };
	struct sweeps s;
	(void)state;
	assert_int_equal(sweeps_parse(&s, &texts, false), 0);
	assert_int_equal(s.points, 5);
	static const char *const want[][2] = { { "1", "-" }, { "2", "-" }, { "4", "-" }, { "-", "8" },
		{ "-", "16" } };
	for (unsigned i = 0; i < 5; i++)
		for (unsigned k = 0; k < 2; k++)
			assert_string_equal(at(&s, i, k), want[i][k]);
	sweeps_free(&s);
}

static void grid(void **state)
{
	const struct opt_list texts = { { "threads=1,2", "batch=8,16,32", "seed=5" }, 3 };
	struct sweeps s;
	(void)state;
	assert_int_equal(sweeps_parse(&s, &texts, true), 0);
	assert_int_equal(s.points, 6);
	static const char *const want[][2] = { { "1", "8" }, { "1", "16" }, { "1", "32" }, { "2", "8" },
		{ "2", "16" }, { "2", "32" } };
	for (unsigned i = 0; i < 6; i++) {
		assert_string_equal(at(&s, i, 0), want[i][0]);
		assert_string_equal(at(&s, i, 1), want[i][1]);
		assert_string_equal(at(&s, i, 2), "5");
	}
	sweeps_free(&s);
}

static void wrong(void **state)
{
	static const char *const texts[] = { "", "threads", "threads=", "threads=,", "=1", "bork=1" };
	(void)state;
	for (unsigned i = 0; i < sizeof texts / sizeof *texts; i++) {
		const struct opt_list list = { { texts[i] }, 1 };
		struct sweeps s;
		assert_int_not_equal(sweeps_parse(&s, &list, false), 0);
		sweeps_free(&s);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(none),
		cmocka_unit_test(in_turn),
		cmocka_unit_test(grid),
		cmocka_unit_test(wrong),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
