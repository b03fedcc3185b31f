/* SPDX-License-Identifier: BSD-2-Clause
 * What holds a pipeline back, and what would be gained without it. */
#include "explain.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/attr.h"

/* Seconds of all threads together. */
struct budget {
	double all;	 /* threads x wall */
	double busy;	 /* CPU time in stages */
	double blocked;	 /* waiting inside a stage, as for a disk */
	double idle;	 /* nothing to do */
	double lost;	 /* none of these: ready to run but not running */
	double consumer; /* wall time in which the consumer did not wait */
};

static double at_least_zero(double v)
{
	return v > 0 ? v : 0;
}

static struct budget budget_of(const struct pass *pass)
{
	const struct tundish_flow_stats *s = &pass->stats;
	struct budget b = { .all = pass->seconds * s->threads };
	for (unsigned i = 0; i < s->n_stages; i++)
		b.busy += (double)s->stages[i].busy_ns / 1e9;
	for (unsigned i = 0; i < s->n_stages; i++)
		b.blocked += (double)s->stages[i].wait_ns / 1e9;
	b.idle = TD_MIN((double)s->workers_wait_ns / 1e9, b.all);
	b.lost = at_least_zero(b.all - b.busy - b.blocked - b.idle);
	b.consumer = at_least_zero(pass->seconds - (double)s->consumer_wait_ns / 1e9);
	return b;
}

static void gain(struct explain *e, double factor, const char *fmt, ...) td_printf_like(3, 4);
static void gain(struct explain *e, double factor, const char *fmt, ...)
{
	struct explain_gain *g = &e->gains[e->n_gains];
	va_list args;
	if (e->n_gains == TD_COUNT(e->gains) || factor < 1.005)
		return;
	va_start(args, fmt);
	vsnprintf(g->what, sizeof g->what, fmt, args);
	va_end(args);
	g->factor = factor;
	e->n_gains++;
}

static int larger_first(const void *a, const void *b)
{
	double x = ((const struct explain_gain *)a)->factor, y = ((const struct explain_gain *)b)->factor;
	return x > y ? -1 : x < y;
}

/* No gain goes past the point where the consumer itself is the limit. */
static double bounded(const struct pass *pass, const struct budget *b, double factor)
{
	return b->consumer > 0 ? TD_MIN(factor, pass->seconds / b->consumer) : factor;
}

static void stage_gains(struct explain *e, const struct pass *pass, const struct budget *b)
{
	for (unsigned i = 0; i < pass->stats.n_stages; i++) {
		const struct tundish_flow_stage *s = &pass->stats.stages[i];
		double rest = b->all - (double)s->busy_ns / 1e9;
		double factor = rest > 0 ? b->all / rest : 1e3;
		gain(e, bounded(pass, b, factor), "%s took no time", s->name);
		if (strcmp(s->name, "decode") == 0 && pass->stats.decoded_bytes &&
		    pass->stats.decoded_bytes <= pass->stats.memory / 2)
			gain(e, bounded(pass, b, factor), "--cache memory:decoded held %.0f MiB of pictures",
			    TD_MAX((double)pass->stats.decoded_bytes / 1048576, 1.0));
	}
}

static void name_stage(struct explain *e, const struct pass *pass, const struct budget *b)
{
	uint64_t most = 0;
	for (unsigned i = 0; i < pass->stats.n_stages; i++) {
		const struct tundish_flow_stage *s = &pass->stats.stages[i];
		if (s->busy_ns >= most) {
			most = s->busy_ns;
			e->bottleneck = s->name;
			e->share = b->busy > 0 ? (double)s->busy_ns / 1e9 / b->busy : 0;
		}
	}
}

void explain_pass(struct explain *ret_explain, const struct pass *pass, unsigned cores)
{
	struct explain *e = ret_explain;
	struct budget b = budget_of(pass);
	*e = (struct explain){ .bottleneck = "" };
	if (pass->seconds <= 0 || b.all <= 0)
		return;
	if (b.consumer > .9 * pass->seconds) {
		e->kind = EXPLAIN_CONSUMER;
		e->bottleneck = "the consumer";
		e->share = b.consumer / pass->seconds;
		return;
	}
	double waits = b.idle + b.blocked;
	if (waits > .2 * b.all) {
		e->kind = EXPLAIN_INPUT;
		e->bottleneck = b.blocked > b.idle ? "reading" : "too little work in flight";
		e->share = waits / b.all;
		gain(e, bounded(pass, &b, b.all / TD_MAX(b.all - waits, 1e-9)), "threads never waited");
	} else if (b.lost > .2 * b.all) {
		e->kind = EXPLAIN_MACHINE;
		e->bottleneck = "cores that others use";
		e->share = b.lost / b.all;
		gain(e, bounded(pass, &b, b.all / TD_MAX(b.all - b.lost, 1e-9)),
		    "each thread had a core of its own");
	} else {
		e->kind = EXPLAIN_CPU;
		name_stage(e, pass, &b);
		stage_gains(e, pass, &b);
	}
	if (cores > pass->stats.threads)
		gain(e, bounded(pass, &b, (double)cores / pass->stats.threads), "--threads were %u", cores);
	qsort(e->gains, e->n_gains, sizeof *e->gains, larger_first);
}

const char *explain_kind_name(enum explain_kind kind)
{
	static const char *const names[] = { "cpu", "input", "machine", "consumer" };
	return names[kind];
}
