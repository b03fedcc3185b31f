/* SPDX-License-Identifier: BSD-2-Clause
 * Tables of text that line up on a terminal. */
#pragma once
#include "buf.h"

/* Set columns and align ("lrr": left or right, a letter a column); the rest zeroed. */
struct td_table {
	unsigned columns;
	const char *align;
	struct td_buf cells; /* each with its NUL */
	size_t n;
};

/* Adds the next cell: rows fill from left to right. */
bool td_table_cell(struct td_table *t, const char *fmt, ...) td_printf_like(2, 3) td_must_check;
/* Appends all whole rows, each after `indent` blanks, two blanks between columns, no
 * blanks at line ends; empties the table in any case. */
bool td_table_print(struct td_table *t, struct td_buf *out, unsigned indent) td_must_check;
void td_table_free(struct td_table *t);
