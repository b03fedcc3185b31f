/* SPDX-License-Identifier: BSD-2-Clause
 * What a kind of raw data can do. A new format is one file and one line in the table. */
#pragma once
#include <jansson.h>
#include <string.h>

#include "align.h"
#include "av.h"
#include "base/buf.h"
#include "base/elem.h"
#include "base/thread.h"
#include "cells.h"
#include "extra.h"
#include "spill.h"
#include "tundish.h"

/* As many first bytes of a file are enough for every probe. */
#define TD_HEAD_BYTES 4200
#define TD_AXES 8

/* How items are cut out of files, and what an item may be. */
struct td_cut {
	uint32_t tile_h, tile_w, stride; /* 0: whole arrays */
	enum td_edge {
		TD_EDGE_DROP, /* a tile that is not whole is none */
		TD_EDGE_PAD,  /* filled up with the value that stands for no data, or zeros */
		TD_EDGE_KEEP, /* smaller ones */
	} edge;
	uint32_t *bands; /* from 0, in this order; NULL: all */
	uint32_t n_bands;
	bool drop_bad_bands;
	bool has_region;
	uint64_t region[4]; /* y, x, height, width */
	bool apply_scale;
	bool stack;	    /* all frames of a file are one item */
	int pixel_origin;   /* of a sensor's first column */
	int raster_flags;   /* enum of raster.h: a forced interleave */
	double max_nodata;  /* share of a tile's pixels, 0 to 1; more: any */
	char *label_raster; /* NULL: none */
	bool majority;	    /* the label that most pixels have, not the one in the middle */
	bool keep_unlabelled;
	struct td_cells columns; /* members of what the header says that become features */
	uint32_t block_h, block_w; /* groups of tiles; tiles across their borders are none */
	struct td_av_cut av;
	struct td_aligns *align; /* NULL: none */
	uint64_t max_bytes, max_pixels;
	bool follow_external; /* other files that a file names, below its folder */
	uint64_t memory;      /* for what formats keep */
	struct td_keep *keep;
};

/* What a format keeps from item to item, for all threads of a run. */
struct td_keep {
	pthread_mutex_t lock;
	void *state;
	void (*free)(void *state);
};

/* "64x64", "64x64:32"; "drop", "pad", "keep"; "10-40,55" from 1; "y:x:h:w". NULL leaves
 * a part as it is by default. USAGE. */
int td_cut_parse(struct td_cut *ret, const struct tundish_pack_options *o, struct tundish_error *e);
void td_cut_free(struct td_cut *cut);

/* A file to be read, as the format sees it. */
struct td_file {
	const char *path;
	const char *spec; /* what the user wrote behind the path and a colon; NULL: nothing */
	const struct td_buf *index; /* of td_parts; for load alone */
	bool decode; /* for describe alone: count what headers only claim */
	const char *data_path; /* an ENVI header's numbers; NULL: they are looked for beside it */
	const char *name; /* for messages, where the path says nothing; or NULL */
};

static inline const char *td_file_shown(const struct td_file *file)
{
	return file->name ? file->name : file->path;
}

/* The items in one file. */
struct td_parts {
	uint32_t n;
	bool alike; /* all have this shape */
	enum td_elem dtype;
	unsigned n_axes;
	uint64_t shape[TD_AXES];
	bool pictures;	/* encoded ones; then no shape is known */
	bool clips;	/* several pictures each: frames of a video */
	bool sound;	/* samples */
	bool timed;	/* td_loaded.times is filled; in seconds, of the first and last item: */
	double first_time, last_time;
	uint32_t sum;	/* of other files that were read for it */
	bool sequence;	/* they follow one another in time: frames, clips, windows */
	/* Which of the numbers 0 to n - 1 there really are, ascending; NULL: all of them. To
	 * be freed. n_left_out more were left out by what the user asked for. */
	uint32_t *numbers;
	uint64_t n_left_out;
	bool grouped;	/* items of this kind have a group, even where a file holds only one */
	bool samples;	/* each stands for itself: they are no group */
	uint64_t bytes; /* of each, about */
	uint64_t work_bytes; /* that reading an item takes besides, about */
	struct td_buf index; /* what load needs to find items fast; kept as it is */
	char *loss; /* what of the file is no item, being damaged; NULL: nothing */
	char *data_path; /* another file that belongs to it; to be freed */
	struct td_specs specs; /* the features that td_loaded.extras of all items have */
	/* Where the file says itself what the items are: n texts, each with its NUL; a
	 * number in decimal; "" where it does not say. No bytes at all: it says nothing. */
	struct td_buf labels;
	/* Items that no split may part, where these are not all of the file: a text each,
	 * with its NUL, that tells the groups in a file apart ("3:1"). Empty: the file. */
	struct td_buf groups;
	/* The classes that `labels` are of, where their order is given: texts likewise. */
	struct td_buf classes;
	bool unlabelled; /* "" there means label -1, whatever folder the file is in */
	json_t *about; /* what the file says of itself, for all of the set; NULL */
};
void td_parts_free(struct td_parts *parts);
/* Through `labels` and `groups`, item by item; NULL where nothing is said. */
static inline const char *td_first_text(const struct td_buf *texts)
{
	return texts->len ? (const char *)texts->data : NULL;
}
static inline const char *td_next_text(const char *text)
{
	return text ? text + strlen(text) + 1 : NULL;
}

