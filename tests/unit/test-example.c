/* SPDX-License-Identifier: BSD-2-Clause
 * Examples: read in place in every form that is legal, written as TensorFlow would. */
#include "records.h"

#include "record/example.h"

static struct tundish_feature find(const struct td_buf *b, const char *key)
{
	struct tundish_feature f = { 0 };
	assert_int_equal(tundish_example_find(b->data, b->len, key, strlen(key), &f), 1);
	return f;
}

static void assert_ints(const struct tundish_feature *f, size_t n, const int64_t *want)
{
	assert_int_equal(f->kind, TUNDISH_INT64);
	assert_int_equal(f->count, n);
	struct td_values v;
	int64_t one;
	td_values_start(&v, f);
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(tundish_feature_int64(f, i, &one), 1);
		assert_true(one == want[i]);
		assert_true(td_values_int64(&v, &one));
		assert_true(one == want[i]);
	}
	assert_false(td_values_int64(&v, &one));
	assert_int_equal(tundish_feature_int64(f, n, &one), 0);
	float x;
	assert_int_equal(tundish_feature_float(f, 0, &x), TUNDISH_E_SCHEMA);
}

static void test_cases(void **state)
{
	(void)state;
	struct read r;
	struct tundish_feature f;
	const uint8_t *data;
	size_t bytes;

	read_start(&r);
	read_path(&r, source_path("tests/golden/cases/23-int64-edges/a.tfrecord"));
	f = find(&r.data[0], "v");
	assert_ints(&f, 7, (const int64_t[]){ -1, 0, INT64_MIN, INT64_MAX, 2147483648, -2147483649,
		9007199254740993 });
	f = find(&r.data[2], "image/class/label");
	assert_ints(&f, 1, (const int64_t[]){ -1 });
	read_free(&r);

	read_start(&r);
	read_path(&r, source_path("tests/golden/cases/18-empty-lists/a.tfrecord"));
	assert_int_equal(r.n, 5);
	assert_int_equal(find(&r.data[0], "label").count, 3);
	assert_int_equal(find(&r.data[1], "label").kind, TUNDISH_INT64);
	assert_int_equal(find(&r.data[1], "label").count, 0);
	assert_int_equal(find(&r.data[2], "label").kind, TUNDISH_KIND_NONE);
	assert_int_equal(tundish_example_find(r.data[3].data, r.data[3].len, "label", 5, &f), 0);
	assert_int_equal(tundish_example_find(r.data[4].data, r.data[4].len, "label", 5, &f), 0);
	read_free(&r);

	read_start(&r);
	read_path(&r, source_path("tests/golden/cases/19-several-bytes/a.tfrecord"));
	f = find(&r.data[0], "tags");
	assert_int_equal(f.count, 3);
	assert_int_equal(tundish_feature_bytes(&f, 2, &data, &bytes), 1);
	assert_int_equal(bytes, 9);
	assert_memory_equal(data, "two words", 9);
	assert_int_equal(tundish_feature_bytes(&f, 1, &data, &bytes), 1);
	assert_int_equal(bytes, 0);
	read_free(&r);

	read_start(&r);
	read_path(&r, source_path("tests/golden/cases/26-odd-bytes-values/a.tfrecord"));
	size_t at = 0, n = 0, empty = 0;
	while (tundish_example_next(r.data[1].data, r.data[1].len, &at, &f) == 1) {
		n++;
		empty += f.key_bytes == 0;
	}
	assert_int_equal(n, 4);
	assert_int_equal(empty, 1);
	read_free(&r);
}

static void test_unpacked(void **state)
{
	(void)state;
	struct read r;
	read_start(&r);
	read_path(&r, shared_path("fixtures/formats/tfrecord/made/unpacked_lists.tfrecord"));
	assert_int_equal(r.n, 3);
	for (size_t i = 0; i < r.n; i++) {
		assert_int_equal(find(&r.data[i], "i").kind, TUNDISH_INT64);
		assert_int_equal(find(&r.data[i], "f").kind, TUNDISH_FLOAT);
	}
	read_free(&r);
}

