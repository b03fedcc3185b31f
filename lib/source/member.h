/* SPDX-License-Identifier: BSD-2-Clause
 * Reading what a member of an archive holds, by its place. */
#pragma once
#include "archive.h"

/* A .cls, .json or .txt over this is none. */
#define TD_COMPANION_MAX ((uint64_t)16 << 20)

/* All bytes of a member of the archive that is open at fd, into an emptied buffer. Errors
 * are reasons without the path. */
int td_member_read(struct td_buf *out, int fd, const struct td_archived *m, uint64_t max_bytes,
    struct tundish_error *e);
/* The rest of a member that is being read, of which `done` bytes came before, into a file. */
int td_member_pour(int to, const struct td_archiver *a, void *archive, uint64_t done, uint64_t max_bytes,
    struct tundish_error *e);
