/* SPDX-License-Identifier: BSD-2-Clause
 * Filters: their words, and what they keep. */
#include "unit.h"

#include <math.h>

#include "pack/filter.h"
#include "record/example.h"

/* An Example with one feature "v", or without any for kind 0. */
static bool keeps(const char *spec, int kind, int64_t number, double real, const char *text)
{
	const struct td_bytes bytes = { text, text ? strlen(text) : 0 };
	const float f = (float)real;
	struct td_field field = { .key = "v", .kind = kind, .n = 1 };
	if (kind == TUNDISH_BYTES)
		field.bytes = &bytes;
	else if (kind == TUNDISH_FLOAT)
		field.floats = &f;
	else
		field.ints = &number;
	struct td_buf out = { 0 };
	struct td_filter filter;
	struct tundish_feature feature;
	struct tundish_error e = { 0 };
	if (td_filter_parse(&filter, spec, NULL, &e) < 0)
		fail_msg("%s", e.text);
	assert_string_equal(filter.key, "v");
	assert_int_equal(td_example_encode(&out, &field, 1, INT32_MAX, NULL), 0);
	assert_int_equal(tundish_example_find(out.data, out.len, "v", 1, &feature), 1);
	bool result = td_filter_keeps(&filter, &feature);
	td_filter_free(&filter);
	td_buf_free(&out);
	return result;
}

static void numbers(void **state)
{
	(void)state;
#define INT(spec, n) keeps(spec, TUNDISH_INT64, n, 0, NULL)
	assert_true(INT("v in 3,5", 3) && INT("v in 3, 5", 5) && !INT("v in 3,5", 4));
	assert_true(INT("v=3", 3) && INT(" v == 3 ", 3) && !INT("v!=3", 3) && INT("v!=3,4", 5));
	assert_true(INT("v<0", -1) && !INT("v<0", 0) && INT("v<=0", 0) && INT("v>=2.5", 3) && !INT("v>2.5", 2));
	assert_true(INT("v=9007199254740993", 9007199254740993) && !INT("v=9007199254740993", 9007199254740992));
	assert_true(INT("v=-9223372036854775808", INT64_MIN) && !INT("v=cat", 0) && INT("v!=cat", 0));
#define REAL(spec, x) keeps(spec, TUNDISH_FLOAT, 0, x, NULL)
	assert_true(REAL("v<0.5", 0.25) && REAL("v=0.5", 0.5) && !REAL("v>1", 1) && REAL("v>=1", 1));
	assert_true(!REAL("v<1", (double)NAN) && !REAL("v=1", (double)NAN) && REAL("v!=1", (double)NAN));
}

static void bytes(void **state)
{
	(void)state;
#define TEXT(spec, s) keeps(spec, TUNDISH_BYTES, 0, 0, s)
	assert_true(TEXT("v=cat", "cat") && !TEXT("v=cat", "cats") && TEXT("v in a,cat", "cat"));
	assert_true(TEXT("v<b", "a") && !TEXT("v<b", "b") && TEXT("v>=b", "ba") && TEXT("v=7", "7"));
}

static void names(void **state)
{
	(void)state;
	struct td_classes classes = { 0 };
	struct td_filter filter;
	assert_int_equal(td_classes_add(&classes, "cat", 3), 0);
	assert_int_equal(td_classes_add(&classes, "dog", 3), 1);
	classes.list[1].label = 7;
	assert_int_equal(td_filter_parse(&filter, "label in dog,3", &classes, NULL), 0);
	assert_int_equal(filter.values[0].number, 7);
	assert_int_equal(filter.values[1].number, 3);
	td_filter_free(&filter);
	td_classes_free(&classes);
}

static void wrong(void **state)
{
	(void)state;
	static const char *const specs[] = { "", "label", "=3", "label=", "label in ", "label in 3,,4", "v<1,2",
		"label ~ 3" };
	for (size_t i = 0; i < TD_COUNT(specs); i++) {
		struct tundish_error e = { 0 };
		struct td_filter filter;
		assert_int_equal(td_filter_parse(&filter, specs[i], NULL, &e), TUNDISH_E_USAGE);
		assert_non_null(strstr(e.text, "filter: "));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers),
		cmocka_unit_test(bytes),
		cmocka_unit_test(names),
		cmocka_unit_test(wrong),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
