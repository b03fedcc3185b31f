/* SPDX-License-Identifier: BSD-2-Clause
 * Samplers and mixes: proportions in each batch, each record in its turn, any rest resumed. */
#include "sets.h"

/* Ids 0 .. n-1 as labels, with a feature `class` that class_of() says, as number or text. */
static const unsigned sizes[] = { 101, 60, 30, 8, 1 };
#define CLASSES 5
#define RECORDS 200

static unsigned class_of(unsigned id)
{
	unsigned mixed = id * 77 % RECORDS, c = 0;
	while (mixed >= sizes[c])
		mixed -= sizes[c++];
	return c;
}

static const char *write_classes(const char *name, unsigned first, unsigned n, bool text)
{
	const char *path = in_scratch(name);
	struct tundish_writer *w;
	struct td_buf record = { 0 };
	assert_int_equal(tundish_writer_open(&w, path, TUNDISH_NONE, 0, NULL), 0);
	for (unsigned id = first; id < first + n; id++) {
		const int64_t label = id, class = class_of(id % RECORDS);
		char letter = (char)('a' + class);
		const struct td_bytes word = { (const uint8_t *)&letter, 1 };
		struct td_field fields[2] = {
			{ .key = "class", .kind = TUNDISH_INT64, .n = 1, .ints = &class },
			{ .key = "label", .kind = TUNDISH_INT64, .n = 1, .ints = &label },
		};
		if (text)
			fields[0] = (struct td_field){ .key = "class", .kind = TUNDISH_BYTES, .n = 1,
				.bytes = &word };
		record.len = 0;
		assert_int_equal(td_example_encode(&record, fields, 2, 1 << 20, NULL), 0);
		assert_int_equal(tundish_writer_append(w, record.data, record.len, NULL), 0);
	}
	assert_int_equal(tundish_writer_close(w, NULL), 0);
	td_buf_free(&record);
	return path;
}

static void run_ranks(struct run *all, const char *set, const char *sampler, unsigned world,
    unsigned global, unsigned epochs)
{
	for (unsigned rank = 0; rank < world; rank++) {
		struct run *r = &all[rank];
		run_init(r, set, NULL);
		r->o.sampler = sampler;
		r->o.shuffle = "full";
		r->o.rank = rank;
		r->o.world = world;
		r->o.uneven = TUNDISH_UNEVEN_KEEP;
		r->o.batch = global / world;
		r->o.epochs = epochs;
		run_flow(r);
		assert_int_equal(r->rc, 0);
		td_buf_free(&r->faults);
	}
}

static void count_batch(const struct run *r, unsigned batch, unsigned counts[CLASSES])
{
	for (unsigned i = 0; i < r->o.batch; i++)
		counts[class_of((unsigned)r->labels[batch * r->o.batch + i])]++;
}

/* Each batch of all ranks holds its part of each class, each rank's part too, and each
 * record comes once. */
static void check_stratified(const char *set, unsigned world, unsigned global)
{
	static struct run all[4], sum;
	unsigned whole = RECORDS / global;
	run_ranks(all, set, "stratified:class", world, global, 1);
	for (unsigned b = 0; b < whole; b++) {
		unsigned counts[4][CLASSES] = { 0 };
		for (unsigned rank = 0; rank < world; rank++)
			count_batch(&all[rank], b, counts[rank]);
		for (unsigned c = 0; c < CLASSES; c++) {
			unsigned together = 0;
			for (unsigned rank = 0; rank < world; rank++)
				together += counts[rank][c];
			double part = (double)global * sizes[c] / RECORDS, most = 1 + 1.0 / whole;
			assert_true(together >= part - most && together <= part + most);
			for (unsigned rank = 0; rank < world; rank++) {
				assert_true(counts[rank][c] >= together / world);
				assert_true(counts[rank][c] <= (together + world - 1) / world);
			}
		}
	}
	sum.samples = 0;
	for (unsigned rank = 0; rank < world; rank++) {
		memcpy(sum.labels + sum.samples, all[rank].labels,
		    all[rank].samples * sizeof *sum.labels);
		sum.samples += all[rank].samples;
	}
	assert_each(&sum, RECORDS, 1);
}

static void test_stratified(void **state)
{
	(void)state;
	const char *set = write_classes("stratified", 0, RECORDS, false);
	for (unsigned world = 1; world <= 4; world *= 2) {
		check_stratified(set, world, 16);
		check_stratified(set, world, 20); /* divides the records */
		check_stratified(set, world, 64);
	}
	check_stratified(set, 3, 48);
}

/* As many of each class in each batch; no record again before all of its class came. */
static void test_equal(void **state)
{
	(void)state;
	static struct run r;
	const unsigned epochs = 3;
	unsigned seen[RECORDS] = { 0 };
	run_ranks(&r, write_classes("equal", 0, RECORDS, true), "stratified:class,equal", 1, 20, epochs);
	assert_int_equal(r.samples, epochs * RECORDS);
	for (unsigned b = 0; b < r.batches; b++) {
		unsigned counts[CLASSES] = { 0 };
		count_batch(&r, b, counts);
		for (unsigned c = 0; c < CLASSES; c++)
			assert_int_equal(counts[c], 4);
	}
	for (unsigned i = 0; i < r.samples; i++)
		seen[r.labels[i]]++;
	for (unsigned id = 0; id < RECORDS; id++) {
		unsigned n = epochs * RECORDS / CLASSES, of = sizes[class_of(id)];
		assert_in_range(seen[id], n / of, (n + of - 1) / of);
	}
}

