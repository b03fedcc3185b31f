/* SPDX-License-Identifier: BSD-2-Clause
 * The in-place reader of Examples against protobuf-c: on random messages, on damaged
 * ones that both take, and on the records of the fixtures. */
#include "records.h"

#include "base/rng.h"
#include "example.pb-c.h"
#include "record/example.h"
#include "record/sequence.h"

/* ---- random messages, in every form that the wire allows ---- */

struct message {
	struct td_rng rng;
	struct td_buf out;
};

static uint64_t draw(struct message *m, uint64_t n)
{
	return td_rng_below(&m->rng, n);
}

static void put_varint(struct td_buf *b, uint64_t v)
{
	uint8_t c;
	for (; v >= 0x80; v >>= 7) {
		c = (uint8_t)(v | 0x80);
		assert_true(td_buf_add(b, &c, 1));
	}
	c = (uint8_t)v;
	assert_true(td_buf_add(b, &c, 1));
}

static void put_bytes(struct td_buf *b, unsigned number, const void *data, size_t bytes)
{
	put_varint(b, number << 3 | 2);
	put_varint(b, bytes);
	assert_true(td_buf_add(b, data, bytes));
}

/* A field made by `body` behind `m`. */
static void put_message(struct message *m, unsigned number, void (*body)(struct message *))
{
	struct td_buf outer = m->out;
	m->out = (struct td_buf){ 0 };
	body(m);
	put_bytes(&outer, number, m->out.data, m->out.len);
	td_buf_free(&m->out);
	m->out = outer;
}

static void put_unknown(struct message *m)
{
	uint8_t eight[8] = { 1, 2, 3 };
	unsigned number = 16 + (unsigned)draw(m, 3000);
	switch (draw(m, 40)) {
	case 0:
		put_varint(&m->out, number << 3);
		put_varint(&m->out, td_rng_u64(&m->rng));
		break;
	case 1:
		put_varint(&m->out, number << 3 | 1);
		assert_true(td_buf_add(&m->out, eight, 8));
		break;
	case 2:
		put_bytes(&m->out, number, "unknown", 7);
		break;
	case 3:
		put_varint(&m->out, number << 3 | 5);
		assert_true(td_buf_add(&m->out, eight, 4));
		break;
	}
}

static uint64_t random_number(struct message *m)
{
	uint64_t v = td_rng_u64(&m->rng) >> draw(m, 64);
	return draw(m, 4) ? v : 0 - v;
}

static void ints(struct message *m)
{
	for (size_t i = draw(m, 4); i > 0; i--) {
		struct td_buf packed = { 0 };
		put_unknown(m);
		if (draw(m, 2)) {
			put_varint(&m->out, 1 << 3);
			put_varint(&m->out, random_number(m));
			continue;
		}
		for (size_t n = draw(m, 5); n > 0; n--)
			put_varint(&packed, random_number(m));
		put_bytes(&m->out, 1, packed.data, packed.len);
		td_buf_free(&packed);
	}
}

static void floats(struct message *m)
{
	for (size_t i = draw(m, 4); i > 0; i--) {
		float values[5] = { 1.5f, -2, (float)draw(m, 100), 0, 1e30f };
		put_unknown(m);
		if (draw(m, 2))
			put_bytes(&m->out, 1, values, draw(m, 6) * sizeof *values);
		else {
			put_varint(&m->out, 1 << 3 | 5);
			assert_true(td_buf_add(&m->out, values + draw(m, 5), sizeof *values));
		}
	}
}

static void words(struct message *m)
{
	for (size_t i = draw(m, 4); i > 0; i--) {
		put_unknown(m);
		put_bytes(&m->out, 1, "word\0and more", draw(m, 14));
	}
}

static void feature(struct message *m)
{
	static void (*const kinds[])(struct message *) = { words, floats, ints };
	put_unknown(m);
	unsigned kind = (unsigned)draw(m, 4);
	if (kind > 0)
		put_message(m, kind, kinds[kind - 1]);
	put_unknown(m);
}

