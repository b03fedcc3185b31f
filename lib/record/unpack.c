/* SPDX-License-Identifier: BSD-2-Clause
 * Decompression of record files, and the way past damaged pieces of them. */
#include "unpack.h"

#include <stdlib.h>
#include <string.h>

#include "ahead.h"
#include "base/bits.h"
#include "base/err.h"
#include "frame.h"
#include "inflate.h"
#include "snappy.h"

#define CHUNK TD_WINDOW_MIN
#define MEMBER_STEP ((uint64_t)256 << 10)
/* Bytes that may be decompressed in vain before the search for the next piece goes
 * forward only: hostile files must not cost a square of their size. */
#define VAIN_BYTES ((uint64_t)256 << 20)
#define VAIN_FACTOR 64

struct td_unpack {
	int compression;
	struct td_window *raw;
	bool over;	       /* nothing more will come */
	struct td_break broken;/* to be told when what was read before is gone */
	/* gzip and zlib */
	bool inside;	       /* a member */
	bool any;	       /* a member was met */
	bool bare;	       /* what comes is deflate data without a header, behind a full flush */
	uint64_t start;	       /* of the member in raw */
	uint64_t made;	       /* bytes of the member */
	uint64_t vain;
	uint64_t out;	       /* decompressed bytes in all */
	struct inflate_state *inflate;
	struct td_ahead *ahead;
	const uint8_t *ready;  /* what is left of a member that was inflated ahead */
	size_t ready_bytes;
	bool note;
	struct td_member *members;
	size_t n_members, members_cap;
	/* snappy */
	struct td_buf block;
	size_t block_at;
};

static const char *const early = "compressed data ends early";

static ssize_t stop(struct td_unpack *u, int code, const char *text)
{
	u->broken = (struct td_break){ code, text };
	return 0;
}

/* ---- gzip and zlib ---- */

const uint8_t *td_gzip_find(const uint8_t *p, size_t bytes)
{
	for (const uint8_t *end = p + bytes; end - p >= 4; p++) {
		p = memchr(p, 0x1f, (size_t)(end - p) - 3);
		if (!p || td_gzip_header(p))
			return p;
	}
	return NULL;
}

static bool zlib_header(const uint8_t *p)
{
	return (p[0] & 15) == 8 && p[0] >> 4 <= 7 && (p[0] << 8 | p[1]) % 31 == 0 && !(p[1] & 0x20);
}

static bool member_here(const struct td_unpack *u)
{
	size_t n = td_window_have(u->raw);
	const uint8_t *p = td_window_here(u->raw);
	return u->compression == TUNDISH_GZIP ? n >= 4 && td_gzip_header(p) : n >= 2 && zlib_header(p);
}

/* Moves raw to the next gzip header, or to the end. */
static int find_member(struct td_unpack *u, struct tundish_error *e)
{
	struct td_window *raw = u->raw;
	for (;;) {
		int rc = td_window_fill(raw, 4, CHUNK, e);
		if (rc < 0)
			return rc;
		const uint8_t *p = td_window_here(raw);
		size_t n = td_window_have(raw);
		const uint8_t *found = n < 4 ? NULL : td_gzip_find(p, n);
		if (found) {
			raw->at += (size_t)(found - p);
			return 0;
		}
		raw->at += n < 4 ? n : n - 3;
		if (n < 4) {
			u->over = true;
			return 0;
		}
	}
}

/* Moves raw behind the next full flush of a zlib stream, where decompression can start
 * anew, or to the end. */
static int find_flush(struct td_unpack *u, struct tundish_error *e)
{
	struct td_window *raw = u->raw;
	for (;;) {
		int rc = td_window_fill(raw, 4, CHUNK, e);
		if (rc < 0)
			return rc;
		size_t n = td_window_have(raw);
		const uint8_t *here = td_window_here(raw);
		const uint8_t *found = n < 4 ? NULL : memmem(here, n, "\0\0\xff\xff", 4);
		u->bare = found;
		u->over = !found && n < 4;
		raw->at += found ? (size_t)(found + 4 - here) : n - TD_MIN(n, (size_t)3);
		if (u->bare || u->over)
			return 0;
	}
}

/* Past a broken member: the next one may begin anywhere behind its first byte, for a
 * broken one can swallow the next. */