static void test_weighted(void **state)
{
	(void)state;
	static struct run r, one;
	unsigned counts[CLASSES] = { 0 };
	const char *set = write_classes("weighted", 0, RECORDS, false), *table = in_scratch("table");
	run_ranks(&r, set, "weighted:class", 1, 20, 10);
	for (unsigned i = 0; i < r.samples; i++)
		counts[class_of((unsigned)r.labels[i])]++;
	for (unsigned c = 0; c < CLASSES; c++)
		assert_in_range(counts[c], 330, 470); /* of 2000, four standard deviations */
	one = r;
	one.faults = (struct td_buf){ 0 };
	one.o.threads = 8;
	run_flow(&one);
	assert_string_equal(one.digest, r.digest);
	td_buf_free(&one.faults);

	/* weights of records: 101 * 1 against 60 * 3, and a class that never comes */
	FILE *f = fopen(table, "we");
	fputs("# weights\n0=1\r\n1=3\n2=0\n7=5\n", f);
	fclose(f);
	char sampler[160];
	snprintf(sampler, sizeof sampler, "weighted:class,table=%s", table);
	run_ranks(&r, set, sampler, 1, 20, 10);
	memset(counts, 0, sizeof counts);
	for (unsigned i = 0; i < r.samples; i++)
		counts[class_of((unsigned)r.labels[i])]++;
	assert_int_equal(counts[0] + counts[1], 2000);
	assert_in_range(counts[0], 632, 806); /* 719 and four standard deviations */
}

/* Labels 0 .. 119 in one source, 1000 .. 1039 in the other. */
static const char *const *mix_of(char text[2][200], double weight_a, double weight_b)
{
	static const char *a, *b, *pair[2];
	if (!a) {
		a = write_classes("mix-a", 0, 120, false);
		b = write_classes("mix-b", 1000, 40, false);
	}
	snprintf(text[0], 200, "first=%s:%g", a, weight_a);
	snprintf(text[1], 200, "second=%s:%g", b, weight_b);
	pair[0] = text[0];
	pair[1] = text[1];
	return pair;
}

static void run_mix(struct run *r, double weight_a, double weight_b, unsigned least, unsigned rank,
    unsigned world, unsigned epochs)
{
	static char text[2][200];
	run_init(r, NULL, NULL);
	r->o.mix = mix_of(text, weight_a, weight_b);
	r->o.n_mix = 2;
	r->o.min_per_source = least;
	r->o.batch = 20 / world;
	r->o.rank = rank;
	r->o.world = world;
	r->o.shuffle = "full";
	r->o.epochs = epochs;
	run_flow(r);
	assert_int_equal(r->rc, 0);
	td_buf_free(&r->faults);
}

static void test_mix(void **state)
{
	(void)state;
	static struct run r;
	unsigned seen[2000] = { 0 };
	run_mix(&r, .7, .3, 0, 0, 1, 5); /* 112 and 48 in an epoch */
	assert_int_equal(r.samples, 5 * 160);
	for (unsigned b = 0; b < r.batches; b++) {
		unsigned second = 0;
		for (unsigned i = b * 20; i < b * 20 + 20; i++) {
			assert_int_equal(r.sources[i], r.labels[i] >= 1000);
			second += r.sources[i] == 1;
		}
		assert_int_equal(second, 6);
	}
	for (unsigned i = 0; i < r.samples; i++)
		seen[r.labels[i]]++;
	for (unsigned i = 0; i < 120; i++)
		assert_in_range(seen[i], 4, 5); /* 560 of 120 */
	for (unsigned i = 1000; i < 1040; i++)
		assert_int_equal(seen[i], 6); /* 240 of 40 */

	/* by their sizes: each record once */
	memset(seen, 0, sizeof seen);
	run_mix(&r, 120, 40, 0, 0, 1, 1);
	for (unsigned i = 0; i < r.samples; i++)
		seen[r.labels[i]]++;
	for (unsigned i = 0; i < 2000; i++)
		assert_int_equal(seen[i], i < 120 || (i >= 1000 && i < 1040));
}

static void test_least(void **state)
{
	(void)state;
	static struct run r[2];
	for (unsigned world = 1; world <= 2; world++) {
		uint64_t topped = 0;
		for (unsigned rank = 0; rank < world; rank++) {
			run_mix(&r[rank], .99, .01, 3, rank, world, 2);
			assert_int_equal(r[rank].samples, 2 * 160 / world);
			unsigned per = 20 / world;
			for (unsigned b = 0; b < r[rank].batches; b++) {
				unsigned second = 0;
				for (unsigned i = b * per; i < b * per + per; i++)
					second += r[rank].sources[i] == 1;
				assert_int_equal(second, 3);
			}
			topped += r[rank].stats.topped_up;
		}
		/* two of 160 come by themselves in an epoch */
		assert_int_equal(topped, 2 * (3 * 8 * world - 2));
	}
}

