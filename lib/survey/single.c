/* SPDX-License-Identifier: BSD-2-Clause
 * One record of a set, found by its number through all files. */
#include <inttypes.h>

#include "array.h"
#include "base/err.h"
#include "extract.h"
#include "record/metadata.h"
#include "record/reader.h"
#include "survey.h"

/* Goes to record `wanted`, by what tells where it is. 1 and the record, or 0 and in *wanted
 * what is left to go. */
static int seek_record(struct tundish_reader *reader, uint64_t *wanted, struct tundish_record *r,
    struct tundish_error *e)
{
	int rc = tundish_reader_seek(reader, *wanted, e);
	if (rc > 0)
		rc = tundish_reader_next(reader, r, e);
	if (rc == 0)
		*wanted -= TD_MIN(td_reader_number(reader), *wanted);
	else if (rc > 0 && r->number != *wanted)
		rc = td_err(e, TUNDISH_E_CORRUPT, "record %" PRIu64 " is damaged", *wanted);
	return rc;
}

static int take_record(struct tundish_survey *s, const char *path, const struct tundish_record *r,
    struct tundish_error *e)
{
	const char *folder = s->options.extract, *asked = s->options.image_key;
	struct td_beside beside;
	int rc = td_survey_show(s, path, r, e);
	if (rc == 0 && !td_buf_add(&s->record, r->data, r->bytes))
		rc = td_err_memory(e);
	s->has_record = rc == 0;
	if (rc < 0 || !folder)
		return rc;
	return td_extract(folder, "", r, asked, td_array_beside(&beside, path, asked) ? &beside : NULL, e);
}

/* The same in a file: 1 when it was there and shown. */
static int find_in_file(struct tundish_survey *s, const char *path, const struct tundish_reader_options *ro,
    struct td_metadata *metadata, uint64_t *left, struct tundish_error *e)
{
	struct tundish_reader *reader;
	struct tundish_record r;
	int rc = tundish_reader_open(&reader, path, ro, e);
	if (rc < 0)
		return rc;
	td_reader_metadata(reader, metadata);
	int found = seek_record(reader, left, &r, e);
	if (found > 0)
		rc = take_record(s, path, &r, e);
	s->faults += td_reader_faults(reader);
	tundish_reader_close(reader);
	return rc < 0 ? rc : found;
}

int td_survey_single(struct tundish_survey *s, struct tundish_error *e)
{
	const struct tundish_inspect_options *o = &s->options;
	struct tundish_reader_options ro = td_survey_reader(o);
	ro.listener = o->listener;
	struct td_metadata *metadata = td_metadata_new();
	uint64_t left = (uint64_t)o->record;
	int found = metadata ? 0 : td_err_memory(e);
	for (size_t i = 0; i < s->paths.n && found == 0; i++)
		found = find_in_file(s, s->paths.paths[i], &ro, metadata, &left, e);
	td_metadata_free(metadata);
	if (found == 0)
		return td_err(e, TUNDISH_E_USAGE, "there is no record %" PRId64 ": the files hold %" PRIu64,
		    o->record, (uint64_t)o->record - left);
	return TD_MIN(found, 0);
}
