/* SPDX-License-Identifier: BSD-2-Clause
 * A work-conserving pool of threads. */
#include "pool.h"

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "err.h"

struct worker {
	struct td_pool *pool;
	pthread_t thread;
	pthread_cond_t cond;
	struct td_wait_stats idle;
	unsigned number;
	bool asleep, woken;
};

struct td_pool {
	pthread_mutex_t lock;
	td_step_fn *step;
	void *ctx;
	unsigned threads, sleeping;
	uint64_t locks;
	struct worker *workers;
};

static void sleep_worker(struct td_pool *pool, struct worker *w)
{
	w->asleep = true;
	w->woken = false;
	pool->sleeping++;
	while (!w->woken)
		td_wait(&w->cond, &pool->lock, &w->idle);
}

static void *run_worker(void *arg)
{
	struct worker *w = arg;
	struct td_pool *pool = w->pool;
	char name[16];
	snprintf(name, sizeof name, "tundish-%u", w->number % 10000);
	pthread_setname_np(pthread_self(), name);
	td_pool_lock(pool);
	for (;;) {
		enum td_step did = pool->step(pool->ctx, pool, w->number);
		if (did == TD_STEP_END)
			break;
		if (did == TD_STEP_IDLE)
			sleep_worker(pool, w);
	}
	td_pool_unlock(pool);
	return NULL;
}

static struct td_pool *new_pool(unsigned threads, td_step_fn *step, void *ctx)
{
	struct td_pool *pool = calloc(1, sizeof *pool);
	struct worker *workers = calloc(threads, sizeof *workers);
	if (!pool || !workers) {
		free(pool);
		free(workers);
		return NULL;
	}
	pool->workers = workers;
	pool->step = step;
	pool->ctx = ctx;
	pthread_mutex_init(&pool->lock, NULL);
	for (unsigned i = 0; i < threads; i++) {
		workers[i] = (struct worker){ .pool = pool, .number = i };
		pthread_cond_init(&workers[i].cond, NULL);
	}
	return pool;
}

static void free_pool(struct td_pool *pool, unsigned threads)
{
	for (unsigned i = 0; i < threads; i++)
		pthread_cond_destroy(&pool->workers[i].cond);
	pthread_mutex_destroy(&pool->lock);
	free(pool->workers);
	free(pool);
}

int td_pool_start(struct td_pool **ret_pool, unsigned threads, td_step_fn *step, void *ctx,
    struct tundish_error *e)
{
	struct td_pool *pool = new_pool(threads, step, ctx);
	if (!pool)
		return td_err_memory(e);
	/* signals belong to the program's threads */
	sigset_t all, old;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	int rc = 0;
	struct td_pool *before = *ret_pool;
	*ret_pool = pool; /* where the first steps may look for it */
	td_pool_lock(pool);
	for (unsigned i = 0; i < threads && rc == 0; i++) {
		rc = pthread_create(&pool->workers[i].thread, NULL, run_worker, &pool->workers[i]);
		pool->threads += rc == 0;
	}
	td_pool_unlock(pool);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (pool->threads == 0) {
		*ret_pool = before;
		free_pool(pool, threads);
		return td_err_errno(e, rc, "starting threads");
	}
	/* fewer threads than asked for do the same work */
	return 0;
}

unsigned td_pool_threads(const struct td_pool *pool)
{
	return pool->threads;
}

void td_pool_lock(struct td_pool *pool)
{
	pthread_mutex_lock(&pool->lock);
	pool->locks++;
}

void td_pool_unlock(struct td_pool *pool)
{
	pthread_mutex_unlock(&pool->lock);
}

void td_pool_wake(struct td_pool *pool, unsigned n)
{
	td_pool_wake_among(pool, n, 0, pool->threads);
}

void td_pool_wake_among(struct td_pool *pool, unsigned n, unsigned from, unsigned end)
{
	end = TD_MIN(end, pool->threads);
	for (unsigned i = from; n > 0 && pool->sleeping > 0 && i < end; i++) {
		struct worker *w = &pool->workers[i];
		if (!w->asleep)
			continue;
		w->asleep = false;
		w->woken = true;
		pool->sleeping--;
		n--;
		pthread_cond_signal(&w->cond);
		atomic_fetch_add_explicit(&w->idle.wakeups, 1, memory_order_relaxed);
	}
}

void td_pool_wait(struct td_pool *pool, pthread_cond_t *cond, struct td_wait_stats *stats)
{
	td_wait(cond, &pool->lock, stats);
}

void td_pool_idle(const struct td_pool *pool, unsigned n, struct td_wait_sum *ret)
{
	*ret = (struct td_wait_sum){ .locks = pool->locks };
	for (unsigned i = 0; i < n && i < pool->threads; i++) {
		const struct td_wait_stats *idle = &pool->workers[i].idle;
		ret->waits += idle->waits;
		ret->wait_ns += idle->wait_ns;
		ret->wakeups += idle->wakeups;
	}
}

void td_pool_join(struct td_pool *pool, uint64_t *ret_idle_ns)
{
	if (!pool)
		return;
	for (unsigned i = 0; i < pool->threads; i++)
		pthread_join(pool->workers[i].thread, NULL);
	struct td_wait_sum idle;
	td_pool_idle(pool, pool->threads, &idle);
	if (ret_idle_ns)
		*ret_idle_ns = idle.wait_ns;
	free_pool(pool, pool->threads);
}
