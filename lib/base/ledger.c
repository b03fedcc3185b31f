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
