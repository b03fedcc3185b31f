/* SPDX-License-Identifier: BSD-2-Clause
 * Which features go out, and how: fixed and ragged numbers, texts, labels as classes. */
#include "sets.h"

#define RECORDS 37

/* Of record i: `ids` has i % 4 numbers, `box` four reals, `name` one text, `tags` i % 3 texts,
 * `label` is i % 5. `flaw`: record 5 has three reals, 9 no box, 11 a whole number as name. */
static void add_record(struct tundish_writer *w, unsigned i, bool flaw)
{
	char name[32], tags[2][32];
	int64_t ids[4], label = i % 5;
	float box[4];
	struct td_bytes texts[3] = { { name, 0 }, { tags[0], 0 }, { tags[1], 0 } };
	struct td_buf record = { 0 };
	texts[0].len = (size_t)snprintf(name, sizeof name, "%.*s", (int)(i % 7), "record");
	for (unsigned k = 0; k < 4; k++) {
		ids[k] = (int64_t)i * 1000000007 - k;
		box[k] = (float)i + (float)k / 4;
	}
	for (unsigned k = 0; k < 2; k++)
		texts[k + 1].len = (size_t)snprintf(tags[k], sizeof tags[k], "tag-%u-%u", i, k * 12345);
	struct td_field fields[5] = {
		{ .key = "label", .kind = TUNDISH_INT64, .n = 1, .ints = &label },
		{ .key = "ids", .kind = TUNDISH_INT64, .n = i % 4, .ints = ids },
		{ .key = "name", .kind = TUNDISH_BYTES, .n = 1, .bytes = texts },
		{ .key = "tags", .kind = TUNDISH_BYTES, .n = i % 3, .bytes = texts + 1 },
		{ .key = "box", .kind = TUNDISH_FLOAT, .n = 4, .floats = box },
	};
	if (flaw && i == 5)
		fields[4].n = 3;
	if (flaw && i == 11)
		fields[2] = (struct td_field){ .key = "name", .kind = TUNDISH_INT64, .n = 1, .ints = ids };
	assert_int_equal(td_example_encode(&record, fields, flaw && i == 9 ? 4 : 5, 1 << 20, NULL), 0);
	assert_int_equal(tundish_writer_append(w, record.data, record.len, NULL), 0);
	td_buf_free(&record);
}

static const char *write_records(const char *name, bool flaw)
{
	struct tundish_writer *w;
	assert_int_equal(tundish_writer_open(&w, in_scratch(name), TUNDISH_NONE, 0, NULL), 0);
	for (unsigned i = 0; i < RECORDS; i++)
		add_record(w, i, flaw);
	assert_int_equal(tundish_writer_close(w, NULL), 0);
	return in_scratch(name);
}

static void assert_array(const struct tundish_array *a, const char *name, int dtype, unsigned ndim,
    const uint64_t *shape, size_t each)
{
	size_t n = each;
	assert_string_equal(a->name, name);
	assert_int_equal(a->dtype, dtype);
	assert_int_equal(a->ndim, ndim);
	for (unsigned i = 0; i < ndim; i++) {
		assert_int_equal(a->shape[i], shape[i]);
		n *= shape[i];
	}
	assert_int_equal(a->bytes, n);
}

