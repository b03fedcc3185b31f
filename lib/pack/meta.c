/* SPDX-License-Identifier: BSD-2-Clause
 * The files beside the shards: what TFDS reads, and tundish.json. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "append.h"
#include "base/codec.h"
#include "base/err.h"
#include "base/json.h"
#include "base/path.h"
#include "base/utf8.h"
#include "pack.h"

#define PY "tensorflow_datasets.core.features."

static json_t *text(const char *s)
{
	return td_json_text(s, strlen(s));
}

static json_t *count(uint64_t n)
{
	return json_integer((json_int_t)n);
}

/* protobuf's JSON writes 64-bit numbers as strings */
static json_t *decimal(int64_t n)
{
	return json_sprintf("%" PRId64, n);
}

/* ---- for TFDS ---- */

/* The labels as TFDS counts them: how many there may be, or -1 where they are no classes. */
static int64_t count_labels(const struct td_pack *p)
{
	int64_t least = 0, most = -1;
	for (size_t i = 0; i < p->classes.n; i++) {
		least = TD_MIN(least, p->classes.list[i].label);
		most = TD_MAX(most, p->classes.list[i].label);
	}
	return least < (p->classes.numbers ? -1 : 0) || most >= 10000000 ? -1 : most + 1;
}

static json_t *tensor(const char *dtype, int64_t length)
{
	json_t *shape = length == 1 ? json_object() : json_pack("{s:[o]}", "dimensions", decimal(length));
	return json_pack("{s:s, s:{s:o, s:s, s:s}}", "pythonClassName", PY "tensor_feature.Tensor",
	    "tensor", "shape", shape, "dtype", dtype, "encoding", "none");
}

char *td_meta_tensor(const char *dtype, unsigned n_axes, const uint64_t *shape)
{
	json_t *dimensions = json_array();
	for (unsigned i = 0; i < n_axes; i++)
		json_array_append_new(dimensions, decimal(shape ? (int64_t)shape[i] : -1));
	json_t *o = json_pack("{s:s, s:{s:{s:o}, s:s, s:s}}", "pythonClassName", PY "tensor_feature.Tensor",
	    "tensor", "shape", "dimensions", dimensions, "dtype", dtype, "encoding", "bytes");
	char *dumped = o ? json_dumps(o, JSON_COMPACT) : NULL;
	json_decref(o);
	return dumped;
}

char *td_meta_table(int64_t rows, int64_t columns)
{
	json_t *o = json_pack("{s:s, s:{s:{s:[o,o]}, s:s, s:s}}", "pythonClassName", PY "tensor_feature.Tensor",
	    "tensor", "shape", "dimensions", decimal(rows), decimal(columns), "dtype", "float32", "encoding", "none");
	char *dumped = o ? json_dumps(o, JSON_COMPACT) : NULL;
	json_decref(o);
	return dumped;
}

static json_t *one_feature(const struct td_pack *p, enum td_feature_type type, int64_t length)
{
	int64_t labels = count_labels(p);
	switch (type) {
	case TD_FEATURE_IMAGE:
		return json_pack("{s:s, s:{s:{s:[s,s,s]}, s:s, s:s}}",
		    "pythonClassName", PY "image_feature.Image", "image", "shape", "dimensions", "-1", "-1", "3",
		    "dtype", "uint8", "encodingFormat", "jpeg");
	case TD_FEATURE_LABEL:
		if (labels > 0)
			return json_pack("{s:s, s:{s:o}}", "pythonClassName",
			    PY "class_label_feature.ClassLabel", "classLabel", "numClasses", decimal(labels));
		return tensor("int64", 1);
	case TD_FEATURE_INT:
		return tensor("int64", length);
	case TD_FEATURE_FLOAT:
		return tensor("float32", length);
	default:
		return json_pack("{s:s, s:{}}", "pythonClassName", PY "text_feature.Text", "text");
	}
}

/* NULL where something was lost for want of memory. */
static json_t *all_or_none(const struct td_json *j, json_t *o)
{
	if (!j->lost)
		return o;
	json_decref(o);
	return NULL;
}

