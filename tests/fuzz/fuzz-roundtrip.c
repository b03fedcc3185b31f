/* SPDX-License-Identifier: BSD-2-Clause
 * What is written is read back, in each compression, level and cut into pieces. The
 * input: a byte for compression and level, then records of one length byte each. */
#include "fuzz.h"

#include "record/compress.h"
#include "record/frame.h"
#include "record/reader.h"

static void fault(void *ctx, const struct tundish_fault *f)
{
	(void)ctx, (void)f;
	MUST(!"a fault in a good file");
}

static void add(struct td_buf *b, const void *data, size_t bytes)
{
	MUST(td_buf_add(b, data, bytes));
}

/* The next record of the input; false at its end. */
static int next(const uint8_t **p, const uint8_t *end, size_t *ret_bytes)
{
	if (*p == end)
		return 0;
	*ret_bytes = TD_MIN((size_t)**p, (size_t)(end - *p - 1));
	++*p;
	return 1;
}

static void write_all(struct td_buf *file, const uint8_t *p, const uint8_t *end, int compression,
    int level)
{
	struct td_compressed done = TD_COMPRESSED_INIT;
	struct td_buf frames = { 0 };
	uint32_t adler;
	size_t bytes;
	MUST(td_compress_head(file, compression, level, NULL) == 0);
	for (unsigned i = 0; next(&p, end, &bytes); i++, p += bytes) {
		uint8_t header[TD_FRAME_HEADER], footer[TD_FRAME_FOOTER];
		td_frame_header(header, bytes);
		td_frame_footer(footer, p, bytes);
		add(&frames, header, sizeof header);
		add(&frames, p, bytes);
		add(&frames, footer, sizeof footer);
		if (i % 3 != 2 && p + bytes != end)
			continue;
		MUST(td_compress_piece(file, compression, level, frames.data, frames.len, &adler, NULL) == 0);
		td_compress_note(&done, adler, frames.len);
		frames.len = 0;
	}
	MUST(frames.len == 0);
	MUST(td_compress_tail(file, compression, level, &done, NULL) == 0);
	td_buf_free(&frames);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	if (len == 0)
		return 0;
	struct tundish_reader_options o;
	struct tundish_reader *r;
	struct tundish_record record;
	struct td_buf file = { 0 };
	int compression = data[0] & 3, level = (data[0] >> 2) % 10;
	const uint8_t *p = data + 1, *end = data + len;
	write_all(&file, p, end, compression, level);
	tundish_reader_options_init(&o);
	o.listener.fault = fault;
	MUST(td_reader_open_memory(&r, file.data, file.len, data[0] >> 7, &o, NULL) == 0);
	for (size_t bytes; next(&p, end, &bytes); p += bytes) {
		MUST(tundish_reader_next(r, &record, NULL) == 1);
		MUST(record.bytes == bytes && !memcmp(record.data, p, bytes));
	}
	MUST(tundish_reader_next(r, &record, NULL) == 0);
	tundish_reader_close(r);
	td_buf_free(&file);
	return 0;
}
