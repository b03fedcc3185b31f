/* SPDX-License-Identifier: BSD-2-Clause
 * Writing a record file, through a temporary name. */
#include <stdlib.h>

#include "base/buf.h"
#include "base/err.h"
#include "frame.h"
#include "base/outfile.h"

#define FLUSH_BYTES ((size_t)1 << 20)

struct tundish_writer {
	struct td_outfile out;
	struct td_buf buf;
	struct tundish_error error; /* sticky */
};

int tundish_writer_open(struct tundish_writer **ret_writer, const char *path, int compression,
    int level, struct tundish_error *ret_error)
{
	struct tundish_writer *w;
	if (compression != TUNDISH_NONE || level < 0 || level > 9)
		return td_err(ret_error, TUNDISH_E_USAGE, "no such compression or level: %d, %d",
		    compression, level);
	w = calloc(1, sizeof *w);
	if (!w || !td_buf_reserve(&w->buf, FLUSH_BYTES)) {
		free(w);
		return td_err_memory(ret_error);
	}
	int rc = td_outfile_open(&w->out, path, ret_error);
	if (rc < 0) {
		td_buf_free(&w->buf);
		free(w);
		return rc;
	}
	*ret_writer = w;
	return 0;
}

static int flush(struct tundish_writer *w)
{
	int rc = td_outfile_write(&w->out, w->buf.data, w->buf.len, &w->error);
	w->buf.len = 0;
	return rc;
}

/* Small pieces are gathered, large ones go straight to the file. */
static int put(struct tundish_writer *w, const void *data, size_t bytes)
{
	int rc = w->buf.len + bytes > FLUSH_BYTES ? flush(w) : 0;
	if (rc < 0)
		return rc;
	if (bytes > FLUSH_BYTES / 4)
		return (rc = flush(w)) < 0 ? rc : td_outfile_write(&w->out, data, bytes, &w->error);
	return td_buf_add(&w->buf, data, bytes) ? 0 : td_err_memory(&w->error);
}

int tundish_writer_append(struct tundish_writer *writer, const void *data, uint64_t bytes,
    struct tundish_error *ret_error)
{
	uint8_t header[TD_FRAME_HEADER], footer[TD_FRAME_FOOTER];
	if (writer->error.code == 0) {
		td_frame_header(header, bytes);
		td_frame_footer(footer, data, bytes);
		if (put(writer, header, sizeof header) == 0 && put(writer, data, bytes) == 0)
			put(writer, footer, sizeof footer);
	}
	if (writer->error.code != 0 && ret_error)
		*ret_error = writer->error;
	return writer->error.code;
}

int tundish_writer_close(struct tundish_writer *writer, struct tundish_error *ret_error)
{
	int rc = writer->error.code;
	if (rc == 0)
		rc = flush(writer);
	if (rc < 0) {
		if (ret_error)
			*ret_error = writer->error;
		tundish_writer_abort(writer);
		return rc;
	}
	rc = td_outfile_commit(&writer->out, ret_error);
	tundish_writer_abort(writer);
	return rc;
}

void tundish_writer_abort(struct tundish_writer *writer)
{
	if (!writer)
		return;
	td_outfile_abort(&writer->out);
	td_buf_free(&writer->buf);
	free(writer);
}