static void entry_of(struct message *m, void (*value)(struct message *))
{
	static const char keys[][4] = { "a", "b", "", "k\0x", "abc", "d" };
	size_t key = draw(m, 6), key_bytes = key == 3 ? 3 : strlen(keys[key]);
	bool first = draw(m, 5) > 0;
	put_unknown(m);
	if (first)
		put_bytes(&m->out, 1, keys[key], key_bytes);
	if (draw(m, 10))
		put_message(m, 2, value);
	if (!first)
		put_bytes(&m->out, 1, keys[key], key_bytes);
	put_unknown(m);
}

static void entry(struct message *m)
{
	entry_of(m, feature);
}

static void features(struct message *m)
{
	for (size_t i = draw(m, 6); i > 0; i--) {
		put_unknown(m);
		put_message(m, 1, entry);
	}
}

static void feature_list(struct message *m)
{
	for (size_t i = draw(m, 5); i > 0; i--)
		put_message(m, 1, feature);
}

static void list_entry(struct message *m)
{
	entry_of(m, feature_list);
	if (draw(m, 5) == 0)
		put_message(m, 2, feature_list);
}

static void feature_lists(struct message *m)
{
	for (size_t i = draw(m, 4); i > 0; i--)
		put_message(m, 1, list_entry);
}

static void example(struct message *m, bool sequence)
{
	m->out.len = 0;
	for (size_t i = draw(m, 3); i > 0; i--) {
		put_unknown(m);
		put_message(m, 1, features);
		if (sequence)
			put_message(m, 2, feature_lists);
	}
	put_unknown(m);
}

/* ---- comparing ---- */

static void same_values(const struct tundish_feature *f, const Twin__Feature *twin)
{
	struct td_values v;
	int kind = twin ? (int)twin->kind_case : TUNDISH_KIND_NONE;
	assert_int_equal(f->kind, kind);
	td_values_start(&v, f);
	if (kind == TUNDISH_INT64) {
		const Twin__Int64List *list = twin->int64_list;
		int64_t one;
		assert_int_equal(f->count, list->n_value);
		for (size_t i = 0; i < list->n_value; i++) {
			assert_true(td_values_int64(&v, &one));
			assert_true(one == list->value[i]);
		}
	} else if (kind == TUNDISH_FLOAT) {
		const Twin__FloatList *list = twin->float_list;
		float one;
		assert_int_equal(f->count, list->n_value);
		for (size_t i = 0; i < list->n_value; i++) {
			assert_true(td_values_float(&v, &one));
			assert_memory_equal(&one, &list->value[i], sizeof one);
		}
	} else if (kind == TUNDISH_BYTES) {
		const Twin__BytesList *list = twin->bytes_list;
		const uint8_t *data;
		size_t bytes;
		assert_int_equal(f->count, list->n_value);
		for (size_t i = 0; i < list->n_value; i++) {
			assert_true(td_values_bytes(&v, &data, &bytes));
			assert_int_equal(bytes, list->value[i].len);
			if (bytes > 0)
				assert_memory_equal(data, list->value[i].data, bytes);
		}
	}
}

/* The entry that counts for a key is its last one. */
static const Twin__Entry *last_of(const Twin__Features *all, const ProtobufCBinaryData *key)
{
	const Twin__Entry *last = NULL;
	for (size_t i = 0; i < all->n_feature; i++) {
		const Twin__Entry *one = all->feature[i];
		if (one->key.len == key->len && (key->len == 0 || memcmp(one->key.data, key->data, key->len) == 0))
			last = one;
	}
	return last;
}

