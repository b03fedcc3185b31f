/* SPDX-License-Identifier: BSD-2-Clause
 * Adding splits to a set that is finished. */
#pragma once
#include <jansson.h>

#include "pack.h"

/*
 * The new shards stand beside the old ones, which stay as they are; then the metadata are
 * those of both. Until tundish.json is replaced, which is last, the set is the old one.
 */
struct td_append {
	json_t *own, *info, *features; /* tundish.json; what TFDS reads, NULL: not there */
};

/* Reads the set that is there. USAGE when there is none of that name. */
int td_append_open(struct td_append **ret, const struct td_output *out, struct tundish_error *e);
void td_append_free(struct td_append *a);
/* Its classes, in their order, as a list; none where they are numbers or there are none. */
bool td_append_classes(struct td_classes *ret, const struct td_append *a) td_must_check;
/* The options that both must have alike, and the names of splits. USAGE. */
int td_append_check(const struct td_append *a, const struct td_pack *p, struct tundish_error *e);
/* Whether there are labels, and of which kind. USAGE. */
int td_append_check_labels(const struct td_append *a, bool labels, bool numbers, struct tundish_error *e);
/* That, and the labels of classes which are in their order. */
int td_append_check_classes(const struct td_append *a, const struct td_classes *c, int64_t offset,
    struct tundish_error *e);
/* The new metadata of the new part become those of both; each may be NULL. The features have
 * to be the same: USAGE. */
int td_append_info(const struct td_append *a, json_t *info, json_t *features, struct tundish_error *e);
int td_append_own(const struct td_append *a, json_t *own, struct tundish_error *e);
