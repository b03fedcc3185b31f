/* SPDX-License-Identifier: BSD-2-Clause
 * Making and writing the records of a plan: one ordered loop for all threads.
 *
 * Records are made in blocks: small ones would cost more to hand over than to make. An
 * uncompressed set is written block by block. Of a compressed one, what is put is cut into
 * pieces where the records say so (never where blocks end), and pieces are jobs of the
 * same loop: compressed in parallel, then put to the file.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "append.h"
#include "base/err.h"
#include "base/pool.h"
#include "base/rng.h"
#include "pack.h"
#include "pieces.h"
#include "record/compress.h"
#include "record/frame.h"
#include "tar.h"

#define BLOCK_RECORDS 256
#define BLOCK_BYTES ((uint64_t)1 << 20)

struct entry {
	uint64_t bytes; /* of the frame; 0: bad */
	int code;
	size_t reason; /* where in reasons */
};

struct job {
	struct td_piece *piece; /* else a block */
	size_t shard;
	uint64_t first; /* in the plan's order */
	unsigned n;
	struct entry entries[BLOCK_RECORDS];
	struct td_buf frames, reasons;
};

struct run {
	struct td_pack *p;
	bool compressed;
	/* taking */
	size_t shard;  /* to be taken from */
	uint64_t next; /* in the order */
	/* putting */
	size_t writing;	  /* shard that blocks are put to */
	uint64_t *counts; /* records of each class in it */
	uint64_t bad_before;
	size_t notes_before;
	uint64_t done, done_bytes, bytes_total;
	struct td_pieces pieces; /* where it is compressed */
};

/* ---- take ---- */

static bool at_end(struct run *run)
{
	const struct td_plan *plan = &run->p->plan;
	while (run->shard < plan->n_shards &&
	    run->next == plan->shards[run->shard].first + plan->shards[run->shard].n)
		run->shard++;
	return run->shard == plan->n_shards;
}

static void take_block(struct run *run, struct job *j, uint64_t *ret_bytes)
{
	const struct td_pack *p = run->p;
	const struct td_plan_shard *shard = &p->plan.shards[run->shard];
	uint64_t end = shard->first + shard->n, bytes = 0;
	uint64_t most = p->block_bytes ? p->block_bytes : BLOCK_BYTES;
	j->shard = run->shard;
	j->first = run->next;
	j->n = 0;
	while (run->next < end && j->n < BLOCK_RECORDS) {
		uint64_t more = p->item_bytes[p->plan.order[run->next]];
		if (j->n > 0 && bytes + more > most)
			break;
		bytes += more;
		j->n++;
		run->next++;
	}
	/* once as it is read, once as it is written */
	*ret_bytes = 2 * bytes;
}

static int take(void *ctx, void *job, uint64_t *ret_bytes, struct tundish_error *e)
{
	struct run *run = ctx;
	struct job *j = job;
	if (td_stopped(&run->p->o->listener))
		return td_err(e, TUNDISH_E_STOPPED, "stopped");
	j->piece = NULL;
	int rc = run->compressed ? td_pieces_take(&run->pieces, &j->piece, ret_bytes) : 0;
	if (rc == 1 || at_end(run))
		return rc;
	take_block(run, j, ret_bytes);
	return 1;
}

/* ---- work ---- */

static int note_bad(struct job *j, struct entry *entry, int code, const char *reason,
    struct tundish_error *e)
{
	entry->code = code;
	entry->reason = j->reasons.len;
	return td_buf_add(&j->reasons, reason, strlen(reason) + 1) ? 0 : td_err_memory(e);
}

static int make_block(const struct run *run, struct job *j, unsigned worker, struct tundish_error *e)
{
	const struct td_pack *p = run->p;
	j->frames.len = j->reasons.len = 0;
	for (unsigned i = 0; i < j->n; i++) {
		struct tundish_error why = { 0 };
		size_t before = j->frames.len;
		j->entries[i] = (struct entry){ 0 };
		int rc = p->make(p->ctx, p->plan.order[j->first + i], worker, &j->frames, &why);
		if (rc == TUNDISH_E_MEMORY || rc == TUNDISH_E_SPACE)
			return td_err(e, rc, "%s", why.text);
		if (rc < 0) {
			j->frames.len = before;
			rc = note_bad(j, &j->entries[i], rc, why.text, e);
			if (rc < 0)
				return rc;
		}
		j->entries[i].bytes = j->frames.len - before;
	}
	return 0;
}

