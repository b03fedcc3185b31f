/* SPDX-License-Identifier: BSD-2-Clause
 * Open files, no more than the limit allows, shared by all threads. */
#include "files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/err.h"

#define RINGS 8
#define DEPTH 64

struct file {
	int fd; /* -1: not open */
	unsigned held;
	bool used; /* since the hand passed */
};

struct td_files {
	char *const *paths;
	size_t n;
	struct file *files;
	size_t open, most, hand;
	int advice;
	struct td_ring *rings[RINGS]; /* that nobody uses now */
	unsigned n_rings, rings_left; /* to be made: each takes a descriptor */
	pthread_mutex_t lock;
	pthread_cond_t freed;
	struct td_wait_stats waits;
	_Atomic uint64_t reads, uring_reads;
};

/* A quarter of what the process may open, so that others find room. */
size_t td_files_most(void)
{
	struct rlimit limit;
	size_t most = 256;
	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur / 4 < most)
		most = limit.rlim_cur / 4;
	return TD_MAX(most, (size_t)1);
}

int td_files_new(struct td_files **ret, char *const *paths, size_t n, struct tundish_error *e)
{
	struct td_files *f = calloc(1, sizeof *f);
	struct file *files = calloc(n, sizeof *files);
	if (!f || !files) {
		free(f);
		free(files);
		return td_err_memory(e);
	}
	for (size_t i = 0; i < n; i++)
		files[i].fd = -1;
	*f = (struct td_files){ .paths = paths, .n = n, .files = files, .most = TD_MIN(td_files_most(), n) };
	f->rings_left = (unsigned)TD_MIN(td_files_most(), (size_t)RINGS);
	pthread_mutex_init(&f->lock, NULL);
	pthread_cond_init(&f->freed, NULL);
	*ret = f;
	return 0;
}

/* Closes a file that nobody holds and that was not used lately; false: all are held. */
static bool close_one(struct td_files *f)
{
	for (size_t i = 0; i < 2 * f->n; i++) {
		struct file *file = &f->files[f->hand++ % f->n];
		if (file->fd < 0 || file->held)
			continue;
		if (file->used) {
			file->used = false;
			continue;
		}
		close(file->fd);
		file->fd = -1;
		f->open--;
		return true;
	}
	return false;
}

/* A hint: where it is refused nothing is lost. */
static void advise(const struct td_files *f, const struct file *file)
{
	posix_fadvise(file->fd, 0, 0, f->advice);
}

static int open_file(struct td_files *f, size_t i, bool wait, struct tundish_error *e)
{
	struct file *file = &f->files[i];
	while (f->open >= f->most && !close_one(f)) {
		if (!wait)
			return 1;
		td_wait(&f->freed, &f->lock, &f->waits);
	}
	if (file->fd >= 0)
		return 0; /* another did it while this one waited */
	int fd;
	while ((fd = open(f->paths[i], O_RDONLY | O_CLOEXEC)) < 0) {
		int number = errno;
		if ((number == EMFILE || number == ENFILE) && close_one(f))
			continue;
		return td_err_errno(e, number, "%s", TD_ESC(f->paths[i]));
	}
	file->fd = fd;
	f->open++;
	advise(f, file);
	return 0;
}

void td_files_advise(struct td_files *f, int advice)
{
	f->advice = advice;
	for (size_t i = 0; i < f->n; i++) {
		if (f->files[i].fd >= 0)
			advise(f, &f->files[i]);
	}
}

static int get(struct td_files *f, size_t i, bool wait, int *ret_fd, struct tundish_error *e)
{
	pthread_mutex_lock(&f->lock);
	struct file *file = &f->files[i];
	int rc = file->fd >= 0 ? 0 : open_file(f, i, wait, e);
	if (rc == 0) {
		file->held++;
		file->used = true;
		*ret_fd = file->fd;
	}
	pthread_mutex_unlock(&f->lock);
	return rc;
}

int td_files_get(struct td_files *f, size_t i, int *ret_fd, struct tundish_error *e)
{
	return get(f, i, true, ret_fd, e);
}

int td_files_try(struct td_files *f, size_t i, int *ret_fd, struct tundish_error *e)
{
	return get(f, i, false, ret_fd, e);
}

void td_files_put(struct td_files *f, size_t i)
{
	pthread_mutex_lock(&f->lock);
	if (--f->files[i].held == 0)
		pthread_cond_signal(&f->freed);
	pthread_mutex_unlock(&f->lock);
}

/* ---- rings ---- */

static struct td_ring *take_ring(struct td_files *f)
{
	pthread_mutex_lock(&f->lock);
	struct td_ring *ring = f->n_rings ? f->rings[--f->n_rings] : NULL;
	bool more = !ring && f->rings_left > 0;
	f->rings_left -= more;
	pthread_mutex_unlock(&f->lock);
	if (!more || (ring = td_ring_open(DEPTH)))
		return ring;
	pthread_mutex_lock(&f->lock);
	f->rings_left = 0; /* nor the next one */
	pthread_mutex_unlock(&f->lock);
	return NULL;
}

static void give_ring(struct td_files *f, struct td_ring *ring)
{
	pthread_mutex_lock(&f->lock);
	f->rings[f->n_rings++] = ring;
	pthread_mutex_unlock(&f->lock);
}

void td_files_read(struct td_files *f, struct td_read *reads, unsigned n)
{
	/* a single one is waited for anyway */
	struct td_ring *ring = n > 1 || td_fetch_by() == TD_FETCH_URING ? take_ring(f) : NULL;
	for (unsigned i = 0; i < n; i++)
		td_ring_start(ring, &reads[i]);
	td_ring_submit(ring);
	for (unsigned i = 0; i < n; i++)
		td_ring_finish(ring, &reads[i]);
	atomic_fetch_add_explicit(&f->reads, n, memory_order_relaxed);
	if (!ring)
		return;
	atomic_fetch_add_explicit(&f->uring_reads, n, memory_order_relaxed);
	give_ring(f, ring);
}

struct td_files_reads td_files_reads(const struct td_files *f)
{
	if (!f)
		return (struct td_files_reads){ 0 };
	return (struct td_files_reads){ f->reads, f->uring_reads };
}

void td_files_free(struct td_files *f)
{
	if (!f)
		return;
	for (size_t i = 0; i < f->n; i++) {
		if (f->files[i].fd >= 0)
			close(f->files[i].fd);
	}
	while (f->n_rings)
		td_ring_close(f->rings[--f->n_rings]);
	pthread_cond_destroy(&f->freed);
	pthread_mutex_destroy(&f->lock);
	free(f->files);
	free(f);
}
