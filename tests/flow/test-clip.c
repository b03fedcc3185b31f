/* SPDX-License-Identifier: BSD-2-Clause
 * Clips: frames of lists, of SequenceExamples, of arrays; which ones, and all treated alike. */
#include "sets.h"

#include "flow/clip.h"

#define RECORDS 24
#define FRAMES 12

static void add_varint(struct td_buf *b, uint64_t n)
{
	uint8_t byte;
	for (; n > 127; n >>= 7) {
		byte = (uint8_t)(n | 128);
		assert_true(td_buf_add(b, &byte, 1));
	}
	byte = (uint8_t)n;
	assert_true(td_buf_add(b, &byte, 1));
}

/* A field of bytes with that tag. */
static void add_message(struct td_buf *b, uint8_t tag, const void *data, size_t len)
{
	assert_true(td_buf_add(b, &tag, 1));
	add_varint(b, len);
	assert_true(td_buf_add(b, data, len));
}

/* Wraps what is in `b` into a field with that tag. */
static void wrap(struct td_buf *b, uint8_t tag)
{
	struct td_buf outer = { 0 };
	add_message(&outer, tag, b->data, b->len);
	td_buf_free(b);
	*b = outer;
}

/* FeatureLists with one list of one-value features, behind an Example's bytes. */
static void add_list(struct td_buf *record, const char *key, const struct td_bytes *values, size_t n)
{
	struct td_buf list = { 0 }, entry = { 0 };
	for (size_t i = 0; i < n; i++) {
		struct td_buf step = { 0 };
		add_message(&step, 0x0a, values[i].data, values[i].len);
		wrap(&step, 0x0a);
		add_message(&list, 0x0a, step.data, step.len);
		td_buf_free(&step);
	}
	add_message(&entry, 0x0a, key, strlen(key));
	add_message(&entry, 0x12, list.data, list.len);
	wrap(&entry, 0x0a);
	add_message(record, 0x12, entry.data, entry.len);
	td_buf_free(&list);
	td_buf_free(&entry);
}

enum form { LIST, SEQUENCE, ARRAYS };

/* Frame k of record i is of the colour 20 i + k, cut short to 20; or an array with a ramp. */
static void add_record(struct tundish_writer *w, enum form form, unsigned i, unsigned n)
{
	static struct td_buf pictures[FRAMES];
	static uint16_t arrays[FRAMES][12];
	static const struct td_bytes dtype = { "uint16", 6 };
	struct td_bytes frames[FRAMES];
	struct td_buf record = { 0 };
	const int64_t label = i;
	for (unsigned k = 0; k < n; k++) {
		add_picture(&pictures[k], i * 20 % 240 / 7 + k, false);
		for (unsigned v = 0; v < 12; v++)
			arrays[k][v] = (uint16_t)(1000 * i + 20 * k + v);
		frames[k] = form == ARRAYS ? (struct td_bytes){ arrays[k], sizeof arrays[k] } :
					     (struct td_bytes){ pictures[k].data, pictures[k].len };
	}
	struct td_field fields[3] = {
		{ .key = "label", .kind = TUNDISH_INT64, .n = 1, .ints = &label },
		{ .key = "dtype", .kind = TUNDISH_BYTES, .n = 1, .bytes = &dtype },
		{ .key = "image", .kind = TUNDISH_BYTES, .n = n, .bytes = frames },
	};
	if (form == LIST)
		fields[1] = fields[2];
	assert_int_equal(td_example_encode(&record, fields, form == LIST ? 2 : form == ARRAYS ? 3 : 1, 1 << 30, NULL), 0);
	if (form == SEQUENCE)
		add_list(&record, "frames", frames, n);
	assert_int_equal(tundish_writer_append(w, record.data, record.len, NULL), 0);
	td_buf_free(&record);
	for (unsigned k = 0; k < n; k++)
		td_buf_free(&pictures[k]);
}

