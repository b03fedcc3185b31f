/* SPDX-License-Identifier: BSD-2-Clause
 * The records of a flow: which files, and where each record lies. */
#include "records.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/err.h"
#include "base/held.h"
#include "base/number.h"
#include "base/pool.h"
#include "order.h"
#include "record/frame.h"
#include "record/metadata.h"

/* Members of compressed files may stay inflated in this part of the memory. */
#define KEEP_PART 8

/* Listing is an ordered loop over files, so that faults come in the order of the files. */
struct listing {
	struct td_records *set;
	struct td_metadata *metadata;
	const struct tundish_flow_options *options;
	size_t next;
	struct tundish_error first_fault;
};

struct job {
	size_t file;
	bool stream;
	struct td_index index;
	struct td_held held;
};

static int take_file(void *ctx, void *job_, uint64_t *ret_bytes, struct tundish_error *e)
{
	struct listing *l = ctx;
	struct job *job = job_;
	(void)e;
	if (l->next == l->set->files.n)
		return 0;
	job->file = l->next++;
	*ret_bytes = 0;
	return 1;
}

static int list_file(void *ctx, void *job_, unsigned worker, struct tundish_error *e)
{
	struct listing *l = ctx;
	struct job *job = job_;
	struct tundish_listener listener = td_held_listener(&job->held);
	const char *path = l->set->files.paths[job->file];
	struct stat st;
	(void)worker;
	/* a pipe is not even opened here: what is read of it is gone */
	job->stream = strcmp(path, "-") == 0 || (stat(path, &st) == 0 && !S_ISREG(st.st_mode));
	if (job->stream)
		return 0;
	int rc = td_index_open(&job->index, path, &listener, e);
	if (rc != TUNDISH_E_UNSUPPORTED)
		return rc;
	struct td_pack_map map;
	rc = l->set->packed ? td_index_members(&job->index, &map, path, l->metadata, &listener, e) : 0;
	job->stream = rc == 0;
	if (rc > 0)
		td_packed_set(l->set->packed, job->file, &map);
	return TD_MIN(rc, 0);
}

static void catch_fault(void *data, const struct tundish_fault *fault)
{
	struct tundish_error *e = data;
	if (!e->code)
		td_err(e, fault->code, "%s", fault->text);
}

/* Tells what was held back; with TUNDISH_FAIL the first fault becomes the error. */
static int tell(struct listing *l, struct td_held *held, struct tundish_error *e)
{
	struct tundish_listener listener = l->options->listener;
	if (l->options->on_error == TUNDISH_FAIL) {
		listener.fault = catch_fault;
		listener.data = &l->first_fault;
		listener.notice = NULL;
	}
	int rc = td_held_tell(held, &listener, e);
	if (rc == 0 && l->first_fault.code) {
		if (e)
			*e = l->first_fault;
		rc = l->first_fault.code;
	}
	return rc;
}

static int put_file(void *ctx, void *job_, struct tundish_error *e)
{
	struct listing *l = ctx;
	struct job *job = job_;
	struct td_records *set = l->set;
	set->stream |= job->stream;
	set->faults += job->index.faults;
	set->indexes[job->file] = job->index;
	set->first[job->file + 1] = set->first[job->file] + job->index.n;
	for (size_t i = 0; i < job->index.n; i++)
		set->bytes += job->index.entries[i].bytes;
	job->index = (struct td_index){ 0 };
	return tell(l, &job->held, e);
}

static void free_job(void *job_)
{
	struct job *job = job_;
	td_index_free(&job->index);
	td_held_free(&job->held);
}

/* What cannot be done while reading forward; else compressed files are best read so. */
static bool wants_positions(const struct tundish_flow_options *o)
{
	struct td_order_spec spec = { 0 };
	if (td_order_parse(&spec, o->shuffle, NULL) < 0)
		return false;
	return spec.kind == TD_ORDER_FULL || spec.kind == TD_ORDER_BLOCK || spec.group || o->sampler ||
	       o->n_mix || o->cache || ((o->skip || o->limit) && (spec.shards || o->cycle_length > 1)) ||
	       (o->world > 1 && (o->uneven == TUNDISH_UNEVEN_ERROR || o->uneven == TUNDISH_UNEVEN_PAD));
}

