/* SPDX-License-Identifier: BSD-2-Clause
 * Counting records. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "by.h"
#include "estimate.h"
#include "hints.h"
#include "scan.h"

#define ESTIMATE_FROM ((uint64_t)256 << 20) /* bytes; less is read as fast as sampled */

/* What the caller gets, and what keeps it together. */
struct counted {
	struct tundish_count count;
	struct td_paths paths;
};

struct run {
	const struct tundish_count_options *options;
	struct counted *out;
	struct td_by by;
	struct td_hints hints;
	struct td_paths left; /* to be read; strings are those of out->paths */
	size_t *number;	      /* of each of them among all */
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

/* Metadata that is wrong will mislead others. */
static int compare_hint(struct run *run, const struct tundish_count_file *f, struct tundish_error *e)
{
	const struct tundish_listener *l = &run->options->listener;
	struct td_hint hint;
	int rc = td_hint_find(&run->hints, f->path, f->bytes, false, false, l, &hint, e);
	if (rc > 0 && hint.records != f->records)
		td_notice(l, "%s: holds %" PRIu64 " good records, %s says %" PRIu64, TD_ESC(f->path),
		    f->records, hint.source, hint.records);
	return TD_MIN(rc, 0);
}

static int merge(void *ctx, struct td_scan_job *job, struct tundish_error *e)
{
	struct run *run = ctx;
	struct tundish_count *count = &run->out->count;
	const struct td_scan_file *f = &job->file;
	struct tundish_count_file *all = &count->files[run->number[f->number]];
	all->source = "read";
	all->records += f->records;
	all->faults += f->faults;
	all->compression = f->compression;
	count->faults += f->faults;
	if (!td_by_merge(&run->by, job->part))
		return td_err_memory(e);
	if (!td_scan_last(job))
		return 0;
	if (run->options->crc == TUNDISH_CRC_FULL && all->records == 0 && all->faults == 0)
		td_notice(&run->options->listener, "%s: holds no records", TD_ESC(f->path));
	return compare_hint(run, all, e);
}

static void free_part(void *part)
{
	td_by_free(part);
}

/* ---- what need not be read ---- */

static int ask_hints(struct run *run, struct tundish_error *e)
{
	const struct tundish_count_options *o = run->options;
	struct tundish_count *count = &run->out->count;
	for (size_t i = 0; i < count->n_files; i++) {
		struct tundish_count_file *f = &count->files[i];
		struct td_hint hint;
		int rc = td_hint_find(&run->hints, f->path, f->bytes, true, o->trust, &o->listener,
		    &hint, e);
		if (rc < 0)
			return rc;
		if (rc > 0) {
			f->records = hint.records;
			f->source = hint.source;
		}
	}
	return 0;
}

static int estimate(struct run *run, struct tundish_error *e)
{
	const struct tundish_count_options *o = run->options;
	struct tundish_count *count = &run->out->count;
	const struct td_estimate_options eo = {
		.paths = &run->out->paths,
		.compression = o->compression,
		.max_record_bytes = o->max_record_bytes,
		.seed = o->seed,
		.all_below = ESTIMATE_FROM,
	};
	struct td_estimate est;
	int rc = td_estimate_run(&est, &eo, e);
	if (rc < 0)
		return rc;
	for (size_t i = 0; i < count->n_files; i++) {
		if (est.sampled[i]) {
			count->files[i].records = (uint64_t)(est.records[i] + 0.5);
			count->files[i].source = "estimate";
		}
	}
	count->error_bound = (uint64_t)est.bound;
	td_estimate_free(&est);
	return 0;
}

/* ---- all together ---- */

static int list_files(struct run *run, struct tundish_error *e)
{
	struct tundish_count *count = &run->out->count;
	const struct td_paths *paths = &run->out->paths;
	count->faults = paths->faults;
	count->files = calloc(paths->n + 1, sizeof *count->files);
	run->left.paths = calloc(paths->n + 1, sizeof *run->left.paths);
	run->left.bytes = calloc(paths->n + 1, sizeof *run->left.bytes);
	run->number = calloc(paths->n + 1, sizeof *run->number);
	if (!count->files || !run->left.paths || !run->left.bytes || !run->number)
		return td_err_memory(e);
	count->n_files = paths->n;
	for (size_t i = 0; i < paths->n; i++) {
		count->files[i] = (struct tundish_count_file){ .path = paths->paths[i],
			.bytes = paths->bytes[i], .compression = TUNDISH_AUTO, .source = "" };
		count->bytes += paths->bytes[i];
	}
	return 0;
}

static void list_left(struct run *run)
{
	const struct td_paths *paths = &run->out->paths;
	for (size_t i = 0; i < paths->n; i++) {
		if (*run->out->count.files[i].source)
			continue;
		run->left.paths[run->left.n] = paths->paths[i];
		run->left.bytes[run->left.n] = paths->bytes[i];
		run->number[run->left.n++] = i;
	}
}

static int read_left(struct run *run, struct tundish_error *e)
{
	const struct tundish_count_options *o = run->options;
	const struct td_scan scan = {
		.paths = &run->left,
		.crc = o->crc,
		.compression = o->compression,
		.on_error = o->on_error,
		.count_only = o->by == NULL,
		.numbers_later = true,
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
	list_left(run);
	if (o->how == TUNDISH_COUNT_KNOWN)
		run->out->count.n_unknown = run->left.n;
	return o->how == TUNDISH_COUNT_KNOWN || run->left.n == 0 ? 0 : td_scan_run(&scan, e);
}

static int count_files(struct run *run, struct tundish_error *e)
{
	const struct tundish_count_options *o = run->options;
	struct tundish_count *count = &run->out->count;
	int rc = list_files(run, e);
	if (rc == 0 && (o->trust || o->how == TUNDISH_COUNT_KNOWN))
		rc = ask_hints(run, e);
	if (rc == 0 && o->how == TUNDISH_COUNT_ESTIMATE)
		rc = estimate(run, e);
	if (rc == 0)
		rc = read_left(run, e);
	for (size_t i = 0; i < count->n_files; i++)
		count->records += count->files[i].records;
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
	if ((o->by || o->crc == TUNDISH_CRC_FULL) && (o->trust || o->how != TUNDISH_COUNT_READ))
		return td_err(e, TUNDISH_E_USAGE, "to verify records or count values is to read all");
	if (o->how == TUNDISH_COUNT_ESTIMATE && o->trust)
		return td_err(e, TUNDISH_E_USAGE, "either estimate or trust");
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
	td_hints_free(&run.hints);
	free(run.left.paths);
	free(run.left.bytes);
	free(run.number);
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