struct td_pixels;

/* An item that was read. The buffer is recycled. */
struct td_loaded {
	struct td_buf data, scratch;
	const char *kind; /* of an array's file, "ENVI"; NULL: the format's name */
	bool array; /* numbers of dtype and shape; else an encoded picture */
	enum td_elem dtype;
	unsigned n_axes;
	uint64_t shape[TD_AXES];
	struct td_extras extras; /* emptied before each item */
	/* Pictures that a format has as pixels are encoded by this, as the user wants them,
	 * behind what is in `out`. Set by whoever loads. */
	int (*encode)(void *ctx, struct td_buf *out, const struct td_pixels *pixels, struct tundish_error *e);
	void *encode_ctx;
	bool encoded; /* data was made so */
	struct td_buf times; /* double each: of its frames, in seconds; empty: there are none */
	struct td_series *series; /* kept by td_aligns_load() */
	struct td_buf ends; /* size_t each: where the pictures of a clip end in data; empty: none */
	/* the file that was read last is kept open by its format */
	void *opened;
	char *opened_path;
	void (*close)(void *opened);
	/* and a member of an archive that a format had to open */
	struct td_spill {
		struct td_spilled *file;
		uint32_t member; /* of the listing; 0: of a stream */
	} spill;
};
/* Forgets the file that was read last. */
void td_loaded_close(struct td_loaded *s);
/* What is read next is of that member: another one's file is forgotten. */
void td_loaded_spill(struct td_loaded *s, struct td_spilled *file);
void td_spill_free(struct td_spill *s);
void td_loaded_free(struct td_loaded *s);

struct td_format {
	const char *name; /* "picture" */
	/* Of a format that a module reads: its name and the package; parts and load are then
	 * those of the struct td_format that the module exports. */
	const char *module, *package;
	/* How sure it is that this is its kind, from the first bytes: 0 not at all, 100 by
	 * an unmistakable mark. `path` helps where content alone does not tell. */
	int (*probe)(const char *path, const uint8_t *head, size_t len);
	/* A name of this kind: such a file is an item whatever it holds. NULL: there is none. */
	bool (*named)(const char *path);
	/* The items in a file, by its header alone; NULL: the file is one. Errors are reasons
	 * without the path. */
	int (*parts)(struct td_parts *ret, const struct td_file *file, const struct td_cut *cut,
	    const struct tundish_listener *l, struct tundish_error *e);
	/* Reads item number `part` of a file. Any thread, each with its own struct.
	 * Errors are the item's own, in `e` a reason without the path, but MEMORY. */
	int (*load)(struct td_loaded *out, const struct td_file *file, uint32_t part,
	    const struct td_cut *cut, struct tundish_error *e);
	/* Like load, for looking: the type and shape of an array without its numbers, the
	 * kind of it. NULL: load does it. */
	int (*look)(struct td_loaded *out, const struct td_file *file, uint32_t part,
	    const struct td_cut *cut, struct tundish_error *e);
	/* What a file says about itself, for looking: an object that is printed member by
	 * member, with its "kind" ("ENVI") for a title. A new reference. NULL: pictures are
	 * described elsewhere. Errors are reasons without the path. */
	int (*describe)(json_t **ret, const struct td_file *file, const struct tundish_listener *l,
	    struct tundish_error *e);
};

/* All that are built in. */
extern const struct td_format *const td_formats[];
extern const unsigned td_n_formats;

/* A tar or zip by its mark: in what follows may stand marks of its members. */
bool td_archive_marked(const uint8_t *head, size_t len);
/* The format that is surest, by its place in td_formats, or -1. */
int td_format_probe(const char *path, const uint8_t *head, size_t len);
/* The format whose name the file bears, or -1. */
int td_format_named(const char *path);
/* Whether files of a format, by its place in td_formats, are to be divided. */
bool td_format_divides(unsigned format);
/* Its parts and load; what a module does is called there. Errors also MODULE. */
int td_format_parts(struct td_parts *ret, unsigned format, const struct td_file *file,
    const struct td_cut *cut, const struct tundish_listener *l, struct tundish_error *e);
int td_format_describe(json_t **ret, unsigned format, const struct td_file *file,
    const struct tundish_listener *l, struct tundish_error *e);
/* Whether it has something to say. */
bool td_format_describes(unsigned format);
int td_format_look(struct td_loaded *out, unsigned format, const struct td_file *file, uint32_t part,
    const struct td_cut *cut, struct tundish_error *e);
int td_format_load(struct td_loaded *out, unsigned format, const struct td_file *file, uint32_t part,
    const struct td_cut *cut, struct tundish_error *e);
