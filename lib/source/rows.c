/* SPDX-License-Identifier: BSD-2-Clause
 * The rows of a table by the names of files, for items that come one by one. */
#include "rows.h"

#include <stdlib.h>
#include <string.h>

#include "assign.h"
#include "base/err.h"
#include "base/map.h"
#include "base/path.h"

struct td_rows {
	const struct td_csv *csv;
	struct td_map names;	/* a path of the table -> uint32_t row */
	struct td_map composed; /* the same in NFC, of those that are not plain ASCII */
	bool *used;
	uint32_t *twin; /* the row that names the same file + 1 */
	uint64_t renormalised;
};

static bool index_row(struct td_rows *r, uint32_t row)
{
	char *path = strdup(r->csv->rows[row].path);
	if (!path)
		return false;
	td_path_tidy(path);
	size_t known = r->names.n;
	uint32_t *at = td_map_at(&r->names, path, strlen(path));
	if (at && r->names.n == known)
		r->twin[row] = *at + 1;
	else if (at)
		*at = row;
	char *nfc = at ? td_name_composed(path) : NULL;
	known = r->composed.n;
	uint32_t *other = nfc ? td_map_at(&r->composed, nfc, strlen(nfc)) : NULL;
	if (other && r->composed.n > known)
		*other = row;
	bool ok = at && (other || !nfc);
	free(nfc);
	free(path);
	return ok;
}

int td_rows_new(struct td_rows **ret, const struct td_csv *csv, struct tundish_error *e)
{
	struct td_rows *r = calloc(1, sizeof *r);
	if (!r)
		return td_err_memory(e);
	*r = (struct td_rows){ .csv = csv, .names.value_bytes = sizeof(uint32_t),
		.composed.value_bytes = sizeof(uint32_t) };
	r->used = calloc(csv->n + 1, sizeof *r->used);
	r->twin = calloc(csv->n + 1, sizeof *r->twin);
	bool ok = r->used && r->twin && csv->n < UINT32_MAX;
	for (size_t i = 0; ok && i < csv->n; i++)
		ok = index_row(r, (uint32_t)i);
	if (!ok) {
		td_rows_free(r);
		return td_err_memory(e);
	}
	*ret = r;
	return 0;
}

void td_rows_free(struct td_rows *r)
{
	if (!r)
		return;
	td_map_free(&r->names);
	td_map_free(&r->composed);
	free(r->used);
	free(r->twin);
	free(r);
}

int64_t td_rows_find(struct td_rows *r, const char *name)
{
	const uint32_t *row = td_map_find(&r->names, name, strlen(name));
	if (!row && r->composed.n) {
		char *nfc = td_name_composed(name);
		row = nfc ? td_map_find(&r->composed, nfc, strlen(nfc)) : NULL;
		r->renormalised += row && !r->used[*row];
		free(nfc);
	}
	if (!row)
		return -1;
	r->used[*row] = true;
	return *row;
}

int64_t td_rows_unused(const struct td_rows *r, size_t from, int64_t *ret_first)
{
	for (size_t i = from; i < r->csv->n; i++) {
		if (r->used[i])
			continue;
		*ret_first = r->twin[i] ? r->csv->rows[r->twin[i] - 1].line : 0;
		return (int64_t)i;
	}
	return -1;
}

uint64_t td_rows_renormalised(const struct td_rows *r)
{
	return r->renormalised;
}
