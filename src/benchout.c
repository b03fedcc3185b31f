/* SPDX-License-Identifier: BSD-2-Clause
 * What bench found, as text and as JSON. */
#include "benchout.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/outfile.h"
#include "explain.h"
#include "out.h"
#include "plot.h"
#include "sample.h"
#include "units.h"

enum rate {
	RATE_IMAGES,   /* images a second */
	RATE_READ,     /* megabytes of records a second */
	RATE_DELIVERED,/* megabytes of batches a second */
};

static double rate_of(const struct pass *p, enum rate rate)
{
	double s = p->seconds > 0 ? p->seconds : 1e-9;
	switch (rate) {
	case RATE_IMAGES:
		return (double)p->images / s;
	case RATE_READ:
		return (double)p->stats.record_bytes / s / 1e6;
	default:
		return (double)p->bytes / s / 1e6;
	}
}

static struct sample_summary summary(const struct benchout_point *point, enum rate rate)
{
	double *values = calloc(point->n + 1, sizeof *values);
	struct sample_summary s = { 0 };
	if (!values || point->n == 0) {
		free(values);
		return s;
	}
	for (unsigned i = 0; i < point->n; i++)
		values[i] = rate_of(&point->passes[i], rate);
	s = sample_summarize(values, point->n);
	free(values);
	return s;
}

static struct pass total(const struct benchout_point *point)
{
	return pass_sum(point->passes, point->n);
}

static void print_rates(const struct benchout_point *point)
{
	static const char *const names[] = { "images/s", "MB/s read", "MB/s delivered" };
	struct td_table t = { .columns = 5, .align = "lrrrr" };
	out_cell(&t, " ");
	out_cell(&t, "median");
	out_cell(&t, "min");
	out_cell(&t, "max");
	out_cell(&t, "spread");
	for (unsigned i = 0; i < TD_COUNT(names); i++) {
		struct sample_summary s = summary(point, i);
		out_cell(&t, "%s", names[i]);
		out_cell(&t, "%.1f", s.median);
		out_cell(&t, "%.1f", s.min);
		out_cell(&t, "%.1f", s.max);
		out_cell(&t, "%.1f %%", 100 * s.spread);
	}
	out_table(&t, stdout);
}

static double per(uint64_t n, uint64_t of)
{
	return of ? (double)n / (double)of : 0;
}

static void print_stages(const struct pass *sum)
{
	struct td_table t = { .columns = 6, .align = "lrrrrr" };
	uint64_t all = 0;
	for (unsigned i = 0; i < sum->stats.n_stages; i++)
		all += sum->stats.stages[i].busy_ns;
	static const char *const heads[] = { "stage", "items", "busy s", "share", "us/item", "waited s" };
	for (unsigned i = 0; i < TD_COUNT(heads); i++)
		out_cell(&t, "%s", heads[i]);
	for (unsigned i = 0; i < sum->stats.n_stages; i++) {
		const struct tundish_flow_stage *s = &sum->stats.stages[i];
		out_cell(&t, "%s", s->name);
		out_cell(&t, "%" PRIu64, s->items);
		out_cell(&t, "%.3f", (double)s->busy_ns / 1e9);
		out_cell(&t, "%.1f %%", all ? 100. * (double)s->busy_ns / (double)all : 0);
		out_cell(&t, "%.1f", s->items ? (double)s->busy_ns / 1e3 / (double)s->items : 0);
		out_cell(&t, "%.3f", (double)s->wait_ns / 1e9);
	}
	out_table(&t, stdout);
}

/* A single read is waited for anyway, so that threads make it even where io_uring serves. */
static const char *fetcher(const struct tundish_flow_stats *s)
{
	return s->uring_reads ? "io_uring" : "threads";
}

