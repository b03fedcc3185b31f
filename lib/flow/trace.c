/* SPDX-License-Identifier: BSD-2-Clause
 * What each thread of a flow did when, for a look with a trace viewer. */
#include "trace.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/outfile.h"
#include "base/thread.h"

#define EVENTS_MOST ((size_t)1 << 18) /* of a thread */
#define SHORT_WAIT_NS 1000

struct lane {
	struct td_trace_event *events;
	size_t n, cap;
	uint64_t last_ns; /* the end of the last event */
	uint64_t lost;
};

struct td_trace {
	uint64_t start_ns;
	unsigned n;
	struct lane lanes[];
};

struct td_trace *td_trace_open(unsigned threads)
{
	struct td_trace *t = calloc(1, sizeof *t + threads * sizeof t->lanes[0]);
	if (!t)
		return NULL;
	t->start_ns = td_now_ns();
	t->n = threads;
	for (unsigned i = 0; i < threads; i++)
		t->lanes[i].last_ns = t->start_ns;
	return t;
}

void td_trace_add(struct td_trace *t, unsigned thread, const struct td_trace_event *event)
{
	if (!t)
		return;
	struct lane *l = &t->lanes[thread];
	l->last_ns = event->end_ns;
	if (l->n == EVENTS_MOST || !td_grow(&l->events, &l->cap, l->n, sizeof *l->events))
		l->lost++;
	else
		l->events[l->n++] = *event;
}

void td_trace_since(struct td_trace *t, unsigned thread, enum td_trace_what what, uint64_t batch)
{
	td_trace_add(t, thread, &(struct td_trace_event){ .start_ns = t->lanes[thread].last_ns,
		.end_ns = td_now_ns(), .what = what, .batch = batch });
}

void td_trace_wait(struct td_trace *t, unsigned thread)
{
	if (t && td_now_ns() - t->lanes[thread].last_ns > SHORT_WAIT_NS)
		td_trace_since(t, thread, TD_TRACE_WAIT, 0);
}

static bool add_event(struct td_buf *out, const struct td_trace *t, unsigned thread,
    const struct td_trace_event *v)
{
	static const char *const names[TD_TRACE_KINDS] = { "wait", "fetch", "work", "batch" };
	bool good = td_buf_printf(out, ",\n{\"name\":\"%s\",\"ph\":\"X\",\"pid\":1,\"tid\":%u,\"ts\":%.3f,"
	    "\"dur\":%.3f", names[v->what], thread, (double)(v->start_ns - t->start_ns) / 1e3,
	    (double)(v->end_ns - v->start_ns) / 1e3);
	if (v->what != TD_TRACE_WAIT)
		good = good && td_buf_printf(out, ",\"args\":{\"batch\":%" PRIu64 ",\"items\":%" PRIu32, v->batch,
		    v->items);
	if (v->what == TD_TRACE_WORK)
		good = good && td_buf_printf(out, ",\"parse_us\":%" PRIu32 ",\"decode_us\":%" PRIu32
		    ",\"pixels_us\":%" PRIu32, v->parse_us, v->decode_us, v->pixels_us);
	return good && td_buf_printf(out, "%s", v->what == TD_TRACE_WAIT ? "}" : "}}");
}

/* The thread's name, its place in the list, and its events. */
static bool add_lane(struct td_buf *out, const struct td_trace *t, unsigned i, unsigned workers)
{
	const struct lane *l = &t->lanes[i];
	bool consumer = i + 1 == t->n;
	char name[48];
	if (consumer)
		snprintf(name, sizeof name, "consumer");
	else
		snprintf(name, sizeof name, "%s %u", i < workers ? "worker" : "fetcher",
		    i < workers ? i : i - workers);
	bool good = td_buf_printf(out, "%s{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":1,\"tid\":%u,\"args\":"
	    "{\"name\":\"%s\",\"lost\":%" PRIu64 "}}", i ? ",\n" : "", i, name, l->lost);
	good = good && td_buf_printf(out, ",\n{\"name\":\"thread_sort_index\",\"ph\":\"M\",\"pid\":1,\"tid\":%u,"
	    "\"args\":{\"sort_index\":%u}}", i, i);
	for (size_t k = 0; k < l->n && good; k++)
		good = add_event(out, t, i, &l->events[k]);
	return good;
}

int td_trace_write(const struct td_trace *t, const char *path, unsigned workers, struct tundish_error *e)
{
	struct td_buf out = { 0 };
	bool good = td_buf_printf(&out, "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n");
	for (unsigned i = 0; i < t->n && good; i++)
		good = add_lane(&out, t, i, workers);
	good = good && td_buf_printf(&out, "\n]}\n");
	int rc = good ? td_write_file(path, out.data, out.len, e) : td_err_memory(e);
	td_buf_free(&out);
	return rc;
}

void td_trace_free(struct td_trace *t)
{
	if (!t)
		return;
	for (unsigned i = 0; i < t->n; i++)
		free(t->lanes[i].events);
	free(t);
}
