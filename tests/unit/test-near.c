/* SPDX-License-Identifier: BSD-2-Clause
 * Which name was meant: near ones are offered, others are not. */
#include "unit.h"

#include "near.h"

static const char *nearest(const char *typed)
{
	static const char *const names[] = { "threads", "seed", "by", "json", "max-record", "max-pixels" };
	const char *best = NULL;
	size_t distance = (size_t)-1;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		near_offer(typed, names[i], &best, &distance);
	return best ? best : "";
}

static void offers(void **state)
{
	(void)state;
	assert_string_equal(nearest("thraeds"), "threads");
	assert_string_equal(nearest("thread"), "threads");
	assert_string_equal(nearest("sed"), "seed");
	assert_string_equal(nearest("jsno"), "json");
	assert_string_equal(nearest("th"), "threads");
	assert_string_equal(nearest("max-p"), "max-pixels");
	assert_string_equal(nearest("max-recrd"), "max-record");
	assert_string_equal(nearest("maxpixel"), "max-pixels");
}

static void others(void **state)
{
	char longer[200];
	(void)state;
	memset(longer, 'x', sizeof longer - 1);
	longer[sizeof longer - 1] = 0;
	assert_string_equal(nearest("batch"), "");
	assert_string_equal(nearest("x"), "");
	assert_string_equal(nearest(""), "");
	assert_string_equal(nearest("qqqq"), "");
	assert_string_equal(nearest(longer), "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(offers),
		cmocka_unit_test(others),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
