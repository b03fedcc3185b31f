/* SPDX-License-Identifier: BSD-2-Clause
 * A cache in a file, which outlives the run. */
#pragma once
#include "base/sha256.h"
#include "base/talk.h"
#include "cache.h"

/*
 * A log: a head, then entries one behind the other, each with a checksum over its own head
 * and one over its data. An entry is there when its head is whole, so a run that is killed
 * leaves all that it wrote but the last, and the next one goes on behind it. The file's name
 * tells what is kept and of which files by name; its head, by a checksum, of which content.
 * Where that differs the file is stale, and begun anew. One process writes, by an advisory
 * lock; others read what is there when they open it.
 */
struct td_shelf;

/* What a cache is of: `name` for the file's name, `content` for its head. */
struct td_shelf_key {
	struct td_sha256 name, content;
};

/* Of records 0 .. n-1. Errors: IO, NOT_FOUND, MEMORY. */
int td_shelf_open(struct td_shelf **ret, const char *folder, const struct td_shelf_key *key,
    uint64_t n, const struct tundish_listener *l, struct tundish_error *e);
/* Bytes that reading the entry takes in memory; 0: there is none. */
uint64_t td_shelf_bytes(const struct td_shelf *s, uint64_t record);
/* Reads an entry into `out`, 64-byte aligned; NULL when it is damaged, and then it counts
 * as not there. With `pictures` its shape must be that of its bytes. Any thread. */
const struct td_cached *td_shelf_read(struct td_shelf *s, uint64_t record, bool pictures, void *out);
/* Whether more can be added. */
bool td_shelf_takes(const struct td_shelf *s);
/* Adds an entry, or does nothing where that cannot be, as on a full disk. Any thread. */
void td_shelf_add(struct td_shelf *s, uint64_t record, const struct td_cached *entry);
/* Says what went wrong, if anything did. */
void td_shelf_close(struct td_shelf *s, const struct tundish_listener *l);
