/* SPDX-License-Identifier: BSD-2-Clause
 * Arrays of numbers in records: their type and shape. */
#include "array.h"

#include <string.h>

#include "base/err.h"
#include "media/image.h"
#include "record/sample.h"

bool td_array_beside(struct td_beside *ret, const char *path, const char *asked)
{
	if (asked)
		return td_beside_tensor(ret, path, asked);
	for (size_t i = 0; i < TD_KEYS; i++) {
		if (td_beside_tensor(ret, path, td_image_keys[i]))
			return true;
	}
	return false;
}

bool td_array_elem(enum td_elem *ret, const struct tundish_record *r)
{
	struct tundish_feature f;
	const uint8_t *data;
	size_t bytes;
	return tundish_example_find(r->data, r->bytes, "dtype", 5, &f) == 1 && f.kind == TUNDISH_BYTES &&
	    tundish_feature_bytes(&f, 0, &data, &bytes) == 1 && td_elem_named(ret, (const char *)data, bytes);
}

/* The shape beside "NAME/value"; false when the feature is called otherwise. */
static bool own_shape(struct td_array *ret, const struct tundish_record *r, const struct tundish_feature *f)
{
	static const char end[] = "/value";
	size_t n = sizeof end - 1;
	char key[256];
	struct tundish_feature shape;
	int64_t side;
	if (f->key_bytes < n || f->key_bytes > sizeof key || memcmp(f->key + f->key_bytes - n, end, n) != 0)
		return false;
	memcpy(key, f->key, f->key_bytes);
	memcpy(key + f->key_bytes - n, "/shape", n);
	if (tundish_example_find(r->data, r->bytes, key, f->key_bytes, &shape) != 1 || shape.kind != TUNDISH_INT64 ||
	    shape.count == 0 || shape.count > TD_BESIDE_AXES)
		return false;
	ret->n_axes = (unsigned)shape.count;
	for (unsigned i = 0; i < ret->n_axes; i++) {
		if (tundish_feature_int64(&shape, i, &side) != 1 || side < 0)
			return false;
		ret->shape[i] = (uint64_t)side;
	}
	return true;
}

static bool fits(const struct td_array *a)
{
	uint64_t all = td_elem_bytes(a->elem);
	bool over = false;
	for (unsigned i = 0; i < a->n_axes; i++)
		over |= td_mul_overflow(all, a->shape[i], &all);
	return !over && all == a->bytes;
}

bool td_array_take(struct td_array *ret, const struct tundish_record *r, const struct tundish_feature *f,
    enum td_elem elem, const char *asked, const struct td_beside *beside)
{
	struct td_array a = { .elem = elem };
	bool own = own_shape(&a, r, f);
	bool named = (own && !asked) || td_key_rank(f->key, f->key_bytes, asked, td_image_keys) >= 0;
	if (f->kind != TUNDISH_BYTES || f->count != 1 || !named ||
	    tundish_feature_bytes(f, 0, &a.data, &a.bytes) != 1 ||
	    td_image_probe(a.data, a.bytes) != TD_IMAGE_NONE || a.bytes % td_elem_bytes(elem))
		return false;
	if (!own && beside) {
		a.n_axes = beside->n_axes;
		memcpy(a.shape, beside->shape, sizeof a.shape);
	}
	if (!fits(&a))
		a.n_axes = 0;
	*ret = a;
	return true;
}
