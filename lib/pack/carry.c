/* SPDX-License-Identifier: BSD-2-Clause
 * What shard takes over from the set that it reads: class names, and how TFDS sees it. */
#include "carry.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/infile.h"
#include "base/json.h"
#include "base/path.h"
#include "media/image.h"
#include "record/frame.h"
#include "record/sample.h"

/* A stream has nothing beside it. */
static char *beside(const struct td_paths *paths, const char *name)
{
	bool file = paths->n && strcmp(paths->paths[0], "-") != 0;
	char *folder = file ? td_path_folder(paths->paths[0]) : strdup("/nowhere");
	char *path = folder ? td_path_join(folder, name) : NULL;
	free(folder);
	return path;
}

int td_carry_names(struct td_classes *ret, const struct td_paths *paths, const struct tundish_listener *l,
    struct tundish_error *e)
{
	static const char *const files[] = { "label.labels.txt", "image.class.label.labels.txt" };
	for (size_t i = 0; i < TD_COUNT(files); i++) {
		struct td_classes names = { 0 };
		struct tundish_error why = { 0 };
		char *path = beside(paths, files[i]);
		if (!path)
			return td_err_memory(e);
		int rc = access(path, R_OK) == 0 ? td_classes_load(&names, path, NULL, &why) : 1;
		free(path);
		for (size_t k = 0; rc == 0 && k < names.n; k++)
			names.list[k].label = (int64_t)k;
		if (rc == 0) {
			*ret = names;
			return 0;
		}
		td_classes_free(&names);
		if (rc < 0)
			td_notice(l, "class names are left out: %s", why.text);
	}
	return 0;
}

/* Each class of the scan by its label among the names; false when one has none. -1 is
 * what people give to the unlabelled. */
static bool map_to_names(const struct td_classes *found, const struct td_classes *names, int32_t *map)
{
	for (size_t i = 0; i < found->n; i++) {
		int64_t label = found->list[i].label;
		if (label < -1 || label >= (int64_t)names->n)
			return false;
		map[i] = (int32_t)label;
	}
	return names->n > 0 && found->numbers;
}

int td_carry_classes(struct td_pack *p, struct td_scan *scan, struct td_classes *names, bool other,
    struct tundish_error *e)
{
	struct td_classes *c = &scan->classes;
	int32_t *map = malloc((c->n + 1) * sizeof *map);
	if (!map)
		return td_err_memory(e);
	for (size_t i = 0; i < scan->n; i++)
		if (scan->records[i].class >= 0)
			c->list[scan->records[i].class].items++;
	int rc = td_classes_settle(c, 0, map, e);
	for (size_t i = 0; rc == 0 && i < scan->n; i++)
		if (scan->records[i].class >= 0)
			scan->records[i].class = map[scan->records[i].class];
	if (rc == 0 && other && c->n == 0)
		rc = td_err(e, TUNDISH_E_USAGE, "stratify: no record has a feature \"%s\"", TD_ESC(p->o->stratify));
	if (rc == 0 && !other && map_to_names(c, names, map)) {
		for (size_t i = 0; i < scan->n; i++)
			if (scan->records[i].class >= 0)
				scan->records[i].class = map[scan->records[i].class];
		td_classes_free(c);
		*c = *names;
		*names = (struct td_classes){ 0 };
	}
	p->classes = *c;
	*c = (struct td_classes){ 0 };
	free(map);
	return rc;
}

/* ---- features ---- */

/* Does the value of `key` in the first record look like a picture? */
static bool holds_picture(const struct td_scan *scan, const struct td_paths *paths, const char *key)
{
	if (scan->n == 0)
		return false;
	const struct td_scan_record *r = &scan->records[0];
	struct td_buf frame = { 0 };
	struct tundish_feature f;
	const uint8_t *data;
	size_t len;
	int own = scan->spooled[r->file] ? -1 : td_open_file(paths->paths[r->file], NULL, NULL);
	int fd = scan->spooled[r->file] ? scan->spool : own;
	bool yes = fd >= 0 && td_buf_fit(&frame, r->bytes) &&
	    td_read_at(fd, frame.data, r->bytes, r->offset, NULL) == r->bytes &&
	    tundish_example_find(frame.data + TD_FRAME_HEADER, r->bytes - TD_FRAME_EXTRA, key, strlen(key), &f) > 0 &&
	    tundish_feature_bytes(&f, 0, &data, &len) > 0 && td_image_probe(data, len) != TD_IMAGE_NONE;
	if (own >= 0)
		close(own);
	td_buf_free(&frame);
	return yes;
}

static bool is_label_key(const char *key)
{
	return strcmp(key, td_label_keys[0]) == 0 || strcmp(key, td_label_keys[1]) == 0;
}

/* The kind that all records have it in, or NONE. */
static int only_kind(const struct td_feature_facts *facts, uint64_t records)
{
	for (int kind = TUNDISH_BYTES; kind <= TUNDISH_INT64; kind++)
		if (facts->kinds[kind].records == records)
			return kind;
	return TUNDISH_KIND_NONE;
}

static int add_feature(struct td_pack *p, const struct td_scan *scan, const struct td_paths *paths,
    const json_t *theirs, const char *key, const struct td_feature_facts *facts, struct tundish_error *e)
{
	int kind = only_kind(facts, scan->schema.records);
	if (kind == TUNDISH_KIND_NONE || td_key_optional(key, strlen(key)))
		return 0;
	const struct td_kind_facts *k = &facts->kinds[kind];
	int64_t length = k->least == k->most && k->least > 0 ? (int64_t)k->least : -1;
	enum td_feature_type type = TD_FEATURE_TEXT;
	if (kind == TUNDISH_INT64)
		type = length == 1 && is_label_key(key) ? TD_FEATURE_LABEL : TD_FEATURE_INT;
	else if (kind == TUNDISH_FLOAT)
		type = TD_FEATURE_FLOAT;
	else if (holds_picture(scan, paths, key))
		type = TD_FEATURE_IMAGE;
	if (!td_pack_feature(p, key, type, length))
		return td_err_memory(e);
	const json_t *same = json_object_get(theirs, key);
	if (same) {
		p->features[p->n_features - 1].json = json_dumps(same, JSON_COMPACT);
		if (!p->features[p->n_features - 1].json)
			return td_err_memory(e);
	}
	return 0;
}

int td_carry_features(struct td_pack *p, const struct td_scan *scan, const struct td_paths *paths,
    struct tundish_error *e)
{
	const struct td_schema *schema = &scan->schema;
	char *path = beside(paths, "features.json");
	json_t *file = path ? td_json_read(path, TD_METADATA_MAX, JSON_REJECT_DUPLICATES, NULL) : NULL;
	const json_t *theirs = json_object_get(json_object_get(file, "featuresDict"), "features");
	size_t *order = td_schema_sorted(schema);
	int rc = path && order ? 0 : td_err_memory(e);
	for (size_t i = 0; rc == 0 && i < schema->features.n; i++) {
		const void *name = td_map_key(&schema->features, order[i]);
		char *key = strndup(name, schema->features.entries[order[i]].key_bytes);
		rc = key ? add_feature(p, scan, paths, theirs, key, td_schema_facts(schema, order[i]), e) :
		    td_err_memory(e);
		free(key);
	}
	if (scan->sequences)
		p->no_tfds = "it cannot open SequenceExamples";
	else if (scan->others)
		p->no_tfds = "some records are no Examples";
	else if (p->n_features == 0)
		p->no_tfds = "the records have no feature in common";
	json_decref(file);
	free(path);
	free(order);
	return rc;
}
