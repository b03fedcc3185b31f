/* SPDX-License-Identifier: BSD-2-Clause
 * What a kind of raw data can do. A new format is one file and one line in the table. */
#pragma once
#include "base/buf.h"
#include "tundish.h"

/* As many first bytes of a file are enough for every probe. */
#define TD_HEAD_BYTES 4200

struct td_load_limits {
	uint64_t max_bytes;
	uint64_t max_pixels;
};

struct td_format {
	const char *name; /* "picture" */
	/* How sure it is that this is its kind, from the first bytes: 0 not at all, 100 by
	 * an unmistakable mark. `path` helps where content alone does not tell. */
	int (*probe)(const char *path, const uint8_t *head, size_t len);
	/* A name of this kind: such a file is an item whatever it holds. NULL: there is none. */
	bool (*named)(const char *path);
	/* Reads item number `part` of the file at `path` into out, which is recycled. Any
	 * thread. Errors are the item's own, in `e` a reason without the path, but MEMORY. */
	int (*load)(struct td_buf *out, const char *path, uint32_t part,
	    const struct td_load_limits *limits, struct tundish_error *e);
};

/* All that are built in. */
extern const struct td_format *const td_formats[];
extern const unsigned td_n_formats;

/* The format that is surest, by its place in td_formats, or -1. */
int td_format_probe(const char *path, const uint8_t *head, size_t len);
/* The format whose name the file bears, or -1. */
int td_format_named(const char *path);
