/* SPDX-License-Identifier: BSD-2-Clause
 * Reading record files: the fixtures, damage of all kinds, streams, walks, writing. */
#include "records.h"

#include <fcntl.h>
#include <jansson.h>
#include <unistd.h>

#include "base/err.h"
#include "base/rng.h"
#include "base/sha256.h"
#include "record/compress.h"
#include "record/index.h"

/* What a file must give: records of all-none.tfrecord, and words of the faults. */
struct want {
	const char *path;
	const char *records; /* one digit each: its number in the undamaged file */
	unsigned faults;
	const char *text; /* all faults, one a line; NULL: not looked at */
	int crc;
};

static const struct want fixtures[] = {
	{ "fixtures/tfrecord/all-none.tfrecord", "01234567", 0, "", 0 },
	{ "fixtures/tfrecord/empty.tfrecord", "", 0, "", 0 },
	{ "fixtures/tfrecord/bad-payload-crc.tfrecord", "0234567", 1,
	    "bad-payload-crc.tfrecord: record 1 at byte 204: data checksum mismatch\n", 0 },
	{ "fixtures/tfrecord/bad-payload-crc.tfrecord", "01234567", 0, "", TUNDISH_CRC_LENGTH },
	{ "fixtures/tfrecord/bad-length.tfrecord", "0134567", 1,
	    "bad-length.tfrecord: record 2 at byte 282: length checksum mismatch, 100 bytes passed "
	    "over\n", 0 },
	{ "fixtures/tfrecord/truncated-payload.tfrecord", "0123456", 1,
	    "truncated-payload.tfrecord: record 7 at byte 72812: truncated (30 of 52 bytes "
	    "present)\n", 0 },
	{ "fixtures/tfrecord/truncated-header.tfrecord", "0123456", 1,
	    "truncated-header.tfrecord: record 7 at byte 72812: truncated in its header (5 of 12 "
	    "bytes present)\n", 0 },
	{ "fixtures/tfrecord/garbage-tail.tfrecord", "01234567", 1,
	    "garbage-tail.tfrecord: record 8 at byte 72864: zero bytes where a record should start, "
	    "777 bytes passed over\n", 0 },
	{ "fixtures/tfrecord/not-tfrecord.tfrecord", "", 1,
	    "not-tfrecord.tfrecord: not a TFRecord file: git-lfs pointer: the data was never "
	    "downloaded\n", 0 },
	{ "fixtures/tfrecord/all-gzip.tfrecord", "01234567", 0, "", 0 },
	{ "fixtures/tfrecord/all-zlib.tfrecord", "01234567", 0, "", 0 },
	{ "fixtures/tfrecord/all-snappy.tfrecord", "01234567", 0, "", 0 },
	{ "fixtures/tfrecord/gzip-member-per-record.tfrecord", "01234567", 0, "", 0 },
	{ "fixtures/tfrecord/truncated-gzip.tfrecord", "01234", 1,
	    "truncated-gzip.tfrecord: record 5 at byte 432: truncated (36227 of 72238 bytes present): "
	    "compressed data ends early\n", 0 },
};

static void check_want(const struct want *w, const struct read *all)
{
	struct read r;
	read_start(&r);
	r.o.crc = w->crc;
	read_path(&r, shared_path(w->path));
	assert_int_equal(r.rc, 0);
	assert_string_equal(FAULTS(&r), w->text);
	assert_int_equal(r.n_faults, w->faults);
	assert_int_equal(r.n, strlen(w->records));
	for (size_t i = 0; i < r.n; i++) {
		int number = w->records[i] - '0';
		assert_int_equal(r.number[i], number);
		assert_int_equal(r.offset[i], all->offset[number]);
		if (w->crc == TUNDISH_CRC_FULL)
			assert_same_record(&r, i, all, (size_t)number);
	}
	read_free(&r);
}

static void assert_hash(const struct td_buf *data, const json_t *want)
{
	struct td_sha256 hash;
	char hex[65];
	td_sha256_init(&hash);
	td_sha256_add(&hash, data->data, data->len);
	td_sha256_hex(&hash, hex);
	assert_string_equal(hex, json_string_value(want));
}

