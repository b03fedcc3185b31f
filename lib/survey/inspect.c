/* SPDX-License-Identifier: BSD-2-Clause
 * Inspecting a set: one pass over its records, then what it found. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "base/err.h"
#include "base/thread.h"
#include "diff.h"
#include "extract.h"
#include "raw.h"
#include "reindex.h"
#include "sheet.h"
#include "survey.h"

/* What a pass finds in one file. */
struct part {
	struct td_facts facts;
	struct td_picks picks;
	struct td_bands bands;
	size_t looked; /* number of the file, from 1, that `beside` is of */
	struct td_beside beside;
	bool has_beside;
};

struct run {
	struct tundish_survey *s;
	struct td_picks picks; /* for the sheet */
	struct td_look look;
	struct td_decoder **decoders; /* one a worker, made when first needed */
};

void tundish_inspect_options_init(struct tundish_inspect_options *ret_options)
{
	*ret_options = (struct tundish_inspect_options){
		.size = sizeof *ret_options,
		.crc = TUNDISH_CRC_FULL,
		.compression = TUNDISH_AUTO,
		.on_error = TUNDISH_SKIP,
		.record = -1,
		.sheet_images = 40,
		.max_record_bytes = INT32_MAX,
		.max_pixels = 268435456,
	};
}

struct td_scan td_survey_scan(const struct tundish_inspect_options *o, const struct td_paths *paths)
{
	return (struct td_scan){
		.paths = paths,
		.crc = o->crc,
		.compression = o->compression,
		.on_error = o->on_error,
		.threads = o->threads,
		.memory = o->memory,
		.max_record_bytes = o->max_record_bytes,
		.listener = &o->listener,
	};
}

struct tundish_reader_options td_survey_reader(const struct tundish_inspect_options *o)
{
	struct td_scan scan = td_survey_scan(o, NULL);
	return td_scan_reader(&scan);
}

/* Offers the record to the sheet. */
static bool offer(const struct run *run, struct part *part, const struct td_scan_file *file,
    const struct tundish_record *r)
{
	const struct td_buf *label = &part->facts.labels.text;
	const struct td_pick pick = { .record = r->number, .offset = r->offset, .file = file->number };
	part->picks.limit = run->picks.limit;
	return part->facts.has_label ?
	    td_picks_offer(&part->picks, label->data, label->len, run->s->options.seed, pick) :
	    td_picks_offer(&part->picks, TD_SHEET_NO_LABEL, 1, run->s->options.seed, pick);
}

/* What lies beside a file says of its arrays. */
static const struct td_beside *beside_of(struct part *part, const struct run *run, const struct td_scan_file *file)
{
	if (part->looked != file->number + 1)
		part->has_beside = td_array_beside(&part->beside, file->path, run->look.keys.image);
	part->looked = file->number + 1;
	return part->has_beside ? &part->beside : NULL;
}

static int extract(const struct run *run, const struct td_scan_job *job, const struct tundish_record *r,
    struct tundish_error *e)
{
	const struct tundish_survey *s = run->s;
	char prefix[24] = "";
	if (s->paths.n > 1)
		snprintf(prefix, sizeof prefix, "%05zu-", job->file.number);
	return td_extract(s->options.extract, prefix, r, s->options.image_key, beside_of(job->part, run, &job->file), e);
}

static int look_at(void *ctx, struct td_scan_job *job, const struct tundish_record *r,
    struct tundish_error *e)
{
	struct run *run = ctx;
	struct part *part = job->part;
	struct td_decoder **d = &run->decoders[job->worker];
	bool decodes = run->look.decode || run->look.levels;
	int rc = decodes && !*d ? td_decoder_new(d, e) : 0;
	if (rc < 0)
		return rc;
	struct tundish_error bad = { 0 };
	rc = td_facts_record(&part->facts, &run->look, job->file.path, r, *d, &bad);
	if (rc == TUNDISH_E_MEMORY)
		return td_err_memory(e);
	if (rc < 0)
		return td_scan_bad(job, r, rc, e, "%s", bad.text);
	int added = run->s->options.stats ?
	    td_bands_record(&part->bands, r, run->look.keys.image, beside_of(part, run, &job->file), &bad) : 0;
	if (added == TUNDISH_E_MEMORY)
		return td_err_memory(e);
	if (added < 0)
		return td_scan_bad(job, r, added, e, "%s", bad.text);
	if (rc > 0 && run->picks.limit && !offer(run, part, &job->file, r))
		return td_err_memory(e);
	return run->s->options.extract ? extract(run, job, r, e) : 0;
}

