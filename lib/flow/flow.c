/* SPDX-License-Identifier: BSD-2-Clause
 * A flow from outside: open, next, release, stats, close. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "batch.h"
#include "groups.h"
#include "plan.h"
#include "probe.h"
#include "record/ahead.h"
#include "stream.h"

#define FETCHERS 2
#define CHUNK_BYTES ((uint64_t)256 << 10)
#define SMALL_RECORD ((uint64_t)16 << 10)
#define PREFETCH_MOST 256u
#define FIRST_SLOTS 4u

TUNDISH_API void tundish_flow_options_init(struct tundish_flow_options *ret_options)
{
	*ret_options = (struct tundish_flow_options){
		.size = sizeof *ret_options,
		.batch = 64,
		.epochs = 1,
		.compression = TUNDISH_AUTO,
		.max_record_bytes = 2147483647,
		.max_pixels = 268435456,
		.world = 1,
		.cycle_length = 1,
		.block_length = 1,
		.pixel_origin = 1,
	};
}

/* ---- opening ---- */

static int check_options(const struct tundish_flow_options *o, struct tundish_error *e)
{
	if (o->size != sizeof *o || (o->n_paths == 0) == (o->n_mix == 0))
		return td_err(e, TUNDISH_E_INVALID, "options are not initialised, or name not either of paths and a mix");
	if (o->batch == 0 || o->batch > 1u << 20)
		return td_err(e, TUNDISH_E_USAGE, "batch is 1 to %u", 1u << 20);
	if (o->epochs == 0)
		return td_err(e, TUNDISH_E_USAGE, "epochs is 1 or more");
	if (o->sampler && o->n_mix)
		return td_err(e, TUNDISH_E_USAGE, "a sampler and a mix both say what comes when: one of "
		    "them");
	if (o->no_reshuffle && (o->sampler || o->n_mix))
		return td_err(e, TUNDISH_E_USAGE, "a sampler and a mix draw anew in each epoch: no-reshuffle does not "
		    "go with them");
	if (o->min_per_source && !o->n_mix)
		return td_err(e, TUNDISH_E_USAGE, "there are no sources to hold a minimum of without a mix");
	if (o->n_mix && (o->skip || o->limit))
		return td_err(e, TUNDISH_E_USAGE, "skip and limit are of one set of files, not of a mix");
	if (o->n_mix && (uint64_t)o->min_per_source * o->n_mix > o->batch)
		return td_err(e, TUNDISH_E_USAGE, "%u of each of %zu sources do not fit into a batch of %u",
		    o->min_per_source, o->n_mix, o->batch);
	if (o->world == 0 || o->rank >= o->world)
		return td_err(e, TUNDISH_E_USAGE, "rank %u is not below world %u", o->rank, o->world);
	if (o->rank_by == TUNDISH_RANK_FILE && o->world > 1 && (o->sampler || o->n_mix || o->skip || o->limit))
		return td_err(e, TUNDISH_E_USAGE, "skip, limit, a sampler or a mix are of the records of all "
		    "ranks: rank-by file does not go with them");
	return 0;
}

/* How many batches and records may be in memory. So many batches as were asked for must fit
 * into it, or what a cache leaves of it; two may always be. */
