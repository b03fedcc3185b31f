/* SPDX-License-Identifier: BSD-2-Clause
 * Reading records: the window over a file, frames in it, and the way past damage. */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "damage.h"
#include "foreign.h"
#include "frame.h"
#include "frames.h"
#include "metadata.h"
#include "reader-inside.h"

#define CHUNK TD_WINDOW_MIN
/* Behind records over this, a walk reads the next header alone. */
#define WALK_LARGE 4096
/* Payload bytes that may be checked in vain before frames need a good neighbour;
 * keeps hostile files from costing a square of their size. */
#define VAIN_BYTES ((uint64_t)256 << 20)
#define VAIN_FACTOR 64
/* Of an uncompressed file every so many records are places to go back to. */
#define MARK_EVERY 1024

/* What functions that look at a frame return for one that is not good. */
#define DAMAGED 2

/* Something wrong at the current place, not reported yet. */
struct damage {
	int code;
	uint64_t skip; /* bytes of the frame where its length can be trusted, or 0 */
	bool vague;    /* says nothing but that these bytes are no frame */
	char text[160];
};

static uint64_t offset(const struct tundish_reader *r)
{
	return td_window_offset(&r->w);
}

static size_t have(const struct tundish_reader *r)
{
	return td_window_have(&r->w);
}

static const uint8_t *here(const struct tundish_reader *r)
{
	return td_window_here(&r->w);
}

static int fill(struct tundish_reader *r, uint64_t want, size_t chunk, struct tundish_error *e)
{
	return td_window_fill(&r->w, want, chunk, e);
}

static bool seekable(const struct tundish_reader *r)
{
	return !r->unpack && r->w.size != TD_SIZE_UNKNOWN;
}

static ssize_t read_input(void *ctx, uint64_t at, void *out, size_t bytes, struct tundish_error *e)
{
	struct tundish_reader *r = ctx;
	if (r->stop)
		bytes = (size_t)TD_MIN((uint64_t)bytes, r->stop - TD_MIN(at, r->stop));
	if (at < r->pause)
		bytes = (size_t)TD_MIN((uint64_t)bytes, r->pause - at);
	return bytes ? td_input_read(&r->in, at, out, bytes, e) : 0;
}

static ssize_t read_unpacked(void *ctx, uint64_t at, void *out, size_t bytes, struct tundish_error *e)
{
	struct tundish_reader *r = ctx;
	(void)at;
	return td_unpack_read(r->unpack, out, bytes, &r->broken, e);
}

/* ---- errors and faults ---- */

static struct td_place place(const struct tundish_reader *r)
{
	struct td_place at = TD_PLACE(r->path);
	at.record = (int64_t)r->number;
	at.offset = (int64_t)offset(r);
	return at;
}

static void td_printf_like(3, 4) set(struct damage *d, int code, const char *fmt, ...)
{
	va_list args;
	va_start(args, fmt);
	vsnprintf(d->text, sizeof d->text, fmt, args);
	va_end(args);
	d->code = code;
}

/* The length of a frame; it may come from a forged header. */
static uint64_t whole(uint64_t bytes)
{
	return bytes > UINT64_MAX - TD_FRAME_EXTRA ? bytes : bytes + TD_FRAME_EXTRA;
}

/* `present` bytes are there of a frame of `bytes`, or, if that is 0, of its header. */
static int truncated(const struct tundish_reader *r, struct damage *d, uint64_t present, uint64_t bytes)
{
	const struct td_break *b = &r->broken;
	set(d, b->code ? b->code : TUNDISH_E_TRUNCATED,
	    "truncated%s (%" PRIu64 " of %" PRIu64 " bytes present)%s%s", bytes ? "" : " in its header",
	    present, bytes ? bytes : TD_FRAME_HEADER, b->code ? ": " : "", b->code ? b->text : "");
	return DAMAGED;
}

/* ---- frames ---- */

/* The frame at the current place: 1 and its payload's length, 0 at the end, DAMAGED
 * and what is wrong, or negative. */
