/* SPDX-License-Identifier: BSD-2-Clause
 * Where the gzip members of a shard start, as the tundish.json beside it says. */
#pragma once
#include "input.h"

/* A place in a file where reading can begin. */
struct td_mark {
	uint64_t number; /* of the record that starts there */
	uint64_t offset; /* of its frame, in what the file decompresses to */
	uint64_t raw;	 /* of the gzip member, in the file; 0 where it is not compressed */
};

struct td_metadata;

/* 1 and the members, by number, to be freed; 0 when tundish.json does not tell them or
 * does not fit the file (then a notice): the size of the file is not the one noted, or
 * no member starts at the first, the last or one of 8 drawn places. Errors: MEMORY. */
int td_members_sidecar(struct td_mark **ret, size_t *ret_n, const char *path, struct td_input *in,
    struct td_metadata *m, const struct tundish_listener *l, struct tundish_error *e);
