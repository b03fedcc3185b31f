/* SPDX-License-Identifier: BSD-2-Clause
 * One parallel pass over the record files of a set, results in file order. */
#include "scan.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/pool.h"
#include "record/ahead.h"
#include "record/frame.h"
#include "record/reader.h"

#define POLL_BYTES ((uint64_t)4 << 20)
#define POLL_ITEMS 65536
#define PIECE_BYTES ((uint64_t)32 << 20)
#define COUNT_BYTES ((uint64_t)64 << 20) /* and when there is little to do in it */
#define GUESS_BYTES ((uint64_t)1 << 20) /* in which a record must end for a piece to begin */
/* So many records tell whether they are large, which on average are so long. */
#define LOOK_RECORDS 16
#define LARGE_BYTES ((uint64_t)192 << 10)
#define NOWHERE UINT64_MAX
#define READER_BYTES ((uint64_t)4 << 20) /* what an open reader holds, about */

struct run {
	const struct td_scan *scan;
	pthread_mutex_t talk; /* the listener hears one thread at a time */
	uint64_t done_items, done_bytes, all_bytes;
	size_t next;
	struct tundish_reader *walker; /* finds the next piece of file `next` */
	uint64_t piece_bytes;
	struct td_piece piece;	       /* where that one starts */
	bool guess;		       /* its records are small, or damaged */
	struct td_reached reached;     /* by the pieces that were put, of the file at hand */
	struct open_reader *readers;   /* one a worker */
	unsigned n_readers;
	unsigned threads; /* for each file, where there are fewer files than threads */
};

/* The next piece is often of the same file. */
struct open_reader {
	struct tundish_reader *reader; /* NULL */
	size_t file;
};

/* A job's memory as the ordered loop keeps it. */
struct slot {
	struct td_scan_job job;
	struct run *run;
	bool later; /* whether it counts is seen when it is put */
	int rc;	    /* then, if it does */
	struct tundish_error error;
	struct td_reached end;
	max_align_t part[];
};

static void count_fault(void *data, const struct tundish_fault *f)
{
	struct td_scan_job *job = data;
	struct tundish_listener hold = td_held_listener(&job->held);
	job->file.faults++;
	hold.fault(hold.data, f);
}

static void hold_notice(void *data, const char *text)
{
	struct td_scan_job *job = data;
	struct tundish_listener hold = td_held_listener(&job->held);
	hold.notice(hold.data, text);
}

static int stop_search(void *data)
{
	struct slot *s = TD_OUTER(data, struct slot, job);
	pthread_mutex_lock(&s->run->talk);
	int stop = td_stopped(s->run->scan->listener);
	pthread_mutex_unlock(&s->run->talk);
	return stop;
}

struct tundish_reader_options td_scan_reader(const struct td_scan *scan)
{
	struct tundish_reader_options o;
	tundish_reader_options_init(&o);
	o.compression = scan->compression;
	o.crc = scan->crc;
	o.on_error = scan->on_error;
	o.max_record_bytes = scan->max_record_bytes;
	return o;
}

/* A reader without a voice: what is wrong is told when the piece is read. */
static struct tundish_reader *new_walker(const struct run *run)
{
	const struct td_scan *scan = run->scan;
	struct tundish_reader_options options = td_scan_reader(scan);
	struct tundish_reader *walker;
	options.on_error = TUNDISH_FAIL;
	if (tundish_reader_open(&walker, scan->paths->paths[run->next], &options, NULL) < 0)
		return NULL;
	if (td_reader_seekable(walker))
		return walker;
	tundish_reader_close(walker);
	return NULL;
}

static void end_file(struct run *run)
{
	tundish_reader_close(run->walker);
	run->walker = NULL;
	run->piece = (struct td_piece){ 0 };
	run->guess = false;
	run->next++;
}

/* The first record that starts at `least` or behind it. When numbers can wait, small
 * records are not walked through. */
