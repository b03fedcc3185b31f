/* SPDX-License-Identifier: BSD-2-Clause
 * Where labels come from: the --labels option, and tables of them. */
#pragma once
#include <regex.h>

#include "base/buf.h"
#include "base/talk.h"
#include "cells.h"

enum td_labels_from {
	TD_LABELS_FOLDER, /* the first folder below the source */
	TD_LABELS_NONE,
	TD_LABELS_CSV,
	TD_LABELS_REGEX,  /* the first group, matched in the path below the source */
	TD_LABELS_JSON,	  /* a side-car beside each file */
};

struct td_labels {
	enum td_labels_from from;
	char *file;	    /* of the table */
	char *path_column, *label_column; /* names or numbers from 1, a key; NULL: found out */
	bool no_labels; /* only the columns are wanted */
	char delimiter;
	char *pattern;
};

/* "folder" (also NULL), "none", "regex:RE", "json[:label=KEY]", or
 * "csv:FILE[,path=COL][,label=COL][,delim=comma|semicolon|tab|CHAR]"; label=none for a
 * table that has none. USAGE. */
int td_labels_parse(struct td_labels *ret, const char *spec, struct tundish_error *e);
void td_labels_free(struct td_labels *labels);

/* Of a regex: as it is matched, with a group at least. USAGE. */
int td_regex_compile(regex_t *ret, const char *pattern, struct tundish_error *e);

/* A row of a table. */
struct td_csv_row {
	const char *path, *label; /* label: "" where the row has none */
	int64_t line;		  /* where it begins, from 1 */
};

struct td_csv {
	struct td_csv_row *rows;
	size_t n;
	struct td_buf text;
	bool numbers; /* each label is a whole number */
	bool labels;  /* there are some */
};

/* Reads all rows of labels->file: RFC 4180, with LF or CRLF, with or without BOM. The
 * first row is a header when it has a cell filename|path|image|file or label|class, or
 * the name of a column that is asked for. `columns` gets a row for each row, of those of
 * its columns that the table has.
 * Errors: USAGE (no such column, not UTF-8 text, bad quoting), NOT_FOUND, IO. */
int td_csv_read(struct td_csv *ret, const struct td_labels *labels, struct td_cells *columns,
    struct tundish_error *e);
/* The same from memory. */
int td_csv_parse(struct td_csv *ret, const struct td_labels *labels, struct td_cells *columns,
    const void *data, size_t len, struct tundish_error *e);
void td_csv_free(struct td_csv *csv);
/* An error of libcsv. */
const char *td_csv_words(int error);
