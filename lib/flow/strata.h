/* SPDX-License-Identifier: BSD-2-Clause
 * Which records hold which value of a feature. */
#pragma once
#include "files.h"
#include "records.h"

/* Values in their order: numbers by size, texts bytewise. */
struct td_strata {
	unsigned n;
	char **values;	   /* as text */
	uint64_t *first;   /* n + 1: where each one's records begin in `records` */
	uint64_t *records; /* by value, then in the order of the files */
};

/* Reads all records for it, unless they are raw data, whose labels are known. `feature` is "label" for
 * what is fed as label (`label_key`, or the usual names), or a name. A record without one
 * int64 or text there, or that cannot be read, is told as a fault and has no part, with
 * TUNDISH_FAIL it is the error. Errors also USAGE: none has it. */
int td_strata_open(struct td_strata *ret, struct td_records *set, struct td_files *files,
    const char *feature, const struct tundish_flow_options *options, struct tundish_error *e);
void td_strata_free(struct td_strata *s);
