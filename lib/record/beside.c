/* SPDX-License-Identifier: BSD-2-Clause
 * What features.json in a set's folder says of features of raw bytes. */
#include "beside.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/path.h"

#define FEATURES_MAX ((uint64_t)16 << 20)

/* TFDS writes numbers as text. A side of 0 says as little as an open one: what is wrong is
 * told of the record. */
static bool read_side(const json_t *v, uint64_t *ret)
{
	const char *s = json_string_value(v);
	char *end;
	long long side = s ? strtoll(s, &end, 10) : json_is_integer(v) ? json_integer_value(v) : -2;
	if (side < -1 || (s && *end))
		return false;
	*ret = side < 0 ? 0 : (uint64_t)side;
	return true;
}

static bool read_features(struct td_beside *ret, const json_t *root, const char *key)
{
	const json_t *tensor = json_object_get(json_object_get(json_object_get(json_object_get(root,
	    "featuresDict"), "features"), key), "tensor");
	const json_t *sides = json_object_get(json_object_get(tensor, "shape"), "dimensions");
	const char *dtype = json_string_value(json_object_get(tensor, "dtype"));
	const char *encoding = json_string_value(json_object_get(tensor, "encoding"));
	size_t n = json_array_size(sides);
	struct td_beside b = { .n_axes = (unsigned)n };
	if (!dtype || !encoding || strcmp(encoding, "bytes") != 0 || n == 0 || n > TD_BESIDE_AXES ||
	    !td_elem_named(&b.elem, dtype, strlen(dtype)))
		return false;
	for (size_t i = 0; i < n; i++) {
		if (!read_side(json_array_get(sides, i), &b.shape[i]))
			return false;
	}
	*ret = b;
	return true;
}

bool td_beside_tensor(struct td_beside *ret, const char *path, const char *key)
{
	char *folder = td_path_folder(path);
	json_t *root = folder ? td_json_read_in(folder, "features.json", FEATURES_MAX, 0, NULL) : NULL;
	bool found = read_features(ret, root, key);
	json_decref(root);
	free(folder);
	return found;
}
