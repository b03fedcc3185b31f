/* SPDX-License-Identifier: BSD-2-Clause
 * A work-conserving pool of threads, and the ordered loop on top of it. */
#pragma once
#include "thread.h"
#include "tundish.h"

/*
 * The pool. Each worker calls `step` again and again, with the pool's lock held.
 * A step picks the most downstream task that can run now, marks it, unlocks for
 * the work itself, locks again and files the result. So threads are never
 * allotted to stages: they go where work is.
 *
 * Whoever makes a task runnable says so with td_pool_wake(), lock held. The
 * sleeper with the lowest number is woken first: few warm threads rather than
 * many half idle ones.
 */
struct td_pool;

enum td_step {
	TD_STEP_IDLE = 0, /* nothing to do now: sleep until woken */
	TD_STEP_DONE = 1, /* did something: call again */
	TD_STEP_END = 2,  /* never again: the worker leaves */
};

typedef enum td_step td_step_fn(void *ctx, struct td_pool *pool, unsigned worker);

/* *ret_pool is set before the first step. */
int td_pool_start(struct td_pool **ret_pool, unsigned threads, td_step_fn *step, void *ctx,
    struct tundish_error *e);
unsigned td_pool_threads(const struct td_pool *pool);
void td_pool_lock(struct td_pool *pool);
void td_pool_unlock(struct td_pool *pool);
/* Wakes up to n sleeping workers. Lock held. */
void td_pool_wake(struct td_pool *pool, unsigned n);
/* The same among workers `from` to `end` - 1: where not each can do what there is to do. */
void td_pool_wake_among(struct td_pool *pool, unsigned n, unsigned from, unsigned end);
/* Waits on a condition of the caller's under the pool's lock; for consumers. */
void td_pool_wait(struct td_pool *pool, pthread_cond_t *cond, struct td_wait_stats *stats);
/* What the idling of the first n workers cost so far; and how often the pool's lock was
 * taken, by anybody. Lock held. */
struct td_wait_sum {
	uint64_t waits, wait_ns, wakeups, locks;
};
void td_pool_idle(const struct td_pool *pool, unsigned n, struct td_wait_sum *ret);
/* Waits until each worker has ended by itself, frees the pool; NULL is fine. The
 * nanoseconds that workers idled go to *ret_idle_ns, which may be NULL. */
void td_pool_join(struct td_pool *pool, uint64_t *ret_idle_ns);

/*
 * The ordered loop: serial take, parallel work, serial put in the order of take.
 * A job's slot is reserved before it is taken, so a worker never blocks with a
 * result in hand; a slow put stops the takes. Jobs are bounded by number and,
 * from the moment they are worked on until they are put, by bytes; a single
 * job over the bound runs alone.
 *
 * The first error in order ends the loop: results before it are put, those
 * behind it are dropped. So what comes out does not depend on the threads.
 */
#define TD_TAKE_LATER 2

struct td_ordered {
	size_t job_bytes;    /* size of one job slot; zeroed once, then reused: buffers can stay */
	unsigned threads;    /* of td_threads() */
	unsigned slots;	     /* jobs in flight; 0: 4 + 4 * threads */
	uint64_t max_bytes;  /* of the jobs in flight; 0: no bound */
	/* 1: a job, and in *ret_bytes what it will hold; 0: the end; negative: error;
	 * TD_TAKE_LATER: none now, ask again after the next put. So a put may make more
	 * jobs, to be worked on by the same threads: take and put then share a lock of
	 * the caller's. */
	int (*take)(void *ctx, void *job, uint64_t *ret_bytes, struct tundish_error *e);
	int (*work)(void *ctx, void *job, unsigned worker, struct tundish_error *e);
	int (*put)(void *ctx, void *job, struct tundish_error *e);
	void (*free_job)(void *job); /* at the end, for each slot; may be NULL */
};

/* From work(), of whose job it turns out that it will hold so many bytes more than take() said:
 * waits until they fit. The oldest job never waits, and so each will go on. */
void td_ordered_more(uint64_t bytes);

struct td_ordered_stats {
	uint64_t take_ns, work_ns, put_ns; /* wall time inside the callbacks */
	uint64_t idle_ns;
};

/* Runs to the end on threads of its own. 0, or the first error in order.
 * `ret_stats` may be NULL. */
int td_ordered_run(const struct td_ordered *loop, void *ctx, struct td_ordered_stats *ret_stats,
    struct tundish_error *e);