static int plan_memory(struct tundish_flow *f, const struct tundish_flow_options *o, struct tundish_error *e)
{
	uint64_t memory = td_memory(o->memory);
	/* what is padded stands there twice */
	uint64_t row = f->recipe.row_bytes + f->recipe.outs.row_bytes + 2 * f->recipe.outs.loose_bytes;
	uint64_t batch = TD_MAX(row * f->share.batch, 1u);
	/* half of it, or with a cache, which takes a half, a quarter */
	uint64_t fit = TD_MAX(memory / (f->cache.entries ? 4 : 2) / batch, 2u);
	uint64_t mean = f->set.stream ? SMALL_RECORD : f->set.bytes / f->set.first[f->set.files.n];
	uint64_t room = memory / (f->cache.entries ? 2 : 1);
	if (o->prefetch > 2 && o->prefetch > room / batch)
		return td_err(e, TUNDISH_E_USAGE, "%u batches of %" PRIu64 " bytes do not fit into a memory of %"
		    PRIu64 " bytes: prefetch %" PRIu64 " at most", o->prefetch, batch, memory,
		    TD_MAX(room / batch, (uint64_t)2));
	f->prefetch = o->prefetch ? o->prefetch : (unsigned)TD_MIN(fit, PREFETCH_MOST);
	f->most_slots = f->n_ring = f->prefetch + 1;
	f->soft_slots = o->prefetch ? f->most_slots : TD_MIN(f->most_slots, FIRST_SLOTS);
	f->ledger.budget = memory;
	if (f->set.packed)
		td_packed_account(f->set.packed, &f->ledger);
	if (f->set.stream)
		td_ledger_take(&f->ledger, td_ahead_bytes(f->stream.threads));
	f->chunk_items = (unsigned)TD_MAX(TD_MIN(CHUNK_BYTES / TD_MAX(mean, 1u), TD_CHUNK_ITEMS), 1);
	f->chunk_keep = TD_MAX(2 * CHUNK_BYTES, 4 * mean);
	/* pictures are many times larger than their files */
	if (f->cache.shelf && f->cache.kind != TD_CACHE_RAW)
		f->chunk_keep *= 8;
	f->grain = mean < SMALL_RECORD ? TD_MIN(8, f->chunk_items) : 1;
	f->n_chunks = 2 * f->threads + 2 * FETCHERS;
	return 0;
}

static int make_room(struct tundish_flow *f, struct tundish_error *e)
{
	f->chunks = calloc(f->n_chunks, sizeof *f->chunks);
	f->slots = calloc(f->most_slots, sizeof *f->slots);
	f->ring = calloc(f->n_ring, sizeof(struct td_slot *));
	if (!f->chunks || !f->slots || !f->ring)
		return td_err_memory(e);
	for (unsigned i = 0; i < f->n_chunks; i++) {
		f->chunks[i].next = f->free_chunks;
		f->free_chunks = &f->chunks[i];
	}
	return 0;
}

static int make_hands(struct tundish_flow *f, struct tundish_error *e)
{
	f->hands = calloc(f->threads, sizeof *f->hands);
	if (!f->hands)
		return td_err_memory(e);
	if (f->set.n_parts && !(f->item_desks = calloc(f->threads + f->fetchers, sizeof *f->item_desks)))
		return td_err_memory(e);
	for (unsigned i = 0; f->item_desks && i < f->threads + f->fetchers; i++) {
		f->item_desks[i] = td_items_desk_new();
		if (!f->item_desks[i])
			return td_err_memory(e);
	}
	for (unsigned i = 0; i < f->threads; i++) {
		int rc = td_decoder_new(&f->hands[i].desk.decoder, e);
		if (rc < 0)
			return rc;
	}
	return 0;
}

/* This rank's files alone. */
static int take_files(struct tundish_flow *f, struct tundish_error *e)
{
	int rc = td_records_deal(&f->set, f->share.rank, f->share.world, e);
	if (rc < 0 || f->set.stream)
		return rc;
	td_files_free(f->files);
	f->files = NULL;
	return td_files_new(&f->files, f->set.files.paths, f->set.files.n, e);
}

