/* SPDX-License-Identifier: BSD-2-Clause
 * The engine: order -> fetch -> work -> batch ring. */
#include "engine.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/err.h"
#include "batch.h"
#include "groups.h"
#include "row.h"
#include "stream.h"

/* Rows of batch b. */
static unsigned share_rows(const struct td_share *s, uint64_t b)
{
	uint64_t all;
	if (!s->flows)
		return (unsigned)TD_MIN((uint64_t)s->batch, s->positions - b % s->batches * s->batch);
	if (td_mul_overflow(s->positions, s->epochs, &all))
		return s->batch;
	return (unsigned)TD_MIN((uint64_t)s->batch, all - b * s->batch);
}

uint64_t td_share_at(const struct td_share *s, uint64_t b, unsigned row, uint64_t *ret_epoch)
{
	uint64_t n = s->flows ? s->positions : s->batches * s->batch, at = b * s->batch + row;
	*ret_epoch = at / n;
	return at % n;
}

void td_engine_fail(struct tundish_flow *f, int rc, const struct tundish_error *e)
{
	if (f->rc == 0) {
		f->rc = rc;
		f->error = *e;
	}
	pthread_cond_signal(&f->ready);
}

/* ---- wake-ups ---- */

static bool can_fetch(const struct tundish_flow *f);

static void wake_workers(struct tundish_flow *f, unsigned n)
{
	td_pool_wake_among(f->pool, n, 0, f->threads);
}

/* Someone who fetches, once half of what may be read ahead is worked on: so one wake-up is
 * for several chunks. Workers that find nothing read fetch by themselves. */
static void wake_fetcher(struct tundish_flow *f)
{
	if (f->queued < (f->n_chunks - f->threads + 1) / 2 && can_fetch(f))
		td_pool_wake(f->pool, 1);
}

/* ---- slots ---- */

static void *slot_memory(size_t bytes)
{
	const size_t huge = (size_t)2 << 20;
	size_t align = bytes >= 2 * huge ? huge : 64;
	void *p = aligned_alloc(align, (bytes + align - 1) / align * align);
	if (p && align == huge)
		madvise(p, bytes, MADV_HUGEPAGE);
	return p;
}

void td_slot_free(struct tundish_flow *f, struct td_slot *s)
{
	free(s->labels);
	free(s->sources);
	free(s->good);
	free(s->arrays);
	td_columns_free(s->columns, &f->recipe.outs, f->share.batch);
	td_mixing_free(&s->mixing);
	if (s->images && f->allocator.free)
		f->allocator.free(f->allocator.data, s->images, f->recipe.row_bytes * f->share.batch);
	else
		free(s->images);
	s->images = NULL;
}

static bool new_slot(struct tundish_flow *f)
{
	struct td_slot *s = &f->slots[f->n_slots];
	size_t images = f->recipe.row_bytes * f->share.batch;
	s->labels = calloc(f->share.batch, sizeof *s->labels);
	s->good = calloc(f->share.batch, 1);
	s->arrays = calloc(f->recipe.outs.n_arrays + 1, sizeof *s->arrays); /* and source_id */
	if (f->set.n_sources)
		s->sources = calloc(f->share.batch, sizeof *s->sources);
	unsigned mixes = f->recipe.chain.n_mixes;
	bool mixing = !mixes || td_mixing_new(&s->mixing, mixes, f->share.batch);
	s->columns = td_columns_new(&f->recipe.outs, f->share.batch, &f->ledger);
	if (f->has_images)
		s->images = f->allocator.alloc ? f->allocator.alloc(f->allocator.data, images) :
						 slot_memory(images);
	if (!s->labels || !s->good || !s->arrays || !s->columns || !mixing || (f->has_images && !s->images) ||
	    (f->set.n_sources && !s->sources)) {
		td_slot_free(f, s);
		return false;
	}
	td_ledger_take(&f->ledger, images +
	    f->share.batch * (sizeof *s->labels + mixes * (sizeof *s->mixing.rows + sizeof *s->mixing.cycle) + 1));
	s->next = f->free_slots;
	f->free_slots = s;
	f->n_slots++;
	return true;
}

