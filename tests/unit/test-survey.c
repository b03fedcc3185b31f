/* SPDX-License-Identifier: BSD-2-Clause */
#include "unit.h"

#include "record/schema.h"
#include "survey/canvas.h"
#include "survey/levels.h"
#include "survey/order.h"
#include "survey/picks.h"
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

static void test_histogram(void **state)
{
	(void)state;
	struct td_tally t = { 0 };
	struct td_histogram h;
	td_tally_histogram(&t, &h);
	assert_int_equal(h.end, 0);
	static const int64_t values[] = { 3, 4, 7, 8, INT64_MAX };
	for (size_t i = 0; i < 5; i++)
		assert_true(td_tally_add(&t, values[i], i + 1));
	td_tally_histogram(&t, &h);
	assert_int_equal(h.first, 2);
	assert_int_equal(h.end, 64 - 1 + 1);
	assert_int_equal(h.n[2], 1);
	assert_int_equal(h.n[3], 2 + 3);
	assert_int_equal(h.n[4], 4);
	assert_int_equal(h.n[63], 5);
	assert_true(td_histogram_from(3) == 4 && td_histogram_from(0) == 0);
	assert_true(td_tally_add(&t, 0, 1));
	td_tally_histogram(&t, &h);
	assert_int_equal(h.first, 0);
	td_tally_free(&t);
}

static void test_levels(void **state)
{
	(void)state;
	/* two rows of two pixels in RGBX, then one in RGB */
	static const uint8_t rgbx[] = { 0, 10, 255, 9, 2, 10, 255, 9, 1, 1, 1, 1, 7, 7, 7, 9, 7, 10,
		254, 9 };
	static const uint8_t rgb[] = { 8, 10, 0 };
	const struct td_pixels four = { .data = rgbx, .width = 2, .height = 2, .channels = 3, .step = 4,
		.stride = 12 };
	const struct td_pixels one = { .data = rgb, .width = 1, .height = 1, .channels = 3, .step = 3,
		.stride = 3 };
	static struct td_levels all, part;
	struct td_level_stats s;
	td_levels_stats(&all, 0, &s);
	assert_true(s.mean == 0 && s.std == 0 && s.least == 0);
	td_levels_add(&all, &one);
	td_levels_add(&part, &four);
	td_levels_merge(&all, &part);
	assert_int_equal(all.images, 2);
	assert_int_equal(all.pixels, 5);
	assert_int_equal(part.pixels, 0);
	td_levels_stats(&all, 0, &s); /* 0 2 7 7 8 */
	assert_true(s.mean == 4.8);
	assert_true(s.std > 3.1874 && s.std < 3.1875);
	assert_true(s.least == 0 && s.median == 7 && s.most == 8);
	td_levels_stats(&all, 1, &s); /* 10 10 7 10 10 */
	assert_true(s.median == 10 && s.least == 7);
}

static void add_labels(struct td_order *o, const char *labels)
{
	for (; *labels; labels++)
		assert_true(td_order_add(o, labels, 1));
}