static void print_one(const struct benchout *out)
{
	const struct benchout_point *point = out->points;
	struct pass sum = total(point);
	printf("%u samples of %" PRIu64 " images after %u warm-up; batch %u, %u threads, prefetch %u, "
	       "memory %s at most\n\n",
	    point->n, sum.images / TD_MAX(point->n, 1u), out->warmup, out->batch, sum.stats.threads,
	    sum.stats.prefetch, BYTES(sum.stats.memory_peak));
	print_rates(point);
	putchar('\n');
	print_stages(&sum);
	printf("\nconsumer waited %.0f %% of the time, workers were idle %.0f %%\n",
	    100 * pass_consumer_wait(&sum), 100 * pass_workers_idle(&sum));
	if (sum.stats.batches)
		printf("per batch: lock taken %.1f times, %.1f waits, %.1f wake-ups (%.2f, %.2f, %.2f per image)\n",
		    per(sum.stats.locks, sum.stats.batches), per(sum.stats.waits, sum.stats.batches),
		    per(sum.stats.wakeups, sum.stats.batches), per(sum.stats.locks, sum.images),
		    per(sum.stats.waits, sum.images), per(sum.stats.wakeups, sum.images));
	printf("fetched by %s", fetcher(&sum.stats));
	if (sum.stats.uring_reads)
		printf(", %" PRIu64 " of %" PRIu64 " reads", sum.stats.uring_reads, sum.stats.reads);
	putchar('\n');
}

/* Of a chain of operations the last one; the ones before it stand in the rows above. */
static void value_cell(struct td_table *t, const struct sweeps *sweeps, const char *value)
{
	const char *last = value && sweeps->levels ? strrchr(value, ' ') : NULL;
	if (!value)
		out_cell(t, "-");
	else if (!sweeps->levels)
		out_cell(t, "%s", value);
	else
		out_cell(t, "%s%s", *value ? "+ " : "reading", last ? last + 1 : value);
}

static void sweep_row(struct td_table *t, const struct benchout *out, unsigned point, double best)
{
	struct sample_summary s = summary(&out->points[point], RATE_IMAGES);
	struct pass sum = total(&out->points[point]);
	for (unsigned k = 0; k < out->sweeps->n; k++)
		value_cell(t, out->sweeps, sweeps_value(out->sweeps, point, k));
	if (out->points[point].n == 0) {
		for (unsigned i = 0; i < 8; i++)
			out_cell(t, "-");
		return;
	}
	out_cell(t, "%.1f", s.median);
	out_cell(t, "%.1f", s.min);
	out_cell(t, "%.1f", s.max);
	out_cell(t, "%.1f %%", 100 * s.spread);
	out_cell(t, "%.3f", best > 0 ? s.median / best : 0);
	out_cell(t, "%.1f", summary(&out->points[point], RATE_READ).median);
	out_cell(t, "%.0f %%", 100 * pass_consumer_wait(&sum));
	out_cell(t, "%.0f %%", 100 * pass_workers_idle(&sum));
}

static void print_sweep(const struct benchout *out)
{
	static const char *const heads[] = { "images/s", "min", "max", "spread", "of best",
		"MB/s read", "consumer waited", "workers idle" };
	struct td_table t = { .columns = out->sweeps->n + TD_COUNT(heads),
		.align = out->sweeps->levels ? "lrrrrrrrr" : "rrrrrrrrrrrrrrrr" };
	double best = 0;
	for (unsigned i = 0; i < out->sweeps->points; i++)
		best = TD_MAX(best, summary(&out->points[i], RATE_IMAGES).median);
	for (unsigned k = 0; k < out->sweeps->n; k++)
		out_cell(&t, "%s", out->sweeps->list[k].name);
	for (unsigned i = 0; i < TD_COUNT(heads); i++)
		out_cell(&t, "%s", heads[i]);
	for (unsigned i = 0; i < out->sweeps->points; i++)
		sweep_row(&t, out, i, best);
	out_table(&t, stdout);
}

/* Of the best setting. */
static void print_explain(const struct benchout *out)
{
	struct pass sum = total(&out->points[benchout_best(out)]);
	struct explain e;
	explain_pass(&e, &sum, tundish_usable_cores());
	printf("\nbottleneck: %s (%.0f %% of the %s)\n", e.bottleneck, 100 * e.share,
	    e.kind == EXPLAIN_CPU ? "CPU time" : e.kind == EXPLAIN_CONSUMER ? "time" : "threads' time");
	for (unsigned i = 0; i < e.n_gains && i < 4; i++)
		printf("  up to %.2f times as fast if %s\n", e.gains[i].factor, e.gains[i].what);
	if (e.kind == EXPLAIN_CONSUMER)
		printf("  the pipeline keeps up; a faster one would gain nothing\n");
}

/* What makes the numbers doubtful, and what can be done. */
static void print_advice(const struct benchout *out)
{
	unsigned outliers = 0, wide = 0;
	for (unsigned i = 0; i < out->sweeps->points; i++) {
		struct sample_summary s = summary(&out->points[i], RATE_IMAGES);
		outliers += s.outliers;
		wide += s.spread > .1;
	}
	if (outliers)
		printf("\n%u samples are far off the others: something else was running here\n", outliers);
	else if (wide)
		printf("\nthe samples differ by more than 10 %%: close other programs, or raise --%s\n",
		    out->repeat < 10 ? "repeat" : "seconds");
}