/* Record 5 has 3 frames only, when that is asked for. */
static const char *write_clips(const char *name, enum form form, bool short_one)
{
	struct tundish_writer *w;
	assert_int_equal(tundish_writer_open(&w, in_scratch(name), TUNDISH_NONE, 0, NULL), 0);
	for (unsigned i = 0; i < RECORDS; i++)
		add_record(w, form, i, short_one && i == 5 ? 3 : FRAMES);
	assert_int_equal(tundish_writer_close(w, NULL), 0);
	return in_scratch(name);
}

/* The same frames as records of their own, of one group each; between the files no group
 * goes on. `large` puts something long before the group's name, `flaw` spoils a frame. */
static const char *write_groups(const char *name, bool short_one, bool large, bool flaw)
{
	static char filler[9000];
	struct td_buf picture = { 0 }, record = { 0 };
	struct tundish_writer *w = NULL;
	char path[128];
	assert_int_equal(mkdir(in_scratch(name), 0755), 0);
	for (unsigned i = 0; i < RECORDS; i++) {
		if (i % 10 == 0) {
			if (w)
				assert_int_equal(tundish_writer_close(w, NULL), 0);
			snprintf(path, sizeof path, "%s/g-%05u-of-00003", in_scratch(name), i / 10);
			assert_int_equal(tundish_writer_open(&w, path, TUNDISH_NONE, 0, NULL), 0);
		}
		for (unsigned k = 0; k < (short_one && i == 5 ? 3 : FRAMES); k++) {
			char group[32];
			const int64_t label = i;
			add_picture(&picture, i * 20 % 240 / 7 + k, false);
			if (flaw && i == 7 && k == 5)
				memset(picture.data, 'x', picture.len);
			const struct td_bytes image = { picture.data, picture.len }, more = { filler, sizeof filler };
			const struct td_bytes text = { group, (size_t)snprintf(group, sizeof group, "video %u.mp4", i) };
			const struct td_field fields[4] = {
				{ .key = "image", .kind = TUNDISH_BYTES, .n = 1, .bytes = &image },
				{ .key = "group", .kind = TUNDISH_BYTES, .n = 1, .bytes = &text },
				{ .key = "label", .kind = TUNDISH_INT64, .n = 1, .ints = &label },
				{ .key = "a", .kind = TUNDISH_BYTES, .n = 1, .bytes = &more },
			};
			record.len = 0;
			assert_int_equal(td_example_encode(&record, fields, large ? 4 : 3, 1 << 30, NULL), 0);
			assert_int_equal(tundish_writer_append(w, record.data, record.len, NULL), 0);
		}
	}
	assert_int_equal(tundish_writer_close(w, NULL), 0);
	td_buf_free(&picture);
	td_buf_free(&record);
	return in_scratch(name);
}

/* Each clip has neighbours at the stride, from a place that is drawn; lists and sequences
 * give the same. */
static void test_frames(void **state)
{
	(void)state;
	struct td_buf a = { 0 }, b = { 0 };
	const char *list = write_clips("list", LIST, false), *sequence = write_clips("sequence", SEQUENCE, false);
	unsigned starts[FRAMES] = { 0 };
	for (uint64_t seed = 0; seed < 20; seed++) {
		struct tundish_batch m = first_batch(list, "clip:4,stride=3", seed, &a);
		const uint64_t want[5] = { RECORDS, 4, 6, 6, 3 };
		assert_int_equal(m.ndim, 5);
		assert_memory_equal(m.shape, want, sizeof want);
		assert_int_equal(m.dtype, TUNDISH_UINT8);
		first_batch(sequence, "clip:4,stride=3", seed, &b);
		assert_int_equal(a.len, b.len);
		assert_memory_equal(a.data, b.data, a.len);
		for (unsigned i = 0; i < RECORDS; i++) {
			unsigned first = i * 20 % 240 / 7, start = 0;
			while (a.data[i * 4 * 108] != (uint8_t)((first + start) * 7))
				assert_in_range(++start, 0, 2);
			starts[start]++;
			for (unsigned k = 0; k < 4 * 108; k++)
				assert_int_equal(a.data[i * 4 * 108 + k], (uint8_t)((first + start + k / 108 * 3) * 7));
		}
	}
	/* 480 draws of 3 places */
	for (unsigned i = 0; i < 3; i++)
		assert_in_range(starts[i], 110, 210);
	first_batch(list, "clip:2,stride=5,start=6", 0, &a);
	assert_int_equal(a.data[108], 11 * 7);
	td_buf_free(&a);
	td_buf_free(&b);
}

