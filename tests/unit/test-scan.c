/* SPDX-License-Identifier: BSD-2-Clause */
#include "records.h"

#include <unistd.h>

#include "survey/scan.h"

#define RECORDS 3000

static char folder[] = "/tmp/tundish-scan-XXXXXX";
static uint64_t starts[RECORDS + 1];

static const char *make_file(const char *name)
{
	static char path[200];
	static uint8_t data[5000];
	struct tundish_writer *w;
	snprintf(path, sizeof path, "%s/%s", folder, name);
	assert_int_equal(tundish_writer_open(&w, path, TUNDISH_NONE, 0, NULL), 0);
	for (unsigned i = 0; i < RECORDS; i++) {
		uint64_t bytes = i * 37 % sizeof data;
		memset(data, (int)i, sizeof data);
		starts[i + 1] = starts[i] + bytes + 16;
		assert_int_equal(tundish_writer_append(w, data, bytes, NULL), 0);
	}
	assert_int_equal(tundish_writer_close(w, NULL), 0);
	return path;
}

static void spoil(const char *path, uint64_t at)
{
	FILE *f = fopen(path, "r+e");
	assert_non_null(f);
	fseek(f, (long)at, SEEK_SET);
	int c = fgetc(f);
	fseek(f, (long)at, SEEK_SET);
	fputc(c ^ 1, f);
	fclose(f);
}

/* What a pass found, as text. */
struct found {
	struct td_buf text;
	uint64_t records, faults, pieces, sum;
	struct tundish_error error;
	struct tundish_progress told;
	bool astray; /* progress went back, or past the end */
};

struct part {
	uint64_t sum, n;
};

static void hear(void *data, const struct tundish_fault *f)
{
	assert_true(td_buf_printf(&((struct found *)data)->text, "%s (%d %d %d %d)\n", f->text, f->code,
	    (int)f->record, (int)f->offset, (int)f->passed_bytes));
}

static void note(void *data, const char *text)
{
	assert_true(td_buf_printf(&((struct found *)data)->text, "%s\n", text));
}

static void see(void *data, const struct tundish_progress *p)
{
	struct found *found = data;
	found->astray |= p->bytes < found->told.bytes || p->bytes > p->bytes_total;
	found->told = *p;
}

static int look(void *ctx, struct td_scan_job *job, const struct tundish_record *r,
    struct tundish_error *e)
{
	(void)ctx;
	struct part *part = job->part;
	part->sum += r->number * 31 + r->offset + r->bytes;
	part->n++;
	return r->offset == starts[1234] ? td_scan_bad(job, r, TUNDISH_E_SCHEMA, e, "odd") : 0;
}

static int merge(void *ctx, struct td_scan_job *job, struct tundish_error *e)
{
	(void)e;
	struct found *found = ctx;
	struct part *part = job->part;
	found->records += job->file.records;
	found->faults += job->file.faults;
	found->pieces++;
	found->astray |= found->told.bytes == 0;
	/* sums of pieces add up to that of the file */
	found->sum += part->sum + part->n * job->before * 31;
	if (td_scan_last(job))
		assert_true(td_buf_printf(&found->text, "%d: %d, %d\n", (int)job->file.number,
		    (int)found->records, (int)found->sum));
	*part = (struct part){ 0 };
	return 0;
}

enum { NOW, LATER, COUNT };

static struct found pass(const struct td_paths *paths, unsigned threads, uint64_t piece_bytes, int how,
    int on_error)
{
	struct found found = { 0 };
	const struct tundish_listener l = { .data = &found, .fault = hear, .notice = note,
		.progress = see };
	const struct td_scan scan = { .paths = paths, .compression = TUNDISH_AUTO,
		.on_error = on_error, .threads = threads, .max_record_bytes = 1 << 20,
		.piece_bytes = piece_bytes, .listener = &l, .ctx = &found,
		.part_bytes = sizeof(struct part), .record = look, .merge = merge,
		.count_only = how == COUNT, .numbers_later = how != NOW };
	assert_true(td_buf_printf(&found.text, "%s", ""));
	td_scan_run(&scan, &found.error);
	return found;
}

static void assert_same_cut(const struct td_paths *paths, const struct found *whole, unsigned n_threads,
    uint64_t piece_bytes, int how, int on_error, uint64_t least_pieces)
{
	struct found cut = pass(paths, n_threads, piece_bytes, how, on_error);
	assert_true(cut.pieces >= least_pieces);
	assert_string_equal(cut.error.text, whole->error.text);
	assert_int_equal(cut.error.code, whole->error.code);
	assert_false(cut.astray);
	if (on_error == TUNDISH_SKIP) {
		assert_string_equal(cut.text.data, whole->text.data);
		assert_int_equal(cut.faults, whole->faults);
		assert_int_equal(cut.told.items, cut.records);
		assert_int_equal(cut.told.bytes, cut.told.bytes_total);
	}
	td_buf_free(&cut.text);
}

/* However it is cut, and by however many threads: the same as in one piece. */
static void assert_same_in_pieces(const struct td_paths *paths, uint64_t piece_bytes, int how, int on_error,
    uint64_t least_pieces)
{
	static const unsigned threads[] = { 1, 2, 3, 8, 99 };
	struct found whole = pass(paths, 1, UINT64_MAX / 4, how, on_error);
	for (size_t i = 0; i < TD_COUNT(threads); i++)
		assert_same_cut(paths, &whole, threads[i], piece_bytes, how, on_error, least_pieces);
	td_buf_free(&whole.text);
}