/* Who reads the codes of JPEGs here. */
static bool own_entropy(void)
{
	return strstr(tundish_features(), "jpeg-entropy/own");
}

void benchout_text(const struct benchout *out)
{
	if (out->sweeps->n)
		print_sweep(out);
	else
		print_one(out);
	if (out->explain)
		print_explain(out);
	if (!own_entropy())
		printf("\nJPEGs are decoded by libjpeg alone, without the faster entropy decoder\n");
	print_advice(out);
}

unsigned benchout_best(const struct benchout *out)
{
	unsigned best = 0;
	if (out->sweeps->levels)
		return out->sweeps->points - 1;
	for (unsigned i = 1; i < out->sweeps->points; i++)
		if (summary(&out->points[i], RATE_IMAGES).median >
		    summary(&out->points[best], RATE_IMAGES).median)
			best = i;
	return best;
}

static json_t *rate_json(const struct benchout_point *point, enum rate rate)
{
	struct sample_summary s = summary(point, rate);
	json_t *o = json_object(), *samples = json_array();
	for (unsigned i = 0; i < point->n; i++)
		json_array_append_new(samples, json_real(rate_of(&point->passes[i], rate)));
	out_set(o, "median", json_real(s.median));
	out_set(o, "min", json_real(s.min));
	out_set(o, "max", json_real(s.max));
	out_set(o, "spread", json_real(s.spread));
	out_set_count(o, "outliers", s.outliers);
	out_set(o, "samples", samples);
	return o;
}

static json_t *stages_json(const struct pass *sum)
{
	json_t *list = json_array();
	for (unsigned i = 0; i < sum->stats.n_stages; i++) {
		const struct tundish_flow_stage *s = &sum->stats.stages[i];
		json_t *o = json_object();
		out_set_text(o, "name", s->name);
		out_set_count(o, "items", s->items);
		out_set_count(o, "bytes", s->bytes);
		out_set(o, "busy_s", json_real((double)s->busy_ns / 1e9));
		out_set(o, "wait_s", json_real((double)s->wait_ns / 1e9));
		json_array_append_new(list, o);
	}
	return list;
}

static json_t *settings_json(const struct benchout *out, unsigned point)
{
	json_t *o = json_object();
	for (unsigned k = 0; k < out->sweeps->n; k++) {
		const char *value = sweeps_value(out->sweeps, point, k);
		if (value)
			out_set_text(o, out->sweeps->list[k].name, value);
	}
	return o;
}

static json_t *explain_json(const struct pass *sum)
{
	struct explain e;
	json_t *o = json_object(), *gains = json_array();
	explain_pass(&e, sum, tundish_usable_cores());
	out_set_text(o, "kind", explain_kind_name(e.kind));
	out_set_text(o, "bottleneck", e.bottleneck);
	out_set(o, "share", json_real(e.share));
	for (unsigned i = 0; i < e.n_gains; i++) {
		json_t *gain = json_object();
		out_set_text(gain, "if", e.gains[i].what);
		out_set(gain, "factor", json_real(e.gains[i].factor));
		json_array_append_new(gains, gain);
	}
	out_set(o, "gains", gains);
	return o;
}

