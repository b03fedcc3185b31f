/* SPDX-License-Identifier: BSD-2-Clause
 * Compression of record files in pieces that do not need each other. */
#include "compress.h"

#include <isa-l/crc.h>
#include <isa-l/igzip_lib.h>
#ifdef TD_HAVE_LIBDEFLATE
#include <libdeflate.h>
#endif
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/bits.h"
#include "base/err.h"
#include "snappy.h"

#define ISAL_LEVEL 2
#define ISAL_BUFFER ISAL_DEF_LVL2_DEFAULT
#define STORED_MOST 65535  /* bytes in a block */
#define LEAST_SAVED 32 /* less than this part is not worth its time */
/*
 * What is tried on parts of a piece, evenly spread: ISA-L, and libdeflate at a level that comes near zlib's 6.
 * From ISA-L's size in parts of that one's it follows who makes the piece. The figures were chosen
 * on the kinds of data that scripts/peers/payloads.py makes: within 8 % of zlib's size, and at
 * least three times as fast.
 */
#define PROBES 4
#define PROBE ((size_t)7 << 10)
#define LEVEL_PROBED 5
#define ISAL_ENOUGH 1.05
/* What shrinks little takes libdeflate longest, in vain but for the fastest level. */
#define LITTLE 0.8
#define LITTLE_ENOUGH 1.08
#define LEVEL_LITTLE 1
#define LEVEL_USUAL 4
/* What shrinks to less than this part is long runs: there the better search is as fast. */
#define MUCH 0.0625
#define STEP ((size_t)1 << 30) /* both libraries count in 32 bits */

int td_compress_check(int compression, int level, struct tundish_error *e)
{
	if (compression < TUNDISH_NONE || compression > TUNDISH_SNAPPY)
		return td_err(e, TUNDISH_E_USAGE, "no such compression: %d", compression);
	if (level < 0 || level > 9)
		return td_err(e, TUNDISH_E_USAGE, "compression level %d: 1 to 9, or 0 for the default",
		    level);
	if (compression == TUNDISH_SNAPPY && !td_snappy_built())
		return td_err(e, TUNDISH_E_MODULE, "this build writes no snappy compression (package "
		    "libsnappy-dev was missing)");
	return 0;
}

/* Room for what `bytes` bytes may become at worst. The space that a library is told of
 * depends on nothing else: ISA-L's choice of blocks depends on it. */
static uint8_t *room(struct td_buf *out, size_t bytes, uint32_t *ret_avail)
{
	size_t most = bytes + bytes / 8 + 65536;
	if (!td_buf_reserve(out, most))
		return NULL;
	*ret_avail = (uint32_t)most;
	return out->data + out->len;
}

/* ---- ISA-L ---- */

struct isal {
	struct isal_zstream stream;
	uint8_t buffer[ISAL_BUFFER];
};

static int isal_piece(struct td_buf *out, bool gzip, const uint8_t *data, size_t bytes,
    struct tundish_error *e)
{
	/* cleared: what comes out must not hang on what the memory held before */
	struct isal *s = calloc(1, sizeof *s);
	if (!s)
		return td_err_memory(e);
	isal_deflate_init(&s->stream);
	s->stream.level = ISAL_LEVEL;
	s->stream.level_buf = s->buffer;
	s->stream.level_buf_size = sizeof s->buffer;
	s->stream.gzip_flag = gzip ? IGZIP_GZIP : IGZIP_DEFLATE;
	s->stream.next_in = (uint8_t *)data;
	int rc = 0;
	do {
		size_t n = TD_MIN(bytes, STEP);
		bool last = n == bytes;
		s->stream.avail_in = (uint32_t)n;
		s->stream.end_of_stream = gzip && last;
		s->stream.flush = !gzip && last ? FULL_FLUSH : NO_FLUSH;
		bytes -= n;
		do {
			uint32_t avail = 0;
			s->stream.next_out = room(out, n, &avail);
			s->stream.avail_out = avail;
			if (!s->stream.next_out)
				rc = td_err_memory(e);
			else if (isal_deflate(&s->stream) != COMP_OK)
				rc = td_err(e, TUNDISH_E_INVALID, "ISA-L's deflate failed");
			else
				out->len += avail - s->stream.avail_out;
		} while (rc == 0 && s->stream.avail_out == 0);
	} while (rc == 0 && bytes > 0);
	free(s);
	return rc;
}

