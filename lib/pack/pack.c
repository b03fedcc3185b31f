/* SPDX-License-Identifier: BSD-2-Clause
 * From a plan and a way to make records to a whole set: the ordered loop. */
#include "pack.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/pool.h"
#include "record/frame.h"

/* Records are worked on in blocks: small ones would cost more to hand over than to make. */
#define BLOCK_RECORDS 256
#define BLOCK_BYTES ((uint64_t)1 << 20)

struct entry {
	uint64_t bytes; /* of the frame; 0: bad */
	int code;
	size_t reason; /* where in reasons */
};

struct block {
	size_t shard;
	uint64_t first; /* in the plan's order */
	unsigned n;
	struct entry entries[BLOCK_RECORDS];
	struct td_buf frames, reasons;
};

struct run {
	struct td_pack *p;
	size_t shard;  /* to be taken from */
	uint64_t next; /* in the order */
	size_t writing;/* shard that blocks are put to */
	uint64_t *counts; /* records of each class in it */
	uint64_t done, done_bytes, bytes_total;
};

static int take(void *ctx, void *job, uint64_t *ret_bytes, struct tundish_error *e)
{
	struct run *run = ctx;
	struct block *b = job;
	const struct td_pack *p = run->p;
	const struct td_plan *plan = &p->plan;
	while (run->shard < plan->n_shards &&
	    run->next == plan->shards[run->shard].first + plan->shards[run->shard].n)
		run->shard++;
	if (td_stopped(&p->o->listener))
		return td_err(e, TUNDISH_E_STOPPED, "stopped");
	if (run->shard == plan->n_shards)
		return 0;
	uint64_t end = plan->shards[run->shard].first + plan->shards[run->shard].n, bytes = 0;
	b->shard = run->shard;
	b->first = run->next;
	b->n = 0;
	while (run->next < end && b->n < BLOCK_RECORDS) {
		uint64_t more = p->item_bytes[plan->order[run->next]];
		if (b->n > 0 && bytes + more > BLOCK_BYTES)
			break;
		bytes += more;
		b->n++;
		run->next++;
	}
	/* once as it is read, once as it is written */
	*ret_bytes = 2 * bytes;
	return 1;
}

static int note_bad(struct block *b, struct entry *entry, int code, const char *reason,
    struct tundish_error *e)
{
	entry->code = code;
	entry->reason = b->reasons.len;
	return td_buf_add(&b->reasons, reason, strlen(reason) + 1) ? 0 : td_err_memory(e);
}

static int work(void *ctx, void *job, unsigned worker, struct tundish_error *e)
{
	const struct run *run = ctx;
	const struct td_pack *p = run->p;
	struct block *b = job;
	b->frames.len = b->reasons.len = 0;
	for (unsigned i = 0; i < b->n; i++) {
		struct tundish_error why = { 0 };
		size_t before = b->frames.len;
		b->entries[i] = (struct entry){ 0 };
		int rc = p->make(p->ctx, p->plan.order[b->first + i], worker, &b->frames, &why);
		if (rc == TUNDISH_E_MEMORY)
			return td_err_memory(e);
		if (rc < 0) {
			b->frames.len = before;
			rc = note_bad(b, &b->entries[i], rc, why.text, e);
			if (rc < 0)
				return rc;
		}
		b->entries[i].bytes = b->frames.len - before;
	}
	return 0;
}

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

static int end_shard(struct run *run, struct tundish_error *e)
{
	struct td_pack *p = run->p;
	char *counts = p->classes.n ? counts_text(run) : NULL;
	size_t split = p->plan.shards[run->writing].split;
	if (p->classes.n && !counts)
		return td_err_memory(e);
	for (size_t k = 0; k < p->classes.n; k++) {
		p->class_counts[split * p->classes.n + k] += run->counts[k];
		run->counts[k] = 0;
	}
	return td_set_end(&p->set, run->writing++, counts, e);
}

static int put_bad(struct run *run, const struct block *b, unsigned i, struct tundish_error *e)
{
	struct td_pack *p = run->p;
	struct td_place at;
	const char *name;
	int rc = p->place(p->ctx, p->plan.order[b->first + i], &at, &name, e);
	if (rc < 0)
		return rc;
	return td_bad_item(&p->bad, b->entries[i].code, at, name,
	    (const char *)b->reasons.data + b->entries[i].reason, e);
}

