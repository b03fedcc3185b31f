/* SPDX-License-Identifier: BSD-2-Clause
 * Reads of files, many under way at a time: through io_uring where the kernel lets it. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "attr.h"

/*
 * A ring belongs to one thread at a time. Where it cannot be had (another kernel, a
 * sandbox, a build without liburing) or the environment says TUNDISH_FETCH=threads, the
 * reads are made by pread, one after the other, by as many threads as call. What the ring
 * leaves undone, an interrupted or short read or one that failed, is tried by pread as
 * well: so bytes and errors are the same either way.
 */
struct td_ring;

struct td_read {
	int fd;
	void *out;
	size_t bytes;
	uint64_t offset;
	int64_t got; /* bytes, fewer only at the end of the file; or -errno */
	/* the ring's own */
	bool under_way;
};

/* For so many reads at a time. NULL: there are none to be had. */
struct td_ring *td_ring_open(unsigned depth);
/* After all that was started is finished. */
void td_ring_close(struct td_ring *ring);

/* Starts a read, which must stay where it is until it is finished. Of more than the ring's
 * depth the others wait for td_ring_finish(). `ring` may be NULL. */
void td_ring_start(struct td_ring *ring, struct td_read *read);
/* Hands what was started to the kernel. */
void td_ring_submit(struct td_ring *ring);
/* Until this read is done. */
void td_ring_finish(struct td_ring *ring, struct td_read *read);

/* What TUNDISH_FETCH says. */
enum td_fetch_by { TD_FETCH_AUTO, TD_FETCH_URING, TD_FETCH_THREADS };
enum td_fetch_by td_fetch_by(void);
/* "on", "refused" by the kernel, "off" by TUNDISH_FETCH, "none" in this build: for
 * --version. Static string. */
const char *td_ring_state(void);
