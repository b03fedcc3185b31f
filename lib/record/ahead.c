/* SPDX-License-Identifier: BSD-2-Clause
 * Members of a gzip file, inflated on threads before it is their turn. */
#include "ahead.h"

#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "base/err.h"
#include "base/pool.h"
#include "inflate.h"
#include "unpack.h"
#include "window.h"

#define MEMBER_BYTES ((size_t)4 << 20) /* larger ones are left to the reader in order */
#define INFLATED_BYTES ((size_t)8 << 20)
#define KEPT_BYTES ((size_t)4 << 20) /* buffers above that are given back after use */
#define MOST_JOBS 64		     /* hostile files have members of 20 bytes */
#define LEAST_BYTES 18		     /* of a member: header and trailer */
#define MOST_FACTOR 1032	     /* deflate makes no more of a byte */

enum state { WAITING, WORKING, DONE };

struct job {
	uint64_t at; /* of the member in the file */
	struct td_buf in, out;
	enum state state;
	bool good;
	struct job *next;
};

struct td_ahead {
	struct td_window scan; /* stands where the next member is looked for */
	bool lost;	       /* none was found there */
	unsigned threads;
	struct td_pool *pool; /* NULL: not yet needed */
	bool alone;	      /* no thread could be started */
	struct inflate_state **inflate; /* one a thread, the caller's last */

	struct job *spare;
	uint64_t bytes; /* of the jobs in the list */
	unsigned n;	/* how many they are */
	bool taken;	/* the first one was handed out */

	/* under the pool's lock once there is one */
	struct job *first, *last; /* in the order of the file */
	bool closing;
	pthread_cond_t done;
	struct td_wait_stats waits;
};

static void lock(struct td_ahead *a)
{
	if (a->pool)
		td_pool_lock(a->pool);
}

static void unlock(struct td_ahead *a)
{
	if (a->pool)
		td_pool_unlock(a->pool);
}

/* ---- inflating ---- */

/* A whole member and nothing else, of the size that its trailer tells. */
static bool inflate_member(struct job *job, struct inflate_state *s)
{
	size_t made = 0, bytes = td_inflate_member(s, job->in.data, job->in.len, job->out.data, job->out.cap, &made);
	return bytes == job->in.len && made == job->out.len;
}

/* With the lock held; it is open while the work is done. */
static void work(struct td_ahead *a, struct job *job, unsigned worker)
{
	job->state = WORKING;
	unlock(a);
	td_stall();
	struct inflate_state **s = &a->inflate[worker];
	if (!*s)
		*s = malloc(sizeof **s);
	job->good = *s && inflate_member(job, *s);
	lock(a);
	job->state = DONE;
	if (job == a->first)
		pthread_cond_signal(&a->done);
}

static struct job *waiting(const struct td_ahead *a)
{
	struct job *job = a->first;
	while (job && job->state != WAITING)
		job = job->next;
	return job;
}

static enum td_step step(void *ctx, struct td_pool *pool, unsigned worker)
{
	struct td_ahead *a = ctx;
	struct job *job = waiting(a);
	(void)pool;
	if (a->closing)
		return TD_STEP_END;
	if (!job)
		return TD_STEP_IDLE;
	work(a, job, worker);
	return TD_STEP_DONE;
}

/* Until the first job is done; meanwhile the caller's thread works too. */
static void finish_first(struct td_ahead *a)
{
	while (a->first->state != DONE) {
		struct job *job = waiting(a);
		if (job)
			work(a, job, a->threads - 1);
		else
			td_pool_wait(a->pool, &a->done, &a->waits);
	}
}

/* ---- the list ---- */

static uint64_t held_bytes(const struct job *job)
{
	return job->in.len + job->out.len;
}

/* Lock held. */
static void drop_first(struct td_ahead *a)
{
	if (a->first->state == WORKING)
		finish_first(a);
	struct job *job = a->first;
	a->first = job->next;
	a->bytes -= held_bytes(job);
	a->n--;
	a->taken = false;
	if (job->in.cap + job->out.cap > KEPT_BYTES) {
		td_buf_free(&job->in);
		td_buf_free(&job->out);
	}
	job->next = a->spare;
	a->spare = job;
}

static struct job *new_job(struct td_ahead *a)
{
	struct job *job = a->spare;
	if (!job)
		return calloc(1, sizeof *job);
	a->spare = job->next;
	job->next = NULL;
	return job;
}

/* How long the member at the window's place is, by where the next header is or the file
 * ends; 0: not known. */