static int look(struct tundish_reader *r, size_t chunk, uint64_t *ret_bytes, struct damage *d,
    struct tundish_error *e)
{
	int rc = fill(r, TD_FRAME_HEADER, chunk, e);
	if (rc < 0)
		return rc;
	size_t n = have(r);
	/* each record passes here: its text stays as it is */
	d->code = 0;
	d->skip = 0;
	d->vague = false;
	if (n == 0 && r->broken.code) {
		set(d, r->broken.code, "%s", r->broken.text);
		return DAMAGED;
	}
	if (n == 0)
		return 0;
	if (n < TD_FRAME_HEADER)
		return truncated(r, d, n, 0);
	const uint8_t *header = here(r);
	uint64_t bytes = td_le64(header), all = td_window_rest(&r->w);
	if (r->o.crc != TUNDISH_CRC_OFF && !td_frame_length_ok(header)) {
		set(d, TUNDISH_E_CORRUPT, "%s", td_crc_reason(true, header, 8, td_le32(header + 8)));
		d->vague = true;
		return DAMAGED;
	}
	if (all != TD_SIZE_UNKNOWN && (all < TD_FRAME_EXTRA || bytes > all - TD_FRAME_EXTRA))
		return truncated(r, d, all, whole(bytes));
	if (bytes > r->o.max_record_bytes) {
		set(d, TUNDISH_E_LIMIT, "record of %" PRIu64 " bytes; the limit is %" PRIu64, bytes,
		    r->o.max_record_bytes);
		d->skip = seekable(r) ? bytes + TD_FRAME_EXTRA : 0;
		return DAMAGED;
	}
	*ret_bytes = bytes;
	return 1;
}

/* Does a frame start, or the file end, `skip` bytes from here? Says whether a length
 * can be trusted though the payload is bad. */
static int good_neighbour(struct tundish_reader *r, uint64_t skip, struct tundish_error *e)
{
	uint8_t header[TD_FRAME_HEADER];
	uint64_t all = td_window_rest(&r->w);
	if (all != TD_SIZE_UNKNOWN && skip >= all)
		return skip == all;
	if (have(r) < skip + TD_FRAME_HEADER && seekable(r)) {
		size_t got = 0;
		while (got < sizeof header) {
			ssize_t n = td_input_read(&r->in, offset(r) + skip + got, header + got,
			    sizeof header - got, e);
			if (n <= 0)
				return (int)n;
			got += (size_t)n;
		}
		return td_frame_length_ok(header);
	}
	int rc = fill(r, skip + TD_FRAME_HEADER, CHUNK, e);
	if (rc < 0)
		return rc;
	if (have(r) < skip + TD_FRAME_HEADER)
		return have(r) == skip;
	return td_frame_length_ok(here(r) + skip);
}

/* The longest payload that can start here. */
static uint64_t longest(const struct tundish_reader *r)
{
	uint64_t all = td_window_rest(&r->w);
	return TD_MIN(r->o.max_record_bytes, all < TD_FRAME_EXTRA ? 0 : all - TD_FRAME_EXTRA);
}

static bool may_check(struct tundish_reader *r, uint64_t bytes)
{
	uint64_t limit = VAIN_BYTES + VAIN_FACTOR * offset(r);
	if (r->vain + bytes > limit)
		return false;
	r->room = TD_MIN(r->room, limit - r->vain - bytes);
	return true;
}

/* The frame at here(), whose header is right, must lie in the window whole and, with
 * `full`, its payload pass. 1, DAMAGED or negative. */
