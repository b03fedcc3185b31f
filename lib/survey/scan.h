/* SPDX-License-Identifier: BSD-2-Clause
 * One parallel pass over the record files of a set, a file a job, results in file order. */
#pragma once
#include "base/held.h"
#include "base/talk.h"
#include "record/paths.h"
#include "tundish.h"

struct td_scan_file {
	const char *path;
	uint64_t bytes; /* size of the file; 0 for a stream */
	size_t number;	/* in the set */
	int compression;
	uint64_t records, faults;
};

/* What one worker has in hand. */
struct td_scan_job {
	struct td_scan_file file;
	void *part;	 /* the user's partial result: zeroed once, then reused */
	unsigned worker;
	/* the scan's own */
	const struct td_scan *scan;
	struct td_held held;
	struct tundish_listener hold; /* counts faults and holds them back */
	uint64_t told_bytes, unpolled;
};

struct td_scan {
	const struct td_paths *paths;
	int crc, compression, on_error;
	bool count_only;	    /* records are counted by their headers, `record` is not called */
	unsigned threads;
	uint64_t max_record_bytes;
	uint64_t memory;
	const struct tundish_listener *listener;
	void *ctx;
	size_t part_bytes;
	/* In parallel, for each good record of a file in order. */
	int (*record)(void *ctx, struct td_scan_job *job, const struct tundish_record *r,
	    struct tundish_error *e);
	/* One at a time, in file order; leaves the part empty. */
	int (*merge)(void *ctx, struct td_scan_job *job, struct tundish_error *e);
	void (*free_part)(void *part);
};

int td_scan_run(const struct td_scan *scan, struct tundish_error *e);

/* From `record`: reports that this record is bad and returns 0, or with TUNDISH_FAIL
 * returns code with the same text in e. */
int td_scan_bad(struct td_scan_job *job, const struct tundish_record *r, int code,
    struct tundish_error *e, const char *fmt, ...) td_printf_like(5, 6);