static int pass_member(struct td_unpack *u, struct tundish_error *e)
{
	struct td_window *raw = u->raw;
	u->inside = false;
	u->vain += u->made;
	/* never back: what lies there may have been delivered */
	if (u->compression == TUNDISH_ZLIB)
		return find_flush(u, e);
	uint64_t from = u->start + 1;
	if (u->vain <= VAIN_BYTES + VAIN_FACTOR * u->start) {
		if (from >= raw->base)
			raw->at = (size_t)(from - raw->base);
		else if (raw->size != TD_SIZE_UNKNOWN)
			td_window_forget(raw, from);
		else
			raw->at = 0;
	}
	return find_member(u, e);
}

/* The first is noted in any case: it is entered before anybody can ask. Members are a help, no
 * more: without memory for them it goes on. */
static void note_member(struct td_unpack *u)
{
	struct td_member *last = u->n_members ? u->members + u->n_members - 1 : NULL;
	/* members without bytes are passed over */
	if (last && last->out == u->out)
		last->raw = u->start;
	else if ((!last || (u->note && u->out >= last->out + MEMBER_STEP)) &&
		 td_grow(&u->members, &u->members_cap, u->n_members, sizeof *u->members))
		u->members[u->n_members++] = (struct td_member){ u->start, u->out };
}

/* Is the next member there already? */
static bool take_ahead(struct td_unpack *u)
{
	uint64_t at = td_window_offset(u->raw), end;
	if (!u->ahead || u->bare || !td_ahead_member(u->ahead, at, &u->ready, &u->ready_bytes, &end))
		return false;
	u->start = at;
	u->any = true;
	note_member(u);
	td_window_skip_to(u->raw, end);
	return true;
}

/* 1: inside a member, 0: at the end or before a break, or negative. */
static int enter_member(struct td_unpack *u, struct tundish_error *e)
{
	struct td_window *raw = u->raw;
	int rc = td_window_fill(raw, 4, CHUNK, e);
	if (rc < 0)
		return rc;
	if (td_window_have(raw) == 0 && u->any) {
		u->over = true;
		return 0;
	}
	u->start = td_window_offset(raw);
	u->made = 0;
	if (!u->bare && !member_here(u)) {
		stop(u, td_window_have(raw) < 4 ? TUNDISH_E_TRUNCATED : TUNDISH_E_CORRUPT,
		    u->any ? "no compressed data behind the last piece" : "no compressed data");
		return pass_member(u, e);
	}
	td_inflate_begin(u->inflate, u->bare ? ISAL_DEFLATE : u->compression == TUNDISH_GZIP ? ISAL_GZIP : ISAL_ZLIB);
	u->inside = u->any = true;
	note_member(u);
	return 1;
}

static int inflate_failed(struct td_unpack *u, int code, struct tundish_error *e)
{
	int rc;
	if (code != ISAL_INCORRECT_CHECKSUM) {
		stop(u, TUNDISH_E_CORRUPT, "compressed data is damaged");
		return pass_member(u, e);
	}
	stop(u, TUNDISH_E_CORRUPT, u->compression == TUNDISH_GZIP ? "gzip checksum mismatch" :
								   "zlib checksum mismatch");
	/* the trailer may be where the member does not really end */
	if ((rc = td_window_fill(u->raw, 4, CHUNK, e)) < 0)
		return rc;
	if (td_window_have(u->raw) > 0 && !member_here(u))
		return pass_member(u, e);
	u->inside = false;
	return 0;
}

/* Behind a member; a checksum over a part of the stream alone says nothing. */
static int leave_member(struct td_unpack *u, struct tundish_error *e)
{
	u->inside = false;
	if (!u->bare)
		return 0;
	u->bare = false;
	int rc = td_window_fill(u->raw, 4, CHUNK, e);
	u->raw->at += TD_MIN(td_window_have(u->raw), (size_t)4);
	return rc;
}

static size_t take_ready(struct td_unpack *u, void *out, size_t bytes)
{
	size_t n = TD_MIN(bytes, u->ready_bytes);
	if (n > 0)
		memcpy(out, u->ready, n);
	u->ready += n;
	u->ready_bytes -= n;
	return n;
}

