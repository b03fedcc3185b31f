/* SPDX-License-Identifier: BSD-2-Clause
 * A window that slides over bytes from somewhere: look ahead, take, go on. */
#include "window.h"

#include <string.h>

#include "base/err.h"

#define CACHE_LINE 64
/* Two reads: then what is left over of a window moves half as often. */
#define ROOM ((uint64_t)2 * TD_WINDOW_MIN)

uint64_t td_window_rest(const struct td_window *w)
{
	if (w->size != TD_SIZE_UNKNOWN)
		return w->size - TD_MIN(w->size, td_window_offset(w));
	return w->ended ? td_window_have(w) : TD_SIZE_UNKNOWN;
}

/* How many bytes before the current place to keep, so that the next ones are read to an
 * address that lies in its cache line as they lie in theirs in the file: the kernel then
 * copies small pages 8 % faster. */
static size_t kept(const struct td_window *w, uint64_t want)
{
	uint64_t end = w->base + w->buf.len, to = (uintptr_t)w->buf.data + td_window_have(w);
	size_t n = TD_MIN((size_t)((end - to) % CACHE_LINE), w->at);
	return want <= w->buf.cap && n <= w->buf.cap - want ? n : 0;
}

static void compact(struct td_window *w, uint64_t want)
{
	size_t gone = w->at - kept(w, want);
	w->buf.len -= gone;
	memmove(w->buf.data, w->buf.data + gone, w->buf.len);
	w->base += gone;
	w->at -= gone;
}

static int make_room(struct td_window *w, uint64_t want, struct tundish_error *e)
{
	struct td_buf *b = &w->buf;
	if (b->data && b->len < b->cap && w->at + want <= b->cap)
		return 0;
	if (w->at > 0)
		compact(w, want);
	if (b->data && b->len < b->cap)
		return 0;
	uint64_t cap = TD_MAX((uint64_t)b->cap * 2, ROOM);
	if (td_window_rest(w) != TD_SIZE_UNKNOWN)
		cap = TD_MAX(cap, TD_MIN(want, td_window_rest(w)));
	if (cap > SIZE_MAX / 4 || !td_buf_reserve(b, (size_t)cap - b->len))
		return td_err_memory(e);
	return 0;
}

int td_window_fill(struct td_window *w, uint64_t want, size_t chunk, struct tundish_error *e)
{
	while (td_window_have(w) < want && !w->ended) {
		int rc = make_room(w, want, e);
		if (rc < 0)
			return rc;
		struct td_buf *b = &w->buf;
		uint64_t bytes = TD_MAX(want - td_window_have(w), (uint64_t)chunk);
		bytes = TD_MIN(bytes, (uint64_t)(b->cap - b->len));
		ssize_t n = w->read(w->ctx, w->base + b->len, b->data + b->len, (size_t)bytes, e);
		if (n < 0)
			return (int)n;
		w->ended = n == 0;
		b->len += (size_t)n;
	}
	return 0;
}

void td_window_skip_to(struct td_window *w, uint64_t offset)
{
	if (offset - w->base <= w->buf.len)
		w->at = (size_t)(offset - w->base);
	else
		td_window_forget(w, offset);
}

void td_window_forget(struct td_window *w, uint64_t offset)
{
	w->base = offset;
	w->at = w->buf.len = 0;
	w->ended = false;
}
