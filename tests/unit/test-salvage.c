/* SPDX-License-Identifier: BSD-2-Clause
 * The property of the record layer: whatever byte is damaged, exactly the undamaged
 * records come out, and the damage is named. */
#include "records.h"

#include <zlib.h>

#include "base/bits.h"
#include "base/rng.h"
#include "record/compress.h"

#define N_MAX 400

/* Random records, framed, and the file that holds them. */
struct set {
	struct td_buf frames, file;
	size_t start[N_MAX + 1]; /* of each frame in frames */
	size_t n;
	size_t piece_frames[64], piece_file[64]; /* where pieces start */
	size_t pieces;
};

static void random_payload(struct td_rng *rng, uint8_t *data, size_t bytes)
{
	uint32_t kind = td_rng_u32(rng) % 3;
	for (size_t i = 0; i < bytes; i++)
		data[i] = kind == 0 ? (uint8_t)td_rng_u32(rng) :
			  kind == 1 ? (uint8_t)("tundish "[i % 8] + (td_rng_u32(rng) % 16 == 0)) :
				      0;
}

static void close_piece(struct set *s, struct td_compressed *c, int compression, int level)
{
	uint32_t adler;
	size_t from = s->piece_frames[s->pieces];
	if (from == s->frames.len)
		return;
	s->piece_file[s->pieces] = s->file.len;
	assert_int_equal(td_compress_piece(&s->file, compression, level, s->frames.data + from,
	    s->frames.len - from, &adler, NULL), 0);
	td_compress_note(c, adler, s->frames.len - from);
	s->piece_frames[++s->pieces] = s->frames.len;
	s->piece_file[s->pieces] = s->file.len;
}

/* `n` records of up to `max` bytes. */
static void make(struct set *s, struct td_rng *rng, size_t n, size_t max, int compression, int level)
{
	uint8_t *data = malloc(max);
	struct td_compressed c = TD_COMPRESSED_INIT;
	uint64_t payload = 0;
	memset(s, 0, sizeof *s);
	assert_int_equal(td_compress_head(&s->file, compression, level, NULL), 0);
	for (size_t i = 0; i < n; i++) {
		size_t bytes = td_rng_below(rng, 4) ? td_rng_below(rng, max) : td_rng_below(rng, 8);
		random_payload(rng, data, bytes);
		s->start[s->n++] = s->frames.len;
		add_frame(&s->frames, data, bytes);
		s->start[s->n] = s->frames.len;
		payload += bytes;
		if (payload >= TD_PIECE_BYTES) {
			close_piece(s, &c, compression, level);
			payload = 0;
		}
	}
	close_piece(s, &c, compression, level);
	assert_int_equal(td_compress_tail(&s->file, compression, level, &c, NULL), 0);
	free(data);
}

static void free_set(struct set *s)
{
	td_buf_free(&s->frames);
	td_buf_free(&s->file);
}

static bool is_record(const struct set *s, size_t i, const struct td_buf *data)
{
	size_t bytes = s->start[i + 1] - s->start[i] - TD_FRAME_EXTRA;
	return data->len == bytes &&
	       (bytes == 0 || memcmp(s->frames.data + s->start[i] + TD_FRAME_HEADER, data->data, bytes) == 0);
}

/* What came out is a part of the set in its order, and has all that `must` marks. */
static void check_records(const struct set *s, const struct read *r, const bool *must)
{
	size_t at = 0;
	for (size_t i = 0; i < r->n; i++, at++) {
		while (at < s->n && !is_record(s, at, &r->data[i])) {
			assert_false(must[at]);
			at++;
		}
		assert_in_range(at, 0, s->n - 1);
	}
	for (; at < s->n; at++)
		assert_false(must[at]);
	if (r->n < s->n)
		assert_in_range(r->n_faults, 1, 1000);
}

static size_t frame_at(const struct set *s, size_t byte)
{
	size_t i = 0;
	while (s->start[i + 1] <= byte)
		i++;
	return i;
}