static ssize_t inflate_read(struct td_unpack *u, void *out, size_t bytes, struct tundish_error *e)
{
	struct td_window *raw = u->raw;
	struct inflate_state *s = u->inflate;
	size_t n = 0;
	while (n == 0 && !u->broken.code && !u->over) {
		if (u->ready_bytes > 0 || (!u->inside && take_ahead(u))) {
			n = take_ready(u, out, bytes);
			continue;
		}
		int rc = u->inside ? 1 : enter_member(u, e);
		if (rc <= 0)
			return rc;
		rc = td_window_fill(raw, 1, CHUNK, e);
		if (rc < 0)
			return rc;
		bool no_input = td_window_have(raw) == 0;
		s->next_in = (uint8_t *)td_window_here(raw);
		s->avail_in = (uint32_t)TD_MIN(td_window_have(raw), (size_t)1 << 30);
		s->next_out = out;
		s->avail_out = (uint32_t)TD_MIN(bytes, (size_t)1 << 30);
		rc = isal_inflate(s);
		raw->at = (size_t)(s->next_in - raw->buf.data);
		n = (size_t)(s->next_out - (uint8_t *)out);
		u->made += n;
		if (rc != ISAL_DECOMP_OK)
			rc = inflate_failed(u, rc, e);
		else if (s->block_state == ISAL_BLOCK_FINISH)
			rc = leave_member(u, e);
		else if (no_input && n == 0) {
			stop(u, TUNDISH_E_TRUNCATED, early);
			rc = pass_member(u, e);
		}
		if (rc < 0)
			return rc;
	}
	return (ssize_t)n;
}

/* ---- snappy ---- */

/* Past a broken block: the next one if its length could be trusted, else the next
 * place where a whole good block lies. */
static int pass_block(struct td_unpack *u, uint64_t bytes, struct tundish_error *e)
{
	struct td_window *raw = u->raw;
	int rc = td_window_fill(raw, bytes + 4 + 10, CHUNK, e);
	if (rc < 0)
		return rc;
	size_t n = td_window_have(raw);
	if (bytes > 0 && (n == bytes || (n > bytes &&
	    td_snappy_plausible(td_window_here(raw) + bytes, n - bytes, td_window_rest(raw) - bytes)))) {
		raw->at += bytes;
		return 0;
	}
	for (raw->at++;; raw->at++) {
		if ((rc = td_window_fill(raw, 4 + 10, CHUNK, e)) < 0)
			return rc;
		n = td_window_have(raw);
		if (n < 5)
			break;
		uint64_t all = td_window_rest(raw), length = td_be32(td_window_here(raw));
		if (!td_snappy_plausible(td_window_here(raw), n, all) || length > TD_SNAPPY_SEARCH_MAX ||
		    u->vain + length > VAIN_BYTES + 4 * VAIN_FACTOR * td_window_offset(raw))
			continue;
		if ((rc = td_window_fill(raw, 4 + length, CHUNK, e)) < 0)
			return rc;
		if (td_window_have(raw) >= 4 + length &&
		    td_snappy_valid(td_window_here(raw) + 4, (size_t)length))
			return 0;
		u->vain += length;
	}
	raw->at = raw->buf.len;
	u->over = true;
	return 0;
}

/* Decodes the next block into u->block; of a broken one as much as can be had. */
static int next_block(struct td_unpack *u, struct tundish_error *e)
{
	struct td_window *raw = u->raw;
	int rc = td_window_fill(raw, 4, CHUNK, e);
	if (rc < 0)
		return rc;
	u->block.len = u->block_at = 0;
	size_t n = td_window_have(raw);
	if (n == 0) {
		u->over = true;
		return 0;
	}
	uint64_t length = n >= 4 ? td_be32(td_window_here(raw)) : 0, all = td_window_rest(raw);
	if (n < 4 || (all != TD_SIZE_UNKNOWN && length > all - 4))
		stop(u, TUNDISH_E_TRUNCATED, early);
	else if (length > TD_SNAPPY_BLOCK_MAX)
		stop(u, TUNDISH_E_CORRUPT, "snappy block of impossible size");
	bool wrong = u->broken.code != 0;
	uint64_t want = wrong ? TD_MIN(length, (uint64_t)TD_SNAPPY_SALVAGE_MAX / 16) : length;
	if ((rc = td_window_fill(raw, 4 + want, CHUNK, e)) < 0)
		return rc;
	n = td_window_have(raw);
	if (n < 4 + want && !wrong)
		stop(u, TUNDISH_E_TRUNCATED, early);
	size_t in = n < 4 ? 0 : (size_t)TD_MIN((uint64_t)n - 4, want);
	if ((rc = td_snappy_decode(&u->block, td_window_here(raw) + TD_MIN(n, (size_t)4), in, e)) < 0)
		return rc;
	if (rc == 0 && !u->broken.code)
		stop(u, TUNDISH_E_CORRUPT, "snappy block is damaged");
	if (u->broken.code)
		return pass_block(u, !wrong && in == length && n >= 4 ? 4 + length : 0, e);
	raw->at += 4 + (size_t)length;
	return 0;
}