static bool more_batches(const struct tundish_flow *f)
{
	return f->next_open < f->end && f->next_open <= f->stop_at && !f->read_all;
}

static void no_batch(struct tundish_flow *f)
{
	struct tundish_error e;
	td_engine_fail(f, td_err(&e, TUNDISH_E_MEMORY, "out of memory for a batch of %u rows of %zu bytes",
	    f->share.batch, f->recipe.row_bytes), &e);
}

/* Makes the next batch the one that is handed out. The slot used last comes first: a
 * quick consumer keeps the ring in few, warm pages. */
static bool open_batch(struct tundish_flow *f)
{
	if (!f->free_slots && !new_slot(f)) {
		/* fewer batches ahead do as well, as long as there are any */
		if (f->n_slots > 0)
			f->most_slots = TD_MIN(f->most_slots, f->n_slots);
		else
			no_batch(f);
		return false;
	}
	struct td_slot *s = f->free_slots;
	f->free_slots = s->next;
	s->batch = f->next_open++;
	s->given = s->left = s->topped_up = 0;
	s->closed = s->prepared = s->mixed = false;
	if (f->set.stream) {
		s->epoch = f->stream.epoch;
		s->rows = f->share.batch;
	} else {
		s->rows = share_rows(&f->share, s->batch);
		td_share_at(&f->share, s->batch, 0, &s->epoch);
	}
	f->ring[s->batch % f->n_ring] = s;
	f->open = s;
	return true;
}

static bool can_open(const struct tundish_flow *f)
{
	return more_batches(f) &&
	    (f->free_slots || f->n_slots < TD_MIN(f->soft_slots, f->most_slots));
}

/* ---- fetch ---- */

struct td_slot *td_engine_open_slot(struct tundish_flow *f)
{
	return f->open || (can_open(f) && open_batch(f)) ? f->open : NULL;
}

static bool rows_done(const struct td_slot *s)
{
	return s->closed && s->left == 0;
}

static bool slot_complete(const struct tundish_flow *f, const struct td_slot *s)
{
	return rows_done(s) && (s->mixed || !f->recipe.chain.n_mixes);
}

static void tell_complete(struct tundish_flow *f, const struct td_slot *s)
{
	if (slot_complete(f, s) && s->batch == f->next_out)
		pthread_cond_signal(&f->ready);
}

/* All rows may be there: then they are mixed, unless nobody wants them. */
static void check_rows(struct tundish_flow *f, struct td_slot *s)
{
	if (rows_done(s) && f->recipe.chain.n_mixes && s->batch <= f->stop_at && f->rc == 0) {
		s->next = NULL;
		if (f->mix_tail)
			f->mix_tail->next = s;
		else
			f->mix_head = s;
		f->mix_tail = s;
		wake_workers(f, 1);
	} else if (rows_done(s)) {
		s->count = 0;
		s->mixed = true;
	}
	tell_complete(f, s);
}

void td_engine_close_batch(struct tundish_flow *f)
{
	struct td_slot *s = f->open;
	if (!s)
		return;
	s->closed = true;
	f->open = NULL;
	check_rows(f, s);
}

void td_engine_give_row(struct tundish_flow *f)
{
	f->open->left++;
	if (++f->open->given == f->open->rows)
		td_engine_close_batch(f);
}

static bool can_fetch(const struct tundish_flow *f)
{
	return f->free_chunks && !f->choked && f->rc == 0 && (f->open || can_open(f)) &&
	    !(f->set.stream && (f->reading || f->read_all));
}

static int find_record(struct tundish_flow *f, struct td_item *item)
{
	struct td_slot *s = item->slot;
	struct td_pick pick;
	uint64_t j = td_share_at(&f->share, s->batch, item->row, &item->epoch);
	item->position = td_share_global(&f->share, j);
	int rc = td_sampler_at(&f->sampler, item->epoch, td_share_place(&f->share, j) % f->share.records,
	    &pick);
	if (rc < 0)
		return rc;
	item->record = pick.record;
	item->extra = pick.extra;
	if (s->sources)
		s->sources[item->row] = pick.source;
	item->spot = td_records_spot(&f->set, pick.record);
	if (f->set.groups)
		td_groups_start(f, &item->spot, item->epoch, item->position);
	item->kept = f->cache.kind == TD_CACHE_INDEX ? NULL : td_cache_get(&f->cache, pick.record);
	item->shelved = td_cache_on_shelf(&f->cache, pick.record);
	return 0;
}

