/* SPDX-License-Identifier: BSD-2-Clause
 * Where the gzip members of a shard start, as the tundish.json beside it says. */
#pragma once
#include "input.h"
#include "packed.h"

struct td_metadata;

/* The last of these places, by number, that is not behind a record; the start where none is. */
struct td_mark td_mark_before(const struct td_mark *marks, size_t n, uint64_t number);

/* 1 and the members, by number, to be freed (none where it says that there are no records);
 * 0 when tundish.json does not tell them or does not fit the file (then a notice): the size
 * of the file is not the one noted, or no member starts at the first, the last or one of 8
 * drawn places. Errors: MEMORY. */
int td_members_sidecar(struct td_mark **ret, size_t *ret_n, const char *path, struct td_input *in,
    struct td_metadata *m, const struct tundish_listener *l, struct tundish_error *e);