static json_t *feature(const struct td_pack *p, const struct td_feature_spec *f)
{
	bool numbers = f->type == TD_FEATURE_INT || f->type == TD_FEATURE_FLOAT;
	if (f->json)
		return json_loads(f->json, 0, NULL);
	json_t *one = one_feature(p, f->type, f->length);
	if (f->length == 1 || numbers)
		return one;
	return json_pack("{s:s, s:{s:o, s:o}}", "pythonClassName", PY "sequence_feature.Sequence",
	    "sequence", "feature", one, "length", decimal(f->length));
}

static json_t *features_json(const struct td_pack *p)
{
	struct td_json j = { 0 };
	json_t *all = json_object();
	for (size_t i = 0; i < p->n_features; i++)
		td_json_set(&j, all, p->features[i].key, feature(p, &p->features[i]));
	return all_or_none(&j, json_pack("{s:s, s:{s:o}}", "pythonClassName", PY "features_dict.FeaturesDict",
	    "featuresDict", "features", all));
}

static json_t *split_json(const struct td_pack *p, const struct td_plan_split *split, const char *path)
{
	json_t *lengths = json_array();
	uint64_t bytes = 0, records = 0;
	for (size_t i = 0; i < split->n_shards; i++) {
		const struct td_set_shard *shard = &p->set.shards[split->first_shard + i];
		json_array_append_new(lengths, decimal((int64_t)shard->records));
		bytes += shard->payload_bytes;
		records += shard->records;
	}
	/* TFDS fails at a split without records */
	if (records == 0) {
		json_decref(lengths);
		return NULL;
	}
	return json_pack("{s:s, s:o, s:o, s:s}", "name", split->name, "shardLengths", lengths, "numBytes",
	    decimal((int64_t)bytes), "filepathTemplate", path);
}

static json_t *dataset_json(const struct td_pack *p, const char *path)
{
	json_t *splits = json_array();
	for (size_t i = 0; i < p->plan.n_splits; i++) {
		json_t *one = split_json(p, &p->plan.splits[i], path);
		if (one)
			json_array_append_new(splits, one);
	}
	return json_pack("{s:s, s:s, s:s, s:o}", "name", p->out.name, "version", "1.0.0", "fileFormat",
	    "tfrecord", "splits", splits);
}

/* Takes the value. */
static int write_json(struct td_pack *p, const char *name, json_t *value, struct tundish_error *e)
{
	struct td_buf out = { 0 };
	char *dumped = value ? json_dumps(value, JSON_INDENT(1)) : NULL;
	json_decref(value);
	int rc = dumped && td_buf_printf(&out, "%s\n", dumped) ? td_set_meta(&p->set, name, out.data, out.len, e) :
	    td_err_memory(e);
	free(dumped);
	td_buf_free(&out);
	return rc;
}

static const struct td_feature_spec *label_feature(const struct td_pack *p)
{
	for (size_t i = 0; i < p->n_features; i++)
		if (p->features[i].type == TD_FEATURE_LABEL)
			return &p->features[i];
	return NULL;
}

/* "label.labels.txt": one class a line in the order of the labels. Labels that an offset
 * leaves free get their number for a name. */
static int write_names(struct td_pack *p, const char *name, struct tundish_error *e)
{
	struct td_buf out = { 0 };
	bool ok = true;
	for (int64_t i = 0; ok && p->classes.n && i < p->classes.list[0].label; i++)
		ok = td_buf_printf(&out, "%" PRId64 "\n", i);
	for (size_t i = 0; ok && i < p->classes.n; i++) {
		const char *class = p->classes.list[i].name;
		ok = td_buf_escape(&out, class, strlen(class)) && td_buf_printf(&out, "\n");
	}
	int rc = ok ? td_set_meta(&p->set, name, out.data, out.len, e) : td_err_memory(e);
	td_buf_free(&out);
	return rc;
}

static const char *no_tfds(const struct td_pack *p, const char *path)
{
	if (p->tar)
		return "it opens no tar";
	if (p->append && !p->append->info)
		return "the set that is added to has none";
	if (p->no_tfds)
		return p->no_tfds;
	if (p->compression != TUNDISH_NONE)
		return "it cannot open compressed shards";
	if (!path)
		return "it has no words for these file names";
	if (!td_utf8_valid(p->out.name, strlen(p->out.name)))
		return "the set's name is no UTF-8";
	for (size_t i = 0; i < p->plan.n_splits; i++)
		if (strcmp(p->plan.splits[i].name, "all") == 0)
			return "a split may not be called \"all\" there";
	for (size_t i = 0; i < p->n_features; i++)
		if (!td_utf8_valid(p->features[i].key, strlen(p->features[i].key)))
			return "a feature's name is no UTF-8";
	return NULL;
}