static int work(void *ctx, void *job, unsigned worker, struct tundish_error *e)
{
	const struct run *run = ctx;
	struct job *j = job;
	return j->piece ? td_piece_pack(&run->pieces, j->piece, e) : make_block(run, j, worker, e);
}

/* ---- put ---- */

/* "[[CLASS,RECORDS],...]"; NULL without memory. */
static char *counts_text(const struct run *run)
{
	struct td_buf out = { 0 };
	bool ok = td_buf_printf(&out, "["), first = true;
	for (size_t k = 0; ok && k < run->p->classes.n; k++) {
		if (run->counts[k]) {
			ok = td_buf_printf(&out, "%s[%zu,%" PRIu64 "]", first ? "" : ",", k, run->counts[k]);
			first = false;
		}
	}
	char *text = ok && td_buf_printf(&out, "]") ? strdup((char *)out.data) : NULL;
	td_buf_free(&out);
	return text;
}

static int shard_facts(struct run *run, struct td_set_facts *ret, struct tundish_error *e)
{
	struct td_pack *p = run->p;
	size_t split = p->plan.shards[run->writing].split;
	*ret = (struct td_set_facts){ .bad = p->bad.count - run->bad_before };
	ret->classes = p->classes.n ? counts_text(run) : NULL;
	ret->faults = p->bad.n_notes > run->notes_before ? td_meta_faults(&p->bad, run->notes_before) : NULL;
	run->bad_before = p->bad.count;
	if ((p->classes.n && !ret->classes) || (p->bad.n_notes > run->notes_before && !ret->faults)) {
		free(ret->classes);
		free(ret->faults);
		return td_err_memory(e);
	}
	run->notes_before = p->bad.n_notes;
	for (size_t k = 0; k < p->classes.n; k++) {
		p->class_counts[split * p->classes.n + k] += run->counts[k];
		run->counts[k] = 0;
	}
	return 0;
}

static int end_tar(struct run *run, struct tundish_error *e)
{
	static const char zeros[TD_TAR_END];
	const struct td_set_piece piece = { .data = zeros, .bytes = sizeof zeros };
	return td_set_append(&run->p->set, run->writing, &piece, e);
}

static int end_shard(struct run *run, struct tundish_error *e)
{
	struct td_pack *p = run->p;
	struct td_set_facts facts;
	int rc = shard_facts(run, &facts, e);
	if (rc < 0)
		return rc;
	if (p->tar)
		rc = end_tar(run, e);
	if (rc == 0)
		rc = run->compressed ? td_pieces_end(&run->pieces, run->writing, &facts, e) :
	    td_set_end(&p->set, run->writing, &facts, e);
	free(facts.classes);
	free(facts.faults);
	run->writing++;
	return rc;
}

static int put_bad(struct run *run, const struct job *j, unsigned i, struct tundish_error *e)
{
	struct td_pack *p = run->p;
	struct td_place at;
	const char *name;
	int rc = p->place(p->ctx, p->plan.order[j->first + i], &at, &name, e);
	if (rc < 0)
		return rc;
	return td_bad_item(&p->bad, j->entries[i].code, at, name,
	    (const char *)j->reasons.data + j->entries[i].reason, e);
}

/* Adds a block's frames to pieces. */
static int fill_pieces(struct run *run, const struct job *j, const uint64_t *sizes, size_t n,
    struct tundish_error *e)
{
	const uint8_t *frame = j->frames.data;
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < n; i++) {
		rc = td_pieces_add(&run->pieces, run->writing, frame, sizes[i], e);
		frame += sizes[i];
	}
	return rc;
}

static int put_frames(struct run *run, const struct job *j, const uint64_t *sizes, size_t n,
    struct tundish_error *e)
{
	if (run->compressed)
		return fill_pieces(run, j, sizes, n, e);
	const struct td_set_piece bytes = { j->frames.data, j->frames.len, n,
		j->frames.len - (run->p->tar ? 0 : n * TD_FRAME_EXTRA), sizes };
	return td_set_append(&run->p->set, j->shard, &bytes, e);
}

static void tell_progress(struct run *run, const struct job *j)
{
	const struct tundish_listener *l = &run->p->o->listener;
	run->done += j->n;
	run->done_bytes += j->frames.len;
	const struct tundish_progress progress = { run->done, run->p->plan.n, run->done_bytes,
		run->bytes_total };
	if (l->progress)
		l->progress(l->data, &progress);
}

