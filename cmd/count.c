/* SPDX-License-Identifier: BSD-2-Clause
 * tundish count: how many records there are. */
#include <inttypes.h>
#include <string.h>

#include "base/codec.h"
#include "base/err.h"
#include "cmds.h"
#include "out.h"
#include "units.h"

struct settings {
	int per_file, verify, trust, how, cardinality;
	const char *by, *steps;
};

static const struct opt options[] = {
	OPT_FLAG("per-file", 0, struct settings, per_file, 1),
	OPT_STRING("by", 0, struct settings, by),
	OPT_FLAG("verify", 0, struct settings, verify, 1),
	OPT_FLAG("estimate", 0, struct settings, how, TUNDISH_COUNT_ESTIMATE),
	OPT_FLAG("trust", 0, struct settings, trust, 1),
	OPT_FLAG("cardinality", 0, struct settings, cardinality, 1),
	OPT_STRING("steps", 0, struct settings, steps),
	OPT_END,
};

static const char *const checked[] = {
	[TUNDISH_CRC_FULL] = "full",
	[TUNDISH_CRC_LENGTH] = "length",
	[TUNDISH_CRC_OFF] = "off",
};

static void init(struct call *call)
{
	struct tundish_count_options o;
	tundish_count_options_init(&o);
	call->shared.crc = o.crc;
	call->shared.input_compression = o.compression;
	call->shared.max_record = o.max_record_bytes;
}

/* Of --steps: how an epoch is cut into batches. */
struct steps {
	uint64_t batch, world;
	bool drop;
};

static bool parse_part(struct steps *steps, const char *part)
{
	if (!strcmp(part, "drop")) {
		steps->drop = true;
		return true;
	}
	if (!strncmp(part, "batch=", 6))
		return units_parse_number(part + 6, &steps->batch, NULL) && steps->batch;
	if (!strncmp(part, "world=", 6))
		return units_parse_number(part + 6, &steps->world, NULL) && steps->world;
	return false;
}

/* "batch=64[,world=8][,drop]"; nothing to do without --steps. 0 or EXIT_USAGE. */
static int parse_steps(struct call *call, struct steps *steps)
{
	const struct settings *s = call->settings;
	char text[128], *rest = NULL;
	*steps = (struct steps){ .world = 1 };
	if (!s->steps)
		return 0;
	bool ok = strlen(s->steps) < sizeof text;
	if (ok)
		strcpy(text, s->steps);
	for (char *part = ok ? strtok_r(text, ",", &rest) : NULL; part; part = strtok_r(NULL, ",", &rest))
		ok &= parse_part(steps, part);
	if (ok && steps->batch)
		return 0;
	return report_error(&call->report, EXIT_USAGE,
	    "count: --steps %s: must be batch=N[,world=N][,drop]", TD_ESC(s->steps));
}

static uint64_t divide(uint64_t n, uint64_t by, bool up)
{
	return n / by + (up && n % by);
}

/* Batches of an epoch on the rank that has most of them; with `drop`, on each rank. */
static uint64_t count_steps(const struct steps *steps, uint64_t records)
{
	return divide(divide(records, steps->world, !steps->drop), steps->batch, !steps->drop);
}

static json_t *files_json(const struct tundish_count *count)
{
	json_t *list = json_array();
	for (size_t i = 0; i < count->n_files; i++) {
		const struct tundish_count_file *f = &count->files[i];
		json_t *o = json_object();
		out_set_text(o, "path", f->path);
		out_set_count(o, "records", f->records);
		out_set_count(o, "faults", f->faults);
		out_set_count(o, "bytes", f->bytes);
		out_set_text(o, "compression", td_compression_name(f->compression));
		out_set_text(o, "source", f->source);
		json_array_append_new(list, o);
	}
	return list;
}

static json_t *values_json(const struct tundish_count *count, const char *feature)
{
	json_t *by = json_object(), *list = json_array();
	for (size_t i = 0; i < count->n_values; i++) {
		json_t *o = json_object();
		out_set_text(o, "value", count->values[i].value);
		out_set_count(o, "records", count->values[i].records);
		json_array_append_new(list, o);
	}
	out_set_text(by, "feature", feature);
	out_set(by, "values", list);
	out_set_count(by, "without_value", count->without_value);
	return by;
}