static int list(struct td_records *set, const struct tundish_flow_options *options,
    struct tundish_error *e)
{
	struct listing l = { .set = set, .metadata = td_metadata_new(), .options = options };
	const struct td_ordered loop = {
		.job_bytes = sizeof(struct job),
		.threads = (unsigned)TD_MIN(td_threads(options->threads), set->files.n),
		.take = take_file,
		.work = list_file,
		.put = put_file,
		.free_job = free_job,
	};
	int rc = wants_positions(options) ?
	    td_packed_new(&set->packed, set->files.n, td_memory(options->memory) / KEEP_PART, e) : 0;
	set->indexes = calloc(set->files.n, sizeof *set->indexes);
	set->first = calloc(set->files.n + 1, sizeof *set->first);
	if (rc == 0 && !(l.metadata && set->indexes && set->first))
		rc = td_err_memory(e);
	if (rc == 0)
		rc = td_ordered_run(&loop, &l, NULL, e);
	td_metadata_free(l.metadata);
	return rc;
}

/* Paths are found first, and their faults held until it is known what to do with them. */
static int find(struct td_records *set, struct td_paths *ret, const char *const *paths, size_t n,
    const struct tundish_flow_options *options, struct tundish_error *e)
{
	struct listing l = { .set = set, .options = options };
	struct td_held held = { 0 };
	struct tundish_listener listener = td_held_listener(&held);
	int rc = td_paths_find(ret, paths, n, &listener, e);
	set->faults += ret->faults;
	if (rc == 0)
		rc = tell(&l, &held, e);
	td_held_free(&held);
	return rc;
}

static int parse_mix(struct td_mix_source *ret, const char *text, struct tundish_error *e)
{
	const char *sign = strchr(text, '='), *colon = strrchr(text, ':');
	double weight;
	if (!sign || sign == text || !colon || colon <= sign + 1 ||
	    !td_parse_double(&weight, colon + 1, strlen(colon + 1)) ||
	    !(weight > 0 && weight <= 1e100))
		return td_err(e, TUNDISH_E_USAGE, "mix \"%s\" is no NAME=PATTERN:WEIGHT",
		    TD_ESC(text));
	ret->name = strndup(text, (size_t)(sign - text));
	ret->pattern = strndup(sign + 1, (size_t)(colon - sign - 1));
	ret->weight = weight;
	return ret->name && ret->pattern ? 0 : td_err_memory(e);
}

static int append_files(struct td_paths *to, struct td_paths *more, struct tundish_error *e)
{
	size_t n = to->n + more->n;
	char **paths = realloc(to->paths, n * sizeof *paths);
	if (!paths)
		return td_err_memory(e);
	to->paths = paths;
	uint64_t *bytes = realloc(to->bytes, n * sizeof *bytes);
	if (!bytes)
		return td_err_memory(e);
	to->bytes = bytes;
	memcpy(paths + to->n, more->paths, more->n * sizeof *paths);
	memcpy(bytes + to->n, more->bytes, more->n * sizeof *bytes);
	to->n = n;
	more->n = 0;
	return 0;
}

/* The files of one source after those of the others. */
static int find_source(struct td_records *set, const char *text,
    const struct tundish_flow_options *options, struct tundish_error *e)
{
	struct td_mix_source *source = &set->mix[set->n_sources++];
	struct td_paths found = { 0 };
	int rc = parse_mix(source, text, e);
	for (unsigned i = 0; i + 1 < set->n_sources && rc == 0; i++) {
		if (strcmp(set->mix[i].name, source->name) == 0)
			rc = td_err(e, TUNDISH_E_USAGE, "two sources of the mix are named %s",
			    TD_ESC(source->name));
	}
	if (rc < 0)
		return rc;
	rc = find(set, &found, (const char *const[]){ source->pattern }, 1, options, e);
	if (rc == 0)
		rc = append_files(&set->files, &found, e);
	td_paths_free(&found);
	set->sources[set->n_sources] = set->files.n;
	return rc < 0 ? td_err_prefix(e, "source %s of the mix", TD_ESC(source->name)), rc : 0;
}

