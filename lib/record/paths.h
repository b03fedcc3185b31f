/* SPDX-License-Identifier: BSD-2-Clause
 * From what the user named to record files: patterns, folders, litter, shard sets. */
#pragma once
#include <stdbool.h>

#include "base/talk.h"

struct td_paths {
	char **paths;	 /* "-" for standard input */
	uint64_t *bytes; /* sizes; 0 for a stream */
	size_t n;
	uint64_t faults; /* missing shards, two sets in one pattern */
};

/* Patterns are expanded here too, folders mean all their shards (sorted bytewise),
 * side-cars and litter are passed over, a missing shard of -of-N is a fault.
 * A file that several of the paths name is read once, with a notice.
 * Errors: NOT_FOUND (before anything is read), EMPTY, IO, MEMORY, and USAGE for
 * standard input named twice. */
int td_paths_find(struct td_paths *ret, const char *const *paths, size_t n,
    const struct tundish_listener *l, struct tundish_error *e);
void td_paths_free(struct td_paths *p);
/* Is a file of this name (no folder before it) passed over in folders and patterns? */
bool td_path_is_litter(const char *name);
