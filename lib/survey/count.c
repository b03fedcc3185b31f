/* SPDX-License-Identifier: BSD-2-Clause
 * Counting records. */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "by.h"
#include "scan.h"

/* What the caller gets, and what keeps it together. */
struct counted {
	struct tundish_count count;
	struct td_paths paths;
};

struct run {
	const struct tundish_count_options *options;
	struct counted *out;
	struct td_by by;
};

void tundish_count_options_init(struct tundish_count_options *ret_options)
{
	*ret_options = (struct tundish_count_options){
		.size = sizeof *ret_options,
		.crc = TUNDISH_CRC_LENGTH,
		.compression = TUNDISH_AUTO,
		.on_error = TUNDISH_SKIP,
		.max_record_bytes = INT32_MAX,
	};
}

static int count_value(void *ctx, struct td_scan_job *job, const struct tundish_record *r,
    struct tundish_error *e)
{
	const struct run *run = ctx;
	struct td_by *part = job->part;
	const char *by = run->options->by;
	part->values.value_bytes = sizeof(struct td_by_value);
	struct tundish_feature f;
	int found = tundish_example_find(r->data, r->bytes, by, strlen(by), &f);
	if (!td_by_add(part, found > 0 ? &f : NULL))
		return td_err_memory(e);
	return found >= 0 ? 0 : td_scan_bad(job, r, found, e, "not a tf.train.Example");
}

static int merge(void *ctx, struct td_scan_job *job, struct tundish_error *e)
{
	struct run *run = ctx;
	struct tundish_count *count = &run->out->count;
	const struct td_scan_file *f = &job->file;
	struct tundish_count_file *all = &count->files[f->number];
	all->path = f->path;
	all->records += f->records;
	all->faults += f->faults;
	all->bytes = f->bytes;
	all->compression = f->compression;
	count->records += f->records;
	count->faults += f->faults;
	if (td_scan_last(job))
		count->bytes += f->bytes;
	if (run->options->crc == TUNDISH_CRC_FULL && td_scan_last(job) && all->records == 0 &&
	    all->faults == 0)
		td_notice(&run->options->listener, "%s: holds no records", TD_ESC(f->path));
	return td_by_merge(&run->by, job->part) ? 0 : td_err_memory(e);
}

static void free_part(void *part)
{
	td_by_free(part);
}

static int count_files(struct run *run, struct tundish_error *e)
{
	const struct tundish_count_options *o = run->options;
	struct tundish_count *count = &run->out->count;
	const struct td_paths *paths = &run->out->paths;
	count->faults = paths->faults;
	count->files = calloc(paths->n, sizeof *count->files);
	count->n_files = paths->n;
	if (!count->files)
		return td_err_memory(e);
	const struct td_scan scan = {
		.paths = paths,
		.crc = o->crc,
		.compression = o->compression,
		.on_error = o->on_error,
		.count_only = o->by == NULL,
		.threads = o->threads,
		.memory = o->memory,
		.max_record_bytes = o->max_record_bytes,
		.listener = &o->listener,
		.ctx = run,
		.part_bytes = sizeof(struct td_by),
		.record = o->by ? count_value : NULL,
		.merge = merge,
		.free_part = free_part,
	};
	int rc = td_scan_run(&scan, e);
	if (rc < 0 || !o->by)
		return rc;
	count->values = td_by_sorted(&run->by);
	count->n_values = run->by.values.n;
	count->without_value = run->by.without;
	return count->values ? 0 : td_err_memory(e);
}

static int check_options(const struct tundish_count_options *o, struct tundish_error *e)
{
	if (!o || o->size != sizeof *o || (!o->paths && o->n_paths))
		return td_err(e, TUNDISH_E_INVALID, "count: options were not initialised");
	if (o->n_paths == 0)
		return td_err(e, TUNDISH_E_USAGE, "nothing to count: no path given");
	return 0;
}

int tundish_count(const struct tundish_count_options *options, struct tundish_count **ret_count,
    struct tundish_error *ret_error)
{
	int rc = check_options(options, ret_error);
	if (rc < 0)
		return rc;
	struct run run = { .options = options, .by = TD_BY_INIT };
	run.out = calloc(1, sizeof *run.out);
	if (!run.out)
		return td_err_memory(ret_error);
	rc = td_paths_find(&run.out->paths, options->paths, options->n_paths, &options->listener,
	    ret_error);
	if (rc == 0 && run.out->paths.faults && options->on_error == TUNDISH_FAIL)
		rc = td_err(ret_error, TUNDISH_E_BAD, "the set is not whole");
	if (rc == 0)
		rc = count_files(&run, ret_error);
	td_by_free(&run.by);
	if (rc < 0)
		tundish_count_free(&run.out->count);
	else
		*ret_count = &run.out->count;
	return rc;
}

void tundish_count_free(struct tundish_count *count)
{
	if (!count)
		return;
	struct counted *out = (struct counted *)count;
	td_paths_free(&out->paths);
	free(count->files);
	free(count->values);
	free(out);
}