static int find_mix(struct td_records *set, const struct tundish_flow_options *options,
    struct tundish_error *e)
{
	set->mix = calloc(options->n_mix, sizeof *set->mix);
	set->sources = calloc(options->n_mix + 1, sizeof *set->sources);
	int rc = set->mix && set->sources ? 0 : td_err_memory(e);
	for (size_t i = 0; i < options->n_mix && rc == 0; i++)
		rc = find_source(set, options->mix[i], options, e);
	return rc;
}

/* Runs of items that were cut out of one file are a file each. */
static int add_items(struct td_records *set, struct tundish_error *e)
{
	size_t n = td_items_n(set->items);
	struct td_buf path = { 0 };
	set->files.paths = calloc(n, sizeof *set->files.paths);
	set->first = calloc(n + 1, sizeof *set->first);
	bool good = set->files.paths && set->first;
	for (size_t i = 0; i < n && good; i++) {
		set->bytes += td_items_bytes(set->items, i);
		if (td_items_same_file(set->items, i))
			continue;
		good = td_items_path(set->items, i, &path);
		set->files.paths[set->files.n] = good ? strdup((char *)path.data) : NULL;
		good = good && set->files.paths[set->files.n];
		set->first[set->files.n++] = i;
	}
	if (set->first)
		set->first[set->files.n] = n;
	td_buf_free(&path);
	return good ? 0 : td_err_memory(e);
}

static int list_items(struct td_records *set, const struct tundish_flow_options *options,
    struct tundish_error *e)
{
	uint64_t bad = 0;
	int rc = td_items_open(&set->items, options, &bad, e);
	set->faults += bad;
	if (rc == 0 && td_items_n(set->items) == 0)
		rc = td_err(e, TUNDISH_E_USAGE, "%s: only a stream, which cannot be read in place: convert it first",
		    TD_ESC(options->paths[0]));
	return rc < 0 ? rc : add_items(set, e);
}

static bool all_folders(const struct tundish_flow_options *options)
{
	struct stat st;
	for (size_t i = 0; i < options->n_paths; i++) {
		if (stat(options->paths[i], &st) < 0 || !S_ISDIR(st.st_mode))
			return false;
	}
	return true;
}

int td_records_count(struct td_records *set, struct tundish_error *e)
{
	uint64_t all = set->first[set->files.n];
	set->records = all > set->skip ? all - set->skip : 0;
	if (set->limit && set->records > set->limit)
		set->records = set->limit;
	return set->records ? 0 : td_err(e, TUNDISH_E_EMPTY, "%s%s: %s", TD_ESC(set->files.paths[0]),
	    set->files.n > 1 ? " and others" : "", all ? "no records behind skip" : "no records");
}

int td_records_open(struct td_records *ret, const struct tundish_flow_options *options,
    struct tundish_error *e)
{
	struct td_records set = { .skip = options->skip, .limit = options->limit };
	set.max_bytes = options->max_record_bytes;
	if (td_add_overflow(set.max_bytes, (uint64_t)TD_FRAME_EXTRA, &set.max_bytes))
		set.max_bytes = UINT64_MAX;
	bool raw;
	int rc = td_items_wanted(&raw, options, e);
	if (rc == 0 && !raw) {
		rc = options->n_mix ? find_mix(&set, options, e) :
		    find(&set, &set.files, options->paths, options->n_paths, options, e);
		raw = rc == TUNDISH_E_EMPTY && !options->n_mix && all_folders(options);
		if (rc == 0)
			rc = list(&set, options, e);
	}
	if (raw)
		rc = list_items(&set, options, e);
	if (rc == 0 && !set.stream)
		rc = td_records_count(&set, e);
	if (rc < 0) {
		td_records_close(&set);
		return rc;
	}
	*ret = set;
	return 0;
}

