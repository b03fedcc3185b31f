/* SPDX-License-Identifier: BSD-2-Clause
 * What is settled before a flow starts: its order, its share of it, its cache. */
#include "plan.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/err.h"
#include "record/ahead.h"
#include "shelf.h"
#include "stream.h"

const char td_by_position[] = "records that can be found by position, not a stream or compressed "
    "files without gzip members of our own; \"tundish shard\" makes such a set";

/* What cannot be done in any order of records that come one after the other. */
static int check_stream_order(const struct tundish_flow *f, const struct tundish_flow_options *o,
    const struct td_order_spec *spec, bool pipe, struct tundish_error *e)
{
	if ((spec->kind != TD_ORDER_OFF && spec->kind != TD_ORDER_BUFFER) || spec->group)
		return td_err(e, TUNDISH_E_USAGE, "shuffle %s needs %s, for full and block:N; buffer:N "
		    "does without", TD_ESC(o->shuffle), td_by_position);
	if (o->sampler)
		return td_err(e, TUNDISH_E_USAGE, "a sampler needs the labels of all records before the first batch, and "
		    "%s", td_by_position);
	if (o->n_mix)
		return td_err(e, TUNDISH_E_USAGE, "a mix deals out as many records as each source has, so it needs %s",
		    td_by_position);
	if (pipe && spec->shards)
		return td_err(e, TUNDISH_E_USAGE, "standard input has its place among the files: shards "
		    "cannot be shuffled with it");
	if ((o->skip || o->limit) && (spec->shards || spec->cycle > 1) && f->set.files.n > 1)
		return td_err(e, TUNDISH_E_USAGE, "skip and limit in files that are read in turn need %s",
		    td_by_position);
	if (TD_MIN(spec->cycle, f->set.files.n) > td_files_most())
		return td_err(e, TUNDISH_E_USAGE, "%" PRIu64 " files in turn are more than may be open, %zu",
		    spec->cycle, td_files_most());
	return 0;
}

static int check_stream(const struct tundish_flow *f, const struct tundish_flow_options *o,
    const struct td_order_spec *spec, struct tundish_error *e)
{
	bool pipe = false;
	for (size_t i = 0; i < f->set.files.n; i++)
		pipe |= strcmp(f->set.files.paths[i], "-") == 0;
	int rc = check_stream_order(f, o, spec, pipe, e);
	if (rc < 0)
		return rc;
	bool drop = o->uneven == TUNDISH_UNEVEN_DROP && !f->share.by_file;
	if (o->world > 1 && o->uneven != TUNDISH_UNEVEN_KEEP && !drop)
		return td_err(e, TUNDISH_E_USAGE, "how many records compressed files or a stream have is not "
		    "known before they are read, nor whether %u ranks get the same number of batches; "
		    "uneven keep%s says what to do", o->world, f->share.by_file ? "" : " or drop");
	if (pipe && o->epochs > 1)
		return td_err(e, TUNDISH_E_USAGE, "a stream can be read for one epoch only");
	return 0;
}

static uint64_t batches_of(uint64_t positions, unsigned batch, int last)
{
	return last == TUNDISH_LAST_DROP ? positions / batch : (positions + batch - 1) / batch;
}

/* How many positions of the order this rank has, by the policy for uneven ones. */
static int share_out(struct td_share *s, const struct td_records *set,
    const struct tundish_flow_options *o, struct tundish_error *e)
{
	uint64_t least = s->records / s->world, most = (s->records + s->world - 1) / s->world;
	s->positions = least + (s->rank < s->records % s->world);
	if (s->by_file) {
		least = set->least;
		most = set->most;
		s->positions = s->records;
	}
	if (o->uneven == TUNDISH_UNEVEN_DROP)
		s->positions = least;
	else if (o->uneven == TUNDISH_UNEVEN_PAD)
		s->positions = most;
	else if (o->uneven == TUNDISH_UNEVEN_ERROR &&
	    batches_of(least, s->batch, o->last) != batches_of(most, s->batch, o->last) && !s->flows)
		return td_err(e, TUNDISH_E_USAGE, "%" PRIu64 " records give some of %" PRIu64
		    " ranks %" PRIu64 " batches of %u and others %" PRIu64
		    "; uneven keep, drop or pad says what to do",
		    s->by_file ? set->all : s->records, s->world, batches_of(most, s->batch, o->last), s->batch,
		    batches_of(least, s->batch, o->last));
	s->batches = batches_of(s->positions, s->batch, o->last);
	if (s->batches == 0 && !(s->flows && s->positions))
		return td_err(e, TUNDISH_E_USAGE, "%" PRIu64 " records do not fill one batch of %u%s",
		    s->records, s->batch, s->world > 1 ? " on each rank" : "");
	return 0;
}

