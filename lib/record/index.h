/* SPDX-License-Identifier: BSD-2-Clause
 * Where the records of a file are, by its side-car or a walk: of one that is not compressed, or
 * of gzip members that begin with records. */
#pragma once
#include <stdbool.h>

#include "base/buf.h"
#include "base/talk.h"
#include "packed.h"

struct td_metadata;
struct tundish_reader;

struct td_index_entry {
	uint64_t offset; /* of the frame, in what the file decompresses to */
	uint64_t bytes;	 /* of the whole frame */
};

struct td_index {
	struct td_index_entry *entries;
	size_t n;
	uint64_t faults; /* met by the walk, and reported */
	bool from_sidecar;
	bool gzip;		/* of gzip members: offsets are those of what they inflate to */
	struct td_pack_map map; /* of gzip only */
};

/* The index of an uncompressed file: index/NAME.idx, NAME.idx or STEM.idx beside
 * it when that fits the file (else a notice), or a walk over the headers, with
 * resync behind damage. UNSUPPORTED for compressed files and streams. */
int td_index_open(struct td_index *ret, const char *path, const struct tundish_listener *l,
    struct tundish_error *e);
/* The index of a file of gzip members that begin with records, as ours do: by its side-car; or
 * by what tundish.json says of its members, and then it is inflated once (from_sidecar is false).
 * Its map goes to *ret_map. 1; 0: it is no such file, members are too large to be inflated for
 * one record, or it has damage. Errors: IO, NOT_FOUND, MEMORY. */
int td_index_members(struct td_index *ret, struct td_pack_map *ret_map, const char *path,
    struct td_metadata *m, const struct tundish_listener *l, struct tundish_error *e);
/* Adds all frames that an open reader walks to to an empty index; that is to be freed after an
 * error, too. */
int td_index_walk(struct td_index *index, struct tundish_reader *r, struct tundish_error *e);
/* Sets where the map of a walked file ends. Whether members begin where its records do. */
bool td_index_end_map(struct td_index *index);
/* Whether no member holds much more than a record. */
bool td_index_members_small(const struct td_index *index);
/*
 * The text of a side-car: a line "OFFSET SIZE" for each frame, as DALI has it. Of gzip members
 * it begins with "gzip 1", the version; "@ PLACE" goes before the first frame of a member, its
 * place in the file; and the last line is "end SIZE SIZE", of the file and of what it inflates to.
 */
/* Reads it into an empty index. NULL, or why it is none of a file of that size; what was read
 * is to be freed then too. */
const char *td_index_parse(struct td_index *index, const char *text, size_t len, uint64_t size);
/* The side-car alone, of either kind: 1 when there is one that fits, 0 (with a notice where there is one
 * that does not), or an error of reading the file. */
int td_index_sidecar(struct td_index *ret, const char *path, const struct tundish_listener *l,
    struct tundish_error *e);
void td_index_free(struct td_index *index);
/* Appends the text form, a line a record: what belongs into index/NAME.idx beside NAME. */
bool td_index_print(struct td_buf *out, const struct td_index_entry *entries, size_t n) td_must_check;
/* The other lines of an index of gzip members. */
bool td_index_print_head(struct td_buf *out) td_must_check;
bool td_index_print_member(struct td_buf *out, uint64_t raw) td_must_check;
bool td_index_print_end(struct td_buf *out, uint64_t raw, uint64_t bytes) td_must_check;
