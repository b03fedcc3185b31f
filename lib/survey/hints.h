/* SPDX-License-Identifier: BSD-2-Clause
 * What side-cars and names say about the number of records in a file. */
#pragma once
#include <jansson.h>

#include "base/map.h"
#include "base/talk.h"

struct td_hint {
	uint64_t records;
	const char *source; /* "tundish.json", "index", "dataset_info.json", "name"; static */
};

/* The metadata of one folder at a time. Zeroed is empty. */
struct td_hints {
	char *folder;	  /* that is loaded; NULL */
	struct td_map own;  /* file name -> struct td_hint_shard, of tundish.json */
	struct td_map tfds; /* likewise, of dataset_info.json: without sizes */
};

/* 1 and what is said of the file at `path` with so many bytes, 0: nothing that can be
 * believed, or MEMORY. tundish.json is believed when the size fits, an index when it fits
 * the file (not looked at unless `index`); with `trust` dataset_info.json and the count in
 * a name too. What does not fit gets a notice. */
int td_hint_find(struct td_hints *h, const char *path, uint64_t bytes, bool index, bool trust,
    const struct tundish_listener *l, struct td_hint *ret, struct tundish_error *e);
void td_hints_free(struct td_hints *h);