/* Batches of all epochs. */
static uint64_t all_batches(const struct td_share *s, int last)
{
	uint64_t all;
	if (s->epochs == UINT64_MAX || td_mul_overflow(s->flows ? s->positions : s->batches, s->epochs, &all))
		return UINT64_MAX;
	return s->flows ? batches_of(all, s->batch, last) : all;
}

/* "SEED:EPOCH:POSITION[:WORLD]", position being that of the order of all ranks. */
static int parse_start(const struct tundish_flow *f, const char *text, uint64_t *ret_epoch,
    uint64_t *ret_position, struct tundish_error *e)
{
	uint64_t seed, world = f->share.world;
	int used = 0, more = 0;
	bool good = sscanf(text, "%" SCNu64 ":%" SCNu64 ":%" SCNu64 "%n", &seed, ret_epoch, ret_position,
	    &used) == 3;
	if (good && text[used] == ':')
		good = sscanf(text + used, ":%" SCNu64 "%n", &world, &more) == 1;
	if (!good || text[used + more])
		return td_err(e, TUNDISH_E_USAGE, "start \"%s\" is no cursor", TD_ESC(text));
	if (world != f->share.world)
		return td_err(e, TUNDISH_E_USAGE, "start belongs to %" PRIu64 " ranks, not %" PRIu64 ": pictures are "
		    "mixed within a rank's batch, or files were dealt to ranks", world, f->share.world);
	if (seed != f->recipe.seed)
		return td_err(e, TUNDISH_E_USAGE, "start belongs to seed %" PRIu64 ", not %" PRIu64,
		    seed, f->recipe.seed);
	if (*ret_epoch > f->share.epochs)
		return td_err(e, TUNDISH_E_USAGE, "start is behind the last epoch");
	return 0;
}

static int no_batch_there(const struct tundish_flow *f, uint64_t position, struct tundish_error *e)
{
	return td_err(e, TUNDISH_E_USAGE, "start is at position %" PRIu64 ", where no batch of %" PRIu64
	    " begins", position, f->share.world * f->share.batch);
}

static int read_start(struct tundish_flow *f, const char *text, struct tundish_error *e)
{
	uint64_t epoch, position, at;
	int rc = parse_start(f, text, &epoch, &position, e);
	if (rc < 0)
		return rc;
	uint64_t positions = f->share.flows ? f->share.positions : f->share.batches * f->share.batch;
	if (td_mul_overflow(epoch, positions, &at) || td_add_overflow(at, position / f->share.world, &at))
		return td_err(e, TUNDISH_E_USAGE, "start is behind the last epoch");
	if (position % f->share.world || position / f->share.world >= positions ||
	    at % f->share.batch)
		return no_batch_there(f, position, e);
	/* the end of the last epoch is a place as well: nothing is left */
	f->next_open = f->next_out = at / f->share.batch;
	if (f->next_out > f->end)
		return td_err(e, TUNDISH_E_USAGE, "start is behind the last epoch");
	return 0;
}

int td_plan_stream_start(struct tundish_flow *f, const char *text, struct tundish_error *e)
{
	uint64_t epoch, position;
	int rc = parse_start(f, text, &epoch, &position, e);
	if (rc == 0 && position % f->share.world)
		rc = no_batch_there(f, position, e);
	if (rc == 0 && epoch > 0 && f->share.epochs == 1 && position > 0)
		rc = td_err(e, TUNDISH_E_USAGE, "start is behind the last epoch");
	if (rc == 0)
		td_stream_start(f, epoch, position);
	return rc;
}

/* Where each file begins among the records that count. */
static uint64_t *file_starts(const struct td_records *set)
{
	uint64_t *first = calloc(set->files.n + 1, sizeof *first);
	for (size_t i = 0; first && i <= set->files.n; i++) {
		uint64_t at = TD_MAX(set->first[i], set->skip) - set->skip;
		first[i] = TD_MIN(at, set->records);
	}
	return first;
}

