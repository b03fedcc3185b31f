/* SPDX-License-Identifier: BSD-2-Clause
 * Single records of a set that was read once already, by file and number. */
#pragma once
#include "record/paths.h"
#include "record/reader.h"

/* Set `paths` and `options` (without a listener: faults were told already); the rest zeroed. */
struct td_fetch {
	const struct td_paths *paths;
	struct tundish_reader_options options;
	struct tundish_reader *reader;
	size_t file;
	uint64_t next; /* number of the record that comes next, at least */
};

/* The record, valid until the next call. Cheap in ascending order; `offset` is used in
 * files that can be read from anywhere. Errors: those of the reader, and CORRUPT when
 * the record is not there any more. */
int td_fetch(struct td_fetch *f, size_t file, uint64_t record, uint64_t offset,
    struct tundish_record *ret, struct tundish_error *e);
void td_fetch_end(struct td_fetch *f);
