/* SPDX-License-Identifier: BSD-2-Clause
 * What there is to convert: the items below the sources, with their classes. */
#pragma once
#include "about.h"
#include "bad.h"
#include "base/map.h"
#include "classes.h"
#include "cells.h"
#include "format.h"
#include "labels.h"

/*
 * What an item is must be known before the plan, since the plan fixes how many records
 * each split and shard gets and which classes there are. A file with a picture's name is
 * an item whatever it holds (bad if that is no picture), so it is not opened here: 200,000
 * names are listed in a second. Any other file is an item only if its content is a known
 * kind; its first bytes are read here, in parallel. A table of labels names its items by
 * itself, whatever they hold. Files that hold several items are then divided by their
 * headers.
 */
struct td_item {
	uint64_t name;	/* where in the listing's names: below its root */
	uint64_t bytes;	/* of the file */
	uint32_t root;
	uint32_t part;	/* number within the file */
	uint32_t row;	/* in the columns + 1; 0: none */
	uint32_t group; /* place in the listing's groups + 1; 0: that of its file */
	int32_t class;	/* -1: none */
	uint32_t member;/* its number in the listing's, from 1; 0: a file of its own */
	uint8_t format;
	uint8_t flags;
};

enum {
	TD_ITEM_PROBE = 1, /* kind still open */
	TD_ITEM_TAKEN = 2, /* named by the table */
	TD_ITEM_NAMED = 4, /* by the user: an item whatever it holds */
	TD_ITEM_PART = 8,  /* one of several in its file, which are a group */
	TD_ITEM_LABELS = 16, /* its file says its class */
	TD_ITEM_UNLABELLED = 32, /* its file says that it has none: the label is -1 */
	TD_ITEM_SAMPLE = 64, /* one of several in its file, each for itself */
	TD_ITEM_HEADER = 128, /* a member whose numbers are in another one: an ENVI header */
};

/* Where in its archive, which is the root's folder, a member lies. What stands behind the
 * item's own belongs to it as long as `more` is said. */
struct td_archived {
	uint64_t at;	/* of its bytes where they lie there as they are, else of its header */
	uint64_t bytes;
	uint64_t name;	/* of a companion: what stands behind the key, in the listing's names */
	uint32_t data;	/* number of the member with the numbers of an ENVI header, from 1; 0: none */
	uint8_t role;	/* enum td_role */
	bool plain, more;
};

struct td_root {
	char *folder; /* names are below it; "" for those that were given as they are */
	size_t skip;  /* bytes of a name before what stands below the source */
	char *spec;   /* what the user wrote behind the file's name and a colon; or NULL */
	struct td_buf index; /* of the one file that it is of; mostly empty */
};

/* A source that is read once, in convert after all that is listed. */
struct td_stream_source {
	char *path;   /* "-": standard input */
	char *prefix; /* before each name */
};

/* Arrays among the items: the shape that all have, if they have one. */
struct td_arrays {
	uint64_t n;
	bool alike;
	bool one_kind; /* of one type and number of axes at least */
	enum td_elem dtype;
	unsigned n_axes;
	uint64_t shape[TD_AXES];
};

struct td_listing {
	struct td_item *items; /* in the order of the sources, each walked bytewise */
	size_t n, cap;
	struct td_buf names;
	struct td_root *roots;
	size_t n_roots, roots_cap;
	struct td_stream_source *streams;
	size_t n_streams, streams_cap;
	struct td_archived *members;
	size_t n_members, members_cap;
	struct td_arrays arrays;
	uint64_t work_bytes;	/* that reading an item takes at most, about */
	struct td_specs specs; /* that the extras of all items have */
	struct td_csv *table;  /* of labels, where there are streams; or NULL */
	struct td_cells columns; /* features from a table or side-cars */
	struct td_about about; /* what the files say of themselves */
	struct td_map groups;  /* names of those that are not a file's -> uint32_t td_item.group */
	size_t n_clips, n_sounds;
	bool sequences;        /* some items follow one another: frames, clips, windows */
	struct td_specs group_specs; /* that all groups of members have */
	size_t n_grouped;
	struct td_classes classes; /* n is 0: records have no label */
	uint32_t files;		   /* a checksum of the files' names, sizes and times */
	uint64_t looked_at;	   /* files that were met, litter apart */
	uint64_t found;		   /* items, good and bad, and what was left out */
	uint64_t left_out;	   /* files that are no data, or that the table does not name */
	uint64_t parts_left_out;   /* of files that hold several items */
	char left_out_kinds[64];   /* ".txt .xml" */
	uint64_t left_out_of_kind[32]; /* how many of each, in that order */
};

