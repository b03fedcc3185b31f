/* SPDX-License-Identifier: BSD-2-Clause
 * What convert and shard have in common: options, and how the result is told. */
#include "packopt.h"

#include <string.h>

#include "base/thread.h"
#include "out.h"

void packopt_init(struct call *call)
{
	const struct tundish_pack_options *o = call->settings;
	call->shared.seed = o->seed;
	call->shared.on_error = o->on_error;
	call->shared.crc = o->crc;
	call->shared.input_compression = o->input_compression;
	call->shared.max_record = o->max_record_bytes;
	call->shared.max_pixels = o->max_pixels;
}

static void apply(struct tundish_pack_options *o, struct call *call)
{
	const struct opt_shared *shared = &call->shared;
	o->sources = call->paths;
	o->n_sources = call->n_paths;
	o->output = shared->output;
	o->seed = shared->seed;
	o->skip = shared->skip;
	o->limit = shared->limit;
	o->on_error = shared->on_error;
	o->crc = shared->crc;
	o->input_compression = shared->input_compression;
	o->threads = shared->threads;
	o->memory = shared->memory;
	o->max_record_bytes = shared->max_record;
	o->max_pixels = shared->max_pixels;
	o->listener = call->report.listener;
}

static json_t *shards_json(const struct tundish_pack_result *result)
{
	json_t *list = json_array();
	for (size_t i = 0; i < result->n_shards; i++) {
		const struct tundish_pack_shard *shard = &result->shards[i];
		json_t *o = json_object();
		out_set_text(o, "path", shard->path);
		out_set_text(o, "split", shard->split);
		out_set_count(o, "records", shard->records);
		out_set_count(o, "bytes", shard->bytes);
		json_array_append_new(list, o);
	}
	return list;
}

static json_t *classes_json(const struct tundish_pack_result *result)
{
	json_t *list = json_array();
	for (size_t i = 0; i < result->n_classes; i++) {
		json_t *o = json_object();
		out_set_text(o, "name", result->classes[i].name);
		out_set(o, "label", json_integer(result->classes[i].label));
		out_set_count(o, "records", result->classes[i].records);
		json_array_append_new(list, o);
	}
	return list;
}

static json_t *item_json(const struct tundish_pack_item *item)
{
	json_t *o = json_object(), *shape = json_array();
	for (unsigned i = 0; i < item->n_axes; i++)
		json_array_append_new(shape, json_integer((json_int_t)item->shape[i]));
	out_set_text(o, "name", item->name);
	out_set_count(o, "part", item->part);
	out_set_text(o, "kind", item->kind);
	out_set_text(o, "dtype", item->dtype);
	out_set(o, "shape", shape);
	out_set(o, "label", item->labelled ? json_integer(item->label) : json_null());
	if (item->class_name[0])
		out_set_text(o, "class", item->class_name);
	return o;
}

/* What --list found. */
static void print_items(const struct tundish_pack_result *result)
{
	json_t *o = json_object(), *list = json_array();
	for (size_t i = 0; i < result->n_items; i++)
		json_array_append_new(list, item_json(&result->items[i]));
	out_set_count(o, "found", result->found);
	out_set_count(o, "bad", result->bad);
	out_set_count(o, "left_out", result->left_out);
	out_set(o, "items", list);
	out_json(o);
}

static void print_json(const struct tundish_pack_result *result, bool dry_run)
{
	json_t *o = json_object();
	out_set(o, "dry_run", json_boolean(dry_run));
	out_set_count(o, "found", result->found);
	out_set_count(o, "written", result->written);
	out_set_count(o, "bad", result->bad);
	out_set_count(o, "left_out", result->left_out);
	out_set_count(o, "payload_bytes", result->payload_bytes);
	out_set_count(o, "file_bytes", result->file_bytes);
	out_set(o, "shards", shards_json(result));
	out_set(o, "classes", classes_json(result));
	out_json(o);
}

static int check(struct call *call)
{
	const struct tundish_pack_options *o = call->settings;
	if (call_needs_paths(call))
		return EXIT_USAGE;
	if (o->list || o->to_files)
		return 0;
	if (!call->shared.output)
		return report_error(&call->report, EXIT_USAGE, "%s: -o OUT/NAME is missing",
		    call->cmd->name);
	if (strcmp(call->shared.output, "-"))
		return 0;
	if (call->shared.json)
		return report_error(&call->report, EXIT_USAGE,
		    "%s: --json and -o - cannot both go to standard output", call->cmd->name);
	return o->dry_run ? 0 : call_refuse_terminal(call);
}

/* Bad items show in the exit code, unless --max-bad allows for them. */
static int exit_code(const struct call *call, const struct tundish_pack_result *result)
{
	const struct tundish_pack_options *o = call->settings;
	bool bad = result->bad || call->report.faults;
	return bad && !o->max_bad ? EXIT_BAD_DATA : EXIT_FINE;
}

int packopt_run(struct call *call, packopt_fn *pack)
{
	struct tundish_pack_options *o = call->settings;
	struct tundish_pack_result *result;
	struct tundish_error error = { 0 };
	uint64_t start = td_now_ns();
	apply(o, call);
	int rc = check(call);
	if (rc)
		return rc;
	rc = pack(o, &result, &error);
	if (rc < 0)
		return report_failure(&call->report, rc, &error);
	progress_clear(&call->report.progress);
	if (call->shared.json && o->list)
		print_items(result);
	else if (call->shared.json)
		print_json(result, o->dry_run);
	else if (!call->shared.quiet || o->list)
		fputs(result->summary, o->output && strcmp(o->output, "-") == 0 && !o->list ? stderr : stdout);
	out_flush();
	if (!o->dry_run && !o->list)
		report_rate(&call->report, result->written, (double)(td_now_ns() - start) / 1e9);
	rc = exit_code(call, result);
	tundish_pack_result_free(result);
	return rc;
}