static int open_flow(struct tundish_flow *f, const struct tundish_flow_options *o,
    struct tundish_error *e)
{
	struct td_order_spec spec = { .cycle = o->cycle_length, .length = o->block_length,
		.once = o->no_reshuffle };
	struct td_keys asked = { o->image_key, o->label_key };
	struct td_sampler_spec sampler = { 0 };
	struct td_cache_spec cache = { .kind = TD_CACHE_NONE };
	int rc = td_chain_parse(&f->recipe.chain, o->ops, e);
	if (rc == 0)
		rc = td_order_parse(&spec, o->shuffle, e);
	if (rc == 0)
		rc = td_sampler_parse(&sampler, o->sampler, e);
	if (rc == 0)
		rc = td_cache_parse(&cache, o->cache, e);
	if (rc == 0)
		rc = td_records_open(&f->set, o, f->recipe.chain.clip.frames > 0, e);
	if (rc == 0 && !f->set.stream)
		rc = td_files_new(&f->files, f->set.files.paths, f->set.files.n, e);
	if (rc == 0 && f->recipe.chain.clip.frames && !f->set.stream)
		rc = td_groups_open(f, &asked, e);
	if (rc == 0 && f->share.by_file)
		rc = take_files(f, e);
	if (rc == 0)
		rc = td_plan_order(f, o, &sampler, &spec, e);
	td_sampler_spec_free(&sampler);
	if (rc == 0)
		rc = td_plan_cache(f, o, &cache, e);
	td_cache_spec_free(&cache);
	if (rc == 0)
		rc = make_hands(f, e);
	if (rc == 0)
		rc = td_probe(f, &asked, e);
	if (rc == 0 && f->set.stream && o->start)
		rc = td_plan_stream_start(f, o->start, e);
	if (rc == 0)
		rc = plan_memory(f, o, e);
	if (rc < 0)
		return rc;
	if (o->trace && !(f->trace = td_trace_open(f->threads + f->fetchers + 1)))
		return td_err_memory(e);
	return make_room(f, e);
}

TUNDISH_API int tundish_flow_open(struct tundish_flow **ret_flow,
    const struct tundish_flow_options *options, struct tundish_error *ret_error)
{
	int rc = check_options(options, ret_error);
	if (rc < 0)
		return rc;
	struct tundish_flow *f = calloc(1, sizeof *f);
	if (!f)
		return td_err_memory(ret_error);
	const struct tundish_flow_options *o = options;
	f->listener = o->listener;
	f->allocator = o->allocator;
	f->on_error = o->on_error;
	f->last = o->last;
	f->stop_at = UINT64_MAX;
	f->threads = td_threads(o->threads);
	f->fetchers = FETCHERS;
	f->share = (struct td_share){
		.rank = o->rank, .world = o->world, .batch = o->batch, .epochs = o->epochs,
		.by_file = o->rank_by == TUNDISH_RANK_FILE && o->world > 1, .flows = o->flow_epochs
	};
	f->stream.compression = o->compression;
	f->stream.max_record_bytes = o->max_record_bytes;
	f->recipe.seed = o->seed;
	f->recipe.max_pixels = o->max_pixels;
	pthread_cond_init(&f->ready, NULL);
	pthread_mutex_init(&f->talk, NULL);
	td_gate_init(&f->gate, &f->ledger);
	f->recipe.gate = &f->gate;
	f->recipe.ledger = &f->ledger;
	rc = open_flow(f, o, ret_error);
	if (rc < 0) {
		tundish_flow_close(f);
		return rc;
	}
	*ret_flow = f;
	return 0;
}

/* ---- batches ---- */

/* Tells what was met in the batch, in order; the first fatal note is the error. */
static int tell_notes(struct tundish_flow *f, struct td_slot *s, struct tundish_error *e)
{
	pthread_mutex_lock(&f->talk);
	int rc = td_held_tell(&s->held, &f->listener, e);
	while (s->notes && rc == 0) {
		struct td_note *note = s->notes;
		s->notes = note->next;
		if (note->fatal) {
			rc = td_err_at(e, note->code, note->at, "%s", note->reason);
		} else {
			td_fault(&f->listener, note->code, note->at, 0, "%s", note->reason);
			f->bad++;
		}
		free(note);
	}
	pthread_mutex_unlock(&f->talk);
	return rc;
}

