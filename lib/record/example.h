/* SPDX-License-Identifier: BSD-2-Clause
 * Writing Examples: keys sorted, lists packed, the same bytes as TensorFlow's
 * deterministic serialisation. Reading is in tundish.h; here is what it is made of. */
#pragma once
#include "base/buf.h"
#include "tundish.h"
#include "wire.h"

/* Walks the map entries of an Example without looking into their values: 1, with the
 * key in ret_key, 0 at the end, or CORRUPT. Start with .all. */
struct td_entries {
	struct td_span all, features;
};
int td_entries_next(struct td_entries *it, struct tundish_feature *ret_key, struct td_span *ret_entry);

/* The Feature of a map entry; `ret` holds the key already. 0 or CORRUPT. */
int td_feature_of(struct tundish_feature *ret, struct td_span entry);
/* The same for the bytes of a Feature by itself. */
int td_feature_of_message(struct tundish_feature *ret, struct td_span feature);

/* The values of a feature one after another, in one pass. The kind must fit. */
struct td_values {
	int kind;
	struct td_span packed, list, value, entry;
};
void td_values_start(struct td_values *v, const struct tundish_feature *f);
bool td_values_int64(struct td_values *v, int64_t *ret);
bool td_values_float(struct td_values *v, float *ret);
bool td_values_bytes(struct td_values *v, const uint8_t **ret_data, size_t *ret_bytes);

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
	size_t step; /* in a SequenceExample: values a step of its feature list; 0: context */
};

/* Appends the serialised Example to out. Fields may come in any order, keys are
 * unique. LIMIT when it would be over max_bytes ("record would be N bytes; the limit
 * is M"), before anything is written or allocated. */
int td_example_encode(struct td_buf *out, const struct td_field *fields, size_t n,
    uint64_t max_bytes, struct tundish_error *e);

/* The same as a SequenceExample: fields with a step become feature lists. */
int td_sequence_encode(struct td_buf *out, const struct td_field *fields, size_t n,
    uint64_t max_bytes, struct tundish_error *e);

/* Appends an Example anew with one bytes value under `key`, or with NULL without the key:
 * other entries are copied as they are, in their order, and the new one stands before the
 * first greater key. CORRUPT when it is no Example, LIMIT as above. */
int td_example_replace(struct td_buf *out, const void *example, size_t bytes, const char *key,
    const struct td_bytes *value, uint64_t max_bytes, struct tundish_error *e);
