/* SPDX-License-Identifier: BSD-2-Clause
 * Numbers of the command line: read exactly, or refused. */
#include "unit.h"

#include "units.h"

static void sizes(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		uint64_t value;
	} good[] = {
		{ "0", 0 }, { "4096", 4096 }, { "64K", 65536 }, { "64k", 65536 }, { "1.5G", 1610612736 },
		{ "128M", 134217728 }, { "128MiB", 134217728 }, { "128MB", 134217728 }, { "7B", 7 },
		{ "0.5K", 512 }, { "2T", 2199023255552 }, { "18446744073709551615", UINT64_MAX },
	};
	static const char *const bad[] = { "", "K", "-1", "+1", " 1", "1 ", "1.5", "1.K", "1KK", "1X",
		"0x10", "1.1234567K", "18446744073709551616", "16777216T", "99999999999999999999K" };
	uint64_t value;
	for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
		assert_true(units_parse_size(good[i].text, &value));
		assert_int_equal(value, good[i].value);
	}
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		assert_false(units_parse_size(bad[i], &value));
}

static void numbers(void **state)
{
	uint64_t value;
	bool negative;
	(void)state;
	assert_true(units_parse_number("-12", &value, &negative));
	assert_true(negative && value == 12);
	assert_false(units_parse_number("-12", &value, NULL));
	assert_false(units_parse_number("12x", &value, &negative));
	assert_false(units_parse_number("-", &value, &negative));
	assert_false(units_parse_number("", &value, &negative));
	assert_false(units_parse_number("18446744073709551616", &value, &negative));
}

static void people(void **state)
{
	(void)state;
	assert_string_equal(BYTES(0), "0 B");
	assert_string_equal(BYTES(1023), "1023 B");
	assert_string_equal(BYTES(1024), "1.00 KiB");
	assert_string_equal(BYTES(1048575), "1.00 MiB");
	assert_string_equal(BYTES(3.2e9), "2.98 GiB");
	assert_string_equal(COUNT(7), "7");
	assert_string_equal(COUNT(7.25), "7.25");
	assert_string_equal(COUNT(999), "999");
	assert_string_equal(COUNT(3410), "3.41 k");
	assert_string_equal(COUNT(12900000), "12.9 M");
	assert_string_equal(CLOCK(7), "0:07");
	assert_string_equal(CLOCK(3723), "1:02:03");
	assert_string_equal(CLOCK(1e12), "99:59:59");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sizes),
		cmocka_unit_test(numbers),
		cmocka_unit_test(people),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