/* Gives up buffers that wait to be used again. */
static void drop_spare(struct tundish_flow *f)
{
	for (struct td_chunk *c = f->free_chunks; c; c = c->next) {
		td_buf_free(&c->buf);
		td_ledger_give(&f->ledger, c->held);
		c->held = 0;
	}
}

/* Room in the ledger for so many more bytes of a chunk; one record may always pass when no
 * other is in memory. */
static bool admit(struct tundish_flow *f, struct td_chunk *c, uint64_t bytes)
{
	if (c->bytes + bytes <= c->held)
		return true;
	uint64_t more = c->bytes + bytes - c->held;
	bool fits = td_ledger_try(&f->ledger, more);
	if (!fits) {
		drop_spare(f);
		fits = td_ledger_try(&f->ledger, more);
	}
	if (!fits && (c->n > 0 || f->busy_chunks > 0)) {
		f->choked = c->n == 0;
		return false;
	}
	if (!fits)
		td_ledger_take(&f->ledger, more);
	c->held += more;
	return true;
}

/* Fills a chunk with the next positions, as far as the ledger allows. */
static void claim(struct tundish_flow *f, struct td_chunk *c)
{
	struct td_slot *s;
	while (c->n < f->chunk_items && (s = td_engine_open_slot(f))) {
		struct td_item item = { .slot = s, .row = s->given, .epoch = s->epoch };
		if (find_record(f, &item) < 0) {
			td_engine_fail(f, td_err_memory(&f->error), &f->error);
			return;
		}
		uint64_t bytes = td_item_read_bytes(&f->set, &item);
		if (c->n > 0 && c->bytes + bytes > f->chunk_keep)
			return;
		if (!admit(f, c, bytes))
			return;
		c->bytes += bytes;
		s->topped_up += item.extra;
		c->items[c->n++] = item;
		td_engine_give_row(f);
	}
}

struct td_chunk *td_engine_take_chunk(struct tundish_flow *f)
{
	struct td_chunk *c = f->free_chunks;
	f->free_chunks = c->next;
	c->next = NULL;
	c->n = c->claimed = c->left = 0;
	c->bytes = 0;
	return c;
}

static void free_chunk(struct tundish_flow *f, struct td_chunk *c)
{
	c->next = f->free_chunks;
	f->free_chunks = c;
	f->choked = false;
}

void td_engine_put_chunk(struct tundish_flow *f, struct td_chunk *c)
{
	if (c->n == 0) {
		free_chunk(f, c);
		return;
	}
	c->left = c->n;
	f->busy_chunks++;
	if (f->tail)
		f->tail->next = c;
	else
		f->head = c;
	f->tail = c;
	f->queued++;
	wake_workers(f, (c->n + f->grain - 1) / f->grain);
}

void td_engine_count_fetch(struct tundish_flow *f, const struct td_chunk *c, uint64_t wall_ns,
    uint64_t cpu_ns)
{
	struct tundish_flow_stage *s = &f->stats.stages[TD_STAGE_FETCH];
	s->items += c->n;
	s->bytes += c->bytes;
	s->busy_ns += cpu_ns;
	s->wait_ns += wall_ns > cpu_ns ? wall_ns - cpu_ns : 0;
	for (unsigned i = 0; i < c->n; i++) {
		const struct td_item *item = &c->items[i];
		/* of raw data the entry holds an estimate */
		bool raw = td_records_part(&f->set, item->spot.file);
		if (item->data)
			f->stats.record_bytes += raw ? item->bytes : item->spot.entry.bytes;
	}
}

