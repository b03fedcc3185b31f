/* SPDX-License-Identifier: BSD-2-Clause
 * One account of the bytes that a flow holds, against a budget. */
#pragma once
#include <stdbool.h>

#include "thread.h"

struct td_ledger {
	uint64_t budget; /* set before use */
	_Atomic uint64_t used, peak;
};

/* Takes bytes in any case. */
void td_ledger_take(struct td_ledger *l, uint64_t bytes);
/* Takes them if they fit. */
bool td_ledger_try(struct td_ledger *l, uint64_t bytes) td_must_check;
void td_ledger_give(struct td_ledger *l, uint64_t bytes);

/* The way in for work that needs much for a short time. Whoever does not fit waits, but one
 * may always be inside, so that a single over-size item passes alone. */
struct td_gate {
	struct td_ledger *ledger;
	pthread_mutex_t lock;
	pthread_cond_t left;
	unsigned inside;
	struct td_wait_stats waits;
};
void td_gate_init(struct td_gate *g, struct td_ledger *ledger);
void td_gate_enter(struct td_gate *g, uint64_t bytes);
void td_gate_leave(struct td_gate *g, uint64_t bytes);
void td_gate_fini(struct td_gate *g);
