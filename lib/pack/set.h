/* SPDX-License-Identifier: BSD-2-Clause
 * A set of shards on disk that appears whole or not at all. */
#pragma once
#include <jansson.h>
#include <stdbool.h>

#include "base/buf.h"
#include "base/outfile.h"
#include "names.h"
#include "plan.h"

/*
 * Shards are written as .SHARD.part, each synced and then entered with size and
 * checksum in .NAME.journal. When all are whole, the metadata are written
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
	uint64_t bad;	/* items that were to go here */
	char *classes;	/* JSON: [[CLASS,RECORDS],...] of those it holds; NULL without classes */
	char *faults;	/* JSON: what was bad; NULL: nothing */
	char *members;	/* JSON: [[OFFSET,RECORD,OFFSET OF ITS FRAME],...] of gzip members; NULL */
	bool open, whole;
	struct td_buf index_text, members_text; /* not yet written, of one that is open */
	uint64_t since_flush;
};

#define TD_SET_META 8

/* How a set is written. The strings stay the caller's and in use. */
struct td_set_options {
	const struct td_output *out;
	const struct td_plan *plan;
	const char *template;
	bool with_count;
	bool indexed;	     /* write index/SHARD.idx: not compressed, or members */
	bool members;	     /* each piece with records is a gzip member */
	bool append;	     /* a finished set is there and stays */
	bool resume;
	const char *identity;/* JSON object: all that the bytes depend on */
};

struct td_set {
	struct td_set_options o;
	struct td_set_shard *shards; /* as many as the plan has */
	size_t n_resumed;	     /* these first ones are whole already */
	int journal;		     /* descriptor, -1 without one */
	char *journal_path;
	char *made_folder;	     /* made by this run: it goes again when all fails */
	struct td_outfile meta[TD_SET_META];
	const char *meta_names[TD_SET_META]; /* the caller's */
	unsigned n_meta;
	bool committing; /* final names may be there */
};

/* Says whether the set may be written here, before anything is read: EXISTS when a
 * finished one is there and not to be overwritten, USAGE for a bad name. */
int td_set_check(const struct td_output *out, bool overwrite, struct tundish_error *e);
/* Makes the folder and the journal, and clears a dead run's files, but for the whole
 * shards that are to be resumed. EXISTS when another run is at it, USAGE when what is
 * to be resumed was made of other things, naming the difference. */
int td_set_begin(struct td_set *s, const struct td_set_options *options, struct tundish_error *e);

/* What goes into a shard at a time. */
struct td_set_piece {
	const void *data;
	size_t bytes;
	uint64_t records, payload_bytes;
	const uint64_t *sizes; /* of the frames; may be NULL where the set is not indexed */
};
/* Appends to shard i, which is opened where it is not yet. */
int td_set_append(struct td_set *s, size_t i, const struct td_set_piece *piece, struct tundish_error *e);

struct td_set_facts {
	uint64_t bad;
	char *classes, *faults;
};
/* Ends shard i (opened here where nothing was appended): synced and in the journal. Takes
 * the facts' strings. */
int td_set_end(struct td_set *s, size_t i, struct td_set_facts *facts, struct tundish_error *e);
/* All are whole: the final names are known from here on. */
int td_set_settle(struct td_set *s, struct tundish_error *e);
/* Writes a file that goes with the set, under its temporary name; tundish.json last. */
int td_set_meta(struct td_set *s, const char *name, const void *data, size_t bytes,
    struct tundish_error *e);
/* Removes the files of the set that is replaced, its tundish.json first, then gives all
 * their final names. */
int td_set_commit(struct td_set *s, struct tundish_error *e);
/* Shards that can be resumed if td_set_close() keeps them. */
size_t td_set_whole(const struct td_set *s);
/* Frees. What td_set_commit() has not finished is removed, but for whole shards with `keep`. */
void td_set_close(struct td_set *s, bool keep);

/* The lines of a journal: in journal.c. */
int td_journal_open(struct td_set *s, struct tundish_error *e);
int td_journal_file(struct td_set *s, const char *file, struct tundish_error *e);
int td_journal_shard(struct td_set *s, size_t i, struct tundish_error *e);
/* Takes over whole shards and removes all else that a dead run has left. */
int td_journal_resume(struct td_set *s, struct tundish_error *e);
void td_journal_clear(struct td_set *s);
/* Of a finished set: removes the journal of a run that died when nothing but that was left to
 * do. One that is in use, or names temporary files that are there, stays. */
void td_journal_forget(const struct td_output *out);
int td_journal_start(struct td_set *s, struct tundish_error *e);

/* Removes a file of the set by its base name, in a pattern with one %s; names with a slash
 * are none of ours. */
void td_set_remove(const struct td_set *s, const char *fmt, const char *name);
/* For each file of the set that is there, as its tundish.json lists them. */
typedef int td_set_visit(struct td_set *s, const char *name, void *ctx, struct tundish_error *e);
int td_set_each_old(struct td_set *s, const json_t *old, td_set_visit *visit, void *ctx, struct tundish_error *e);
bool td_set_has(const struct td_output *out, const char *name);
