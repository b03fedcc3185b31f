/* SPDX-License-Identifier: BSD-2-Clause
 * What goes out for each record: the picture, the label, other features. */
#pragma once
#include "base/ledger.h"
#include "record/sample.h"
#include "record/schema.h"

enum td_out_source {
	TD_OUT_IMAGE,
	TD_OUT_LABEL,
	TD_OUT_VALID, /* 1 where a record is, 0 where a row is padded or blank */
	TD_OUT_FEATURE,
};

struct td_out {
	enum td_out_source source;
	char *name;	 /* as it was asked for; of the array */
	char *lengths;	 /* name of the array of lengths; NULL: there is none */
	/* of a feature: */
	char *key;
	int kind;	 /* enum tundish_kind */
	bool ragged;	 /* the number of values, or of steps, differs */
	uint64_t count;	 /* values a record where it does not, or steps */
	uint64_t step;	 /* values in each step of a list of SequenceExamples; 0: a feature */
	size_t row_bytes;/* of what has a fixed size; 0: none */
};

/* What the records looked at hold: features, lists of SequenceExamples by their steps, and the
 * steps of these by their values. */
struct td_seen {
	struct td_schema features, lists, steps;
};

/* Without `select` picture and label, under these names. */
struct td_outs {
	struct td_out *list;
	unsigned n, n_arrays;
	unsigned classes; /* labels go out as so many floats; 0: as int64 */
	size_t row_bytes; /* of all fixed ones, pictures and plain labels not counted */
	size_t loose_bytes; /* the most that a record looked at had of the others */
};

/* Room for one of them in a batch: rows of a fixed size, or a buffer for each row, from
 * which all are brought to one length when the batch is complete. */
struct td_column {
	uint8_t *fixed;
	struct td_buf *loose, packed, lengths;
};

/* `text` is that of the operation: NAME[=ragged|=N|=bytes], separated by commas; or NULL.
 * Names may also be separated by slashes where nothing in `seen` has such a name.
 * `keys` says what picture and label are called, NULL where there is none. Errors: USAGE. */
int td_outs_open(struct td_outs *ret, const char *text, size_t len, const struct td_keys *keys,
    const struct td_seen *seen, struct tundish_error *e);
bool td_outs_have(const struct td_outs *outs, enum td_out_source source);
void td_outs_close(struct td_outs *outs);

/* Columns for batches of so many rows; NULL without memory. */
struct td_column *td_columns_new(const struct td_outs *outs, unsigned rows, struct td_ledger *l);
void td_columns_free(struct td_column *columns, const struct td_outs *outs, unsigned rows);

/* Takes the features from an Example. What is wrong with it is the error. */
int td_columns_read(struct td_column *columns, const struct td_outs *outs, unsigned row,
    const void *example, size_t bytes, struct td_ledger *l, struct tundish_error *e);
/* The row is valid, and the label as classes: SCHEMA when there are not so many. */
int td_columns_label(struct td_column *columns, const struct td_outs *outs, unsigned row,
    int64_t label, struct tundish_error *e);
/* Zeros, and nothing where lengths differ. */
void td_columns_blank(struct td_column *columns, const struct td_outs *outs, unsigned row);
/* Row `from` becomes row `to`; what was there is where `from` was. */
void td_columns_move(struct td_column *columns, const struct td_outs *outs, unsigned to,
    unsigned from);
/* Brings all rows to one length. LIMIT when that is over the ledger's budget. */
int td_columns_pack(struct td_column *columns, const struct td_outs *outs, unsigned rows,
    struct td_ledger *l, struct tundish_error *e);
/* The arrays of column i: 1 or 2. For features, and for labels as classes. */
unsigned td_columns_arrays(const struct td_column *columns, const struct td_outs *outs, unsigned i,
    unsigned rows, struct tundish_array *ret);
