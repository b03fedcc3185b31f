/* SPDX-License-Identifier: BSD-2-Clause
 * Writing what cannot be planned: items come one by one, and all shards are open. */
#include "stream.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "append.h"
#include "base/err.h"
#include "base/pool.h"
#include "base/rng.h"
#include "deal.h"
#include "pieces.h"
#include "record/frame.h"

#define BLOCK_SAMPLES 32
#define BLOCK_BYTES ((uint64_t)1 << 20)
/* Each holds two descriptors at most. */
#define BLOCK_FILES 4
/* What a job may hold on to between two uses, about. */
#define JOB_BYTES (4 * BLOCK_BYTES)

struct job {
	struct td_piece *piece; /* else a block */
	bool end;		/* behind the last block */
	unsigned n;
	struct td_taken samples[BLOCK_SAMPLES];
	struct entry {
		uint64_t bytes; /* of the frame; 0: bad */
		int code;
		struct td_buf reason;
	} entries[BLOCK_SAMPLES];
	struct td_buf frames;
};

/* A record in the window. */
struct held {
	size_t shard, bytes;
	uint8_t *frame;
};

/* Frames on their way into an uncompressed shard. */
struct out {
	struct td_buf frames;
	uint64_t *sizes;
	size_t n, cap;
};

/* Which shard of a set holds how many of a class. */
struct place_key {
	uint32_t shard;
	int32_t class;
};

/* Items of a class in a split. */
struct class_key {
	uint64_t class, split;
};

/* Groups are a class of their own. */
#define GROUP_KEY (UINT64_MAX - 1)

struct run {
	const struct td_stream_run *stream;
	struct td_pack *p;
	struct td_deal deal;
	bool ended; /* nothing more to take */
	bool compared; /* with the set that is added to: are there labels? */
	uint64_t skipped, taken;
	/* put */
	uint64_t window_bytes, done_bytes, evicted;
	struct held *window;
	size_t n_window, window_cap;
	uint64_t *dealt; /* of each class, and of those without one at the end */
	size_t dealt_cap;
	uint64_t dealt_none;
	struct td_map counts; /* struct place_key -> uint64_t */
	struct td_map groups; /* name -> uint32_t: the shard that was drawn for it */
	struct td_map in_split; /* struct class_key -> uint64_t: items of groups */
	struct out *outs;
	size_t out_bytes;
	struct td_pieces pieces;
	bool compressed;
};

/* ---- take ---- */

static int next_sample(struct run *run, struct td_taken *s, struct tundish_error *e)
{
	const struct tundish_pack_options *o = run->p->o;
	for (;;) {
		if (o->limit && run->taken == o->limit)
			return 0;
		int rc = run->stream->next(run->stream->ctx, s, e);
		if (rc <= 0)
			return rc;
		if (run->p->append && !run->compared && s->code == 0) {
			run->compared = true;
			rc = td_append_check_labels(run->p->append, s->labelled, !run->p->classes.fixed, e);
			if (rc < 0)
				return rc;
		}
		if (run->skipped == o->skip) {
			run->taken++;
			return 1;
		}
		run->skipped++;
	}
}

static int take_block(struct run *run, struct job *j, uint64_t *ret_bytes, struct tundish_error *e)
{
	uint64_t bytes = 0, most = run->p->block_bytes ? run->p->block_bytes : BLOCK_BYTES;
	unsigned files = 0;
	j->n = 0;
	j->end = false;
	while (j->n < BLOCK_SAMPLES && bytes < most && files < BLOCK_FILES) {
		int rc = next_sample(run, &j->samples[j->n], e);
		if (rc < 0)
			return rc;
		if (rc == 0) {
			run->ended = j->n == 0;
			j->end = run->ended;
			break;
		}
		const struct td_taken *s = &j->samples[j->n];
		files += s->file && (j->n == 0 || s->file != s[-1].file);
		bytes += run->stream->bytes(run->stream->ctx, s);
		j->n++;
	}
	*ret_bytes = 2 * bytes;
	return 1;
}

