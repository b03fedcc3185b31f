/* SPDX-License-Identifier: BSD-2-Clause
 * Finding record files, shard sets, and indexes beside them. */
#include "records.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/infile.h"
#include "base/outfile.h"
#include "base/rng.h"
#include "record/frame.h"
#include "record/members.h"
#include "record/metadata.h"
#include "record/paths.h"
#include "record/shardname.h"

static char folder[64];

static const char *in_folder(const char *name)
{
	static char path[4][256];
	static unsigned i;
	i = (i + 1) % 4;
	snprintf(path[i], sizeof path[i], "%s/%s", folder, name);
	return path[i];
}

static void touch(const char *name)
{
	struct tundish_error e;
	assert_int_equal(td_write_file(in_folder(name), "x", 1, &e), 0);
}

static int make_folder(void **state)
{
	(void)state;
	snprintf(folder, sizeof folder, "/tmp/test-paths-XXXXXX");
	return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
	char command[128];
	(void)state;
	snprintf(command, sizeof command, "rm -r '%s'", folder);
	return system(command);
}

/* The base names found, one a line. */
static int found(struct read *r, const char *path, char *names, size_t bytes)
{
	struct td_paths p;
	const char *paths[] = { in_folder(path) };
	read_start(r);
	int rc = td_paths_find(&p, paths, 1, &r->o.listener, &r->e);
	names[0] = 0;
	for (size_t i = 0; rc == 0 && i < p.n; i++) {
		strncat(names, strrchr(p.paths[i], '/') + 1, bytes - strlen(names) - 2);
		strcat(names, "\n");
		assert_int_equal(p.bytes[i], 1);
	}
	if (rc == 0) {
		assert_int_equal(p.faults, r->n_faults);
		td_paths_free(&p);
	}
	return rc;
}

static void test_find(void **state)
{
	(void)state;
	char names[2048];
	struct read r;
	assert_int_equal(found(&r, "", names, sizeof names), TUNDISH_E_EMPTY);
	read_free(&r);
	assert_int_equal(found(&r, "*.x", names, sizeof names), TUNDISH_E_NOT_FOUND);
	read_free(&r);
	assert_int_equal(found(&r, "none", names, sizeof names), TUNDISH_E_NOT_FOUND);
	read_free(&r);
	struct td_paths p;
	const char *twice[] = { "-", "-" };
	assert_int_equal(td_paths_find(&p, twice, 2, NULL, NULL), TUNDISH_E_USAGE);
	assert_int_equal(td_paths_find(&p, twice, 1, NULL, NULL), 0);
	assert_int_equal(p.n, 1);
	td_paths_free(&p);
	touch("b.tfrecord");
	touch("Z.tfrecord");
	touch("[odd].tfrecord");
	const char *litter[] = { "a.idx", "a.json", "a.txt", ".hidden", "a.part", "a.tmp", "a~" };
	for (size_t i = 0; i < TD_COUNT(litter); i++)
		touch(litter[i]);
	mkdir(in_folder("index"), 0777);
	mkfifo(in_folder("fifo"), 0666);
	touch("index/inner.tfrecord");
	assert_int_equal(found(&r, "", names, sizeof names), 0);
	assert_string_equal(names, "Z.tfrecord\n[odd].tfrecord\nb.tfrecord\n");
	read_free(&r);
	assert_int_equal(found(&r, "*", names, sizeof names), 0);
	assert_string_equal(names, "Z.tfrecord\n[odd].tfrecord\nb.tfrecord\n");
	read_free(&r);
	assert_int_equal(found(&r, "[odd].tfrecord", names, sizeof names), 0);
	assert_string_equal(names, "[odd].tfrecord\n");
	read_free(&r);
	assert_int_equal(found(&r, "i*", names, sizeof names), 0);
	assert_string_equal(names, "inner.tfrecord\n");
	read_free(&r);
}