/* Frames of arrays; the same window and the same turn for all of a clip; axes of nchw. */
static void test_alike(void **state)
{
	(void)state;
	struct td_buf a = { 0 }, b = { 0 };
	const char *path = write_clips("arrays", ARRAYS, false);
	const char *ops = "tensor:2x3x2 clip:5 random_crop:1x2 hflip vflip";
	struct tundish_batch m = first_batch(path, ops, 3, &a);
	const uint64_t want[5] = { RECORDS, 5, 1, 2, 2 };
	assert_int_equal(m.dtype, TUNDISH_UINT16);
	assert_memory_equal(m.shape, want, sizeof want);
	const uint16_t *v = (const uint16_t *)(const void *)a.data;
	unsigned differ = 0;
	for (unsigned i = 0; i < RECORDS; i++) {
		for (unsigned k = 0; k < 5 * 4; k++)
			assert_int_equal(v[i * 20 + k] - v[i * 20 + k % 4], k / 4 * 20);
		differ += v[i * 20] % 20 != v[0] % 20;
	}
	assert_in_range(differ, 5, RECORDS);
	m = first_batch(path, "tensor:2x3x2 clip:5 random_crop:1x2 hflip vflip layout:nchw", 3, &b);
	const uint64_t planes[5] = { RECORDS, 5, 2, 1, 2 };
	assert_memory_equal(m.shape, planes, sizeof planes);
	const uint16_t *p = (const uint16_t *)(const void *)b.data;
	for (unsigned i = 0; i < RECORDS * 20; i++)
		assert_int_equal(p[i / 4 * 4 + i % 2 * 2 + i % 4 / 2], v[i]);
	td_buf_free(&a);
	td_buf_free(&b);
}

/* Groups of records give what lists of the same frames give. */
static void test_groups(void **state)
{
	(void)state;
	static struct run r;
	char digest[65] = "";
	struct td_buf a = { 0 }, b = { 0 };
	const char *list = write_clips("as-list", LIST, false), *plain = write_groups("plain-groups", false, false, false);
	const char *large = write_groups("large-groups", false, true, false);
	for (uint64_t seed = 0; seed < 4; seed++) {
		const struct tundish_batch m = first_batch(list, "clip:4,stride=3 hflip", seed, &a);
		assert_int_equal(first_batch(plain, "clip:4,stride=3 hflip", seed, &b).rows, m.rows);
		assert_memory_equal(a.data, b.data, a.len);
		first_batch(large, "clip:4,stride=3 hflip", seed, &b);
		assert_memory_equal(a.data, b.data, a.len);
	}
	td_buf_free(&a);
	td_buf_free(&b);
	const char *path = write_groups("bad-groups", true, false, true);
	for (unsigned i = 0; i < 5; i++) {
		again(&r, path, "clip:8 random_crop:4 one_hot:24 mixup:1");
		r.o.threads = (unsigned[]){ 1, 2, 3, 8, 99 }[i];
		r.o.shuffle = "full";
		r.o.epochs = 2;
		r.o.batch = 5;
		run_flow(&r);
		assert_int_equal(r.rc, 0);
		/* every clip of 8 of 12 frames has frame 5 */
		assert_int_equal(r.samples, 2 * (RECORDS - 2));
		assert_non_null(strstr(FAULTS(&r), "record 60 at byte"));
		assert_non_null(strstr(FAULTS(&r), "its group has 3 frames, too few for a clip of 8\n"));
		assert_non_null(strstr(FAULTS(&r), "record 80 of its clip: "));
		if (i)
			assert_string_equal(r.digest, digest);
		strcpy(digest, r.digest);
	}
	again(&r, path, "clip:8");
	r.o.last = TUNDISH_LAST_DROP;
	r.o.batch = RECORDS;
	run_flow(&r);
	assert_int_equal(r.samples, RECORDS);
	assert_int_equal(r.stats.replaced, 2);
	again(&r, path, "clip:8");
	r.o.cache = "memory:raw";
	run_flow(&r);
	assert_non_null(strstr(r.e.text, "clips of several records are not kept in a cache"));
	again(&r, path, "clip:2");
	r.o.skip = 4;
	r.o.limit = 3;
	run_flow(&r);
	assert_int_equal(r.samples, 3);
	assert_int_equal(r.labels[0], 4);
	td_buf_free(&r.faults);
}