static void test_pieces(void **state)
{
	(void)state;
	static const char *const names[] = { "a", "b", "c" };
	struct td_paths paths = { 0 };
	const char *list[3];
	for (size_t i = 0; i < 3; i++)
		list[i] = strdup(make_file(names[i]));
	for (unsigned i = 7; i < RECORDS; i += 100)
		spoil(list[1], starts[i] + 12);
	spoil(list[2], starts[2000]); /* a length: without guesses not cut behind it */
	spoil(list[2], starts[2500] + 14);
	assert_int_equal(td_paths_find(&paths, list, 3, NULL, NULL), 0);
	struct found whole = pass(&paths, 1, UINT64_MAX / 4, NOW, TUNDISH_SKIP);
	assert_int_equal(whole.pieces, 3);
	assert_int_equal(whole.faults, 30 + 2 + 3);
	td_buf_free(&whole.text);
	for (int how = NOW; how <= COUNT; how++) {
		assert_same_in_pieces(&paths, 100000, how, TUNDISH_SKIP, how == NOW ? 100 : 200);
		assert_same_in_pieces(&paths, 100000, how, TUNDISH_FAIL, 0);
	}
	td_paths_free(&paths);
	for (size_t i = 0; i < 3; i++) {
		unlink(list[i]);
		free((char *)list[i]);
	}
}

static void write_file(struct td_paths *paths, const struct td_buf *file)
{
	char path[200];
	snprintf(path, sizeof path, "%s/d.gz", folder); /* a notice once: it is not compressed */
	const char *list[] = { path };
	FILE *f = fopen(path, "we");
	assert_non_null(f);
	assert_int_equal(fwrite(file->data, 1, file->len, f), file->len);
	fclose(f);
	assert_int_equal(td_paths_find(paths, list, 1, NULL, NULL), 0);
}

static void remove_file(struct td_paths *paths)
{
	unlink(paths->paths[0]);
	td_paths_free(paths);
}

static void assert_same_bytes(const struct td_buf *file, uint64_t piece_bytes, uint64_t least_pieces)
{
	struct td_paths paths = { 0 };
	write_file(&paths, file);
	for (int how = LATER; how <= COUNT; how++) {
		assert_same_in_pieces(&paths, piece_bytes, how, TUNDISH_SKIP, least_pieces);
		assert_same_in_pieces(&paths, piece_bytes, how, TUNDISH_FAIL, 0);
	}
	remove_file(&paths);
}

/* Records that hold record files: what looks like a place to begin is none. */
static void test_nested(void **state)
{
	(void)state;
	struct td_buf inner = { 0 }, file = { 0 };
	for (size_t i = 0; i < 60; i++)
		add_frame(&inner, "some bytes of a record in a record", i % 35);
	for (size_t i = 0; i < 300; i++) {
		add_frame(&file, "plain", i % 6);
		add_frame(&file, inner.data, inner.len);
	}
	assert_same_bytes(&file, 10000, 30);
	/* with damage, the inner records are what is found */
	for (size_t i = 5000; i < file.len; i += 70001)
		file.data[i] ^= 1;
	assert_same_bytes(&file, 10000, 30);
	td_buf_free(&inner);
	td_buf_free(&file);
}

/* Pieces that a walk cuts, until it meets damage. */
static void test_walked(void **state)
{
	(void)state;
	struct td_buf file = { 0 };
	static uint8_t bytes[3000];
	for (size_t i = 0; i < 400; i++)
		add_frame(&file, bytes, sizeof bytes);
	file.data[50 * (sizeof bytes + TD_FRAME_EXTRA)] ^= 1;
	assert_same_bytes(&file, 10000, 90);
	td_buf_free(&file);
}

/* Long stretches of nothing, and an end in the middle of a record. */
static void test_gaps(void **state)
{
	(void)state;
	struct td_buf file = { 0 };
	static uint8_t bytes[1200000];
	for (size_t i = 0; i < 1500; i++)
		add_frame(&file, bytes, i % 300);
	assert_true(td_buf_add(&file, bytes, sizeof bytes));
	for (size_t i = 0; i < 1500; i++)
		add_frame(&file, bytes, i % 300);
	add_frame(&file, bytes, 300000);
	file.len -= 1000;
	assert_same_bytes(&file, 100000, 4);
	td_buf_free(&file);
}

/* Forged headers cost more checks in vain than are granted, before records in later pieces.
 * That is 256 MiB each time. */
static void test_forged(void **state)
{
	(void)state;
	struct td_buf file = { 0 };
	static uint8_t bytes[1 << 20];
	for (size_t i = 0; i < 3; i++) {
		uint8_t header[TD_FRAME_HEADER];
		td_frame_header(header, (1 << 20) - i);
		for (size_t k = 0; k < 100; k++)
			add_frame(&file, bytes, 40 + k % 9);
		for (size_t k = 0; k < 90; k++)
			assert_true(td_buf_add(&file, header, sizeof header));
	}
	for (size_t k = 0; k < 3; k++)
		add_frame(&file, bytes, sizeof bytes);
	struct td_paths paths = { 0 };
	write_file(&paths, &file);
	struct found whole = pass(&paths, 1, UINT64_MAX / 4, COUNT, TUNDISH_SKIP);
	assert_same_cut(&paths, &whole, 3, 3000, COUNT, TUNDISH_SKIP, 4);
	td_buf_free(&whole.text);
	remove_file(&paths);
	td_buf_free(&file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pieces),
		cmocka_unit_test(test_nested),
		cmocka_unit_test(test_walked),
		cmocka_unit_test(test_gaps),
		cmocka_unit_test(test_forged),
	};
	if (!mkdtemp(folder))
		return 1;
	int rc = cmocka_run_group_tests(tests, NULL, NULL);
	rmdir(folder);
	return rc;
}
