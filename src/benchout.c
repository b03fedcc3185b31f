/* SPDX-License-Identifier: BSD-2-Clause
 * What bench found, as text and as JSON. */
#include "benchout.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "out.h"
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
		return (double)p->image_bytes / s / 1e6;
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

/* All samples of a point added up. */
static struct pass total(const struct benchout_point *point)
{
	struct pass sum = { 0 };
	for (unsigned i = 0; i < point->n; i++) {
		const struct pass *p = &point->passes[i];
		sum.images += p->images;
		sum.batches += p->batches;
		sum.seconds += p->seconds;
		sum.stats.consumer_wait_ns += p->stats.consumer_wait_ns;
		sum.stats.workers_wait_ns += p->stats.workers_wait_ns;
		sum.stats.memory_peak = TD_MAX(sum.stats.memory_peak, p->stats.memory_peak);
		sum.stats.threads = p->stats.threads;
		sum.stats.prefetch = p->stats.prefetch;
		sum.stats.n_stages = p->stats.n_stages;
		for (unsigned k = 0; k < p->stats.n_stages; k++) {
			const struct tundish_flow_stage *from = &p->stats.stages[k];
			struct tundish_flow_stage *to = &sum.stats.stages[k];
			to->name = from->name;
			to->items += from->items;
			to->bytes += from->bytes;
			to->busy_ns += from->busy_ns;
			to->wait_ns += from->wait_ns;
		}
	}
	return sum;
}

static double consumer_wait(const struct pass *sum)
{
	return sum->seconds > 0 ? (double)sum->stats.consumer_wait_ns / 1e9 / sum->seconds : 0;
}

static double workers_idle(const struct pass *sum)
{
	double all = sum->seconds * sum->stats.threads;
	return all > 0 ? (double)sum->stats.workers_wait_ns / 1e9 / all : 0;
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
	    100 * consumer_wait(&sum), 100 * workers_idle(&sum));
}

static void print_sweep(const struct benchout *out)
{
	struct td_table t = { .columns = 9, .align = "rrrrrrrrr" };
	static const char *const heads[] = { "images/s", "min", "max", "spread", "of best",
		"MB/s read", "consumer waited", "workers idle" };
	double best = 0;
	for (unsigned i = 0; i < out->n_points; i++)
		best = TD_MAX(best, summary(&out->points[i], RATE_IMAGES).median);
	out_cell(&t, "%s", out->sweep);
	for (unsigned i = 0; i < TD_COUNT(heads); i++)
		out_cell(&t, "%s", heads[i]);
	for (unsigned i = 0; i < out->n_points; i++) {
		struct sample_summary s = summary(&out->points[i], RATE_IMAGES);
		struct pass sum = total(&out->points[i]);
		out_cell(&t, "%s", out->points[i].value);
		out_cell(&t, "%.1f", s.median);
		out_cell(&t, "%.1f", s.min);
		out_cell(&t, "%.1f", s.max);
		out_cell(&t, "%.1f %%", 100 * s.spread);
		out_cell(&t, "%.3f", best > 0 ? s.median / best : 0);
		out_cell(&t, "%.1f", summary(&out->points[i], RATE_READ).median);
		out_cell(&t, "%.0f %%", 100 * consumer_wait(&sum));
		out_cell(&t, "%.0f %%", 100 * workers_idle(&sum));
	}
	out_table(&t, stdout);
}

void benchout_text(const struct benchout *out)
{
	unsigned outliers = 0;
	if (out->sweep)
		print_sweep(out);
	else
		print_one(out);
	for (unsigned i = 0; i < out->n_points; i++)
		outliers += summary(&out->points[i], RATE_IMAGES).outliers;
	if (outliers)
		printf("\n%u samples are far off the others: something else was running here\n", outliers);
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

static json_t *point_json(const struct benchout *out, const struct benchout_point *point)
{
	struct pass sum = total(point);
	json_t *o = json_object();
	if (out->sweep)
		out_set_text(o, out->sweep, point->value);
	out_set_count(o, "images", sum.images);
	out_set(o, "seconds", json_real(sum.seconds));
	out_set(o, "images_per_s", rate_json(point, RATE_IMAGES));
	out_set(o, "read_mb_per_s", rate_json(point, RATE_READ));
	out_set(o, "delivered_mb_per_s", rate_json(point, RATE_DELIVERED));
	out_set(o, "stages", stages_json(&sum));
	out_set(o, "consumer_wait", json_real(consumer_wait(&sum)));
	out_set(o, "workers_idle", json_real(workers_idle(&sum)));
	out_set_count(o, "threads_used", sum.stats.threads);
	out_set_count(o, "prefetch_used", sum.stats.prefetch);
	out_set_count(o, "memory_peak_bytes", sum.stats.memory_peak);
	return o;
}

void benchout_json(const struct benchout *out)
{
	json_t *o = json_object(), *points = json_array();
	out_set_text(o, "ops", out->ops ? out->ops : "decode");
	out_set_count(o, "batch", out->batch);
	out_set_count(o, "warmup", out->warmup);
	out_set_count(o, "repeat", out->repeat);
	if (out->sweep)
		out_set_text(o, "sweep", out->sweep);
	for (unsigned i = 0; i < out->n_points; i++)
		json_array_append_new(points, point_json(out, &out->points[i]));
	out_set(o, "points", points);
	out_json(o);
}
