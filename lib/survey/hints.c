/* SPDX-License-Identifier: BSD-2-Clause
 * What side-cars and names say about the number of records in a file. */
#include "hints.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/json.h"
#include "base/path.h"
#include "record/index.h"
#include "record/shardname.h"

#define SHARDS_MAX 1000000

struct td_hint_shard {
	uint64_t records, bytes;
};

/* A JSON file of the folder; NULL when it is not there or no JSON (a notice, then). */
static json_t *load(const char *folder, const char *name, const struct tundish_listener *l)
{
	struct tundish_error why = { 0 };
	json_t *value = td_json_read_in(folder, name, TD_METADATA_MAX, 0, &why);
	if (why.code == TUNDISH_E_CORRUPT)
		td_notice(l, "%s/%s: %s", TD_ESC(folder), name, why.text);
	return value;
}

/* A whole number, or one in a string, as protobuf's JSON has it. */
static bool number_of(const json_t *value, uint64_t *ret)
{
	if (json_is_integer(value) && json_integer_value(value) >= 0) {
		*ret = (uint64_t)json_integer_value(value);
		return true;
	}
	const char *text = json_string_value(value);
	if (!text || !*text || strspn(text, "0123456789") != strlen(text) || strlen(text) > 18)
		return false;
	*ret = strtoull(text, NULL, 10);
	return true;
}

static bool add(struct td_map *map, const char *name, uint64_t records, uint64_t bytes)
{
	map->value_bytes = sizeof(struct td_hint_shard);
	struct td_hint_shard *shard = td_map_at(map, name, strlen(name));
	if (shard)
		*shard = (struct td_hint_shard){ records, bytes };
	return shard != NULL;
}

static bool read_own(struct td_map *map, const json_t *root)
{
	size_t i;
	json_t *shard;
	json_array_foreach(json_object_get(root, "shards"), i, shard) {
		const char *name = json_string_value(json_object_get(shard, "file"));
		uint64_t records, bytes;
		if (name && number_of(json_object_get(shard, "records"), &records) &&
		    number_of(json_object_get(shard, "bytes"), &bytes) &&
		    !add(map, name, records, bytes))
			return false;
	}
	return true;
}

/* TFDS's template with its places filled: {DATASET}-{SPLIT}.{FILEFORMAT}-{SHARD_X_OF_Y}. */
static bool fill_template(struct td_buf *out, const char *template, const char *const values[4])
{
	static const char *const places[] = { "{DATASET}", "{SPLIT}", "{FILEFORMAT}", "{SHARD_X_OF_Y}" };
	out->len = 0;
	while (*template) {
		size_t i = 0;
		while (i < 4 && strncmp(template, places[i], strlen(places[i])) != 0)
			i++;
		bool ok = i < 4 ? td_buf_printf(out, "%s", values[i]) : td_buf_add(out, template, 1);
		if (!ok)
			return false;
		template += i < 4 ? strlen(places[i]) : 1;
	}
	return td_buf_printf(out, "%s", "");
}

static const char *text_of(const json_t *object, const char *key, const char *otherwise)
{
	const char *text = json_string_value(json_object_get(object, key));
	return text ? text : otherwise;
}

static bool read_split(struct td_map *map, const json_t *root, const json_t *split)
{
	const json_t *lengths = json_object_get(split, "shardLengths");
	size_t n = json_array_size(lengths);
	struct td_buf name = { 0 };
	char shard[64];
	const char *const values[] = { text_of(root, "name", ""), text_of(split, "name", ""),
		text_of(root, "fileFormat", "tfrecord"), shard };
	const char *template = text_of(split, "filepathTemplate",
	    "{DATASET}-{SPLIT}.{FILEFORMAT}-{SHARD_X_OF_Y}");
	bool ok = true;
	for (size_t i = 0; ok && i < n && n <= SHARDS_MAX; i++) {
		uint64_t records;
		snprintf(shard, sizeof shard, "%05zu-of-%05zu", i, n);
		if (number_of(json_array_get(lengths, i), &records))
			ok = fill_template(&name, template, values) &&
			    add(map, (const char *)name.data, records, 0);
	}
	td_buf_free(&name);
	return ok;
}

static bool read_tfds(struct td_map *map, const json_t *root)
{
	size_t i;
	json_t *split;
	json_array_foreach(json_object_get(root, "splits"), i, split) {
		if (!read_split(map, root, split))
			return false;
	}
	return true;
}

/* Loads the metadata of the folder that `path` is in. */
static bool load_folder(struct td_hints *h, const char *path, bool trust, const struct tundish_listener *l)
{
	char *folder = td_path_folder(path);
	if (!folder || (h->folder && strcmp(folder, h->folder) == 0)) {
		bool ok = folder != NULL;
		free(folder);
		return ok;
	}
	td_hints_free(h);
	h->folder = folder;
	json_t *own = load(folder, "tundish.json", l);
	json_t *tfds = trust ? load(folder, "dataset_info.json", l) : NULL;
	bool ok = read_own(&h->own, own) && read_tfds(&h->tfds, tfds);
	json_decref(own);
	json_decref(tfds);
	return ok;
}

/* 1 and what tundish.json says. */
static int ask_own(const struct td_hints *h, const char *path, uint64_t bytes,
    const struct tundish_listener *l, struct td_hint *ret)
{
	const char *name = td_path_base(path);
	const struct td_hint_shard *shard = td_map_find(&h->own, name, strlen(name));
	if (!shard)
		return 0;
	if (shard->bytes != bytes) {
		td_notice(l, "tundish.json does not fit %s: it says %" PRIu64 " bytes, the file has %" PRIu64
		    "; it is ignored", TD_ESC(path), shard->bytes, bytes);
		return 0;
	}
	*ret = (struct td_hint){ shard->records, "tundish.json" };
	return 1;
}

static int ask_index(const char *path, const struct tundish_listener *l, struct td_hint *ret,
    struct tundish_error *e)
{
	struct td_index index = { 0 };
	int rc = td_index_sidecar(&index, path, l, e);
	if (rc > 0)
		*ret = (struct td_hint){ index.n, "index" };
	td_index_free(&index);
	/* a compressed file has none that fits */
	return rc < 0 && rc != TUNDISH_E_MEMORY ? 0 : rc;
}

static int ask_others(const struct td_hints *h, const char *path, struct td_hint *ret)
{
	const char *name = td_path_base(path);
	const struct td_hint_shard *shard = td_map_find(&h->tfds, name, strlen(name));
	uint64_t records;
	if (shard)
		*ret = (struct td_hint){ shard->records, "dataset_info.json" };
	else if (td_name_count(&records, name))
		*ret = (struct td_hint){ records, "name" };
	else
		return 0;
	return 1;
}

int td_hint_find(struct td_hints *h, const char *path, uint64_t bytes, bool index, bool trust,
    const struct tundish_listener *l, struct td_hint *ret, struct tundish_error *e)
{
	if (strcmp(path, "-") == 0)
		return 0;
	if (!load_folder(h, path, trust, l))
		return td_err_memory(e);
	int rc = ask_own(h, path, bytes, l, ret);
	if (rc == 0 && index)
		rc = ask_index(path, l, ret, e);
	if (rc == 0 && trust)
		rc = ask_others(h, path, ret);
	return rc;
}

void td_hints_free(struct td_hints *h)
{
	td_map_free(&h->own);
	td_map_free(&h->tfds);
	free(h->folder);
	h->folder = NULL;
}
