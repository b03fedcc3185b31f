/* SPDX-License-Identifier: BSD-2-Clause
 * Fetching where records can only be read one after the other: pipes, compressed files. */
#include "stream.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "record/reader.h"

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

/* ---- files in turn ---- */

static int open_reader(struct tundish_flow *f, struct td_turn *t, struct tundish_error *e)
{
	struct td_stream *s = &f->stream;
	struct tundish_reader_options options;
	/* one that ended may have left its copy here */
	*t = (struct td_turn){ .file = t->file };
	tundish_reader_options_init(&options);
	options.compression = s->compression;
	options.max_record_bytes = s->max_record_bytes;
	options.threads = s->threads;
	options.on_error = f->on_error == TUNDISH_FAIL ? TUNDISH_FAIL : TUNDISH_SKIP;
	options.listener = (struct tundish_listener){ .data = f, .fault = hold_fault,
		.notice = hold_notice, .stop = stop_search };
	return tundish_reader_open(&t->reader, f->set.files.paths[t->file], &options, e);
}

static void close_turn(struct tundish_flow *f, struct td_turn *t)
{
	tundish_reader_close(t->reader);
	td_ledger_give(&f->ledger, t->memory);
	*t = (struct td_turn){ .file = t->file };
}

/* The next record of its file; what the reader's buffers grow by is in the ledger. */
static int advance(struct tundish_flow *f, struct td_turn *t, struct tundish_error *e)
{
	int rc = tundish_reader_next(t->reader, &t->next, e);
	uint64_t memory = td_reader_memory(t->reader);
	if (memory > t->memory)
		td_ledger_take(&f->ledger, memory - t->memory);
	else if (memory < t->memory)
		td_ledger_give(&f->ledger, t->memory - memory);
	t->memory = memory;
	return rc;
}

/* The next file of the epoch that has a record, into `t`: 1, 0 when there is none. */
static int next_file(struct tundish_flow *f, struct td_turn *t, struct tundish_error *e)
{
	struct td_stream *s = &f->stream;
	while (s->next_file < f->set.files.n) {
		t->file = td_order_file(&s->spec, s->epoch, s->next_file++);
		int rc = open_reader(f, t, e);
		if (rc == 0)
			rc = advance(f, t, e);
		if (rc > 0)
			return 1;
		close_turn(f, t);
		if (rc < 0)
			return rc;
	}
	return 0;
}

/* The first files of an epoch. */
static int open_turns(struct tundish_flow *f, struct tundish_error *e)
{
	struct td_stream *s = &f->stream;
	size_t most = (size_t)TD_MAX(TD_MIN(s->spec.cycle, f->set.files.n), 1u);
	int rc = 1;
	if (!s->turns)
		s->turns = calloc(most, sizeof *s->turns);
	if (!s->turns)
		return td_err_memory(e);
	s->opened = true;
	while (s->n_turns < most && (rc = next_file(f, &s->turns[s->n_turns], e)) > 0)
		s->n_turns++;
	return rc < 0 ? rc : 0;
}

/* Behind the record that was handed out last: reads the next one of its file, and ends the
 * turn, or the file. */
static int move_on(struct tundish_flow *f, struct tundish_error *e)
{
	struct td_stream *s = &f->stream;
	struct td_turn *t = &s->turns[s->turn];
	bool ends = s->taken >= s->spec.length;
	int rc = advance(f, t, e);
	if (rc == 0) {
		close_turn(f, t);
		rc = next_file(f, t, e);
		ends = true;
	}
	if (rc < 0)
		return rc;
	if (rc == 0) {
		memmove(t, t + 1, (s->n_turns - s->turn - 1) * sizeof *t);
		s->n_turns--;
	} else if (ends) {
		s->turn++;
	}
	if (ends)
		s->taken = 0;
	s->turn = s->turn < s->n_turns ? s->turn : 0;
	return 0;
}

