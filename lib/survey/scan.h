/* SPDX-License-Identifier: BSD-2-Clause
 * One parallel pass over the record files of a set, results in file order. A job is a file,
 * or a piece of a large one; where pieces end depends on the file alone.
 *
 * Pieces end where records do. To find such places without reading all of it, large records
 * are walked by their headers; among small ones, if their numbers may be told later, the
 * next place that looks like a record is taken for one. Such a piece counts only if the one
 * before it ended there, in a state in which a single reader would have done the same;
 * else it is read once more, from where that one ended. */
#pragma once
#include "base/held.h"
#include "base/talk.h"
#include "record/paths.h"
#include "tundish.h"

struct td_scan_file {
	const char *path;
	uint64_t bytes; /* size of the file; of a stream what was read of it, once it is */
	size_t number;	/* in the set */
	int compression;
	uint64_t records, faults; /* in this piece */
};

/* From a record's start to another's, or the end: UINT64_MAX. */
struct td_piece {
	uint64_t from, to;
	uint64_t number; /* of the first record; 0 with numbers_later */
};

/* What one worker has in hand. */
struct td_scan_job {
	struct td_scan_file file;
	struct td_piece piece;
	uint64_t before; /* in `merge`: what the numbers of records are to be raised by */
	void *part;	 /* the user's partial result: zeroed once, then reused */
	unsigned worker;
	/* the scan's own */
	const struct td_scan *scan;
	struct td_held held;
	struct tundish_listener hold; /* counts faults and holds them back */
	uint64_t own_bytes; /* of the file, as it was cut; 0 of a stream */
	uint64_t told_items, told_bytes, unpolled;
};

struct td_scan {
	const struct td_paths *paths;
	int crc, compression, on_error;
	bool count_only;      /* records are only counted, `record` is not called */
	bool numbers_later;   /* `record` can do with numbers that count from a piece's start */
	unsigned threads;
	uint64_t max_record_bytes;
	uint64_t memory;
	uint64_t piece_bytes; /* files are cut after so many; 0: the usual number */
	const struct tundish_listener *listener;
	void *ctx;
	size_t part_bytes;
	/* In parallel, for each good record of a file in order. */
	int (*record)(void *ctx, struct td_scan_job *job, const struct tundish_record *r,
	    struct tundish_error *e);
	/* One at a time, in the order of files and pieces, and while nobody else talks to the
	 * listener; leaves the part empty. */
	int (*merge)(void *ctx, struct td_scan_job *job, struct tundish_error *e);
	void (*free_part)(void *part);
};

static inline bool td_scan_last(const struct td_scan_job *job)
{
	return job->piece.to == UINT64_MAX;
}

/* Options of a reader as the scan says; a listener is the caller's. */
struct tundish_reader_options td_scan_reader(const struct td_scan *scan);

int td_scan_run(const struct td_scan *scan, struct tundish_error *e);

/* From `record`: reports that this record is bad and returns 0, or with TUNDISH_FAIL
 * returns code with the same text in e. */
int td_scan_bad(struct td_scan_job *job, const struct tundish_record *r, int code,
    struct tundish_error *e, const char *fmt, ...) td_printf_like(5, 6);