/* ---- tundish.json ---- */

static void set_option(struct td_json *j, json_t *o, const char *key, const char *value)
{
	if (value)
		td_json_set(j, o, key, text(value));
}

/* Without the folders of files. */
static void set_align(struct td_json *j, json_t *o, const char *align)
{
	if (!align)
		return;
	struct td_buf out = { 0 };
	bool ok = true;
	for (const char *s = align; ok && *s;) {
		size_t n = strcspn(s, ";,"), skip = 0;
		for (size_t i = 0; i < n; i++)
			if (s[i] == '/' && memchr(s, '=', i))
				skip = i + 1;
		size_t key = skip ? (size_t)((const char *)memchr(s, '=', n) - s) + 1 : 0;
		ok = td_buf_add(&out, s, key) && td_buf_printf(&out, "%.*s%.*s", (int)(n - skip), s + skip, s[n] ? 1 : 0,
		    s + n);
		s += n + (s[n] != 0);
	}
	j->lost |= !ok;
	if (ok)
		set_option(j, o, "align", (const char *)out.data);
	td_buf_free(&out);
}

/* A file's path would differ between machines: its base name is enough. */
static void set_labels(struct td_json *j, json_t *o, const char *labels)
{
	if (labels && strncmp(labels, "csv:", 4) == 0)
		td_json_set(j, o, "labels", json_sprintf("csv:%s", TD_ESC(td_path_base(labels + 4))));
	else
		set_option(j, o, "labels", labels);
}

static json_t *options_json(struct td_json *j, const struct td_pack *p)
{
	static const char *const checks[] = { "header", "structure", "decode" };
	const struct tundish_pack_options *d = p->o;
	json_t *o = json_object();
	set_option(j, o, "split", d->split);
	set_option(j, o, "shards", d->shards);
	if (!d->shards)
		td_json_set(j, o, "shard_bytes", count(d->shard_bytes));
	set_option(j, o, "stratify", d->stratify);
	set_labels(j, o, d->labels);
	set_option(j, o, "columns", d->columns);
	set_option(j, o, "class_list", d->class_list ? td_path_base(d->class_list) : NULL);
	if (d->label_offset)
		td_json_set(j, o, "label_offset", json_integer(d->label_offset));
	set_option(j, o, "reencode", d->reencode);
	if (d->shorter_side)
		td_json_set(j, o, "shorter_side", count(d->shorter_side));
	if (d->max_side)
		td_json_set(j, o, "max_side", count(d->max_side));
	if (d->apply_orientation)
		td_json_set(j, o, "apply_orientation", json_true());
	set_option(j, o, "alpha", d->alpha);
	set_option(j, o, "jpeg_index", d->jpeg_index);
	if (strcmp(p->command, "convert") == 0)
		set_option(j, o, "check", checks[d->check]);
	set_option(j, o, "keys", d->keys);
	set_option(j, o, "tile", d->tile);
	set_option(j, o, "edge", d->edge);
	set_option(j, o, "bands", d->bands);
	set_option(j, o, "region", d->region);
	if (d->drop_bad_bands)
		td_json_set(j, o, "drop_bad_bands", json_true());
	set_option(j, o, "max_nodata", d->max_nodata);
	if (d->label_raster)
		td_json_set(j, o, "label_raster", text(td_path_base(d->label_raster)));
	set_option(j, o, "unlabelled", d->unlabelled);
	set_option(j, o, "interleave", d->interleave);
	if (d->pixel_origin != 1)
		td_json_set(j, o, "pixel_origin", json_integer(d->pixel_origin));
	set_option(j, o, "group_by", d->group_by);
	set_option(j, o, "split_by", d->split_by);
	if (d->apply_scale)
		td_json_set(j, o, "apply_scale", json_true());
	if (d->stack)
		td_json_set(j, o, "stack", json_true());
	set_option(j, o, "frames", d->frames);
	set_option(j, o, "clip", d->clip);
	set_option(j, o, "sound", d->sound);
	if (d->rate)
		td_json_set(j, o, "rate", count(d->rate));
	set_option(j, o, "window", d->window);
	set_align(j, o, d->align);
	set_option(j, o, "max_gap", d->max_gap);
	if (d->sequence)
		td_json_set(j, o, "sequence", json_true());
	if (d->follow_external)
		td_json_set(j, o, "follow_external", json_true());
	set_option(j, o, "filter", d->filter);
	if (p->tar)
		set_option(j, o, "to", "tar");
	set_option(j, o, "name_template", d->name_template);
	td_json_set(j, o, "count_in_name", json_boolean(d->count_in_name));
	td_json_set(j, o, "shuffle", json_boolean(d->shuffle));
	if (p->window)
		td_json_set(j, o, "shuffle_window", count(p->window));
	set_option(j, o, "compression", td_compression_name(p->compression));
	if (d->level)
		td_json_set(j, o, "level", json_integer(d->level));
	if (d->skip)
		td_json_set(j, o, "skip", count(d->skip));
	if (d->limit)
		td_json_set(j, o, "limit", count(d->limit));
	return o;
}