struct td_spot td_records_spot(const struct td_records *set, uint64_t record)
{
	size_t low = 0, high = set->files.n;
	record += set->skip;
	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;
		if (set->first[middle] <= record)
			low = middle;
		else
			high = middle;
	}
	uint64_t number = record - set->first[low];
	if (set->items)
		return (struct td_spot){ .file = low, .number = number,
			.entry = { 0, td_items_bytes(set->items, record) } };
	struct td_spot spot = { .file = low, .number = number, .entry = set->indexes[low].entries[number] };
	if (set->groups) {
		spot.number = set->groups[low].first[number];
		spot.frames = set->groups[low].first[number + 1] - spot.number;
	}
	return spot;
}

static void free_runs(struct td_group_runs *runs)
{
	free(runs->entries);
	free(runs->first);
}

/* File `from` becomes number `to`, of those that stay. */
static void move_file(struct td_records *set, size_t to, size_t from)
{
	set->files.paths[to] = set->files.paths[from];
	if (set->files.bytes)
		set->files.bytes[to] = set->files.bytes[from];
	if (set->packed)
		td_packed_move(set->packed, to, from);
	set->indexes[to] = set->indexes[from];
	if (set->stream)
		return;
	if (set->groups)
		set->groups[to] = set->groups[from];
	set->first[to + 1] = set->first[to] + set->indexes[to].n;
	for (size_t i = 0; i < set->indexes[to].n; i++)
		set->bytes += set->indexes[to].entries[i].bytes;
}

static void drop_file(struct td_records *set, size_t i)
{
	free(set->files.paths[i]);
	td_index_free(&set->indexes[i]);
	if (set->groups)
		free_runs(&set->groups[i]);
}

/* How many records the ranks have. */
static void count_ranks(struct td_records *set, uint64_t world)
{
	set->all = set->first[set->files.n];
	set->least = UINT64_MAX;
	for (uint64_t rank = 0; rank < world; rank++) {
		uint64_t records = 0;
		for (size_t i = rank; i < set->files.n; i += world)
			records += set->first[i + 1] - set->first[i];
		set->least = TD_MIN(set->least, records);
		set->most = TD_MAX(set->most, records);
	}
}

int td_records_deal(struct td_records *set, uint64_t rank, uint64_t world, struct tundish_error *e)
{
	size_t n = 0;
	if (set->items)
		return td_err(e, TUNDISH_E_USAGE, "rank-by file needs files of records");
	if (set->files.n < world)
		return td_err(e, TUNDISH_E_USAGE, "%zu files do not give each of %" PRIu64 " ranks one",
		    set->files.n, world);
	if (!set->stream)
		count_ranks(set, world);
	set->bytes = 0;
	for (size_t i = 0; i < set->files.n; i++) {
		if (i % world == rank)
			move_file(set, n++, i);
		else
			drop_file(set, i);
	}
	set->files.n = n;
	return set->stream ? 0 : td_records_count(set, e);
}

void td_records_close(struct td_records *set)
{
	for (size_t i = 0; set->groups && i < set->files.n; i++)
		free_runs(&set->groups[i]);
	free(set->groups);
	for (size_t i = 0; set->indexes && i < set->files.n; i++)
		td_index_free(&set->indexes[i]);
	free(set->indexes);
	td_packed_free(set->packed);
	free(set->first);
	td_items_close(set->items);
	for (unsigned i = 0; i < set->n_sources; i++) {
		free(set->mix[i].name);
		free(set->mix[i].pattern);
	}
	free(set->mix);
	free(set->sources);
	td_paths_free(&set->files);
	*set = (struct td_records){ 0 };
}