static ssize_t snappy_read(struct td_unpack *u, void *out, size_t bytes, struct tundish_error *e)
{
	while (u->block_at == u->block.len && !u->broken.code && !u->over) {
		int rc = next_block(u, e);
		if (rc < 0)
			return rc;
	}
	size_t n = TD_MIN(bytes, u->block.len - u->block_at);
	if (n > 0)
		memcpy(out, u->block.data + u->block_at, n);
	u->block_at += n;
	return (ssize_t)n;
}

/* ---- all kinds ---- */

int td_unpack_open(struct td_unpack **ret, int compression, struct td_window *raw,
    unsigned threads, struct tundish_error *e)
{
	if (compression == TUNDISH_SNAPPY && !td_snappy_built())
		return td_err(e, TUNDISH_E_MODULE, "this build reads no snappy compression (package "
		    "libsnappy-dev was missing)");
	struct td_unpack *u = calloc(1, sizeof *u);
	if (!u)
		return td_err_memory(e);
	u->compression = compression;
	u->raw = raw;
	int rc = 0;
	if (compression != TUNDISH_SNAPPY && !(u->inflate = malloc(sizeof *u->inflate)))
		rc = td_err_memory(e);
	if (rc == 0 && compression == TUNDISH_GZIP && threads > 1 && raw->size != TD_SIZE_UNKNOWN)
		rc = td_ahead_open(&u->ahead, raw, threads, e);
	if (rc < 0) {
		td_unpack_close(u);
		return rc;
	}
	*ret = u;
	return 0;
}

size_t td_unpack_memory(const struct td_unpack *u)
{
	return sizeof *u + (u->inflate ? sizeof *u->inflate : 0) + u->block.cap;
}

void td_unpack_close(struct td_unpack *u)
{
	if (!u)
		return;
	td_ahead_close(u->ahead);
	td_buf_free(&u->block);
	free(u->inflate);
	free(u->members);
	free(u);
}

ssize_t td_unpack_read(struct td_unpack *u, void *out, size_t bytes, struct td_break *ret_break,
    struct tundish_error *e)
{
	ssize_t n = u->compression == TUNDISH_SNAPPY ? snappy_read(u, out, bytes, e) :
						       inflate_read(u, out, bytes, e);
	if (n == 0) {
		*ret_break = u->broken;
		u->broken = (struct td_break){ 0 };
	}
	u->out += n > 0 ? (uint64_t)n : 0;
	return n;
}

void td_unpack_note_members(struct td_unpack *u)
{
	u->note = true;
}

const struct td_member *td_unpack_member_at(const struct td_unpack *u, uint64_t out)
{
	size_t low = 0, high = u->n_members;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (u->members[middle].out < out)
			low = middle + 1;
		else
			high = middle;
	}
	return low < u->n_members && u->members[low].out == out ? u->members + low : NULL;
}

void td_unpack_restart(struct td_unpack *u, struct td_member at)
{
	td_window_forget(u->raw, at.raw);
	if (u->ahead)
		td_ahead_forget(u->ahead);
	u->ready_bytes = 0;
	u->over = u->inside = u->bare = false;
	u->any = at.raw > 0;
	u->broken = (struct td_break){ 0 };
	u->block.len = u->block_at = 0;
	u->out = at.out;
}

int td_unpack_recognise(const uint8_t *data, size_t bytes)
{
	uint8_t out[TD_FRAME_HEADER];
	int ended = 0;
	if (bytes >= 2 && data[0] == 0x1f && data[1] == 0x8b)
		return TUNDISH_GZIP;
	if (bytes >= 2 && zlib_header(data)) {
		size_t n = td_inflate_start(ISAL_ZLIB, data, bytes, out, sizeof out, &ended);
		if ((n == sizeof out && td_frame_length_ok(out)) || (n == 0 && ended))
			return TUNDISH_ZLIB;
	}
	if (bytes >= 5 && td_snappy_prefix(data + 4, bytes - 4, out, sizeof out) == sizeof out &&
	    td_frame_length_ok(out))
		return TUNDISH_SNAPPY;
	return TUNDISH_NONE;
}
