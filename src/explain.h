/* SPDX-License-Identifier: BSD-2-Clause
 * What holds a pipeline back, and what would be gained without it. */
#pragma once
#include "pass.h"

enum explain_kind {
	EXPLAIN_CPU,	 /* the threads are busy: a stage */
	EXPLAIN_INPUT,	 /* the threads wait for data, the consumer for them */
	EXPLAIN_MACHINE, /* the threads do not get the cores they ask for */
	EXPLAIN_CONSUMER,/* the pipeline keeps up: the consumer itself */
};

struct explain_gain {
	char what[80];	/* "decode took no time" */
	double factor;	/* of the rate; a bound from above */
};

struct explain {
	enum explain_kind kind;
	const char *bottleneck; /* "decode", "reading", "other processes", "the consumer" */
	double share;		/* how much of the time it takes, 0 to 1 */
	struct explain_gain gains[20]; /* largest first */
	unsigned n_gains;
};

/* Of one pass or the sum of several; `cores` are those that may be used. */
void explain_pass(struct explain *ret_explain, const struct pass *pass, unsigned cores);
const char *explain_kind_name(enum explain_kind kind);
