/* SPDX-License-Identifier: BSD-2-Clause
 * Faults and notices held back by a parallel job, told later in the order of the jobs. */
#include "held.h"

#include <string.h>

#include "err.h"

#define NOWHERE SIZE_MAX

/* A notice has only a text. Strings lie in the same buffer, by position plus one. */
struct event {
	int32_t code;
	int64_t record, offset;
	uint64_t passed_bytes;
	size_t path, reason, text;
	size_t bytes; /* of the event with its strings */
};

/* Position of a copy of s, or of the one at *last when that is the same. */
static size_t keep(struct td_held *h, const char *s, size_t *last)
{
	if (!s)
		return NOWHERE;
	if (last && *last && strcmp((const char *)h->events.data + *last, s) == 0)
		return *last;
	size_t at = h->events.len;
	if (!td_buf_add(&h->events, s, strlen(s) + 1)) {
		h->lost = true;
		return NOWHERE;
	}
	if (last)
		*last = at;
	return at;
}

static void add(struct td_held *h, struct event *event, const char *path, const char *reason,
    const char *text)
{
	size_t start = h->events.len;
	if (!td_buf_add(&h->events, event, sizeof *event)) {
		h->lost = true;
		return;
	}
	event->path = keep(h, path, &h->last_path);
	event->reason = keep(h, reason, &h->last_reason);
	event->text = keep(h, text, NULL);
	event->bytes = h->events.len - start;
	memcpy(h->events.data + start, event, sizeof *event);
}

static void hold_fault(void *data, const struct tundish_fault *f)
{
	struct event event = { f->code, f->record, f->offset, f->passed_bytes, 0, 0, 0, 0 };
	add(data, &event, f->path, f->reason, f->text);
}

static void hold_notice(void *data, const char *text)
{
	struct event event = { 0 };
	add(data, &event, NULL, NULL, text);
}

struct tundish_listener td_held_listener(struct td_held *h)
{
	return (struct tundish_listener){ .data = h, .fault = hold_fault, .notice = hold_notice };
}

static const char *string_at(const struct td_held *h, size_t at)
{
	return at == NOWHERE ? NULL : (const char *)h->events.data + at;
}

static void tell_one(const struct td_held *h, const struct event *event,
    const struct tundish_listener *l)
{
	const char *text = string_at(h, event->text);
	if (event->code == 0) {
		if (l->notice && text)
			l->notice(l->data, text);
		return;
	}
	const struct tundish_fault fault = {
		.code = event->code,
		.path = string_at(h, event->path),
		.record = event->record,
		.offset = event->offset,
		.passed_bytes = event->passed_bytes,
		.reason = string_at(h, event->reason),
		.text = text,
	};
	if (l->fault && fault.reason && text)
		l->fault(l->data, &fault);
}

int td_held_tell(struct td_held *h, const struct tundish_listener *l, struct tundish_error *e)
{
	for (size_t at = 0; l && at < h->events.len;) {
		struct event event;
		memcpy(&event, h->events.data + at, sizeof event);
		tell_one(h, &event, l);
		at += event.bytes;
	}
	bool lost = h->lost;
	h->events.len = h->last_path = h->last_reason = 0;
	h->lost = false;
	return lost ? td_err_memory(e) : 0;
}

void td_held_free(struct td_held *h)
{
	td_buf_free(&h->events);
}