/* The next record of all files that counts: 1, 0 at the end of the epoch, or an error. */
static int read_record(struct tundish_flow *f, struct tundish_record *ret, struct td_spot *ret_spot,
    struct tundish_error *e)
{
	struct td_stream *s = &f->stream;
	for (;;) {
		if (f->set.limit && s->seen >= f->set.skip + f->set.limit)
			return 0;
		int rc = !s->opened ? open_turns(f, e) : s->taken > 0 ? move_on(f, e) : 0;
		if (rc < 0)
			return rc;
		if (s->n_turns == 0)
			return 0;
		struct td_turn *t = &s->turns[s->turn];
		s->taken++;
		if (s->seen++ < f->set.skip)
			continue;
		*ret = t->next;
		*ret_spot = (struct td_spot){ t->file, ret->number, { ret->offset, ret->bytes }, 0 };
		return 1;
	}
}

/* Copies a record; what its buffer grows by is in the ledger. */
static int keep_record(struct tundish_flow *f, struct td_peek *p, const struct tundish_record *r,
    const struct td_spot *spot, struct tundish_error *e)
{
	size_t before = p->data.cap;
	p->spot = *spot;
	if (!td_buf_fit(&p->data, r->bytes) || !td_buf_add(&p->data, r->data, r->bytes))
		return td_err_memory(e);
	td_ledger_take(&f->ledger, p->data.cap - before);
	return 0;
}

int td_stream_peek(struct tundish_flow *f, const uint8_t **ret_data, uint64_t *ret_bytes,
    struct td_spot *ret_spot, struct tundish_error *e)
{
	struct td_stream *s = &f->stream;
	struct td_peek *p = &s->peeked[s->n_peeked];
	struct tundish_record r;
	if (s->n_peeked == TD_PEEKS)
		return 0;
	int rc = read_record(f, &r, ret_spot, e);
	if (rc <= 0)
		return rc;
	rc = keep_record(f, p, &r, ret_spot, e);
	if (rc < 0)
		return rc;
	s->n_peeked++;
	*ret_data = p->data.data;
	*ret_bytes = p->data.len;
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
	return read_record(f, ret, ret_spot, e);
}

/* ---- the shuffle buffer ---- */

static struct td_peek *in_shuffle(struct td_stream *s, uint64_t i)
{
	return &s->shuffle[(s->head + i) % s->shuffle_room];
}

/* Twice as many places. Places are short only until the first record of an epoch is drawn:
 * the ring begins at its start. */
static int grow_shuffle(struct tundish_flow *f, struct tundish_error *e)
{
	struct td_stream *s = &f->stream;
	uint64_t room = TD_MIN(s->shuffle_room ? 2 * s->shuffle_room : 64, s->spec.size);
	struct td_peek *p = reallocarray(s->shuffle, room, sizeof *p);
	if (!p)
		return td_err_memory(e);
	uint64_t more = (room - s->shuffle_room) * sizeof *p;
	memset(p + s->shuffle_room, 0, more);
	td_ledger_take(&f->ledger, more);
	s->shuffle_bytes += more;
	s->shuffle = p;
	s->shuffle_room = room;
	return 0;
}

static int shuffle_too_large(const struct tundish_flow *f, uint64_t bytes, struct tundish_error *e)
{
	return td_err(e, TUNDISH_E_USAGE, "a shuffle buffer of %" PRIu64 " records takes more than half of the "
	    "memory, %" PRIu64 " bytes: the first %" PRIu64 " have %" PRIu64, f->stream.spec.size,
	    f->ledger.budget, f->stream.n_shuffle + 1, bytes);
}