static int take(void *ctx, void *job, uint64_t *ret_bytes, struct tundish_error *e)
{
	struct run *run = ctx;
	struct job *j = job;
	if (td_stopped(&run->p->o->listener))
		return td_err(e, TUNDISH_E_STOPPED, "stopped");
	j->piece = NULL;
	int rc = run->compressed ? td_pieces_take(&run->pieces, &j->piece, ret_bytes) : 0;
	if (rc == 1 || run->ended)
		return rc;
	return take_block(run, j, ret_bytes, e);
}

/* ---- work ---- */

static int make_one(const struct run *run, struct job *j, unsigned i, unsigned worker, struct tundish_error *e)
{
	struct td_taken *s = &j->samples[i];
	struct entry *entry = &j->entries[i];
	struct tundish_error why = { 0 };
	size_t before = j->frames.len;
	entry->code = s->code;
	if (entry->code == 0)
		entry->code = run->stream->make(run->stream->ctx, s, worker, &j->frames, &why);
	if (entry->code == TUNDISH_E_MEMORY || (entry->code == TUNDISH_E_SPACE && !s->code))
		return td_err(e, entry->code, "%s", why.text);
	if (entry->code < 0)
		j->frames.len = before;
	entry->bytes = j->frames.len - before;
	const char *reason = s->code ? (const char *)s->reason.data : why.text;
	entry->reason.len = 0;
	return entry->code == 0 || td_buf_printf(&entry->reason, "%s", reason) ? 0 : td_err_memory(e);
}

static int work(void *ctx, void *job, unsigned worker, struct tundish_error *e)
{
	const struct run *run = ctx;
	struct job *j = job;
	if (j->piece)
		return td_piece_pack(&run->pieces, j->piece, e);
	int rc = 0;
	j->frames.len = 0;
	for (unsigned i = 0; rc == 0 && i < j->n; i++)
		rc = make_one(run, j, i, worker, e);
	return rc;
}

/* ---- writing ---- */

static int flush(struct run *run, size_t shard, struct tundish_error *e)
{
	struct out *out = &run->outs[shard];
	const struct td_set_piece piece = { out->frames.data, out->frames.len, out->n,
		out->frames.len - out->n * TD_FRAME_EXTRA, out->sizes };
	int rc = out->n ? td_set_append(&run->p->set, shard, &piece, e) : 0;
	out->frames.len = out->n = 0;
	return rc;
}

static int write_frame(struct run *run, size_t shard, const uint8_t *frame, size_t bytes, struct tundish_error *e)
{
	struct out *out = &run->outs[shard];
	if (run->compressed)
		return td_pieces_add(&run->pieces, shard, frame, bytes, e);
	if (!td_grow(&out->sizes, &out->cap, out->n, sizeof *out->sizes) ||
	    !td_buf_add(&out->frames, frame, bytes))
		return td_err_memory(e);
	out->sizes[out->n++] = bytes;
	return out->frames.len >= run->out_bytes ? flush(run, shard, e) : 0;
}

/* ---- the window ---- */

static int evict(struct run *run, struct tundish_error *e)
{
	struct td_rng rng;
	td_rng_at(&rng, run->p->o->seed, 0, run->evicted++, TD_RNG_ORDER);
	size_t i = (size_t)td_rng_below(&rng, run->n_window);
	struct held gone = run->window[i];
	run->window[i] = run->window[--run->n_window];
	run->window_bytes -= gone.bytes + sizeof gone;
	int rc = write_frame(run, gone.shard, gone.frame, gone.bytes, e);
	free(gone.frame);
	return rc;
}