static int payload(struct tundish_reader *r, uint64_t bytes, bool full, struct damage *d,
    struct tundish_error *e)
{
	uint64_t all = bytes + TD_FRAME_EXTRA;
	int rc = full && !may_check(r, bytes) ? good_neighbour(r, all, e) : 1;
	if (rc == 0) {
		set(d, TUNDISH_E_CORRUPT, "the length leads to no other record");
		return DAMAGED;
	}
	if (rc < 0 || (rc = fill(r, all, CHUNK, e)) < 0)
		return rc;
	if (have(r) < all)
		return truncated(r, d, have(r), all);
	const uint8_t *data = here(r) + TD_FRAME_HEADER;
	if (!full || td_le32(data + bytes) == td_crc_mask(td_crc32c(0, data, (size_t)bytes)))
		return 1;
	set(d, TUNDISH_E_CORRUPT, "%s",
	    td_crc_reason(false, data, (size_t)bytes, td_le32(data + bytes)));
	d->skip = all;
	r->vain += bytes;
	return DAMAGED;
}

int td_reader_find_frame(struct tundish_reader *r, struct tundish_error *e)
{
	for (;;) {
		int rc = fill(r, TD_FRAME_EXTRA, CHUNK, e);
		if (rc < 0)
			return rc;
		/* a device may have no end and no record */
		if (td_stopped(&r->o.listener))
			return td_err(e, TUNDISH_E_STOPPED, "stopped");
		size_t end = r->w.buf.len;
		if (have(r) < TD_FRAME_EXTRA) {
			r->w.at = end;
			return 0;
		}
		r->w.at = td_find_header(r->w.buf.data, r->w.at, end, longest(r));
		if (r->w.at == end) {
			/* the last bytes may be the beginning of a header */
			r->w.at -= TD_FRAME_HEADER - 1;
			continue;
		}
		struct damage ignored;
		uint64_t bytes = td_le64(here(r));
		rc = bytes <= longest(r) && may_check(r, bytes) ? payload(r, bytes, true, &ignored, e) : 0;
		if (rc == 1 || rc < 0)
			return TD_MIN(rc, 0);
		r->w.at++;
	}
}

/* The same from the next byte on, and on behind breaks of the compression. */
static int resync(struct tundish_reader *r, struct tundish_error *e)
{
	r->w.at += have(r) > 0;
	for (;;) {
		int rc = td_reader_find_frame(r, e);
		if (rc < 0 || have(r) > 0 || !r->broken.code)
			return rc;
		r->broken = (struct td_break){ 0 };
		r->w.ended = false;
	}
}

static void report(struct tundish_reader *r, const struct damage *d, struct td_place at,
    uint64_t passed)
{
	const struct tundish_listener *l = &r->o.listener;
	r->faults++;
	if (!d->vague)
		td_fault(l, d->code, at, passed, "%s", d->text);
	else if (at.offset == 0 && have(r) == 0 && r->w.ended && strstr(d->text, "mismatch"))
		td_fault(l, d->code, at, passed, "not a TFRecord file: no record in it has right "
		    "checksums");
	else
		td_fault(l, d->code, at, passed, "%s, %" PRIu64 " bytes passed over", d->text, passed);
}

/* Past damage: on to the next good frame, then one fault that covers all of it. */
static int recover(struct tundish_reader *r, const struct damage *d, struct tundish_error *e)
{
	struct td_place at = place(r);
	uint64_t start = offset(r);
	if (r->o.on_error == TUNDISH_FAIL) {
		r->faults++;
		return td_err_at(e, d->code, at, "%s", d->text);
	}
	int rc = d->skip ? good_neighbour(r, d->skip, e) : 0;
	if (rc < 0)
		return rc;
	if (rc > 0)
		td_window_skip_to(&r->w, start + d->skip);
	else if ((rc = resync(r, e)) < 0)
		return rc;
	report(r, d, at, offset(r) - start);
	r->number++;
	return 0;
}

/* ---- the two ways through a file ---- */

/* The usual case in one step: a whole good frame lies here. */
static bool quick(const struct tundish_reader *r, bool full, uint64_t *ret_bytes)
{
	size_t n = have(r);
	if (n < TD_FRAME_EXTRA)
		return false;
	const uint8_t *data = here(r) + TD_FRAME_HEADER;
	uint64_t bytes = td_le64(here(r));
	if (bytes > n - TD_FRAME_EXTRA || bytes > r->o.max_record_bytes ||
	    (r->o.crc != TUNDISH_CRC_OFF && !td_frame_length_ok(here(r))) ||
	    (full && td_le32(data + bytes) != td_crc_mask(td_crc32c(0, data, (size_t)bytes))))
		return false;
	*ret_bytes = bytes;
	return true;
}

