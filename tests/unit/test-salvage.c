/* SPDX-License-Identifier: BSD-2-Clause
 * The property of the record layer: whatever byte is damaged, exactly the undamaged
 * records come out, and the damage is named. */
#include "records.h"

#include <zlib.h>

#include "base/bits.h"
#include "base/rng.h"
#include "record/compress.h"

#define N_MAX 400
#define PIECES_MAX 256

/* Random records, framed, and the file that holds them. */
struct set {
	struct td_buf frames, file;
	size_t start[N_MAX + 1]; /* of each frame in frames */
	size_t n;
	size_t piece_frames[PIECES_MAX], piece_file[PIECES_MAX]; /* where pieces start */
	size_t pieces;
};

/* Payload after which a piece ends. */
static uint64_t piece_bytes = TD_PIECE_BYTES;

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
		if (payload >= piece_bytes) {
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

static bool is_known(const struct named *f)
{
	static const char *const kinds[] = { "checksum mismatch", "checksum is ", "truncated", "compressed data is damaged",
		"compressed data ends early", "no compressed data", "snappy block", "zero bytes where",
		"leads to no other record", "; the limit is " };
	bool known = false;
	for (size_t i = 0; i < TD_COUNT(kinds); i++)
		known |= strstr(f->reason, kinds[i]) != NULL;
	return known && (f->code == TUNDISH_E_CORRUPT || f->code == TUNDISH_E_TRUNCATED || f->code == TUNDISH_E_LIMIT);
}

/* All that decompression gave is a record that came out or passed over by a fault that says so:
 * one follows the other, in bytes and in numbers. And nothing is lost without one. */
static void check_named(const struct set *s, const struct read *r)
{
	uint64_t at = 0, number = 0;
	size_t fault = 0, next = 0;
	assert_in_range(r->n_faults, 0, FAULTS_MAX);
	for (size_t i = 0; i <= r->n; i++) {
		size_t first = fault, was = next;
		for (; fault < r->n_faults && r->named[fault].before == i; fault++, number++) {
			const struct named *f = &r->named[fault];
			assert_true(is_known(f));
			assert_int_equal(f->record, number);
			assert_int_equal(f->offset, at);
			at += f->passed;
		}
		while (next < s->n && (i == r->n || !is_record(s, next, &r->data[i])))
			next++;
		if (next > was)
			assert_true(fault > first);
		if (i == r->n)
			continue;
		assert_int_equal(r->number[i], number++);
		assert_int_equal(r->offset[i], at);
		at += r->data[i].len + TD_FRAME_EXTRA;
		next++;
	}
	assert_int_equal(fault, r->n_faults);
}

/* The first record that is lost is named, and where it stands in what the file inflates to. */
static void check_first_lost(const struct set *s, const struct read *r)
{
	size_t lost = 0;
	char place[64];
	while (lost < r->n && is_record(s, lost, &r->data[lost]))
		lost++;
	if (lost == s->n)
		return;
	snprintf(place, sizeof place, "memory: record %zu at byte %zu: ", lost, s->start[lost]);
	assert_memory_equal(FAULTS(r), place, strlen(place));
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
		if (s.n > 1) {
			assert_memory_equal(FAULTS(&r), place, strlen(place));
			check_named(&s, &r);
		}
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

/* A record may go from one member into the next, but for ours. */
static void must_gzip(const struct set *s, bool *must, size_t byte)
{
	size_t from = 0;
	for (size_t p = 0; p < s->pieces; p++) {
		if (byte < s->piece_file[p] || byte >= s->piece_file[p + 1])
			continue;
		mark(s, must, from, s->piece_frames[p] + good_prefix(s, s->piece_file[p], s->piece_frames[p], true));
		from = s->piece_frames[p + 1];
	}
	mark(s, must, from, s->frames.len);
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

/* The same records as others write them: by zlib, in members that end anywhere, or in one
 * stream without a flush. */
static void make_foreign(struct set *s, struct td_rng *rng, int compression, size_t pieces)
{
	static uint8_t out[1 << 16];
	s->file.len = s->piece_frames[0] = 0;
	s->pieces = pieces;
	for (size_t p = 0; p < pieces; p++) {
		size_t from = s->piece_frames[p], rest = s->frames.len - from;
		size_t bytes = p + 1 == pieces ? rest : td_rng_below(rng, 2 * rest / (pieces - p) + 1);
		z_stream z = { .next_in = s->frames.data + from, .avail_in = (uint32_t)bytes };
		assert_int_equal(deflateInit2(&z, 6, Z_DEFLATED, compression == TUNDISH_GZIP ? 31 : 15, 8, 0), Z_OK);
		s->piece_file[p] = s->file.len;
		int rc;
		do {
			z.next_out = out;
			z.avail_out = sizeof out;
			rc = deflate(&z, Z_FINISH);
			assert_true(td_buf_add(&s->file, out, sizeof out - z.avail_out));
		} while (rc == Z_OK);
		assert_int_equal(rc, Z_STREAM_END);
		deflateEnd(&z);
		s->piece_frames[p + 1] = from + bytes;
		s->piece_file[p + 1] = s->file.len;
	}
}

static void damage_compressed(int compression, int level, size_t foreign, uint64_t seed, int rounds,
    void (*must_read)(const struct set *, bool *, size_t))
{
	struct td_rng rng;
	struct set s;
	td_rng_at(&rng, seed, 0, 0, TD_RNG_SAMPLE);
	make(&s, &rng, 120, 60000, compression, level);
	if (foreign)
		make_foreign(&s, &rng, compression, foreign);
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
		check_first_lost(&s, &r);
		check_named(&s, &r);
		read_free(&r);
		s.file.data[byte] ^= flip;
	}
	free_set(&s);
}

static void test_gzip(void **state)
{
	(void)state;
	damage_compressed(TUNDISH_GZIP, 0, 0, 2, 60, must_gzip);
	damage_compressed(TUNDISH_GZIP, 1, 0, 3, 40, must_gzip);
	damage_compressed(TUNDISH_GZIP, 0, 1, 25, 20, must_gzip);
	damage_compressed(TUNDISH_GZIP, 0, 12, 26, 60, must_gzip);
}

static void test_zlib(void **state)
{
	(void)state;
	damage_compressed(TUNDISH_ZLIB, 0, 0, 4, 40, must_zlib);
	damage_compressed(TUNDISH_ZLIB, 6, 0, 5, 20, must_zlib);
	damage_compressed(TUNDISH_ZLIB, 0, 1, 27, 20, must_zlib);
}

static void test_snappy(void **state)
{
	(void)state;
	damage_compressed(TUNDISH_SNAPPY, 0, 0, 6, 80, must_snappy);
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

static void assert_same_read(const struct read *a, const struct read *b)
{
	assert_int_equal(a->rc, b->rc);
	assert_string_equal(FAULTS(a), FAULTS(b));
	assert_int_equal(a->n, b->n);
	for (size_t i = 0; i < a->n; i++) {
		assert_same_record(a, i, b, i);
		assert_int_equal(a->number[i], b->number[i]);
		assert_int_equal(a->offset[i], b->offset[i]);
	}
}

/* What does not shrink is stored, by the default alone, and zlib reads it. */
static void test_stored(void **state)
{
	(void)state;
	struct td_rng rng;
	td_rng_at(&rng, 23, 0, 0, TD_RNG_SAMPLE);
	for (int i = 0; i < 8; i++) {
		static const size_t sizes[] = { 100, 65535, 65536, 300000 };
		size_t n = sizes[i / 2];
		uint8_t *data = malloc(n), *back = malloc(n);
		struct td_buf file = { 0 };
		struct td_compressed c = TD_COMPRESSED_INIT;
		int compression = i % 2 ? TUNDISH_ZLIB : TUNDISH_GZIP;
		uint32_t adler;
		for (size_t k = 0; k < n; k++)
			data[k] = (uint8_t)td_rng_u32(&rng);
		assert_int_equal(td_compress_head(&file, compression, 0, NULL), 0);
		assert_int_equal(td_compress_piece(&file, compression, 0, data, n, &adler, NULL), 0);
		td_compress_note(&c, adler, n);
		size_t blocks = (n + 65534) / 65535;
		assert_int_equal(file.len, n + 5 * blocks + (i % 2 ? 2 + 5 : 18));
		assert_int_equal(td_compress_tail(&file, compression, 0, &c, NULL), 0);
		z_stream z = { .next_in = file.data, .avail_in = (uint32_t)file.len, .next_out = back,
			.avail_out = (uint32_t)n };
		assert_int_equal(inflateInit2(&z, i % 2 ? 15 : 31), Z_OK);
		assert_int_equal(inflate(&z, Z_FINISH), Z_STREAM_END);
		assert_int_equal(z.avail_in + z.avail_out, 0);
		assert_memory_equal(back, data, n);
		inflateEnd(&z);
		td_buf_free(&file);
		free(back);
		free(data);
	}
}

static float drawn(struct td_rng *rng)
{
	uint64_t sum = 0;
	for (int k = 0; k < 12; k++)
		sum += td_rng_below(rng, 1000);
	return ((float)sum - 6000.f) / 100.f;
}

enum { ROUNDED, SPARSE, COUNTERS, TOKENS, SMOOTH, RUNS, KINDS };

/* Numbers as people have them: measurements, mostly zeros, rising, words of a text by their
 * number, a curve, areas of a mask. */
static void numbers(struct td_rng *rng, int kind, float *out, size_t n)
{
	double place = 0, speed = 0;
	uint32_t count = 0;
	for (size_t i = 0; i < n; i++) {
		uint32_t whole = kind == COUNTERS ? count += (uint32_t)td_rng_below(rng, 20) :
		    (uint32_t)td_rng_below(rng, 1u << td_rng_below(rng, 16));
		speed += drawn(rng) / 1000;
		place += speed;
		count += kind == RUNS && td_rng_below(rng, 500) == 0;
		out[i] = kind == SMOOTH ? (float)place : kind == SPARSE && td_rng_below(rng, 10) ? 0 : drawn(rng);
		if (kind == COUNTERS || kind == TOKENS)
			memcpy(out + i, &whole, sizeof whole);
		else if (kind == RUNS)
			memset(out + i, (int)(count % 5), sizeof *out);
	}
}

/* Not 8 % larger than zlib makes them at level 6. */
static void test_default_size(void **state)
{
	(void)state;
#ifdef TD_HAVE_LIBDEFLATE
	struct td_rng rng;
	size_t n = (size_t)1 << 18;
	float *data = malloc(n * sizeof *data);
	td_rng_at(&rng, 24, 0, 0, TD_RNG_SAMPLE);
	for (int kind = 0; kind < KINDS; kind++) {
		struct td_buf quick = { 0 }, zlib = { 0 };
		uint32_t adler;
		numbers(&rng, kind, data, n);
		assert_int_equal(td_compress_piece(&quick, TUNDISH_GZIP, 0, data, n * sizeof *data, &adler, NULL), 0);
		assert_int_equal(td_compress_piece(&zlib, TUNDISH_GZIP, 6, data, n * sizeof *data, &adler, NULL), 0);
		assert_in_range(quick.len, 1, zlib.len * 108 / 100);
		td_buf_free(&quick);
		td_buf_free(&zlib);
	}
	free(data);
#endif
}

/* Something wrong with a gzip file, or with what looks like a header in it. */
static void spoil(struct set *s, struct td_rng *rng, int kind)
{
	static const uint8_t header[10] = { 0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff };
	size_t at = td_rng_below(rng, s->file.len - sizeof header);
	if (kind == 1)
		s->file.data[at] ^= (uint8_t)(1 + td_rng_below(rng, 255));
	else if (kind == 2)
		s->file.len = at;
	else if (kind == 3)
		memcpy(s->file.data + at, header, sizeof header);
	else if (kind == 4)
		memset(s->file.data + at, 0, TD_MIN(s->file.len - at, (size_t)30000));
	else if (kind == 5) /* a trailer that lies about the size */
		td_put_le32(s->file.data + s->piece_file[s->pieces / 2 + 1] - 4, td_rng_u32(rng));
}

/* Members that are inflated ahead, by any number of threads: the same records, the same faults. */
static void test_ahead(void **state)
{
	(void)state;
	struct td_rng rng;
	td_rng_at(&rng, 21, 0, 0, TD_RNG_SAMPLE);
	for (int i = 0; i < 48; i++) {
		static const unsigned threads[] = { 2, 3, 8, 99 };
		struct set s;
		struct read one, more;
		piece_bytes = i % 8 == 7 ? TD_PIECE_BYTES : 1 + td_rng_below(&rng, 60000);
		make(&s, &rng, 60 + td_rng_below(&rng, 150), 9000, TUNDISH_GZIP, i / 6 % 2);
		if (i % 6)
			spoil(&s, &rng, i % 6);
		read_start(&one);
		one.o.compression = TUNDISH_GZIP;
		one.o.on_error = i % 5 == 4 ? TUNDISH_FAIL : TUNDISH_SKIP;
		read_memory(&one, s.file.data, s.file.len, 0);
		assert_true(i % 6 || one.n == s.n);
		for (size_t t = 0; t < TD_COUNT(threads); t++) {
			read_start(&more);
			more.o.compression = TUNDISH_GZIP;
			more.o.on_error = one.o.on_error;
			more.o.threads = threads[t];
			read_memory(&more, s.file.data, s.file.len, 0);
			assert_same_read(&one, &more);
			read_free(&more);
		}
		read_free(&one);
		free_set(&s);
	}
	piece_bytes = TD_PIECE_BYTES;
}

/* A gzip file in a record is stored as it is: its headers are no members of the file's. */
static void test_ahead_nested(void **state)
{
	(void)state;
	struct td_rng rng;
	struct set inner;
	struct td_buf file = { 0 }, frames = { 0 };
	uint32_t adler;
	td_rng_at(&rng, 22, 0, 0, TD_RNG_SAMPLE);
	piece_bytes = 5000;
	make(&inner, &rng, 40, 4000, TUNDISH_GZIP, 0);
	piece_bytes = TD_PIECE_BYTES;
	for (int i = 0; i < 12; i++) {
		frames.len = 0;
		add_frame(&frames, inner.file.data, inner.file.len);
		assert_int_equal(td_compress_piece(&file, TUNDISH_GZIP, 0, frames.data, frames.len, &adler, NULL), 0);
	}
	struct read r;
	read_start(&r);
	r.o.threads = 3;
	read_memory(&r, file.data, file.len, 0);
	assert_int_equal(r.rc, 0);
	assert_string_equal(FAULTS(&r), "");
	assert_int_equal(r.n, 12);
	for (size_t i = 0; i < r.n; i++)
		assert_memory_equal(r.data[i].data, inner.file.data, inner.file.len);
	read_free(&r);
	td_buf_free(&file);
	td_buf_free(&frames);
	free_set(&inner);
}

/* Members of 20 bytes, tens of thousands of them, before one record. */
static void test_ahead_tiny(void **state)
{
	(void)state;
	struct td_buf empty = { 0 }, file = { 0 }, frame = { 0 };
	struct read r;
	uint32_t adler;
	assert_int_equal(td_compress_piece(&empty, TUNDISH_GZIP, 0, "", 0, &adler, NULL), 0);
	for (int i = 0; i < 30000; i++)
		assert_true(td_buf_add(&file, empty.data, empty.len));
	add_frame(&frame, "tundish", 7);
	assert_int_equal(td_compress_piece(&file, TUNDISH_GZIP, 0, frame.data, frame.len, &adler, NULL), 0);
	read_start(&r);
	r.o.threads = 8;
	read_memory(&r, file.data, file.len, 0);
	assert_int_equal(r.rc, 0);
	assert_string_equal(FAULTS(&r), "");
	assert_int_equal(r.n, 1);
	read_free(&r);
	td_buf_free(&empty);
	td_buf_free(&file);
	td_buf_free(&frame);
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
		o.threads = 1 + (unsigned)i / 4 * 2;
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
		cmocka_unit_test(test_stored),
		cmocka_unit_test(test_default_size),
		cmocka_unit_test(test_ahead),
		cmocka_unit_test(test_ahead_nested),
		cmocka_unit_test(test_ahead_tiny),
		cmocka_unit_test(test_cut),
		cmocka_unit_test(test_seek),
		cmocka_unit_test(test_seek_stream),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