static void test_uncompressed(void **state)
{
	(void)state;
	struct td_rng rng;
	td_rng_at(&rng, 1, 0, 0, TD_RNG_SAMPLE);
	for (int i = 0; i < 600; i++) {
		struct set s;
		struct read r;
		make(&s, &rng, 1 + td_rng_below(&rng, 20), 3000, TUNDISH_NONE, 0);
		size_t byte = td_rng_below(&rng, s.file.len), hit = frame_at(&s, byte);
		s.file.data[byte] ^= (uint8_t)(1 + td_rng_below(&rng, 255));
		read_start(&r);
		read_memory(&r, s.file.data, s.file.len, i % 2);
		assert_int_equal(r.rc, 0);
		assert_int_equal(r.n, s.n - 1);
		assert_int_equal(r.n_faults, 1);
		assert_int_equal(r.passed, s.start[hit + 1] - s.start[hit]);
		for (size_t j = 0; j < r.n; j++)
			assert_true(is_record(&s, j + (j >= hit), &r.data[j]));
		char place[64];
		snprintf(place, sizeof place, "memory: record %zu at byte %zu: ", hit, s.start[hit]);
		if (s.n > 1)
			assert_memory_equal(FAULTS(&r), place, strlen(place));
		read_free(&r);
		free_set(&s);
	}
}

/* How many bytes of frames a damaged deflate stream still gives before it goes wrong,
 * by zlib's own word. */
static size_t good_prefix(const struct set *s, size_t file_from, size_t frames_from, bool gzip)
{
	static uint8_t out[1 << 16];
	z_stream z = { .next_in = s->file.data + file_from, .avail_in = (uint32_t)(s->file.len - file_from) };
	size_t n = 0, all = s->frames.len - frames_from;
	assert_int_equal(inflateInit2(&z, gzip ? 31 : 15), Z_OK);
	for (;;) {
		z.next_out = out;
		z.avail_out = sizeof out;
		int rc = inflate(&z, Z_NO_FLUSH);
		size_t got = sizeof out - z.avail_out, i = 0;
		while (i < got && n + i < all && out[i] == s->frames.data[frames_from + n + i])
			i++;
		n += i;
		if (i < got || rc != Z_OK || got == 0)
			break;
	}
	inflateEnd(&z);
	return n;
}

static void mark(const struct set *s, bool *must, size_t from, size_t to)
{
	for (size_t i = 0; i < s->n; i++)
		must[i] |= s->start[i] >= from && s->start[i + 1] <= to;
}

static void must_gzip(const struct set *s, bool *must, size_t byte)
{
	for (size_t p = 0; p < s->pieces; p++) {
		size_t end = s->piece_frames[p + 1];
		if (byte >= s->piece_file[p] && byte < s->piece_file[p + 1])
			end = s->piece_frames[p] + good_prefix(s, s->piece_file[p], s->piece_frames[p], true);
		mark(s, must, s->piece_frames[p], end);
	}
}

/* Behind damage a zlib stream is read from one of the next full flushes on. */
static void must_zlib(const struct set *s, bool *must, size_t byte)
{
	mark(s, must, 0, good_prefix(s, 0, 0, false));
	for (size_t p = 0; p + 2 < s->pieces; p++)
		if (byte >= s->piece_file[p] && byte < s->piece_file[p + 1])
			mark(s, must, s->piece_frames[p + 2], s->frames.len);
}

/* Bytes of frames in the block that starts at `plain`: blocks are cut in each piece. */
static size_t block_bytes(const struct set *s, size_t plain)
{
	size_t p = 0;
	while (s->piece_frames[p + 1] <= plain)
		p++;
	return TD_MIN(s->piece_frames[p + 1] - plain, (size_t)262144);
}

/* Blocks are known by their lengths; all but the one that was hit must be read. */
static void must_snappy(const struct set *s, bool *must, size_t byte)
{
	size_t at = 0, plain = 0, end = 0, from = 0;
	while (at < s->file.len) {
		size_t bytes = 4 + td_be32(s->file.data + at), n = block_bytes(s, plain);
		if (byte >= at && byte < at + bytes) {
			end = plain;
			from = plain + n;
		}
		at += bytes;
		plain += n;
	}
	mark(s, must, 0, end);
	mark(s, must, from, s->frames.len);
}