/* All blocks are put: the shards that are left end here. */
static int end_all(struct run *run, struct tundish_error *e)
{
	int rc = 0;
	while (rc == 0 && run->writing < run->p->plan.n_shards)
		rc = end_shard(run, e);
	td_pieces_close(&run->pieces);
	return rc;
}

static int put_block(struct run *run, struct job *j, struct tundish_error *e)
{
	struct td_pack *p = run->p;
	uint64_t sizes[BLOCK_RECORDS];
	size_t n = 0;
	int rc = 0;
	while (rc == 0 && run->writing < j->shard)
		rc = end_shard(run, e);
	for (unsigned i = 0; rc == 0 && i < j->n; i++) {
		uint32_t item = p->plan.order[j->first + i];
		if (j->entries[i].bytes == 0) {
			rc = put_bad(run, j, i, e);
			continue;
		}
		sizes[n++] = j->entries[i].bytes;
		if (p->item_class && p->item_class[item] >= 0)
			run->counts[p->item_class[item]]++;
	}
	if (rc == 0)
		rc = put_frames(run, j, sizes, n, e);
	p->written += n;
	tell_progress(run, j);
	if (j->frames.cap > 2 * BLOCK_BYTES)
		td_buf_free(&j->frames);
	return rc == 0 && run->done == p->plan.n ? end_all(run, e) : rc;
}

static int put(void *ctx, void *job, struct tundish_error *e)
{
	struct run *run = ctx;
	struct job *j = job;
	if (!j->piece)
		return put_block(run, j, e);
	int rc = td_pieces_put(&run->pieces, j->piece, e);
	j->piece = NULL;
	return rc;
}

static void free_job(void *job)
{
	struct job *j = job;
	td_buf_free(&j->frames);
	td_buf_free(&j->reasons);
	td_piece_free(j->piece);
}

/* ---- all of it ---- */

/* What the whole shards of a run that was broken off have in them. */
static int take_over(struct run *run, struct tundish_error *e)
{
	struct td_pack *p = run->p;
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < p->set.n_resumed; i++) {
		const struct td_set_shard *shard = &p->set.shards[i];
		const struct td_plan_shard *plan = &p->plan.shards[i];
		p->written += shard->records;
		run->done += plan->n;
		run->next = plan->first + plan->n;
		rc = td_meta_retell(p, shard, &p->class_counts[plan->split * p->classes.n], e);
	}
	run->shard = run->writing = p->set.n_resumed;
	run->bad_before = p->bad.count;
	run->notes_before = p->bad.n_notes;
	if (rc == 0 && p->set.n_resumed)
		td_notice(&p->o->listener, "resumed: %zu of %zu shards were whole", p->set.n_resumed, p->plan.n_shards);
	return rc == 0 && run->done == p->plan.n ? end_all(run, e) : rc;
}

static int run_loop(struct run *run, struct tundish_error *e)
{
	struct td_pack *p = run->p;
	const uint64_t memory = td_memory(p->o->memory);
	const struct td_ordered loop = {
		.job_bytes = sizeof(struct job),
		.threads = p->threads,
		.slots = (unsigned)TD_MAX(TD_MIN(memory / 2 / BLOCK_BYTES, (uint64_t)4 + 4 * p->threads), (uint64_t)2),
		.max_bytes = memory / 2,
		.take = take,
		.work = work,
		.put = put,
		.free_job = free_job,
	};
	for (size_t i = 0; i < p->plan.n; i++)
		run->bytes_total += p->item_bytes[i];
	run->bad_before = p->bad.count;
	run->notes_before = p->bad.n_notes;
	int rc = take_over(run, e);
	if (rc == 0)
		rc = td_ordered_run(&loop, run, NULL, e);
	if (rc == 0 && p->written == 0)
		rc = td_err(e, TUNDISH_E_EMPTY, "no good item (%" PRIu64 " bad)", p->bad.count);
	return rc;
}

int td_pack_begin(struct td_pack *p, struct tundish_error *e)
{
	p->identity = td_meta_identity(p);
	const struct td_set_options options = {
		.out = &p->out,
		.plan = &p->plan,
		.template = p->o->name_template,
		.with_count = p->o->count_in_name,
		.indexed = (p->compression == TUNDISH_NONE || p->compression == TUNDISH_GZIP) && !p->tar,
		.members = p->compression == TUNDISH_GZIP,
		.append = p->append,
		.resume = p->o->resume,
		.identity = p->identity,
	};
	return p->identity ? td_set_begin(&p->set, &options, e) : td_err_memory(e);
}

