/* SPDX-License-Identifier: BSD-2-Clause
 * Results on stdout: JSON that is always valid, and tables that line up. */
#pragma once
#include <jansson.h>
#include <stdint.h>
#include <stdio.h>

#include "base/table.h"

/* Flushes stdout; 0, or the errno of the first flush that failed. */
int out_flush(void);

/* Sets a member; takes over `value`. */
void out_set(json_t *object, const char *key, json_t *value);
void out_set_count(json_t *object, const char *key, uint64_t n);
/* Text as it is where that is UTF-8, else escaped (\xe9). */
void out_set_text(json_t *object, const char *key, const char *text);
/* Writes text that may or may not end with a newline, and then one. */
void out_lines(const char *text);
/* Writes a path or another odd text to stdout, control characters escaped. */
void out_escaped(const char *text);
/* Writes it, indented, to stdout; drops the reference. */
void out_json(json_t *value);

/* Prints the table and frees it. */
void out_table(struct td_table *t, FILE *to);
/* Adds a cell; the program ends where there is no memory for it. */
void out_cell(struct td_table *t, const char *fmt, ...) td_printf_like(2, 3);
