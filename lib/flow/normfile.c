/* SPDX-License-Identifier: BSD-2-Clause
 * Mean and deviation of channels from a file of statistics, for normalize. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/infile.h"
#include "optable.h"

#define STATISTICS_MAX ((uint64_t)1 << 20)

/* Three numbers from `least` on. */
static bool read_channels(const json_t *root, const char *key, double least, double ret[3])
{
	const json_t *list = json_object_get(root, key);
	if (json_array_size(list) != 3)
		return false;
	for (size_t c = 0; c < 3; c++) {
		const json_t *v = json_array_get(list, c);
		if (!json_is_number(v) || !(json_number_value(v) >= least && json_number_value(v) <= 1e9))
			return false;
		ret[c] = json_number_value(v);
	}
	return true;
}

bool td_normalize_file(struct td_op *op, const char *path, size_t len)
{
	struct td_buf text = { 0 };
	char *name = strndup(path, len);
	double mean[3], std[3];
	json_t *root = NULL;
	if (name && td_read_file(&text, name, STATISTICS_MAX, NULL) == 0)
		root = json_loadb((const char *)text.data, text.len, 0, NULL);
	bool ok = read_channels(root, "mean", -1e9, mean) && read_channels(root, "std", 1e-9, std);
	if (ok) {
		memcpy(op->mean, mean, sizeof mean);
		memcpy(op->std, std, sizeof std);
	}
	json_decref(root);
	td_buf_free(&text);
	free(name);
	return ok;
}