/* Of the good rows, those that repeat the start of the order. */
static unsigned count_repeats(const struct tundish_flow *f, const struct td_slot *s)
{
	unsigned n = 0;
	if (f->set.stream)
		return 0;
	for (unsigned i = 0; i < s->given; i++) {
		uint64_t epoch, j = td_share_at(&f->share, s->batch, i, &epoch);
		n += s->good[i] && td_share_place(&f->share, j) >= f->share.records;
	}
	return n;
}

static void fill_up(const struct tundish_flow *f, struct td_slot *s, unsigned count)
{
	size_t row = f->recipe.row_bytes;
	if (f->has_images)
		memset(s->images + count * row, 0, (f->share.batch - count) * row);
	for (unsigned i = count; i < f->share.batch; i++) {
		s->labels[i] = -1;
		td_columns_blank(s->columns, &f->recipe.outs, i);
		if (s->sources)
			s->sources[i] = -1;
	}
}

static struct tundish_array images_of(const struct tundish_flow *f, const struct td_slot *s,
    unsigned rows)
{
	const struct td_recipe *r = &f->recipe;
	struct tundish_array a = { .dtype = r->chain.dtype, .ndim = 4,
		.shape = { rows, r->height, r->width, r->channels }, .data = s->images,
		.bytes = rows * r->row_bytes };
	const uint64_t nchw[3] = { r->channels, r->height, r->width };
	/* arrays of all sources are alike */
	const struct td_tensor *t = &r->origins[0].tensor;
	if (t->plain) {
		a.ndim = 1 + t->n_axes;
		memcpy(a.shape + 1, t->shape, t->n_axes * sizeof *a.shape);
	}
	if (r->chain.nchw)
		memcpy(a.shape + 1, nchw, sizeof nchw);
	if (r->chain.clip.frames) {
		memmove(a.shape + 2, a.shape + 1, 3 * sizeof *a.shape);
		a.shape[1] = r->chain.clip.frames;
		a.ndim++;
	}
	return a;
}

/* All that goes out, `rows` long, into the slot. */
static unsigned list_arrays(const struct tundish_flow *f, const struct td_slot *s, unsigned rows)
{
	const struct td_outs *outs = &f->recipe.outs;
	unsigned n = 0;
	for (unsigned i = 0; i < outs->n; i++) {
		struct tundish_array *a = &s->arrays[n];
		if (outs->list[i].source == TD_OUT_FEATURE || s->columns[i].fixed) {
			n += td_columns_arrays(s->columns, outs, i, rows, a);
			continue;
		}
		if (outs->list[i].source == TD_OUT_IMAGE)
			*a = images_of(f, s, rows);
		else
			*a = (struct tundish_array){ .dtype = TUNDISH_DTYPE_INT64, .ndim = 1, .shape = { rows },
				.data = s->labels, .bytes = rows * sizeof *s->labels };
		a->name = outs->list[i].name;
		n++;
	}
	if (s->sources)
		s->arrays[n++] = (struct tundish_array){ .name = "source_id",
			.dtype = TUNDISH_DTYPE_INT64, .ndim = 1, .shape = { rows }, .data = s->sources,
			.bytes = rows * sizeof *s->sources };
	return n;
}

static struct tundish_batch batch_of(const struct tundish_flow *f, struct td_slot *s, unsigned count,
    unsigned rows)
{
	struct tundish_batch b = {
		.epoch = s->epoch,
		.index = s->batch,
		.count = count,
		.rows = rows,
		.repeats = count_repeats(f, s),
		.labels = s->labels,
		.arrays = s->arrays,
		.n_arrays = list_arrays(f, s, rows),
		.slot = s,
	};
	for (unsigned i = 0; i < b.n_arrays; i++)
		b.arrays_bytes += s->arrays[i].bytes;
	if (f->has_images) {
		const struct tundish_array a = images_of(f, s, rows);
		b.dtype = a.dtype;
		b.ndim = a.ndim;
		memcpy(b.shape, a.shape, sizeof b.shape);
		b.images = a.data;
		b.images_bytes = a.bytes;
	}
	return b;
}

