/* SPDX-License-Identifier: BSD-2-Clause
 * tundish bench: how fast this machine can feed a set. */
#include <stdlib.h>
#include <sys/stat.h>

#include "base/err.h"
#include "base/outfile.h"
#include "benchout.h"
#include "cmds.h"
#include "flowopt.h"
#include "out.h"
#include "plot.h"
#include "sample.h"

struct settings {
	struct tundish_flow_options o;
	struct opt_list mix;
	unsigned warmup, repeat, seconds, step_ms;
	struct opt_list sweep;
	int grid, explain, levels;
	const char *plot, *save, *trace;
};

#define S struct settings
static const struct opt options[] = {
	OPT_NUMBER("warmup", 0, S, warmup, 0, 1000),
	OPT_NUMBER("repeat", 0, S, repeat, 1, 1000),
	OPT_NUMBER("seconds", 0, S, seconds, 1, 86400),
	OPT_NUMBER("step-ms", 0, S, step_ms, 0, 1000000),
	OPT_LIST("sweep", 0, S, sweep),
	OPT_FLAG("grid", 0, S, grid, 1),
	OPT_FLAG("levels", 0, S, levels, 1),
	OPT_FLAG("explain", 0, S, explain, 1),
	OPT_STRING("plot", 0, S, plot),
	OPT_STRING("save", 0, S, save),
	OPT_STRING("trace", 0, S, trace),
	FLOW_OPTIONS(S),
	OPT_END,
};

static void init(struct call *call)
{
	struct settings *s = call->settings;
	flowopt_init(&s->o, &call->shared);
	s->o.epochs = 0; /* as many as a sample needs */
	s->warmup = 1;
	s->repeat = 5;
	s->seconds = 10;
}

/* All that a run of bench holds; arrays have an element for each setting. */
struct bench {
	struct call *call;
	const struct settings *settings;
	struct sweeps sweeps;
	struct tundish_flow_options *options;
	struct benchout_point *points;
	struct pass *passes;
	struct tundish_error error;
};

/* A short pass is repeated within a sample, so that a sample takes this long. */
#define SAMPLE_SECONDS .5

static void tell_progress(struct bench *b, unsigned point, int round)
{
	const struct settings *s = b->settings;
	struct tundish_progress now = {
		.items = (uint64_t)(round + (int)s->warmup) * b->sweeps.points + point + 1,
		.items_total = (uint64_t)(s->warmup + s->repeat) * b->sweeps.points,
	};
	report_progress(&b->call->report, &now);
}

/* The first of --levels. */
static bool is_reading(const struct bench *b, unsigned point)
{
	return b->sweeps.levels && point == 0;
}

static int measure(void *ctx, unsigned point, int round)
{
	struct bench *b = ctx;
	const struct settings *s = b->settings;
	struct tundish_flow_options o = b->options[point];
	struct pass_limits limits = { s->seconds, s->step_ms, NULL };
	struct pass pass;
	/* the same faults would come with each pass */
	if (point || round != -(int)s->warmup) {
		o.listener.fault = NULL;
		o.listener.notice = NULL;
	}
	o.listener.progress = NULL;
	/* of the last sample, at the last setting */
	if (round + 1 == (int)s->repeat && point + 1 == b->sweeps.points)
		limits.trace = s->trace;
	o.epochs = TD_MAX(o.epochs, (uint64_t)1);
	int rc = is_reading(b, point) ? pass_read(&o, &limits, &pass, &b->error) :
					pass_run(&o, &limits, &pass, &b->error);
	/* pictures of different size: what makes them alike comes later in the chain */
	if (rc == TUNDISH_E_SCHEMA && s->levels && point + 1 < b->sweeps.points)
		return 0;
	if (rc < 0)
		return rc;
	if (point == (unsigned)is_reading(b, 0) && round == -(int)s->warmup)
		flowopt_say_walk(b->call, &pass.stats);
	if (round < 0 && s->o.epochs == 0)
		b->options[point].epochs =
		    1 + (uint64_t)(SAMPLE_SECONDS / (pass.seconds + 1e-6) * (double)o.epochs);
	else if (round >= 0)
		b->points[point].passes[b->points[point].n++] = pass;
	tell_progress(b, point, round);
	return 0;
}

