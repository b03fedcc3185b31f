/* SPDX-License-Identifier: BSD-2-Clause
 * Bad records: each is named, none moves another, the first in order wins. */
#include "sets.h"

static enum flaw some_flaws(unsigned id)
{
	return id == 3 ? NO_LABEL : id == 7 ? CUT_PICTURE : id == 8 ? NO_PICTURE :
	    id == 20 ? FLOAT_LABEL : id == 21 ? NO_EXAMPLE : GOOD;
}

static enum flaw all_bad(unsigned id)
{
	(void)id;
	return NO_PICTURE;
}

static const char *flawed;

static int setup(void **state)
{
	if (make_scratch(state) < 0)
		return -1;
	flawed = write_set("flawed", 23, 2, true, some_flaws);
	return 0;
}

static const unsigned many[] = { 1, 2, 3, 8, 99 };

static void assert_line(const struct run *r, const char *line)
{
	if (!strstr(FAULTS(r), line))
		fail_msg("\"%s\" is not in:\n%s", line, FAULTS(r));
}

static void test_skip(void **state)
{
	(void)state;
	static struct run first, r;
	for (int t = 0; t < 5; t++) {
		run_init(&r, flawed, "resize:8");
		r.o.batch = 4;
		r.o.threads = many[t];
		run_flow(&r);
		assert_int_equal(r.rc, 0);
		assert_int_equal(r.samples, 18);
		assert_int_equal(r.stats.bad, 5);
		/* batches close up, and no position moves to another one */
		const unsigned counts[6] = { 3, 3, 3, 4, 4, 1 };
		assert_int_equal(r.batches, 6);
		assert_memory_equal(r.counts, counts, sizeof counts);
		const int64_t labels[18] = { 0, 1, 2, 4, 5, 6, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18,
			19, 22 };
		assert_memory_equal(r.labels, labels, sizeof labels);
		assert_line(&r, "s-00000-of-00002: record 3 at byte ");
		assert_line(&r, ": feature label is missing\n");
		assert_line(&r, "s-00001-of-00002: record 8 at byte ");
		assert_line(&r, ": feature label is float, wanted is int64\n");
		assert_line(&r, ": no known picture format\n");
		assert_line(&r, "s-00001-of-00002: record 9 at byte ");
		assert_line(&r, ": not an Example\n");
		if (t == 0) {
			first = r;
			continue;
		}
		assert_string_equal(FAULTS(&r), FAULTS(&first));
		assert_string_equal(r.digest, first.digest);
		td_buf_free(&r.faults);
	}
	td_buf_free(&first.faults);
}

static void test_fail(void **state)
{
	(void)state;
	char text[1024] = "";
	for (int k = 0; k < 10; k++) {
		static struct run r;
		run_init(&r, flawed, "resize:8");
		r.o.batch = 2;
		r.o.on_error = TUNDISH_FAIL;
		r.o.threads = many[k % 5];
		r.o.shuffle = k < 5 ? "off" : "full";
		run_flow(&r);
		assert_true(r.rc < 0);
		assert_int_equal(r.e.code, r.rc);
		assert_string_equal(FAULTS(&r), "");
		if (k < 5) {
			assert_int_equal(r.batches, 1);
			assert_non_null(strstr(r.e.text, "s-00000-of-00002: record 3 at byte "));
		}
		if (k % 5 == 0)
			strcpy(text, r.e.text);
		assert_string_equal(r.e.text, text);
		td_buf_free(&r.faults);
	}
}

static void test_blank(void **state)
{
	(void)state;
	static struct run r;
	run_init(&r, flawed, "resize:8");
	r.o.batch = 4;
	r.o.on_error = TUNDISH_BLANK;
	run_flow(&r);
	assert_int_equal(r.rc, 0);
	assert_int_equal(r.samples, 23);
	for (unsigned i = 0; i < 23; i++)
		assert_int_equal(r.labels[i], some_flaws(i) == GOOD ? (int)i : -1);
	assert_int_equal(r.stats.bad, 5);
	td_buf_free(&r.faults);
}

/* Whole batches: others take the place of bad ones, the same for any threads. */
static void test_stand_ins(void **state)
{
	(void)state;
	char digest[65] = "";
	for (int t = 0; t < 5; t++) {
		static struct run r;
		run_init(&r, flawed, "random_resized_crop:8");
		r.o.batch = 4;
		r.o.last = TUNDISH_LAST_DROP;
		r.o.threads = many[t];
		r.o.shuffle = "buffer:6";
		run_flow(&r);
		assert_int_equal(r.rc, 0);
		assert_int_equal(r.batches, 5);
		for (unsigned i = 0; i < 5; i++)
			assert_int_equal(r.counts[i], 4);
		for (unsigned i = 0; i < 20; i++)
			assert_true(r.labels[i] >= 0 && some_flaws((unsigned)r.labels[i]) == GOOD);
		assert_int_equal(r.stats.replaced, r.stats.bad);
		assert_in_range(r.stats.bad, 2, 5);
		if (t == 0)
			strcpy(digest, r.digest);
		assert_string_equal(r.digest, digest);
		td_buf_free(&r.faults);
	}
}