/* Every value of every batch, by what is known of record i. */
static void check_batch(const struct tundish_batch *b, unsigned first)
{
	const uint64_t rows = b->rows;
	assert_int_equal(b->n_arrays, 8);
	const struct tundish_array *a = b->arrays;
	const int64_t *ids = a[0].data, *n_ids = a[1].data, *n_name = a[4].data, *n_tags = a[6].data;
	const float *box = a[2].data;
	const uint8_t *name = a[3].data, *tags = a[5].data;
	assert_null(b->images);
	assert_array(&a[0], "ids", TUNDISH_DTYPE_INT64, 2, (uint64_t[]){ rows, a[0].shape[1] }, 8);
	assert_array(&a[1], "ids/lengths", TUNDISH_DTYPE_INT64, 1, &rows, 8);
	assert_array(&a[2], "box", TUNDISH_FLOAT32, 2, (uint64_t[]){ rows, 4 }, 4);
	assert_array(&a[3], "name", TUNDISH_UINT8, 2, (uint64_t[]){ rows, a[3].shape[1] }, 1);
	assert_array(&a[4], "name/lengths", TUNDISH_DTYPE_INT64, 1, &rows, 8);
	assert_array(&a[5], "tags", TUNDISH_UINT8, 3, (uint64_t[]){ rows, a[6].shape[1], a[5].shape[2] }, 1);
	assert_array(&a[6], "tags/lengths", TUNDISH_DTYPE_INT64, 2, (uint64_t[]){ rows, a[6].shape[1] }, 8);
	assert_array(&a[7], "label", TUNDISH_DTYPE_INT64, 1, &rows, 8);
	assert_in_range(a[0].shape[1], rows > 3 ? 3 : 0, 3);
	for (unsigned k = 0; k < rows; k++) {
		unsigned i = first + k;
		bool real = k < b->count;
		assert_int_equal(n_ids[k], real ? i % 4 : 0);
		for (unsigned c = 0; c < a[0].shape[1]; c++)
			assert_int_equal(ids[k * a[0].shape[1] + c],
			    real && c < i % 4 ? (int64_t)i * 1000000007 - c : 0);
		for (unsigned c = 0; c < 4; c++)
			assert_true(box[4 * k + c] == (real ? (float)i + (float)c / 4 : 0));
		assert_int_equal(n_name[k], real ? i % 7 : 0);
		for (unsigned c = 0; c < a[3].shape[1]; c++)
			assert_int_equal(name[k * a[3].shape[1] + c], c < (size_t)n_name[k] ? "record"[c] : 0);
		for (unsigned t = 0; t < a[6].shape[1]; t++) {
			char want[32] = "";
			int64_t n = n_tags[k * a[6].shape[1] + t];
			const uint8_t *tag = tags + (k * a[6].shape[1] + t) * a[5].shape[2];
			assert_int_equal(n, real && t < i % 3 ? snprintf(want, 32, "tag-%u-%u", i, t * 12345) : -1);
			for (unsigned c = 0; c < a[5].shape[2]; c++)
				assert_int_equal(tag[c], n > c ? want[c] : 0);
		}
		assert_int_equal(((const int64_t *)a[7].data)[k], real ? (int)(i % 5) : -1);
	}
}

static void test_values(void **state)
{
	(void)state;
	const char *path = write_records("values", false);
	for (int last = TUNDISH_LAST_KEEP; last <= TUNDISH_LAST_PAD; last++) {
		struct tundish_flow_options o;
		struct tundish_flow *flow;
		struct tundish_batch b;
		struct tundish_error e = { 0 };
		unsigned at = 0;
		tundish_flow_options_init(&o);
		o.paths = &path;
		o.n_paths = 1;
		o.batch = 5;
		o.last = last;
		o.ops = "select:ids/box/name,tags,label";
		if (tundish_flow_open(&flow, &o, &e) < 0)
			fail_msg("%s", e.text);
		while (tundish_flow_next(flow, &b, &e) == 1) {
			check_batch(&b, at);
			at += b.count;
			tundish_flow_release(flow, &b);
		}
		assert_int_equal(e.code, 0);
		assert_int_equal(at, last == TUNDISH_LAST_DROP ? 35 : RECORDS);
		tundish_flow_close(flow);
	}
}

