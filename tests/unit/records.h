/* SPDX-License-Identifier: BSD-2-Clause
 * For tests of the record layer: a whole file read into memory, records and faults. */
#pragma once
#include "base/buf.h"
#include "record/frame.h"
#include "record/reader.h"
#include "unit.h"

#define RECORDS_MAX 512
#define FAULTS_MAX 64 /* that are kept one by one */

struct named {
	int64_t record, offset;
	uint64_t passed;
	int code;
	size_t before; /* the record that came out next */
	char reason[160];
};

struct read {
	struct tundish_reader_options o;
	struct td_buf data[RECORDS_MAX];
	uint64_t number[RECORDS_MAX], offset[RECORDS_MAX];
	size_t n;
	struct td_buf faults;  /* each line: text */
	struct td_buf notices;
	unsigned n_faults;
	struct named named[FAULTS_MAX];
	uint64_t passed;
	int compression;
	struct tundish_error e;
	int rc; /* of the last call */
};

static inline void on_fault(void *data, const struct tundish_fault *f)
{
	struct read *r = data;
	const char *slash = strrchr(f->text, '/');
	assert_true(td_buf_printf(&r->faults, "%s\n", slash ? slash + 1 : f->text));
	if (r->n_faults < FAULTS_MAX) {
		struct named *named = &r->named[r->n_faults];
		*named = (struct named){ f->record, f->offset, f->passed_bytes, f->code, r->n, "" };
		snprintf(named->reason, sizeof named->reason, "%s", f->reason);
	}
	r->n_faults++;
	r->passed += f->passed_bytes;
}

static inline void on_notice(void *data, const char *text)
{
	struct read *r = data;
	assert_true(td_buf_printf(&r->notices, "%s\n", text));
}

static inline void read_start(struct read *r)
{
	memset(r, 0, sizeof *r);
	tundish_reader_options_init(&r->o);
	r->o.listener = (struct tundish_listener){ r, on_fault, on_notice, NULL, NULL };
	assert_true(td_buf_printf(&r->faults, "%s", ""));
	assert_true(td_buf_printf(&r->notices, "%s", ""));
}

static inline void read_rest(struct read *r, struct tundish_reader *reader)
{
	struct tundish_record record;
	r->compression = tundish_reader_compression(reader);
	while ((r->rc = tundish_reader_next(reader, &record, &r->e)) == 1) {
		assert_in_range(r->n, 0, RECORDS_MAX - 1);
		assert_true(td_buf_add(&r->data[r->n], record.data, record.bytes));
		r->number[r->n] = record.number;
		r->offset[r->n++] = record.offset;
	}
	tundish_reader_close(reader);
}

static inline void read_path(struct read *r, const char *path)
{
	struct tundish_reader *reader;
	r->rc = tundish_reader_open(&reader, path, &r->o, &r->e);
	if (r->rc == 0)
		read_rest(r, reader);
}

static inline void read_memory(struct read *r, const void *data, size_t bytes, int stream)
{
	struct tundish_reader *reader;
	r->rc = td_reader_open_memory(&reader, data, bytes, stream, &r->o, &r->e);
	if (r->rc == 0)
		read_rest(r, reader);
}

static inline void read_free(struct read *r)
{
	for (size_t i = 0; i < r->n; i++)
		td_buf_free(&r->data[i]);
	td_buf_free(&r->faults);
	td_buf_free(&r->notices);
}

static inline void add_frame(struct td_buf *file, const void *data, size_t bytes)
{
	uint8_t header[TD_FRAME_HEADER], footer[TD_FRAME_FOOTER];
	td_frame_header(header, bytes);
	td_frame_footer(footer, data, bytes);
	assert_true(td_buf_add(file, header, sizeof header));
	assert_true(td_buf_add(file, data, bytes));
	assert_true(td_buf_add(file, footer, sizeof footer));
}

#define FAULTS(r) ((const char *)(r)->faults.data)
#define NOTICES(r) ((const char *)(r)->notices.data)

static inline void assert_same_record(const struct read *a, size_t i, const struct read *b, size_t j)
{
	assert_int_equal(a->data[i].len, b->data[j].len);
	if (a->data[i].len)
		assert_memory_equal(a->data[i].data, b->data[j].data, a->data[i].len);
}