static void damage_compressed(int compression, int level, uint64_t seed, int rounds,
    void (*must_read)(const struct set *, bool *, size_t))
{
	struct td_rng rng;
	struct set s;
	td_rng_at(&rng, seed, 0, 0, TD_RNG_SAMPLE);
	make(&s, &rng, 120, 60000, compression, level);
	for (int i = 0; i < rounds; i++) {
		struct read r;
		bool must[N_MAX] = { false };
		size_t byte = td_rng_below(&rng, s.file.len);
		uint8_t flip = (uint8_t)(1 + td_rng_below(&rng, 255));
		/* before the damage: the walk over blocks needs their lengths */
		if (compression == TUNDISH_SNAPPY)
			must_read(&s, must, byte);
		s.file.data[byte] ^= flip;
		if (compression != TUNDISH_SNAPPY)
			must_read(&s, must, byte);
		read_start(&r);
		r.o.compression = compression;
		read_memory(&r, s.file.data, s.file.len, 0);
		assert_int_equal(r.rc, 0);
		check_records(&s, &r, must);
		read_free(&r);
		s.file.data[byte] ^= flip;
	}
	free_set(&s);
}

static void test_gzip(void **state)
{
	(void)state;
	damage_compressed(TUNDISH_GZIP, 0, 2, 60, must_gzip);
	damage_compressed(TUNDISH_GZIP, 1, 3, 40, must_gzip);
}

static void test_zlib(void **state)
{
	(void)state;
	damage_compressed(TUNDISH_ZLIB, 0, 4, 40, must_zlib);
	damage_compressed(TUNDISH_ZLIB, 6, 5, 20, must_zlib);
}

static void test_snappy(void **state)
{
	(void)state;
	damage_compressed(TUNDISH_SNAPPY, 0, 6, 80, must_snappy);
}

/* Lengths of blocks that cannot be: named, nothing taken for them, the rest is read. */
static void test_snappy_lengths(void **state)
{
	static const uint32_t lengths[] = { UINT32_MAX, 0x7fffffff, 1 << 30, 100000, 0 };
	(void)state;
	struct td_rng rng;
	struct set s;
	td_rng_at(&rng, 13, 0, 0, TD_RNG_SAMPLE);
	make(&s, &rng, 20, 2000, TUNDISH_SNAPPY, 0);
	for (size_t i = 0; i < 2 * TD_COUNT(lengths); i++) {
		uint8_t forged[24] = { 0 };
		struct td_buf file = { 0 };
		struct read r;
		td_put_be32(forged, lengths[i / 2]);
		assert_true(td_buf_add(&file, s.file.data, s.file.len));
		assert_true(td_buf_add(&file, forged, sizeof forged));
		assert_true(td_buf_add(&file, s.file.data, s.file.len));
		read_start(&r);
		read_memory(&r, file.data, file.len, i % 2);
		assert_int_equal(r.rc, 0);
		assert_int_equal(r.compression, TUNDISH_SNAPPY);
		assert_int_equal(r.n, 2 * s.n);
		assert_in_range(r.n_faults, 1, 3);
		read_free(&r);
		td_buf_free(&file);
	}
	free_set(&s);
}

/* Cut anywhere, each compression gives all records that are there. */
static void test_cut(void **state)
{
	(void)state;
	struct td_rng rng;
	td_rng_at(&rng, 7, 0, 0, TD_RNG_SAMPLE);
	for (int i = 0; i < 120; i++) {
		struct set s;
		struct read r;
		bool must[N_MAX] = { false };
		int compression = i % 4;
		make(&s, &rng, 30, 9000, compression, 0);
		size_t whole = s.file.len;
		s.file.len = td_rng_below(&rng, whole);
		if (compression == TUNDISH_NONE)
			mark(&s, must, 0, s.file.len);
		else if (compression != TUNDISH_SNAPPY)
			mark(&s, must, 0, good_prefix(&s, 0, 0, compression == TUNDISH_GZIP));
		read_start(&r);
		r.o.compression = compression;
		read_memory(&r, s.file.data, s.file.len, i / 4 % 2);
		assert_int_equal(r.rc, 0);
		if (s.file.len > 0)
			check_records(&s, &r, must);
		read_free(&r);
		free_set(&s);
	}
}

