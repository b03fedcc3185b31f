/* SPDX-License-Identifier: BSD-2-Clause
 * Fetching where records can only be read one after the other: pipes, compressed files. */
#pragma once
#include "engine.h"

/* Reads the next few records into a chunk; one thread at a time (f->reading). Lock held,
 * given up while reading. */
void td_stream_fetch(struct tundish_flow *f, unsigned worker);

/* Goes on at a position of the order of all ranks, after the records were looked at. */
void td_stream_start(struct tundish_flow *f, uint64_t epoch, uint64_t position);

/* The next record before the start, kept for the fetch; 1, 0 at the end or when enough
 * have been looked at, or an error. */
int td_stream_peek(struct tundish_flow *f, const uint8_t **ret_data, uint64_t *ret_bytes,
    struct td_spot *ret_spot, struct tundish_error *e);
void td_stream_close(struct tundish_flow *f);
