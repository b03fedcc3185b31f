/* SPDX-License-Identifier: BSD-2-Clause
 * Arrays of numbers in records: their type and shape. */
#pragma once
#include "record/beside.h"
#include "tundish.h"

struct td_array {
	enum td_elem elem;
	unsigned n_axes; /* 0: nothing tells a shape that fits */
	uint64_t shape[TD_BESIDE_AXES];
	const uint8_t *data;
	size_t bytes; /* of whole elements */
};

/* The shape that the files beside a set give the array `asked` for, or else that of the
 * usual names; false: none. */
bool td_array_beside(struct td_beside *ret, const char *path, const char *asked);
/* The type that a record gives its array; false: it holds none. */
bool td_array_elem(enum td_elem *ret, const struct tundish_record *r);
/* Whether the feature is an array: the one that is `asked` for, or where none is (NULL), of
 * the usual names of pictures or called NAME/value with NAME/shape beside it. `beside` is the shape that the set
 * gives it where the record does not; NULL. */
bool td_array_take(struct td_array *ret, const struct tundish_record *r, const struct tundish_feature *f,
    enum td_elem elem, const char *asked, const struct td_beside *beside);
