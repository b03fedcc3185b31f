/* SPDX-License-Identifier: BSD-2-Clause
 * Files that appear whole or not at all: written as .NAME.part, synced, renamed. */
#pragma once
#include <stdbool.h>

#include "attr.h"
#include "tundish.h"

struct td_outfile {
	int fd;
	bool stream;  /* standard output: no temporary, no rename */
	char *path;   /* final name */
	char *part;   /* name while it is written; NULL: written in place */
	uint64_t bytes;
};

/* Creates FOLDER/.NAME.part, emptying one that a dead run left. "-": standard output. A
 * device or pipe is written in place: a rename would put a file where it was. */
int td_outfile_open(struct td_outfile *f, const char *path, struct tundish_error *e);
/* Writes all of it. */
int td_outfile_write(struct td_outfile *f, const void *data, size_t bytes, struct tundish_error *e);
/* Syncs and closes; the file stays under its temporary name. */
int td_outfile_sync(struct td_outfile *f, struct tundish_error *e);
/* Renames to the final name; syncs first where that was not done. Frees. */
int td_outfile_commit(struct td_outfile *f, struct tundish_error *e);
/* Removes the temporary file and frees; a zeroed or finished one is fine. */
void td_outfile_abort(struct td_outfile *f);

/* A file without a name, for what has no room in memory: gone when it is closed. In `folder`;
 * NULL: $TMPDIR or /tmp. The descriptor, or an error. */
int td_nameless_file(const char *folder, struct tundish_error *e);
/* Writes all bytes to a descriptor; 0 or -errno. */
int td_write_all(int fd, const void *data, size_t bytes);

/* All of that for a small file: open, write, commit. */
int td_write_file(const char *path, const void *data, size_t bytes, struct tundish_error *e);
/* Makes renames in the folder of `path` last. */
int td_sync_folder(const char *path, struct tundish_error *e);