/* 1 and a whole frame at here(), 0 at the end, or negative. */
static int next_frame(struct tundish_reader *r, bool full, uint64_t *ret_bytes,
    struct tundish_error *e)
{
	for (;;) {
		struct damage d;
		if (td_likely(quick(r, full, ret_bytes)))
			return 1;
		int rc = look(r, CHUNK, ret_bytes, &d, e);
		if (rc == 1)
			rc = payload(r, *ret_bytes, full, &d, e);
		if (rc != DAMAGED)
			return rc;
		if ((rc = recover(r, &d, e)) < 0)
			return rc;
	}
}

/* The same with nothing but its header at here(). */
static int next_header(struct tundish_reader *r, uint64_t *ret_bytes, struct tundish_error *e)
{
	for (;;) {
		struct damage d;
		int rc = look(r, r->chunk, ret_bytes, &d, e);
		if (rc != DAMAGED)
			return rc;
		if ((rc = recover(r, &d, e)) < 0)
			return rc;
	}
}

/* ---- random access ---- */

/* Of a good frame at here(). Marks are a help, no more: without memory it goes on. */
static void note_mark(struct tundish_reader *r)
{
	if (!r->marking || (r->n_marks && r->number <= r->marks[r->n_marks - 1].number))
		return;
	const struct td_member *member = r->unpack ? td_unpack_member_at(r->unpack, offset(r)) : NULL;
	if ((r->unpack ? !member : r->number % MARK_EVERY != 0) ||
	    !td_grow(&r->marks, &r->marks_cap, r->n_marks, sizeof *r->marks))
		return;
	r->marks[r->n_marks++] = (struct td_mark){ r->number, offset(r), member ? member->raw : 0 };
}

static void jump(struct tundish_reader *r, struct td_mark to)
{
	if (r->unpack) {
		td_unpack_restart(r->unpack, (struct td_member){ to.raw, to.offset });
		r->broken = (struct td_break){ 0 };
		td_window_forget(&r->w, to.offset);
	} else if (to.offset >= r->w.base) {
		td_window_skip_to(&r->w, to.offset);
	} else {
		td_window_forget(&r->w, to.offset);
	}
	r->number = to.number;
}

/* Goes through frames up to a record, saying nothing of damage: 1 there, 0 not there. */
static int pass_to(struct tundish_reader *r, uint64_t number, struct tundish_error *e)
{
	struct tundish_reader_options o = r->o;
	uint64_t faults = r->faults, bytes;
	int rc;
	r->o.listener = (struct tundish_listener){ 0 };
	r->o.on_error = TUNDISH_SKIP;
	while ((rc = seekable(r) ? next_header(r, &bytes, e) : next_frame(r, false, &bytes, e)) == 1) {
		if (r->number >= number)
			break;
		note_mark(r);
		r->number++;
		td_window_skip_to(&r->w, offset(r) + bytes + TD_FRAME_EXTRA);
	}
	r->o = o;
	r->faults = faults;
	return rc;
}

void td_reader_note(struct tundish_reader *r)
{
	r->marking = true;
	if (r->unpack)
		td_unpack_note_members(r->unpack);
}

const struct td_mark *td_reader_marks(const struct tundish_reader *r, size_t *ret_n)
{
	*ret_n = r->n_marks;
	return r->marks;
}

static int find_members(struct tundish_reader *r, struct tundish_error *e)
{
	struct td_metadata *own = r->metadata ? NULL : td_metadata_new(), *m = own ? own : r->metadata;
	int rc = m ? td_members_sidecar(&r->marks, &r->n_marks, r->path, &r->in, m, &r->o.listener, e) :
		     td_err_memory(e);
	td_metadata_free(own);
	return rc;
}