static int hold(struct run *run, size_t shard, const uint8_t *frame, size_t bytes, struct tundish_error *e)
{
	struct held new = { shard, bytes, malloc(bytes) };
	int rc = 0;
	if (!new.frame || !td_grow(&run->window, &run->window_cap, run->n_window, sizeof new)) {
		free(new.frame);
		return td_err_memory(e);
	}
	memcpy(new.frame, frame, bytes);
	run->window[run->n_window++] = new;
	run->window_bytes += bytes + sizeof new;
	while (rc == 0 && run->window_bytes > run->p->window)
		rc = evict(run, e);
	return rc;
}

/* ---- put ---- */

/* The place of the sample's class among the classes met so far, or -1. */
static int find_class(struct run *run, const struct td_taken *s, int32_t *ret, struct tundish_error *e)
{
	*ret = -1;
	if (!s->labelled || !*(const char *)s->class.data)
		return 0;
	struct td_classes *c = &run->p->classes;
	const char *name = (const char *)s->class.data;
	c->numbers = !c->fixed;
	*ret = td_classes_add(c, name, strlen(name));
	if (*ret < 0)
		return td_err_memory(e);
	c->list[*ret].items++;
	size_t cap = run->dealt_cap;
	while ((size_t)*ret >= run->dealt_cap)
		if (!td_grow(&run->dealt, &run->dealt_cap, run->dealt_cap, sizeof *run->dealt))
			return td_err_memory(e);
	if (run->dealt_cap > cap)
		memset(run->dealt + cap, 0, (run->dealt_cap - cap) * sizeof *run->dealt);
	return 0;
}

/* Whether its group decides where it goes: no split may part it, nor, in order, a shard. */
static bool goes_together(const struct run *run, const struct td_taken *s)
{
	const struct tundish_pack_options *o = run->p->o;
	bool items = o->split_by && strcmp(o->split_by, "item") == 0;
	return s->group.len && (!o->shuffle || (run->p->plan.n_splits > 1 && !items));
}

/* Groups are dealt in turn like items of one class. In order a group stays in one shard; else
 * its items are dealt to the shards of its split, class by class. */
static bool deal_group(struct run *run, const struct td_taken *s, uint64_t class, size_t *ret)
{
	size_t known = run->groups.n;
	uint32_t *place = td_map_at(&run->groups, s->group.data, s->group.len);
	if (!place)
		return false;
	if (run->groups.n > known)
		*place = (uint32_t)td_deal_shard(&run->deal, GROUP_KEY, run->groups.n - 1);
	*ret = *place;
	if (!run->p->o->shuffle)
		return true;
	const uint32_t split = (uint32_t)run->p->plan.shards[*place].split;
	const struct class_key at = { class, split };
	uint64_t *n = td_map_at(&run->in_split, &at, sizeof at);
	if (!n)
		return false;
	*ret = td_deal_in_split(&run->deal, split, class, (*n)++);
	return true;
}

static int put_good(struct run *run, const struct td_taken *s, const uint8_t *frame, size_t bytes,
    struct tundish_error *e)
{
	int32_t class;
	int rc = find_class(run, s, &class, e);
	if (rc < 0)
		return rc;
	bool alone = class < 0 || !run->stream->by_class;
	uint64_t key = alone ? UINT64_MAX : run->p->classes.fixed ? (uint64_t)class : (uint64_t)s->label;
	uint64_t *n = alone ? &run->dealt_none : &run->dealt[class];
	size_t shard = 0;
	if (!goes_together(run, s))
		shard = td_deal_shard(&run->deal, key, (*n)++);
	else if (!deal_group(run, s, key, &shard))
		return td_err_memory(e);
	const struct place_key at = { (uint32_t)shard, class };
	uint64_t *count = class < 0 ? NULL : td_map_at(&run->counts, &at, sizeof at);
	if (class >= 0 && !count)
		return td_err_memory(e);
	if (count)
		++*count;
	run->p->written++;
	return run->p->window ? hold(run, shard, frame, bytes, e) : write_frame(run, shard, frame, bytes, e);
}