/* The records themselves, by the hashes that come with them. */
static void test_hashes(void **state)
{
	(void)state;
	struct read all, large;
	json_t *expect = json_load_file(shared_path("fixtures/tfrecord/EXPECT.json"), 0, NULL);
	assert_non_null(expect);
	read_start(&all);
	read_path(&all, shared_path("fixtures/tfrecord/all-none.tfrecord"));
	read_start(&large);
	read_path(&large, shared_path("fixtures/tfrecord/snappy-large-block.tfrecord"));
	const json_t *records = json_object_get(expect, "records");
	const json_t *hashes = json_object_get(json_object_get(json_object_get(expect, "files"),
	    "snappy-large-block.tfrecord"), "sha256");
	assert_int_equal(all.n, json_array_size(records));
	assert_int_equal(large.n, json_array_size(hashes));
	for (size_t i = 0; i < all.n; i++)
		assert_hash(&all.data[i], json_object_get(json_array_get(records, i), "sha256"));
	for (size_t i = 0; i < large.n; i++)
		assert_hash(&large.data[i], json_array_get(hashes, i));
	read_free(&all);
	read_free(&large);
	json_decref(expect);
}

static void test_fixtures(void **state)
{
	struct read all;
	(void)state;
	read_start(&all);
	read_path(&all, shared_path("fixtures/tfrecord/all-none.tfrecord"));
	for (size_t i = 0; i < TD_COUNT(fixtures); i++)
		check_want(&fixtures[i], &all);
	read_free(&all);
}

static const struct {
	const char *path;
	unsigned records;
	const char *faults;
	int crc;
} cases[] = {
	{ "01-truncated-payload/cut.tfrecord", 4,
	    "cut.tfrecord: record 4 at byte 1032: truncated (218 of 258 bytes present)\n", 0 },
	{ "03-payload-bitflip/flip.tfrecord", 4,
	    "flip.tfrecord: record 2 at byte 516: data checksum mismatch\n", 0 },
	{ "05-not-a-tfrecord/denied.tfrecord", 0,
	    "denied.tfrecord: not a TFRecord file: XML error\n", 0 },
	{ "05-not-a-tfrecord/error-page.tfrecord", 0,
	    "error-page.tfrecord: not a TFRecord file: HTML page\n", 0 },
	{ "05-not-a-tfrecord/few-bytes.tfrecord", 0,
	    "few-bytes.tfrecord: not a TFRecord file: too short to hold a record\n", 0 },
	{ "05-not-a-tfrecord/lfs-pointer.tfrecord", 0,
	    "lfs-pointer.tfrecord: not a TFRecord file: git-lfs pointer: the data was never "
	    "downloaded\n", 0 },
	{ "05-not-a-tfrecord/picture.tfrecord", 0,
	    "picture.tfrecord: not a TFRecord file: JPEG image\n", 0 },
	{ "06-gzip-no-suffix/part-00000-of-00001.tfrecord", 5, "", 0 },
	{ "08-zlib-stream/default.tfrecord.zz", 5, "", 0 },
	{ "08-zlib-stream/flushed-per-record.tfrecord.zz", 5, "", 0 },
	{ "08-zlib-stream/level1.tfrecord.zz", 5, "", 0 },
	{ "08-zlib-stream/no-suffix.tfrecord", 5, "", 0 },
	{ "10-truncated-gzip/bad-gzip-crc.tfrecord.gz", 8,
	    "bad-gzip-crc.tfrecord.gz: record 8 at byte 17424: gzip checksum mismatch\n", 0 },
	{ "10-truncated-gzip/cut.tfrecord.gz", 4,
	    "cut.tfrecord.gz: record 4 at byte 8712: truncated (1585 of 2178 bytes present): compressed "
	    "data ends early\n", 0 },
	{ "10-truncated-gzip/no-trailer.tfrecord.gz", 8,
	    "no-trailer.tfrecord.gz: record 8 at byte 17424: compressed data ends early\n", 0 },
	{ "11-empty-file/empty.tfrecord.gz", 0, "", 0 },
	{ "07-plain-named-gz/part-00000-of-00001.tfrecord.gz", 5, "", 0 },
	{ "11-empty-file/empty.tfrecord", 0, "", 0 },
	{ "11-empty-file/zero-bytes.tfrecord.gz", 0, "", 0 },
	{ "12-zero-length-record/with-empty.tfrecord", 3, "", 0 },
	{ "12-zero-length-record/only-empty.tfrecord", 1, "", 0 },
	{ "14-wrong-crc-kind/crc-unmasked.tfrecord", 0,
	    "crc-unmasked.tfrecord: record 0 at byte 0: length checksum is unmasked, 774 bytes passed "
	    "over\n", 0 },
	{ "14-wrong-crc-kind/crc-zero.tfrecord", 0,
	    "crc-zero.tfrecord: record 0 at byte 0: length checksum is 0, 774 bytes passed over\n", 0 },
	{ "14-wrong-crc-kind/crc-zlib-masked.tfrecord", 0,
	    "crc-zlib-masked.tfrecord: record 0 at byte 0: length checksum is CRC-32 where CRC-32C is "
	    "due, 774 bytes passed over\n", 0 },
	{ "14-wrong-crc-kind/only-data-crc-zero.tfrecord", 0,
	    "only-data-crc-zero.tfrecord: record 0 at byte 0: data checksum is 0\n"
	    "only-data-crc-zero.tfrecord: record 1 at byte 258: data checksum is 0\n"
	    "only-data-crc-zero.tfrecord: record 2 at byte 516: data checksum is 0\n", 0 },
	{ "14-wrong-crc-kind/crc-unmasked.tfrecord", 3, "", TUNDISH_CRC_OFF },
	{ "14-wrong-crc-kind/crc-zero.tfrecord", 3, "", TUNDISH_CRC_OFF },
	{ "14-wrong-crc-kind/crc-zlib-masked.tfrecord", 3, "", TUNDISH_CRC_OFF },
	{ "14-wrong-crc-kind/only-data-crc-zero.tfrecord", 3, "", TUNDISH_CRC_OFF },
	{ "15-which-shard/train-00002-of-00004", 2,
	    "train-00002-of-00004: record 1 at byte 258: data checksum mismatch\n", 0 },
};