static void test_order(void **state)
{
	(void)state;
	struct td_order all = { 0 }, part = { 0 };
	add_labels(&part, "aab");
	assert_true(td_order_merge(&all, &part));
	assert_true(td_order_merge(&all, &part)); /* nothing */
	add_labels(&part, "bba");
	assert_true(td_order_merge(&all, &part));
	add_labels(&part, "b");
	assert_true(td_order_merge(&all, &part));
	assert_int_equal(all.records, 7);
	assert_int_equal(all.runs, 4); /* aa bbb a b */
	assert_int_equal(all.windows, 0);
	for (unsigned i = 0; i < TD_ORDER_WINDOW / 2; i++)
		add_labels(&part, "xy");
	for (unsigned i = 0; i < TD_ORDER_WINDOW; i++)
		add_labels(&part, "x");
	assert_true(td_order_merge(&all, &part));
	assert_int_equal(all.windows, 2);
	assert_true(all.bits > 0.999999 && all.bits < 1.000001);
	assert_int_equal(all.runs, 4 + TD_ORDER_WINDOW + 1);
	td_order_free(&all);
	td_order_free(&part);
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

/* Offers `n` records of each of three classes, from file `file` on. */
static void offer(struct td_picks *p, size_t file, uint64_t n, uint64_t seed)
{
	p->limit = 7;
	for (uint64_t i = 0; i < n; i++) {
		const struct td_pick pick = { .file = file, .record = i, .offset = i * 10 };
		assert_true(td_picks_offer(p, i % 10 == 0 ? "a" : i % 2 ? "b" : "c", 1, seed, pick));
	}
}

static void test_picks(void **state)
{
	(void)state;
	static const size_t rank[] = { 2, 0, 1 }; /* a, b, c: shown as b, c, a */
	struct td_picks all = { .limit = 7 }, part = { 0 }, other = { .limit = 7 };
	for (size_t file = 0; file < 3; file++) {
		offer(&part, file, 50, 1);
		assert_true(td_picks_merge(&all, &part));
	}
	size_t n, m;
	struct td_picked *drawn = td_picks_draw(&all, rank, &n);
	assert_int_equal(n, 7);
	size_t per_class[3] = { 0 };
	for (size_t i = 0; i < n; i++) {
		per_class[drawn[i].class]++;
		assert_true(i == 0 || rank[drawn[i - 1].class] <= rank[drawn[i].class]);
		assert_int_equal(drawn[i].pick.offset, drawn[i].pick.record * 10);
	}
	/* two of each, and a third of one */
	assert_true(per_class[0] >= 2 && per_class[1] >= 2 && per_class[2] >= 2);

	/* files in one go, classes in another order: the same draw */
	for (size_t file = 3; file-- > 0;)
		offer(&other, file, 50, 1);
	struct td_picked *again = td_picks_draw(&other, rank, &m);
	assert_int_equal(m, n);
	assert_memory_equal(again, drawn, n * sizeof *drawn);
	free(again);
	td_picks_free(&other);
	other = (struct td_picks){ .limit = 7 };
	for (size_t file = 0; file < 3; file++)
		offer(&other, file, 50, 2);
	again = td_picks_draw(&other, rank, &m);
	assert_true(memcmp(again, drawn, n * sizeof *drawn) != 0);
	free(again);
	free(drawn);
	td_picks_free(&all);
	td_picks_free(&part);
	td_picks_free(&other);
}

static uint32_t ink(const struct td_canvas *c)
{
	uint32_t n = 0;
	for (size_t i = 0; i < (size_t)c->width * c->height; i++)
		n += c->data[i * 3] == 0;
	return n;
}

static void test_canvas(void **state)
{
	(void)state;
	struct td_canvas c, d;
	assert_true(td_canvas_new(&c, 64, 20, 0xffffff));
	assert_int_equal(ink(&c), 0);
	td_canvas_fill(&c, 60, 18, 100, 100, 0);
	assert_int_equal(ink(&c), 8);
	td_canvas_text(&c, 0, 0, 2, 64, 0, "l"); /* 10 dots of 2x2 */
	assert_int_equal(ink(&c), 8 + 4 * 10);
	td_canvas_free(&c);

	assert_int_equal(td_canvas_text_width("ab\u00e9", 2), 34);
	/* what does not fit ends in dots, what is not ASCII is a box */
	assert_true(td_canvas_new(&c, 64, 9, 0xffffff));
	assert_true(td_canvas_new(&d, 64, 9, 0xffffff));
	td_canvas_text(&c, 0, 0, 1, 29, 0, "abcdef");
	td_canvas_text(&d, 0, 0, 1, 64, 0, "abc..");
	assert_memory_equal(c.data, d.data, 64 * 9 * 3);
	td_canvas_text(&c, 32, 0, 1, 5, 0, "\u00e9");
	assert_int_equal(ink(&c), ink(&d) + 20);
	static const uint8_t dot[] = { 0, 0, 0 };
	td_canvas_place(&c, 60, 6, dot, 1, 1, 8); /* cut off at the border */
	assert_int_equal(ink(&c), ink(&d) + 20 + 12);
	td_canvas_free(&c);
	td_canvas_free(&d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tally),
		cmocka_unit_test(test_histogram),
		cmocka_unit_test(test_levels),
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_schema),
		cmocka_unit_test(test_picks),
		cmocka_unit_test(test_canvas),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