char *td_meta_identity(const struct td_pack *p)
{
	struct td_json j = { 0 };
	json_t *o = options_json(&j, p);
	if (p->append)
		td_json_set(&j, o, "append", json_true());
	td_json_set(&j, o, "command", json_string(p->command));
	td_json_set(&j, o, "version", json_string(tundish_version()));
	td_json_set(&j, o, "seed", json_sprintf("%" PRIu64, p->o->seed));
	td_json_set(&j, o, "items", count(p->plan.n));
	td_json_set(&j, o, "inputs", count(p->inputs));
	char *line = j.lost ? NULL : json_dumps(o, JSON_COMPACT);
	json_decref(o);
	return line;
}

/* Appends ' "KEY": VALUE,' on a line of its own; takes the value. */
static bool member(struct td_buf *out, const char *key, json_t *value)
{
	char *dumped = value ? json_dumps(value, JSON_ENCODE_ANY) : NULL;
	json_decref(value);
	bool ok = dumped && td_buf_printf(out, " \"%s\": %s,\n", key, dumped);
	free(dumped);
	return ok;
}

/* Appends an element of a list; takes the value. `raw` is JSON that joins it as "classes". */
static bool element(struct td_buf *out, bool first, json_t *value, const char *raw)
{
	char *dumped = value ? json_dumps(value, JSON_COMPACT) : NULL;
	json_decref(value);
	bool ok = dumped && td_buf_printf(out, "%s\n  ", first ? "" : ",");
	size_t n = ok ? strlen(dumped) : 0;
	if (ok && raw)
		ok = td_buf_printf(out, "%.*s,\"classes\":%s}", (int)n - 1, dumped, raw);
	else if (ok)
		ok = td_buf_printf(out, "%s", dumped);
	free(dumped);
	return ok;
}

static bool shards_list(struct td_buf *out, const struct td_pack *p)
{
	struct td_json j = { 0 };
	bool ok = td_buf_printf(out, " \"shards\": [");
	for (size_t i = 0; ok && i < p->plan.n_shards; i++) {
		const struct td_set_shard *s = &p->set.shards[i];
		json_t *o = json_object();
		td_json_set(&j, o, "file", text(s->file));
		td_json_set(&j, o, "split", json_string(p->plan.splits[p->plan.shards[i].split].name));
		td_json_set(&j, o, "records", count(s->records));
		td_json_set(&j, o, "payload_bytes", count(s->payload_bytes));
		td_json_set(&j, o, "bytes", count(s->bytes));
		td_json_set(&j, o, "crc32c", count(s->crc));
		if (s->members)
			td_json_set(&j, o, "members", json_loads(s->members, 0, NULL));
		ok = element(out, i == 0, all_or_none(&j, o), s->classes);
	}
	return ok && td_buf_printf(out, "\n ],\n");
}

static bool classes_list(struct td_buf *out, const struct td_pack *p)
{
	struct td_json j = { 0 };
	bool ok = td_buf_printf(out, " \"classes\": [");
	for (size_t k = 0; ok && k < p->classes.n; k++) {
		uint64_t n = 0;
		for (size_t s = 0; s < p->plan.n_splits; s++)
			n += p->class_counts[s * p->classes.n + k];
		json_t *o = json_object();
		td_json_set(&j, o, "label", json_integer(p->classes.list[k].label));
		if (!p->classes.numbers)
			td_json_set(&j, o, "name", text(p->classes.list[k].name));
		td_json_set(&j, o, "records", count(n));
		ok = element(out, k == 0, all_or_none(&j, o), NULL);
	}
	return ok && td_buf_printf(out, "\n ],\n");
}