/* The same for any number of threads and any memory; shuffled, several epochs. */
static void test_same(void **state)
{
	(void)state;
	static struct run r;
	char digest[65] = "";
	const char *path = write_records("same", true);
	for (unsigned i = 0; i < 6; i++) {
		again(&r, path, "select:tags,ids,label,box=4,name one_hot:7");
		r.o.threads = (unsigned[]){ 1, 2, 3, 8, 99, 2 }[i];
		r.o.memory = i == 5 ? 1 : 0;
		r.o.shuffle = "full";
		r.o.epochs = 3;
		r.o.batch = 8;
		run_flow(&r);
		assert_int_equal(r.rc, 0);
		assert_int_equal(r.samples, 3 * (RECORDS - 3));
		if (i)
			assert_string_equal(r.digest, digest);
		strcpy(digest, r.digest);
		td_buf_free(&r.faults);
	}
}

static void test_bad(void **state)
{
	(void)state;
	static struct run r;
	const char *path = write_records("bad", true);
	again(&r, path, "select:box=4,name,label");
	r.o.batch = 64;
	run_flow(&r);
	assert_int_equal(r.counts[0], RECORDS - 3);
	for (unsigned i = 0, k = 0; i < RECORDS; i++) {
		if (i != 5 && i != 9 && i != 11)
			assert_int_equal(r.labels[k++], i % 5);
	}
	assert_non_null(strstr(FAULTS(&r), "record 5 at byte"));
	assert_non_null(strstr(FAULTS(&r),
	    "feature box has 3 values, wanted are 4; with =ragged select takes any number\n"));
	assert_non_null(strstr(FAULTS(&r), "feature box is missing\n"));
	assert_non_null(strstr(FAULTS(&r), "feature name is int64, wanted is bytes\n"));
	/* ragged takes all that are of the kind, missing ones as none */
	again(&r, path, "select:box=ragged,label");
	r.o.batch = 64;
	run_flow(&r);
	assert_int_equal(r.counts[0], RECORDS);
	assert_string_equal(FAULTS(&r), "");
	/* blank keeps the place */
	again(&r, path, "select:box=4,name,label");
	r.o.batch = 64;
	r.o.on_error = TUNDISH_BLANK;
	run_flow(&r);
	assert_int_equal(r.counts[0], RECORDS);
	assert_int_equal(r.labels[5], -1);
	assert_int_equal(r.labels[9], -1);
	assert_int_equal(r.labels[10], 0);
	again(&r, path, "select:box=4");
	r.o.on_error = TUNDISH_FAIL;
	run_flow(&r);
	assert_int_equal(r.rc, TUNDISH_E_SCHEMA);
	assert_non_null(strstr(r.e.text, "record 5 at byte"));
	td_buf_free(&r.faults);
}

static void test_classes(void **state)
{
	(void)state;
	static struct run r;
	const char *path = write_records("classes", false), *ops = "one_hot:4";
	struct tundish_flow_options o;
	struct tundish_flow *flow;
	struct tundish_batch b;
	again(&r, path, ops);
	run_flow(&r);
	assert_int_equal(r.samples, RECORDS - 7);
	assert_non_null(strstr(FAULTS(&r), "record 4 at byte "));
	assert_non_null(strstr(FAULTS(&r), ": label 4 is not one of one_hot:4\n"));
	tundish_flow_options_init(&o);
	o.paths = &path;
	o.n_paths = 1;
	o.batch = 64;
	o.on_error = TUNDISH_BLANK;
	o.ops = ops;
	assert_int_equal(tundish_flow_open(&flow, &o, NULL), 0);
	assert_int_equal(tundish_flow_next(flow, &b, NULL), 1);
	assert_int_equal(b.n_arrays, 1);
	assert_array(&b.arrays[0], "label", TUNDISH_FLOAT32, 2, (uint64_t[]){ RECORDS, 4 }, 4);
	const float *hot = b.arrays[0].data;
	for (unsigned i = 0; i < RECORDS * 4; i++)
		assert_true(hot[i] == (i % 4 == i / 4 % 5));
	tundish_flow_release(flow, &b);
	tundish_flow_close(flow);
	td_buf_free(&r.faults);
}

