/* SPDX-License-Identifier: BSD-2-Clause
 * One timed pass of a flow into nothing: what bench repeats. */
#include "pass.h"

#include "base/thread.h"
#include "sig.h"

static int drain(struct tundish_flow *flow, double seconds, struct pass *pass,
    struct tundish_error *error)
{
	struct tundish_batch batch;
	uint64_t start = td_now_ns(), most = (uint64_t)(seconds * 1e9), spent = 0;
	int rc;
	while (spent < most && (rc = tundish_flow_next(flow, &batch, error)) != 0) {
		if (rc < 0)
			return rc;
		pass->images += batch.count;
		pass->batches++;
		pass->image_bytes += batch.images_bytes;
		tundish_flow_release(flow, &batch);
		spent = td_now_ns() - start;
		if (sig_asked())
			return TUNDISH_E_STOPPED;
	}
	pass->seconds = (double)(td_now_ns() - start) / 1e9;
	return 0;
}

int pass_run(const struct tundish_flow_options *options, double seconds, struct pass *ret_pass,
    struct tundish_error *ret_error)
{
	struct pass pass = { 0 };
	struct tundish_flow *flow;
	int rc = tundish_flow_open(&flow, options, ret_error);
	if (rc < 0)
		return rc;
	rc = drain(flow, seconds, &pass, ret_error);
	tundish_flow_stats(flow, &pass.stats);
	tundish_flow_close(flow);
	if (rc == 0)
		*ret_pass = pass;
	return rc;
}
