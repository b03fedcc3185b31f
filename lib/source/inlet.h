/* SPDX-License-Identifier: BSD-2-Clause
 * Bytes of a pipe or file from its start on, unpacked where they are gzip. */
#pragma once
#include <sys/types.h>

#include "tundish.h"

struct td_inlet;
/* "-" is standard input. Errors: NOT_FOUND, IO, MEMORY. */
int td_inlet_open(struct td_inlet **ret, const char *path, const struct tundish_listener *l, struct tundish_error *e);
/* Up to `bytes` more, 0 at the end. Where damage begins, all before it was given; then
 * CORRUPT or TRUNCATED, a reason without the path. While nothing comes the listener is
 * asked: STOPPED. */
ssize_t td_inlet_read(void *inlet, void *out, size_t bytes, struct tundish_error *e);
/* Bytes read so far, packed ones where it is packed. */
uint64_t td_inlet_position(const struct td_inlet *in);
void td_inlet_close(struct td_inlet *in);