static void test_cases(void **state)
{
	(void)state;
	for (size_t i = 0; i < TD_COUNT(cases); i++) {
		char path[256];
		struct read r;
		snprintf(path, sizeof path, "tests/golden/cases/%s", cases[i].path);
		read_start(&r);
		r.o.crc = cases[i].crc;
		read_path(&r, source_path(path));
		assert_string_equal(FAULTS(&r), cases[i].faults);
		assert_int_equal(r.rc, 0);
		assert_int_equal(r.n, cases[i].records);
		read_free(&r);
	}
}

static const struct {
	const char *path;
	unsigned records;
	uint64_t bytes;
	int compression;
	const char *faults;
} formats[] = {
	{ "grain_morris_sequence_first_5.tfrecord", 5, 25, TUNDISH_NONE, "" },
	{ "tfx_penguin_eval.tfrecord.gz", 100, 13600, TUNDISH_GZIP, "" },
	{ "made/bad_len_crc_rec2.tfrecord", 4, 44593, TUNDISH_NONE,
	    "bad_len_crc_rec2.tfrecord: record 2 at byte 9890: length checksum mismatch, 5570 bytes "
	    "passed over\n" },
	{ "made/empty_records.tfrecord", 3, 1, TUNDISH_NONE, "" },
	{ "made/forged_huge_length.tfrecord", 0, 0, TUNDISH_NONE,
	    "forged_huge_length.tfrecord: record 0 at byte 0: truncated (15 of 4611686018427387920 "
	    "bytes present)\n" },
	{ "made/images.tfrecord", 5, 50147, TUNDISH_NONE, "" },
	{ "made/images.snappy.tfrecord", 5, 50147, TUNDISH_SNAPPY, "" },
	{ "made/images.zlib.tfrecord", 5, 50147, TUNDISH_ZLIB, "" },
	{ "made/sequence.tfrecord", 1, 129, TUNDISH_NONE, "" },
	{ "made/trunc_mid_data.tfrecord", 3, 15412, TUNDISH_NONE,
	    "trunc_mid_data.tfrecord: record 3 at byte 15460: truncated (100 of 29590 bytes present)\n" },
	{ "made/trunc_mid_footer.tfrecord", 3, 15412, TUNDISH_NONE,
	    "trunc_mid_footer.tfrecord: record 3 at byte 15460: truncated (29588 of 29590 bytes "
	    "present)\n" },
	{ "made/trunc_mid_header.tfrecord", 3, 15412, TUNDISH_NONE,
	    "trunc_mid_header.tfrecord: record 3 at byte 15460: truncated in its header (5 of 12 bytes "
	    "present)\n" },
	{ "made/unpacked_lists.tfrecord", 3, 154, TUNDISH_NONE, "" },
	{ "made/zero_bytes.tfrecord", 0, 0, TUNDISH_NONE, "" },
	{ "../../tfrecord/snappy-large-block.tfrecord", 8, 372652, TUNDISH_SNAPPY, "" },
};

