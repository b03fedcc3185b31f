/* SPDX-License-Identifier: BSD-2-Clause
 * Compression of record files in pieces that do not need each other, so that they
 * can be made in parallel: the file is the head, the pieces in order, and the tail.
 *
 * A piece holds whole frames: it ends with the first record that brings it to
 * TD_PIECE_BYTES of payload. So the file depends on the records alone. GZIP pieces
 * are members; ZLIB pieces end with a full flush; SNAPPY pieces are blocks.
 */
#pragma once
#include "base/buf.h"
#include "tundish.h"

#define TD_PIECE_BYTES ((uint64_t)1 << 20)

/* What the tail needs to know of the pieces. */
struct td_compressed {
	uint64_t pieces;
	uint32_t adler; /* of all that went in, for ZLIB */
};
#define TD_COMPRESSED_INIT { .adler = 1 }

/* USAGE when there is no such compression or level, MODULE without snappy. Level 0 is
 * the default: ISA-L's deflate, or for GZIP libdeflate's where that makes clearly less of it
 * (about zlib's level 6 in size, several times as fast), and pieces that hardly shrink are
 * stored; 1 to 9 are zlib's. */
int td_compress_check(int compression, int level, struct tundish_error *e);

/* Appends the head of a file. */
int td_compress_head(struct td_buf *out, int compression, int level, struct tundish_error *e);
/* Appends a piece made of `bytes` bytes of frames, and says what it adds. Any thread. */
int td_compress_piece(struct td_buf *out, int compression, int level, const void *data,
    size_t bytes, uint32_t *ret_adler, struct tundish_error *e);
/* Notes a piece of `bytes` bytes (before compression); pieces in order. */
void td_compress_note(struct td_compressed *c, uint32_t adler, uint64_t bytes);
/* Appends the tail of a file. */
int td_compress_tail(struct td_buf *out, int compression, int level, const struct td_compressed *c,
    struct tundish_error *e);
