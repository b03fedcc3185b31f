/* SPDX-License-Identifier: BSD-2-Clause
 * Members of a gzip file, inflated on threads before it is their turn. */
#pragma once
#include "base/attr.h"
#include "tundish.h"

struct td_window;

/*
 * Members do not need each other, and a file of many (as tundish writes them, cut at
 * records) tells by their headers where they begin. So the bytes from one header to the
 * next are taken for a member and inflated ahead. Only one that turns out whole and right
 * is used; everything else, a header that was none, damage, a member too large, is left to
 * whoever reads the file in order. So what comes out is what reading in order gives.
 */
struct td_ahead;

#define TD_AHEAD_THREADS 8u
/* What the members on their way hold, before and after inflation. */
static inline uint64_t td_ahead_bytes(unsigned threads)
{
	return threads < 2 ? 0 : (uint64_t)2 * (TD_MIN(threads, TD_AHEAD_THREADS) + 1) << 20;
}

/* `raw` is over a regular file: its read function is called from here too, by the caller's
 * thread alone. `threads` count the caller's; threads are started when two members are
 * found in a row. Errors: MEMORY. */
int td_ahead_open(struct td_ahead **ret, const struct td_window *raw, unsigned threads,
    struct tundish_error *e);
void td_ahead_close(struct td_ahead *a);

/* The member that starts at `at` of the file, behind the one asked for last: 1, what it
 * inflates to (valid until the next call), and where it ends; 0: not known. */
int td_ahead_member(struct td_ahead *a, uint64_t at, const uint8_t **ret_data, size_t *ret_bytes,
    uint64_t *ret_end);

/* Before going elsewhere in the file. */
void td_ahead_forget(struct td_ahead *a);
