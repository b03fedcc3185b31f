/* SPDX-License-Identifier: BSD-2-Clause
 * Clocks, cores, and the one place where threads wait. */
#include "thread.h"

#include <stdlib.h>
#include <time.h>

static uint64_t clock_ns(clockid_t id)
{
	struct timespec t;
	clock_gettime(id, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

uint64_t td_now_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

uint64_t td_thread_cpu_ns(void)
{
	return clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

void td_wait(pthread_cond_t *cond, pthread_mutex_t *mutex, struct td_wait_stats *stats)
{
	uint64_t start = td_now_ns();
	pthread_cond_wait(cond, mutex);
	if (!stats)
		return;
	atomic_fetch_add_explicit(&stats->waits, 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&stats->wait_ns, td_now_ns() - start, memory_order_relaxed);
}

static _Atomic int stall_state = -1;

void td_stall(void)
{
	int state = atomic_load_explicit(&stall_state, memory_order_relaxed);
	if (td_likely(state == 0))
		return;
	if (state < 0) {
		const char *s = getenv("TUNDISH_STALL");
		state = s && *s && *s != '0' ? 1 : 0;
		atomic_store_explicit(&stall_state, state, memory_order_relaxed);
		if (!state)
			return;
	}
	static _Atomic uint32_t turn;
	uint32_t x = atomic_fetch_add_explicit(&turn, 1, memory_order_relaxed) * 2654435761u;
	struct timespec t = { .tv_nsec = (long)((x >> 16) % 1500) * 1000 };
	nanosleep(&t, NULL);
}

unsigned td_threads(unsigned asked)
{
	return TD_MIN(asked ? asked : td_usable_cores(), 1024u);
}