/* Which rows hold a record: not the blank ones, nor those that fill up. */
static void test_valid(void **state)
{
	(void)state;
	const char *path = write_records("valid", true);
	struct tundish_flow_options o;
	struct tundish_flow *flow;
	struct tundish_batch b;
	unsigned at = 0;
	tundish_flow_options_init(&o);
	o.paths = &path;
	o.n_paths = 1;
	o.batch = 10;
	o.last = TUNDISH_LAST_PAD;
	o.on_error = TUNDISH_BLANK;
	o.ops = "select:valid/box=4,label";
	assert_int_equal(tundish_flow_open(&flow, &o, NULL), TUNDISH_E_USAGE);
	o.ops = "select:valid,box=4,label";
	assert_int_equal(tundish_flow_open(&flow, &o, NULL), 0);
	while (tundish_flow_next(flow, &b, NULL) == 1) {
		const uint8_t *valid = b.arrays[0].data;
		assert_array(&b.arrays[0], "valid", TUNDISH_UINT8, 1, (uint64_t[]){ 10 }, 1);
		for (unsigned i = 0; i < 10; i++)
			assert_int_equal(valid[i], i < b.count && at + i != 5 && at + i != 9);
		at += b.count;
		tundish_flow_release(flow, &b);
	}
	assert_int_equal(at, RECORDS);
	tundish_flow_close(flow);
}

static void assert_usage(const char *path, const char *ops, const char *cache, const char *want)
{
	static struct run r;
	again(&r, path, ops);
	r.o.cache = cache;
	run_flow(&r);
	assert_int_equal(r.rc, TUNDISH_E_USAGE);
	if (!strstr(r.e.text, want))
		fail_msg("%s: \"%s\", wanted \"%s\"", ops, r.e.text, want);
	td_buf_free(&r.faults);
}

static void test_usage(void **state)
{
	(void)state;
	const char *path = write_records("usage", false), *folder = in_scratch("folder");
	const char *set = write_set("pictures", 3, 1, false, NULL);
	struct td_buf picture = { 0 };
	char text[128];
	assert_usage(path, "select:nothing", NULL, "no feature nothing in the records looked at");
	assert_usage(path, "select:ids,ids", NULL, "names ids twice");
	assert_usage(path, "select:ids,,box", NULL, "select takes 1 to 64 names");
	assert_usage(path, "select:ids=all", NULL, "is none of NAME, NAME=N, NAME=ragged, NAME=bytes");
	assert_usage(path, "select:ids=0", NULL, "is none of");
	assert_usage(path, "select:ids=bytes", NULL, "feature ids is no bytes");
	assert_usage(path, "select", NULL, "a value is missing");
	assert_usage(path, "select:ids select:box", NULL, "given twice");
	assert_usage(path, "select:ids one_hot:3", NULL, "one_hot needs labels");
	assert_usage(path, "select:ids hflip", NULL, "select image, too");
	assert_usage(set, "select:image/image=bytes", NULL, "no feature image/image in the records");
	assert_usage(set, "select:image,label=ragged", "memory", "cache decoded and ops keep");
	/* a folder of pictures has names besides */
	assert_int_equal(mkdir(folder, 0755), 0);
	snprintf(text, sizeof text, "%s/cat", folder);
	assert_int_equal(mkdir(text, 0755), 0);
	snprintf(text, sizeof text, "%s/cat/a.png", folder);
	add_picture(&picture, 1, false);
	FILE *f = fopen(text, "we");
	assert_int_equal(fwrite(picture.data, 1, picture.len, f), picture.len);
	fclose(f);
	td_buf_free(&picture);
	assert_usage(folder, "select:label,colour", NULL, "no feature colour in the records looked at");
	static struct run r;
	again(&r, folder, "select:label,text,filename one_hot:2");
	run_flow(&r);
	assert_int_equal(r.rc, 0);
	assert_int_equal(r.samples, 1);
	td_buf_free(&r.faults);
}

