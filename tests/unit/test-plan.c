/* SPDX-License-Identifier: BSD-2-Clause
 * Plans: totals, classes within one, each item once, errors in words. */
#include "unit.h"

#include "base/rng.h"
#include "pack/plan.h"

static void check_permutation(const struct td_plan *p)
{
	uint8_t *seen = calloc(p->n + 1, 1);
	for (size_t i = 0; i < p->n; i++) {
		assert_true(p->order[i] < p->n && !seen[p->order[i]]);
		seen[p->order[i]] = 1;
	}
	free(seen);
	uint64_t at = 0;
	for (size_t i = 0; i < p->n_shards; i++) {
		assert_int_equal(p->shards[i].first, at);
		at += p->shards[i].n;
	}
	assert_int_equal(at, p->n);
}

/* Classes within one among the shards of a split, and within one of their share. */
static void check_classes(const struct td_plan *p, const int32_t *classes, int32_t n_classes)
{
	uint64_t whole = 0;
	for (size_t s = 0; s < p->n_splits; s++)
		whole += p->splits[s].part;
	for (int32_t k = 0; k < n_classes; k++) {
		uint64_t all = 0;
		for (size_t i = 0; i < p->n; i++)
			all += classes[i] == k;
		for (size_t s = 0; s < p->n_splits; s++) {
			const struct td_plan_split *split = &p->splits[s];
			uint64_t least = UINT64_MAX, most = 0, sum = 0;
			for (size_t i = 0; i < split->n_shards; i++) {
				const struct td_plan_shard *shard = &p->shards[split->first_shard + i];
				uint64_t n = 0;
				for (uint64_t j = 0; j < shard->n; j++)
					n += classes[p->order[shard->first + j]] == k;
				least = TD_MIN(least, n);
				most = TD_MAX(most, n);
				sum += n;
			}
			assert_true(most - least <= 1);
			uint64_t low = all * split->part / whole;
			assert_true(sum >= low && sum <= low + 1);
		}
	}
}

static void random_plans(void **state)
{
	(void)state;
	static const char *const splits[] = { NULL, "train=.9,val=.1", "a=.7,b=.2,c=.1",
		"a=.25,b=.25,c=.25,d=25%", "x=.5,y=.3,z=.1,u=.05,v=.05" };
	static int32_t classes[3000];
	for (uint64_t round = 0; round < 300; round++) {
		struct td_rng rng;
		td_rng_at(&rng, 7, 0, round, TD_RNG_SAMPLE);
		size_t n = 200 + (size_t)td_rng_below(&rng, 2800);
		int32_t k = 1 + (int32_t)td_rng_below(&rng, 40);
		for (size_t i = 0; i < n; i++)
			classes[i] = (int32_t)td_rng_below(&rng, 1 + td_rng_below(&rng, (uint64_t)k));
		char shards[16];
		snprintf(shards, sizeof shards, "%d", 1 + (int)td_rng_below(&rng, 9));
		const struct td_plan_options o = {
			.n = n, .classes = classes, .shards = shards, .split = splits[round % 5],
			.stratify = true, .shuffle = round % 2, .seed = round,
		};
		struct td_plan p;
		assert_int_equal(td_plan_make(&p, &o, NULL), 0);
		check_permutation(&p);
		check_classes(&p, classes, k);
		td_plan_free(&p);
	}
}

static void totals(void **state)
{
	(void)state;
	struct td_plan p;
	struct td_plan_options o = { .n = 40, .split = "train=.8,test=.2", .shards = "train=3,test=2", .shuffle = true };
	assert_int_equal(td_plan_make(&p, &o, NULL), 0);
	assert_int_equal(p.splits[0].n, 32);
	assert_int_equal(p.splits[1].n, 8);
	assert_int_equal(p.n_shards, 5);
	assert_int_equal(p.shards[0].n, 11);
	assert_int_equal(p.shards[2].n, 10);
	assert_int_equal(p.shards[4].split, 1);
	assert_int_equal(p.shards[4].number, 1);
	check_permutation(&p);
	td_plan_free(&p);
	/* 10 : .55/.25/.2 -> 5.5, 2.5, 2: the earlier of equal remainders gets the item */
	o = (struct td_plan_options){ .n = 10, .split = "a=.55,b=.25,c=.2", .shards = "1" };
	assert_int_equal(td_plan_make(&p, &o, NULL), 0);
	assert_int_equal(p.splits[0].n, 6);
	assert_int_equal(p.splits[1].n, 2);
	td_plan_free(&p);
}