/* Forms that no serialiser writes but protobuf reads. */
static void test_odd_forms(void **state)
{
	(void)state;
	struct tundish_feature f;
	static const struct {
		const char *name, *bytes;
		size_t n;
		int rc, kind;
		uint64_t count;
		int64_t first, last;
	} forms[] = {
#define FORM(name, text, ...) { name, text, sizeof(text) - 1, __VA_ARGS__ }
		FORM("value before key", "\x0a\x0c\x0a\x0a\x12\x05\x1a\x03\x0a\x01\x05\x0a\x01k",
		    1, TUNDISH_INT64, 1, 5, 5),
		FORM("two lists", "\x0a\x11\x0a\x0f\x0a\x01k\x12\x0a\x1a\x03\x0a\x01\x05\x1a\x03\x0a\x01\x06",
		    1, TUNDISH_INT64, 2, 5, 6),
		FORM("value twice", "\x0a\x13\x0a\x11\x12\x05\x1a\x03\x0a\x01\x05\x0a\x01k\x12\x05\x1a\x03\x0a\x01\x06",
		    1, TUNDISH_INT64, 2, 5, 6),
		FORM("last kind wins",
		    "\x0a\x17\x0a\x15\x0a\x01k\x12\x10\x1a\x03\x0a\x01\x05\x0a\x00\x1a\x03\x0a\x01\x07\x1a\x02\x08\x06",
		    1, TUNDISH_INT64, 2, 7, 6),
		FORM("duplicate key", "\x0a\x18\x0a\x0a\x0a\x01k\x12\x05\x1a\x03\x0a\x01\x05\x0a\x0a\x0a\x01k\x12\x05\x1a\x03\x0a\x01\x09",
		    1, TUNDISH_INT64, 1, 9, 9),
		FORM("features twice", "\x0a\x0c\x0a\x0a\x0a\x01k\x12\x05\x1a\x03\x0a\x01\x05\x0a\x00",
		    1, TUNDISH_INT64, 1, 5, 5),
		FORM("unknown fields and a group",
		    "\x10\x01\x1b\x08\x01\x1c\x0a\x0c\x0a\x0a\x0a\x01k\x12\x05\x1a\x03\x0a\x01\x05",
		    1, TUNDISH_INT64, 1, 5, 5),
		FORM("no value", "\x0a\x05\x0a\x03\x0a\x01k", 1, TUNDISH_KIND_NONE, 0, 0, 0),
		FORM("packed and not", "\x0a\x10\x0a\x0e\x0a\x01k\x12\x09\x1a\x07\x0a\x02\x05\x06\x08\x07\x10",
		    TUNDISH_E_CORRUPT, 0, 0, 0, 0),
		FORM("mixed", "\x0a\x0f\x0a\x0d\x0a\x01k\x12\x08\x1a\x06\x0a\x02\x05\x06\x08\x07",
		    1, TUNDISH_INT64, 3, 5, 7),
		FORM("length past the end", "\x0a\x7f\x0a\x0a\x0a\x01k", TUNDISH_E_CORRUPT, 0, 0, 0, 0),
		FORM("open group", "\x1b\x08\x01", TUNDISH_E_CORRUPT, 0, 0, 0, 0),
		FORM("field number 0", "\x02\x00", TUNDISH_E_CORRUPT, 0, 0, 0, 0),
		FORM("text", "not a protobuf", TUNDISH_E_CORRUPT, 0, 0, 0, 0),
	};
	for (size_t i = 0; i < TD_COUNT(forms); i++) {
		int rc = tundish_example_find(forms[i].bytes, forms[i].n, "k", 1, &f);
		if (rc != forms[i].rc)
			print_message("%s\n", forms[i].name);
		assert_int_equal(rc, forms[i].rc);
		if (rc != 1)
			continue;
		assert_int_equal(f.kind, forms[i].kind);
		assert_int_equal(f.count, forms[i].count);
		int64_t v;
		if (f.count == 0)
			continue;
		assert_int_equal(tundish_feature_int64(&f, 0, &v), 1);
		assert_int_equal(v, forms[i].first);
		assert_int_equal(tundish_feature_int64(&f, f.count - 1, &v), 1);
		assert_int_equal(v, forms[i].last);
	}
}

