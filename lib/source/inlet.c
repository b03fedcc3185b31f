/* SPDX-License-Identifier: BSD-2-Clause
 * Bytes of a pipe or file from its start on, unpacked where they are gzip. */
#include "inlet.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/talk.h"
#include "record/input.h"
#include "record/unpack.h"

struct td_inlet {
	struct td_input in;
	struct td_window raw;
	struct td_unpack *unpack; /* NULL: bytes as they are */
	const struct tundish_listener *listener;
};

static ssize_t read_raw(void *ctx, uint64_t offset, void *out, size_t bytes, struct tundish_error *e)
{
	struct td_inlet *in = ctx;
	struct pollfd p = { .fd = in->in.fd, .events = POLLIN };
	do
		if (td_stopped(in->listener))
			return td_err(e, TUNDISH_E_STOPPED, "stopped");
	while (poll(&p, 1, 100) == 0);
	return td_input_read(&in->in, offset, out, bytes, e);
}

/* A named pipe may have no writer yet, and opening it would wait for one without an end. */
static int open_input(struct td_input *ret, const char *path, struct tundish_error *e)
{
	struct stat st;
	if (stat(path, &st) != 0 || !S_ISFIFO(st.st_mode))
		return td_input_open(ret, path, e);
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0 || fcntl(fd, F_SETFL, 0) != 0) {
		int number = errno;
		if (fd >= 0)
			close(fd);
		return td_err_errno(e, number, "%s", TD_ESC(path));
	}
	*ret = (struct td_input){ .fd = fd, .owned = true, .size = TD_SIZE_UNKNOWN, .name = path };
	return 0;
}

int td_inlet_open(struct td_inlet **ret, const char *path, const struct tundish_listener *l, struct tundish_error *e)
{
	struct td_inlet *in = calloc(1, sizeof *in);
	if (!in)
		return td_err_memory(e);
	int rc = open_input(&in->in, path, e);
	if (rc < 0) {
		free(in);
		return rc;
	}
	in->listener = l;
	in->raw = (struct td_window){ .size = in->in.size, .read = read_raw, .ctx = in };
	rc = td_window_fill(&in->raw, 4, TD_WINDOW_MIN, e);
	if (rc == 0 && td_window_have(&in->raw) >= 4 && memcmp(td_window_here(&in->raw), "\x1f\x8b\x08", 3) == 0)
		rc = td_unpack_open(&in->unpack, TUNDISH_GZIP, &in->raw, 1, e);
	if (rc < 0)
		td_inlet_close(in);
	else
		*ret = in;
	return rc;
}

ssize_t td_inlet_read(void *inlet, void *out, size_t bytes, struct tundish_error *e)
{
	struct td_inlet *in = inlet;
	struct td_break broken = { 0 };
	if (in->unpack) {
		ssize_t n = td_unpack_read(in->unpack, out, bytes, &broken, e);
		return n != 0 || broken.code == 0 ? n : td_err(e, broken.code, "%s", broken.text);
	}
	int rc = td_window_fill(&in->raw, 1, TD_WINDOW_MIN, e);
	if (rc < 0)
		return rc;
	size_t n = TD_MIN(bytes, td_window_have(&in->raw));
	memcpy(out, td_window_here(&in->raw), n);
	in->raw.at += n;
	return (ssize_t)n;
}

uint64_t td_inlet_position(const struct td_inlet *in)
{
	return td_window_offset(&in->raw);
}

void td_inlet_close(struct td_inlet *in)
{
	if (!in)
		return;
	td_unpack_close(in->unpack);
	td_buf_free(&in->raw.buf);
	td_input_close(&in->in);
	free(in);
}
