/* SPDX-License-Identifier: BSD-2-Clause
 * The records of a flow: which files, and where each record lies. */
#pragma once
#include <stdbool.h>

#include "items.h"
#include "record/index.h"
#include "record/paths.h"

/* One part of a mix: "NAME=PATTERN:WEIGHT". */
struct td_mix_source {
	char *name, *pattern;
	double weight; /* more than 0 */
};

/* The records of one file by groups: see groups.h. */
struct td_group_runs {
	struct td_index_entry *entries; /* of all records; of raw data NULL */
	uint64_t *first; /* where each group begins, and the end, which of raw data may be in
			    a file behind it; NULL: they are not by groups */
	size_t n;
};

/* Raw data that was listed together: all of a set, or a source of a mix. */
struct td_part {
	struct td_items *items;
	size_t file, end; /* its files, each a run of items that were cut out of one */
};

struct td_records {
	struct td_paths files;
	struct td_index *indexes; /* one a file, empty for raw data */
	uint64_t *first;	  /* number of each file's first record, and of all at the end */
	struct td_group_runs *groups; /* one a file; NULL: none of them are by groups */
	uint64_t *items;	  /* then `first` as it was before; else NULL */
	uint64_t records;	  /* after skip and limit; 0 while not known (stream) */
	uint64_t skip, limit;
	uint64_t all, least, most; /* where files are dealt to ranks: of all, and of one */
	uint64_t max_bytes;	  /* a larger frame is not read */
	uint64_t bytes;		  /* of all frames */
	uint64_t faults;	  /* damage met while listing */
	uint64_t walked;	  /* files without an index that fits */
	uint64_t listing_ns;
	struct td_packed *packed; /* files of gzip members that are read anywhere; NULL: not wanted */
	struct td_part *parts;	  /* raw data read in place, without frames */
	unsigned n_parts;
	struct td_mix_source *mix;
	unsigned n_sources;	  /* of a mix; 0: there is none */
	size_t *sources;	  /* each one's first file, and the end */
	bool stream; /* a pipe or compressed data in it that is read in order */
};

/* Where a record lies. */
struct td_spot {
	size_t file;
	uint64_t number; /* in its file */
	struct td_index_entry entry;
	uint64_t frames; /* of its group that are left, with this one; 0: there are none */
	unsigned source; /* of a mix */
};

/* Lists the records; or, where the paths, or a source of a mix, are raw data, or folders
 * without record files, the items there. Clips may be of several records, which must be found
 * by position where they can be. With TUNDISH_FAIL the first damage in order is an
 * error.
 * Errors: those of td_paths_find(), EMPTY, CORRUPT, TRUNCATED. */
int td_records_open(struct td_records *ret, const struct tundish_flow_options *options, bool clips,
    struct tundish_error *e);
/* What raw data a file is of; NULL: it holds records. */
const struct td_part *td_records_part(const struct td_records *set, size_t file);
/* The item that a spot speaks of, in its part. */
static inline size_t td_records_item(const struct td_records *set, const struct td_part *part,
    const struct td_spot *spot)
{
	const uint64_t *first = set->items ? set->items : set->first;
	return (size_t)(first[spot->file] - first[part->file] + spot->number);
}
/* Whether it is nothing but raw data. */
static inline bool td_records_all_raw(const struct td_records *set)
{
	return set->n_parts > 0 && (set->n_sources == 0 || set->n_parts == set->n_sources);
}
/* The file of a record by such a list of first ones. */
size_t td_records_file(const struct td_records *set, const uint64_t *first, uint64_t record);
/* Record 0 .. records - 1, counted behind skip. */
struct td_spot td_records_spot(const struct td_records *set, uint64_t record);
/* Settles how many there are behind skip, and up to the limit; EMPTY. */
int td_records_count(struct td_records *set, struct tundish_error *e);
/* Leaves those of a rank's files, every `world`th; USAGE where there are not as many files as
 * ranks, or no files, EMPTY. */
int td_records_deal(struct td_records *set, uint64_t rank, uint64_t world, struct tundish_error *e);
void td_records_close(struct td_records *set);
