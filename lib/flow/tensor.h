/* SPDX-License-Identifier: BSD-2-Clause
 * Raw tensors in records: what shape and type they have, and where that is told. */
#pragma once
#include "ops.h"
#include "picture.h"

struct td_tensor {
	bool on;      /* records hold tensors, not pictures */
	bool known;   /* `elem` was told */
	bool shaped;  /* each record tells its shape */
	bool plain;   /* no height, width and channels: 1 axis, or more than 3 */
	enum td_elem elem;
	unsigned n_axes;
	uint64_t shape[TD_TENSOR_AXES]; /* 0: of this side only a record tells */
	bool fixed;   /* all records have that shape */
};

/* A first look at a record whose picture or tensor is called `key` and is `data`; keys are
 * those that tundish convert writes. */
void td_tensor_look(struct td_tensor *t, const char *key, const void *record, size_t bytes,
    const void *data, size_t len);
/* Settles it: by `chain`, by what the record told, or by features.json in the folder of
 * `path`. USAGE. */
int td_tensor_settle(struct td_tensor *t, const struct td_chain *chain, const char *key, const char *path,
    struct tundish_error *e);
/* A plain one has the shape of this record, which is good, in all others. */
void td_tensor_fix(struct td_tensor *t, const char *key, const void *record, size_t bytes, size_t len);
/* The tensor of a record. Errors: SCHEMA, CORRUPT, LIMIT. */
int td_tensor_take(const struct td_tensor *t, struct td_raw *ret, const char *key, const void *record,
    size_t bytes, const void *data, size_t len, uint64_t max_pixels, struct tundish_error *e);
