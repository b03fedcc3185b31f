/* SPDX-License-Identifier: BSD-2-Clause
 * The records of a flow: which files, and where each record lies. */
#include "records.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/err.h"
#include "base/held.h"
#include "base/pool.h"

/* Listing is an ordered loop over files, so that faults come in the order of the files. */
struct listing {
	struct td_records *set;
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
	job->stream = rc == TUNDISH_E_UNSUPPORTED;
	return job->stream ? 0 : rc;
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

static int list(struct td_records *set, const struct tundish_flow_options *options,
    struct tundish_error *e)
{
	struct listing l = { .set = set, .options = options };
	const struct td_ordered loop = {
		.job_bytes = sizeof(struct job),
		.threads = (unsigned)TD_MIN(td_threads(options->threads), set->files.n),
		.take = take_file,
		.work = list_file,
		.put = put_file,
		.free_job = free_job,
	};
	set->indexes = calloc(set->files.n, sizeof *set->indexes);
	set->first = calloc(set->files.n + 1, sizeof *set->first);
	if (!set->indexes || !set->first)
		return td_err_memory(e);
	return td_ordered_run(&loop, &l, NULL, e);
}

/* Paths are found first, and their faults held until it is known what to do with them. */
static int find(struct td_records *set, const struct tundish_flow_options *options,
    struct tundish_error *e)
{
	struct listing l = { .set = set, .options = options };
	struct td_held held = { 0 };
	struct tundish_listener listener = td_held_listener(&held);
	int rc = td_paths_find(&set->files, options->paths, options->n_paths, &listener, e);
	set->faults += set->files.faults;
	if (rc == 0)
		rc = tell(&l, &held, e);
	td_held_free(&held);
	return rc;
}

int td_records_open(struct td_records *ret, const struct tundish_flow_options *options,
    struct tundish_error *e)
{
	struct td_records set = { .skip = options->skip, .limit = options->limit };
	int rc = find(&set, options, e);
	if (rc == 0)
		rc = list(&set, options, e);
	if (rc == 0 && !set.stream) {
		uint64_t all = set.first[set.files.n];
		set.records = all > set.skip ? all - set.skip : 0;
		if (set.limit && set.records > set.limit)
			set.records = set.limit;
		if (set.records == 0)
			rc = td_err(e, TUNDISH_E_EMPTY, "%s%s: %s", TD_ESC(options->paths[0]),
			    options->n_paths > 1 ? " and others" : "",
			    all ? "no records behind skip" : "no records");
	}
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
	return (struct td_spot){ low, number, set->indexes[low].entries[number] };
}

void td_records_close(struct td_records *set)
{
	for (size_t i = 0; set->indexes && i < set->files.n; i++)
		td_index_free(&set->indexes[i]);
	free(set->indexes);
	free(set->first);
	td_paths_free(&set->files);
	*set = (struct td_records){ 0 };
}