/* Any rest, at another number of threads and of ranks. */
static void check_resume(const struct run *whole)
{
	static struct run part, rest;
	for (unsigned stop = 1; stop < whole->batches; stop += 3) {
		run_parts(whole, stop, &part, &rest);
		rest.o.batch /= 2;
		rest.o.world = 2;
		rest.o.rank = stop % 2;
		run_flow(&rest);
		assert_int_equal(rest.rc, 0);
		for (unsigned i = 0; i < rest.samples; i++)
			assert_int_equal(rest.labels[i], whole->labels[part.samples + 2 * i + stop % 2]);
		td_buf_free(&rest.faults);
		td_buf_free(&part.faults);
	}
}

static void test_resume(void **state)
{
	(void)state;
	static struct run r;
	static const char *const samplers[] = { "stratified:class", "stratified:class,equal",
		"weighted:class" };
	const char *set = write_classes("resume", 0, RECORDS, false);
	for (int i = 0; i < 3; i++) {
		run_ranks(&r, set, samplers[i], 1, 16, 2);
		check_resume(&r);
	}
	run_mix(&r, .6, .4, 0, 0, 1, 2);
	check_resume(&r);
}

static void expect_refusal(struct run *r, int code, const char *words)
{
	run_flow(r);
	assert_int_equal(r->rc, code);
	assert_non_null(strstr(r->e.text, words));
	td_buf_free(&r->faults);
}

static void test_refusals(void **state)
{
	(void)state;
	static struct run r;
	static const char *const wrong[] = { "weighted", "weighted:", "stratified:label,even",
		"weighted:label,table=", "label" };
	const char *set = write_classes("refusals", 0, 20, false);
	for (int i = 0; i < 5; i++) {
		run_init(&r, set, NULL);
		r.o.sampler = wrong[i];
		expect_refusal(&r, TUNDISH_E_USAGE, "is not understood");
	}
	run_init(&r, set, NULL);
	r.o.sampler = "stratified:class";
	r.o.shuffle = "buffer:5";
	expect_refusal(&r, TUNDISH_E_USAGE, "off or full");
	r.o.shuffle = NULL;
	r.o.flow_epochs = 1;
	expect_refusal(&r, TUNDISH_E_USAGE, "flow over");
	run_init(&r, set, NULL);
	r.o.sampler = "weighted:colour";
	expect_refusal(&r, TUNDISH_E_USAGE, "no record has a colour");
	run_init(&r, set, NULL);
	r.o.sampler = "weighted:class,table=/dev/null";
	expect_refusal(&r, TUNDISH_E_IO, "/dev/null: not a regular file");
	r.o.sampler = "weighted:class,table=/nowhere/x";
	expect_refusal(&r, TUNDISH_E_NOT_FOUND, "/nowhere/x: ");
	run_init(&r, set, NULL);
	r.o.min_per_source = 1;
	expect_refusal(&r, TUNDISH_E_USAGE, "without a mix");
	run_init(&r, NULL, NULL);
	static const char *mix = "a=/nowhere/*:1", *unclear = "a:1";
	r.o.mix = &mix;
	r.o.n_mix = 1;
	expect_refusal(&r, TUNDISH_E_NOT_FOUND, "source a of the mix");
	r.o.mix = &unclear;
	expect_refusal(&r, TUNDISH_E_USAGE, "NAME=PATTERN:WEIGHT");
}

/* A record without the feature is told once, at the start, and has no part. */
static void test_bad(void **state)
{
	(void)state;
	static struct run r;
	const char *set = in_scratch("bad");
	struct tundish_writer *w;
	struct td_buf record = { 0 };
	assert_int_equal(tundish_writer_open(&w, set, TUNDISH_NONE, 0, NULL), 0);
	for (unsigned id = 0; id < 12; id++) {
		make_record(&record, id, false, id == 5 ? NO_LABEL : GOOD);
		assert_int_equal(tundish_writer_append(w, record.data, record.len, NULL), 0);
	}
	assert_int_equal(tundish_writer_close(w, NULL), 0);
	td_buf_free(&record);
	run_init(&r, set, NULL);
	r.o.sampler = "stratified:label";
	r.o.batch = 4;
	r.o.epochs = 2;
	run_flow(&r);
	assert_int_equal(r.rc, 0);
	assert_int_equal(r.samples, 22);
	assert_non_null(strstr(FAULTS(&r), "record 5"));
	assert_int_equal(r.stats.bad, 1);
	td_buf_free(&r.faults);
	r.o.on_error = TUNDISH_FAIL;
	expect_refusal(&r, TUNDISH_E_SCHEMA, "record 5");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stratified),
		cmocka_unit_test(test_equal),
		cmocka_unit_test(test_weighted),
		cmocka_unit_test(test_mix),
		cmocka_unit_test(test_least),
		cmocka_unit_test(test_resume),
		cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_bad),
	};
	return cmocka_run_group_tests(tests, make_scratch, clear_scratch);
}