static json_t *fault_json(const struct td_bad_note *note)
{
	struct td_json j = { 0 };
	json_t *o = json_object();
	td_json_set(&j, o, "name", text(note->name));
	if (note->line >= 0)
		td_json_set(&j, o, "line", json_integer(note->line));
	if (note->record >= 0)
		td_json_set(&j, o, "record", json_integer(note->record));
	if (note->offset >= 0)
		td_json_set(&j, o, "offset", json_integer(note->offset));
	td_json_set(&j, o, "reason", text(note->reason));
	return all_or_none(&j, o);
}

static bool faults_list(struct td_buf *out, const struct td_bad *bad)
{
	bool ok = td_buf_printf(out, " \"faults\": [");
	for (size_t i = 0; ok && i < bad->n_notes; i++)
		ok = element(out, i == 0, fault_json(&bad->notes[i]), NULL);
	return ok && td_buf_printf(out, "%s],\n", bad->n_notes ? "\n " : "");
}

char *td_meta_faults(const struct td_bad *bad, size_t first)
{
	struct td_json j = { 0 };
	json_t *list = json_array();
	for (size_t i = first; i < bad->n_notes; i++) {
		json_t *o = fault_json(&bad->notes[i]);
		td_json_set(&j, o, "code", json_integer(bad->notes[i].code));
		td_json_add(&j, list, o);
	}
	char *dumped = j.lost ? NULL : json_dumps(list, JSON_COMPACT);
	json_decref(list);
	return dumped;
}

static int64_t number_or(const json_t *o, const char *key, int64_t other)
{
	const json_t *value = json_object_get(o, key);
	return json_is_integer(value) ? json_integer_value(value) : other;
}

static int retell_faults(struct td_pack *p, const struct td_set_shard *shard, struct tundish_error *e)
{
	json_t *list = shard->faults ? json_loads(shard->faults, 0, NULL) : NULL, *o;
	uint64_t before = p->bad.count;
	size_t i;
	int rc = 0;
	json_array_foreach(list, i, o) {
		const char *name = json_string_value(json_object_get(o, "name"));
		const char *reason = json_string_value(json_object_get(o, "reason"));
		struct td_place at = { .path = name, .record = number_or(o, "record", -1),
			.line = number_or(o, "line", -1), .offset = number_or(o, "offset", -1) };
		if (rc == 0 && name && reason)
			rc = td_bad_item(&p->bad, (int)number_or(o, "code", TUNDISH_E_CORRUPT), at, name, reason, e);
	}
	json_decref(list);
	/* those past the notes that are kept are only counted */
	if (rc == 0)
		p->bad.count = before + shard->bad;
	return rc;
}

int td_meta_retell(struct td_pack *p, const struct td_set_shard *shard, uint64_t *class_counts,
    struct tundish_error *e)
{
	json_t *list = shard->classes ? json_loads(shard->classes, 0, NULL) : NULL, *pair;
	size_t i;
	json_array_foreach(list, i, pair) {
		int64_t class = json_integer_value(json_array_get(pair, 0));
		if (class >= 0 && (uint64_t)class < p->classes.n)
			class_counts[class] += (uint64_t)json_integer_value(json_array_get(pair, 1));
	}
	json_decref(list);
	return retell_faults(p, shard, e);
}

/* Lists of objects have a line for each element. */
static bool print_lines(struct td_buf *out, const char *key, const json_t *list)
{
	bool ok = td_buf_printf(out, " \"%s\": [", key);
	for (size_t i = 0; ok && i < json_array_size(list); i++)
		ok = element(out, i == 0, json_incref(json_array_get(list, i)), NULL);
	return ok && td_buf_printf(out, "%s],\n", json_array_size(list) ? "\n " : "");
}