static void test_same(void **state)
{
	(void)state;
	static struct run r;
	char digest[65] = "";
	const char *path = write_clips("same", SEQUENCE, true);
	for (unsigned i = 0; i < 6; i++) {
		again(&r, path, "clip:4,stride=2 random_resized_crop:5 hflip normalize one_hot:24 mixup:1 cutmix:1 layout:nchw");
		r.o.threads = (unsigned[]){ 1, 2, 3, 8, 99, 3 }[i];
		r.o.cache = i == 5 ? "memory:raw" : NULL;
		r.o.shuffle = "full";
		r.o.epochs = 2;
		r.o.batch = 7;
		run_flow(&r);
		assert_int_equal(r.rc, 0);
		assert_int_equal(r.samples, 2 * (RECORDS - 1));
		assert_non_null(strstr(FAULTS(&r), "record 5 at byte"));
		assert_non_null(strstr(FAULTS(&r), "3 frames are too few for a clip of 7\n"));
		if (i)
			assert_string_equal(r.digest, digest);
		strcpy(digest, r.digest);
	}
	td_buf_free(&r.faults);
}

static void test_usage(void **state)
{
	(void)state;
	static struct run r;
	static const char *const wrong[][3] = {
		{ "clip:0", NULL, "out of range" },
		{ "clip:2 clip:3", NULL, "given twice" },
		{ "select:label clip:2", NULL, "clip needs a list of frames that goes out" },
		{ "clip:2", "memory:decoded", "with clip the cache can be raw only" },
		{ "clip:2", "memory:index", "with clip the cache can be raw only" },
		{ "tensor:2x3x2x1 clip:2", NULL, "clips are made of frames with 2 or 3 axes" },
	};
	const char *path = write_clips("usage", ARRAYS, false);
	for (size_t i = 0; i < TD_COUNT(wrong); i++) {
		again(&r, path, wrong[i][0]);
		r.o.cache = wrong[i][1];
		run_flow(&r);
		assert_int_equal(r.rc, TUNDISH_E_USAGE);
		if (!strstr(r.e.text, wrong[i][2]))
			fail_msg("%s: %s", wrong[i][0], r.e.text);
	}
	/* without clip a list of frames is no picture */
	again(&r, write_clips("plain", LIST, false), "crop:2");
	run_flow(&r);
	assert_int_equal(r.samples, 0);
	assert_non_null(strstr(FAULTS(&r), "feature image has 12 values, wanted is one\n"));
	td_buf_free(&r.faults);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_frames),
		cmocka_unit_test(test_alike),
		cmocka_unit_test(test_groups),
		cmocka_unit_test(test_same),
		cmocka_unit_test(test_usage),
	};
	return cmocka_run_group_tests(tests, make_scratch, clear_scratch);
}
