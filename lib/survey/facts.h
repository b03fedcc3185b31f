/* SPDX-License-Identifier: BSD-2-Clause
 * What a pass over records finds, of one file or of all merged so far. */
#pragma once
#include "by.h"
#include "levels.h"
#include "media/image.h"
#include "order.h"
#include "record/sample.h"
#include "record/schema.h"
#include "tally.h"

#define TD_IMAGE_KINDS 8

struct td_image_facts {
	uint64_t kinds[TD_IMAGE_KINDS]; /* by enum td_image_kind; NONE: not a picture */
	uint64_t empty, bad, decoded;
	uint64_t large; /* over max_pixels: known by their headers, not decoded */
	struct td_tally widths, heights, bytes, channels, bits;
};

struct td_facts {
	uint64_t examples, sequences, others, empty;
	struct td_where other; /* the first record that is no Example */
	struct td_schema example, context, lists;
	uint64_t payload_bytes;
	struct td_tally sizes; /* of payloads */
	struct td_image_facts images;
	struct td_by labels;
	struct td_order order; /* of the labels */
	const char *image_key, *label_key; /* under which the first ones were found; NULL */
	struct td_levels levels; /* with td_look.levels */
	bool has_label; /* the record counted last; its text is in labels.text */
};

/* How to look at records. */
struct td_look {
	struct td_keys keys;
	uint64_t max_pixels;
	bool decode;
	bool levels; /* decode and count them */
};

/* Counts a record. 1: with a picture that is good so far, 0: without one; or CORRUPT, UNSUPPORTED, ... and a reason in e when the picture
 * in it is bad (all the rest is counted); or MEMORY. `d` may be NULL unless
 * pictures are decoded. */
int td_facts_record(struct td_facts *f, const struct td_look *look, const char *path,
    const struct tundish_record *r, struct td_decoder *d, struct tundish_error *e);
/* Adds what `part` found in the next file and empties it. */
bool td_facts_merge(struct td_facts *f, struct td_facts *part) td_must_check;
/* Raises the numbers of all records in it. */
void td_facts_renumber(struct td_facts *f, uint64_t by);
void td_facts_free(struct td_facts *f);
