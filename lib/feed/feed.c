/* SPDX-License-Identifier: BSD-2-Clause
 * Handing batches over: npy, raw, hash, null. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/err.h"
#include "base/npy.h"
#include "base/sha256.h"
#include "tundish.h"

#define PIPE_BYTES (1 << 20)

struct sink {
	const char *name;
	/* takes one piece; NULL: nothing is looked at */
	int (*put)(struct tundish_feed *feed, const struct iovec *pieces, int n,
	    struct tundish_error *e);
	bool headers;
};

struct tundish_feed {
	const struct sink *sink;
	int fd;
	struct td_sha256 sha;
	char digest[65];
};

static int wait_for_room(int fd, struct tundish_error *e)
{
	struct pollfd p = { .fd = fd, .events = POLLOUT };
	while (poll(&p, 1, -1) < 0) {
		if (errno != EINTR)
			return td_err_errno(e, errno, "waiting for the output");
	}
	return 0;
}

static int write_pieces(struct tundish_feed *feed, const struct iovec *pieces, int n,
    struct tundish_error *e)
{
	struct iovec left[2];
	memcpy(left, pieces, (size_t)n * sizeof *left);
	for (int i = 0; i < n;) {
		ssize_t got = left[i].iov_len ? writev(feed->fd, left + i, n - i) : 0;
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0 && errno == EAGAIN) {
			int rc = wait_for_room(feed->fd, e);
			if (rc < 0)
				return rc;
			continue;
		}
		if (got < 0)
			return td_err_errno(e, errno, "writing batches");
		while (i < n && (size_t)got >= left[i].iov_len)
			got -= (ssize_t)left[i++].iov_len;
		if (i < n) {
			left[i].iov_base = (char *)left[i].iov_base + got;
			left[i].iov_len -= (size_t)got;
		}
	}
	return 0;
}

static int hash_pieces(struct tundish_feed *feed, const struct iovec *pieces, int n,
    struct tundish_error *e)
{
	(void)e;
	for (int i = 0; i < n; i++)
		td_sha256_add(&feed->sha, pieces[i].iov_base, pieces[i].iov_len);
	return 0;
}

static const struct sink sinks[] = {
	{ "npy", write_pieces, true },
	{ "raw", write_pieces, false },
	{ "hash", hash_pieces, true },
	{ "null", NULL, false },
};

TUNDISH_API int tundish_feed_open(struct tundish_feed **ret_feed, const char *to, int fd,
    struct tundish_error *ret_error)
{
	const struct sink *sink = NULL;
	for (size_t i = 0; i < TD_COUNT(sinks); i++) {
		if (strcmp(sinks[i].name, to) == 0)
			sink = &sinks[i];
	}
	if (!sink)
		return td_err(ret_error, TUNDISH_E_USAGE,
		    "there is no sink \"%s\": npy, raw, hash or null", TD_ESC(to));
	struct tundish_feed *feed = calloc(1, sizeof *feed);
	if (!feed)
		return td_err_memory(ret_error);
	feed->sink = sink;
	feed->fd = fd;
	td_sha256_init(&feed->sha);
	struct stat st;
	/* a larger pipe wakes either side less often; no harm where that is refused */
	if (sink->put == write_pieces && fstat(fd, &st) == 0 && S_ISFIFO(st.st_mode) &&
	    fcntl(fd, F_SETPIPE_SZ, PIPE_BYTES) < 0)
		errno = 0;
	*ret_feed = feed;
	return 0;
}

static int put_array(struct tundish_feed *feed, const struct tundish_array *a, struct tundish_error *e)
{
	struct td_npy_header header;
	struct iovec pieces[2];
	int n = 0;
	if (feed->sink->headers) {
		td_npy_header(&header, td_npy_descr(a->dtype), a->shape, a->ndim, a->name);
		pieces[n++] = (struct iovec){ header.bytes, header.n };
	}
	if (a->bytes)
		pieces[n++] = (struct iovec){ (void *)a->data, a->bytes };
	return feed->sink->put(feed, pieces, n, e);
}

TUNDISH_API int tundish_feed_put(struct tundish_feed *feed, const struct tundish_batch *batch,
    struct tundish_error *ret_error)
{
	int rc = 0;
	for (unsigned i = 0; i < batch->n_arrays && feed->sink->put && rc == 0; i++)
		rc = put_array(feed, &batch->arrays[i], ret_error);
	return rc;
}

TUNDISH_API const char *tundish_feed_digest(struct tundish_feed *feed)
{
	if (feed->sink->put == hash_pieces)
		td_sha256_hex(&feed->sha, feed->digest);
	return feed->digest;
}

TUNDISH_API void tundish_feed_close(struct tundish_feed *feed)
{
	free(feed);
}