static uint64_t walk_to(struct run *run, uint64_t from, uint64_t least)
{
	struct td_index_entry at;
	unsigned n = 0;
	while (td_reader_walk(run->walker, &at, &run->piece.number, NULL) > 0) {
		uint64_t end = at.offset + at.bytes;
		run->piece.number++;
		if (end >= least)
			return end;
		if (++n == LOOK_RECORDS && run->scan->numbers_later && end - from < n * LARGE_BYTES)
			break;
	}
	return NOWHERE;
}

static uint64_t guess_from(struct run *run, uint64_t least)
{
	uint64_t end = run->scan->paths->bytes[run->next], at;
	for (; least < end; least += run->piece_bytes) {
		if (td_reader_find(run->walker, least, GUESS_BYTES, &at, NULL) > 0)
			return at;
	}
	return NOWHERE;
}

/* Cuts the next piece off the file at hand. Without guesses, not behind damage. */
static struct td_piece next_piece(struct run *run)
{
	struct td_piece piece = run->piece;
	uint64_t least = piece.from + run->piece_bytes;
	piece.to = run->guess ? NOWHERE : walk_to(run, piece.from, least);
	if (piece.to == NOWHERE && run->scan->numbers_later) {
		run->guess = true;
		piece.to = guess_from(run, least);
	}
	run->piece.from = piece.to;
	return piece;
}

static bool is_large(const struct run *run)
{
	const struct td_scan *scan = run->scan;
	/* of headers alone a thread reads more than a disk brings */
	return !(scan->count_only && scan->crc == TUNDISH_CRC_LENGTH) &&
	    scan->paths->bytes[run->next] >= 2 * run->piece_bytes;
}

static int take(void *ctx, void *slot, uint64_t *ret_bytes, struct tundish_error *e)
{
	(void)e;
	struct run *run = ctx;
	struct slot *s = slot;
	const struct td_paths *paths = run->scan->paths;
	size_t i = run->next;
	if (i == paths->n)
		return 0;
	if (!run->walker && is_large(run))
		run->walker = new_walker(run);
	s->run = run;
	s->job.file = (struct td_scan_file){ .path = paths->paths[i], .bytes = paths->bytes[i],
		.number = i };
	s->job.piece = run->walker ? next_piece(run) : (struct td_piece){ .to = UINT64_MAX };
	s->later = run->walker && run->scan->numbers_later;
	if (s->later)
		s->job.piece.number = 0;
	if (td_scan_last(&s->job))
		end_file(run);
	s->job.scan = run->scan;
	s->job.part = s->part;
	s->job.hold = (struct tundish_listener){ .data = &s->job, .fault = count_fault,
		.notice = hold_notice, .stop = stop_search };
	s->job.own_bytes = TD_MIN(s->job.piece.to, s->job.file.bytes) -
	    TD_MIN(s->job.piece.from, s->job.file.bytes);
	s->job.told_items = s->job.told_bytes = s->job.unpolled = 0;
	*ret_bytes = READER_BYTES + td_ahead_bytes(run->threads);
	return 1;
}

/* Now and then: how far we are, and whether to go on. */
static int poll_listener(struct slot *s, uint64_t items, uint64_t bytes, struct tundish_error *e)
{
	struct run *run = s->run;
	const struct tundish_listener *l = run->scan->listener;
	if (!l || (!l->progress && !l->stop))
		return 0;
	/* a compressed file yields more bytes than it has */
	bytes = s->job.file.bytes ? TD_MIN(bytes, s->job.own_bytes - s->job.told_bytes) : bytes;
	pthread_mutex_lock(&run->talk);
	run->done_items += items;
	run->done_bytes += bytes;
	s->job.told_items += items;
	s->job.told_bytes += bytes;
	struct tundish_progress p = { run->done_items, 0, run->done_bytes, run->all_bytes };
	if (l->progress)
		l->progress(l->data, &p);
	bool stop = td_stopped(l);
	pthread_mutex_unlock(&run->talk);
	return stop ? td_err(e, TUNDISH_E_STOPPED, "stopped") : 0;
}