static void test_formats(void **state)
{
	(void)state;
	for (size_t i = 0; i < TD_COUNT(formats); i++) {
		char path[256];
		struct read r;
		uint64_t bytes = 0;
		snprintf(path, sizeof path, "fixtures/formats/tfrecord/%s", formats[i].path);
		read_start(&r);
		read_path(&r, shared_path(path));
		assert_int_equal(r.rc, 0);
		assert_string_equal(FAULTS(&r), formats[i].faults);
		assert_int_equal(r.n, formats[i].records);
		assert_int_equal(r.compression, formats[i].compression);
		for (size_t j = 0; j < r.n; j++)
			bytes += r.data[j].len;
		assert_int_equal(bytes, formats[i].bytes);
		read_free(&r);
	}
}

/* ---- files made here ---- */

static void test_forged(void **state)
{
	(void)state;
	struct td_buf file = { 0 };
	uint8_t header[TD_FRAME_HEADER];
	add_frame(&file, "first", 5);
	td_frame_header(header, (uint64_t)1 << 62);
	assert_true(td_buf_add(&file, header, sizeof header));
	add_frame(&file, "second", 6);
	td_frame_header(header, 30);
	assert_true(td_buf_add(&file, header, sizeof header));
	add_frame(&file, "third", 5);
	add_frame(&file, "fourth", 6);
	for (int stream = 0; stream < 2; stream++) {
		struct read r;
		read_start(&r);
		read_memory(&r, file.data, file.len, stream);
		assert_int_equal(r.rc, 0);
		assert_int_equal(r.n, 4);
		assert_int_equal(r.n_faults, 2);
		assert_int_equal(r.passed, 24);
		assert_memory_equal(r.data[2].data, "third", 5);
		assert_non_null(strstr(FAULTS(&r),
		    stream ? "record 1 at byte 21: record of 4611686018427387904 bytes; the limit is" :
			     "record 1 at byte 21: truncated (89 of 4611686018427387920 bytes present)"));
		read_free(&r);
	}
	td_buf_free(&file);
}

/* The same file gives the same as file and as stream, whole and walked. */
static void test_large(void **state)
{
	(void)state;
	struct td_buf file = { 0 };
	static uint8_t data[600000];
	for (size_t i = 0; i < sizeof data; i++)
		data[i] = (uint8_t)(i * 2654435761u >> 24);
	size_t sizes[] = { 0, 1, 300, 4096, 262144 - 16, 262144, 600000, 5, 250000, 3 };
	for (size_t i = 0; i < TD_COUNT(sizes); i++)
		add_frame(&file, data, sizes[i]);
	for (int stream = 0; stream < 2; stream++) {
		struct read r;
		read_start(&r);
		read_memory(&r, file.data, file.len, stream);
		assert_int_equal(r.n, TD_COUNT(sizes));
		assert_int_equal(r.n_faults, 0);
		for (size_t i = 0; i < r.n; i++) {
			assert_int_equal(r.data[i].len, sizes[i]);
			assert_memory_equal(r.data[i].data ? r.data[i].data : data, data, sizes[i]);
		}
		struct tundish_reader *reader;
		struct td_index_entry entry;
		uint64_t number;
		assert_int_equal(td_reader_open_memory(&reader, file.data, file.len, stream, NULL, NULL), 0);
		for (size_t i = 0; i < r.n; i++) {
			assert_int_equal(td_reader_walk(reader, &entry, &number, NULL), 1);
			assert_int_equal(entry.offset, r.offset[i]);
			assert_int_equal(entry.bytes, sizes[i] + TD_FRAME_EXTRA);
			assert_int_equal(number, i);
		}
		assert_int_equal(td_reader_walk(reader, &entry, &number, NULL), 0);
		tundish_reader_close(reader);
		read_free(&r);
	}
	td_buf_free(&file);
}