/* The first time: a side-car answers at once, else places are noted from now on. */
static int begin_marking(struct tundish_reader *r, struct tundish_error *e)
{
	if (r->marking)
		return 0;
	td_reader_note(r);
	bool gzip = r->compression == TUNDISH_GZIP;
	if (r->in.size == TD_SIZE_UNKNOWN || r->in.memory || (r->unpack && !gzip))
		return 0;
	int rc = td_index_sidecar(&r->index, r->path, &r->o.listener, e);
	if (rc > 0 && r->index.gzip && gzip) {
		r->marks = r->index.map.marks;
		r->n_marks = r->index.map.n;
		r->index.map.marks = NULL;
	} else if (rc == 0 && gzip) {
		rc = find_members(r, e);
	}
	if (r->unpack || r->index.gzip)
		td_index_free(&r->index);
	r->marks_cap = r->n_marks;
	return TD_MIN(rc, 0);
}

static int seek_record(struct tundish_reader *r, uint64_t number, struct tundish_error *e)
{
	int rc = begin_marking(r, e);
	if (rc < 0 || r->refused)
		return rc;
	if (r->index.from_sidecar) {
		bool there = number < r->index.n;
		jump(r, (struct td_mark){ there ? number : r->index.n,
			there ? r->index.entries[number].offset : r->in.size, 0 });
		return there;
	}
	struct td_mark near = td_mark_before(r->marks, r->n_marks, number);
	if (r->in.size == TD_SIZE_UNKNOWN && number < r->number)
		return td_err(e, TUNDISH_E_UNSUPPORTED, "%s: a stream does not go back to record %"
		    PRIu64, TD_ESC(r->path), number);
	if (number < r->number || near.number > r->number)
		jump(r, near);
	rc = pass_to(r, number, e);
	if (rc == 1 && r->number > number)
		return td_err(e, TUNDISH_E_CORRUPT, "%s: record %" PRIu64 " is damaged",
		    TD_ESC(r->path), number);
	return rc;
}

/* ---- the public ways ---- */

static int finish(struct tundish_reader *r, int rc, struct tundish_error *e)
{
	if (rc < 0 && e)
		*e = r->error;
	return rc;
}

int tundish_reader_next(struct tundish_reader *r, struct tundish_record *ret_record,
    struct tundish_error *ret_error)
{
	uint64_t bytes = 0;
	int rc = td_reader_begin(r, ret_error);
	if (rc < 0)
		return rc;
	rc = next_frame(r, r->o.crc == TUNDISH_CRC_FULL, &bytes, &r->error);
	if (rc <= 0)
		return finish(r, rc, ret_error);
	note_mark(r);
	*ret_record = (struct tundish_record){
		.data = here(r) + TD_FRAME_HEADER,
		.bytes = bytes,
		.number = r->number++,
		.offset = offset(r),
	};
	r->w.at += (size_t)bytes + TD_FRAME_EXTRA;
	return 1;
}

int64_t td_reader_pass(struct tundish_reader *r, uint64_t to, uint64_t *ret_bytes,
    struct tundish_error *e)
{
	struct tundish_record first;
	if (offset(r) >= to)
		return 0;
	int rc = tundish_reader_next(r, &first, e);
	if (rc <= 0)
		return rc;
	uint64_t more = 0;
	size_t bytes = 0;
	if (r->o.crc == TUNDISH_CRC_FULL && !r->marking && offset(r) < to)
		bytes = td_frames_good(here(r), (size_t)TD_MIN(have(r), to - offset(r)),
		    r->o.max_record_bytes, &more);
	r->w.at += bytes;
	r->number += more;
	*ret_bytes = first.bytes + TD_FRAME_EXTRA + bytes;
	return (int64_t)(1 + more);
}