struct td_list_options {
	const char *const *sources;
	size_t n_sources;
	const char *labels, *class_list, *columns, *group_by;
	const struct td_classes *fixed; /* what the class list holds, where it is no file; or NULL */
	int64_t label_offset;
	const struct td_cut *cut;
	unsigned threads;
	uint64_t memory;
	const struct tundish_listener *listener;
};

/* Lists all items, of patterns what matches; of a stream only that it is there, and then no classes are given to any
 * item but by its file. Hidden names, Thumbs.db, desktop.ini and __MACOSX are passed over
 * without a word; pipes, sockets and link loops by name, never opened. Bad ones (a row
 * without its file, a picture outside the class folders, a broken link) go to `bad`.
 * Errors: NOT_FOUND for a source (before anything else), EMPTY, USAGE, IO, MEMORY,
 * STOPPED, and what `bad` says. */
int td_list(struct td_listing *ret, const struct td_list_options *options, struct td_bad *bad,
    struct tundish_error *e);
void td_listing_free(struct td_listing *listing);

/* Reads an item, or only looks at it. `path` is working memory. */
int td_item_look(struct td_loaded *out, struct td_buf *path, const struct td_listing *l,
    const struct td_item *item, const struct td_cut *cut, struct tundish_error *e);

/* The item's name below its source, as records carry it. */
static inline const char *td_item_name(const struct td_listing *l, const struct td_item *item)
{
	return (const char *)l->names.data + item->name;
}

/* The path to open, with a NUL, into `out`. */
bool td_item_path(struct td_buf *out, const struct td_listing *l, const struct td_item *item)
    td_must_check;
/* The file to read, its path in `out`. */
bool td_item_file(struct td_file *ret, struct td_buf *out, const struct td_listing *l,
    const struct td_item *item) td_must_check;

/* "FILE:SPEC" is divided where a file of that name is there: true with a copy of its name
 * in *ret_path, to be freed, and what stands behind it in *ret_spec. */
bool td_source_spec(const char *source, char **ret_path, const char **ret_spec);

/* Reads an item, whether it is a file or a member of an archive; `path` is scratch. As
 * td_format_load(). */
int td_item_load(struct td_loaded *out, struct td_buf *path, const struct td_listing *l,
    const struct td_item *item, const struct td_cut *cut, struct tundish_error *e);

/* For the files of this room: more names and items. False without memory. */
bool td_listing_add(struct td_listing *l, size_t root, const char *prefix, const char *name,
    const struct td_item *item) td_must_check;
bool td_listing_root(struct td_listing *l, const char *folder, size_t skip, const char *spec) td_must_check;
/* Files that belong to others (a cube's numbers, side-cars), by their paths, were listed
 * as such that are no data: they are not left out. */
int td_listing_forget(struct td_listing *l, const struct td_map *files, const struct td_list_options *options,
    struct tundish_error *e);
/* The number of a group for td_item.group. False without memory. */
bool td_listing_group(struct td_listing *l, const char *name, uint32_t *ret) td_must_check;
/* What folders of pictures have lying about, by its base name. */
bool td_is_litter(const char *base);
/* Counts a file that is left out; and no longer counts one that was, since it is of use. */
void td_listing_leave_out(struct td_listing *l, const char *name);
void td_listing_take_back(struct td_listing *l, const char *name);
/* The items of a file and what goes with them: its side data, too. */
int td_file_parts(struct td_parts *ret, unsigned format, const struct td_file *file, const struct td_cut *cut,
    const struct tundish_listener *l, struct tundish_error *e);
/* What a file adds to what is known of all: shapes, counts, what it says of itself. */
bool td_listing_note(struct td_listing *l, const char *name, const struct td_parts *parts) td_must_check;
/* Divides files that hold several items; a file that cannot be read is bad. With
 * `own_labels` what a file says of its items becomes their class. */
int td_listing_divide(struct td_listing *l, const struct td_list_options *options, bool own_labels,
    struct td_bad *bad, struct tundish_error *e);
/* Removes items for which keep is false. */
void td_listing_keep(struct td_listing *l, bool (*keep)(const struct td_item *item));