static size_t member_length(struct td_window *w)
{
	size_t from = LEAST_BYTES;
	if (td_window_fill(w, 4, TD_WINDOW_MIN, NULL) < 0 || td_window_have(w) < 4 ||
	    !td_gzip_header(td_window_here(w)))
		return 0;
	while (from < MEMBER_BYTES) {
		if (td_window_fill(w, from + 4, TD_WINDOW_MIN, NULL) < 0)
			return 0;
		size_t n = td_window_have(w);
		const uint8_t *here = td_window_here(w);
		if (n < from + 4)
			return n >= LEAST_BYTES && n == td_window_rest(w) ? n : 0;
		const uint8_t *next = td_gzip_find(here + from, n - from);
		if (next)
			return (size_t)(next - here);
		from = n - 3;
	}
	return 0;
}

/* Takes the next member from the file into a job. */
static struct job *read_member(struct td_ahead *a)
{
	struct td_window *w = &a->scan;
	size_t length = member_length(w);
	struct job *job = length ? new_job(a) : NULL;
	if (!job)
		return NULL;
	const uint8_t *data = td_window_here(w);
	uint32_t told = td_le32(data + length - 4);
	job->at = td_window_offset(w);
	job->state = WAITING;
	if (told > INFLATED_BYTES || told > length * MOST_FACTOR ||
	    !td_buf_fit(&job->out, (size_t)told + 64) || !td_buf_fit(&job->in, length)) {
		job->next = a->spare;
		a->spare = job;
		return NULL;
	}
	memcpy(job->in.data, data, length);
	job->in.len = length;
	job->out.len = told;
	w->at += length;
	return job;
}

static void add_job(struct td_ahead *a, struct job *job)
{
	lock(a);
	if (a->first)
		a->last->next = job;
	else
		a->first = job;
	a->last = job;
	a->bytes += held_bytes(job);
	a->n++;
	if (a->pool)
		td_pool_wake(a->pool, 1);
	unlock(a);
}

static void look_further(struct td_ahead *a)
{
	struct job *job;
	while (!a->lost && a->n < MOST_JOBS && a->bytes < td_ahead_bytes(a->threads)) {
		if ((job = read_member(a))) {
			add_job(a, job);
			continue;
		}
		a->lost = true;
		td_window_forget(&a->scan, td_window_offset(&a->scan));
		td_buf_free(&a->scan.buf);
	}
}

static bool start_pool(struct td_ahead *a)
{
	if (!a->pool && !a->alone)
		a->alone = td_pool_start(&a->pool, a->threads - 1, step, a, NULL) < 0;
	return a->pool;
}

int td_ahead_member(struct td_ahead *a, uint64_t at, const uint8_t **ret_data, size_t *ret_bytes,
    uint64_t *ret_end)
{
	lock(a);
	while (a->first && (a->taken || a->first->at < at))
		drop_first(a);
	unlock(a);
	/* where nothing was found it is not looked for again */
	if (!a->first && td_window_offset(&a->scan) < at) {
		a->lost = false;
		td_window_skip_to(&a->scan, at);
	}
	if (at >= a->scan.size || (a->first && a->first->at > at))
		return 0;
	look_further(a);
	if (!a->first || a->first->at != at || (!a->pool && !a->first->next) || !start_pool(a))
		return 0;
	lock(a);
	finish_first(a);
	a->taken = true;
	unlock(a);
	const struct job *job = a->first;
	if (!job->good)
		return 0;
	*ret_data = job->out.data;
	*ret_bytes = job->out.len;
	*ret_end = job->at + job->in.len;
	return 1;
}

void td_ahead_forget(struct td_ahead *a)
{
	lock(a);
	while (a->first)
		drop_first(a);
	unlock(a);
	td_window_forget(&a->scan, 0);
	a->lost = false;
}

int td_ahead_open(struct td_ahead **ret, const struct td_window *raw, unsigned threads,
    struct tundish_error *e)
{
	struct td_ahead *a = calloc(1, sizeof *a);
	threads = TD_MIN(threads, TD_AHEAD_THREADS);
	struct inflate_state **inflate = calloc(threads, sizeof(*inflate));
	if (!a || !inflate) {
		free(a);
		free(inflate);
		return td_err_memory(e);
	}
	*a = (struct td_ahead){ .threads = threads, .inflate = inflate };
	a->scan = (struct td_window){ .size = raw->size, .read = raw->read, .ctx = raw->ctx };
	pthread_cond_init(&a->done, NULL);
	*ret = a;
	return 0;
}

void td_ahead_close(struct td_ahead *a)
{
	if (!a)
		return;
	td_ahead_forget(a);
	if (a->pool) {
		lock(a);
		a->closing = true;
		td_pool_wake(a->pool, a->threads);
		unlock(a);
		td_pool_join(a->pool, NULL);
	}
	for (struct job *job = a->spare, *next; job; job = next) {
		next = job->next;
		td_buf_free(&job->in);
		td_buf_free(&job->out);
		free(job);
	}
	for (unsigned i = 0; i < a->threads; i++)
		free(a->inflate[i]);
	free(a->inflate);
	td_buf_free(&a->scan.buf);
	pthread_cond_destroy(&a->done);
	free(a);
}
