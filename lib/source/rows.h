/* SPDX-License-Identifier: BSD-2-Clause
 * The rows of a table by the names of files, for items that come one by one. */
#pragma once
#include "labels.h"

struct td_rows;
/* The table must outlive it. */
int td_rows_new(struct td_rows **ret, const struct td_csv *csv, struct tundish_error *e);
void td_rows_free(struct td_rows *r);
/* The row that names a file below its source, which is marked as used; -1: none does.
 * Where only the Unicode form differs it is the same name. */
int64_t td_rows_find(struct td_rows *r, const char *name);
/* The first row from `from` on that nothing was found for, -1 when there is none. `first` is the
 * line of the row that names the same file, or 0. */
int64_t td_rows_unused(const struct td_rows *r, size_t from, int64_t *ret_first);
/* Names that were found in another Unicode form only. */
uint64_t td_rows_renormalised(const struct td_rows *r);
