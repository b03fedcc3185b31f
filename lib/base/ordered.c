/* SPDX-License-Identifier: BSD-2-Clause
 * The ordered loop: serial take, parallel work, serial put. */
#include <stdbool.h>
#include <stdlib.h>

#include "err.h"
#include "pool.h"

enum state {
	FREE,
	TAKEN,
	WORKING,
	DONE,
};

struct slot {
	enum state state;
	int rc;
	uint64_t bytes;
	void *job;
	struct tundish_error error;
};

/* Serial numbers of jobs: put <= worked on <= taken; slot = serial % slots. */
struct run {
	const struct td_ordered *loop;
	void *ctx;
	struct slot *slots;
	unsigned n_slots;
	uint64_t next_put, next_work, next_take;
	uint64_t bytes;		 /* worked on and not yet put */
	bool taking, putting;	 /* somebody is at it */
	bool starved;		 /* nothing to take before the next put */
	bool ended;		 /* no more takes */
	int rc, take_rc;
	struct tundish_error error, take_error;
	struct td_ordered_stats stats;
	pthread_cond_t put; /* for those that wait in work */
};

/* What this thread is working on. */
static _Thread_local struct {
	struct run *run;
	struct td_pool *pool;
	struct slot *slot;
} at_work;

static struct slot *slot_of(struct run *run, uint64_t serial)
{
	return &run->slots[serial % run->n_slots];
}

static bool can_put(struct run *run)
{
	return !run->putting && run->next_put < run->next_work &&
	    slot_of(run, run->next_put)->state == DONE;
}

static void put_one(struct run *run, struct td_pool *pool)
{
	struct slot *s = slot_of(run, run->next_put);
	int rc = run->rc ? run->rc : s->rc;
	run->putting = true;
	if (rc == 0) {
		td_pool_unlock(pool);
		td_stall();
		uint64_t start = td_now_ns();
		rc = run->loop->put(run->ctx, s->job, &s->error);
		uint64_t took = td_now_ns() - start;
		td_pool_lock(pool);
		run->stats.put_ns += took;
	}
	if (rc < 0 && run->rc == 0) {
		run->rc = rc;
		run->error = s->error;
		run->ended = true;
	}
	run->putting = run->starved = false;
	run->bytes -= s->bytes;
	s->state = FREE;
	run->next_put++;
	pthread_cond_broadcast(&run->put);
	td_pool_wake(pool, 2);
}

static bool can_work(struct run *run)
{
	if (run->next_work == run->next_take)
		return false;
	uint64_t more = slot_of(run, run->next_work)->bytes;
	return run->loop->max_bytes == 0 || run->bytes == 0 || run->rc != 0 ||
	    run->bytes + more <= run->loop->max_bytes;
}

void td_ordered_more(uint64_t bytes)
{
	struct run *run = at_work.run;
	if (!run)
		return;
	td_pool_lock(at_work.pool);
	while (run->loop->max_bytes && run->rc == 0 && at_work.slot != slot_of(run, run->next_put) &&
	    run->bytes + bytes > run->loop->max_bytes)
		td_pool_wait(at_work.pool, &run->put, NULL);
	run->bytes += bytes;
	at_work.slot->bytes += bytes;
	td_pool_unlock(at_work.pool);
}

static void work_one(struct run *run, struct td_pool *pool, unsigned worker)
{
	struct slot *s = slot_of(run, run->next_work++);
	s->state = WORKING;
	s->rc = 0;
	run->bytes += s->bytes;
	if (run->rc == 0) {
		td_pool_wake(pool, 1);
		td_pool_unlock(pool);
		td_stall();
		uint64_t start = td_now_ns();
		at_work.run = run;
		at_work.pool = pool;
		at_work.slot = s;
		s->rc = run->loop->work(run->ctx, s->job, worker, &s->error);
		at_work.run = NULL;
		uint64_t took = td_now_ns() - start;
		td_pool_lock(pool);
		run->stats.work_ns += took;
	}
	s->state = DONE;
	if (can_put(run))
		td_pool_wake(pool, 1);
}

static bool can_take(const struct run *run)
{
	return !run->taking && !run->starved && !run->ended && run->next_take - run->next_put < run->n_slots;
}

static void take_one(struct run *run, struct td_pool *pool)
{
	struct slot *s = slot_of(run, run->next_take);
	uint64_t bytes = 0, put_before = run->next_put;
	run->taking = true;
	td_pool_unlock(pool);
	uint64_t start = td_now_ns();
	int rc = run->loop->take(run->ctx, s->job, &bytes, &run->take_error);
	uint64_t took = td_now_ns() - start;
	td_pool_lock(pool);
	run->taking = false;
	run->stats.take_ns += took;
	if (rc == TD_TAKE_LATER) {
		/* a put that ended meanwhile may have made a job; with none under way nobody will */
		if (run->next_put != put_before)
			return;
		run->starved = run->next_put < run->next_take;
		if (run->starved)
			return;
		rc = 0;
	}
	if (rc > 0) {
		s->state = TAKEN;
		s->bytes = bytes;
		run->next_take++;
		td_pool_wake(pool, 1);
		return;
	}
	run->ended = true;
	run->take_rc = rc;
	td_pool_wake(pool, td_pool_threads(pool));
}

static enum td_step step(void *ctx, struct td_pool *pool, unsigned worker)
{
	struct run *run = ctx;
	if (can_put(run))
		put_one(run, pool);
	else if (can_work(run))
		work_one(run, pool, worker);
	else if (can_take(run))
		take_one(run, pool);
	else if (run->ended && !run->taking && run->next_put == run->next_take) {
		td_pool_wake(pool, td_pool_threads(pool));
		return TD_STEP_END;
	} else
		return TD_STEP_IDLE;
	return TD_STEP_DONE;
}

static void free_slots(struct run *run)
{
	for (unsigned i = 0; run->slots && i < run->n_slots; i++) {
		if (run->loop->free_job && run->slots[i].job)
			run->loop->free_job(run->slots[i].job);
		free(run->slots[i].job);
	}
	free(run->slots);
}

static bool make_slots(struct run *run)
{
	run->slots = calloc(run->n_slots, sizeof *run->slots);
	for (unsigned i = 0; run->slots && i < run->n_slots; i++) {
		run->slots[i].job = calloc(1, run->loop->job_bytes);
		if (!run->slots[i].job)
			return false;
	}
	return run->slots != NULL;
}

int td_ordered_run(const struct td_ordered *loop, void *ctx, struct td_ordered_stats *ret_stats,
    struct tundish_error *e)
{
	struct run run = { .loop = loop, .ctx = ctx, .put = PTHREAD_COND_INITIALIZER };
	run.n_slots = loop->slots ? loop->slots : 4 + 4 * loop->threads;
	struct td_pool *pool = NULL;
	int rc = make_slots(&run) ? 0 : td_err_memory(e);
	if (rc == 0)
		rc = td_pool_start(&pool, loop->threads, step, &run, e);
	if (rc == 0) {
		td_pool_join(pool, &run.stats.idle_ns);
		rc = run.rc ? run.rc : run.take_rc;
		if (rc && e)
			*e = run.rc ? run.error : run.take_error;
		if (ret_stats)
			*ret_stats = run.stats;
	}
	free_slots(&run);
	pthread_cond_destroy(&run.put);
	return rc;
}
