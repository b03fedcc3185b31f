/* SPDX-License-Identifier: BSD-2-Clause
 * Reading whole files and first bytes, of regular files only. */
#pragma once
#include "buf.h"
#include "tundish.h"

/* Opens a regular file for reading; never waits for a pipe that took its place. The
 * size goes to *ret_bytes, which may be NULL. The descriptor, or an error whose text
 * is a reason without the path: NOT_FOUND, IO, UNSUPPORTED ("not a regular file"). */
int td_open_file(const char *path, uint64_t *ret_bytes, struct tundish_error *e);

/* Reads all of a file into out, from its start (what was there is lost). Errors as above;
 * LIMIT when it is over max_bytes. A file that shrinks meanwhile is TRUNCATED. */
int td_read_file(struct td_buf *out, const char *path, uint64_t max_bytes, struct tundish_error *e);

/* The same of a file that an option names, without which nothing can be done: IO where it is
 * no regular file or too large, and the reason comes with the path. */
int td_read_named(struct td_buf *out, const char *path, uint64_t max_bytes, struct tundish_error *e);

/* Reads up to `bytes` from `offset`: how many, fewer only at the end; or an error. */
int64_t td_read_at(int fd, void *out, size_t bytes, uint64_t offset, struct tundish_error *e);
/* Up to `bytes` first ones of a regular file: how many, or an error. */
int64_t td_read_head(const char *path, void *out, size_t bytes);
/* td_read_at(); the error is -errno. */
int64_t td_pread(int fd, void *out, size_t bytes, uint64_t offset);