/* An error is for good; what was met in a batch that is held, too. */
static int give_up(struct tundish_flow *f, struct td_slot *s, int rc, const struct tundish_error *e,
    struct tundish_error *ret_error)
{
	if (s) {
		td_pool_lock(f->pool);
		td_engine_fail(f, rc, e);
		td_pool_unlock(f->pool);
		td_engine_release(f, s);
	}
	if (ret_error)
		*ret_error = *e;
	return rc;
}

TUNDISH_API int tundish_flow_next(struct tundish_flow *f, struct tundish_batch *ret_batch,
    struct tundish_error *ret_error)
{
	struct tundish_error e = { 0 };
	struct td_slot *s = NULL;
	int rc = f->pool ? 0 : td_engine_start(f, &e);
	while (rc == 0 && (rc = td_engine_next(f, &s, &e)) == 1) {
		rc = tell_notes(f, s, &e);
		if (rc < 0)
			break;
		f->stream.out_epoch = s->after_epoch;
		f->stream.out_position = s->after_position;
		unsigned count = f->recipe.chain.n_mixes ? s->count : td_batch_close_up(f, s);
		bool cut = f->last == TUNDISH_LAST_DROP && f->set.stream && s->given < s->rows;
		if (count == 0 || cut) {
			td_engine_release(f, s);
			s = NULL;
			rc = 0;
			continue;
		}
		if (f->last == TUNDISH_LAST_PAD)
			fill_up(f, s, count);
		unsigned rows = f->last == TUNDISH_LAST_PAD ? f->share.batch : count;
		rc = td_columns_pack(s->columns, &f->recipe.outs, rows, &f->ledger, &e);
		if (rc < 0)
			break;
		f->records += count;
		f->batches++;
		f->topped_up += s->topped_up;
		*ret_batch = batch_of(f, s, count, rows);
		return 1;
	}
	return rc < 0 ? give_up(f, s, rc, &e, ret_error) : rc;
}

TUNDISH_API void tundish_flow_release(struct tundish_flow *f, const struct tundish_batch *batch)
{
	td_engine_release(f, batch->slot);
}

/* ---- what it tells ---- */

TUNDISH_API uint64_t tundish_flow_records(const struct tundish_flow *f)
{
	return f->set.stream ? UINT64_MAX : f->share.by_file ? f->set.all : f->share.records;
}

TUNDISH_API uint64_t tundish_flow_batches(const struct tundish_flow *f)
{
	return f->end;
}

TUNDISH_API const char *tundish_flow_cursor(struct tundish_flow *f)
{
	uint64_t epoch = f->stream.out_epoch, position = f->stream.out_position;
	if (!f->set.stream)
		position = td_share_at(&f->share, f->next_out, 0, &epoch) * f->share.world;
	int n = snprintf(f->cursor, sizeof f->cursor, "%" PRIu64 ":%" PRIu64 ":%" PRIu64, f->recipe.seed, epoch,
	    position);
	/* where the rest is another one for another number of ranks */
	if (f->share.by_file || f->recipe.chain.n_mixes)
		snprintf(f->cursor + n, sizeof f->cursor - (size_t)n, ":%" PRIu64, f->share.world);
	return f->cursor;
}

