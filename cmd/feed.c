/* SPDX-License-Identifier: BSD-2-Clause
 * tundish feed: batches of a set into another program. */
#include <string.h>
#include <unistd.h>

#include "base/thread.h"
#include "cmds.h"
#include "flowopt.h"
#include "sig.h"

struct settings {
	struct tundish_flow_options o;
	const char *to;
};

#define S struct settings
static const struct opt options[] = {
	OPT_STRING("to", 0, S, to),
	FLOW_OPTIONS(S),
	OPT_END,
};

static void init(struct call *call)
{
	struct settings *s = call->settings;
	flowopt_init(&s->o, &call->shared);
	s->to = "npy";
}

/* What a run delivered. */
struct tally {
	uint64_t images, batches, start_ns;
};

/* From flow to feed until either ends. 0, or a negative code. */
static int pump(struct call *call, struct tundish_flow *flow, struct tundish_feed *feed,
    struct tally *tally, struct tundish_error *error)
{
	const struct settings *s = call->settings;
	struct tundish_batch batch;
	struct tundish_progress now = { 0 };
	/* stays 0 where it is unknown or without end */
	if (td_mul_overflow(tundish_flow_records(flow), s->o.epochs, &now.items_total))
		now.items_total = 0;
	for (int rc; (rc = tundish_flow_next(flow, &batch, error)) != 0;) {
		if (rc < 0)
			return rc;
		rc = tundish_feed_put(feed, &batch, error);
		tally->images += batch.count;
		tally->batches++;
		now.bytes += batch.images_bytes;
		tundish_flow_release(flow, &batch);
		if (rc < 0)
			return rc;
		now.items = tally->images;
		report_progress(&call->report, &now);
		if (sig_asked())
			return TUNDISH_E_STOPPED;
	}
	return 0;
}

static bool binary(const char *to)
{
	return !strcmp(to, "npy") || !strcmp(to, "raw");
}

static int run(struct call *call)
{
	struct settings *s = call->settings;
	struct tundish_flow *flow = NULL;
	struct tundish_feed *feed = NULL;
	struct tundish_error error = { 0 };
	struct tally tally = { .start_ns = td_now_ns() };
	if (call_needs_paths(call) || (binary(s->to) && call_refuse_terminal(call)))
		return EXIT_USAGE;
	flowopt_apply(&s->o, call);
	int rc = tundish_feed_open(&feed, s->to, STDOUT_FILENO, &error);
	if (rc == 0)
		rc = tundish_flow_open(&flow, &s->o, &error);
	if (rc == 0)
		rc = pump(call, flow, feed, &tally, &error);
	if (rc == 0 && *tundish_feed_digest(feed))
		printf("%s\n", tundish_feed_digest(feed));
	tundish_flow_close(flow);
	tundish_feed_close(feed);
	fflush(stdout);
	int code = rc < 0 ? report_failure(&call->report, rc, &error) : EXIT_FINE;
	if ((rc == 0 || rc == TUNDISH_E_STOPPED) && !binary(s->to))
		report_rate(&call->report, tally.images, (double)(td_now_ns() - tally.start_ns) / 1e9);
	return code == EXIT_FINE && call->report.faults ? EXIT_BAD_DATA : code;
}

const struct cmd cmd_feed = {
	.name = "feed",
	.noun = "images",
	.shared = FLOW_SHARES,
	.options = options,
	.settings_bytes = sizeof(S),
	.init = init,
	.run = run,
};