/* Reads what a sampler needs to know of each record. */
static int open_strata(struct tundish_flow *f, const struct tundish_flow_options *o,
    const struct td_sampler_spec *sampler, const struct td_order_spec *spec, struct tundish_error *e)
{
	struct td_strata strata = { 0 };
	int rc = td_strata_open(&strata, &f->set, f->files, sampler->feature, o, e);
	if (rc == 0)
		rc = td_sampler_strata(&f->sampler, sampler, &strata, f->share.world * f->share.batch, spec,
		    &o->listener, e);
	td_strata_free(&strata);
	return rc;
}

static int open_order(struct tundish_flow *f, const struct tundish_flow_options *o,
    const struct td_sampler_spec *sampler, struct td_order_spec *spec, struct tundish_error *e)
{
	uint64_t batch = f->share.world * f->share.batch, *first;
	const struct td_sampler_batches batches = { batch, f->share.world * o->min_per_source };
	int rc;
	if (o->flow_epochs && (o->n_mix || sampler->kind == TD_SAMPLE_STRATIFIED))
		return td_err(e, TUNDISH_E_USAGE, "batches that hold a sampler's or a mix's parts cannot "
		    "flow over the end of an epoch");
	if (sampler->kind != TD_SAMPLE_ALL)
		return open_strata(f, o, sampler, spec, e);
	if (f->set.n_sources)
		return td_sampler_mix(&f->sampler, &f->set, &batches, spec, e);
	first = file_starts(&f->set);
	if (!first)
		return td_err_memory(e);
	spec->first = first;
	rc = td_sampler_order(&f->sampler, spec, e);
	free(first);
	return rc;
}

int td_plan_order(struct tundish_flow *f, const struct tundish_flow_options *o,
    const struct td_sampler_spec *sampler, struct td_order_spec *spec, struct tundish_error *e)
{
	f->end = UINT64_MAX;
	spec->seed = o->seed;
	spec->n_files = f->set.files.n;
	f->stream.spec = *spec;
	f->stream.spec.length = TD_MAX(spec->length, (uint64_t)1);
	f->stream.uneven = o->uneven;
	if (spec->cycle <= 1 && td_ahead_bytes(f->threads) <= td_memory(o->memory) / 4)
		f->stream.threads = f->threads;
	if (f->set.stream)
		return check_stream(f, o, spec, e);
	spec->records = f->set.records;
	if (spec->kind == TD_ORDER_BUFFER && spec->size < spec->records / 10)
		td_notice(&o->listener, "shuffle buffer:%" PRIu64 " is under a tenth of %" PRIu64
		    " records: neighbours in the files stay close", spec->size, spec->records);
	bool any = sampler->kind != TD_SAMPLE_ALL || o->n_mix || spec->kind == TD_ORDER_FULL;
	if (td_packed_any(f->set.packed) && any)
		td_notice(&o->listener, "each record of compressed files is in a member of about 1 MiB that is "
		    "inflated for it; shuffle block:N or files that are not compressed are faster");
	int rc = open_order(f, o, sampler, spec, e);
	/* from now on: what a sampler wants to know was read in order */
	bool near = spec->kind == TD_ORDER_OFF || spec->kind == TD_ORDER_BUFFER;
	td_files_advise(f->files, sampler->kind != TD_SAMPLE_ALL || spec->kind == TD_ORDER_FULL ?
	    POSIX_FADV_RANDOM : near ? POSIX_FADV_SEQUENTIAL : POSIX_FADV_NORMAL);
	f->share.records = f->sampler.positions;
	if (rc == 0)
		rc = share_out(&f->share, &f->set, o, e);
	if (rc == 0)
		f->end = all_batches(&f->share, o->last);
	if (rc == 0 && o->start)
		rc = read_start(f, o->start, e);
	return rc;
}

static void add_number(struct td_sha256 *sha, uint64_t number)
{
	td_sha256_add(sha, &number, sizeof number);
}

static void add_text(struct td_sha256 *sha, const char *text, size_t len)
{
	add_number(sha, len);
	if (len > 0)
		td_sha256_add(sha, text, len);
}

/* How much of the text of the operations is done before `cut`. */
static size_t kept_ops(const struct tundish_flow_options *o, unsigned cut)
{
	static const char blanks[] = " \t\r\n";
	const char *text = o->ops ? o->ops : "", *end = text;
	for (;;) {
		const char *next = end + strspn(end, blanks);
		next += strcspn(next, blanks);
		char *head = strndup(text, (size_t)(next - text));
		struct td_chain chain = { 0 };
		bool within = next > end && head && td_chain_parse(&chain, head, NULL) == 0 && chain.n <= cut;
		td_chain_close(&chain);
		free(head);
		if (!within)
			return (size_t)(end - text);
		end = next;
	}
}

