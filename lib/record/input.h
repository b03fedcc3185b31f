/* SPDX-License-Identifier: BSD-2-Clause
 * Raw bytes of a record file: a regular file by pread, or a stream. */
#pragma once
#include "window.h"

/*
 * A regular file that is read from front to back is read by pread while the kernel has it
 * in memory. From the first read that would have to wait for the disk on, the next 2 MiB
 * are always under way, through io_uring; where that cannot be had, as deep as the
 * kernel itself reads ahead.
 */
struct td_input_ahead;

struct td_input {
	int fd;
	bool owned;	  /* close it */
	uint64_t size;	  /* of a regular file when it was opened, else TD_SIZE_UNKNOWN */
	uint64_t at;	  /* bytes taken of a stream */
	const char *name; /* for messages; the caller's */
	const uint8_t *memory; /* read this instead (tests and fuzzers) */
	size_t memory_bytes;
	uint64_t next;	  /* where the last read of a regular file ended */
	bool no_ahead;	  /* nothing is to be gained, or had */
	struct td_input_ahead *ahead; /* what is under way; NULL */
};

/* Opens `path` for reading; "-" and "/dev/stdin" are standard input. `path` must
 * outlive the input. Errors: NOT_FOUND, IO. */
int td_input_open(struct td_input *ret, const char *path, struct tundish_error *e);
void td_input_close(struct td_input *in);
/* What its buffers take. */
size_t td_input_memory(const struct td_input *in);

/* Reads up to `bytes` at `offset`, which for a stream must be where the last read
 * ended. Bytes read, 0 at the end; a regular file that ends before its size at
 * opening is an error. */
ssize_t td_input_read(struct td_input *in, uint64_t offset, void *out, size_t bytes,
    struct tundish_error *e);
