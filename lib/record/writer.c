/* SPDX-License-Identifier: BSD-2-Clause
 * Writing a record file, through a temporary name. */
#include <stdlib.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/outfile.h"
#include "compress.h"
#include "frame.h"

#define FLUSH_BYTES ((size_t)1 << 20)

struct tundish_writer {
	struct td_outfile out;
	int compression, level;
	struct td_buf buf;     /* frames of the piece */
	uint64_t payload;      /* bytes of records in it */
	struct td_buf packed;
	struct td_compressed done;
	struct tundish_error error; /* sticky */
};

int tundish_writer_open(struct tundish_writer **ret_writer, const char *path, int compression,
    int level, struct tundish_error *ret_error)
{
	int rc = td_compress_check(compression, level, ret_error);
	if (rc < 0)
		return rc;
	struct tundish_writer *w = calloc(1, sizeof *w);
	if (!w)
		return td_err_memory(ret_error);
	*w = (struct tundish_writer){
		.out.fd = -1,
		.compression = compression,
		.level = level,
		.done = TD_COMPRESSED_INIT,
	};
	rc = td_outfile_open(&w->out, path, ret_error);
	if (rc == 0)
		rc = td_compress_head(&w->packed, compression, level, ret_error);
	if (rc < 0) {
		tundish_writer_abort(w);
		return rc;
	}
	*ret_writer = w;
	return 0;
}

static int write_buf(struct tundish_writer *w, struct td_buf *b)
{
	int rc = td_outfile_write(&w->out, b->data, b->len, &w->error);
	b->len = 0;
	return rc;
}

/* ---- uncompressed: small pieces are gathered, large ones go straight to the file ---- */

static int put(struct tundish_writer *w, const void *data, size_t bytes)
{
	int rc = w->buf.len + bytes > FLUSH_BYTES ? write_buf(w, &w->buf) : 0;
	if (rc < 0)
		return rc;
	if (bytes > FLUSH_BYTES / 4)
		return (rc = write_buf(w, &w->buf)) < 0 ?
			   rc :
			   td_outfile_write(&w->out, data, bytes, &w->error);
	return td_buf_add(&w->buf, data, bytes) ? 0 : td_err_memory(&w->error);
}

/* ---- compressed ---- */

static int flush_piece(struct tundish_writer *w)
{
	uint32_t adler;
	int rc = td_compress_piece(&w->packed, w->compression, w->level, w->buf.data, w->buf.len,
	    &adler, &w->error);
	if (rc < 0)
		return rc;
	td_compress_note(&w->done, adler, w->buf.len);
	w->buf.len = 0;
	w->payload = 0;
	return write_buf(w, &w->packed);
}

static int gather(struct tundish_writer *w, const void *data, size_t bytes)
{
	return td_buf_add(&w->buf, data, bytes) ? 0 : td_err_memory(&w->error);
}

int tundish_writer_append(struct tundish_writer *writer, const void *data, uint64_t bytes,
    struct tundish_error *ret_error)
{
	struct tundish_writer *w = writer;
	bool plain = w->compression == TUNDISH_NONE;
	int (*out)(struct tundish_writer *, const void *, size_t) = plain ? put : gather;
	uint8_t header[TD_FRAME_HEADER], footer[TD_FRAME_FOOTER];
	if (w->error.code == 0) {
		td_frame_header(header, bytes);
		td_frame_footer(footer, data, bytes);
		w->payload += bytes;
		if (out(w, header, sizeof header) == 0 && out(w, data, bytes) == 0 &&
		    out(w, footer, sizeof footer) == 0 && !plain && w->payload >= TD_PIECE_BYTES)
			flush_piece(w);
	}
	if (w->error.code != 0 && ret_error)
		*ret_error = w->error;
	return w->error.code;
}

static int finish(struct tundish_writer *w)
{
	int rc = w->error.code;
	if (rc == 0 && w->compression == TUNDISH_NONE)
		return write_buf(w, &w->buf);
	if (rc == 0 && w->buf.len > 0)
		rc = flush_piece(w);
	if (rc == 0)
		rc = td_compress_tail(&w->packed, w->compression, w->level, &w->done, &w->error);
	return rc < 0 ? rc : write_buf(w, &w->packed);
}

int tundish_writer_close(struct tundish_writer *writer, struct tundish_error *ret_error)
{
	int rc = finish(writer);
	if (rc < 0 && ret_error)
		*ret_error = writer->error;
	if (rc == 0)
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
	td_buf_free(&writer->packed);
	free(writer);
}
