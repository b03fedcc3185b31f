/* SPDX-License-Identifier: BSD-2-Clause
 * Decompression of record files, and the way past damaged pieces of them. */
#pragma once
#include "window.h"

struct td_unpack;

/* Why decompressed bytes stop. */
struct td_break {
	int code;	  /* CORRUPT or TRUNCATED; 0: they end as they should */
	const char *text; /* static */
};

/* Decompresses what `raw` has from its current place on; raw stays the caller's and
 * must outlive it. With more than one thread the members of a gzip file are inflated
 * ahead. Errors: MEMORY, MODULE (built without snappy). */
int td_unpack_open(struct td_unpack **ret, int compression, struct td_window *raw,
    unsigned threads, struct tundish_error *e);
void td_unpack_close(struct td_unpack *u);
/* What it takes, without the members that are inflated ahead. */
size_t td_unpack_memory(const struct td_unpack *u);

/* Up to `bytes` decompressed bytes. 0: here they end or break, see *ret_break; behind
 * a break the next call goes on at the next piece that can be read by itself. */
ssize_t td_unpack_read(struct td_unpack *u, void *out, size_t bytes, struct td_break *ret_break,
    struct tundish_error *e);

/* Where gzip members start: reading can begin at any of them. */
struct td_member {
	uint64_t raw; /* in the file */
	uint64_t out; /* in what it decompresses to */
};

/* From here on members are noted, but of any 256 KiB of output one only. */
void td_unpack_note_members(struct td_unpack *u);
/* The member noted that starts where the decompressed bytes reach `out`; NULL. */
const struct td_member *td_unpack_member_at(const struct td_unpack *u, uint64_t out);
/* Starts again at a member of the raw window, which is over a regular file. */
void td_unpack_restart(struct td_unpack *u, struct td_member at);

/* Is this the beginning of a gzip member? 4 bytes are looked at. */
static inline bool td_gzip_header(const uint8_t *p)
{
	return p[0] == 0x1f && p[1] == 0x8b && p[2] == 8 && (p[3] & 0xe0) == 0;
}
/* The first such place in these bytes, or NULL. */
const uint8_t *td_gzip_find(const uint8_t *p, size_t bytes);

/* Which compression the first bytes of a file tell: their first decompressed bytes
 * are a good frame's header, or they are gzip. TUNDISH_NONE when none fits. */
int td_unpack_recognise(const uint8_t *data, size_t bytes);