static void test_sets(void **state)
{
	(void)state;
	char names[2048], file[64];
	struct read r;
	for (int i = 0; i < 6; i++) {
		snprintf(file, sizeof file, "x-train.tfrecord-%05d-of-00006", i);
		touch(file);
		snprintf(file, sizeof file, "x-val-%05d-of-00006_%08d.tfrecord", i, i * 10);
		touch(file);
	}
	assert_int_equal(found(&r, "", names, sizeof names), 0);
	assert_string_equal(FAULTS(&r), "");
	read_free(&r);
	/* a part of a set is no fault */
	assert_int_equal(found(&r, "x-train*0000[2-4]-*", names, sizeof names), 0);
	assert_string_equal(FAULTS(&r), "");
	read_free(&r);
	unlink(in_folder("x-train.tfrecord-00003-of-00006"));
	unlink(in_folder("x-val-00002-of-00006_00000020.tfrecord"));
	unlink(in_folder("x-val-00005-of-00006_00000050.tfrecord"));
	touch("x-val-00001-of-00006_00000011.tfrecord");
	assert_int_equal(found(&r, "x-*", names, sizeof names), 0);
	assert_string_equal(FAULTS(&r),
	    "x-train.tfrecord-00000-of-00006: of 6 shards 1 is missing: 00003\n"
	    "x-val-00000-of-00006_00000000.tfrecord: of 6 shards 2 are missing: 00002, 00005\n"
	    "x-val-00000-of-00006_00000000.tfrecord: of 6 shards 1 is there twice: 00001\n");
	read_free(&r);
	touch("x-train.tfrecord-00000-of-00001");
	assert_int_equal(found(&r, "x-train*", names, sizeof names), 0);
	assert_non_null(strstr(FAULTS(&r),
	    "x-train.tfrecord-00000-of-00006: two sets under one name: of 1 and of 6 shards\n"));
	read_free(&r);
}

static void test_names(void **state)
{
	(void)state;
	struct td_shard_name n;
	uint64_t count;
	assert_true(td_shard_name_parse(&n, "a-train.tfrecord-00003-of-00010"));
	assert_int_equal(n.shard, 3);
	assert_int_equal(n.shards, 10);
	assert_int_equal(n.prefix, 17);
	assert_true(td_shard_name_parse(&n, "train_00001-of-00002.tfrecord"));
	assert_string_equal(n.suffix, ".tfrecord");
	assert_true(td_shard_name_parse(&n, "a-of-b-train-00000-of-00010_00001234.tfrecord"));
	assert_int_equal(n.count, 1234);
	assert_false(td_shard_name_parse(&n, "a-of-b"));
	assert_false(td_shard_name_parse(&n, "a-1-of-0"));
	assert_false(td_shard_name_parse(&n, "a-1-of-99999999999999999999999"));
	assert_true(td_name_count(&count, "train_00012345.tfrecord"));
	assert_int_equal(count, 12345);
	assert_false(td_name_count(&count, "train_a.tfrecord"));
	assert_false(td_name_count(&count, "train-00000-of-00010.tfrecord"));
}

static void test_json_files(void **state)
{
	(void)state;
	struct tundish_error e = { 0 };
	assert_null(td_json_read(in_folder("none"), 100, 0, &e));
	assert_int_equal(e.code, TUNDISH_E_NOT_FOUND);
	/* nothing waits for a writer */
	assert_int_equal(mkfifo(in_folder("pipe"), 0600), 0);
	assert_null(td_json_read(in_folder("pipe"), 100, 0, &e));
	assert_int_equal(e.code, TUNDISH_E_UNSUPPORTED);
	assert_int_equal(td_write_file(in_folder("text"), (const uint8_t *)"{\"a\":\n\x1b", 7, NULL), 0);
	assert_null(td_json_read(in_folder("text"), 100, 0, &e));
	assert_int_equal(e.code, TUNDISH_E_CORRUPT);
	assert_non_null(strstr(e.text, "no JSON: line 2: "));
	assert_null(strchr(e.text, 0x1b));
	assert_null(td_json_read(in_folder("text"), 6, 0, &e));
	assert_int_equal(e.code, TUNDISH_E_LIMIT);
	assert_int_equal(td_write_file(in_folder("text"), (const uint8_t *)"[]", 2, NULL), 0);
	json_t *list = td_json_read(in_folder("text"), 100, 0, NULL);
	assert_true(json_is_array(list));
	json_decref(list);
}

