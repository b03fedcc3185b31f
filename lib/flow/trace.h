/* SPDX-License-Identifier: BSD-2-Clause
 * What each thread of a flow did when, for a look with a trace viewer. */
#pragma once
#include "base/attr.h"
#include "tundish.h"

enum td_trace_what {
	TD_TRACE_WAIT,	/* nothing to do */
	TD_TRACE_FETCH,
	TD_TRACE_WORK,
	TD_TRACE_BATCH, /* the consumer has a batch */
	TD_TRACE_KINDS,
};

struct td_trace_event {
	uint64_t start_ns, end_ns, batch;
	uint32_t what, items;
	uint32_t parse_us, decode_us, pixels_us; /* of work */
};

/* Each thread writes its own events alone; the consumer is the last thread. */
struct td_trace;
/* Without memory there is no trace: NULL. */
struct td_trace *td_trace_open(unsigned threads);
/* Adds an event; nothing without a trace, and when the thread has had its share. */
void td_trace_add(struct td_trace *t, unsigned thread, const struct td_trace_event *event);
/* Adds what lies between the thread's last event and now. */
void td_trace_since(struct td_trace *t, unsigned thread, enum td_trace_what what, uint64_t batch);
/* The same as waiting, where it is worth telling. */
void td_trace_wait(struct td_trace *t, unsigned thread);
/* Writes it in Chrome's trace event format, for `workers` and fetchers by name. */
int td_trace_write(const struct td_trace *t, const char *path, unsigned workers, struct tundish_error *e);
void td_trace_free(struct td_trace *t);
