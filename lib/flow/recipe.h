/* SPDX-License-Identifier: BSD-2-Clause
 * From a record to a row of the batch: parse, decode, augment. */
#pragma once
#include "base/err.h"
#include "base/ledger.h"
#include "cache.h"
#include "outs.h"
#include "picture.h"
#include "record/sample.h"
#include "tensor.h"

/* What records of one source have in common: where there is no mix, all of them. */
struct td_origin {
	struct td_keys keys;	/* the names that they use; NULL: none of it goes out */
	struct td_tensor tensor;
	uint32_t channels;	/* before the operations; 0 until known */
	bool grouped;		/* a clip is made of several records */
};

/* What is the same for all records. */
struct td_recipe {
	struct td_chain chain;
	struct td_origin *origins;
	unsigned n_origins;
	struct td_outs outs;
	struct td_ledger *ledger;
	uint64_t seed, max_pixels;
	struct td_cache *cache;	/* or NULL */
	unsigned cut;		/* operations before it do not draw, and are done once */
	struct td_gate *gate;	/* for pictures that take much memory to decode; or NULL */
	uint32_t width, height; /* of a row's picture; 0 until known */
	uint32_t channels;	/* behind the operations */
	size_t row_bytes;	/* of a row's picture, or all frames of its clip */
	char first[TD_ESC_MAX + 96]; /* the picture that gave the size, where one did */
};

#define TD_NO_RECORD UINT64_MAX

/* Where a row goes. */
struct td_room {
	void *image;	/* row_bytes */
	int64_t *label;
	struct td_column *columns;
	unsigned row;
};

/* A record on its way into a row. */
struct td_given {
	const void *record;
	size_t bytes;
	unsigned origin;
	uint64_t number; /* in the set, for the cache, or TD_NO_RECORD */
	uint64_t epoch, position;
};

/* Makes one row. What is wrong with the record is the error, with a reason only.
 * *ret_differs is set when all that is wrong is the size. */
int td_recipe_make(const struct td_recipe *r, struct td_desk *desk, const struct td_given *given,
    const struct td_room *room, bool *ret_differs, struct tundish_error *e);
/* A frame of a row's clip; the first one also gives label and features. */
int td_recipe_make_frame(const struct td_recipe *r, struct td_desk *desk, const struct td_given *given,
    uint32_t frame, const struct td_room *room, bool *ret_differs, struct tundish_error *e);
/* The same from what was kept. */
int td_recipe_make_kept(const struct td_recipe *r, struct td_desk *desk,
    const struct td_cached *kept, uint64_t epoch, uint64_t position, const struct td_room *room,
    bool *ret_differs, struct tundish_error *e);

/* The size that a record's picture comes out with, all of it decoded to be sure that
 * it is good. */
int td_recipe_measure(const struct td_recipe *r, struct td_desk *desk, const struct td_given *given,
    struct td_size *ret, struct tundish_error *e);

/* Takes the channels of its source's tensors from this record, if it is good. */
bool td_recipe_try_tensor(struct td_recipe *r, const struct td_given *given);
/* Fixes channels and type of rows. USAGE where an operation cannot be done to them, or where
 * sources differ in them. */
int td_recipe_set_channels(struct td_recipe *r, struct tundish_error *e);
/* Fixes the size of rows. */
int td_recipe_set_size(struct td_recipe *r, struct td_size size, struct tundish_error *e);