static void test_fail(void **state)
{
	(void)state;
	struct read r;
	read_start(&r);
	r.o.on_error = TUNDISH_FAIL;
	read_path(&r, source_path("tests/golden/cases/03-payload-bitflip/flip.tfrecord"));
	assert_int_equal(r.n, 2);
	assert_int_equal(r.rc, TUNDISH_E_CORRUPT);
	assert_non_null(strstr(r.e.text, "flip.tfrecord: record 2 at byte 516: data checksum mismatch"));
	assert_int_equal(r.n_faults, 0);
	read_free(&r);
	read_start(&r);
	r.o.on_error = TUNDISH_FAIL;
	read_path(&r, source_path("tests/golden/cases/05-not-a-tfrecord/picture.tfrecord"));
	assert_int_equal(r.rc, TUNDISH_E_CORRUPT);
	read_free(&r);
	read_start(&r);
	read_path(&r, "/nonexistent/file");
	assert_int_equal(r.rc, TUNDISH_E_NOT_FOUND);
	read_path(&r, "/");
	assert_int_equal(r.rc, TUNDISH_E_IO);
	read_free(&r);
}

static void test_limit(void **state)
{
	(void)state;
	for (int stream = 0; stream < 2; stream++) {
		struct td_buf file = { 0 };
		struct read r;
		add_frame(&file, "abc", 3);
		add_frame(&file, "0123456789", 10);
		add_frame(&file, "abc", 3);
		read_start(&r);
		r.o.max_record_bytes = 9;
		read_memory(&r, file.data, file.len, stream);
		assert_int_equal(r.n, 2);
		assert_int_equal(r.number[1], 2);
		assert_string_equal(FAULTS(&r),
		    "memory: record 1 at byte 19: record of 10 bytes; the limit is 9\n");
		assert_int_equal(r.passed, 26);
		read_free(&r);
		td_buf_free(&file);
	}
}

/* Buffers are recycled: what they have room for must not show in the bytes. */
static void test_compressed_bytes(void **state)
{
	(void)state;
	struct td_buf data = { 0 }, want = { 0 };
	struct td_rng rng;
	uint32_t adler, sum;
	td_rng_at(&rng, 1, 0, 0, TD_RNG_SAMPLE);
	assert_true(td_buf_fit(&data, 1100000));
	/* mostly noise, as pictures are */
	for (; data.len < 1100000; data.len++)
		data.data[data.len] = (uint8_t)(data.len % 5 ? td_rng_u32(&rng) : 7);
	for (int kind = TUNDISH_GZIP; kind <= TUNDISH_ZLIB; kind++) {
		for (int level = 0; level <= 6; level += 6) {
			want.len = 0;
			assert_int_equal(td_compress_piece(&want, kind, level, data.data, data.len, &adler, NULL), 0);
			for (size_t room = 1; room < 9; room++) {
				struct td_buf out = { 0 };
				assert_true(td_buf_reserve(&out, room * 200000));
				assert_int_equal(td_compress_piece(&out, kind, level, data.data, data.len, &sum, NULL), 0);
				assert_int_equal(out.len, want.len);
				assert_memory_equal(out.data, want.data, out.len);
				td_buf_free(&out);
			}
		}
	}
	td_buf_free(&data);
	td_buf_free(&want);
}

static void check_writer(int compression, int level)
{
	char path[] = "/tmp/test-reader-XXXXXX";
	int fd = mkstemp(path);
	static uint8_t data[3000000];
	struct tundish_writer *w;
	struct tundish_error e;
	assert_int_equal(tundish_writer_open(&w, path, compression, level, &e), 0);
	size_t sizes[] = { 0, 7, 1 << 18, (1 << 18) + 1, 3000000, 12, 900000, 900000 };
	for (size_t i = 0; i < TD_COUNT(sizes); i++) {
		memset(data, (int)i, sizes[i]);
		assert_int_equal(tundish_writer_append(w, data, sizes[i], &e), 0);
	}
	assert_int_equal(tundish_writer_close(w, &e), 0);
	struct read r;
	read_start(&r);
	read_path(&r, path);
	assert_int_equal(r.compression, compression);
	assert_int_equal(r.n, TD_COUNT(sizes));
	assert_int_equal(r.n_faults, 0);
	for (size_t i = 0; i < r.n; i++) {
		assert_int_equal(r.data[i].len, sizes[i]);
		memset(data, (int)i, sizes[i]);
		assert_memory_equal(r.data[i].data ? r.data[i].data : data, data, sizes[i]);
	}
	read_free(&r);

	struct td_index index;
	int rc = td_index_open(&index, path, NULL, &e);
	assert_int_equal(rc, compression ? TUNDISH_E_UNSUPPORTED : 0);
	if (rc == 0) {
		assert_int_equal(index.n, TD_COUNT(sizes));
		assert_int_equal(index.from_sidecar, 0);
		td_index_free(&index);
	}
	close(fd);
	unlink(path);
}

