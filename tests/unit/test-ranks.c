/* SPDX-License-Identifier: BSD-2-Clause
 * Ranks as launchers tell them. */
#include "unit.h"

#include "ranks.h"

static int clean(void **state)
{
	static const char *const names[] = { "RANK", "WORLD_SIZE", "OMPI_COMM_WORLD_RANK",
		"OMPI_COMM_WORLD_SIZE", "SLURM_PROCID", "SLURM_NTASKS", "TF_CONFIG" };
	(void)state;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		unsetenv(names[i]);
	return 0;
}

static void expect(unsigned rank, unsigned world, const char *from)
{
	unsigned r = 99, w = 99;
	const char *f = NULL;
	assert_true(ranks_from_environment(&r, &w, &f));
	assert_int_equal(r, rank);
	assert_int_equal(w, world);
	assert_string_equal(f, from);
}

static void expect_none(void)
{
	unsigned r = 99, w = 99;
	const char *f;
	assert_false(ranks_from_environment(&r, &w, &f));
	assert_true(r == 99 && w == 99);
}

static void pairs(void **state)
{
	(void)state;
	expect_none();
	setenv("SLURM_PROCID", "3", 1);
	expect_none();
	setenv("SLURM_NTASKS", "4", 1);
	expect(3, 4, "SLURM_PROCID");
	setenv("RANK", "1", 1);
	setenv("WORLD_SIZE", "2", 1);
	expect(1, 2, "RANK");
}

static void nonsense(void **state)
{
	(void)state;
	setenv("RANK", "2", 1);
	setenv("WORLD_SIZE", "2", 1);
	expect_none();
	setenv("RANK", "x", 1);
	expect_none();
	setenv("RANK", "-1", 1);
	expect_none();
	setenv("TF_CONFIG", "{", 1);
	expect_none();
	setenv("TF_CONFIG", "{\"task\":{\"type\":\"worker\",\"index\":-1},\"cluster\":{\"worker\":[\"a\"]}}", 1);
	expect_none();
	setenv("TF_CONFIG", "{\"task\":{\"type\":\"ps\",\"index\":0},\"cluster\":{\"worker\":[\"a\"]}}", 1);
	expect_none();
}

static void tf_config(void **state)
{
	(void)state;
	setenv("TF_CONFIG", "{\"cluster\":{\"chief\":[\"a:1\"],\"worker\":[\"b:1\",\"c:1\"]},"
			    "\"task\":{\"type\":\"worker\",\"index\":1}}", 1);
	expect(2, 3, "TF_CONFIG");
	setenv("TF_CONFIG", "{\"cluster\":{\"chief\":[\"a:1\"],\"worker\":[\"b:1\",\"c:1\"]},"
			    "\"task\":{\"type\":\"chief\",\"index\":0}}", 1);
	expect(0, 3, "TF_CONFIG");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(pairs, clean),
		cmocka_unit_test_setup(nonsense, clean),
		cmocka_unit_test_setup(tf_config, clean),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