/* Fills the buffer as far as the records go. It may take half of the memory. */
static int fill_shuffle(struct tundish_flow *f, struct tundish_error *e)
{
	struct td_stream *s = &f->stream;
	struct tundish_record r;
	struct td_spot spot;
	int rc = 1;
	if (s->n_shuffle == 0)
		s->head = 0;
	while (s->n_shuffle < s->spec.size && (rc = next_record(f, &r, &spot, e)) > 0) {
		if (s->n_shuffle == s->shuffle_room && (rc = grow_shuffle(f, e)) < 0)
			break;
		struct td_peek *p = in_shuffle(s, s->n_shuffle);
		uint64_t grows = r.bytes > p->data.cap ? r.bytes - p->data.cap : 0;
		if (s->shuffle_bytes + grows > f->ledger.budget / 2)
			return shuffle_too_large(f, s->shuffle_bytes + grows, e);
		s->shuffle_bytes -= p->data.cap;
		rc = keep_record(f, p, &r, &spot, e);
		s->shuffle_bytes += p->data.cap;
		if (rc < 0)
			break;
		s->n_shuffle++;
	}
	return rc < 0 ? rc : 0;
}

/* The same order as that of a set whose records are found by position. */
static int next_shuffled(struct tundish_flow *f, struct tundish_record *ret, struct td_spot *ret_spot,
    struct tundish_error *e)
{
	struct td_stream *s = &f->stream;
	if (s->spec.kind != TD_ORDER_BUFFER)
		return next_record(f, ret, ret_spot, e);
	int rc = fill_shuffle(f, e);
	if (rc < 0 || s->n_shuffle == 0)
		return rc;
	uint64_t i = td_order_draw(&s->spec, s->epoch, s->drawn++, s->n_shuffle);
	struct td_peek *first = in_shuffle(s, 0), *drawn = in_shuffle(s, i), out = *drawn;
	*drawn = *first;
	*first = out;
	s->head = (s->head + 1) % s->shuffle_room;
	s->n_shuffle--;
	*ret = (struct tundish_record){ out.data.data, out.data.len, 0, 0 };
	*ret_spot = out.spot;
	return 1;
}

/* ---- into a chunk ---- */

static int take_record(struct td_chunk *c, const struct tundish_record *r,
    const struct td_spot *spot, uint64_t position)
{
	c->items[c->n] = (struct td_item){ .bytes = r->bytes, .spot = *spot, .position = position };
	if (!td_buf_add(&c->buf, r->data, r->bytes))
		return TUNDISH_E_MEMORY;
	c->bytes += r->bytes;
	c->n++;
	return 0;
}

/* With uneven drop a record counts only when each rank has one: reads those of the ranks
 * behind this one. 0 when one of them is missing. */
static int finish_round(struct tundish_flow *f, struct tundish_error *e)
{
	struct td_stream *s = &f->stream;
	struct tundish_record r;
	struct td_spot spot;
	while (s->uneven == TUNDISH_UNEVEN_DROP && s->position % f->share.world) {
		int rc = next_shuffled(f, &r, &spot, e);
		if (rc <= 0)
			return rc;
		s->position++;
	}
	return 1;
}