static int merge(void *ctx, struct td_scan_job *job, struct tundish_error *e)
{
	struct run *run = ctx;
	struct tundish_survey *s = run->s;
	struct part *part = job->part;
	struct td_scan_file *file = &s->files[job->file.number];
	uint64_t records = file->records, faults = file->faults;
	*file = job->file;
	file->records += records;
	file->faults += faults;
	s->records += job->file.records;
	s->faults += job->file.faults;
	if (td_scan_last(job))
		s->bytes += job->file.bytes;
	td_facts_renumber(&part->facts, job->before);
	if (!td_file_labels_add(s, job->file.number, &part->facts.labels) ||
	    !td_facts_merge(&s->facts, &part->facts) || !td_picks_merge(&run->picks, &part->picks))
		return td_err_memory(e);
	int rc = td_bands_merge(&s->bands, &part->bands, e);
	return rc < 0 ? td_err_prefix(e, "%s", TD_ESC(job->file.path)), rc : 0;
}

static void free_part(void *part)
{
	struct part *p = part;
	td_facts_free(&p->facts);
	td_picks_free(&p->picks);
	td_bands_free(&p->bands);
}

static int scan(struct run *run, struct tundish_error *e)
{
	const struct tundish_inspect_options *o = &run->s->options;
	unsigned n_decoders = td_threads(o->threads);
	run->decoders = calloc(n_decoders, sizeof(*run->decoders));
	if (!run->decoders)
		return td_err_memory(e);
	struct td_scan pass = td_survey_scan(o, &run->s->paths);
	pass.ctx = run;
	/* a sheet draws by them, pictures are named after them; to decode takes longest anyway */
	pass.numbers_later = !o->sheet && !o->extract && !o->decode && !o->stats;
	pass.part_bytes = sizeof(struct part);
	pass.record = look_at;
	pass.merge = merge;
	pass.free_part = free_part;
	int rc = td_scan_run(&pass, e);
	for (unsigned i = 0; i < n_decoders; i++)
		td_decoder_free(run->decoders[i]);
	free(run->decoders);
	return rc;
}

static int write_stats(const struct tundish_survey *s, struct tundish_error *e)
{
	const char *path = s->options.stats;
	if (s->facts.levels.images && s->bands.arrays)
		return td_err(e, TUNDISH_E_USAGE, "%s: pictures and arrays in one set have no statistics in common",
		    TD_ESC(path));
	if (s->bands.arrays)
		return td_bands_write(&s->bands, path, e);
	if (s->facts.levels.images == 0)
		return td_err(e, TUNDISH_E_EMPTY, "%s: no pictures and no arrays to take the statistics of",
		    TD_ESC(path));
	return td_levels_write(&s->facts.levels, path, e);
}

/* From the findings to texts and files. */
static int tell(struct run *run, struct tundish_error *e)
{
	struct tundish_survey *s = run->s;
	const struct tundish_inspect_options *o = &s->options;
	struct td_class_table classes;
	s->image_key = s->facts.image_key;
	s->label_key = s->facts.label_key;
	int rc = td_class_names_read(s, e);
	if (rc < 0)
		return rc;
	bool ok = td_class_table_build(&classes, s) && td_survey_warn(s) &&
	    td_survey_report(s, &classes) && td_survey_to_json(s, &classes);
	rc = ok ? 0 : td_err_memory(e);
	if (rc == 0 && o->sheet)
		rc = td_sheet_draw(s, &classes, &run->picks, e);
	td_class_table_free(&classes);
	if (rc == 0 && o->stats)
		rc = write_stats(s, e);
	return rc;
}

static int survey_set(struct tundish_survey *s, struct tundish_error *e)
{
	const struct tundish_inspect_options *o = &s->options;
	struct run run = {
		.s = s,
		.picks = { .limit = o->sheet ? o->sheet_images : 0 },
		.look = { { o->image_key, o->label_key }, o->max_pixels, o->decode,
			o->stats != NULL },
	};
	s->files = calloc(s->paths.n, sizeof *s->files);
	s->file_labels = calloc(s->paths.n, sizeof *s->file_labels);
	if (!s->files || !s->file_labels)
		return td_err_memory(e);
	int rc = scan(&run, e);
	if (rc == 0)
		rc = tell(&run, e);
	td_picks_free(&run.picks);
	return rc;
}

