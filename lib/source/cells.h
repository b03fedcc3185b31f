/* SPDX-License-Identifier: BSD-2-Clause
 * Columns of a table, or values of side-cars, that become features of the records. */
#pragma once
#include "base/talk.h"
#include "extra.h"

/*
 * Values are kept as text, a few bytes each, since what kind a column is shows only in
 * all its rows: whole numbers, else numbers, else text. Numbers become int64 or float
 * features (float32, as records have them). A cell of a number column that is empty has
 * no value: its record lacks the feature.
 */
enum td_cells_kind {
	TD_CELLS_AUTO,
	TD_CELLS_INT,
	TD_CELLS_FLOAT,
	TD_CELLS_TEXT,
};

struct td_cells_column {
	char *name;
	enum td_cells_kind kind; /* as asked for; td_cells_settle() finds it */
	bool found;	/* the table has it */
	bool feature;	/* else it only tells groups apart */
	/* what the values are so far */
	bool no_int, no_real, gaps, any;
	int64_t length; /* of all rows, -1 where it differs */
};

/* Zeroed memory has no columns. Rows are counted from 0. */
struct td_cells {
	struct td_cells_column *list;
	size_t n;
	size_t group; /* the column that tells groups apart + 1; 0: none */
	struct td_buf text;
	size_t *cells; /* of each row n places in the text; 0: no value */
	size_t cells_cap, rows;
};

/* "A,B:int,C:float,D:text"; `group` may be one of them or another, either may be NULL. */
int td_cells_parse(struct td_cells *ret, const char *spec, const char *group, struct tundish_error *e);
void td_cells_free(struct td_cells *c);

/* Begins a row; then its values, in any order. `text`: they are no numbers, whatever
 * they look like. */
bool td_cells_row(struct td_cells *c) td_must_check;
bool td_cells_set(struct td_cells *c, size_t column, const struct td_bytes *values, size_t n, bool text)
    td_must_check;

/* All rows are there: the kinds. */
void td_cells_settle(struct td_cells *c);
/* The first value of a row's cell, "" for none. */
const char *td_cells_text(const struct td_cells *c, size_t row, size_t column);
/* The features of a row. SCHEMA for a value that is not of the kind asked for. */
int td_cells_extras(const struct td_cells *c, size_t row, struct td_extras *x, struct tundish_error *e);
/* Those that each row has. */
bool td_cells_specs(const struct td_cells *c, struct td_specs *specs) td_must_check;
/* A checksum of all values, to see whether they have changed. */
uint32_t td_cells_crc(const struct td_cells *c);
