/* SPDX-License-Identifier: BSD-2-Clause
 * Names that came before, in bounded memory. */
#pragma once
#include <stdbool.h>

#include "base/talk.h"

/* Hashes alone are kept: 16 bytes a name. When they take more than `most` no more names are
 * taken up. Zeroed memory but for that has none. */
struct td_seen {
	uint64_t *slots; /* a hash, or 0 */
	size_t n, cap, most;
	uint64_t twice;
	char *first; /* the first name that came again */
};
bool td_seen_add(struct td_seen *s, const char *name) td_must_check;
/* Says how many names of an archive came twice, if any, and forgets all. */
void td_seen_tell(struct td_seen *s, const char *archive, const struct tundish_listener *l);
void td_seen_free(struct td_seen *s);
