/* SPDX-License-Identifier: BSD-2-Clause
 * Which features the records of a set have: kinds, numbers of values, what is missing where. */
#pragma once
#include "base/map.h"
#include "tundish.h"

#define TD_SCHEMA_FEATURES 10000 /* more names than this are only counted */

struct td_where {
	const char *path; /* NULL: nowhere */
	uint64_t record;
};

struct td_kind_facts {
	uint64_t records;
	uint64_t least, most; /* values a record; or steps, in a feature list */
	uint64_t empty;	      /* records with none of them */
	const char *first;    /* the first file with it */
};

struct td_feature_facts {
	uint64_t records;
	struct td_kind_facts kinds[4]; /* by enum tundish_kind */
	uint64_t least_bytes, most_bytes; /* of the first value, for bytes */
	struct td_where missing;       /* the first record without it */
	/* the record at hand */
	uint64_t seen; /* its ordinal plus 1 */
	struct tundish_feature now;
};

/* Zeroed is empty. */
struct td_schema {
	struct td_map features; /* name -> struct td_feature_facts */
	uint64_t records, left_out;
	struct td_where first; /* record */
	size_t *steady, n_steady, steady_cap;	 /* features that no record lacked so far */
	size_t *touched, n_touched, touched_cap; /* by the record at hand */
};

/* A feature of the record at hand; of duplicates the last one counts. */
bool td_schema_feature(struct td_schema *s, const struct tundish_feature *f) td_must_check;
/* The record at hand is complete; the features' bytes must still be there. */
bool td_schema_record(struct td_schema *s, const char *path, uint64_t record) td_must_check;
/* Adds what `part` found in the next file and empties it. */
bool td_schema_merge(struct td_schema *s, struct td_schema *part) td_must_check;
/* Raises the numbers of all records in it. */
void td_schema_renumber(struct td_schema *s, uint64_t by);
/* Feature numbers in bytewise order of their names; to be freed. */
size_t *td_schema_sorted(const struct td_schema *s) td_must_check;
void td_schema_free(struct td_schema *s);

static inline const struct td_feature_facts *td_schema_facts(const struct td_schema *s, size_t i)
{
	return td_map_value(&s->features, i);
}

const char *td_kind_name(int kind);