static void test_writer(void **state)
{
	(void)state;
	struct tundish_writer *w;
	struct tundish_error e;
	check_writer(TUNDISH_NONE, 0);
	check_writer(TUNDISH_GZIP, 0);
	check_writer(TUNDISH_GZIP, 1);
	check_writer(TUNDISH_ZLIB, 0);
	check_writer(TUNDISH_ZLIB, 9);
	check_writer(TUNDISH_SNAPPY, 0);
	assert_int_equal(tundish_writer_open(&w, "/tmp/x", 7, 0, &e), TUNDISH_E_USAGE);
	assert_int_equal(tundish_writer_open(&w, "/tmp/x", TUNDISH_GZIP, 10, &e), TUNDISH_E_USAGE);
	assert_int_equal(tundish_writer_open(&w, "/nonexistent/x", 0, 0, &e), TUNDISH_E_IO);
}

/* A file that gets shorter under the reader is an error, and stays one. */
static void test_shrinking(void **state)
{
	(void)state;
	char path[] = "/tmp/test-reader-XXXXXX";
	int fd = mkstemp(path), rc;
	static const uint8_t data[1000];
	struct tundish_writer *w;
	struct tundish_reader *r;
	struct tundish_record record;
	struct tundish_error e;
	/* what is read ahead does not shrink any more */
	setenv("TUNDISH_FETCH", "threads", 1);
	close(fd);
	assert_int_equal(tundish_writer_open(&w, path, TUNDISH_NONE, 0, &e), 0);
	for (int i = 0; i < 1000; i++)
		assert_int_equal(tundish_writer_append(w, data, sizeof data, &e), 0);
	assert_int_equal(tundish_writer_close(w, &e), 0);
	assert_int_equal(tundish_reader_open(&r, path, NULL, &e), 0);
	assert_int_equal(tundish_reader_next(r, &record, &e), 1);
	assert_int_equal(truncate(path, 400000), 0);
	while ((rc = tundish_reader_next(r, &record, &e)) == 1)
		continue;
	assert_int_equal(rc, TUNDISH_E_IO);
	assert_non_null(strstr(e.text, "the file shrank while it was read"));
	e.text[0] = 0;
	assert_int_equal(tundish_reader_next(r, &record, &e), TUNDISH_E_IO);
	assert_non_null(strstr(e.text, "the file shrank while it was read"));
	tundish_reader_close(r);
	unsetenv("TUNDISH_FETCH");
	unlink(path);
}

/* A place that was in the file when it was listed, and is not any more. */
static void test_place_gone(void **state)
{
	(void)state;
	struct td_buf file = { 0 };
	struct tundish_reader *r;
	struct tundish_record record;
	struct tundish_error e;
	for (int i = 0; i < 5; i++)
		add_frame(&file, "tundish", 7);
	for (uint64_t from = 0; from <= file.len + 46; from += 23) {
		assert_int_equal(td_reader_open_memory(&r, file.data, file.len, 0, NULL, &e), 0);
		int rc = td_reader_part(r, from, from / 23, UINT64_MAX, &e);
		assert_int_equal(rc, from > file.len ? TUNDISH_E_IO : 0);
		if (rc == 0) {
			rc = tundish_reader_next(r, &record, &e);
			assert_int_equal(rc, from < file.len);
		} else {
			assert_string_equal(e.text, "memory: the file shrank while it was read");
		}
		tundish_reader_close(r);
	}
	td_buf_free(&file);
}

/* Read ahead through io_uring or not, in memory or not: the same records, and the same error
 * when the file gets shorter. */
