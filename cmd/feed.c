/* SPDX-License-Identifier: BSD-2-Clause
 * tundish feed: batches of a set into another program. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/outfile.h"
#include "base/thread.h"
#include "cmds.h"
#include "flowopt.h"
#include "out.h"
#include "sig.h"

struct settings {
	struct tundish_flow_options o;
	struct opt_list mix;
	const char *to, *cursor;
	int dry_run;
};

#define S struct settings
static const struct opt options[] = {
	OPT_STRING("to", 0, S, to),
	OPT_STRING("start", 0, S, o.start),
	OPT_STRING("cursor", 0, S, cursor),
	OPT_FLAG("dry-run", 0, S, dry_run, 1),
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
	uint64_t images, start_ns, noted_ns;
};

/* Reads the line of --cursor into `text`; no file means the start. */
static int read_cursor(struct call *call, char *text, size_t bytes)
{
	struct settings *s = call->settings;
	if (!s->cursor)
		return 0;
	if (s->o.start)
		return report_error(&call->report, EXIT_USAGE,
		    "feed: --start and --cursor both say where to start");
	FILE *f = fopen(s->cursor, "re");
	if (!f && errno == ENOENT)
		return 0;
	if (!f || !fgets(text, (int)bytes, f)) {
		int why = errno;
		if (f)
			fclose(f);
		return report_error(&call->report, EXIT_FAILED, "%s: %s", TD_ESC(s->cursor),
		    f ? "holds no cursor" : strerror(why));
	}
	fclose(f);
	text[strcspn(text, "\n")] = 0;
	s->o.start = text;
	return 0;
}

/* Notes where the flow stands: once a second is often enough, and at the end. */
static int note_cursor(const struct settings *s, struct tundish_flow *flow, struct tally *tally,
    bool end, struct tundish_error *error)
{
	char text[128];
	uint64_t now = td_now_ns();
	if (!s->cursor || (!end && now - tally->noted_ns < 1000000000))
		return 0;
	tally->noted_ns = now;
	int n = snprintf(text, sizeof text, "%s\n", tundish_flow_cursor(flow));
	return td_write_file(s->cursor, text, (size_t)n, error);
}

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
		now.bytes += batch.arrays_bytes;
		tundish_flow_release(flow, &batch);
		rc = rc < 0 ? rc : note_cursor(s, flow, tally, false, error);
		if (rc < 0)
			return rc;
		now.items = tally->images;
		report_progress(&call->report, &now);
		if (sig_asked()) {
			rc = note_cursor(s, flow, tally, true, error);
			return rc < 0 ? rc : TUNDISH_E_STOPPED;
		}
	}
	return note_cursor(s, flow, tally, true, error);
}

/* The number of batches in tf.data's terms: -1 without end, -2 unknown. */
static void print_cardinality(const struct settings *s, const struct tundish_flow *flow)
{
	uint64_t batches = tundish_flow_batches(flow);
	if (s->o.epochs == UINT64_MAX)
		puts("-1");
	else if (batches == UINT64_MAX)
		puts("-2");
	else
		printf("%" PRIu64 "\n", batches);
}

static void say_walk(struct call *call, struct tundish_flow *flow)
{
	struct tundish_flow_stats stats;
	tundish_flow_stats(flow, &stats);
	flowopt_say_walk(call, &stats);
}

/* What the faults that were told do not say. */
static void say_stats(struct call *call, struct tundish_flow *flow)
{
	struct tundish_flow_stats stats;
	tundish_flow_stats(flow, &stats);
	if (stats.replaced)
		report_say(&call->report, "note: bad records whose place others took: %" PRIu64,
		    stats.replaced);
	if (stats.topped_up)
		report_say(&call->report, "note: records drawn once more for --min-per-source: %" PRIu64,
		    stats.topped_up);
	if (stats.index_refused)
		report_say(&call->report, "note: JPEG indexes that do not fit their pictures: %" PRIu64,
		    stats.index_refused);
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
	char start[128] = "";
	if (flowopt_mix(&s->o, &s->mix, call) ||
	    (binary(s->to) && !s->dry_run && call_refuse_terminal(call)))
		return EXIT_USAGE;
	int code = flowopt_ranks(&s->o, call);
	code = code ? code : read_cursor(call, start, sizeof start);
	if (code)
		return code;
	flowopt_apply(&s->o, call);
	int rc = tundish_feed_open(&feed, s->to, STDOUT_FILENO, &error);
	if (rc == 0)
		rc = tundish_flow_open(&flow, &s->o, &error);
	if (rc == 0)
		say_walk(call, flow);
	if (rc == 0 && s->dry_run)
		print_cardinality(s, flow);
	else if (rc == 0)
		rc = pump(call, flow, feed, &tally, &error);
	if (rc == 0 && !s->dry_run && *tundish_feed_digest(feed))
		printf("%s\n", tundish_feed_digest(feed));
	if (flow)
		say_stats(call, flow);
	tundish_flow_close(flow);
	tundish_feed_close(feed);
	out_flush();
	code = rc < 0 ? report_failure(&call->report, rc, &error) : EXIT_FINE;
	if ((rc == 0 || rc == TUNDISH_E_STOPPED) && !binary(s->to) && !s->dry_run)
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