/* Nothing good at all: no batch of nothing, or blanks where batches must be whole. */
static void test_all_bad(void **state)
{
	(void)state;
	static struct run r;
	const char *set = write_set("hopeless", 6, 1, true, all_bad);
	run_init(&r, set, "resize:8");
	r.o.batch = 4;
	run_flow(&r);
	assert_int_equal(r.rc, 0);
	assert_int_equal(r.batches, 0);
	assert_int_equal(r.stats.bad, 6);
	td_buf_free(&r.faults);
	run_init(&r, set, "resize:8");
	r.o.batch = 4;
	r.o.last = TUNDISH_LAST_DROP;
	run_flow(&r);
	assert_int_equal(r.batches, 1);
	for (int i = 0; i < 4; i++)
		assert_int_equal(r.labels[i], -1);
	td_buf_free(&r.faults);
	run_init(&r, set, NULL); /* nor is there any to give the size */
	run_flow(&r);
	assert_int_equal(r.rc, 0);
	assert_int_equal(r.stats.bad, 6);
	td_buf_free(&r.faults);
}

static void test_sizes_differ(void **state)
{
	(void)state;
	const char *set = write_set("sizes", 9, 2, true, NULL);
	for (int t = 0; t < 5; t++) {
		static struct run r;
		run_init(&r, set, NULL);
		r.o.batch = 1;
		r.o.threads = many[t];
		run_flow(&r);
		assert_int_equal(r.rc, TUNDISH_E_SCHEMA);
		assert_int_equal(r.batches, 1);
		assert_non_null(strstr(r.e.text, "pictures differ in size: first "));
		assert_non_null(strstr(r.e.text, "s-00000-of-00002: record 0: 30x40, then "));
		assert_non_null(strstr(r.e.text, "s-00000-of-00002: record 1: 41x49;"));
		td_buf_free(&r.faults);
	}
}

static void flip_byte(const char *path, long at)
{
	FILE *f = fopen(path, "r+be");
	assert_int_equal(fseek(f, at, SEEK_SET), 0);
	int c = fgetc(f);
	fseek(f, at, SEEK_SET);
	fputc(c ^ 1, f);
	fclose(f);
}

/* Where record number n of a file begins. */
static long frame_at(const char *path, unsigned n)
{
	long at = 0;
	FILE *f = fopen(path, "rbe");
	while (n--) {
		uint64_t length;
		fseek(f, at, SEEK_SET);
		assert_int_equal(fread(&length, 8, 1, f), 1);
		at += (long)length + 16;
	}
	fclose(f);
	return at;
}

/* Damage in the files: in a payload, in a frame, at the end. */
static void test_damage(void **state)
{
	(void)state;
	static struct run r;
	const char *set = write_set("damaged", 12, 3, false, NULL);
	char path[3][512];
	for (unsigned i = 0; i < 3; i++)
		snprintf(path[i], sizeof path[i], "%s/s-%05u-of-00003", set, i);
	flip_byte(path[0], frame_at(path[0], 1) + 40);
	flip_byte(path[1], frame_at(path[1], 2) + 3);
	assert_int_equal(truncate(path[2], frame_at(path[2], 4) - 5), 0);
	for (int t = 0; t < 5; t++) {
		run_init(&r, set, NULL);
		r.o.threads = many[t];
		run_flow(&r);
		assert_int_equal(r.rc, 0);
		const int64_t labels[9] = { 0, 2, 3, 4, 5, 7, 8, 9, 10 };
		assert_int_equal(r.samples, 9);
		assert_memory_equal(r.labels, labels, sizeof labels);
		assert_line(&r, "s-00000-of-00003: record 1 at byte ");
		assert_line(&r, ": data checksum mismatch\n");
		assert_line(&r, "s-00001-of-00003: record 2 at byte ");
		assert_line(&r, "s-00002-of-00003: record 3 at byte ");
		assert_int_equal(r.stats.bad, 3);
		td_buf_free(&r.faults);
	}
	run_init(&r, set, NULL);
	r.o.on_error = TUNDISH_FAIL;
	run_flow(&r);
	assert_true(r.rc < 0);
	td_buf_free(&r.faults);
}

