/* SPDX-License-Identifier: BSD-2-Clause
 * What files say of themselves, once for all of a set. */
#pragma once
#include <jansson.h>
#include <stdbool.h>

#include "base/attr.h"

/* What all files say alike stands in `common`, the rest by file. Zeroed memory is empty. */
struct td_about {
	json_t *common, *files;
	size_t n;    /* files */
};
#define TD_ABOUT_FILES 1000 /* of more only what is common is kept */

/* Notes a file's object of members; the reference stays the caller's. */
bool td_about_add(struct td_about *a, const char *name, const json_t *said) td_must_check;
/* Whether any file has that member. */
bool td_about_has(const struct td_about *a, const char *key);
/* {"files": N, "common": {...}, "differing": {NAME: {...}}}; NULL when there is nothing
 * (or no memory). A new reference. */
json_t *td_about_json(const struct td_about *a);
void td_about_free(struct td_about *a);
