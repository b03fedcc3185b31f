/* SPDX-License-Identifier: BSD-2-Clause
 * Raw bytes of a record file: a regular file by pread, or a stream. */
#include "input.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/err.h"
#include "base/ring.h"

/* ---- reading ahead ---- */

#define SLOTS 4
#define SLOT_BYTES ((size_t)512 << 10)
#define LEAST_BYTES ((size_t)64 << 10) /* smaller reads are no walk through the file */

/* Reads under way, of places that follow each other, in a circle. */
struct td_input_ahead {
	struct td_ring *ring;
	struct td_read reads[SLOTS];
	unsigned first, n;
	size_t taken;	  /* of the first */
	uint64_t behind;  /* where the last one ends */
	uint8_t data[SLOTS][SLOT_BYTES];
};

static struct td_read *slot(struct td_input_ahead *a, unsigned i)
{
	return &a->reads[(a->first + i) % SLOTS];
}

static void drop_reads(struct td_input_ahead *a)
{
	for (; a->n > 0; a->n--)
		td_ring_finish(a->ring, slot(a, a->n - 1));
	a->taken = 0;
}

static void start_reads(struct td_input *in)
{
	struct td_input_ahead *a = in->ahead;
	while (a->n < SLOTS && a->behind < in->size) {
		struct td_read *read = slot(a, a->n);
		*read = (struct td_read){ .fd = in->fd, .out = a->data[read - a->reads],
			.offset = a->behind,
			.bytes = (size_t)TD_MIN((uint64_t)SLOT_BYTES, in->size - a->behind) };
		td_ring_start(a->ring, read);
		a->behind += read->bytes;
		a->n++;
	}
	td_ring_submit(a->ring);
}

static bool open_ahead(struct td_input *in)
{
	in->ahead = malloc(sizeof *in->ahead);
	struct td_ring *ring = in->ahead ? td_ring_open(SLOTS) : NULL;
	if (!ring) {
		free(in->ahead);
		in->ahead = NULL;
		in->no_ahead = true;
		return false;
	}
	in->ahead->ring = ring;
	in->ahead->first = in->ahead->n = 0;
	in->ahead->taken = 0;
	return true;
}

static void close_ahead(struct td_input *in)
{
	if (!in->ahead)
		return;
	drop_reads(in->ahead);
	td_ring_close(in->ahead->ring);
	free(in->ahead);
	in->ahead = NULL;
}

/* What is under way, from `offset` on. Bytes, 0 at the end, or -1 and errno. */
static ssize_t take_ahead(struct td_input *in, uint64_t offset, void *out, size_t bytes)
{
	struct td_input_ahead *a = in->ahead;
	struct td_read *read = slot(a, 0);
	if (a->n == 0 || read->offset + a->taken != offset) {
		drop_reads(a);
		a->behind = offset;
		start_reads(in);
		read = slot(a, 0);
	}
	td_ring_finish(a->ring, read);
	if (read->got < 0) {
		errno = (int)-read->got;
		return -1;
	}
	size_t n = TD_MIN(bytes, (size_t)read->got - a->taken);
	memcpy(out, (uint8_t *)read->out + a->taken, n);
	a->taken += n;
	if (a->taken == read->bytes) {
		a->first = (a->first + 1) % SLOTS;
		a->n--;
		a->taken = 0;
		start_reads(in);
	}
	return (ssize_t)n;
}

/* As pread(). */
static ssize_t read_regular(struct td_input *in, uint64_t offset, void *out, size_t bytes)
{
	bool walk = bytes >= LEAST_BYTES && offset == in->next && !in->no_ahead;
	if (walk && !in->ahead && td_fetch_by() != TD_FETCH_URING) {
		struct iovec v = { out, bytes };
		ssize_t n = preadv2(in->fd, &v, 1, (off_t)offset, RWF_NOWAIT);
		if (n >= 0)
			return n;
		in->no_ahead = errno != EAGAIN && errno != EINTR;
		walk = errno == EAGAIN;
	}
	if (walk && (in->ahead || open_ahead(in)))
		return take_ahead(in, offset, out, bytes);
	return pread(in->fd, out, bytes, (off_t)offset);
}

/* ---- opening and closing ---- */

static bool is_stdin(const char *path)
{
	return strcmp(path, "-") == 0 || strcmp(path, "/dev/stdin") == 0;
}

size_t td_input_memory(const struct td_input *in)
{
	return in->ahead ? sizeof *in->ahead : 0;
}

void td_input_close(struct td_input *in)
{
	close_ahead(in);
	if (in->owned && in->fd >= 0)
		close(in->fd);
	in->fd = -1;
	in->owned = false;
}

/* Files of /proc and the like say that they are empty: they are read as streams. */
static bool size_is_true(int fd, const struct stat *st)
{
	char byte;
	return st->st_size > 0 || pread(fd, &byte, 1, 0) <= 0;
}

int td_input_open(struct td_input *ret, const char *path, struct tundish_error *e)
{
	struct td_input in = { .size = TD_SIZE_UNKNOWN, .owned = !is_stdin(path), .name = path };
	struct stat st;
	in.fd = in.owned ? open(path, O_RDONLY | O_CLOEXEC) : STDIN_FILENO;
	if (in.fd < 0)
		return td_err_errno(e, errno, "%s", TD_ESC(path));
	if (fstat(in.fd, &st) != 0 || S_ISDIR(st.st_mode)) {
		int number = errno;
		bool folder = S_ISDIR(st.st_mode);
		td_input_close(&in);
		return folder ? td_err(e, TUNDISH_E_IO, "%s: is a folder", TD_ESC(path)) :
				td_err_errno(e, number, "%s", TD_ESC(path));
	}
	/* a redirected file that was read from before goes on where it is */
	if (S_ISREG(st.st_mode) && lseek(in.fd, 0, SEEK_CUR) == 0 && size_is_true(in.fd, &st)) {
		in.size = (uint64_t)st.st_size;
		/* the kernel then reads ahead deeper: 0.2 -> 1.4 GB/s from a cold disk */
		posix_fadvise(in.fd, 0, 0, POSIX_FADV_SEQUENTIAL);
	}
	*ret = in;
	return 0;
}

/* ---- reading ---- */

static ssize_t read_memory(struct td_input *in, uint64_t offset, void *out, size_t bytes)
{
	size_t n = offset < in->memory_bytes ? in->memory_bytes - (size_t)offset : 0;
	n = TD_MIN(n, bytes);
	if (n > 0)
		memcpy(out, in->memory + offset, n);
	return (ssize_t)n;
}

ssize_t td_input_read(struct td_input *in, uint64_t offset, void *out, size_t bytes,
    struct tundish_error *e)
{
	bool sized = in->size != TD_SIZE_UNKNOWN;
	ssize_t n;
	if (in->memory)
		return read_memory(in, offset, out, bytes);
	bytes = TD_MIN(bytes, (size_t)1 << 30);
	if (sized)
		bytes = (size_t)TD_MIN((uint64_t)bytes, in->size - TD_MIN(in->size, offset));
	if (bytes == 0)
		return 0;
	do
		n = sized ? read_regular(in, offset, out, bytes) : read(in->fd, out, bytes);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return td_err_errno(e, errno, "%s", TD_ESC(in->name));
	if (n == 0 && sized)
		return td_err(e, TUNDISH_E_IO, "%s: the file shrank while it was read",
		    TD_ESC(in->name));
	in->at += (uint64_t)n;
	in->next = offset + (uint64_t)n;
	return n;
}
