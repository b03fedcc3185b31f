/* SPDX-License-Identifier: BSD-2-Clause
 * A set of shards on disk that appears whole or not at all. */
#pragma once
#include <stdbool.h>

#include "base/buf.h"
#include "base/outfile.h"
#include "names.h"
#include "plan.h"

/*
 * Shards are written one after another as .SHARD.part, each synced and then entered
 * with size and checksum in .NAME.journal. When all are whole, the metadata are written
 * in the same way; then nothing is left that needs room, and all get their final names,
 * tundish.json last. The journal goes with that. A folder without tundish.json holds no
 * finished set: a new run clears what the journal of a dead one names. The journal is
 * locked while a run lives.
 */
struct td_set_shard {
	struct td_outfile data, index;
	uint64_t records, payload_bytes, bytes;
	uint32_t crc;	/* CRC-32C of the file */
	char *file;	/* final name without the folder */
	char *classes;	/* "[[CLASS,RECORDS],...]" of those it holds */
	bool whole;
};

#define TD_SET_META 8

struct td_set {
	struct td_output out;
	const struct td_plan *plan;
	const char *template;
	bool with_count;
	struct td_set_shard *shards; /* as many as the plan has */
	size_t current;		     /* being written; n_shards when none is */
	struct td_buf index_text;
	int journal;		     /* descriptor, -1 without one */
	char *journal_path;
	char *made_folder;	     /* made by this run: it goes again when all fails */
	uint64_t since_flush;
	struct td_outfile meta[TD_SET_META];
	const char *meta_names[TD_SET_META]; /* the caller's */
	unsigned n_meta;
	bool committing; /* final names may be there */
};

/* Says whether the set may be written here, before anything is read: EXISTS when a
 * finished one is there and not to be overwritten, USAGE for a bad name. */
int td_set_check(const struct td_output *out, bool overwrite, struct tundish_error *e);
/* Makes the folder and the journal and clears a dead run's files. `out` and `plan`
 * are the caller's and stay in use. EXISTS when another run is at it. */
int td_set_begin(struct td_set *s, const struct td_output *out, const struct td_plan *plan,
    const char *template, bool with_count, struct tundish_error *e);
/* Appends whole frames to shard i, shards in ascending order. sizes[] are the frames'. */
int td_set_append(struct td_set *s, size_t i, const void *frames, size_t bytes, const uint64_t *sizes,
    size_t n, struct tundish_error *e);
/* Ends shard i (opened here where nothing was appended): synced and in the journal. Takes
 * `classes`, which may be NULL. */
int td_set_end(struct td_set *s, size_t i, char *classes, struct tundish_error *e);
/* All are whole: the final names are known from here on. */
int td_set_settle(struct td_set *s, struct tundish_error *e);
/* Writes a file that goes with the set, under its temporary name; tundish.json last. */
int td_set_meta(struct td_set *s, const char *name, const void *data, size_t bytes,
    struct tundish_error *e);
/* Removes the files of the set that is replaced, its tundish.json first, then gives all
 * their final names. */
int td_set_commit(struct td_set *s, struct tundish_error *e);
/* Frees. What td_set_commit() has not finished is removed. */
void td_set_close(struct td_set *s);
