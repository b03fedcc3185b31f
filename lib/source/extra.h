/* SPDX-License-Identifier: BSD-2-Clause
 * Features of a record besides the item itself, its name and its class. */
#pragma once
#include <jansson.h>

#include "base/buf.h"
#include "record/example.h"

/* The features of one item, copied into memory that is recycled. Zeroed memory has none;
 * td_extras_reset() empties it. All that add return false without memory. */
struct td_extras {
	struct td_buf data;
	struct td_extra {
		int kind; /* enum tundish_kind */
		size_t key, values, n; /* where in data */
		size_t step; /* as in struct td_field */
		bool doubles;
	} *list;
	size_t n, cap;
};
void td_extras_reset(struct td_extras *x);
void td_extras_free(struct td_extras *x);
bool td_extra_ints(struct td_extras *x, const char *key, const int64_t *values, size_t n) td_must_check;
bool td_extra_floats(struct td_extras *x, const char *key, const float *values, size_t n) td_must_check;
bool td_extra_bytes(struct td_extras *x, const char *key, const struct td_bytes *values, size_t n) td_must_check;
/* Records have no such numbers: they are bytes, raw and little-endian. */
bool td_extra_doubles(struct td_extras *x, const char *key, const double *values, size_t n) td_must_check;
/* All values of v, a list or one by itself, as that kind; what is no text is an empty one. */
bool td_extra_json(struct td_extras *x, const char *key, int kind, const json_t *v) td_must_check;
bool td_extra_text(struct td_extras *x, const char *key, const char *text) td_must_check;
/* The last one that was added has so many values for each frame. */
void td_extra_step(struct td_extras *x, size_t values);
/* Feature number i, good until more are added. */
struct td_field td_extra_field(struct td_extras *x, size_t i);

/* What features a file's items will have, known before they are read: metadata name
 * those that all items of a set have alike. */
struct td_specs {
	struct td_spec {
		char *key;
		int kind;
		int64_t length; /* values a record, or -1 where it differs */
		bool doubles;	/* that many of them, in one value of raw bytes */
		uint32_t columns; /* of a table with a row a frame; 0: none */
	} *list;
	size_t n, cap;
	bool met; /* by td_specs_meet(): an empty list means that nothing is common */
};
bool td_specs_add(struct td_specs *s, const char *key, int kind, int64_t length) td_must_check;
/* What one item's extras are. */
bool td_specs_of(struct td_specs *s, const struct td_extras *x) td_must_check;
/* Leaves in `all` what both have, the shorter list's memory is freed. */
void td_specs_meet(struct td_specs *all, struct td_specs *more);
void td_specs_free(struct td_specs *s);