static int put_bad(struct run *run, const struct td_taken *s, const struct entry *entry, struct tundish_error *e)
{
	struct td_place at = TD_PLACE((const char *)s->path.data);
	at.offset = s->offset;
	at.line = s->line;
	at.record = s->record;
	return td_bad_item(&run->p->bad, entry->code, at, (const char *)s->name.data,
	    (const char *)entry->reason.data, e);
}

/* Large buffers do not wait for the next large picture. */
static void recycle(struct td_taken *s)
{
	if (s->data.cap > BLOCK_BYTES / 8)
		td_buf_free(&s->data);
	if (s->side.cap > BLOCK_BYTES / 8)
		td_buf_free(&s->side);
	td_spilled_drop(s->file);
	s->file = NULL;
}

static void tell_progress(struct run *run)
{
	const struct tundish_listener *l = &run->p->o->listener;
	const struct tundish_progress progress = { run->p->written + run->p->bad.count, 0, run->done_bytes, 0 };
	if (l->progress)
		l->progress(l->data, &progress);
}

static int put_block(struct run *run, struct job *j, struct tundish_error *e)
{
	const uint8_t *frame = j->frames.data;
	int rc = 0;
	for (unsigned i = 0; rc == 0 && i < j->n; i++) {
		const struct entry *entry = &j->entries[i];
		rc = entry->bytes ? put_good(run, &j->samples[i], frame, entry->bytes, e) :
		    put_bad(run, &j->samples[i], entry, e);
		frame += entry->bytes;
		run->done_bytes += entry->bytes;
		recycle(&j->samples[i]);
	}
	if (j->frames.cap > 2 * BLOCK_BYTES)
		td_buf_free(&j->frames);
	tell_progress(run);
	return rc;
}

/* ---- the end ---- */

struct share {
	struct place_key at;
	uint64_t n;
};

static int by_place(const void *a, const void *b)
{
	const struct share *x = a, *y = b;
	if (x->at.shard != y->at.shard)
		return x->at.shard < y->at.shard ? -1 : 1;
	return x->at.class < y->at.class ? -1 : x->at.class > y->at.class;
}

/* The classes get their order and labels; the shares are sorted by shard and class. */
static int settle(struct run *run, struct share **ret, struct tundish_error *e)
{
	struct td_pack *p = run->p;
	int32_t *map = calloc(p->classes.n + 1, sizeof *map);
	struct share *shares = calloc(run->counts.n + 1, sizeof *shares);
	int rc = map && shares ? td_classes_settle(&p->classes, p->o->label_offset, map, e) : td_err_memory(e);
	for (size_t i = 0; rc == 0 && i < run->counts.n; i++) {
		memcpy(&shares[i].at, td_map_key(&run->counts, i), sizeof shares[i].at);
		memcpy(&shares[i].n, td_map_value(&run->counts, i), sizeof shares[i].n);
		shares[i].at.class = map[shares[i].at.class];
	}
	if (rc == 0)
		qsort(shares, run->counts.n, sizeof *shares, by_place);
	free(map);
	if (rc == 0)
		*ret = shares;
	else
		free(shares);
	return rc;
}

static int end_shard(struct run *run, size_t shard, const struct share *shares, size_t n, struct tundish_error *e)
{
	struct td_pack *p = run->p;
	struct td_set_facts facts = { 0 };
	struct td_buf text = { 0 };
	bool ok = td_buf_printf(&text, "[");
	uint64_t *counts = p->class_counts + p->plan.shards[shard].split * p->classes.n;
	for (size_t i = 0; ok && i < n; i++) {
		ok = td_buf_printf(&text, "%s[%" PRId32 ",%" PRIu64 "]", i ? "," : "", shares[i].at.class, shares[i].n);
		counts[shares[i].at.class] += shares[i].n;
	}
	ok = ok && td_buf_printf(&text, "]");
	if (ok && p->classes.n)
		facts.classes = strdup((const char *)text.data);
	int rc = ok && (!p->classes.n || facts.classes) ? 0 : td_err_memory(e);
	if (rc == 0)
		rc = run->compressed ? td_pieces_end(&run->pieces, shard, &facts, e) : flush(run, shard, e);
	if (rc == 0 && !run->compressed)
		rc = td_set_end(&p->set, shard, &facts, e);
	free(facts.classes);
	td_buf_free(&text);
	return rc;
}

