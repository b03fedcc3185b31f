/* SPDX-License-Identifier: BSD-2-Clause
 * Reading anywhere in files of our own gzip members. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/ledger.h"
#include "tundish.h"

/*
 * A record lies in one member, and the member is inflated for it. The last members stay
 * inflated, shared by all threads, so that a record near one that was read costs a copy. A
 * member that is held by nobody is dropped for another when they take more than they may.
 */
struct td_packed;

/* A place in a file where reading can begin. */
struct td_mark {
	uint64_t number; /* of the record that starts there */
	uint64_t offset; /* of its frame, in what the file decompresses to */
	uint64_t raw;	 /* of the gzip member, in the file; 0 where it is not compressed */
};

/* Where the members of a file lie; freed with the set of files it is given to. */
struct td_pack_map {
	struct td_mark *marks;
	size_t n;
	uint64_t raw, bytes; /* of the file, and of what it inflates to; 0: it is not such a file */
};

/* For files 0 .. n-1, of which `keep` bytes may stay inflated. */
int td_packed_new(struct td_packed **ret, size_t n, uint64_t keep, struct tundish_error *e);
/* Before the threads start: what stays inflated stands in there too. */
void td_packed_account(struct td_packed *p, struct td_ledger *ledger);
/* Each file by one thread. */
void td_packed_set(struct td_packed *p, size_t file, const struct td_pack_map *map);
bool td_packed_has(const struct td_packed *p, size_t file);
/* File `from` becomes number `to`, whose own map is gone. */
void td_packed_move(struct td_packed *p, size_t to, size_t from);
/* Any file of them is such a one. */
bool td_packed_any(const struct td_packed *p);
/* A frame of that file, open as `fd`. CORRUPT: its member is not what was listed. Errors: IO,
 * MEMORY. Any thread. */
int td_packed_read(struct td_packed *p, size_t file, int fd, uint64_t offset, uint64_t bytes,
    uint8_t *out, struct tundish_error *e);
void td_packed_free(struct td_packed *p);