static int poll_now_and_then(struct slot *s, uint64_t *items, struct tundish_error *e)
{
	if (++*items < POLL_ITEMS && s->job.unpolled < POLL_BYTES)
		return 0;
	int rc = poll_listener(s, *items, s->job.unpolled, e);
	s->job.unpolled = *items = 0;
	return rc;
}

/* Counting by headers alone. */
static int walk_records(struct slot *s, struct tundish_reader *reader, struct tundish_error *e)
{
	uint64_t items = 0, number;
	struct td_index_entry at;
	int rc;
	while ((rc = td_reader_walk(reader, &at, &number, e)) > 0) {
		s->job.file.records++;
		s->job.unpolled += at.bytes;
		rc = poll_now_and_then(s, &items, e);
		if (rc < 0)
			return rc;
	}
	return rc < 0 ? rc : poll_listener(s, items, s->job.own_bytes, e);
}

/* Counting with whatever is to be checked. */
static int pass_records(struct slot *s, struct tundish_reader *reader, uint64_t to, struct tundish_error *e)
{
	uint64_t items = 0, bytes;
	int64_t n;
	while ((n = td_reader_pass(reader, to, &bytes, e)) > 0) {
		s->job.file.records += (uint64_t)n;
		s->job.unpolled += bytes;
		items += (uint64_t)n - 1;
		int rc = poll_now_and_then(s, &items, e);
		if (rc < 0)
			return rc;
	}
	return n < 0 ? (int)n : poll_listener(s, items, s->job.own_bytes, e);
}

static int read_records(struct slot *s, struct tundish_reader *reader, uint64_t to, struct tundish_error *e)
{
	const struct td_scan *scan = s->run->scan;
	uint64_t items = 0, at = s->job.piece.from;
	struct tundish_record r;
	int rc = 0;
	while (at < to && (rc = tundish_reader_next(reader, &r, e)) > 0) {
		s->job.file.records++;
		s->job.unpolled += r.bytes + TD_FRAME_EXTRA;
		at = r.offset + r.bytes + TD_FRAME_EXTRA;
		rc = scan->record(scan->ctx, &s->job, &r, e);
		if (rc == 0)
			rc = poll_now_and_then(s, &items, e);
		if (rc < 0)
			return rc;
	}
	return rc < 0 ? rc : poll_listener(s, items, s->job.own_bytes, e);
}

/* Keeps the reader to its piece, of a file as long as when it was listed. */
static int keep_to_piece(const struct td_scan_job *job, struct tundish_reader *reader, struct tundish_error *e)
{
	const struct td_piece *piece = &job->piece;
	uint64_t listed = job->file.bytes, size = td_reader_bytes(reader);
	if (!td_reader_seekable(reader) || listed == 0)
		return 0;
	if (size < listed)
		return td_err(e, TUNDISH_E_IO, "%s: the file shrank while it was read", TD_ESC(job->file.path));
	bool whole = piece->from == 0 && piece->to == UINT64_MAX && size == listed;
	return whole ? 0 : td_reader_part(reader, piece->from, piece->number, TD_MIN(piece->to, listed), e);
}

static int all_records(struct slot *s, struct tundish_reader *reader, uint64_t to, struct tundish_error *e)
{
	const struct td_scan *scan = s->run->scan;
	if (!scan->count_only)
		return read_records(s, reader, to, e);
	if (scan->crc == TUNDISH_CRC_LENGTH)
		return walk_records(s, reader, e);
	return pass_records(s, reader, to, e);
}

static int open_reader(struct slot *s, const struct tundish_listener *l, struct tundish_reader **ret,
    struct tundish_error *e)
{
	struct tundish_reader_options options = td_scan_reader(s->run->scan);
	options.listener = *l;
	options.threads = s->run->threads;
	return tundish_reader_open(ret, s->job.file.path, &options, e);
}

static void note_file(struct slot *s, const struct tundish_reader *reader)
{
	s->job.file.compression = tundish_reader_compression(reader);
	if (s->job.file.bytes == 0)
		s->job.file.bytes = td_reader_bytes(reader);
}