int tundish_reader_seek(struct tundish_reader *reader, uint64_t number,
    struct tundish_error *ret_error)
{
	struct tundish_error own = { 0 };
	int rc = td_reader_begin(reader, ret_error);
	if (rc == 0)
		rc = seek_record(reader, number, &own);
	if (own.code && ret_error)
		*ret_error = own;
	/* a record that is damaged, or behind us in a stream, leaves the reader as it is */
	if (own.code && rc != TUNDISH_E_CORRUPT && rc != TUNDISH_E_UNSUPPORTED)
		reader->error = own;
	return rc;
}

int td_reader_walk(struct tundish_reader *r, struct td_index_entry *ret, uint64_t *ret_number,
    struct tundish_error *e)
{
	uint64_t bytes = 0;
	int rc = td_reader_begin(r, e);
	if (rc < 0)
		return rc;
	rc = seekable(r) ? next_header(r, &bytes, &r->error) : next_frame(r, false, &bytes, &r->error);
	if (rc <= 0)
		return finish(r, rc, e);
	note_mark(r);
	*ret = (struct td_index_entry){ offset(r), bytes + TD_FRAME_EXTRA };
	*ret_number = r->number++;
	td_window_skip_to(&r->w, ret->offset + ret->bytes);
	r->chunk = ret->bytes > WALK_LARGE ? TD_FRAME_HEADER : CHUNK;
	return 1;
}

/* ---- opening ---- */

void tundish_reader_options_init(struct tundish_reader_options *ret_options)
{
	*ret_options = (struct tundish_reader_options){
		.size = sizeof *ret_options,
		.compression = TUNDISH_AUTO,
		.crc = TUNDISH_CRC_FULL,
		.on_error = TUNDISH_SKIP,
		.max_record_bytes = INT32_MAX,
		.threads = 1,
	};
}

/* A file that is no TFRecord file at all: one fault, and no record. */
static int refuse(struct tundish_reader *r, const char *what, struct tundish_error *e)
{
	r->faults++;
	r->refused = true;
	if (r->o.on_error == TUNDISH_FAIL)
		return td_err_at(e, TUNDISH_E_CORRUPT, TD_PLACE(r->path),
		    "not a TFRecord file: %s", what);
	td_fault(&r->o.listener, TUNDISH_E_CORRUPT, TD_PLACE(r->path), have(r),
	    "not a TFRecord file: %s", what);
	r->w.at = r->w.buf.len;
	r->w.ended = true;
	return 0;
}

/* From here on the window is over what the file decompresses to. */
static int unpack(struct tundish_reader *r, struct tundish_error *e)
{
	r->raw = r->w;
	r->w = (struct td_window){ .size = TD_SIZE_UNKNOWN, .read = read_unpacked, .ctx = r };
	int rc = td_unpack_open(&r->unpack, r->compression, &r->raw, r->o.threads, e);
	return rc < 0 ? rc : fill(r, TD_FRAME_HEADER, CHUNK, e);
}

static void compression_notice(struct tundish_reader *r)
{
	const struct tundish_listener *l = &r->o.listener;
	const char *suffix = td_path_suffix(r->path);
	if (r->compression != TUNDISH_NONE || (strcmp(suffix, ".gz") != 0 && strcmp(suffix, ".zz") != 0))
		return;
	if (have(r) == 0)
		td_notice(l, "%s: not gzip data (empty file)", TD_ESC(r->path));
	else
		td_notice(l, "%s: is not compressed, though its name says so", TD_ESC(r->path));
}

static bool good_start(const struct tundish_reader *r)
{
	return have(r) >= TD_FRAME_HEADER && td_frame_length_ok(here(r));
}