/* Pictures beside other features; the undecoded bytes; and the order that was asked for. */
static void test_pictures(void **state)
{
	(void)state;
	const char *set = write_set("both", 6, 1, false, NULL);
	struct tundish_flow_options o;
	struct tundish_flow *flow;
	struct tundish_batch b;
	struct tundish_error e = { 0 };
	tundish_flow_options_init(&o);
	o.paths = &set;
	o.n_paths = 1;
	o.ops = "select:label,image crop:2 hflip";
	assert_int_equal(tundish_flow_open(&flow, &o, &e), 0);
	assert_int_equal(tundish_flow_next(flow, &b, &e), 1);
	assert_int_equal(b.n_arrays, 2);
	assert_string_equal(b.arrays[0].name, "label");
	assert_array(&b.arrays[1], "image", TUNDISH_UINT8, 4, (uint64_t[]){ 6, 2, 2, 3 }, 1);
	assert_ptr_equal(b.arrays[1].data, b.images);
	assert_int_equal(b.arrays_bytes, 6 * 8 + 6 * 12);
	tundish_flow_release(flow, &b);
	tundish_flow_close(flow);
	o.ops = "select:image=bytes";
	assert_int_equal(tundish_flow_open(&flow, &o, &e), 0);
	assert_int_equal(tundish_flow_next(flow, &b, &e), 1);
	assert_int_equal(b.n_arrays, 2);
	for (unsigned i = 0; i < 6; i++) {
		struct td_buf picture = { 0 };
		add_picture(&picture, i, false);
		assert_int_equal(((const int64_t *)b.arrays[1].data)[i], picture.len);
		assert_memory_equal((const uint8_t *)b.arrays[0].data + i * b.arrays[0].shape[1], picture.data,
		    picture.len);
		td_buf_free(&picture);
	}
	tundish_flow_release(flow, &b);
	tundish_flow_close(flow);
}

/* A long text among short ones: what it took is given back, and a batch of them that is
 * over the memory is an error that says so. */
static void test_long(void **state)
{
	(void)state;
	static struct run r;
	static char text[1 << 20];
	struct tundish_writer *w;
	struct td_buf record = { 0 };
	const char *path = in_scratch("long");
	memset(text, 'x', sizeof text);
	assert_int_equal(tundish_writer_open(&w, path, TUNDISH_NONE, 0, NULL), 0);
	for (unsigned i = 0; i < 640; i++) {
		const struct td_bytes bytes = { text, i == 300 ? sizeof text : 10 };
		const struct td_field field = { .key = "text", .kind = TUNDISH_BYTES, .n = 1, .bytes = &bytes };
		record.len = 0;
		assert_int_equal(td_example_encode(&record, &field, 1, 1 << 30, NULL), 0);
		assert_int_equal(tundish_writer_append(w, record.data, record.len, NULL), 0);
	}
	assert_int_equal(tundish_writer_close(w, NULL), 0);
	td_buf_free(&record);
	again(&r, path, "select:text");
	r.o.batch = 8;
	r.o.memory = (uint64_t)64 << 20;
	run_flow(&r);
	assert_int_equal(r.rc, 0);
	assert_int_equal(r.batches, 80);
	assert_true(r.stats.memory_peak > sizeof text * 8 && r.stats.memory_peak < (uint64_t)64 << 20);
	again(&r, path, "select:text");
	r.o.batch = 128;
	r.o.memory = (uint64_t)64 << 20;
	run_flow(&r);
	assert_int_equal(r.rc, TUNDISH_E_LIMIT);
	assert_int_equal(r.batches, 2);
	assert_non_null(strstr(r.e.text, "feature text: padded to 1048576 values (bytes) a row, a batch of 128"));
	td_buf_free(&r.faults);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_same),
		cmocka_unit_test(test_bad),
		cmocka_unit_test(test_classes),
		cmocka_unit_test(test_valid),
		cmocka_unit_test(test_usage),
		cmocka_unit_test(test_pictures),
		cmocka_unit_test(test_long),
	};
	return cmocka_run_group_tests(tests, make_scratch, clear_scratch);
}