static json_t *point_json(const struct benchout *out, unsigned i)
{
	const struct benchout_point *point = &out->points[i];
	struct pass sum = total(point);
	json_t *o = json_object();
	out_set(o, "settings", settings_json(out, i));
	out_set_count(o, "images", sum.images);
	out_set(o, "seconds", json_real(sum.seconds));
	out_set(o, "images_per_s", rate_json(point, RATE_IMAGES));
	out_set(o, "read_mb_per_s", rate_json(point, RATE_READ));
	out_set(o, "delivered_mb_per_s", rate_json(point, RATE_DELIVERED));
	out_set(o, "stages", stages_json(&sum));
	out_set(o, "consumer_wait", json_real(pass_consumer_wait(&sum)));
	out_set(o, "workers_idle", json_real(pass_workers_idle(&sum)));
	out_set_count(o, "threads_used", sum.stats.threads);
	out_set_count(o, "prefetch_used", sum.stats.prefetch);
	out_set_count(o, "memory_peak_bytes", sum.stats.memory_peak);
	out_set_count(o, "jpeg_index_refused", sum.stats.index_refused);
	out_set_count(o, "files_walked", sum.stats.files_walked);
	out_set(o, "listing_s", json_real((double)sum.stats.listing_ns / 1e9));
	out_set_count(o, "batches", sum.stats.batches);
	out_set_text(o, "fetcher", fetcher(&sum.stats));
	out_set_count(o, "reads", sum.stats.reads);
	out_set_count(o, "uring_reads", sum.stats.uring_reads);
	out_set(o, "locks_per_batch", json_real(per(sum.stats.locks, sum.stats.batches)));
	out_set(o, "waits_per_batch", json_real(per(sum.stats.waits, sum.stats.batches)));
	out_set(o, "wakeups_per_batch", json_real(per(sum.stats.wakeups, sum.stats.batches)));
	if (out->explain)
		out_set(o, "explain", explain_json(&sum));
	return o;
}

static json_t *head_json(const struct benchout *out)
{
	json_t *o = json_object();
	out_set_text(o, "ops", out->ops ? out->ops : "decode");
	out_set_text(o, "jpeg_entropy", own_entropy() ? "own" : "libjpeg");
	out_set_count(o, "batch", out->batch);
	out_set_count(o, "warmup", out->warmup);
	out_set_count(o, "repeat", out->repeat);
	return o;
}

void benchout_json(const struct benchout *out)
{
	json_t *o = head_json(out), *points = json_array();
	for (unsigned i = 0; i < out->sweeps->points; i++)
		json_array_append_new(points, point_json(out, i));
	out_set(o, "points", points);
	out_set_count(o, "best", benchout_best(out));
	out_json(o);
}

int benchout_save(const struct benchout *out, const char *path, struct tundish_error *error)
{
	json_t *o = head_json(out);
	out_set(o, "best", point_json(out, benchout_best(out)));
	char *text = json_dumps(o, JSON_INDENT(2) | JSON_REAL_PRECISION(9));
	json_decref(o);
	if (!text)
		return td_err_memory(error);
	int rc = td_write_file(path, text, strlen(text), error);
	free(text);
	return rc;
}

/* The data block of the plot: a line for each setting, or for each stage. */
static bool plot_data(const struct benchout *out, struct td_buf *script)
{
	if (out->sweeps->n == 0) {
		struct pass sum = total(&out->points[0]);
		for (unsigned i = 0; i < sum.stats.n_stages; i++)
			if (!td_buf_printf(script, "\"%s\" %g\n", sum.stats.stages[i].name,
				(double)sum.stats.stages[i].busy_ns / 1e9))
				return false;
		return true;
	}
	for (unsigned i = 0; i < out->sweeps->points; i++) {
		struct sample_summary s = summary(&out->points[i], RATE_IMAGES);
		bool ok = td_buf_printf(script, "\"");
		for (unsigned k = 0, shown = 0; ok && k < out->sweeps->n; k++) {
			const char *value = sweeps_value(out->sweeps, i, k);
			if (value)
				ok = td_buf_printf(script, "%s%s=%s", shown++ ? " " : "",
				    out->sweeps->list[k].name, value);
		}
		if (!ok || !td_buf_printf(script, "\" %g %g %g\n", s.median, s.min, s.max))
			return false;
	}
	return true;
}

int benchout_plot(const struct benchout *out, const char *path, struct tundish_error *error)
{
	static const char sweep[] =
	    "set ylabel 'images/s'\nset yrange [0:*]\nset offsets .5,.5,0,0\nset xtics rotate by -30\nset grid y\n"
	    "plot $d using 0:2:3:4:xtic(1) with yerrorbars pt 7 notitle, "
	    "$d using 0:2 with lines notitle\n";
	static const char stages[] =
	    "set ylabel 'busy seconds'\nset yrange [0:*]\nset style fill solid .5\nset boxwidth .6\n"
	    "set grid y\nplot $d using 0:2:xtic(1) with boxes notitle\n";
	struct td_buf script = { 0 };
	int rc;
	if (td_buf_printf(&script, "$d << EOD\n") && plot_data(out, &script) &&
	    td_buf_printf(&script, "EOD\n%s", out->sweeps->n ? sweep : stages))
		rc = plot_draw(path, (const char *)script.data, error);
	else
		rc = td_err_memory(error);
	td_buf_free(&script);
	return rc;
}
