/* SPDX-License-Identifier: BSD-2-Clause
 * One account of the bytes that a flow holds, against a budget. */
#include "ledger.h"

static void note_peak(struct td_ledger *l, uint64_t used)
{
	uint64_t peak = atomic_load_explicit(&l->peak, memory_order_relaxed);
	while (used > peak && !atomic_compare_exchange_weak_explicit(&l->peak, &peak, used,
				  memory_order_relaxed, memory_order_relaxed))
		;
}

void td_ledger_take(struct td_ledger *l, uint64_t bytes)
{
	note_peak(l, atomic_fetch_add_explicit(&l->used, bytes, memory_order_relaxed) + bytes);
}

bool td_ledger_try(struct td_ledger *l, uint64_t bytes)
{
	uint64_t used = atomic_load_explicit(&l->used, memory_order_relaxed);
	do {
		if (used > l->budget || bytes > l->budget - used)
			return false;
	} while (!atomic_compare_exchange_weak_explicit(&l->used, &used, used + bytes,
	    memory_order_relaxed, memory_order_relaxed));
	note_peak(l, used + bytes);
	return true;
}

void td_ledger_give(struct td_ledger *l, uint64_t bytes)
{
	atomic_fetch_sub_explicit(&l->used, bytes, memory_order_relaxed);
}

void td_gate_init(struct td_gate *g, struct td_ledger *ledger)
{
	*g = (struct td_gate){ .ledger = ledger };
	pthread_mutex_init(&g->lock, NULL);
	pthread_cond_init(&g->left, NULL);
}

void td_gate_enter(struct td_gate *g, uint64_t bytes)
{
	pthread_mutex_lock(&g->lock);
	bool fits;
	while (!(fits = td_ledger_try(g->ledger, bytes)) && g->inside > 0)
		td_wait(&g->left, &g->lock, &g->waits);
	if (!fits)
		td_ledger_take(g->ledger, bytes);
	g->inside++;
	pthread_mutex_unlock(&g->lock);
}

void td_gate_leave(struct td_gate *g, uint64_t bytes)
{
	pthread_mutex_lock(&g->lock);
	td_ledger_give(g->ledger, bytes);
	g->inside--;
	pthread_cond_broadcast(&g->left);
	pthread_mutex_unlock(&g->lock);
}

void td_gate_fini(struct td_gate *g)
{
	pthread_cond_destroy(&g->left);
	pthread_mutex_destroy(&g->lock);
}
