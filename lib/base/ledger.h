/* SPDX-License-Identifier: BSD-2-Clause
 * One account of the bytes that a flow holds, against a budget. */
#pragma once
#include <stdatomic.h>
#include <stdbool.h>

#include "attr.h"

struct td_ledger {
	uint64_t budget; /* set before use */
	_Atomic uint64_t used, peak;
};

/* Takes bytes in any case. */
void td_ledger_take(struct td_ledger *l, uint64_t bytes);
/* Takes them if they fit. */
bool td_ledger_try(struct td_ledger *l, uint64_t bytes) td_must_check;
void td_ledger_give(struct td_ledger *l, uint64_t bytes);