static int read_whole(struct slot *s, struct tundish_error *e)
{
	struct tundish_reader *reader;
	int rc = open_reader(s, &s->job.hold, &reader, e);
	if (rc < 0)
		return rc;
	rc = keep_to_piece(&s->job, reader, e);
	if (rc == 0)
		rc = all_records(s, reader, NOWHERE, e);
	note_file(s, reader);
	tundish_reader_close(reader);
	return rc;
}

/* What is to be said of the file is said with its first piece. */
static int open_for_pieces(struct slot *s, struct open_reader *o, struct tundish_error *e)
{
	static const struct tundish_listener nobody;
	if (o->reader && o->file == s->job.file.number)
		return 0;
	tundish_reader_close(o->reader);
	o->reader = NULL;
	o->file = s->job.file.number;
	return open_reader(s, s->job.piece.from ? &nobody : &s->job.hold, &o->reader, e);
}

/* The piece, by one who came to `from`. */
static int read_piece(struct slot *s, struct open_reader *o, const struct td_reached *from,
    struct tundish_error *e)
{
	uint64_t listed = s->job.file.bytes;
	int rc = open_for_pieces(s, o, e);
	if (rc == 0 && td_reader_bytes(o->reader) < listed)
		rc = td_err(e, TUNDISH_E_IO, "%s: the file shrank while it was read", TD_ESC(s->job.file.path));
	if (rc == 0)
		rc = td_reader_part(o->reader, 0, 0, listed, e);
	if (rc == 0)
		rc = td_reader_resume(o->reader, from, s->job.piece.to, &s->job.hold, e);
	if (rc == 0)
		rc = all_records(s, o->reader, s->job.piece.to, e);
	if (!o->reader)
		return rc;
	note_file(s, o->reader);
	td_reader_reached(o->reader, &s->end);
	/* errors of a reader stay */
	if (rc < 0 || td_scan_last(&s->job)) {
		tundish_reader_close(o->reader);
		o->reader = NULL;
	}
	return rc;
}

static int work(void *ctx, void *slot, unsigned worker, struct tundish_error *e)
{
	struct run *run = ctx;
	struct slot *s = slot;
	const struct td_reached from = { .offset = s->job.piece.from };
	s->job.worker = worker;
	if (!s->later)
		return read_whole(s, e);
	s->error = (struct tundish_error){ 0 };
	s->rc = read_piece(s, &run->readers[worker], &from, &s->error);
	if (s->rc != TUNDISH_E_STOPPED)
		return 0;
	*e = s->error;
	return s->rc;
}

/* Of what was read in vain the bytes stay told: they are of the piece however it is read. */
static void take_items_back(struct slot *s)
{
	pthread_mutex_lock(&s->run->talk);
	s->run->done_items -= s->job.told_items;
	pthread_mutex_unlock(&s->run->talk);
	s->job.told_items = s->job.unpolled = 0;
}

/* Reads a piece from where the one before it ended. */
static int read_again(struct run *run, struct slot *s, struct tundish_error *e)
{
	struct open_reader own = { 0 };
	if (run->scan->free_part)
		run->scan->free_part(s->part);
	memset(s->part, 0, run->scan->part_bytes);
	td_held_free(&s->job.held);
	s->job.held = (struct td_held){ 0 };
	s->job.file.records = s->job.file.faults = 0;
	take_items_back(s);
	s->job.piece.from = run->reached.offset;
	int rc = read_piece(s, &own, &run->reached, e);
	tundish_reader_close(own.reader);
	return rc;
}

/* Lets a piece count, or makes it what it should be. */
static int settle(struct run *run, struct slot *s, struct tundish_error *e)
{
	struct td_reached *reached = &run->reached;
	bool first = s->job.piece.from == 0;
	int rc = s->rc;
	if (first && rc < 0)
		*e = s->error;
	if (first || (rc == 0 && s->job.piece.from == reached->offset && reached->vain <= s->end.room)) {
		s->job.before = reached->number;
		s->end.number += reached->number;
		s->end.vain += reached->vain;
	} else {
		rc = read_again(run, s, e);
	}
	struct td_reached start = { 0 };
	*reached = td_scan_last(&s->job) ? start : s->end;
	return rc;
}

