/* SPDX-License-Identifier: BSD-2-Clause */
#include "unit.h"

#include "survey/schema.h"
#include "survey/tally.h"

static void test_tally(void **state)
{
	(void)state;
	struct td_tally all = { 0 }, part = { 0 };
	struct td_spread s;
	assert_true(td_tally_spread(&all, &s));
	assert_int_equal(s.n, 0);
	static const int64_t values[] = { 5, -3, INT64_MAX, 5, INT64_MIN, 7 };
	for (size_t i = 0; i < 6; i++)
		assert_true(td_tally_add(i < 3 ? &all : &part, values[i], 1));
	assert_true(td_tally_merge(&all, &part));
	assert_int_equal(part.n, 0);
	assert_true(td_tally_spread(&all, &s));
	assert_int_equal(s.n, 6);
	assert_true(s.least == INT64_MIN && s.median == 5 && s.most == INT64_MAX);
	assert_true(td_tally_add(&all, 5, 1));
	assert_true(td_tally_add(&all, 9, 2));
	assert_true(td_tally_spread(&all, &s));
	assert_int_equal(s.median, 5); /* of MIN -3 5 5 5 7 9 9 MAX */
	struct td_tally_entry *sorted = td_tally_sorted(&all);
	assert_int_equal(sorted[2].value, 5);
	assert_int_equal(sorted[2].n, 3);
	free(sorted);
	td_tally_free(&all);
	td_tally_free(&part);
}

/* A record with these one-letter features: lower case int64, upper case float. */
static void record(struct td_schema *s, const char *keys, const char *path, uint64_t number)
{
	for (const char *k = keys; *k; k++) {
		struct tundish_feature f = { .key = k, .key_bytes = 1, .count = (uint64_t)(*k & 31) };
		char lower = (char)(*k | 32);
		f.key = &lower;
		f.kind = *k & 32 ? TUNDISH_INT64 : TUNDISH_FLOAT;
		assert_true(td_schema_feature(s, &f));
	}
	assert_true(td_schema_record(s, path, number));
}

static const struct td_feature_facts *facts(const struct td_schema *s, const char *key)
{
	return td_map_find(&s->features, key, 1);
}

static void test_schema(void **state)
{
	(void)state;
	struct td_schema all = { 0 }, part = { 0 };
	record(&part, "ab", "one", 0);
	record(&part, "aBb", "one", 1); /* the last b counts */
	record(&part, "ac", "one", 3);
	assert_true(td_schema_merge(&all, &part));
	assert_int_equal(part.records, 0);
	assert_true(td_schema_merge(&all, &part)); /* nothing */
	record(&part, "Acd", "two", 0);
	record(&part, "acd", "two", 1);
	assert_true(td_schema_merge(&all, &part));
	record(&part, "", "three", 5);
	assert_true(td_schema_merge(&all, &part));

	assert_int_equal(all.records, 6);
	assert_int_equal(all.features.n, 4);
	const struct td_feature_facts *a = facts(&all, "a"), *b = facts(&all, "b");
	assert_int_equal(a->records, 5);
	assert_int_equal(a->kinds[TUNDISH_INT64].records, 4);
	assert_int_equal(a->kinds[TUNDISH_FLOAT].records, 1);
	assert_string_equal(a->kinds[TUNDISH_INT64].first, "one");
	assert_string_equal(a->kinds[TUNDISH_FLOAT].first, "two");
	assert_string_equal(a->missing.path, "three");
	assert_int_equal(a->missing.record, 5);
	assert_int_equal(b->records, 2);
	assert_int_equal(b->kinds[TUNDISH_FLOAT].records, 0);
	assert_int_equal(b->kinds[TUNDISH_INT64].most, 2);
	assert_string_equal(b->missing.path, "one");
	assert_int_equal(b->missing.record, 3);
	assert_string_equal(facts(&all, "c")->missing.path, "one");
	assert_int_equal(facts(&all, "c")->missing.record, 0);
	assert_string_equal(facts(&all, "d")->missing.path, "one");
	size_t *order = td_schema_sorted(&all);
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(*(const char *)td_map_key(&all.features, order[i]), "abcd"[i]);
	free(order);
	td_schema_free(&all);
	td_schema_free(&part);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tally),
		cmocka_unit_test(test_schema),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
