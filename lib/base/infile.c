/* SPDX-License-Identifier: BSD-2-Clause
 * Reading whole files and first bytes, of regular files only. */
#include "infile.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "err.h"

static int fail(struct tundish_error *e, int number)
{
	char why[128];
	int code = td_err_errno(NULL, number, "%s", "");
	return td_err(e, code, "%s", strerror_r(number, why, sizeof why));
}

int td_open_file(const char *path, uint64_t *ret_bytes, struct tundish_error *e)
{
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return fail(e, errno);
	int rc = fstat(fd, &st) != 0 ? fail(e, errno) : 0;
	if (rc == 0 && !S_ISREG(st.st_mode))
		rc = td_err(e, TUNDISH_E_UNSUPPORTED, "not a regular file");
	if (rc < 0) {
		close(fd);
		return rc;
	}
	if (ret_bytes)
		*ret_bytes = (uint64_t)st.st_size;
	return fd;
}

int64_t td_pread(int fd, void *out, size_t bytes, uint64_t offset)
{
	size_t got = 0;
	while (got < bytes) {
		ssize_t n = pread(fd, (char *)out + got, bytes - got, (off_t)(offset + got));
		if (n == 0)
			break;
		if (n < 0 && errno != EINTR)
			return -errno;
		got += n > 0 ? (size_t)n : 0;
	}
	return (int64_t)got;
}

int64_t td_read_at(int fd, void *out, size_t bytes, uint64_t offset, struct tundish_error *e)
{
	int64_t n = td_pread(fd, out, bytes, offset);
	return n < 0 ? fail(e, (int)-n) : n;
}

int64_t td_read_head(const char *path, void *out, size_t bytes)
{
	int fd = td_open_file(path, NULL, NULL);
	int64_t n = fd < 0 ? fd : td_read_at(fd, out, bytes, 0, NULL);
	if (fd >= 0)
		close(fd);
	return n;
}

int td_read_file(struct td_buf *out, const char *path, uint64_t max_bytes, struct tundish_error *e)
{
	uint64_t bytes;
	int fd = td_open_file(path, &bytes, e);
	if (fd < 0)
		return fd;
	int rc = 0;
	if (bytes > max_bytes || bytes > SIZE_MAX / 2)
		rc = td_err(e, TUNDISH_E_LIMIT, "file of %" PRIu64 " bytes; the limit is %" PRIu64,
		    bytes, max_bytes);
	else if (!td_buf_fit(out, (size_t)bytes))
		rc = td_err_memory(e);
	int64_t got = rc ? rc : td_read_at(fd, out->data, (size_t)bytes, 0, e);
	close(fd);
	if (got < 0)
		return (int)got;
	if ((uint64_t)got < bytes)
		return td_err(e, TUNDISH_E_TRUNCATED, "file shrank while it was read");
	out->len = (size_t)bytes;
	return 0;
}

int td_read_named(struct td_buf *out, const char *path, uint64_t max_bytes, struct tundish_error *e)
{
	struct tundish_error why;
	int rc = td_read_file(out, path, max_bytes, &why);
	if (rc == 0)
		return 0;
	if (rc == TUNDISH_E_UNSUPPORTED || rc == TUNDISH_E_LIMIT)
		rc = TUNDISH_E_IO;
	return td_err(e, rc, "%s: %s", TD_ESC(path), why.text);
}