static void write_index(const struct td_index *index, size_t n)
{
	struct td_buf text = { 0 };
	assert_true(mkdir(in_folder("index"), 0700) == 0 || errno == EEXIST);
	assert_true(td_index_print(&text, index->entries, n));
	assert_int_equal(td_write_file(in_folder("index/good.tfrecord.idx"), text.data, text.len, NULL), 0);
	td_buf_free(&text);
}

static void test_index(void **state)
{
	(void)state;
	struct td_index index, again;
	struct read r;
	read_start(&r);
	assert_int_equal(td_index_open(&index, source_path("tests/golden/cases/16-stale-index/a.tfrecord"),
	    &r.o.listener, &r.e), 0);
	assert_int_equal(index.n, 3);
	assert_false(index.from_sidecar);
	assert_non_null(strstr(NOTICES(&r), "a.idx does not fit"));
	assert_non_null(strstr(NOTICES(&r), "do not follow each other"));
	read_free(&r);

	char command[8192];
	snprintf(command, sizeof command, "cp '%s' '%s'", source_path("tests/golden/cases/16-stale-index/a.tfrecord"),
	    in_folder("good.tfrecord"));
	assert_int_equal(system(command), 0);
	write_index(&index, index.n);
	assert_int_equal(td_index_open(&again, in_folder("good.tfrecord"), NULL, NULL), 0);
	assert_int_equal(again.from_sidecar, 1);
	assert_int_equal(again.n, 3);
	assert_memory_equal(again.entries, index.entries, 3 * sizeof *index.entries);
	td_index_free(&again);
	/* two entries in one */
	index.entries[1].bytes += index.entries[2].bytes;
	write_index(&index, 2);
	assert_int_equal(td_index_open(&again, in_folder("good.tfrecord"), NULL, NULL), 0);
	assert_int_equal(again.from_sidecar, 0);
	assert_int_equal(again.n, 3);
	td_index_free(&again);
	td_index_free(&index);

	read_start(&r);
	assert_int_equal(td_index_open(&index,
	    shared_path("fixtures/formats/tfrecord/made/images.tfrecord"), &r.o.listener, &r.e), 0);
	assert_int_equal(index.from_sidecar, 1);
	assert_int_equal(index.n, 5);
	td_index_free(&index);
	read_free(&r);
}

/* ---- gzip members in tundish.json ---- */

enum { PACKED = 50, PACKED_BYTES = 70000 };

/* Records that hold their number, in a GZIP shard of four members; the shard's name. */
static const char *make_packed(void)
{
	static uint8_t data[PACKED_BYTES];
	struct tundish_writer *w;
	struct tundish_pack_options o;
	struct tundish_pack_result *result;
	struct td_rng rng;
	const char *source = in_folder("plain.tfrecord");
	td_rng_at(&rng, 1, 0, 0, TD_RNG_SAMPLE);
	for (size_t i = 0; i < sizeof data; i++)
		data[i] = (uint8_t)td_rng_below(&rng, 256);
	assert_int_equal(tundish_writer_open(&w, source, TUNDISH_NONE, 0, NULL), 0);
	for (int i = 0; i < PACKED; i++) {
		data[0] = (uint8_t)i;
		assert_int_equal(tundish_writer_append(w, data, sizeof data, NULL), 0);
	}
	assert_int_equal(tundish_writer_close(w, NULL), 0);
	tundish_shard_options_init(&o);
	o.sources = &source;
	o.n_sources = 1;
	o.output = in_folder("out/x");
	o.shards = "1";
	o.compression = TUNDISH_GZIP;
	assert_int_equal(tundish_shard(&o, &result, NULL), 0);
	tundish_pack_result_free(result);
	return in_folder("out/x-train.tfrecord-00000-of-00001");
}