static void fetch(struct tundish_flow *f, unsigned worker)
{
	struct td_chunk *c = td_engine_take_chunk(f);
	claim(f, c);
	if (c->n == 0) {
		free_chunk(f, c);
		/* free_chunk() says that there is room again: here that is not so */
		f->choked = f->busy_chunks > 0;
		return;
	}
	f->busy_chunks++;
	/* where reading is slower than the work, by as many as there are */
	if (!f->head && can_fetch(f))
		td_pool_wake(f->pool, 1);
	td_pool_unlock(f->pool);
	td_stall();
	struct tundish_error e = { 0 };
	uint64_t begun = td_now_ns(), cpu = td_thread_cpu_ns();
	struct td_items_desk *desk = f->item_desks ? f->item_desks[worker] : NULL;
	int rc = td_chunk_read(c, &f->set, f->files, desk, &f->cache, &e);
	uint64_t wall = td_now_ns() - begun;
	cpu = td_thread_cpu_ns() - cpu;
	td_trace_add(f->trace, worker, &(struct td_trace_event){ .start_ns = begun, .end_ns = begun + wall,
		.what = TD_TRACE_FETCH, .batch = c->items[0].slot->batch, .items = c->n });
	td_pool_lock(f->pool);
	f->busy_chunks--;
	if (rc < 0)
		td_engine_fail(f, rc, &e);
	/* parts of files may be larger than was thought */
	if (f->set.n_parts && c->buf.cap > c->held) {
		td_ledger_take(&f->ledger, c->buf.cap - c->held);
		c->held = c->buf.cap;
	}
	td_engine_count_fetch(f, c, wall, cpu);
	td_engine_put_chunk(f, c);
}

/* ---- work ---- */

static void add_note(struct td_slot *s, struct td_note *note)
{
	struct td_note **at = &s->notes;
	while (*at && (*at)->row < note->row)
		at = &(*at)->next;
	note->next = *at;
	*at = note;
}

static void no_memory(struct tundish_flow *f)
{
	td_engine_fail(f, TUNDISH_E_MEMORY, &(struct tundish_error){ TUNDISH_E_MEMORY, "out of memory" });
}

static void finish_item(struct tundish_flow *f, struct td_item *item)
{
	struct td_slot *s = item->slot;
	if (item->note) {
		item->note->row = item->row;
		if (item->note->fatal)
			f->stop_at = TD_MIN(f->stop_at, s->batch);
		add_note(s, item->note);
		item->note = NULL;
	}
	if (item->lost)
		no_memory(f);
	s->left--;
	check_rows(f, s);
}

/* Time of the parts, scaled from wall to CPU time by what the whole took of either. */
static void add_times(struct tundish_flow *f, struct td_desk *desk, unsigned items, uint64_t wall,
    uint64_t cpu)
{
	double scale = wall > 0 ? (double)cpu / (double)wall : 1;
	struct tundish_flow_stage *s = f->stats.stages;
	s[TD_STAGE_PARSE].busy_ns += (uint64_t)((double)desk->parse_ns * scale);
	s[TD_STAGE_DECODE].busy_ns += (uint64_t)((double)desk->decode_ns * scale);
	s[TD_STAGE_PIXELS].busy_ns += (uint64_t)((double)desk->pixels_ns * scale);
	desk->parse_ns = desk->decode_ns = desk->pixels_ns = 0;
	f->stats.index_refused += desk->index_refused;
	desk->index_refused = 0;
	f->pictures += desk->pictures;
	f->picture_bytes += desk->picture_bytes;
	desk->pictures = desk->picture_bytes = 0;
	for (int i = TD_STAGE_PARSE; i < TD_STAGES; i++)
		s[i].items += items;
}

static void recycle(struct tundish_flow *f, struct td_chunk *c)
{
	f->busy_chunks--;
	if (c->buf.cap > 2 * f->chunk_keep) {
		td_buf_free(&c->buf);
		td_ledger_give(&f->ledger, c->held);
		c->held = 0;
	}
	free_chunk(f, c);
	wake_fetcher(f);
}

static void poll_stop(struct tundish_flow *f)
{
	if (!f->listener.stop || f->rc < 0 || pthread_mutex_trylock(&f->talk) != 0)
		return;
	if (td_stopped(&f->listener)) {
		struct tundish_error e;
		td_engine_fail(f, td_err(&e, TUNDISH_E_STOPPED, "stopped"), &e);
	}
	pthread_mutex_unlock(&f->talk);
}

