/* SPDX-License-Identifier: BSD-2-Clause
 * Bytes at rest. */
#include "bytes.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/infile.h"

int td_bytes_open(struct td_bytes *ret, const char *path, struct tundish_error *e)
{
	uint64_t size;
	int fd = td_open_file(path, &size, e);
	if (fd < 0)
		return fd;
	*ret = (struct td_bytes){ .fd = fd, .size = size };
	return 0;
}

struct td_bytes td_bytes_memory(const void *data, size_t len)
{
	return (struct td_bytes){ .data = data ? data : (const uint8_t *)"", .fd = -1, .size = len };
}

void td_bytes_close(struct td_bytes *b)
{
	if (!b->data && b->fd >= 0)
		close(b->fd);
	b->fd = -1;
}

int td_bytes_read(const struct td_bytes *b, void *out, size_t bytes, uint64_t offset,
    struct tundish_error *e)
{
	int64_t got = 0;
	if (b->data) {
		got = (int64_t)TD_MIN((uint64_t)bytes, offset < b->size ? b->size - offset : 0);
		if (got > 0)
			memcpy(out, b->data + offset, (size_t)got);
	} else {
		got = td_read_at(b->fd, out, bytes, offset, e);
		if (got < 0)
			return (int)got;
	}
	if ((uint64_t)got == bytes)
		return 0;
	return td_err(e, TUNDISH_E_TRUNCATED,
	    "data end early: %zu bytes from byte %" PRIu64 " on, %" PRId64 " are there", bytes,
	    offset, got);
}