static void orders(void **state)
{
	(void)state;
	struct td_plan p, q;
	static const int32_t classes[] = { 0, 0, 0, 0, 1, 1, 1, 1 };
	struct td_plan_options o = { .n = 8, .classes = classes, .shards = "2" };
	assert_int_equal(td_plan_make(&p, &o, NULL), 0);
	for (uint32_t i = 0; i < 8; i++)
		assert_int_equal(p.order[i], i);
	td_plan_free(&p);
	o.stratify = true;
	assert_int_equal(td_plan_make(&p, &o, NULL), 0);
	static const uint32_t want[] = { 0, 2, 4, 6, 1, 3, 5, 7 };
	assert_memory_equal(p.order, want, sizeof want);
	td_plan_free(&p);
	/* another seed is another order, the same one the same */
	o.shuffle = true;
	o.seed = 1;
	assert_int_equal(td_plan_make(&p, &o, NULL), 0);
	assert_int_equal(td_plan_make(&q, &o, NULL), 0);
	assert_memory_equal(p.order, q.order, sizeof want);
	td_plan_free(&q);
	o.seed = 2;
	assert_int_equal(td_plan_make(&q, &o, NULL), 0);
	assert_memory_not_equal(p.order, q.order, sizeof want);
	td_plan_free(&p);
	td_plan_free(&q);
}

static void groups(void **state)
{
	(void)state;
	static uint32_t groups[40];
	static int32_t classes[40];
	for (uint32_t i = 0; i < 40; i++) {
		groups[i] = i / 5;
		classes[i] = (int32_t)(i % 2);
	}
	for (uint64_t seed = 0; seed < 20; seed++) {
		struct td_plan p;
		int side[8] = { 0 };
		const struct td_plan_options o = { .n = 40, .groups = groups, .n_groups = 8, .classes = classes,
			.split = "train=.8,val=.2", .shards = "3", .stratify = seed % 2, .shuffle = true, .seed = seed };
		assert_int_equal(td_plan_make(&p, &o, NULL), 0);
		check_permutation(&p);
		assert_int_equal(p.splits[0].n, 30);
		assert_int_equal(p.splits[1].n, 10);
		for (size_t i = 0; i < p.n_shards; i++)
			for (uint64_t k = 0; k < p.shards[i].n; k++)
				side[groups[p.order[p.shards[i].first + k]]] |= 1 << p.shards[i].split;
		for (size_t i = 0; i < 8; i++)
			assert_in_range(side[i], 1, 2);
		td_plan_free(&p);
	}
	struct tundish_error e = { 0 };
	struct td_plan p;
	const struct td_plan_options o = { .n = 40, .groups = groups, .n_groups = 8, .split = "a=.99,b=.01", .shards = "1" };
	assert_int_equal(td_plan_make(&p, &o, &e), TUNDISH_E_USAGE);
	assert_string_equal(e.text, "split b would get no group of 8");
}

/* Without shuffle each group stands in one shard, its items together and in order. */
static void groups_together(void **state)
{
	(void)state;
	static uint32_t groups[600];
	static int32_t classes[600];
	for (uint64_t seed = 0; seed < 40; seed++) {
		struct td_rng rng;
		td_rng_at(&rng, seed, 0, 0, TD_RNG_SAMPLE);
		uint32_t n_groups = 0;
		for (size_t i = 0; i < 600; n_groups++)
			for (uint64_t k = 1 + td_rng_below(&rng, 20); i < 600 && k > 0; i++, k--) {
				groups[i] = n_groups;
				classes[i] = (int32_t)(n_groups % 3);
			}
		const struct td_plan_options o = { .n = 600, .groups = groups, .n_groups = n_groups,
			.classes = seed % 2 ? classes : NULL, .stratify = seed % 2, .shards = "4",
			.split = seed % 4 < 2 ? NULL : "a=.8,b=.2", .seed = seed };
		struct td_plan p;
		int64_t shard_of[600], least = 600, most = 0;
		memset(shard_of, -1, sizeof shard_of);
		assert_int_equal(td_plan_make(&p, &o, NULL), 0);
		check_permutation(&p);
		for (size_t i = 0; i < p.n_shards; i++) {
			least = TD_MIN(least, (int64_t)p.shards[i].n);
			most = TD_MAX(most, (int64_t)p.shards[i].n);
			for (uint64_t k = 0; k < p.shards[i].n; k++) {
				uint32_t item = p.order[p.shards[i].first + k];
				if (shard_of[groups[item]] < 0)
					assert_true(item == 0 || groups[item - 1] != groups[item]);
				else
					assert_int_equal(p.order[p.shards[i].first + k - 1], item - 1);
				assert_true(shard_of[groups[item]] < 0 || shard_of[groups[item]] == (int64_t)i);
				shard_of[groups[item]] = (int64_t)i;
			}
		}
		if (seed % 4 < 1)
			assert_true(most - least <= 40);
		td_plan_free(&p);
	}
}

