/* SPDX-License-Identifier: BSD-2-Clause */
#include "unit.h"

#include <unistd.h>

#include "base/buf.h"
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
	uint64_t records, faults, pieces;
};

static void hear(void *data, const struct tundish_fault *f)
{
	assert_true(td_buf_printf(&((struct found *)data)->text, "%s\n", f->text));
}

static int look(void *ctx, struct td_scan_job *job, const struct tundish_record *r,
    struct tundish_error *e)
{
	(void)ctx;
	uint64_t *sum = job->part;
	*sum += r->number * 31 + r->offset + r->bytes;
	return r->number == 1234 ? td_scan_bad(job, r, TUNDISH_E_SCHEMA, e, "odd") : 0;
}

static int merge(void *ctx, struct td_scan_job *job, struct tundish_error *e)
{
	(void)e;
	struct found *found = ctx;
	uint64_t *sum = job->part;
	found->records += job->file.records;
	found->faults += job->file.faults;
	found->pieces++;
	assert_true(td_buf_printf(&found->text, "%s", ""));
	/* sums of pieces add up to that of the file */
	if (td_scan_last(job))
		assert_true(td_buf_printf(&found->text, "%d\n", (int)job->file.number));
	found->records += *sum << 20;
	*sum = 0;
	return 0;
}

static struct found pass(const struct td_paths *paths, unsigned threads, uint64_t piece_bytes, int on_error,
    int want)
{
	struct found found = { 0 };
	const struct tundish_listener l = { .data = &found, .fault = hear };
	const struct td_scan scan = { .paths = paths, .compression = TUNDISH_AUTO,
		.on_error = on_error, .threads = threads, .max_record_bytes = 1 << 20,
		.piece_bytes = piece_bytes, .listener = &l, .ctx = &found,
		.part_bytes = sizeof(uint64_t), .record = look, .merge = merge };
	assert_int_equal(td_scan_run(&scan, NULL), want);
	return found;
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
	spoil(list[2], starts[2000]); /* a length: not cut behind it */
	spoil(list[2], starts[2500] + 14);
	assert_int_equal(td_paths_find(&paths, list, 3, NULL, NULL), 0);
	struct found whole = pass(&paths, 1, UINT64_MAX / 4, TUNDISH_SKIP, 0);
	assert_int_equal(whole.pieces, 3);
	assert_int_equal(whole.faults, 30 + 2 + 3);
	static const unsigned threads[] = { 1, 2, 3, 8, 99 };
	for (size_t i = 0; i < 5; i++) {
		struct found cut = pass(&paths, threads[i], 100000, TUNDISH_SKIP, 0);
		assert_true(cut.pieces > 100);
		assert_int_equal(cut.records, whole.records);
		assert_int_equal(cut.faults, whole.faults);
		assert_string_equal(cut.text.data, whole.text.data);
		td_buf_free(&cut.text);
		struct found stopped = pass(&paths, threads[i], 100000, TUNDISH_FAIL, TUNDISH_E_SCHEMA);
		assert_int_equal(stopped.faults, 0);
		td_buf_free(&stopped.text);
	}
	td_buf_free(&whole.text);
	td_paths_free(&paths);
	for (size_t i = 0; i < 3; i++) {
		unlink(list[i]);
		free((char *)list[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pieces),
	};
	if (!mkdtemp(folder))
		return 1;
	int rc = cmocka_run_group_tests(tests, NULL, NULL);
	rmdir(folder);
	return rc;
}