/* Undamaged: all come back, as file and as stream. */
static void test_round_trip(void **state)
{
	(void)state;
	struct td_rng rng;
	td_rng_at(&rng, 8, 0, 0, TD_RNG_SAMPLE);
	for (int i = 0; i < 24; i++) {
		struct set s;
		struct read r;
		make(&s, &rng, td_rng_below(&rng, 90), 50000, i % 4, i / 4 % 3 * 3);
		read_start(&r);
		if (i % 4 == TUNDISH_NONE || s.n > 0)
			r.o.compression = i & 8 ? TUNDISH_AUTO : i % 4;
		read_memory(&r, s.file.data, s.file.len, i & 1);
		assert_int_equal(r.rc, 0);
		assert_string_equal(FAULTS(&r), "");
		assert_int_equal(r.n, s.n);
		if (s.n > 0)
			assert_int_equal(r.compression, i % 4);
		for (size_t j = 0; j < r.n; j++)
			assert_true(is_record(&s, j, &r.data[j]));
		read_free(&r);
		free_set(&s);
	}
}

/* Any record, in any order, of each compression and of damaged files. */
static void test_seek(void **state)
{
	(void)state;
	struct td_rng rng;
	td_rng_at(&rng, 9, 0, 0, TD_RNG_SAMPLE);
	for (int i = 0; i < 8; i++) {
		struct set s;
		struct tundish_reader_options o;
		struct tundish_reader *r;
		struct tundish_error e;
		make(&s, &rng, 150, i % 4 == TUNDISH_GZIP ? 50000 : 4000, i % 4, 0);
		bool damaged = i == 4;
		size_t hit = 70;
		if (damaged)
			s.file.data[s.start[hit] + 8] ^= 1;
		tundish_reader_options_init(&o);
		o.compression = i % 4;
		assert_int_equal(td_reader_open_memory(&r, s.file.data, s.file.len, 0, &o, &e), 0);
		for (int j = 0; j < 200; j++) {
			size_t number = td_rng_below(&rng, s.n + 3);
			struct tundish_record record;
			int rc = tundish_reader_seek(r, number, &e);
			if (damaged && number == hit) {
				assert_int_equal(rc, TUNDISH_E_CORRUPT);
				assert_string_equal(e.text, "memory: record 70 is damaged");
				number++;
				rc = 1;
			}
			assert_int_equal(rc, number < s.n);
			rc = tundish_reader_next(r, &record, &e);
			assert_int_equal(rc, number < s.n);
			if (rc == 0)
				continue;
			assert_int_equal(record.number, number);
			struct td_buf data = { (uint8_t *)record.data, record.bytes, 0 };
			assert_true(is_record(&s, number, &data));
		}
		tundish_reader_close(r);
		free_set(&s);
	}
}

static void test_seek_stream(void **state)
{
	(void)state;
	struct td_rng rng;
	struct set s;
	struct tundish_reader *r;
	struct tundish_record record;
	struct tundish_error e;
	td_rng_at(&rng, 10, 0, 0, TD_RNG_SAMPLE);
	make(&s, &rng, 30, 1000, TUNDISH_GZIP, 0);
	assert_int_equal(td_reader_open_memory(&r, s.file.data, s.file.len, 1, NULL, &e), 0);
	assert_int_equal(tundish_reader_seek(r, 20, &e), 1);
	assert_int_equal(tundish_reader_next(r, &record, &e), 1);
	assert_int_equal(record.number, 20);
	assert_int_equal(tundish_reader_seek(r, 5, &e), TUNDISH_E_UNSUPPORTED);
	assert_int_equal(tundish_reader_next(r, &record, &e), 1);
	assert_int_equal(record.number, 21);
	tundish_reader_close(r);
	free_set(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_uncompressed),
		cmocka_unit_test(test_gzip),
		cmocka_unit_test(test_zlib),
		cmocka_unit_test(test_snappy),
		cmocka_unit_test(test_snappy_lengths),
		cmocka_unit_test(test_cut),
		cmocka_unit_test(test_seek),
		cmocka_unit_test(test_seek_stream),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