/* Puts other bytes of the same number into a file. */
static void spoil(const char *path, long at, const char *bytes)
{
	FILE *f = fopen(path, "r+e");
	assert_non_null(f);
	assert_int_equal(fseek(f, at, SEEK_SET), 0);
	assert_int_equal(fwrite(bytes, 1, strlen(bytes), f), strlen(bytes));
	assert_int_equal(fclose(f), 0);
}

/* The first byte of record `number`, with what was told; -1: it is not there. */
static int ask_record(const char *path, uint64_t number, struct read *r)
{
	struct tundish_reader *reader;
	struct tundish_record record;
	read_start(r);
	assert_int_equal(tundish_reader_open(&reader, path, &r->o, &r->e), 0);
	int rc = tundish_reader_seek(reader, number, &r->e);
	int first = rc == 1 && tundish_reader_next(reader, &record, &r->e) == 1 ? record.data[0] : -1;
	tundish_reader_close(reader);
	return first;
}

static void test_members(void **state)
{
	(void)state;
	char path[256];
	struct td_input in;
	struct td_mark *marks;
	size_t n;
	struct read r;
	snprintf(path, sizeof path, "%s", make_packed());
	assert_int_equal(td_input_open(&in, path, NULL), 0);
	assert_int_equal(remove(in_folder("out/index/x-train.tfrecord-00000-of-00001.idx")), 0);
	struct td_metadata *metadata = td_metadata_new();
	assert_int_equal(td_members_sidecar(&marks, &n, path, &in, metadata, NULL, NULL), 1);
	assert_int_equal(n, 4);
	assert_int_equal(marks[3].offset, marks[3].number * (PACKED_BYTES + TD_FRAME_EXTRA));
	/* damage that a walk from the start would meet leaves the numbers behind it right */
	spoil(path, (long)marks[1].raw + 100, "xxxxxxxx");
	assert_int_equal(ask_record(path, 3, &r), 3);
	read_free(&r);
	for (uint64_t i = marks[2].number; i < PACKED; i += 5) {
		assert_int_equal(ask_record(path, i, &r), i);
		assert_string_equal(NOTICES(&r), "");
		read_free(&r);
	}
	assert_int_equal(ask_record(path, PACKED, &r), -1);
	read_free(&r);
	/* no member where one should be, another size: said, and not believed */
	spoil(path, (long)marks[3].raw, "zzz");
	assert_int_equal(ask_record(path, 3, &r), 3);
	assert_non_null(strstr(NOTICES(&r), "the members in tundish.json do not fit"));
	read_free(&r);
	spoil(path, (long)marks[3].raw, "\x1f\x8b\x08");
	assert_int_equal(truncate(path, (off_t)in.size - 1), 0);
	assert_int_equal(ask_record(path, 3, &r), 3);
	assert_non_null(strstr(NOTICES(&r), "the members in tundish.json do not fit"));
	read_free(&r);
	/* what was loaded once is not looked for again */
	const json_t *shard, *other;
	assert_int_equal(remove(in_folder("out/tundish.json")), 0);
	assert_int_equal(td_metadata_shard(metadata, &shard, path, NULL), 0);
	assert_int_equal(td_metadata_shard(metadata, &other, in_folder("out/other"), NULL), 0);
	assert_int_equal(json_integer_value(json_object_get(shard, "records")), PACKED);
	assert_null(other);
	td_metadata_free(metadata);
	td_input_close(&in);
	free(marks);
}