/* One of the inputs. What cannot be found, FILE:SPEC, is `listed`: in the listing's checksum. */
static int add_file(struct td_shelf_key *key, const char *path, bool listed, struct tundish_error *e)
{
	struct stat st;
	char *full = realpath(path, NULL);
	if (!full && listed) {
		add_text(&key->name, path, strlen(path));
		return 0;
	}
	if (!full || stat(full, &st) < 0) {
		free(full);
		return td_err_errno(e, errno, "%s", TD_ESC(path));
	}
	add_text(&key->name, full, strlen(full));
	add_number(&key->content, (uint64_t)st.st_size);
	td_sha256_add(&key->content, &st.st_mtim, sizeof st.st_mtim);
	free(full);
	return 0;
}

/* The name: what is kept of which files, for which share of them. The content: their sizes
 * and times, this version, and what the operations read from files. */
static int make_key(const struct tundish_flow *f, const struct tundish_flow_options *o,
    struct td_shelf_key *ret, struct tundish_error *e)
{
	const struct td_recipe *r = &f->recipe;
	td_sha256_init(&ret->name);
	td_sha256_init(&ret->content);
	add_number(&ret->name, f->cache.kind);
	add_text(&ret->name, o->ops, kept_ops(o, r->cut));
	add_text(&ret->name, o->image_key, o->image_key ? strlen(o->image_key) : 0);
	add_text(&ret->name, o->label_key, o->label_key ? strlen(o->label_key) : 0);
	const uint64_t share[] = { o->skip, o->limit, o->rank, o->world };
	td_sha256_add(&ret->name, share, sizeof share);
	add_text(&ret->content, tundish_version(), strlen(tundish_version()));
	for (unsigned i = 0; i < r->cut; i++) {
		const struct td_op *op = &r->chain.ops[i];
		add_text(&ret->content, (const char *)op->mean.list, op->mean.n * sizeof *op->mean.list);
		add_text(&ret->content, (const char *)op->std.list, op->std.n * sizeof *op->std.list);
	}
	int rc = 0;
	for (unsigned i = 0; i < f->set.n_parts; i++)
		td_items_key(f->set.parts[i].items, o, &ret->name, &ret->content);
	for (size_t i = 0; i < o->n_paths && f->set.n_parts && rc == 0; i++)
		rc = add_file(ret, o->paths[i], true, e);
	for (size_t i = 0; i < o->n_mix; i++)
		add_text(&ret->name, o->mix[i], strlen(o->mix[i]));
	for (size_t i = 0; i < f->set.files.n && rc == 0; i++) {
		if (!td_records_part(&f->set, i))
			rc = add_file(ret, f->set.files.paths[i], false, e);
	}
	return rc;
}

int td_plan_cache(struct tundish_flow *f, const struct tundish_flow_options *o,
    const struct td_cache_spec *spec, struct tundish_error *e)
{
	struct td_recipe *r = &f->recipe;
	enum td_cache_kind kind = spec->kind;
	if (kind == TD_CACHE_NONE)
		return 0;
	if (f->set.stream)
		return td_err(e, TUNDISH_E_USAGE, "a cache needs %s", td_by_position);
	/* what is kept would be exact, and batches are the same with a cache and without */
	if (kind >= TD_CACHE_DECODED && r->chain.n && r->chain.ops[0].fast)
		return td_err(e, TUNDISH_E_USAGE, "decode:fast goes with caches of raw records and of indexes only");
	while (kind == TD_CACHE_OPS && r->cut < r->chain.n && !td_op_random(&r->chain.ops[r->cut]))
		r->cut++;
	if (kind == TD_CACHE_OPS && r->cut == 0 && r->chain.n > 0)
		return td_err(e, TUNDISH_E_USAGE, "cache ops: the first operation draws, and there is none "
		    "before it whose result could be kept; decoded keeps the picture");
	r->cache = &f->cache;
	if (!spec->folder)
		return td_cache_open(&f->cache, kind, f->set.records, td_memory(o->memory) / 2, &f->ledger, e);
	struct td_shelf_key key;
	struct td_shelf *shelf;
	f->cache.kind = kind;
	int rc = make_key(f, o, &key, e);
	if (rc == 0)
		rc = td_shelf_open(&shelf, spec->folder, &key, f->set.records, &o->listener, e);
	if (rc == 0)
		td_cache_open_shelf(&f->cache, kind, shelf, &f->ledger);
	return rc;
}