/* In tf.data's terms: -2 where only reading would tell. */
static json_int_t cardinality(const struct tundish_count *count)
{
	return count->n_unknown ? -2 : (json_int_t)count->records;
}

static void print_json(const struct call *call, const struct tundish_count *count, int crc,
    const struct steps *steps)
{
	const struct settings *s = call->settings;
	json_t *o = json_object();
	out_set_count(o, "records", count->records);
	out_set_count(o, "faults", count->faults);
	out_set_count(o, "bytes", count->bytes);
	out_set_text(o, "checked", s->trust ? "trusted" : s->cardinality ? "known" : checked[crc]);
	if (s->how == TUNDISH_COUNT_ESTIMATE)
		out_set_count(o, "error_bound", count->error_bound);
	if (s->cardinality)
		out_set(o, "cardinality", json_integer(cardinality(count)));
	if (s->steps)
		out_set_count(o, "steps", count_steps(steps, count->records));
	if (s->per_file)
		out_set(o, "files", files_json(count));
	if (s->by)
		out_set(o, "by", values_json(count, s->by));
	out_json(o);
}

static void print_text(struct call *call, const struct tundish_count *count,
    const struct steps *steps)
{
	const struct settings *s = call->settings;
	for (size_t i = 0; s->per_file && i < count->n_files; i++) {
		printf("%" PRIu64 "\t", count->files[i].records);
		out_escaped(count->files[i].path);
		putchar('\n');
	}
	for (size_t i = 0; s->by && i < count->n_values; i++)
		printf("%" PRIu64 "\t%s\n", count->values[i].records, count->values[i].value);
	if (s->cardinality) {
		printf("%" JSON_INTEGER_FORMAT "\n", cardinality(count));
		return;
	}
	printf("%" PRIu64 "\n", s->steps ? count_steps(steps, count->records) : count->records);
	if (s->how == TUNDISH_COUNT_ESTIMATE && count->error_bound)
		report_say(&call->report, "estimated: within %" PRIu64 " records at 95 %%",
		    count->error_bound);
	if (s->by && count->without_value)
		report_say(&call->report, "%" PRIu64 " records have no feature %s",
		    count->without_value, TD_ESC(s->by));
}

static int run(struct call *call)
{
	const struct settings *s = call->settings;
	struct tundish_count_options o;
	struct tundish_count *count;
	struct tundish_error error = { 0 };
	tundish_count_options_init(&o);
	struct steps steps;
	if (call_needs_paths(call) || parse_steps(call, &steps))
		return EXIT_USAGE;
	if (s->cardinality && (s->how || s->steps))
		return report_error(&call->report, EXIT_USAGE,
		    "count: --cardinality goes with neither --estimate nor --steps");
	o.paths = call->paths;
	o.n_paths = call->n_paths;
	o.by = s->by;
	o.trust = s->trust;
	o.how = s->cardinality ? TUNDISH_COUNT_KNOWN : s->how;
	o.seed = call->shared.seed;
	o.crc = s->verify ? TUNDISH_CRC_FULL : call->shared.crc;
	o.compression = call->shared.input_compression;
	o.on_error = call->shared.on_error;
	o.threads = call->shared.threads;
	o.memory = call->shared.memory;
	o.max_record_bytes = call->shared.max_record;
	o.listener = call->report.listener;
	int rc = tundish_count(&o, &count, &error);
	if (rc < 0)
		return report_failure(&call->report, rc, &error);
	if (call->shared.json)
		print_json(call, count, o.crc, &steps);
	else
		print_text(call, count, &steps);
	int code = count->faults ? EXIT_BAD_DATA : EXIT_FINE;
	tundish_count_free(count);
	return code;
}

const struct cmd cmd_count = {
	.name = "count",
	.noun = "records",
	.shared = SHARE_JSON | SHARE_THREADS | SHARE_MEMORY | SHARE_ON_ERROR | SHARE_RECORDS | SHARE_CRC |
		  SHARE_SEED,
	.options = options,
	.settings_bytes = sizeof(struct settings),
	.init = init,
	.run = run,
};