static void test_encode(void **state)
{
	(void)state;
	const struct td_bytes words[] = { { "cat", 3 }, { "", 0 } };
	const float floats[] = { 1.5f, -2 };
	const int64_t ints[] = { 300, -1 };
	const struct td_field fields[] = {
		{ .key = "tags", .kind = TUNDISH_BYTES, .n = 2, .bytes = words },
		{ .key = "box", .kind = TUNDISH_FLOAT, .n = 2, .floats = floats },
		{ .key = "label", .kind = TUNDISH_INT64, .n = 2, .ints = ints },
		{ .key = "none", .kind = TUNDISH_KIND_NONE },
		{ .key = "empty", .kind = TUNDISH_INT64 },
	};
	/* what SerializeToString(deterministic=True) gives in TensorFlow 2.21 */
	static const char want[] =
	    "\x0a\x5a"
	    "\x0a\x13\x0a\x03" "box\x12\x0c\x12\x0a\x0a\x08\x00\x00\xc0\x3f\x00\x00\x00\xc0"
	    "\x0a\x0b\x0a\x05" "empty\x12\x02\x1a\x00"
	    "\x0a\x19\x0a\x05label\x12\x10\x1a\x0e\x0a\x0c\xac\x02\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"
	    "\x0a\x08\x0a\x04none\x12\x00"
	    "\x0a\x11\x0a\x04tags\x12\x09\x0a\x07\x0a\x03" "cat\x0a\x00";
	struct td_buf out = { 0 };
	struct tundish_error e;
	assert_int_equal(td_example_encode(&out, fields, TD_COUNT(fields), 1000, &e), 0);
	assert_int_equal(out.len, sizeof want - 1);
	assert_memory_equal(out.data, want, out.len);
	struct tundish_feature f = find(&out, "label");
	assert_ints(&f, 2, ints);
	out.len = 0;
	assert_int_equal(td_example_encode(&out, fields, TD_COUNT(fields), 91, &e), TUNDISH_E_LIMIT);
	assert_string_equal(e.text, "record would be 92 bytes; the limit is 91");
	assert_int_equal(out.len, 0);
	td_buf_free(&out);
}

/* One key at the start, in the middle, at the end, twice; taken out again. */
static void test_replace(void **state)
{
	(void)state;
	const struct td_bytes one = { "1", 1 }, two = { "22", 2 };
	static const char *const keys[] = { "a", "bb", "m", "z" };
	struct td_field fields[4];
	struct tundish_error e;
	struct td_buf want = { 0 }, without = { 0 }, got = { 0 };
	for (size_t i = 0; i < TD_COUNT(keys); i++) {
		size_t n = 0;
		for (size_t k = 0; k < TD_COUNT(keys); k++)
			if (k != i)
				fields[n++] = (struct td_field){ .key = keys[k], .kind = TUNDISH_BYTES,
					.n = 1, .bytes = &one };
		without.len = want.len = got.len = 0;
		assert_int_equal(td_example_encode(&without, fields, n, 1000, &e), 0);
		fields[n++] = (struct td_field){ .key = keys[i], .kind = TUNDISH_BYTES, .n = 1,
			.bytes = &two };
		assert_int_equal(td_example_encode(&want, fields, n, 1000, &e), 0);
		assert_int_equal(td_example_replace(&got, without.data, without.len, keys[i], &two,
		    want.len, &e), 0);
		assert_int_equal(got.len, want.len);
		assert_memory_equal(got.data, want.data, got.len);
		/* where it is already, it comes in place of that */
		struct td_buf again = { 0 };
		assert_int_equal(td_example_replace(&again, got.data, got.len, keys[i], &two, 1000, &e), 0);
		assert_int_equal(again.len, want.len);
		assert_memory_equal(again.data, want.data, again.len);
		again.len = 0;
		assert_int_equal(td_example_replace(&again, got.data, got.len, keys[i], NULL, 1000, &e), 0);
		assert_int_equal(again.len, without.len);
		assert_memory_equal(again.data, without.data, again.len);
		again.len = 0;
		assert_int_equal(td_example_replace(&again, without.data, without.len, keys[i], &two,
		    want.len - 1, &e), TUNDISH_E_LIMIT);
		assert_int_equal(td_example_replace(&again, want.data, want.len - 1, keys[i], &two,
		    1000, &e), TUNDISH_E_CORRUPT);
		assert_int_equal(again.len, 0);
		td_buf_free(&again);
	}
	td_buf_free(&want);
	td_buf_free(&without);
	td_buf_free(&got);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cases),
		cmocka_unit_test(test_unpacked),
		cmocka_unit_test(test_odd_forms),
		cmocka_unit_test(test_encode),
		cmocka_unit_test(test_replace),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