/* ---- stored ---- */

/* The bytes as they are, in deflate's own frame: they inflate at the speed of a copy. */
static int stored_piece(struct td_buf *out, bool gzip, const uint8_t *data, size_t bytes,
    struct tundish_error *e)
{
	static const uint8_t head[10] = { 0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff };
	if (!td_buf_reserve(out, sizeof head + bytes + (bytes / STORED_MOST + 2) * 5 + 8))
		return td_err_memory(e);
	uint8_t *at = out->data + out->len;
	const uint8_t *end = data + bytes, *p = data;
	if (gzip)
		at = mempcpy(at, head, sizeof head);
	while (p < end) {
		size_t n = TD_MIN((size_t)(end - p), (size_t)STORED_MOST);
		*at++ = gzip && n == (size_t)(end - p);
		td_put_le16(at, (uint16_t)n);
		td_put_le16(at + 2, (uint16_t)~n);
		at = mempcpy(at + 4, p, n);
		p += n;
	}
	if (gzip) {
		td_put_le32(at, crc32_gzip_refl(0, data, bytes));
		td_put_le32(at + 4, (uint32_t)bytes);
		at += 8;
	} else {
		/* an empty block, as a full flush leaves it */
		at = mempcpy(at, "\0\0\0\xff\xff", 5);
	}
	out->len = (size_t)(at - out->data);
	return 0;
}

/* ---- the default ---- */

static bool hardly_shrinks(size_t before, size_t after)
{
	return after > before - before / LEAST_SAVED;
}

/* Members only: libdeflate ends a stream, it does not flush one. Level 0 is ISA-L. */
static int deflate_piece(struct td_buf *out, int level, const uint8_t *data, size_t bytes,
    struct tundish_error *e)
{
#ifdef TD_HAVE_LIBDEFLATE
	if (level == 0)
		return isal_piece(out, true, data, bytes, e);
	struct libdeflate_compressor *c = libdeflate_alloc_compressor(level);
	size_t most = c ? libdeflate_gzip_compress_bound(c, bytes) : 0;
	bool ok = c && td_buf_reserve(out, most);
	if (ok)
		out->len += libdeflate_gzip_compress(c, data, bytes, out->data + out->len, most);
	libdeflate_free_compressor(c);
	return ok ? 0 : td_err_memory(e);
#else
	(void)level;
	return isal_piece(out, true, data, bytes, e);
#endif
}

static int level_by(size_t bytes, size_t quick, size_t longer)
{
	double times = (double)quick / (double)longer, left = (double)longer / (double)bytes;
	if (times <= ISAL_ENOUGH)
		return 0;
	if (left < MUCH)
		return LEVEL_PROBED;
	return left > LITTLE && times <= LITTLE_ENOUGH ? LEVEL_LITTLE : LEVEL_USUAL;
}

/* Which level parts of a piece ask for; or an error. */
static int choose_level(const uint8_t *data, size_t bytes, struct tundish_error *e)
{
	uint8_t probe[PROBES * PROBE];
	size_t n = TD_MIN(bytes, sizeof probe);
	struct td_buf quick = { 0 }, longer = { 0 };
	for (size_t i = 0; i < PROBES && n < bytes; i++)
		memcpy(probe + i * PROBE, data + (bytes - PROBE) / (PROBES - 1) * i, PROBE);
	data = n < bytes ? probe : data;
	int rc = deflate_piece(&quick, 0, data, n, e);
	if (rc == 0 && !hardly_shrinks(n, quick.len)) {
		rc = deflate_piece(&longer, LEVEL_PROBED, data, n, e);
		rc = rc == 0 ? level_by(n, quick.len, longer.len) : rc;
	}
	td_buf_free(&quick);
	td_buf_free(&longer);
	return rc;
}

