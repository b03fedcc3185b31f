/* SPDX-License-Identifier: BSD-2-Clause
 * Mean and deviation of channels from a file of statistics, for normalize. */
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "optable.h"

#define STATISTICS_MAX ((uint64_t)1 << 20)
/* float32 holds it and one by it */
#define MOST 1e37

/* A list of numbers from `least` on, one for each channel. */
static bool read_channels(const json_t *root, const char *key, double least, struct td_numbers *ret)
{
	const json_t *list = json_object_get(root, key);
	size_t n = json_array_size(list);
	if (n == 0 || n > TD_LIST_MOST || !(ret->list = malloc(n * sizeof *ret->list)))
		return false;
	for (ret->n = 0; ret->n < n; ret->n++) {
		const json_t *v = json_array_get(list, ret->n);
		if (!json_is_number(v) || !(json_number_value(v) >= least && json_number_value(v) <= MOST))
			return false;
		ret->list[ret->n] = json_number_value(v);
	}
	return true;
}

bool td_normalize_file(struct td_op *op, const char *path, size_t len)
{
	struct td_numbers mean = { 0 }, std = { 0 };
	char *name = strndup(path, len);
	json_t *root = name ? td_json_read(name, STATISTICS_MAX, 0, NULL) : NULL;
	bool ok = !op->mean.n && !op->std.n && read_channels(root, "mean", -MOST, &mean) &&
	    read_channels(root, "std", 1 / MOST, &std) && mean.n == std.n;
	if (ok) {
		op->mean = mean;
		op->std = std;
		op->preset = TD_NORMALIZE_FILE;
	} else {
		free(mean.list);
		free(std.list);
	}
	json_decref(root);
	free(name);
	return ok;
}
