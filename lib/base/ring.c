/* SPDX-License-Identifier: BSD-2-Clause
 * Reads of files, many under way at a time: through io_uring where the kernel lets it. */
#include "ring.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#ifdef TD_HAVE_URING
#include <liburing.h>
#endif

#include "infile.h"

enum td_fetch_by td_fetch_by(void)
{
	const char *s = getenv("TUNDISH_FETCH");
	if (s && strcmp(s, "threads") == 0)
		return TD_FETCH_THREADS;
	return s && strcmp(s, "uring") == 0 ? TD_FETCH_URING : TD_FETCH_AUTO;
}

/* The rest of a read, or all of it. */
static void read_by_hand(struct td_read *read)
{
	size_t done = read->got > 0 ? (size_t)read->got : 0;
	int64_t n = td_pread(read->fd, (uint8_t *)read->out + done, read->bytes - done, read->offset + done);
	read->got = n < 0 ? n : (int64_t)done + n;
}

/* The sanitizer does not see what the kernel writes. */
#if defined(TD_HAVE_URING) && !defined(__SANITIZE_THREAD__)

#define MOST_BYTES ((size_t)1 << 30) /* in one read of the kernel's */

struct td_ring {
	struct io_uring uring;
	unsigned depth, under_way;
};

/* A sandbox may let it be made and not used: one round is gone through. */
static int open_ring(struct io_uring *ret, unsigned depth)
{
	struct io_uring uring;
	struct io_uring_cqe *done;
	int rc = io_uring_queue_init(depth, &uring, 0);
	if (rc < 0)
		return rc;
	io_uring_prep_nop(io_uring_get_sqe(&uring));
	rc = io_uring_submit_and_wait(&uring, 1);
	if (rc >= 0)
		rc = io_uring_peek_cqe(&uring, &done);
	if (rc < 0) {
		io_uring_queue_exit(&uring);
		return rc;
	}
	io_uring_cqe_seen(&uring, done);
	*ret = uring;
	return 0;
}

struct td_ring *td_ring_open(unsigned depth)
{
	struct td_ring *ring = td_fetch_by() == TD_FETCH_THREADS ? NULL : calloc(1, sizeof *ring);
	if (!ring)
		return NULL;
	ring->depth = depth;
	if (open_ring(&ring->uring, depth) == 0)
		return ring;
	free(ring);
	return NULL;
}

void td_ring_close(struct td_ring *ring)
{
	if (ring)
		io_uring_queue_exit(&ring->uring);
	free(ring);
}

void td_ring_start(struct td_ring *ring, struct td_read *read)
{
	read->got = 0;
	read->under_way = false;
	struct io_uring_sqe *entry = NULL;
	if (ring && ring->under_way < ring->depth)
		entry = io_uring_get_sqe(&ring->uring);
	if (!entry)
		return;
	io_uring_prep_read(entry, read->fd, read->out, (unsigned)TD_MIN(read->bytes, MOST_BYTES),
	    read->offset);
	io_uring_sqe_set_data(entry, read);
	read->under_way = true;
	ring->under_way++;
}

void td_ring_submit(struct td_ring *ring)
{
	if (ring)
		io_uring_submit(&ring->uring);
}

/* The next that is done, whichever it is. */
static void reap(struct td_ring *ring)
{
	struct io_uring_cqe *done;
	/* what was not taken yet, for want of memory say, is handed over again */
	if (io_uring_submit_and_wait(&ring->uring, 1) < 0 || io_uring_peek_cqe(&ring->uring, &done) != 0)
		return;
	struct td_read *read = io_uring_cqe_get_data(done);
	read->got = TD_MAX(done->res, 0);
	read->under_way = false;
	ring->under_way--;
	io_uring_cqe_seen(&ring->uring, done);
}

void td_ring_finish(struct td_ring *ring, struct td_read *read)
{
	while (read->under_way)
		reap(ring);
	if (read->got >= 0 && (size_t)read->got < read->bytes)
		read_by_hand(read);
}

const char *td_ring_state(void)
{
	struct td_ring *ring = td_ring_open(1);
	td_ring_close(ring);
	return ring ? "on" : td_fetch_by() == TD_FETCH_THREADS ? "off" : "refused";
}

#else

struct td_ring *td_ring_open(unsigned depth)
{
	(void)depth;
	return NULL;
}

void td_ring_close(struct td_ring *ring)
{
	(void)ring;
}

void td_ring_start(struct td_ring *ring, struct td_read *read)
{
	(void)ring;
	read->got = 0;
}

void td_ring_submit(struct td_ring *ring)
{
	(void)ring;
}

void td_ring_finish(struct td_ring *ring, struct td_read *read)
{
	(void)ring;
	read_by_hand(read);
}

const char *td_ring_state(void)
{
	return "none";
}

#endif