/* The options of a setting are those of the command line with the swept ones set. */
static int make_point(struct bench *b, unsigned point)
{
	struct settings copy = *b->settings;
	struct call call = *b->call;
	for (unsigned k = 0; k < b->sweeps.n; k++) {
		const char *value = sweeps_value(&b->sweeps, point, k);
		if (value && *value && opt_set(call.cmd, &call.shared, &copy, b->sweeps.list[k].name, value))
			return EXIT_USAGE;
	}
	flowopt_apply(&copy.o, &call);
	b->options[point] = copy.o;
	b->points[point].passes = b->passes + (size_t)point * b->settings->repeat;
	return 0;
}

static int make_points(struct bench *b)
{
	unsigned n = b->sweeps.points;
	b->options = calloc(n, sizeof *b->options);
	b->points = calloc(n, sizeof *b->points);
	b->passes = calloc((size_t)n * b->settings->repeat, sizeof *b->passes);
	if (!b->options || !b->points || !b->passes)
		return report_error(&b->call->report, EXIT_FAILED, "out of memory");
	for (unsigned i = 0; i < n; i++)
		if (make_point(b, i))
			return EXIT_USAGE;
	return 0;
}

/* Images and seconds of all samples: the closing line. */
static void say_total(struct bench *b)
{
	uint64_t images = 0;
	double seconds = 0;
	for (unsigned i = 0; i < b->sweeps.points; i++) {
		struct pass sum = pass_sum(b->points[i].passes, b->points[i].n);
		images += sum.images;
		seconds += sum.seconds;
	}
	b->call->report.progress.noun = "images";
	report_rate(&b->call->report, images, seconds);
}

static int tell(struct bench *b)
{
	const struct settings *s = b->settings;
	const struct benchout out = { s->o.ops, &b->sweeps, s->warmup, s->repeat, s->o.batch, s->explain,
		b->points };
	(b->call->shared.json ? benchout_json : benchout_text)(&out);
	out_flush();
	int rc = s->save ? benchout_save(&out, s->save, &b->error) : 0;
	return rc == 0 && s->plot ? benchout_plot(&out, s->plot, &b->error) : rc;
}

/* What the results are to be written to, before they take their time. */
static int check_files(struct bench *b)
{
	const struct settings *s = b->settings;
	const char *const files[] = { s->save, s->trace, s->plot };
	int rc = s->plot ? plot_check(s->plot, &b->error) : 0;
	for (size_t i = 0; i < TD_COUNT(files) && rc == 0; i++) {
		struct td_outfile out = { 0 };
		struct stat st;
		/* who reads a pipe would take its closing for the end */
		if (!files[i] || (stat(files[i], &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode)))
			continue;
		rc = td_outfile_open(&out, files[i], &b->error);
		td_outfile_abort(&out);
	}
	return rc;
}

static int measure_all(struct bench *b)
{
	const struct settings *s = b->settings;
	const struct sample_plan plan = { s->warmup, s->repeat, b->sweeps.points };
	int rc = check_files(b);
	rc = rc ? rc : sample_rounds(&plan, measure, b);
	progress_clear(&b->call->report.progress);
	rc = rc ? rc : tell(b);
	int code = rc < 0 ? report_failure(&b->call->report, rc, &b->error) : EXIT_FINE;
	if (rc == 0 || rc == TUNDISH_E_STOPPED)
		say_total(b);
	return code;
}

static int make_sweeps(struct bench *b)
{
	const struct settings *s = b->settings;
	if (!s->levels)
		return sweeps_parse(&b->sweeps, &s->sweep, s->grid);
	if (s->sweep.n || s->save)
		return report_error(&b->call->report, EXIT_USAGE,
		    "bench: --levels goes with neither --sweep nor --save");
	return sweeps_levels(&b->sweeps, s->o.ops);
}

static int run(struct call *call)
{
	struct settings *s = call->settings;
	struct bench b = { .call = call, .settings = s };
	int code = flowopt_mix(&s->o, &s->mix, call);
	if (code == 0 && s->mix.n && s->levels)
		code = report_error(&call->report, EXIT_USAGE, "bench: --levels is of one set, not of a --mix");
	code = code ? code : flowopt_ranks(&s->o, call);
	code = code ? code : make_sweeps(&b);
	code = code ? code : make_points(&b);
	code = code ? code : measure_all(&b);
	free(b.options);
	free(b.points);
	free(b.passes);
	sweeps_free(&b.sweeps);
	return code == EXIT_FINE && call->report.faults ? EXIT_BAD_DATA : code;
}

const struct cmd cmd_bench = {
	.name = "bench",
	.noun = "passes",
	.shared = FLOW_SHARES | SHARE_JSON,
	.options = options,
	.settings_bytes = sizeof(S),
	.init = init,
	.run = run,
};