/* What was written of the new part becomes that of the whole set. */
static int join_own(const struct td_pack *p, struct td_buf *out, struct tundish_error *e)
{
	json_t *own = json_loadb((const char *)out->data, out->len, 0, NULL), *value;
	const char *key;
	int rc = own ? td_append_own(p->append, own, e) : td_err_memory(e);
	bool ok = rc == 0;
	out->len = 0;
	ok = ok && td_buf_printf(out, "{\n");
	json_object_foreach(own, key, value) {
		bool lines = json_is_array(value) && strcmp(key, "metadata") != 0;
		ok = ok && (lines ? print_lines(out, key, value) : member(out, key, json_incref(value)));
	}
	if (ok) {
		out->len -= 2;
		ok = td_buf_printf(out, "\n}\n");
	}
	json_decref(own);
	return rc == 0 && !ok ? td_err_memory(e) : rc;
}

static int write_own(struct td_pack *p, json_t *files, struct tundish_error *e)
{
	struct td_json j = { 0 };
	struct td_buf out = { 0 };
	bool ok = td_buf_printf(&out, "{\n") && member(&out, "tundish", json_integer(1)) &&
	    member(&out, "name", text(p->out.name)) && member(&out, "command", json_string(p->command)) &&
	    member(&out, "seed", json_sprintf("%" PRIu64, p->o->seed)) &&
	    member(&out, "options", all_or_none(&j, options_json(&j, p))) && member(&out, "found", count(p->found)) &&
	    member(&out, "written", count(p->written)) && member(&out, "bad", count(p->bad.count)) &&
	    member(&out, "left_out", count(p->left_out)) && shards_list(&out, p) &&
	    (p->classes.n == 0 || classes_list(&out, p)) && faults_list(&out, &p->bad) &&
	    (!p->about || member(&out, "arrays", json_incref(p->about))) &&
	    member(&out, "metadata", json_incref(files));
	/* the last comma goes */
	if (ok) {
		out.len -= 2;
		ok = td_buf_printf(&out, "\n}\n");
	}
	int rc = ok ? 0 : td_err_memory(e);
	if (rc == 0 && p->append)
		rc = join_own(p, &out, e);
	if (rc == 0)
		rc = td_set_meta(&p->set, "tundish.json", out.data, out.len, e);
	td_buf_free(&out);
	return rc;
}

static char *names_file(const struct td_feature_spec *label)
{
	char *name = td_path_join(NULL, label->key);
	struct td_buf out = { 0 };
	for (char *c = name; c && *c; c++)
		if (*c == '/')
			*c = '.';
	char *file = name && td_buf_printf(&out, "%s.labels.txt", name) ? strdup((char *)out.data) : NULL;
	td_buf_free(&out);
	free(name);
	return file;
}

static int write_tfds(struct td_pack *p, const char *path, json_t *files, struct tundish_error *e)
{
	json_t *info = dataset_json(p, path), *features = features_json(p);
	int rc = p->append ? td_append_info(p->append, info, features, e) : 0;
	if (rc == 0)
		rc = write_json(p, "dataset_info.json", json_incref(info), e);
	json_array_append_new(files, json_string("dataset_info.json"));
	if (rc == 0)
		rc = write_json(p, "features.json", json_incref(features), e);
	json_decref(info);
	json_decref(features);
	json_array_append_new(files, json_string("features.json"));
	return rc;
}

int td_meta_write(struct td_pack *p, struct tundish_error *e)
{
	json_t *files = json_array();
	char *path = td_names_tfds(p->o->name_template, p->o->count_in_name);
	const struct td_feature_spec *label = label_feature(p);
	const char *why = no_tfds(p, path);
	int rc = 0;
	if (why && p->append && p->append->info)
		rc = td_err(e, TUNDISH_E_USAGE, "append: TensorFlow Datasets opens the set, and would not open the new "
		    "records: %s", why);
	else if (why)
		td_notice(&p->o->listener, "no metadata for TensorFlow Datasets: %s", why);
	else
		rc = write_tfds(p, path, files, e);
	p->names_file = label && p->classes.n && !p->classes.numbers && count_labels(p) > 0 ? names_file(label) : NULL;
	if (rc == 0 && p->names_file) {
		rc = write_names(p, p->names_file, e);
		json_array_append_new(files, text(p->names_file));
	} else if (rc == 0 && label && p->classes.n && !p->classes.numbers) {
		td_notice(&p->o->listener, "labels begin below 0: class names stand in tundish.json only");
	}
	if (rc == 0)
		rc = write_own(p, files, e);
	json_decref(files);
	free(path);
	return rc;
}