/* Tells a fault with the number that its record has in the file. */
static void tell_fault(void *data, const struct tundish_fault *f)
{
	const struct slot *s = data;
	struct td_place at = TD_PLACE(f->path);
	at.offset = f->offset;
	at.record = f->record + (int64_t)s->job.before;
	td_fault(s->run->scan->listener, f->code, at, f->passed_bytes, "%s", f->reason);
}

static void tell_notice(void *data, const char *text)
{
	td_notice(((const struct slot *)data)->run->scan->listener, "%s", text);
}

static int put(void *ctx, void *slot, struct tundish_error *e)
{
	struct run *run = ctx;
	struct slot *s = slot;
	const struct tundish_listener raised = { .data = s, .fault = tell_fault, .notice = tell_notice };
	s->job.before = 0;
	int rc = s->later ? settle(run, s, e) : 0;
	if (rc < 0)
		return rc;
	pthread_mutex_lock(&run->talk);
	rc = td_held_tell(&s->job.held, s->job.before ? &raised : run->scan->listener, e);
	if (rc == 0)
		rc = run->scan->merge(run->scan->ctx, &s->job, e);
	pthread_mutex_unlock(&run->talk);
	return rc;
}

static void free_slot(void *slot)
{
	struct slot *s = slot;
	td_held_free(&s->job.held);
	if (s->job.scan && s->job.scan->free_part)
		s->job.scan->free_part(s->part);
}

static void close_readers(struct run *run)
{
	for (unsigned i = 0; i < run->n_readers; i++)
		tundish_reader_close(run->readers[i].reader);
	free(run->readers);
	tundish_reader_close(run->walker);
}

int td_scan_run(const struct td_scan *scan, struct tundish_error *e)
{
	struct run run = { .scan = scan };
	run.piece_bytes = scan->piece_bytes ? scan->piece_bytes :
			  scan->count_only  ? COUNT_BYTES :
					      PIECE_BYTES;
	for (size_t i = 0; i < scan->paths->n; i++)
		run.all_bytes += scan->paths->bytes[i];
	uint64_t max_bytes = TD_MIN(td_memory(scan->memory), (uint64_t)32 << 20);
	/* no more threads than may read at a time: each would keep a heap of its own */
	uint64_t threads = TD_MIN((uint64_t)td_threads(scan->threads), TD_MAX(max_bytes / READER_BYTES, 1u));
	run.threads = (unsigned)TD_MAX(threads / TD_MAX(scan->paths->n, (size_t)1), 1u);
	const struct td_ordered loop = {
		.job_bytes = sizeof(struct slot) + scan->part_bytes,
		.threads = (unsigned)TD_MIN(threads, scan->paths->n + run.all_bytes / run.piece_bytes),
		.max_bytes = max_bytes,
		.take = take,
		.work = work,
		.put = put,
		.free_job = free_slot,
	};
	run.n_readers = loop.threads;
	run.readers = calloc(TD_MAX(run.n_readers, 1u), sizeof *run.readers);
	if (!run.readers)
		return td_err_memory(e);
	pthread_mutex_init(&run.talk, NULL);
	int rc = td_ordered_run(&loop, &run, NULL, e);
	pthread_mutex_destroy(&run.talk);
	close_readers(&run);
	return rc;
}

int td_scan_bad(struct td_scan_job *job, const struct tundish_record *r, int code,
    struct tundish_error *e, const char *fmt, ...)
{
	char reason[1024];
	va_list args;
	va_start(args, fmt);
	vsnprintf(reason, sizeof reason, fmt, args);
	va_end(args);
	const struct td_place at = { .path = job->file.path, .record = (int64_t)r->number,
		.line = -1, .offset = (int64_t)r->offset };
	if (job->scan->on_error == TUNDISH_FAIL)
		return td_err_at(e, code, at, "%s", reason);
	td_fault(&job->hold, code, at, 0, "%s", reason);
	return 0;
}
