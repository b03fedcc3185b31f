/* SPDX-License-Identifier: BSD-2-Clause
 * What convert works with, for listed items and for streams. */
#pragma once
#include "pack.h"
#include "prepare.h"
#include "record/sample.h"
#include "source/intake.h"
#include "source/list.h"

/* Fields of a record; those without a key are left out. */
struct fields {
	struct td_field *list;
	size_t n, cap;
	bool lost; /* one for which there was no memory */
};

/* What one thread works with. */
struct hand {
	struct td_prepare *prepare;
	struct td_prep_desk desk;
	struct td_loaded loaded;
	struct td_buf path;
	struct td_buf pictures; /* of a clip: struct td_bytes each */
	struct fields fields;
	struct td_specs specs; /* of a stream's items: the features of all */
	uint64_t streamed, grouped; /* good ones, and those of a group */
};

/* The features that arrays are: one where all have one shape, else numbers and shape. */
struct array_keys {
	const char *plain;
	char *value, *shape;
};

/* What a record says of its item besides what was read. */
struct subject {
	const char *name, *class; /* class: NULL where its name is not said */
	const char *group;
	size_t group_len;
	bool labelled;
	int64_t label;
	const struct array_keys *keys;
};

struct convert {
	struct td_pack p;
	struct td_listing list;
	struct td_key_names keys;
	struct td_cut cut;
	bool mixed, alike; /* pictures and arrays; arrays of one shape and no pictures */
	struct array_keys image, frames, audio;
	struct td_prepare prepare; /* pictures */
	struct hand *hands;
	unsigned n_hands;
	struct td_buf path; /* for place() */
	struct td_list_options listing;
	struct td_intake *intake;
	const struct array_keys *listed_keys; /* of the listing before the first item of a stream */
	struct td_classes fixed; /* of a set that is added to */
	uint64_t streamed;	 /* items that a stream had, good ones; of the listing with it, too */
	bool all_grouped;	 /* each of them is of a group */
};

/* Names of the features of arrays of the listing. */
const struct array_keys *td_convert_keys(const struct convert *c);
/* Appends the frame of what the hand has loaded. */
int td_convert_record(struct convert *c, const struct subject *s, struct hand *h, struct td_buf *frames,
    struct tundish_error *e);
/* What the listing tells of its headers and of what was left out; again when it has grown. */
void td_convert_listed(struct convert *c);
/* Names the features, when all is known of them. */
int td_convert_features(struct convert *c, struct tundish_error *e);
/* convert-stream.c: all of it, in place of a plan. */
int td_convert_stream(struct convert *c, struct tundish_error *e);
