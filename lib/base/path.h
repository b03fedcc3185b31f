/* SPDX-License-Identifier: BSD-2-Clause
 * Paths and folders: parts of a name, sorted listings, walks that end. */
#pragma once
#include <stdbool.h>

#include "attr.h"
#include "tundish.h"

/* Behind the last slash; all of it where there is none. */
const char *td_path_base(const char *path);
/* From the last dot of the base name on, "" without one or for ".name". */
const char *td_path_suffix(const char *path);
/* Whether it is one of n, ".jpg" and the like, in capitals or not. */
bool td_path_has_suffix(const char *path, const char *const *suffixes, size_t n);
/* FOLDER/NAME, or NAME when folder is NULL or empty. To be freed; NULL without memory. */
char *td_path_join(const char *folder, const char *name);
/* What stands before the base name, without the slash ("/" and "." where it is that
 * or nothing). To be freed; NULL without memory. */
char *td_path_folder(const char *path);
/* Takes "./", doubled slashes and "x/.." out of a path, by its text alone, in place.
 * A leading ".." stays. */
void td_path_tidy(char *path);

/* The names in a folder without . and .., sorted bytewise. */
struct td_names {
	const char **names;
	size_t n;
	char *text; /* what they point into */
};
int td_list_folder(struct td_names *ret, const char *path, struct tundish_error *e);
void td_names_free(struct td_names *names);

enum td_walk_what {
	TD_WALK_FILE,	    /* a regular file, or a link to one */
	TD_WALK_FOLDER,	    /* before what it holds */
	TD_WALK_OTHER,	    /* a pipe, socket or device: never opened */
	TD_WALK_BROKEN,	    /* a link to nothing */
	TD_WALK_LOOP,	    /* a link to a folder that it stands in */
	TD_WALK_UNREADABLE, /* a folder that cannot be read, after its TD_WALK_FOLDER */
};

/* The strings are valid during the call. */
struct td_walk_entry {
	const char *path; /* as it can be opened */
	const char *name; /* below the root */
	unsigned depth;	  /* 0 directly in the root */
	enum td_walk_what what;
	uint64_t bytes;	  /* of a file */
	int64_t changed_ns; /* of a file: when, since 1970 */
};

/* 0: go on; 1: go on, but not into this folder; negative: stop with that. */
typedef int td_walk_fn(void *ctx, const struct td_walk_entry *entry, struct tundish_error *e);

/* Walks all below `root`, each folder's names in bytewise order. Links are followed,
 * but not into a folder that is being walked. Errors: those of the root, MEMORY,
 * and what `visit` returns. */
int td_walk(const char *root, td_walk_fn *visit, void *ctx, struct tundish_error *e);