/* Looks at the first bytes: compressed, records, or something else. */
static int recognise(struct tundish_reader *r, struct tundish_error *e)
{
	int rc = fill(r, TD_FRAME_HEADER, CHUNK, e);
	if (rc == 0 && !good_start(r))
		rc = fill(r, 512, CHUNK, e);
	if (rc < 0)
		return rc;
	r->compression = r->o.compression;
	if (r->compression == TUNDISH_AUTO)
		r->compression = have(r) == 0 || good_start(r) ? TUNDISH_NONE :
				 td_unpack_recognise(here(r), have(r));
	if (r->compression != TUNDISH_NONE && (rc = unpack(r, e)) < 0)
		return rc;
	if (have(r) > 0 && !good_start(r)) {
		if ((rc = fill(r, 512, CHUNK, e)) < 0)
			return rc;
		const char *what = td_foreign(here(r), have(r));
		if (!what && have(r) < TD_FRAME_HEADER && !r->broken.code)
			what = "too short to hold a record";
		if (what)
			return refuse(r, what, e);
	}
	compression_notice(r);
	return 0;
}

static int open_input(struct tundish_reader **ret, const struct td_input *in, const char *path,
    const struct tundish_reader_options *options, struct tundish_error *e)
{
	struct tundish_reader *r = calloc(1, sizeof *r);
	if (!r || !(r->path = strdup(path))) {
		free(r);
		return td_err_memory(e);
	}
	r->in = *in;
	r->in.name = r->path;
	r->w = (struct td_window){ .size = in->size, .read = read_input, .ctx = r };
	r->chunk = CHUNK;
	r->room = UINT64_MAX;
	tundish_reader_options_init(&r->o);
	if (options)
		memcpy(&r->o, options, TD_MIN(options->size, sizeof r->o));
	int rc = r->o.compression < TUNDISH_AUTO || r->o.compression > TUNDISH_SNAPPY ?
		     td_err(e, TUNDISH_E_USAGE, "no such compression: %d", r->o.compression) :
		     recognise(r, e);
	if (rc < 0) {
		r->in.owned = false;
		tundish_reader_close(r);
		return rc;
	}
	*ret = r;
	return 0;
}

int tundish_reader_open(struct tundish_reader **ret_reader, const char *path,
    const struct tundish_reader_options *options, struct tundish_error *ret_error)
{
	struct td_input in;
	int rc = td_input_open(&in, path, ret_error);
	if (rc < 0)
		return rc;
	rc = open_input(ret_reader, &in, path, options, ret_error);
	if (rc < 0)
		td_input_close(&in);
	return rc;
}

int td_reader_open_memory(struct tundish_reader **ret, const void *data, size_t bytes, int stream,
    const struct tundish_reader_options *options, struct tundish_error *e)
{
	struct td_input in = {
		.fd = -1,
		.size = stream ? TD_SIZE_UNKNOWN : bytes,
		.memory = data,
		.memory_bytes = bytes,
	};
	return open_input(ret, &in, "memory", options, e);
}

int tundish_reader_compression(const struct tundish_reader *reader)
{
	return reader->compression;
}

void td_reader_metadata(struct tundish_reader *r, struct td_metadata *m)
{
	r->metadata = m;
}

uint64_t td_reader_faults(const struct tundish_reader *r)
{
	return r->faults;
}

uint64_t td_reader_bytes(const struct tundish_reader *r)
{
	return r->in.size == TD_SIZE_UNKNOWN ? r->in.at : r->in.size;
}

uint64_t td_reader_memory(const struct tundish_reader *r)
{
	uint64_t unpacks = r->unpack ? td_unpack_memory(r->unpack) : 0;
	return sizeof *r + r->w.buf.cap + r->raw.buf.cap + unpacks + td_input_memory(&r->in);
}

uint64_t td_reader_number(const struct tundish_reader *r)
{
	return r->number;
}

int td_reader_regular(const struct tundish_reader *r)
{
	return r->in.size != TD_SIZE_UNKNOWN;
}

int td_reader_seekable(const struct tundish_reader *r)
{
	return seekable(r);
}

void tundish_reader_close(struct tundish_reader *reader)
{
	if (!reader)
		return;
	td_input_close(&reader->in);
	td_unpack_close(reader->unpack);
	td_index_free(&reader->index);
	free(reader->marks);
	td_buf_free(&reader->raw.buf);
	td_buf_free(&reader->w.buf);
	free(reader->path);
	free(reader);
}