static int check_splits(const struct run *run, struct tundish_error *e)
{
	const struct td_plan *plan = &run->p->plan;
	if (run->p->written == 0)
		return td_err(e, TUNDISH_E_EMPTY, "no good item (%" PRIu64 " bad)", run->p->bad.count);
	for (size_t s = 0; s < plan->n_splits; s++)
		if (run->deal.got[s] == 0)
			return td_err(e, TUNDISH_E_USAGE, "split %s would get no record of %" PRIu64,
			    plan->splits[s].name, run->p->written);
	return 0;
}

static int end_all(struct run *run, struct tundish_error *e)
{
	struct td_pack *p = run->p;
	int rc = check_splits(run, e);
	while (rc == 0 && run->n_window)
		rc = evict(run, e);
	struct share *shares = NULL;
	if (rc == 0)
		rc = settle(run, &shares, e);
	const struct share *at = shares, *end = shares ? shares + run->counts.n : NULL;
	p->class_counts = rc == 0 ? calloc(p->plan.n_splits * p->classes.n + 1, sizeof *p->class_counts) : NULL;
	if (rc == 0 && !p->class_counts)
		rc = td_err_memory(e);
	for (size_t i = 0; rc == 0 && i < p->plan.n_shards; i++) {
		size_t n = 0;
		while (at + n < end && at[n].at.shard == i)
			n++;
		rc = end_shard(run, i, at, n, e);
		at += n;
	}
	td_pieces_close(&run->pieces);
	free(shares);
	return rc;
}

static int put(void *ctx, void *job, struct tundish_error *e)
{
	struct run *run = ctx;
	struct job *j = job;
	if (!j->piece)
		return j->end ? end_all(run, e) : put_block(run, j, e);
	int rc = td_pieces_put(&run->pieces, j->piece, e);
	j->piece = NULL;
	return rc;
}

static void free_job(void *job)
{
	struct job *j = job;
	for (unsigned i = 0; i < BLOCK_SAMPLES; i++) {
		td_taken_free(&j->samples[i]);
		td_buf_free(&j->entries[i].reason);
	}
	td_buf_free(&j->frames);
	td_piece_free(j->piece);
}

/* ---- all of it ---- */

/* What cannot work with a stream, before anything is read or made. */
static int check(struct td_pack *p, struct tundish_error *e)
{
	const struct tundish_pack_options *o = p->o;
	if (!p->out.stream && !o->shards)
		return td_err(e, TUNDISH_E_USAGE,
		    "a stream's size is not known before its end: give the number of shards, --shards N");
	if (o->dry_run)
		return td_err(e, TUNDISH_E_USAGE, "a stream cannot be planned: no --dry-run");
	return td_plan_stream(&p->plan, p->out.stream ? "1" : o->shards, o->split, e);
}

/* What has to be as it was in the set, as far as it is known before the first record. */
static int check_append(const struct td_pack *p, struct tundish_error *e)
{
	int rc = td_append_check(p->append, p, e);
	return rc == 0 && p->classes.fixed ?
	    td_append_check_classes(p->append, &p->classes, p->o->label_offset, e) : rc;
}