/* About zlib's level 6 in size, several times as fast. What hardly shrinks is stored. */
static int default_piece(struct td_buf *out, bool gzip, const uint8_t *data, size_t bytes,
    struct tundish_error *e)
{
	size_t before = out->len;
	int rc = gzip ? choose_level(data, bytes, e) : 0;
	if (rc >= 0)
		rc = rc ? deflate_piece(out, rc, data, bytes, e) : isal_piece(out, gzip, data, bytes, e);
	if (rc < 0 || bytes == 0 || !hardly_shrinks(bytes, out->len - before))
		return rc;
	out->len = before;
	return stored_piece(out, gzip, data, bytes, e);
}

/* ---- zlib ---- */

static int zlib_piece(struct td_buf *out, bool gzip, int level, const uint8_t *data, size_t bytes,
    struct tundish_error *e)
{
	z_stream s = { .next_in = (uint8_t *)data };
	if (deflateInit2(&s, level, Z_DEFLATED, gzip ? 15 + 16 : -15, 9, Z_DEFAULT_STRATEGY) != Z_OK)
		return td_err_memory(e);
	int rc = 0;
	do {
		size_t n = TD_MIN(bytes, STEP);
		int flush = n < bytes ? Z_NO_FLUSH : gzip ? Z_FINISH : Z_FULL_FLUSH;
		s.avail_in = (uint32_t)n;
		bytes -= n;
		do {
			uint32_t avail = 0;
			s.next_out = room(out, n, &avail);
			s.avail_out = avail;
			if (!s.next_out)
				rc = td_err_memory(e);
			else
				deflate(&s, flush);
			out->len += rc == 0 ? avail - s.avail_out : 0;
		} while (rc == 0 && s.avail_out == 0);
	} while (rc == 0 && bytes > 0);
	deflateEnd(&s);
	return rc;
}

/* ---- pieces ---- */

static int add(struct td_buf *out, const void *data, size_t bytes, struct tundish_error *e)
{
	return td_buf_add(out, data, bytes) ? 0 : td_err_memory(e);
}

int td_compress_head(struct td_buf *out, int compression, int level, struct tundish_error *e)
{
	/* 32 KiB window; the second byte tells the level and makes the sum fit */
	static const uint8_t fast[] = { 0x78, 0x01 }, usual[] = { 0x78, 0x9c }, best[] = { 0x78, 0xda };
	if (compression != TUNDISH_ZLIB)
		return 0;
	return add(out, level == 0 || level == 6 ? usual : level < 6 ? fast : best, 2, e);
}

int td_compress_piece(struct td_buf *out, int compression, int level, const void *data,
    size_t bytes, uint32_t *ret_adler, struct tundish_error *e)
{
	bool gzip = compression == TUNDISH_GZIP;
	int rc;
	if (compression == TUNDISH_NONE)
		rc = add(out, data, bytes, e);
	else if (compression == TUNDISH_SNAPPY)
		rc = td_snappy_encode(out, data, bytes, e);
	else if (level == 0)
		rc = default_piece(out, gzip, data, bytes, e);
	else
		rc = zlib_piece(out, gzip, level, data, bytes, e);
	if (rc == 0)
		*ret_adler = compression == TUNDISH_ZLIB ? (uint32_t)adler32_z(1, data, bytes) : 1;
	return rc;
}

void td_compress_note(struct td_compressed *c, uint32_t adler, uint64_t bytes)
{
	c->pieces++;
	c->adler = (uint32_t)adler32_combine(c->adler, adler, (z_off_t)bytes);
}

int td_compress_tail(struct td_buf *out, int compression, int level, const struct td_compressed *c,
    struct tundish_error *e)
{
	/* an empty last block, and the checksum */
	uint8_t end[6] = { 0x03, 0x00 };
	uint32_t adler;
	/* a file without records is an empty member, as TensorFlow writes it */
	if (compression == TUNDISH_GZIP && c->pieces == 0)
		return td_compress_piece(out, compression, level, "", 0, &adler, e);
	if (compression != TUNDISH_ZLIB)
		return 0;
	td_put_be32(end + 2, c->adler);
	return add(out, end, sizeof end, e);
}