static void trace_work(struct tundish_flow *f, unsigned worker, const struct td_item *first, unsigned n,
    uint64_t start_ns, uint64_t wall_ns)
{
	const struct td_desk *desk = &f->hands[worker].desk;
	td_trace_add(f->trace, worker, &(struct td_trace_event){ .start_ns = start_ns,
		.end_ns = start_ns + wall_ns, .what = TD_TRACE_WORK, .batch = first->slot->batch,
		.items = n, .parse_us = (uint32_t)(desk->parse_ns / 1000),
		.decode_us = (uint32_t)(desk->decode_ns / 1000),
		.pixels_us = (uint32_t)(desk->pixels_ns / 1000) });
}

static void work(struct tundish_flow *f, unsigned worker)
{
	struct td_chunk *c = f->head;
	struct td_hand *hand = &f->hands[worker];
	unsigned first = c->claimed, n = TD_MIN(f->grain, c->n - first);
	uint64_t stop_at = f->stop_at;
	c->claimed += n;
	if (c->claimed == c->n) {
		f->queued--;
		f->head = c->next;
		if (!f->head)
			f->tail = NULL;
	}
	bool wanted = f->rc == 0;
	td_pool_unlock(f->pool);
	td_stall();
	uint64_t begun = td_now_ns(), cpu = td_thread_cpu_ns();
	for (unsigned i = first; i < first + n && wanted; i++) {
		if (c->items[i].slot->batch <= stop_at)
			td_row_make(f, hand, &c->items[i]);
	}
	uint64_t wall = td_now_ns() - begun;
	cpu = td_thread_cpu_ns() - cpu;
	trace_work(f, worker, &c->items[first], n, begun, wall);
	td_stall();
	td_pool_lock(f->pool);
	for (unsigned i = first; i < first + n; i++)
		finish_item(f, &c->items[i]);
	add_times(f, &hand->desk, n, wall, cpu);
	f->stats.replaced += hand->replaced;
	hand->replaced = 0;
	c->left -= n;
	if (c->left == 0)
		recycle(f, c);
	poll_stop(f);
}

/* ---- mixing ---- */

static void drop_mix(struct tundish_flow *f)
{
	f->mix_head = f->mix_head->next;
	if (!f->mix_head)
		f->mix_tail = NULL;
}

static void end_mix(struct tundish_flow *f, struct td_slot *s)
{
	s->mixed = true;
	tell_complete(f, s);
}

/* First one thread sees who is mixed with whom, then as many as there are take lines of all
 * pictures. Lock held, given up for the work. */
static void prepare_mix(struct tundish_flow *f, struct td_slot *s, unsigned worker)
{
	drop_mix(f);
	td_pool_unlock(f->pool);
	td_stall();
	int tasks = td_batch_prepare(f, s, &f->hands[worker].desk);
	td_pool_lock(f->pool);
	s->prepared = true;
	s->next_task = 0;
	s->tasks = s->tasks_left = tasks > 0 ? (unsigned)tasks : 0;
	if (tasks < 0)
		no_memory(f);
	if (tasks <= 0) {
		end_mix(f, s);
		return;
	}
	s->next = f->mix_head;
	f->mix_head = s;
	f->mix_tail = f->mix_tail ? f->mix_tail : s;
	wake_workers(f, s->tasks - 1);
}

static void mix(struct tundish_flow *f, unsigned worker)
{
	struct td_slot *s = f->mix_head;
	if (!s->prepared) {
		prepare_mix(f, s, worker);
		return;
	}
	unsigned task = s->next_task++;
	if (s->next_task == s->tasks)
		drop_mix(f);
	td_pool_unlock(f->pool);
	td_stall();
	uint64_t cpu = td_thread_cpu_ns();
	bool ok = td_batch_mix(f, s, task, &f->hands[worker].desk);
	cpu = td_thread_cpu_ns() - cpu;
	td_pool_lock(f->pool);
	f->stats.stages[TD_STAGE_PIXELS].busy_ns += cpu;
	if (!ok)
		no_memory(f);
	if (--s->tasks_left == 0)
		end_mix(f, s);
}