static void same_features(const uint8_t *data, size_t bytes, const Twin__Features *twin)
{
	struct tundish_feature f;
	size_t at = 0, n = 0;
	while (tundish_example_next(data, bytes, &at, &f) == 1) {
		assert_non_null(twin);
		assert_in_range(n, 0, twin->n_feature - 1);
		assert_int_equal(f.key_bytes, twin->feature[n]->key.len);
		same_values(&f, twin->feature[n++]->value);
	}
	assert_int_equal(n, twin ? twin->n_feature : 0);
	for (size_t i = 0; i < n; i++) {
		const ProtobufCBinaryData *key = &twin->feature[i]->key;
		assert_int_equal(tundish_example_find(data, bytes, (const char *)key->data, key->len, &f), 1);
		same_values(&f, last_of(twin, key)->value);
	}
}

static void same_lists(const uint8_t *data, size_t bytes, const Twin__FeatureLists *twin)
{
	struct td_sequence s;
	struct td_feature_list list;
	size_t n = 0;
	td_sequence_start(&s, data, bytes);
	for (; td_sequence_next(&s, &list) == 1; n++) {
		assert_non_null(twin);
		assert_in_range(n, 0, twin->n_feature_list - 1);
		const Twin__FeatureList *other = twin->feature_list[n]->value;
		struct tundish_feature f;
		assert_int_equal(list.steps, other ? other->n_feature : 0);
		for (size_t i = 0; i < list.steps; i++) {
			assert_int_equal(td_sequence_step(&list.features, &f), 1);
			same_values(&f, other->feature[i]);
		}
		assert_int_equal(td_sequence_step(&list.features, &f), 0);
	}
	assert_int_equal(n, twin ? twin->n_feature_list : 0);
}

/* Compares where protobuf-c reads the bytes; 1 then. */
static int compare(const uint8_t *data, size_t bytes)
{
	Twin__SequenceExample *twin = twin__sequence_example__unpack(NULL, bytes, data);
	if (!twin)
		return 0;
	same_features(data, bytes, twin->context);
	same_lists(data, bytes, twin->feature_lists);
	twin__sequence_example__free_unpacked(twin, NULL);
	return 1;
}

static void test_random(void **state)
{
	struct message m = { 0 };
	(void)state;
	td_rng_at(&m.rng, 11, 0, 0, TD_RNG_SAMPLE);
	for (int i = 0; i < 20000; i++) {
		example(&m, i % 2);
		assert_int_equal(compare(m.out.data, m.out.len), 1);
	}
	td_buf_free(&m.out);
}

/* One byte changed: what both read they read alike. */
static void test_damaged(void **state)
{
	struct message m = { 0 };
	int both = 0;
	(void)state;
	td_rng_at(&m.rng, 12, 0, 0, TD_RNG_SAMPLE);
	for (int i = 0; i < 20000; i++) {
		example(&m, i % 2);
		if (m.out.len == 0)
			continue;
		m.out.data[draw(&m, m.out.len)] ^= (uint8_t)(1 + draw(&m, 255));
		both += compare(m.out.data, m.out.len);
	}
	assert_in_range(both, 1000, 19999);
	td_buf_free(&m.out);
}

static void test_fixtures(void **state)
{
	static const char *const files[] = {
		"fixtures/tfrecord/all-none.tfrecord",
		"fixtures/formats/tfrecord/made/images.tfrecord",
		"fixtures/formats/tfrecord/made/sequence.tfrecord",
		"fixtures/formats/tfrecord/made/unpacked_lists.tfrecord",
		"fixtures/formats/tfrecord/tfx_penguin_eval.tfrecord.gz",
		"cases/18-empty-lists/a.tfrecord",
		"cases/23-int64-edges/a.tfrecord",
		"cases/24-sequence-example/a.tfrecord",
		"cases/26-odd-bytes-values/a.tfrecord",
	};
	int n = 0;
	(void)state;
	for (size_t i = 0; i < TD_COUNT(files); i++) {
		struct read r;
		read_start(&r);
		read_path(&r, shared_path(files[i]));
		for (size_t j = 0; j < r.n; j++)
			n += compare(r.data[j].data, r.data[j].len);
		read_free(&r);
	}
	assert_in_range(n, 120, 200);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random),
		cmocka_unit_test(test_damaged),
		cmocka_unit_test(test_fixtures),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
