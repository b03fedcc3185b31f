/* SPDX-License-Identifier: BSD-2-Clause
 * Open files, no more than the limit allows, shared by all threads. */
#pragma once
#include "base/ring.h"
#include "base/thread.h"
#include "tundish.h"

struct td_files;

/* So many files may be open at once. */
size_t td_files_most(void);

/* For n files with these paths, which stay the caller's. */
int td_files_new(struct td_files **ret, char *const *paths, size_t n, struct tundish_error *e);
/* How they will be read, for the kernel's reading ahead: POSIX_FADV_SEQUENTIAL, RANDOM or
 * NORMAL. Before the threads start. */
void td_files_advise(struct td_files *f, int advice);
/* The descriptor of a file, opened where it is not; held until td_files_put(). Waits
 * when all that may be open are held by others. Errors: NOT_FOUND, IO. */
int td_files_get(struct td_files *f, size_t file, int *ret_fd, struct tundish_error *e);
void td_files_put(struct td_files *f, size_t file);
/* The same without waiting: 1 when it would have to wait. */
int td_files_try(struct td_files *f, size_t file, int *ret_fd, struct tundish_error *e);
/* Makes these reads, all of them under way at a time where that can be had. */
void td_files_read(struct td_files *f, struct td_read *reads, unsigned n);
/* How many it made, and of these through io_uring. NULL has made none. */
struct td_files_reads {
	uint64_t all, uring;
};
struct td_files_reads td_files_reads(const struct td_files *f);
void td_files_free(struct td_files *f);
