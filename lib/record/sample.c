/* SPDX-License-Identifier: BSD-2-Clause
 * The picture and the label in an Example, under the names that people use. */
#include "sample.h"

#include <string.h>

#include "base/attr.h"
#include "example.h"

const char *const td_image_keys[TD_KEYS] = { "image", "image/encoded" };
const char *const td_label_keys[TD_KEYS] = { "label", "image/class/label" };

const char td_index_key[] = "image/jpeg_index";
const char td_colours_key[] = "image/colorspace";
const char td_bits_key[] = "image/bits";
const char td_orientation_key[] = "image/orientation";

static bool is_key(const char *key, size_t bytes, const char *name)
{
	return bytes == strlen(name) && memcmp(key, name, bytes) == 0;
}

bool td_key_optional(const char *key, size_t bytes)
{
	const char *const keys[] = { td_index_key, td_colours_key, td_bits_key, td_orientation_key };
	for (size_t i = 0; i < TD_COUNT(keys); i++)
		if (is_key(key, bytes, keys[i]))
			return true;
	return false;
}

int td_key_rank(const char *key, size_t bytes, const char *asked, const char *const usual[TD_KEYS])
{
	if (asked)
		return is_key(key, bytes, asked) ? 0 : -1;
	for (int i = 0; i < TD_KEYS; i++) {
		if (is_key(key, bytes, usual[i]))
			return i;
	}
	return -1;
}

/* The best entry so far for one of the two; of duplicated keys the last one counts. */
struct best {
	int rank;
	struct td_span entry; /* .end is NULL while there is none */
	struct tundish_feature key;
};

static void take_better(struct best *best, int rank, const struct tundish_feature *key,
    struct td_span entry)
{
	if (rank >= 0 && (!best->entry.end || rank <= best->rank))
		*best = (struct best){ rank, entry, *key };
}

/* Only here values are looked at. */
static int open_best(struct best *best, struct tundish_feature *room,
    const struct tundish_feature **ret)
{
	*ret = NULL;
	if (!best->entry.end)
		return 0;
	*room = best->key;
	int rc = td_feature_of(room, best->entry);
	if (rc == 0)
		*ret = room;
	return rc;
}

int td_sample_find(struct td_sample *ret, const struct td_keys *keys, const void *example, size_t bytes)
{
	struct td_entries it = { .all = td_span(example, bytes) };
	struct best image = { 0 }, label = { 0 }, index = { 0 };
	struct tundish_feature f;
	struct td_span entry;
	int rc;
	ret->image = ret->label = ret->index = NULL;
	while ((rc = td_entries_next(&it, &f, &entry)) > 0) {
		take_better(&image, td_key_rank(f.key, f.key_bytes, keys->image, td_image_keys), &f, entry);
		take_better(&label, td_key_rank(f.key, f.key_bytes, keys->label, td_label_keys), &f, entry);
		take_better(&index, is_key(f.key, f.key_bytes, td_index_key) ? 0 : -1, &f, entry);
	}
	if (rc == 0)
		rc = open_best(&image, &ret->image_feature, &ret->image);
	if (rc == 0)
		rc = open_best(&label, &ret->label_feature, &ret->label);
	if (rc == 0)
		rc = open_best(&index, &ret->index_feature, &ret->index);
	return rc;
}
