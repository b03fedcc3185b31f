/* SPDX-License-Identifier: BSD-2-Clause
 * What samples say: medians, spread, outliers; and the rounds they are taken in. */
#include "unit.h"

#include "sample.h"

static void summaries(void **state)
{
	(void)state;
	double one[] = { 7 }, odd[] = { 5, 1, 3 }, even[] = { 4, 1, 3, 2 };
	struct sample_summary s = sample_summarize(one, 1);
	assert_true(s.median == 7 && s.min == 7 && s.max == 7 && s.spread == 0 && s.outliers == 0);
	s = sample_summarize(odd, 3);
	assert_true(s.median == 3 && s.min == 1 && s.max == 5);
	assert_true(s.spread > 1.4826 * 2 / 3 - 1e-9 && s.spread < 1.4826 * 2 / 3 + 1e-9);
	s = sample_summarize(even, 4);
	assert_true(s.median == 2.5);
	/* distances .5 .5 1.5 1.5: their median is 1 */
	assert_true(s.spread > 1.4826 / 2.5 - 1e-9 && s.spread < 1.4826 / 2.5 + 1e-9);
}

static void outliers(void **state)
{
	(void)state;
	double calm[] = { 100, 101, 99, 102, 98 }, shaken[] = { 100, 101, 99, 102, 98, 20 };
	assert_int_equal(sample_summarize(calm, 5).outliers, 0);
	assert_int_equal(sample_summarize(shaken, 6).outliers, 1);
}

struct trace {
	char text[64];
	int fail_at;
};

static int note(void *ctx, unsigned point, int round)
{
	struct trace *t = ctx;
	size_t n = strlen(t->text);
	snprintf(t->text + n, sizeof t->text - n, "%d%c ", round, 'a' + (int)point);
	return round == t->fail_at ? -5 : 0;
}

static void rounds(void **state)
{
	(void)state;
	const struct sample_plan plan = { .warmup = 1, .repeats = 2, .points = 2 };
	struct trace t = { .fail_at = 99 }, cut = { .fail_at = 0 };
	assert_int_equal(sample_rounds(&plan, note, &t), 0);
	assert_string_equal(t.text, "-1a -1b 0a 0b 1a 1b ");
	assert_int_equal(sample_rounds(&plan, note, &cut), -5);
	assert_string_equal(cut.text, "-1a -1b 0a ");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(summaries),
		cmocka_unit_test(outliers),
		cmocka_unit_test(rounds),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
