/* SPDX-License-Identifier: BSD-2-Clause
 * The picture and the label in an Example, under the names that people use. */
#include "sample.h"

#include <stdbool.h>
#include <string.h>

const char *const td_image_keys[TD_KEYS] = { "image", "image/encoded" };
const char *const td_label_keys[TD_KEYS] = { "label", "image/class/label" };

static bool is_key(const struct tundish_feature *f, const char *key)
{
	return f->key_bytes == strlen(key) && memcmp(f->key, key, f->key_bytes) == 0;
}

/* 0: it is the key asked for, or the best of the usual ones; 1, ...: a lesser one; -1: no. */
static int rank_of(const struct tundish_feature *f, const char *asked,
    const char *const usual[TD_KEYS])
{
	if (asked)
		return is_key(f, asked) ? 0 : -1;
	for (int i = 0; i < TD_KEYS; i++) {
		if (is_key(f, usual[i]))
			return i;
	}
	return -1;
}

/* Of duplicated keys the last one counts. */
static void take_better(const struct tundish_feature *f, int rank, int *best,
    struct tundish_feature *room, const struct tundish_feature **ret)
{
	if (rank < 0 || (*ret && rank > *best))
		return;
	*best = rank;
	*room = *f;
	*ret = room;
}

int td_sample_find(struct td_sample *ret, const struct td_keys *keys, const void *example, size_t bytes)
{
	int rc, image_rank = 0, label_rank = 0;
	size_t at = 0;
	struct tundish_feature f;
	struct td_sample *s = ret;
	s->image = s->label = NULL;
	while ((rc = tundish_example_next(example, bytes, &at, &f)) > 0) {
		take_better(&f, rank_of(&f, keys->image, td_image_keys), &image_rank,
		    &s->image_feature, &s->image);
		take_better(&f, rank_of(&f, keys->label, td_label_keys), &label_rank,
		    &s->label_feature, &s->label);
	}
	return rc;
}