static void add_up(struct td_pack *p)
{
	for (size_t i = 0; i < p->plan.n_shards; i++) {
		p->payload_bytes += p->set.shards[i].payload_bytes;
		p->file_bytes += p->set.shards[i].bytes;
	}
}

int td_pack_finish(struct td_pack *p, struct tundish_error *e)
{
	int rc = td_set_settle(&p->set, e);
	if (rc == 0) {
		add_up(p);
		rc = p->out.stream ? 0 : td_meta_write(p, e);
	}
	return rc ? rc : td_set_commit(&p->set, e);
}

static int write_set(struct run *run, struct tundish_error *e)
{
	struct td_pack *p = run->p;
	int rc = td_pack_begin(p, e);
	if (rc == 0)
		rc = run_loop(run, e);
	return rc ? rc : td_pack_finish(p, e);
}

/* Is it worth it? Pictures hardly shrink, and a compressed set cannot be read at any place. */
static bool saves_enough(uint64_t before, uint64_t after)
{
	return after < before - before * 3 / 100;
}

#define SAMPLE_RECORDS 16
#define SAMPLE_BYTES ((size_t)8 << 20)

/* By some drawn records: GZIP where it saves 3 % of them, else none. Bad ones are passed
 * over here, the run will tell of them. */
static int try_compression(struct td_pack *p)
{
	struct td_buf frames = { 0 }, packed = { 0 };
	struct td_rng rng;
	uint32_t adler;
	/* one of each stretch: the same one twice would shrink well */
	uint64_t n = p->plan.n, stretches = TD_MIN(n, (uint64_t)SAMPLE_RECORDS);
	td_rng_at(&rng, p->o->seed, 0, n, TD_RNG_SAMPLE);
	for (uint64_t i = 0; i < stretches && frames.len < SAMPLE_BYTES; i++) {
		size_t before = frames.len;
		uint64_t first = i * n / stretches, last = (i + 1) * n / stretches;
		uint32_t item = p->plan.order[first + td_rng_below(&rng, last - first)];
		if (p->make(p->ctx, item, 0, &frames, NULL) < 0)
			frames.len = before;
	}
	bool saves = frames.len > 0 && td_compress_piece(&packed, TUNDISH_GZIP, p->o->level, frames.data,
	    frames.len, &adler, NULL) == 0 && saves_enough(frames.len, packed.len);
	td_notice(&p->o->listener, "compression: %s, a sample of %zu bytes becomes %zu", saves ? "gzip" : "none",
	    frames.len, packed.len);
	td_buf_free(&frames);
	td_buf_free(&packed);
	return saves ? TUNDISH_GZIP : TUNDISH_NONE;
}

int td_pack_run(struct td_pack *p, struct tundish_error *e)
{
	struct run run = { .p = p };
	if (p->o->dry_run)
		return 0;
	if (p->compression == TUNDISH_AUTO)
		p->compression = try_compression(p);
	run.compressed = p->compression != TUNDISH_NONE;
	int bad = p->append ? td_append_check(p->append, p, e) : 0;
	if (bad == 0 && p->append)
		bad = td_append_check_classes(p->append, &p->classes, p->o->label_offset, e);
	if (bad < 0)
		return bad;
	run.counts = calloc(p->classes.n + 1, sizeof *run.counts);
	p->class_counts = calloc(p->plan.n_splits * p->classes.n + 1, sizeof *p->class_counts);
	int rc = td_pieces_init(&run.pieces, &p->set, p->plan.n_shards, p->compression, p->o->level, e);
	if (rc == 0)
		rc = run.counts && p->class_counts ? write_set(&run, e) : td_err_memory(e);
	if (rc == 0 && p->o->compression > TUNDISH_NONE && !saves_enough(p->payload_bytes, p->file_bytes))
		td_notice(&p->o->listener, "compression saves under 3 %%: --compress none can be read at any place");
	/* a full disk or a lost mount: what is whole is kept to be resumed */
	bool keep = rc == TUNDISH_E_SPACE || rc == TUNDISH_E_IO;
	size_t whole = keep ? td_set_whole(&p->set) : 0;
	if (whole)
		td_notice(&p->o->listener, "%zu of %zu shards are whole and are kept: --resume goes on there",
		    whole, p->plan.n_shards);
	if (rc < 0)
		td_set_close(&p->set, keep);
	td_pieces_free(&run.pieces);
	free(run.counts);
	return rc;
}
