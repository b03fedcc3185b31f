/* SPDX-License-Identifier: BSD-2-Clause
 * Fetching where records can only be read one after the other: pipes, compressed files. */
#include "stream.h"

#include <string.h>

#include "base/err.h"

/* What the reader says belongs to the batch that is being filled. */
static struct td_held *held_of(void *data)
{
	struct td_stream *s = &((struct tundish_flow *)data)->stream;
	return s->slot ? &s->slot->held : &s->early;
}

static void hold_fault(void *data, const struct tundish_fault *fault)
{
	struct tundish_listener l = td_held_listener(held_of(data));
	l.fault(l.data, fault);
}

static void hold_notice(void *data, const char *text)
{
	struct tundish_listener l = td_held_listener(held_of(data));
	l.notice(l.data, text);
}

static int stop_search(void *data)
{
	struct tundish_flow *f = data;
	if (!f->listener.stop || pthread_mutex_trylock(&f->talk) != 0)
		return 0;
	int stop = td_stopped(&f->listener);
	pthread_mutex_unlock(&f->talk);
	return stop;
}

static int open_reader(struct tundish_flow *f, struct tundish_error *e)
{
	struct td_stream *s = &f->stream;
	struct tundish_reader_options options;
	tundish_reader_options_init(&options);
	options.compression = s->compression;
	options.max_record_bytes = s->max_record_bytes;
	options.on_error = f->on_error == TUNDISH_FAIL ? TUNDISH_FAIL : TUNDISH_SKIP;
	options.listener = (struct tundish_listener){ .data = f, .fault = hold_fault,
		.notice = hold_notice, .stop = stop_search };
	return tundish_reader_open(&s->reader, f->set.files.paths[s->file], &options, e);
}

/* The next record of all files that counts: 1, 0 at the end of the epoch, or an error. */
static int read_record(struct tundish_flow *f, struct tundish_record *ret, struct tundish_error *e)
{
	struct td_stream *s = &f->stream;
	while (s->file < f->set.files.n) {
		if (f->set.limit && s->seen >= f->set.skip + f->set.limit)
			return 0;
		int rc = s->reader ? 0 : open_reader(f, e);
		if (rc == 0)
			rc = tundish_reader_next(s->reader, ret, e);
		if (rc < 0)
			return rc;
		if (rc == 0) {
			tundish_reader_close(s->reader);
			s->reader = NULL;
			s->file++;
		} else if (s->seen++ >= f->set.skip) {
			return 1;
		}
	}
	return 0;
}

int td_stream_peek(struct tundish_flow *f, const uint8_t **ret_data, uint64_t *ret_bytes,
    struct td_spot *ret_spot, struct tundish_error *e)
{
	struct td_stream *s = &f->stream;
	struct tundish_record r;
	if (s->n_peeked == TD_PEEKS)
		return 0;
	int rc = read_record(f, &r, e);
	if (rc <= 0)
		return rc;
	struct td_peek *p = &s->peeked[s->n_peeked];
	if (!td_buf_add(&p->data, r.data, r.bytes))
		return td_err_memory(e);
	s->n_peeked++;
	p->spot = (struct td_spot){ s->file, r.number, { r.offset, r.bytes } };
	*ret_data = p->data.data;
	*ret_bytes = r.bytes;
	*ret_spot = p->spot;
	return 1;
}

/* Those that were looked at before the start come first. */
static int next_record(struct tundish_flow *f, struct tundish_record *ret, struct td_spot *ret_spot,
    struct tundish_error *e)
{
	struct td_stream *s = &f->stream;
	if (s->next_peeked < s->n_peeked) {
		const struct td_peek *p = &s->peeked[s->next_peeked++];
		*ret = (struct tundish_record){ p->data.data, p->data.len, 0, 0 };
		*ret_spot = p->spot;
		return 1;
	}
	int rc = read_record(f, ret, e);
	if (rc > 0)
		*ret_spot = (struct td_spot){ s->file, ret->number, { ret->offset, ret->bytes } };
	return rc;
}

