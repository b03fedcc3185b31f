/* SPDX-License-Identifier: BSD-2-Clause
 * What convert and shard share: from a plan and a way to make records to a whole set. */
#pragma once
#include <jansson.h>

#include "plan.h"
#include "set.h"
#include "source/bad.h"
#include "source/classes.h"

struct td_append;

/* How TFDS sees a feature. */
enum td_feature_type {
	TD_FEATURE_IMAGE,
	TD_FEATURE_LABEL, /* the class */
	TD_FEATURE_INT,
	TD_FEATURE_FLOAT,
	TD_FEATURE_TEXT,
};

struct td_feature_spec {
	char *key;
	enum td_feature_type type;
	int64_t length; /* values a record: 1, another number, or -1 where it differs */
	char *json;	/* its entry in features.json as it was; NULL: made anew */
};

struct td_pack {
	const struct tundish_pack_options *o;
	const char *command; /* "convert" */
	bool tar;	     /* make() gives members of a tar, not frames */
	unsigned threads;    /* that make records */
	int compression;     /* of the output; TUNDISH_AUTO until records were tried */
	struct td_output out;
	struct td_append *append; /* the set that is added to; NULL: a new one */
	const char *to_folder; /* files go there; NULL: records are written */
	struct td_plan plan;
	struct td_bad bad;
	struct td_classes classes;
	int32_t *item_class;  /* of each item of the plan; NULL: there are no classes */
	uint32_t *item_group; /* items that a split must not part; NULL: none */
	size_t n_groups;
	uint64_t *item_bytes; /* what each will be, about */
	uint64_t block_bytes; /* of them that are made at a time, at most; 0: as usual */
	uint64_t found, left_out;
	uint64_t window; /* bytes in which the records of a stream were shuffled; 0: not that */
	const char *left_out_what; /* "other files", "records" */
	char left_out_kinds[64];
	struct td_feature_spec *features;
	size_t n_features, features_cap;
	struct tundish_pack_item *items; /* of those that were only looked at */
	size_t n_items;
	json_t *about; /* what the files that items were cut from say of themselves; NULL */
	const char *no_tfds; /* why TFDS cannot read this; NULL: it can */

	/* Appends the frame of an item's record. 0; MEMORY and SPACE (no room for a temporary
	 * file) end the run; any other code
	 * makes the item bad, with a reason in e that leaves out the place. Any thread. */
	int (*make)(void *ctx, uint32_t item, unsigned worker, struct td_buf *frames,
	    struct tundish_error *e);
	/* Where an item comes from, for messages, and its name for the report. The strings
	 * are good until the next call. One thread. */
	int (*place)(void *ctx, uint32_t item, struct td_place *ret, const char **ret_name,
	    struct tundish_error *e);
	void *ctx;

	uint32_t inputs; /* a checksum of names, sizes, times and classes: has anything changed? */
	char *identity;
	struct td_set set;
	uint64_t written, payload_bytes, file_bytes;
	uint64_t *class_counts; /* written, split * classes.n + class */
	char *names_file;	/* of the classes */
};

/* What can be wrong before anything is read: output, split, shards, compression, the
 * set that is there. */
int td_pack_check(struct td_pack *p, struct tundish_error *e);
/* The plan for n items with their classes and sizes, and the names. */
int td_pack_plan(struct td_pack *p, size_t n, struct tundish_error *e);
/* Classes are to be divided in proportion, where there are any. */
bool td_pack_by_class(const struct td_pack *p);
/* Sets the limit of bad items by how many were found, and checks it. */
int td_pack_limit(struct td_pack *p, struct tundish_error *e);
/* Writes all of it, or only tells what would be with dry_run. */
int td_pack_run(struct td_pack *p, struct tundish_error *e);
/* The two ends of writing: the set is opened by the plan, and gets its metadata and names. */
int td_pack_begin(struct td_pack *p, struct tundish_error *e);
int td_pack_finish(struct td_pack *p, struct tundish_error *e);
int td_pack_result(struct tundish_pack_result **ret, struct td_pack *p, struct tundish_error *e);
void td_pack_free(struct td_pack *p);

bool td_pack_feature(struct td_pack *p, const char *key, enum td_feature_type type, int64_t length)
    td_must_check;

/* dataset_info.json, features.json, LABEL.labels.txt, tundish.json, into the set. */
int td_meta_write(struct td_pack *p, struct tundish_error *e);
/* The entry of an array in features.json: raw little-endian bytes; NULL for a shape that
 * differs. To be freed. */
char *td_meta_tensor(const char *dtype, unsigned n_axes, const uint64_t *shape);
/* The same of float32 numbers in a list, rows of columns; rows -1: any number. */
char *td_meta_table(int64_t rows, int64_t columns);
/* All that the bytes of the set depend on, as one line of JSON; to be freed. */
char *td_meta_identity(const struct td_pack *p);
/* The notes from `first` on as JSON, to be freed; and the other way: counts and tells
 * again what a whole shard says of its classes and faults. */
char *td_meta_faults(const struct td_bad *bad, size_t first);
int td_meta_retell(struct td_pack *p, const struct td_set_shard *shard, uint64_t *class_counts,
    struct tundish_error *e);