static int check_options(const struct tundish_inspect_options *o, struct tundish_error *e)
{
	if (!o || o->size != sizeof *o || (!o->paths && o->n_paths))
		return td_err(e, TUNDISH_E_INVALID, "inspect: options were not initialised");
	if (o->n_paths == 0)
		return td_err(e, TUNDISH_E_USAGE, "nothing to inspect: no path given");
	if (o->sheet && (o->sheet_images == 0 || o->sheet_images > TD_SHEET_MOST))
		return td_err(e, TUNDISH_E_USAGE, "a sheet holds 1 to %d pictures", TD_SHEET_MOST);
	for (size_t i = 0; o->sheet && i < o->n_paths; i++) {
		if (strcmp(o->paths[i], "-") == 0)
			return td_err(e, TUNDISH_E_USAGE, "a sheet cannot be drawn from a stream");
	}
	if (o->diff && (o->record >= 0 || o->sheet || o->stats || o->extract))
		return td_err(e, TUNDISH_E_USAGE, "a comparison shows, draws and extracts nothing");
	return 0;
}

/* The set in `paths`, which may be empty when there were pictures. */
static int inspect_set(struct tundish_survey *s, const char *const *paths, size_t n,
    struct tundish_error *e)
{
	const struct tundish_inspect_options *o = &s->options;
	if (n == 0 && (s->pictures || s->sources))
		return td_survey_raw_only(s) ? 0 : td_err_memory(e);
	int rc = td_paths_find(&s->paths, paths, n, &o->listener, e);
	if (rc < 0)
		return rc;
	s->faults += s->paths.faults;
	if (s->paths.faults && o->on_error == TUNDISH_FAIL)
		return td_err(e, TUNDISH_E_BAD, "the set is not whole");
	if (o->extract && (rc = td_extract_folder(o->extract, e)) < 0)
		return rc;
	if (o->record >= 0)
		return td_survey_single(s, e);
	rc = o->diff ? td_survey_diff(s, e) : survey_set(s, e);
	return rc == 0 && o->index ? td_reindex(s, e) : rc;
}

int tundish_inspect(const struct tundish_inspect_options *options, struct tundish_survey **ret_survey,
    struct tundish_error *ret_error)
{
	int rc = check_options(options, ret_error);
	if (rc < 0)
		return rc;
	size_t n = options->n_paths;
	struct tundish_survey *s = calloc(1, sizeof *s);
	const char **paths = calloc(n, sizeof(*paths));
	if (s && paths) {
		memcpy(paths, options->paths, n * sizeof(*paths));
		s->options = *options;
		rc = td_raw_files(s, paths, &n, ret_error);
		if (rc == 0)
			rc = inspect_set(s, paths, n, ret_error);
	} else {
		rc = td_err_memory(ret_error);
	}
	free(paths);
	if (rc < 0)
		tundish_survey_free(s);
	else
		*ret_survey = s;
	return rc;
}

const char *tundish_survey_json(const struct tundish_survey *survey)
{
	return (const char *)survey->json.data;
}

const char *tundish_survey_text(const struct tundish_survey *survey)
{
	return survey->text.data ? (const char *)survey->text.data : ""; /* no section has lines */
}

const void *tundish_survey_record(const struct tundish_survey *survey, size_t *ret_bytes)
{
	if (!survey->has_record)
		return NULL;
	*ret_bytes = survey->record.len;
	return survey->record.data;
}

uint64_t tundish_survey_faults(const struct tundish_survey *survey)
{
	return survey->faults;
}

void tundish_survey_free(struct tundish_survey *s)
{
	if (!s)
		return;
	for (size_t i = 0; s->file_labels && i < s->paths.n; i++)
		free(s->file_labels[i].shares);
	for (size_t i = 0; i < s->warnings.n; i++)
		free(s->warnings.lines[i]);
	free(s->file_labels);
	json_decref(s->pictures);
	json_decref(s->sources);
	free(s->files);
	free(s->warnings.lines);
	td_classes_free(&s->names);
	td_paths_free(&s->paths);
	td_facts_free(&s->facts);
	td_bands_free(&s->bands);
	td_buf_free(&s->record);
	td_buf_free(&s->json);
	td_buf_free(&s->text);
	free(s);
}