TUNDISH_API void tundish_flow_stats(struct tundish_flow *f, struct tundish_flow_stats *ret_stats)
{
	static const char *const names[TD_STAGES] = { "fetch", "parse", "decode", "pixels" };
	struct tundish_flow_stats s = { 0 };
	if (f->pool) {
		struct td_wait_sum idle, all;
		td_pool_lock(f->pool);
		s = f->stats;
		if (f->cache.kind == TD_CACHE_NONE && f->pictures)
			s.decoded_bytes = (uint64_t)((double)f->picture_bytes / (double)f->pictures *
			    (double)f->share.records);
		s.wall_ns = td_now_ns() - f->started_ns;
		td_pool_idle(f->pool, f->threads, &idle);
		td_pool_idle(f->pool, f->threads + f->fetchers, &all);
		td_pool_unlock(f->pool);
		s.workers_wait_ns = idle.wait_ns;
		s.waits = all.waits + f->consumer.waits + f->gate.waits.waits;
		s.wakeups = all.wakeups + f->consumer.waits;
		s.locks = all.locks;
		s.consumer_wait_ns = f->consumer.wait_ns;
	}
	const struct td_files_reads reads = td_files_reads(f->files);
	s.reads = reads.all;
	s.uring_reads = reads.uring;
	s.records = f->records;
	s.batches = f->batches;
	s.topped_up = f->topped_up;
	s.bad = f->bad + f->set.faults;
	s.memory_peak = f->ledger.peak;
	s.memory = f->ledger.budget;
	s.threads = f->threads;
	s.prefetch = f->prefetch;
	s.files_walked = f->set.walked;
	s.listing_ns = f->set.listing_ns;
	s.n_stages = TD_STAGES;
	for (int i = 0; i < TD_STAGES; i++)
		s.stages[i].name = names[i];
	*ret_stats = s;
}

/* ---- closing ---- */

static void free_notes(struct td_note *note)
{
	while (note) {
		struct td_note *next = note->next;
		free(note);
		note = next;
	}
}

static void free_chunks(struct tundish_flow *f)
{
	/* what was read and never worked on */
	for (struct td_chunk *c = f->head; c; c = c->next) {
		for (unsigned i = c->claimed; i < c->n; i++)
			free(c->items[i].note);
	}
	for (unsigned i = 0; f->chunks && i < f->n_chunks; i++)
		td_buf_free(&f->chunks[i].buf);
	free(f->chunks);
}

TUNDISH_API int tundish_flow_trace(struct tundish_flow *f, const char *path, struct tundish_error *ret_error)
{
	if (!f->trace)
		return td_err(ret_error, TUNDISH_E_INVALID, "no trace was asked for");
	td_engine_stop(f);
	return td_trace_write(f->trace, path, f->threads, ret_error);
}

TUNDISH_API void tundish_flow_close(struct tundish_flow *f)
{
	if (!f)
		return;
	td_engine_stop(f);
	td_trace_free(f->trace);
	free_chunks(f);
	for (unsigned i = 0; i < f->n_slots; i++) {
		free_notes(f->slots[i].notes);
		td_held_free(&f->slots[i].held);
		td_slot_free(f, &f->slots[i]);
	}
	free(f->slots);
	free(f->ring);
	for (unsigned i = 0; f->hands && i < f->threads; i++) {
		td_desk_free(&f->hands[i].desk);
		td_buf_free(&f->hands[i].spare);
	}
	free(f->hands);
	for (unsigned i = 0; f->item_desks && i < f->threads + f->fetchers; i++)
		td_items_desk_free(f->item_desks[i]);
	free(f->item_desks);
	td_stream_close(f);
	td_held_free(&f->stream.early);
	td_files_free(f->files);
	td_sampler_close(&f->sampler);
	td_records_close(&f->set);
	td_cache_close(&f->cache, &f->listener);
	td_outs_close(&f->recipe.outs);
	td_chain_close(&f->recipe.chain);
	for (unsigned i = 0; i < f->recipe.n_origins; i++) {
		free((char *)f->recipe.origins[i].keys.image);
		free((char *)f->recipe.origins[i].keys.label);
	}
	free(f->recipe.origins);
	pthread_cond_destroy(&f->ready);
	pthread_mutex_destroy(&f->talk);
	td_gate_fini(&f->gate);
	free(f);
}