static void split_by_item(void **state)
{
	(void)state;
	static uint32_t groups[40];
	for (uint32_t i = 0; i < 40; i++)
		groups[i] = i / 20;
	const struct td_plan_options o = { .n = 40, .groups = groups, .n_groups = 2, .split_items = true,
		.split = "a=.75,b=.25", .shards = "1" };
	struct td_plan p;
	assert_int_equal(td_plan_make(&p, &o, NULL), 0);
	check_permutation(&p);
	assert_int_equal(p.splits[0].n, 30);
	td_plan_free(&p);
}

static void sizes(void **state)
{
	(void)state;
	static const uint64_t bytes[] = { 100, 100, 100, 100, 50 };
	struct td_plan p;
	struct td_plan_options o = { .n = 5, .bytes = bytes, .shard_bytes = 225 };
	assert_int_equal(td_plan_make(&p, &o, NULL), 0);
	assert_int_equal(p.n_shards, 2);
	td_plan_free(&p);
	o.shard_bytes = 224;
	assert_int_equal(td_plan_make(&p, &o, NULL), 0);
	assert_int_equal(p.n_shards, 3);
	td_plan_free(&p);
	o.shard_bytes = 1;
	assert_int_equal(td_plan_make(&p, &o, NULL), 0);
	assert_int_equal(p.n_shards, 5);
	td_plan_free(&p);
	/* asked for by number there are as many as asked, empty ones last */
	o.shards = "9";
	assert_int_equal(td_plan_make(&p, &o, NULL), 0);
	assert_int_equal(p.n_shards, 9);
	assert_int_equal(p.shards[4].n, 1);
	assert_int_equal(p.shards[5].n, 0);
	td_plan_free(&p);
}

static void words(void **state)
{
	(void)state;
	static const struct {
		const char *shards, *split, *want;
	} wrong[] = {
		{ "0", NULL, "shards: \"0\"" }, { "-1", NULL, "shards" }, { "x", NULL, "shards" },
		{ "", NULL, "shards" }, { "1000001", NULL, "shards" }, { "10 ", NULL, "shards" },
		{ "99999999999999999999999", NULL, "shards" }, { "val=1", NULL, "no split \"val\"" },
		{ "train=1,train=2", NULL, "twice" }, { "a=1", "a=.5,b=.5", "no number for split b" },
		{ NULL, "a", "NAME=PART" }, { NULL, "a=.5", "add up to 0.500" }, { NULL, "a=2", "NAME=PART" },
		{ NULL, "a=.5,a=.5", "twice" }, { NULL, "a/b=1", "letters" }, { NULL, "=1", "letters" },
		{ NULL, "a=1,b=0", "no record" }, { NULL, "a=1,", "NAME=PART" }, { NULL, "a=0x1", "NAME=PART" },
		{ NULL, "a=.", "NAME=PART" }, { NULL, "a=1e-1,b=.9", "NAME=PART" },
		{ "5", "a=.99,b=.01", "split b would get no record of 20" },
	};
	for (size_t i = 0; i < TD_COUNT(wrong); i++) {
		struct tundish_error e = { 0 };
		struct td_plan p;
		const struct td_plan_options o = { .n = 20, .shards = wrong[i].shards ? wrong[i].shards : "1",
			.split = wrong[i].split };
		assert_int_equal(td_plan_make(&p, &o, &e), TUNDISH_E_USAGE);
		if (!strstr(e.text, wrong[i].want))
			fail_msg("\"%s\" does not say \"%s\"", e.text, wrong[i].want);
	}
	assert_int_equal(td_plan_check("3", "a=33.3%,b=33.3%,c=33.4%", NULL), 0);
	assert_int_equal(td_plan_check(NULL, NULL, NULL), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_plans),
		cmocka_unit_test(totals),
		cmocka_unit_test(orders),
		cmocka_unit_test(groups),
		cmocka_unit_test(groups_together),
		cmocka_unit_test(split_by_item),
		cmocka_unit_test(sizes),
		cmocka_unit_test(words),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
