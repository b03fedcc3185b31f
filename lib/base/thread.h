/* SPDX-License-Identifier: BSD-2-Clause
 * Clocks, cores, and the one place where threads wait. */
#pragma once
#include <pthread.h>
#include <stdatomic.h>

#include "attr.h"

uint64_t td_now_ns(void);	/* monotonic */
uint64_t td_thread_cpu_ns(void);/* CPU time of the calling thread */

/* What waiting cost. Every blocking wait of the library is counted in one. */
struct td_wait_stats {
	_Atomic uint64_t waits, wait_ns, wakeups;
};

/* pthread_cond_wait(), counted and timed; `stats` may be NULL. */
void td_wait(pthread_cond_t *cond, pthread_mutex_t *mutex, struct td_wait_stats *stats);

/* With TUNDISH_STALL set in the environment, sleeps for a short time that
 * differs from call to call: provokes races in tests. Called where work passes
 * from one thread to another, without locks held. */
void td_stall(void);

/* Cores this process may use, see tundish_usable_cores(). */
unsigned td_usable_cores(void);
/* `asked` threads, or the usable cores when it is 0; at most 1024. */
unsigned td_threads(unsigned asked);
/* Memory budget in bytes: `asked`, or tundish_default_memory() when it is 0. */
uint64_t td_memory(uint64_t asked);