/* Records over the limit are not read. */
static void test_limit(void **state)
{
	(void)state;
	static struct run r;
	run_init(&r, write_set("limit", 12, 1, true, NULL), "resize:8");
	r.o.max_record_bytes = 2400;
	run_flow(&r);
	assert_int_equal(r.rc, 0);
	assert_in_range(r.samples, 1, 11);
	assert_int_equal(r.samples + r.stats.bad, 12);
	assert_line(&r, " bytes are over the limit of 2416\n");
	td_buf_free(&r.faults);
}

/* A file that goes away while it is used is no fault of its records. */
static void test_vanishing(void **state)
{
	(void)state;
	const char *set = write_set("vanishing", 40, 2, true, NULL);
	char path[512];
	snprintf(path, sizeof path, "%s/s-00001-of-00002", set);
	struct tundish_flow *flow;
	struct tundish_flow_options o;
	struct tundish_batch b;
	struct tundish_error e = { 0 };
	tundish_flow_options_init(&o);
	o.paths = &set;
	o.n_paths = 1;
	o.ops = "resize:8";
	o.batch = 2;
	o.prefetch = 1;
	assert_int_equal(tundish_flow_open(&flow, &o, &e), 0);
	assert_int_equal(tundish_flow_next(flow, &b, &e), 1);
	tundish_flow_release(flow, &b);
	tundish_flow_close(flow);
	assert_int_equal(tundish_flow_open(&flow, &o, &e), 0);
	assert_int_equal(truncate(path, 100), 0);
	int rc;
	unsigned samples = 0;
	while ((rc = tundish_flow_next(flow, &b, &e)) == 1) {
		samples += b.count;
		tundish_flow_release(flow, &b);
	}
	/* cut: its records are bad, the others come */
	assert_int_equal(rc, 0);
	assert_int_equal(samples, 20);
	tundish_flow_close(flow);
}

static void test_wrong_options(void **state)
{
	(void)state;
	static struct run r;
	static const struct {
		const char *ops, *shuffle;
		unsigned batch, rank, world;
		uint64_t epochs;
	} wrong[] = {
		{ "sharpen", "off", 4, 0, 1, 1 },
		{ NULL, "random", 4, 0, 1, 1 },
		{ NULL, "off", 0, 0, 1, 1 },
		{ NULL, "off", 4, 2, 2, 1 },
		{ NULL, "off", 4, 0, 0, 1 },
		{ NULL, "off", 4, 0, 1, 0 },
	};
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		run_init(&r, flawed, wrong[i].ops);
		r.o.shuffle = wrong[i].shuffle;
		r.o.batch = wrong[i].batch;
		r.o.rank = wrong[i].rank;
		r.o.world = wrong[i].world;
		r.o.epochs = wrong[i].epochs;
		run_flow(&r);
		assert_int_equal(r.rc, TUNDISH_E_USAGE);
		td_buf_free(&r.faults);
	}
	run_init(&r, in_scratch("missing"), NULL);
	run_flow(&r);
	assert_int_equal(r.rc, TUNDISH_E_NOT_FOUND);
	td_buf_free(&r.faults);
}

/* Labels: none at all is -1; a name that was asked for is wanted. */
static void test_labels(void **state)
{
	(void)state;
	static struct run r;
	const char *set = in_scratch("unlabelled");
	struct tundish_writer *w;
	struct td_buf record = { 0 };
	assert_int_equal(tundish_writer_open(&w, set, TUNDISH_NONE, 0, NULL), 0);
	for (unsigned id = 0; id < 5; id++) {
		make_record(&record, id, false, NO_LABEL);
		assert_int_equal(tundish_writer_append(w, record.data, record.len, NULL), 0);
	}
	assert_int_equal(tundish_writer_close(w, NULL), 0);
	td_buf_free(&record);
	run_init(&r, set, NULL);
	run_flow(&r);
	assert_int_equal(r.samples, 5);
	for (int i = 0; i < 5; i++)
		assert_int_equal(r.labels[i], -1);
	td_buf_free(&r.faults);
	run_init(&r, set, NULL);
	r.o.label_key = "class";
	run_flow(&r);
	assert_int_equal(r.samples, 0);
	assert_line(&r, "feature class is missing");
	td_buf_free(&r.faults);
	run_init(&r, set, "resize:8");
	r.o.image_key = "picture";
	run_flow(&r);
	assert_int_equal(r.samples, 0);
	assert_line(&r, "feature picture is missing");
	td_buf_free(&r.faults);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_skip),
		cmocka_unit_test(test_fail),
		cmocka_unit_test(test_blank),
		cmocka_unit_test(test_stand_ins),
		cmocka_unit_test(test_all_bad),
		cmocka_unit_test(test_sizes_differ),
		cmocka_unit_test(test_damage),
		cmocka_unit_test(test_limit),
		cmocka_unit_test(test_vanishing),
		cmocka_unit_test(test_wrong_options),
		cmocka_unit_test(test_labels),
	};
	return cmocka_run_group_tests(tests, setup, clear_scratch);
}