/* Up to `most` records of this rank, or fewer when they are large. 0 at the end. */
static int fill(struct tundish_flow *f, struct td_chunk *c, unsigned most, struct tundish_error *e)
{
	struct td_stream *s = &f->stream;
	struct tundish_record r;
	struct td_spot spot;
	c->buf.len = 0;
	while (c->n < most && c->bytes < f->chunk_keep) {
		int rc = next_shuffled(f, &r, &spot, e);
		if (rc <= 0)
			return rc;
		uint64_t position = s->position + (f->share.by_file ? f->share.rank : 0);
		s->position += f->share.by_file ? f->share.world : 1;
		if (position < s->start || position % f->share.world != f->share.rank)
			continue;
		if (take_record(c, &r, &spot, position) < 0)
			return td_err_memory(e);
		rc = finish_round(f, e);
		if (rc <= 0) {
			c->bytes -= c->items[--c->n].bytes;
			return rc;
		}
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

/* Closes the files; what was looked at stays. */
static void start_epoch(struct tundish_flow *f, uint64_t epoch)
{
	struct td_stream *s = &f->stream;
	for (unsigned i = 0; i < s->n_turns; i++)
		close_turn(f, &s->turns[i]);
	s->n_turns = s->turn = 0;
	s->next_file = 0;
	s->taken = s->seen = s->position = s->start = s->drawn = 0;
	s->opened = false;
	s->epoch = epoch;
}

void td_stream_start(struct tundish_flow *f, uint64_t epoch, uint64_t position)
{
	struct td_stream *s = &f->stream;
	if (epoch != s->epoch) {
		/* the first files may be others: nothing of what was looked at comes again */
		start_epoch(f, epoch);
		s->next_peeked = s->n_peeked;
	}
	s->start = position;
	s->out_epoch = epoch;
	s->out_position = position;
	if (epoch >= f->share.epochs)
		f->read_all = true;
}

void td_stream_close(struct tundish_flow *f)
{
	struct td_stream *s = &f->stream;
	start_epoch(f, 0);
	for (unsigned i = 0; i < s->n_peeked; i++)
		td_buf_free(&s->peeked[i].data);
	for (uint64_t i = 0; i < s->shuffle_room; i++)
		td_buf_free(&s->shuffle[i].data);
	s->n_peeked = s->next_peeked = 0;
	free(s->shuffle);
	free(s->turns);
	s->shuffle = NULL;
	s->turns = NULL;
}

static void end_epoch(struct tundish_flow *f)
{
	struct td_stream *s = &f->stream;
	bool last = s->epoch + 1 == f->share.epochs;
	struct tundish_error e;
	if (s->position == 0)
		td_engine_fail(f, td_err(&e, TUNDISH_E_EMPTY, "%s%s: no records", TD_ESC(f->set.files.paths[0]),
		    f->set.files.n > 1 ? " and others" : ""), &e);
	if (s->position < s->start)
		td_engine_fail(f, td_err(&e, TUNDISH_E_USAGE, "start is behind the last record"), &e);
	if (f->open) {
		f->open->after_epoch = s->epoch + 1;
		f->open->after_position = 0;
	}
	if (last || !f->share.flows)
		td_engine_close_batch(f);
	f->read_all |= last;
	start_epoch(f, s->epoch + 1);
}

/* Where the batch ends that this position is the last of, by now. */
static void note_end(const struct tundish_flow *f, struct td_slot *slot, uint64_t position)
{
	slot->after_epoch = f->stream.epoch;
	slot->after_position = (position / f->share.world + 1) * f->share.world;
}

static void give_rows(struct tundish_flow *f, struct td_chunk *c, struct td_slot *slot)
{
	for (unsigned i = 0; i < c->n; i++) {
		struct td_item *item = &c->items[i];
		item->slot = slot;
		item->row = slot->given;
		item->epoch = f->stream.epoch;
		note_end(f, slot, item->position);
		td_engine_give_row(f);
	}
}

void td_stream_fetch(struct tundish_flow *f, unsigned worker)
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
	uint64_t begun = td_now_ns(), cpu = td_thread_cpu_ns();
	int rc = fill(f, c, room, &e);
	point_at_data(c);
	if (rc < 0)
		add_failure(c, rc, &e);
	uint64_t wall = td_now_ns() - begun;
	cpu = td_thread_cpu_ns() - cpu;
	td_trace_add(f->trace, worker, &(struct td_trace_event){ .start_ns = begun, .end_ns = begun + wall,
		.what = TD_TRACE_FETCH, .batch = slot->batch, .items = c->n });
	td_pool_lock(f->pool);
	f->reading = false;
	if (c->buf.cap > c->held) {
		td_ledger_take(&f->ledger, c->buf.cap - c->held);
		c->held = c->buf.cap;
	}
	give_rows(f, c, slot);
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
