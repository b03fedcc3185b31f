/* SPDX-License-Identifier: BSD-2-Clause
 * Readers that begin and end inside a file. */
#include <inttypes.h>

#include "frame.h"
#include "reader-inside.h"

/* What a part begins with is read from the page's start: the kernel copies whole pages
 * faster. */
#define PAGE ((uint64_t)4096)

int td_reader_seek(struct tundish_reader *r, uint64_t to, uint64_t number, struct tundish_error *e)
{
	int rc = td_reader_begin(r, e);
	if (rc < 0)
		return rc;
	if (!td_reader_seekable(r))
		return td_err(e, TUNDISH_E_UNSUPPORTED, "%s: compressed files and streams have no "
		    "places to go to", TD_ESC(r->path));
	if (to > r->w.size)
		return td_err(e, TUNDISH_E_IO, "%s: the file shrank while it was read", TD_ESC(r->path));
	if (to >= r->w.base)
		td_window_skip_to(&r->w, to);
	else
		td_window_forget(&r->w, to);
	r->number = number;
	return 0;
}

int td_reader_part(struct tundish_reader *r, uint64_t from, uint64_t number, uint64_t to,
    struct tundish_error *e)
{
	int rc = td_reader_seek(r, from, number, e);
	if (rc < 0)
		return rc;
	struct td_window *w = &r->w;
	if (to < w->size)
		r->stop = w->size = to;
	if (w->base + w->buf.len > w->size)
		w->buf.len = (size_t)(w->size - w->base);
	return 0;
}

void td_reader_reached(const struct tundish_reader *r, struct td_reached *ret)
{
	*ret = (struct td_reached){ td_window_offset(&r->w), r->number, r->vain, r->room };
}

int td_reader_resume(struct tundish_reader *r, const struct td_reached *from, uint64_t to,
    const struct tundish_listener *l, struct tundish_error *e)
{
	uint64_t before = from->offset % PAGE;
	r->error = (struct tundish_error){ 0 };
	r->o.listener = *l;
	r->faults = 0;
	r->vain = from->vain;
	r->room = UINT64_MAX;
	r->pause = to;
	int rc = td_reader_seek(r, from->offset - before, from->number, e);
	if (rc == 0)
		rc = td_window_fill(&r->w, before, TD_WINDOW_MIN, e);
	if (rc == 0)
		r->w.at += (size_t)TD_MIN(before, (uint64_t)td_window_have(&r->w));
	return rc;
}

int td_reader_find(struct tundish_reader *r, uint64_t from, uint64_t most, uint64_t *ret_offset,
    struct tundish_error *e)
{
	uint64_t size = r->w.size, stop = r->stop, end = from + TD_MIN(most, size - TD_MIN(from, size));
	td_window_forget(&r->w, from);
	r->error = (struct tundish_error){ 0 };
	r->vain = 0;
	r->stop = r->w.size = end;
	int rc = td_reader_find_frame(r, e);
	bool found = rc == 0 && td_window_have(&r->w) >= TD_FRAME_EXTRA;
	if (found)
		*ret_offset = td_window_offset(&r->w);
	r->w.size = size;
	r->stop = stop;
	td_window_forget(&r->w, from);
	return rc < 0 ? rc : found;
}
