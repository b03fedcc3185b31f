/* SPDX-License-Identifier: BSD-2-Clause
 * What a reader is made of, for the files that make it. */
#pragma once
#include <stdbool.h>

#include "base/err.h"
#include "input.h"
#include "members.h"
#include "reader.h"
#include "unpack.h"

struct tundish_reader {
	struct td_input in;
	struct tundish_reader_options o;
	char *path;
	int compression;
	struct td_window raw;	  /* over a compressed file */
	struct td_unpack *unpack; /* NULL: not compressed */
	struct td_window w;	  /* over the frames; its place is the next one */
	struct td_break broken;	  /* why w ends, where decompression goes on behind it */
	uint64_t number;	  /* of the next record */
	uint64_t faults;
	uint64_t vain;	      /* payload bytes whose checksum failed */
	uint64_t room;	      /* how much larger that could be, and nothing be different */
	size_t chunk;	      /* what a walk reads at a time */
	uint64_t stop;	      /* where the file ends for us; 0: where it ends */
	uint64_t pause;	      /* no read goes from before this place to behind it */
	struct td_index index;	/* from a side-car, for random access */
	bool refused;		/* no TFRecord file at all */
	struct td_metadata *metadata; /* the caller's; NULL: none was given */
	bool marking;		/* random access was asked for */
	struct td_mark *marks;	/* by number */
	size_t n_marks, marks_cap;
	struct tundish_error error; /* sticky */
};

/* Errors stay: the same one again for each later call. */
static inline int td_reader_begin(const struct tundish_reader *r, struct tundish_error *e)
{
	return r->error.code ? td_err(e, r->error.code, "%s", r->error.text) : 0;
}

/* Moves to the next place, from here on, where length, length checksum and payload
 * checksum hold, or to the end. */
int td_reader_find_frame(struct tundish_reader *r, struct tundish_error *e);
