/* SPDX-License-Identifier: BSD-2-Clause
 * tundish bench: how fast this machine can feed a set. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "benchout.h"
#include "cmds.h"
#include "flowopt.h"
#include "sample.h"

struct settings {
	struct tundish_flow_options o;
	unsigned warmup, repeat, seconds;
	const char *sweep;
};

#define S struct settings
static const struct opt options[] = {
	OPT_NUMBER("warmup", 0, S, warmup, 0, 1000),
	OPT_NUMBER("repeat", 0, S, repeat, 1, 1000),
	OPT_NUMBER("seconds", 0, S, seconds, 1, 86400),
	OPT_STRING("sweep", 0, S, sweep),
	FLOW_OPTIONS(S),
	OPT_END,
};

/* What --sweep can vary: options of the flow. */
static const char *const sweepable[] = { "threads", "batch", "prefetch", "memory", "shuffle",
	"last", "seed", "limit" };

static void init(struct call *call)
{
	struct settings *s = call->settings;
	flowopt_init(&s->o, &call->shared);
	s->o.epochs = 0; /* as many as a sample needs */
	s->warmup = 1;
	s->repeat = 5;
	s->seconds = 10;
}

/* All that a run of bench holds. */
struct bench {
	struct call *call;
	const struct settings *settings;
	struct benchout_point points[BENCHOUT_POINTS];
	struct tundish_flow_options o[BENCHOUT_POINTS];
	unsigned n_points;
	struct tundish_error error;
};

/* A short pass is repeated within a sample, so that a sample takes this long. */
#define SAMPLE_SECONDS .5

static int measure(void *ctx, unsigned point, int round)
{
	struct bench *b = ctx;
	struct tundish_flow_options o = b->o[point];
	struct pass pass;
	bool first = point == 0 && round == -(int)b->settings->warmup;
	/* the same faults would come with each pass */
	if (!first) {
		o.listener.fault = NULL;
		o.listener.notice = NULL;
	}
	o.listener.progress = NULL;
	if (o.epochs == 0)
		o.epochs = 1;
	int rc = pass_run(&o, b->settings->seconds, &pass, &b->error);
	if (rc < 0)
		return rc;
	if (round < 0 && b->settings->o.epochs == 0)
		b->o[point].epochs = 1 + (uint64_t)(SAMPLE_SECONDS / (pass.seconds + 1e-6) *
						     (double)o.epochs);
	else if (round >= 0)
		b->points[point].passes[b->points[point].n++] = pass;
	struct tundish_progress now = {
		.items = (uint64_t)(round + (int)b->settings->warmup) * b->n_points + point + 1,
		.items_total = (uint64_t)(b->settings->warmup + b->settings->repeat) * b->n_points,
	};
	report_progress(&b->call->report, &now);
	return 0;
}

/* "NAME=a,b,c" into points: a copy of the options for each value. */
static int make_sweep(struct bench *b, char *text)
{
	struct call *call = b->call;
	char *values = strchr(text, '='), *rest = NULL;
	bool known = false;
	if (values)
		*values++ = 0;
	for (unsigned i = 0; i < TD_COUNT(sweepable); i++)
		known |= !strcmp(text, sweepable[i]);
	if (!known || !values || !*values)
		return report_error(&call->report, EXIT_USAGE,
		    "bench: --sweep must be NAME=a,b,c with threads, batch, prefetch, memory, "
		    "shuffle, last, seed or limit");
	b->n_points = 0;
	for (char *v = strtok_r(values, ",", &rest); v; v = strtok_r(NULL, ",", &rest)) {
		struct settings copy = *b->settings;
		if (b->n_points == BENCHOUT_POINTS)
			return report_error(&call->report, EXIT_USAGE,
			    "bench: --sweep takes at most %d values", BENCHOUT_POINTS);
		if (opt_set(call->cmd, &call->shared, &copy, text, v))
			return EXIT_USAGE;
		flowopt_apply(&copy.o, call);
		b->points[b->n_points].value = v;
		b->o[b->n_points++] = copy.o;
	}
	return 0;
}

static int make_points(struct bench *b, char *sweep)
{
	if (sweep)
		return make_sweep(b, sweep);
	b->n_points = 1;
	b->o[0] = b->settings->o;
	flowopt_apply(&b->o[0], b->call);
	return 0;
}

static int take_samples(struct bench *b)
{
	const struct settings *s = b->settings;
	const struct sample_plan plan = { s->warmup, s->repeat, b->n_points };
	for (unsigned i = 0; i < b->n_points; i++) {
		b->points[i].passes = calloc(s->repeat, sizeof(struct pass));
		if (!b->points[i].passes)
			return td_err_memory(&b->error);
	}
	return sample_rounds(&plan, measure, b);
}

/* Images and seconds of all samples: the closing line. */
static void say_total(struct bench *b)
{
	uint64_t images = 0;
	double seconds = 0;
	for (unsigned i = 0; i < b->n_points; i++) {
		for (unsigned k = 0; k < b->points[i].n; k++) {
			images += b->points[i].passes[k].images;
			seconds += b->points[i].passes[k].seconds;
		}
	}
	b->call->report.progress.noun = "images";
	report_rate(&b->call->report, images, seconds);
}

static int run(struct call *call)
{
	struct settings *s = call->settings;
	char *sweep = s->sweep ? strdup(s->sweep) : NULL;
	struct bench b = { .call = call, .settings = s };
	int code = call_needs_paths(call);
	code = code ? code : make_points(&b, sweep);
	if (code == 0) {
		int rc = take_samples(&b);
		progress_clear(&call->report.progress);
		if (rc == 0) {
			const struct benchout out = { s->o.ops, sweep, s->warmup, s->repeat, s->o.batch,
				b.points, b.n_points };
			(call->shared.json ? benchout_json : benchout_text)(&out);
			fflush(stdout);
		}
		code = rc < 0 ? report_failure(&call->report, rc, &b.error) : EXIT_FINE;
		if (rc == 0 || rc == TUNDISH_E_STOPPED)
			say_total(&b);
	}
	for (unsigned i = 0; i < b.n_points; i++)
		free(b.points[i].passes);
	free(sweep);
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
