/* SPDX-License-Identifier: BSD-2-Clause
 * One timed pass of a flow into nothing: what bench repeats. */
#include "pass.h"

#include <time.h>

#include "base/thread.h"
#include "sig.h"

/* A training step: the machine's cores are free meanwhile. */
static void step(double ms)
{
	struct timespec t = { .tv_sec = (time_t)(ms / 1e3) };
	t.tv_nsec = (long)((ms - 1e3 * (double)t.tv_sec) * 1e6);
	if (ms > 0)
		nanosleep(&t, NULL);
}

static int drain(struct tundish_flow *flow, const struct pass_limits *limits, struct pass *pass,
    struct tundish_error *error)
{
	struct tundish_batch batch;
	uint64_t start = td_now_ns(), most = (uint64_t)(limits->seconds * 1e9), spent = 0;
	int rc;
	while (spent < most && (rc = tundish_flow_next(flow, &batch, error)) != 0) {
		if (rc < 0)
			return rc;
		pass->images += batch.count;
		pass->bytes += batch.arrays_bytes;
		step(limits->step_ms);
		tundish_flow_release(flow, &batch);
		spent = td_now_ns() - start;
		if (sig_asked())
			return TUNDISH_E_STOPPED;
	}
	pass->seconds = (double)(td_now_ns() - start) / 1e9;
	return 0;
}

int pass_run(const struct tundish_flow_options *options, const struct pass_limits *limits,
    struct pass *ret_pass, struct tundish_error *ret_error)
{
	struct pass pass = { 0 };
	struct tundish_flow_options o = *options;
	struct tundish_flow *flow;
	o.trace = limits->trace != NULL;
	int rc = tundish_flow_open(&flow, &o, ret_error);
	if (rc < 0)
		return rc;
	rc = drain(flow, limits, &pass, ret_error);
	tundish_flow_stats(flow, &pass.stats);
	if (rc == 0 && limits->trace)
		rc = tundish_flow_trace(flow, limits->trace, ret_error);
	tundish_flow_close(flow);
	if (rc == 0)
		*ret_pass = pass;
	return rc;
}

int pass_read(const struct tundish_flow_options *options, const struct pass_limits *limits,
    struct pass *ret_pass, struct tundish_error *ret_error)
{
	struct tundish_count_options o;
	struct tundish_count *count;
	uint64_t start = td_now_ns();
	tundish_count_options_init(&o);
	o.paths = options->paths;
	o.n_paths = options->n_paths;
	o.crc = TUNDISH_CRC_FULL;
	o.compression = options->compression;
	o.on_error = options->on_error;
	o.threads = options->threads;
	o.memory = options->memory;
	o.max_record_bytes = options->max_record_bytes;
	o.listener = options->listener;
	struct pass pass = { .stats = { .threads = td_threads(o.threads) } };
	for (uint64_t i = 0; i < options->epochs; i++) {
		int rc = tundish_count(&o, &count, ret_error);
		if (rc < 0)
			return rc;
		pass.images += count->records;
		pass.stats.record_bytes += count->bytes;
		tundish_count_free(count);
		pass.seconds = (double)(td_now_ns() - start) / 1e9;
		if (pass.seconds > limits->seconds)
			break;
	}
	*ret_pass = pass;
	return 0;
}

struct pass pass_sum(const struct pass *passes, unsigned n)
{
	struct pass sum = { 0 };
	for (unsigned i = 0; i < n; i++) {
		const struct pass *p = &passes[i];
		struct tundish_flow_stats old = sum.stats;
		sum.images += p->images;
		sum.bytes += p->bytes;
		sum.seconds += p->seconds;
		sum.stats = p->stats;
		sum.stats.record_bytes += old.record_bytes;
		sum.stats.consumer_wait_ns += old.consumer_wait_ns;
		sum.stats.workers_wait_ns += old.workers_wait_ns;
		sum.stats.index_refused += old.index_refused;
		sum.stats.waits += old.waits;
		sum.stats.wakeups += old.wakeups;
		sum.stats.locks += old.locks;
		sum.stats.reads += old.reads;
		sum.stats.uring_reads += old.uring_reads;
		sum.stats.batches += old.batches;
		sum.stats.memory_peak = TD_MAX(sum.stats.memory_peak, old.memory_peak);
		for (unsigned k = 0; k < old.n_stages; k++) {
			sum.stats.stages[k].items += old.stages[k].items;
			sum.stats.stages[k].bytes += old.stages[k].bytes;
			sum.stats.stages[k].busy_ns += old.stages[k].busy_ns;
			sum.stats.stages[k].wait_ns += old.stages[k].wait_ns;
		}
	}
	return sum;
}

static double part(uint64_t ns, double seconds)
{
	return seconds > 0 ? TD_MIN((double)ns / 1e9 / seconds, 1.) : 0;
}

double pass_consumer_wait(const struct pass *pass)
{
	return part(pass->stats.consumer_wait_ns, pass->seconds);
}

double pass_workers_idle(const struct pass *pass)
{
	return part(pass->stats.workers_wait_ns, pass->seconds * pass->stats.threads);
}