static void tell_progress(struct run *run, const struct block *b)
{
	const struct tundish_listener *l = &run->p->o->listener;
	run->done += b->n;
	run->done_bytes += b->frames.len;
	const struct tundish_progress progress = { run->done, run->p->plan.n, run->done_bytes,
		run->bytes_total };
	if (l->progress)
		l->progress(l->data, &progress);
}

static int put(void *ctx, void *job, struct tundish_error *e)
{
	struct run *run = ctx;
	struct td_pack *p = run->p;
	struct block *b = job;
	uint64_t sizes[BLOCK_RECORDS];
	size_t n = 0;
	int rc = 0;
	while (rc == 0 && run->writing < b->shard)
		rc = end_shard(run, e);
	for (unsigned i = 0; rc == 0 && i < b->n; i++) {
		uint32_t item = p->plan.order[b->first + i];
		if (b->entries[i].bytes == 0) {
			rc = put_bad(run, b, i, e);
			continue;
		}
		sizes[n++] = b->entries[i].bytes;
		if (p->item_class && p->item_class[item] >= 0)
			run->counts[p->item_class[item]]++;
	}
	if (rc == 0)
		rc = td_set_append(&p->set, b->shard, b->frames.data, b->frames.len, sizes, n, e);
	p->written += n;
	tell_progress(run, b);
	return rc;
}

static void free_block(void *job)
{
	struct block *b = job;
	td_buf_free(&b->frames);
	td_buf_free(&b->reasons);
}

static int run_loop(struct run *run, struct tundish_error *e)
{
	struct td_pack *p = run->p;
	const struct td_ordered loop = {
		.job_bytes = sizeof(struct block),
		.threads = td_threads(p->o->threads),
		.max_bytes = td_memory(p->o->memory) / 2,
		.take = take,
		.work = work,
		.put = put,
		.free_job = free_block,
	};
	for (size_t i = 0; i < p->plan.n; i++)
		run->bytes_total += p->item_bytes[i];
	int rc = td_ordered_run(&loop, run, NULL, e);
	while (rc == 0 && run->writing < p->plan.n_shards)
		rc = end_shard(run, e);
	if (rc == 0 && p->written == 0)
		rc = td_err(e, TUNDISH_E_EMPTY, "no good item (%" PRIu64 " bad)", p->bad.count);
	return rc;
}

static void add_up(struct td_pack *p)
{
	for (size_t i = 0; i < p->plan.n_shards; i++) {
		p->payload_bytes += p->set.shards[i].payload_bytes;
		p->file_bytes += p->set.shards[i].bytes;
	}
}

int td_pack_run(struct td_pack *p, struct tundish_error *e)
{
	struct run run = { .p = p };
	if (p->o->dry_run)
		return 0;
	run.counts = calloc(p->classes.n + 1, sizeof *run.counts);
	p->class_counts = calloc(p->plan.n_splits * p->classes.n + 1, sizeof *p->class_counts);
	int rc = run.counts && p->class_counts ? 0 : td_err_memory(e);
	if (rc == 0)
		rc = td_set_begin(&p->set, &p->out, &p->plan, p->o->name_template, p->o->count_in_name, e);
	if (rc == 0)
		rc = run_loop(&run, e);
	if (rc == 0)
		rc = td_set_settle(&p->set, e);
	if (rc == 0) {
		add_up(p);
		rc = p->out.stream ? 0 : td_meta_write(p, e);
	}
	if (rc == 0)
		rc = td_set_commit(&p->set, e);
	free(run.counts);
	return rc;
}

/* ---- before and after ---- */