static void test_read_ahead(void **state)
{
	(void)state;
	static const char *const hows[] = { "threads", "uring", "" };
	static uint8_t data[70000];
	char path[] = "/tmp/test-reader-XXXXXX";
	int fd = mkstemp(path), rc;
	struct td_rng rng;
	struct tundish_error e;
	struct td_buf file = { 0 };
	struct read want;
	td_rng_at(&rng, 31, 0, 0, TD_RNG_SAMPLE);
	for (size_t i = 0; i < sizeof data; i++)
		data[i] = (uint8_t)td_rng_u32(&rng);
	for (int i = 0; i < 200; i++)
		add_frame(&file, data, td_rng_below(&rng, sizeof data));
	file.data[file.len / 2] ^= 1;
	assert_int_equal(write(fd, file.data, file.len), file.len);
	assert_int_equal(fsync(fd), 0);
	read_start(&want);
	read_memory(&want, file.data, file.len, 0);
	assert_int_equal(want.n, 199);
	for (size_t i = 0; i < TD_COUNT(hows); i++) {
		struct read r;
		setenv("TUNDISH_FETCH", hows[i], 1);
		posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
		read_start(&r);
		read_path(&r, path);
		assert_int_equal(r.rc, 0);
		assert_int_equal(r.n, want.n);
		assert_int_equal(r.n_faults, 1);
		for (size_t k = 0; k < r.n; k++) {
			assert_same_record(&r, k, &want, k);
			assert_int_equal(r.offset[k], want.offset[k]);
		}
		read_free(&r);
	}
	for (size_t i = 0; i < TD_COUNT(hows); i++) {
		struct tundish_reader *r;
		struct tundish_record record;
		setenv("TUNDISH_FETCH", hows[i], 1);
		assert_int_equal(pwrite(fd, file.data, file.len, 0), file.len);
		assert_int_equal(tundish_reader_open(&r, path, NULL, &e), 0);
		assert_int_equal(tundish_reader_next(r, &record, &e), 1);
		assert_int_equal(ftruncate(fd, 300000), 0);
		while ((rc = tundish_reader_next(r, &record, &e)) == 1)
			continue;
		assert_int_equal(rc, TUNDISH_E_IO);
		assert_non_null(strstr(e.text, "the file shrank while it was read"));
		tundish_reader_close(r);
	}
	unsetenv("TUNDISH_FETCH");
	read_free(&want);
	td_buf_free(&file);
	close(fd);
	unlink(path);
}

static uint64_t pass_until(struct tundish_reader *r, uint64_t to, uint64_t *bytes)
{
	uint64_t records = 0, some;
	int64_t n;
	while ((n = td_reader_pass(r, to, &some, NULL)) > 0) {
		records += (uint64_t)n;
		*bytes += some;
	}
	assert_int_equal(n, 0);
	return records;
}

/* Many records at a time: as many, and the same said of the damage, as one by one. */
static void test_pass(void **state)
{
	(void)state;
	struct td_rng rng;
	uint8_t data[1500];
	td_rng_at(&rng, 31, 0, 0, TD_RNG_SAMPLE);
	for (int i = 0; i < 200; i++) {
		struct td_buf file = { 0 };
		struct read one, many;
		struct tundish_reader *r;
		for (size_t n = 1 + td_rng_below(&rng, 300); n > 0; n--) {
			size_t bytes = td_rng_below(&rng, sizeof data);
			for (size_t k = 0; k < bytes; k++)
				data[k] = (uint8_t)td_rng_u32(&rng);
			add_frame(&file, data, bytes);
		}
		for (int k = 0; k < i % 4; k++)
			file.data[td_rng_below(&rng, file.len)] ^= (uint8_t)(1u << td_rng_below(&rng, 8));
		read_start(&one);
		read_start(&many);
		read_memory(&one, file.data, file.len, i % 2);
		assert_int_equal(td_reader_open_memory(&r, file.data, file.len, i % 2, &many.o, NULL), 0);
		uint64_t bytes = 0, half = pass_until(r, file.len / 2, &bytes);
		assert_int_equal(half, td_reader_number(r) - many.n_faults);
		assert_int_equal(half + pass_until(r, UINT64_MAX, &bytes), one.n);
		assert_int_equal(bytes + many.passed, file.len);
		assert_string_equal(FAULTS(&many), FAULTS(&one));
		tundish_reader_close(r);
		read_free(&one);
		read_free(&many);
		td_buf_free(&file);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fixtures),
		cmocka_unit_test(test_hashes),
		cmocka_unit_test(test_cases),
		cmocka_unit_test(test_formats),
		cmocka_unit_test(test_forged),
		cmocka_unit_test(test_large),
		cmocka_unit_test(test_fail),
		cmocka_unit_test(test_pass),
		cmocka_unit_test(test_limit),
		cmocka_unit_test(test_writer),
		cmocka_unit_test(test_shrinking),
		cmocka_unit_test(test_place_gone),
		cmocka_unit_test(test_read_ahead),
		cmocka_unit_test(test_compressed_bytes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
