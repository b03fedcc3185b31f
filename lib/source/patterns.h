/* SPDX-License-Identifier: BSD-2-Clause
 * Sources that are patterns: what the shell was kept from expanding. */
#pragma once
#include <glob.h>

#include "tundish.h"

/* Zeroed is empty. */
struct td_patterns {
	const char **list;
	size_t n, cap;
	glob_t *globs; /* own the matches */
	size_t n_globs, globs_cap;
};

/* Each source that there is stays; one that is not there becomes all that match it, in
 * bytewise order, or stays where nothing does. IO, MEMORY. */
int td_patterns_expand(struct td_patterns *ret, const char *const *sources, size_t n, struct tundish_error *e);
void td_patterns_free(struct td_patterns *p);