/* "12" or "1%" of the items there are. */
static int parse_max_bad(struct td_pack *p, uint64_t found, struct tundish_error *e)
{
	p->bad.limit = UINT64_MAX;
	const char *s = p->o->max_bad;
	if (!s)
		return 0;
	uint64_t whole = 0, part = 0, unit = 1;
	const char *at = s;
	for (; *at >= '0' && *at <= '9' && whole < UINT64_MAX / 100; at++)
		whole = whole * 10 + (uint64_t)(*at - '0');
	bool digits = at > s;
	if (*at == '.')
		for (at++; *at >= '0' && *at <= '9' && unit < 1000000; at++, unit *= 10)
			part = part * 10 + (uint64_t)(*at - '0');
	bool percent = *at == '%' && !at[1] && whole <= 100;
	if (!digits || (!percent && (*at || unit > 1)))
		return td_err(e, TUNDISH_E_USAGE, "max-bad: \"%s\" is neither a number nor a percentage", TD_ESC(s));
	unsigned __int128 bound = (unsigned __int128)found * (whole * unit + part) / (100 * unit);
	p->bad.limit = percent ? (uint64_t)bound : whole;
	return 0;
}

int td_pack_check(struct td_pack *p, struct tundish_error *e)
{
	const struct tundish_pack_options *o = p->o;
	p->bad.listener = &o->listener;
	p->bad.on_error = o->on_error;
	int rc = td_output_parse(&p->out, o->output, e);
	if (rc == 0)
		rc = td_plan_check(o->shards, o->split, e);
	if (rc == 0)
		rc = parse_max_bad(p, UINT64_MAX, e);
	if (rc == 0 && o->on_error != TUNDISH_SKIP && o->on_error != TUNDISH_FAIL)
		rc = td_err(e, TUNDISH_E_USAGE, "on-error: only skip and fail go with %s", p->command);
	if (rc == 0 && p->out.stream && (o->split || (o->shards && strcmp(o->shards, "1") != 0)))
		rc = td_err(e, TUNDISH_E_USAGE, "output \"-\" is one stream: no splits and shards");
	if (rc == 0 && !o->dry_run)
		rc = td_set_check(&p->out, o->overwrite, e);
	return rc;
}

static void note_empty_shards(const struct td_pack *p)
{
	for (size_t i = 0; i < p->plan.n_splits; i++) {
		const struct td_plan_split *split = &p->plan.splits[i];
		if (split->n < split->n_shards)
			td_notice(&p->o->listener, "split %s: %zu shards for %" PRIu64 " record%s: %" PRIu64
			    " hold none", split->name, split->n_shards, split->n, split->n == 1 ? "" : "s",
			    split->n_shards - split->n);
	}
}

int td_pack_plan(struct td_pack *p, size_t n, bool stratify, struct tundish_error *e)
{
	const struct tundish_pack_options *o = p->o;
	const struct td_plan_options options = {
		.n = n,
		.classes = p->item_class,
		.bytes = p->item_bytes,
		.shards = p->out.stream ? "1" : o->shards,
		.shard_bytes = o->shard_bytes,
		.split = o->split,
		.stratify = stratify && p->item_class,
		.shuffle = o->shuffle,
		.seed = o->seed,
	};
	int rc = parse_max_bad(p, p->found, e);
	if (rc == 0)
		rc = td_bad_check(&p->bad, e);
	if (rc == 0)
		rc = td_plan_make(&p->plan, &options, e);
	if (rc == 0)
		rc = td_names_check(o->name_template, o->count_in_name, &p->plan, e);
	if (rc == 0)
		note_empty_shards(p);
	return rc;
}

bool td_pack_feature(struct td_pack *p, const char *key, enum td_feature_type type, int64_t length)
{
	if (!key)
		return true;
	char *copy = strdup(key);
	if (!copy || !td_grow(&p->features, &p->features_cap, p->n_features, sizeof *p->features)) {
		free(copy);
		return false;
	}
	p->features[p->n_features++] = (struct td_feature_spec){ .key = copy, .type = type, .length = length };
	return true;
}

void td_pack_free(struct td_pack *p)
{
	td_set_close(&p->set);
	td_plan_free(&p->plan);
	td_bad_free(&p->bad);
	td_classes_free(&p->classes);
	td_output_free(&p->out);
	free(p->item_class);
	free(p->item_bytes);
	free(p->class_counts);
	free(p->names_file);
	for (size_t i = 0; i < p->n_features; i++) {
		free(p->features[i].key);
		free(p->features[i].json);
	}
	free(p->features);
}