static int prepare(struct run *run, struct tundish_error *e)
{
	struct td_pack *p = run->p;
	uint64_t memory = td_memory(p->o->memory);
	if (p->compression == TUNDISH_AUTO) {
		p->compression = TUNDISH_NONE;
		td_notice(&p->o->listener, "compression: none, since a stream cannot be tried out");
	}
	run->compressed = p->compression != TUNDISH_NONE;
	if (run->compressed && p->plan.n_shards > memory / 4 / TD_PIECE_BYTES)
		return td_err(e, TUNDISH_E_USAGE, "%zu compressed shards at a time need --memory %" PRIu64 "M",
		    p->plan.n_shards, 4 * (uint64_t)p->plan.n_shards * (TD_PIECE_BYTES >> 20));
	/* the default memory is what happens to be free: two runs shall rarely differ by that */
	p->window = p->o->shuffle ? memory / 4 : 0;
	while (!p->o->memory && p->window & (p->window - 1))
		p->window &= p->window - 1;
	run->out_bytes = (size_t)TD_MIN(memory / 16 / p->plan.n_shards, (uint64_t)256 << 10);
	run->outs = calloc(p->plan.n_shards, sizeof *run->outs);
	if (!run->outs)
		return td_err_memory(e);
	int rc = td_deal_init(&run->deal, &p->plan, p->o->seed, e);
	return rc ? rc : td_pieces_init(&run->pieces, &p->set, p->plan.n_shards, p->compression, p->o->level, e);
}

/* As many jobs as memory has room for, and open files besides each shard's two. */
static unsigned slots_of(uint64_t memory, unsigned threads, uint64_t shards)
{
	struct rlimit files;
	uint64_t most = TD_MIN(memory / 4 / JOB_BYTES, (uint64_t)4 + 4 * threads);
	uint64_t others = 2 * shards + 2 * threads + 96;
	if (getrlimit(RLIMIT_NOFILE, &files) == 0)
		most = TD_MIN(most, (files.rlim_cur - TD_MIN(files.rlim_cur, others)) / (4 * BLOCK_FILES));
	return (unsigned)TD_MAX(most, (uint64_t)2);
}

static int run_loop(struct run *run, struct tundish_error *e)
{
	const struct td_pack *p = run->p;
	uint64_t memory = td_memory(p->o->memory);
	unsigned threads = p->threads;
	const struct td_ordered loop = {
		.job_bytes = sizeof(struct job),
		.threads = threads,
		.slots = slots_of(memory, threads, p->plan.n_shards),
		.max_bytes = memory / 4,
		.take = take,
		.work = work,
		.put = put,
		.free_job = free_job,
	};
	return td_ordered_run(&loop, run, NULL, e);
}

static void free_run(struct run *run)
{
	for (size_t i = 0; i < run->n_window; i++)
		free(run->window[i].frame);
	free(run->window);
	for (size_t i = 0; run->outs && i < run->p->plan.n_shards; i++) {
		td_buf_free(&run->outs[i].frames);
		free(run->outs[i].sizes);
	}
	free(run->outs);
	free(run->dealt);
	td_map_free(&run->counts);
	td_map_free(&run->groups);
	td_map_free(&run->in_split);
	td_deal_free(&run->deal);
	td_pieces_free(&run->pieces);
}

int td_pack_stream(const struct td_stream_run *stream, struct tundish_error *e)
{
	struct td_pack *p = stream->p;
	struct run run = { .stream = stream, .p = p, .counts.value_bytes = sizeof(uint64_t),
		.groups.value_bytes = sizeof(uint32_t), .in_split.value_bytes = sizeof(uint64_t) };
	int rc = check(p, e);
	if (rc == 0 && !p->out.stream)
		rc = td_names_check(p->o->name_template, p->o->count_in_name, p->out.name, &p->plan, e);
	if (rc == 0)
		rc = prepare(&run, e);
	if (rc == 0 && p->append)
		rc = check_append(p, e);
	if (rc == 0)
		rc = td_pack_begin(p, e);
	if (rc == 0)
		rc = run_loop(&run, e);
	if (rc == 0)
		rc = stream->finish(stream->ctx, e);
	if (rc == 0)
		rc = td_pack_limit(p, e);
	if (rc == 0)
		rc = td_pack_finish(p, e);
	if (rc < 0)
		td_set_close(&p->set, false);
	free_run(&run);
	return rc;
}
