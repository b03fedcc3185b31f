/* SPDX-License-Identifier: BSD-2-Clause
 * Where the records of an uncompressed file are: DALI's text side-car, or a header walk. */
#pragma once
#include <stdbool.h>

#include "base/buf.h"
#include "base/talk.h"
#include "packed.h"

struct td_metadata;

struct td_index_entry {
	uint64_t offset; /* of the frame */
	uint64_t bytes;	 /* of the whole frame */
};

struct td_index {
	struct td_index_entry *entries;
	size_t n;
	uint64_t faults; /* met by the walk, and reported */
	int from_sidecar;
};

/* The index of an uncompressed file: index/NAME.idx, NAME.idx or STEM.idx beside
 * it when that fits the file (else a notice), or a walk over the headers, with
 * resync behind damage. UNSUPPORTED for compressed files and streams. */
int td_index_open(struct td_index *ret, const char *path, const struct tundish_listener *l,
    struct tundish_error *e);
/* The index of a file of our own gzip members, by the tundish.json beside it; it is inflated
 * once for that. Offsets are those of what it inflates to. 1; 0: it is no such file, or has
 * damage. Errors: IO, NOT_FOUND, MEMORY. */
int td_index_members(struct td_index *ret, struct td_pack_map *ret_map, const char *path,
    struct td_metadata *m, const struct tundish_listener *l, struct tundish_error *e);
/* Appends the lines of a side-car to an empty index. NULL, or why they are no index
 * of a file of that size. */
const char *td_index_parse(struct td_index *index, const char *text, size_t len, uint64_t size);
/* The side-car alone: 1 when there is one that fits, 0 (with a notice where there is one
 * that does not), or an error of reading the file. */
int td_index_sidecar(struct td_index *ret, const char *path, const struct tundish_listener *l,
    struct tundish_error *e);
void td_index_free(struct td_index *index);
/* Appends the text form, a line a record: what belongs into index/NAME.idx beside NAME. */
bool td_index_print(struct td_buf *out, const struct td_index_entry *entries, size_t n) td_must_check;
