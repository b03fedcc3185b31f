/* SPDX-License-Identifier: BSD-2-Clause
 * tundish inspect: what is in a set of records. */
#include <stdio.h>

#include "cmds.h"
#include "out.h"

struct settings {
	struct tundish_inspect_options o;
	int verify, raw;
	int summary, schema, classes, files, order; /* the section's bit, or 0 */
};

#define S struct settings
static const struct opt options[] = {
	OPT_FLAG("summary", 0, S, summary, TUNDISH_SECTION_SUMMARY),
	OPT_FLAG("schema", 0, S, schema, TUNDISH_SECTION_SCHEMA),
	OPT_FLAG("classes", 0, S, classes, TUNDISH_SECTION_CLASSES),
	OPT_FLAG("order", 0, S, order, TUNDISH_SECTION_ORDER),
	OPT_FLAG("per-file", 0, S, files, TUNDISH_SECTION_FILES),
	OPT_NUMBER("record", 0, S, o.record, 0, INT64_MAX),
	OPT_FLAG("verify", 0, S, verify, 1),
	OPT_FLAG("decode", 0, S, o.decode, 1),
	OPT_FLAG("raw", 0, S, raw, 1),
	OPT_STRING("extract", 0, S, o.extract),
	OPT_STRING("diff", 0, S, o.diff),
	OPT_FLAG("index", 0, S, o.index, 1),
	OPT_STRING("stats", 0, S, o.stats),
	OPT_STRING("sheet", 0, S, o.sheet),
	OPT_NUMBER("sheet-images", 0, S, o.sheet_images, 1, 1000),
	OPT_STRING("image-key", 0, S, o.image_key),
	OPT_STRING("label-key", 0, S, o.label_key),
	OPT_END,
};

static void init(struct call *call)
{
	struct settings *s = call->settings;
	tundish_inspect_options_init(&s->o);
	call->shared.crc = s->o.crc;
	call->shared.on_error = s->o.on_error;
	call->shared.input_compression = s->o.compression;
	call->shared.max_record = s->o.max_record_bytes;
	call->shared.max_pixels = s->o.max_pixels;
	call->shared.seed = s->o.seed;
}

static void apply(struct tundish_inspect_options *o, struct call *call)
{
	const struct settings *s = call->settings;
	o->paths = call->paths;
	o->n_paths = call->n_paths;
	o->sections = (unsigned)(s->summary | s->schema | s->classes | s->files | s->order);
	o->crc = s->verify ? TUNDISH_CRC_FULL : call->shared.crc;
	o->compression = call->shared.input_compression;
	o->on_error = call->shared.on_error;
	o->threads = call->shared.threads;
	o->memory = call->shared.memory;
	o->max_record_bytes = call->shared.max_record;
	o->max_pixels = call->shared.max_pixels;
	o->seed = call->shared.seed;
	o->listener = call->report.listener;
}

static int check(struct call *call)
{
	const struct settings *s = call->settings;
	if (call_needs_paths(call))
		return EXIT_USAGE;
	if (s->raw && s->o.record < 0)
		return report_error(&call->report, EXIT_USAGE, "--raw goes with --record");
	return s->raw ? call_refuse_terminal(call) : EXIT_FINE;
}

static void print(const struct call *call, const struct tundish_survey *survey)
{
	const struct settings *s = call->settings;
	size_t bytes;
	if (!s->raw) {
		out_lines(call->shared.json ? tundish_survey_json(survey) : tundish_survey_text(survey));
		return;
	}
	const void *record = tundish_survey_record(survey, &bytes);
	if (record)
		fwrite(record, 1, bytes, stdout);
}

static int run(struct call *call)
{
	struct settings *s = call->settings;
	struct tundish_survey *survey;
	struct tundish_error error = { 0 };
	int code = check(call);
	if (code != EXIT_FINE)
		return code;
	apply(&s->o, call);
	int rc = tundish_inspect(&s->o, &survey, &error);
	if (rc < 0)
		return report_failure(&call->report, rc, &error);
	progress_clear(&call->report.progress);
	print(call, survey);
	code = tundish_survey_faults(survey) ? EXIT_BAD_DATA : EXIT_FINE;
	tundish_survey_free(survey);
	return code;
}

const struct cmd cmd_inspect = {
	.name = "inspect",
	.noun = "records",
	.shared = SHARE_JSON | SHARE_THREADS | SHARE_MEMORY | SHARE_ON_ERROR | SHARE_RECORDS |
		  SHARE_CRC | SHARE_PIXELS | SHARE_SEED,
	.options = options,
	.settings_bytes = sizeof(struct settings),
	.init = init,
	.run = run,
};
