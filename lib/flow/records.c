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
#include "source/patterns.h"

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
	while (l->next < l->set->files.n && td_records_part(l->set, l->next))
		l->next++;
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
	set->walked += !job->stream && !job->index.from_sidecar;
	set->indexes[job->file] = job->index;
	set->first[job->file + 1] = job->index.n;
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

static int list(struct td_records *set, const struct tundish_flow_options *options, bool clips,
    struct tundish_error *e)
{
	uint64_t begun = td_now_ns();
	struct listing l = { .set = set, .metadata = td_metadata_new(), .options = options };
	const struct td_ordered loop = {
		.job_bytes = sizeof(struct job),
		.threads = (unsigned)TD_MIN(td_threads(options->threads), set->files.n),
		.take = take_file,
		.work = list_file,
		.put = put_file,
		.free_job = free_job,
	};
	int rc = clips || wants_positions(options) ?
	    td_packed_new(&set->packed, set->files.n, td_memory(options->memory) / KEEP_PART, e) : 0;
	set->indexes = calloc(set->files.n, sizeof *set->indexes);
	if (rc == 0 && !(l.metadata && set->indexes))
		rc = td_err_memory(e);
	if (rc == 0)
		rc = td_ordered_run(&loop, &l, NULL, e);
	td_metadata_free(l.metadata);
	set->listing_ns = td_now_ns() - begun;
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

/* How many records each has is still open. */
static int append_files(struct td_records *set, struct td_paths *more, struct tundish_error *e)
{
	struct td_paths *to = &set->files;
	size_t n = to->n + more->n;
	uint64_t *first = realloc(set->first, (n + 1) * sizeof *first);
	if (!first)
		return td_err_memory(e);
	memset(first + (to->n ? to->n + 1 : 0), 0, (more->n + !to->n) * sizeof *first);
	set->first = first;
	char **paths = realloc(to->paths, n * sizeof *paths);
	if (!paths)
		return td_err_memory(e);
	to->paths = paths;
	memcpy(paths + to->n, more->paths, more->n * sizeof *paths);
	to->n = n;
	more->n = 0;
	return 0;
}

/* ---- raw data ---- */

/* Runs of items that were cut out of one file are a file each. */
static int add_runs(struct td_records *set, const struct td_items *items, struct tundish_error *e)
{
	size_t n = td_items_n(items), file = set->files.n;
	struct td_paths runs = { .paths = calloc(n, sizeof *runs.paths) };
	struct td_buf path = { 0 };
	bool good = runs.paths;
	for (size_t i = 0; i < n && good; i++) {
		if (td_items_same_file(items, i))
			continue;
		good = td_items_path(items, i, &path) && (runs.paths[runs.n] = strdup((char *)path.data));
		runs.n += good;
	}
	int rc = good ? append_files(set, &runs, e) : td_err_memory(e);
	for (size_t i = 0; i < n && rc == 0; i++) {
		file += !td_items_same_file(items, i);
		set->first[file]++;
		set->bytes += td_items_bytes(items, i);
	}
	td_buf_free(&path);
	td_paths_free(&runs);
	return rc;
}

static int list_items(struct td_records *set, const struct tundish_flow_options *options,
    struct tundish_error *e)
{
	struct td_part *part = &set->parts[set->n_parts];
	uint64_t bad = 0;
	int rc = td_items_open(&part->items, options, &bad, e);
	set->faults += bad;
	if (rc < 0)
		return rc;
	set->n_parts++;
	if (td_items_n(part->items) == 0)
		return td_err(e, TUNDISH_E_USAGE, "%s: only a stream, which cannot be read in place: convert it first",
		    TD_ESC(options->paths[0]));
	part->file = set->files.n;
	rc = add_runs(set, part->items, e);
	part->end = set->files.n;
	return rc;
}

static bool all_folders(const struct tundish_flow_options *options)
{
	struct td_patterns p = { 0 };
	struct stat st;
	bool all = td_patterns_expand(&p, options->paths, options->n_paths, NULL) == 0;
	for (size_t i = 0; all && i < p.n; i++)
		all = stat(p.list[i], &st) == 0 && S_ISDIR(st.st_mode);
	td_patterns_free(&p);
	return all;
}

/* Records or raw data, by the paths, or by what the user says of `all` of them. */
static int add_paths(struct td_records *set, const struct tundish_flow_options *options, bool all,
    struct tundish_error *e)
{
	struct td_paths found = { 0 };
	bool raw;
	int rc = td_items_wanted(&raw, options, e);
	raw |= all && td_items_said(options);
	if (rc == 0 && !raw) {
		rc = find(set, &found, options->paths, options->n_paths, options, e);
		raw = rc == TUNDISH_E_EMPTY && all_folders(options);
		if (rc == 0)
			rc = append_files(set, &found, e);
		td_paths_free(&found);
		if (!raw)
			return rc;
	}
	return raw ? list_items(set, options, e) : rc;
}

/* ---- mixes ---- */

/* The files of one source after those of the others. */
static int find_source(struct td_records *set, const char *text,
    const struct tundish_flow_options *options, struct tundish_error *e)
{
	struct td_mix_source *source = &set->mix[set->n_sources++];
	struct tundish_flow_options own = *options;
	int rc = parse_mix(source, text, e);
	for (unsigned i = 0; i + 1 < set->n_sources && rc == 0; i++) {
		if (strcmp(set->mix[i].name, source->name) == 0)
			rc = td_err(e, TUNDISH_E_USAGE, "two sources of the mix are named %s",
			    TD_ESC(source->name));
	}
	if (rc < 0)
		return rc;
	const char *const path = source->pattern;
	own.paths = &path;
	own.n_paths = 1;
	rc = add_paths(set, &own, false, e);
	set->sources[set->n_sources] = set->files.n;
	return rc < 0 ? td_err_prefix(e, "source %s of the mix", TD_ESC(source->name)), rc : 0;
}

/* Two folders of classes are numbered each for itself. */
static void compare_classes(const struct td_records *set, const struct tundish_listener *l)
{
	int64_t label;
	const char *a, *b;
	for (unsigned i = 1; i < set->n_parts; i++) {
		if (td_items_differ(set->parts[0].items, set->parts[i].items, &label, &a, &b)) {
			td_notice(l, "label %" PRId64 " is %s in one source of the mix and %s in another: a class "
			    "list gives all of them the same", label, TD_ESC(a), TD_ESC(b));
			return;
		}
	}
}

static int find_mix(struct td_records *set, const struct tundish_flow_options *options,
    struct tundish_error *e)
{
	set->mix = calloc(options->n_mix, sizeof *set->mix);
	set->sources = calloc(options->n_mix + 1, sizeof *set->sources);
	int rc = set->mix && set->sources ? 0 : td_err_memory(e);
	for (size_t i = 0; i < options->n_mix && rc == 0; i++)
		rc = find_source(set, options->mix[i], options, e);
	if (rc == 0 && !set->n_parts && td_items_said(options))
		rc = td_err(e, TUNDISH_E_USAGE, "labels, tiles and the like are of raw data, and all sources of the "
		    "mix are records");
	if (rc == 0)
		compare_classes(set, &options->listener);
	return rc;
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

int td_records_open(struct td_records *ret, const struct tundish_flow_options *options, bool clips,
    struct tundish_error *e)
{
	struct td_records set = { .skip = options->skip, .limit = options->limit };
	set.max_bytes = options->max_record_bytes;
	if (td_add_overflow(set.max_bytes, (uint64_t)TD_FRAME_EXTRA, &set.max_bytes))
		set.max_bytes = UINT64_MAX;
	set.parts = calloc(TD_MAX(options->n_mix, (size_t)1), sizeof *set.parts);
	int rc = !set.parts ? td_err_memory(e) : options->n_mix ? find_mix(&set, options, e) :
	    add_paths(&set, options, true, e);
	if (rc == 0 && !td_records_all_raw(&set))
		rc = list(&set, options, clips, e);
	/* up to here it is how many each file has */
	for (size_t i = 0; i < set.files.n && rc == 0; i++)
		set.first[i + 1] += set.first[i];
	if (rc == 0 && !set.stream)
		rc = td_records_count(&set, e);
	if (rc < 0) {
		td_records_close(&set);
		return rc;
	}
	*ret = set;
	return 0;
}

const struct td_part *td_records_part(const struct td_records *set, size_t file)
{
	for (unsigned i = 0; i < set->n_parts; i++) {
		if (file >= set->parts[i].file && file < set->parts[i].end)
			return &set->parts[i];
	}
	return NULL;
}

size_t td_records_file(const struct td_records *set, const uint64_t *first, uint64_t record)
{
	size_t low = 0, high = set->files.n;
	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;
		if (first[middle] <= record)
			low = middle;
		else
			high = middle;
	}
	return low;
}

struct td_spot td_records_spot(const struct td_records *set, uint64_t record)
{
	size_t file = td_records_file(set, set->first, record + set->skip);
	struct td_spot spot = { .file = file, .number = record + set->skip - set->first[file] };
	const struct td_group_runs *runs = set->groups && set->groups[file].first ? &set->groups[file] : NULL;
	const struct td_part *part = td_records_part(set, file);
	while (spot.source + 1 < set->n_sources && set->sources[spot.source + 1] <= file)
		spot.source++;
	if (!part)
		spot.entry = set->indexes[file].entries[spot.number];
	if (runs) {
		spot.frames = runs->first[spot.number + 1] - runs->first[spot.number];
		spot.number = runs->first[spot.number];
	}
	if (part)
		spot.entry.bytes = td_items_bytes(part->items, td_records_item(set, part, &spot));
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
	if (set->n_parts)
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
	free(set->items);
	for (size_t i = 0; set->indexes && i < set->files.n; i++)
		td_index_free(&set->indexes[i]);
	free(set->indexes);
	td_packed_free(set->packed);
	free(set->first);
	for (unsigned i = 0; i < set->n_parts; i++)
		td_items_close(set->parts[i].items);
	free(set->parts);
	for (unsigned i = 0; i < set->n_sources; i++) {
		free(set->mix[i].name);
		free(set->mix[i].pattern);
	}
	free(set->mix);
	free(set->sources);
	td_paths_free(&set->files);
	*set = (struct td_records){ 0 };
}