/* Writes an index of the packed shard and asks for record 3 of it: what was told. */
static const char *try_text(const char *path, const char *text, struct read *r)
{
	static struct td_buf notices;
	assert_int_equal(td_write_file(in_folder("out/index/x-train.tfrecord-00000-of-00001.idx"),
	    (const uint8_t *)text, strlen(text), NULL), 0);
	assert_int_equal(ask_record(path, 3, r), 3);
	notices.len = 0;
	assert_true(td_buf_printf(&notices, "%s", NOTICES(r)));
	read_free(r);
	return (const char *)notices.data;
}

static void test_packed_index(void **state)
{
	(void)state;
	char path[256], *text = NULL;
	struct td_index index, walked;
	struct td_pack_map map, other;
	struct td_metadata *metadata = td_metadata_new();
	struct td_buf good = { 0 };
	struct read r;
	snprintf(path, sizeof path, "%s", make_packed());
	assert_int_equal(td_index_members(&index, &map, path, metadata, NULL, NULL), 1);
	assert_true(index.from_sidecar);
	assert_int_equal(map.n, 4);
	const char *idx = in_folder("out/index/x-train.tfrecord-00000-of-00001.idx");
	assert_int_equal(td_read_file(&good, idx, 100000, NULL), 0);
	assert_true(td_buf_add(&good, "", 1));
	/* as the walk finds it */
	assert_int_equal(remove(idx), 0);
	assert_int_equal(td_index_members(&walked, &other, path, metadata, NULL, NULL), 1);
	assert_false(walked.from_sidecar);
	assert_int_equal(walked.n, PACKED);
	assert_memory_equal(walked.entries, index.entries, PACKED * sizeof *index.entries);
	assert_int_equal(other.n, 4);
	assert_memory_equal(other.marks, map.marks, 4 * sizeof *map.marks);
	assert_int_equal(other.bytes, map.bytes);
	assert_int_equal(other.raw, map.raw);
	/* other texts are named, and not believed */
	static const char *const bad[] = { "gzip 1\n", "gzip 1\n@ 0\n0 70016\nend 70016 70016\n", "gzip 2\n", "gzip 1",
		"gzip 1\n0 70016\n", "gzip 1\n@ 99999999999999999999\n", "gzip 1\n@ 0\n@ 0\n0 70016\n",
		"gzip 1\n@ 0\n0 18446744073709551615\n18446744073709551615 16\n", "0 70016\n", "" };
	for (size_t i = 0; i < TD_COUNT(bad); i++)
		assert_non_null(strstr(try_text(path, bad[i], &r), "does not fit"));
	assert_string_equal(try_text(path, (const char *)good.data, &r), "");
	/* the same lengths elsewhere: the second member begins a byte later, or with another record */
	assert_true(asprintf(&text, "%s", (const char *)good.data) > 0);
	char *at = strstr(text, "\n@ ") + 1;
	at = strstr(at, "\n@ ") + 3;
	at[strcspn(at, "\n") - 1] ^= 1;
	assert_non_null(strstr(try_text(path, text, &r), "lengths in the file differ"));
	free(text);
	/* what inflates to more than deflate can make of it */
	assert_true(asprintf(&text, "gzip 1\n@ 0\n0 %llu\nend %llu %llu\n", 1ull << 40,
	    (unsigned long long)map.raw, 1ull << 40) > 0);
	assert_non_null(strstr(try_text(path, text, &r), "another size"));
	free(text);
	td_index_free(&index);
	td_index_free(&walked);
	free(map.marks);
	free(other.marks);
	td_buf_free(&good);
	td_metadata_free(metadata);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_find, make_folder, remove_folder),
		cmocka_unit_test_setup_teardown(test_sets, make_folder, remove_folder),
		cmocka_unit_test(test_names),
		cmocka_unit_test_setup_teardown(test_json_files, make_folder, remove_folder),
		cmocka_unit_test_setup_teardown(test_index, make_folder, remove_folder),
		cmocka_unit_test_setup_teardown(test_members, make_folder, remove_folder),
		cmocka_unit_test_setup_teardown(test_packed_index, make_folder, remove_folder),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