static int take_record(struct td_chunk *c, const struct tundish_record *r,
    const struct td_spot *spot)
{
	c->items[c->n] = (struct td_item){ .bytes = r->bytes, .spot = *spot };
	if (!td_buf_add(&c->buf, r->data, r->bytes))
		return TUNDISH_E_MEMORY;
	c->bytes += r->bytes;
	c->n++;
	return 0;
}

/* Up to `most` records, or fewer when they are large. */
static int fill(struct tundish_flow *f, struct td_chunk *c, unsigned most, struct tundish_error *e)
{
	struct tundish_record r;
	struct td_spot spot;
	c->buf.len = 0;
	while (c->n < most && c->bytes < f->chunk_keep) {
		int rc = next_record(f, &r, &spot, e);
		if (rc <= 0)
			return rc;
		if (take_record(c, &r, &spot) < 0)
			return td_err_memory(e);
	}
	return 1;
}

/* Once the buffer has stopped moving. */
static void point_at_data(struct td_chunk *c)
{
	const uint8_t *at = c->buf.data;
	for (unsigned i = 0; i < c->n; i++) {
		c->items[i].data = at;
		at += c->items[i].bytes;
	}
}

/* A hard error of the reader stands at the position that it could not fill. */
static void add_failure(struct td_chunk *c, int rc, const struct tundish_error *e)
{
	struct td_item *item = &c->items[c->n++];
	*item = (struct td_item){ 0 };
	item->note = td_note_new(rc, (struct td_place){ NULL, -1, -1, -1 }, true, e->text);
	item->lost = !item->note;
}

void td_stream_close(struct td_stream *s)
{
	tundish_reader_close(s->reader);
	s->reader = NULL;
	for (unsigned i = 0; i < s->n_peeked; i++)
		td_buf_free(&s->peeked[i].data);
	s->n_peeked = s->next_peeked = 0;
}

static void end_epoch(struct tundish_flow *f)
{
	struct td_stream *s = &f->stream;
	if (s->epoch == 0 && s->position == 0) {
		struct tundish_error e;
		td_engine_fail(f, td_err(&e, TUNDISH_E_EMPTY, "no records"), &e);
	}
	td_engine_close_batch(f);
	s->epoch++;
	s->position = s->file = s->seen = 0;
	td_stream_close(s);
	if (s->epoch == f->share.epochs)
		f->read_all = true;
}

void td_stream_fetch(struct tundish_flow *f)
{
	struct td_slot *slot = td_engine_open_slot(f);
	if (!slot)
		return;
	struct td_chunk *c = td_engine_take_chunk(f);
	unsigned room = TD_MIN(slot->rows - slot->given, f->chunk_items);
	f->stream.slot = slot;
	f->reading = true;
	td_pool_unlock(f->pool);
	td_stall();
	struct tundish_error e = { 0 };
	uint64_t wall = td_now_ns(), cpu = td_thread_cpu_ns();
	int rc = fill(f, c, room, &e);
	point_at_data(c);
	if (rc < 0)
		add_failure(c, rc, &e);
	wall = td_now_ns() - wall;
	cpu = td_thread_cpu_ns() - cpu;
	td_pool_lock(f->pool);
	f->reading = false;
	if (c->buf.cap > c->held) {
		td_ledger_take(&f->ledger, c->buf.cap - c->held);
		c->held = c->buf.cap;
	}
	for (unsigned i = 0; i < c->n; i++) {
		struct td_item *item = &c->items[i];
		item->slot = slot;
		item->row = slot->given;
		item->epoch = slot->epoch;
		item->position = f->stream.position++;
		td_engine_give_row(f);
	}
	td_engine_count_fetch(f, c, wall, cpu);
	td_engine_put_chunk(f, c);
	if (rc < 0) {
		td_engine_close_batch(f);
		f->read_all = true;
	} else if (rc == 0) {
		end_epoch(f);
	}
	pthread_cond_signal(&f->ready);
}