static enum td_step step(void *ctx, struct td_pool *pool, unsigned worker)
{
	struct tundish_flow *f = ctx;
	(void)pool;
	td_trace_wait(f->trace, worker);
	if (f->closing)
		return TD_STEP_END;
	if (worker < f->threads && f->mix_head) {
		mix(f, worker);
		return TD_STEP_DONE;
	}
	if (worker < f->threads && f->head) {
		work(f, worker);
		return TD_STEP_DONE;
	}
	if (!can_fetch(f)) {
		f->was_full |= worker < f->threads && !f->open && !f->free_slots && more_batches(f);
		return TD_STEP_IDLE;
	}
	if (f->set.stream)
		td_stream_fetch(f, worker);
	else
		fetch(f, worker);
	return TD_STEP_DONE;
}

/* ---- start, stop ---- */

int td_engine_start(struct tundish_flow *f, struct tundish_error *e)
{
	if (f->closing)
		return td_err(e, TUNDISH_E_INVALID, "the flow was ended");
	f->started_ns = td_now_ns();
	return td_pool_start(&f->pool, f->threads + f->fetchers, step, f, e);
}

void td_engine_stop(struct tundish_flow *f)
{
	if (!f->pool) {
		f->closing = true;
		return;
	}
	td_pool_lock(f->pool);
	f->closing = true;
	td_pool_wake(f->pool, td_pool_threads(f->pool));
	td_pool_unlock(f->pool);
	td_pool_join(f->pool, NULL);
	f->pool = NULL;
}

/* ---- the consumer's side ---- */

/* A batch that cannot come because the consumer itself holds all room for it. */
static bool starved(const struct tundish_flow *f)
{
	return f->lent > 0 && f->lent == f->most_slots && f->next_open == f->next_out;
}

static struct td_slot *next_complete(const struct tundish_flow *f)
{
	if (f->next_out >= f->next_open)
		return NULL;
	struct td_slot *s = f->ring[f->next_out % f->n_ring];
	return slot_complete(f, s) ? s : NULL;
}

/* More batches ahead help only where workers stood still for want of room and the consumer
 * waited all the same: then room doubles. So a consumer that keeps up, or one that is
 * slower all the time, costs the memory of few batches, whatever the budget allows. */
static void grow(struct tundish_flow *f)
{
	bool cornered = f->next_open == f->next_out && !f->free_slots;
	if ((!f->was_full && !cornered) || f->soft_slots >= f->most_slots)
		return;
	f->soft_slots = TD_MIN(2 * f->soft_slots, f->most_slots);
	f->was_full = false;
	if (can_fetch(f))
		td_pool_wake(f->pool, 1);
}

static bool at_end(const struct tundish_flow *f)
{
	return f->next_out == f->end || (f->read_all && f->next_out == f->next_open);
}

/* What the consumer did since it got the last batch. */
static void trace_consumer(struct tundish_flow *f)
{
	if (f->trace && f->batches > 0)
		td_trace_since(f->trace, f->threads + f->fetchers, TD_TRACE_BATCH, f->next_out - 1);
}

int td_engine_next(struct tundish_flow *f, struct td_slot **ret, struct tundish_error *e)
{
	struct td_slot *s = NULL;
	int rc = 0;
	trace_consumer(f);
	td_pool_lock(f->pool);
	poll_stop(f);
	while (f->rc == 0 && !at_end(f) && !(s = next_complete(f)) && !starved(f)) {
		grow(f);
		td_pool_wait(f->pool, &f->ready, &f->consumer);
	}
	if (f->rc < 0) {
		rc = f->rc;
		if (e)
			*e = f->error;
	} else if (s) {
		s->lent = true;
		f->lent++;
		f->next_out++;
		*ret = s;
		rc = 1;
	} else if (!at_end(f)) {
		rc = td_err(e, TUNDISH_E_INVALID, "all %u batches are held; release one first",
		    f->lent);
	}
	td_pool_unlock(f->pool);
	td_trace_wait(f->trace, f->threads + f->fetchers);
	return rc;
}

void td_engine_release(struct tundish_flow *f, struct td_slot *s)
{
	td_pool_lock(f->pool);
	s->lent = false;
	f->lent--;
	s->next = f->free_slots;
	f->free_slots = s;
	wake_fetcher(f);
	td_pool_unlock(f->pool);
}
