/* SPDX-License-Identifier: BSD-2-Clause
 * Writing Examples: keys sorted, lists packed, the same bytes as TensorFlow's
 * deterministic serialisation. Reading is in tundish.h. */
#pragma once
#include "buf.h"
#include "tundish.h"

struct td_bytes {
	const void *data;
	size_t len;
};

struct td_field {
	const char *key;
	int kind; /* enum tundish_kind */
	size_t n;
	union {
		const struct td_bytes *bytes;
		const float *floats;
		const int64_t *ints;
	};
};

/* Appends the serialised Example to out. Fields may come in any order, keys are
 * unique. LIMIT when it would be over max_bytes ("record would be N bytes; the limit
 * is M"), before anything is written or allocated. */
int td_example_encode(struct td_buf *out, const struct td_field *fields, size_t n,
    uint64_t max_bytes, struct tundish_error *e);
