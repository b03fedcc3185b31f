/* SPDX-License-Identifier: BSD-2-Clause
 * Bytes at rest, read at any offset: an open file, or memory. */
#pragma once
#include "base/attr.h"
#include "tundish.h"

struct td_bytes {
	const uint8_t *data; /* the caller's memory, or NULL: fd */
	int fd;
	uint64_t size;
};

int td_bytes_open(struct td_bytes *ret, const char *path, struct tundish_error *e);
struct td_bytes td_bytes_memory(const void *data, size_t len);
void td_bytes_close(struct td_bytes *b);
/* All of them, or TRUNCATED. Any thread. */
int td_bytes_read(const struct td_bytes *b, void *out, size_t bytes, uint64_t offset,
    struct tundish_error *e);
