/* SPDX-License-Identifier: BSD-2-Clause
 * Chunks that were unpacked: each once, as long as there is room. */
#include <stdlib.h>
#include <sys/mman.h>

#include "base/err.h"
#include "inside.h"

#define AHEAD_MOST 64
#define KEPT_BYTES ((uint64_t)64 << 20) /* below that nothing is thrown away */

void td_h5_cache_init(struct td_h5_cache *c, uint64_t budget)
{
	*c = (struct td_h5_cache){ .budget = budget };
	pthread_mutex_init(&c->lock, NULL);
	pthread_cond_init(&c->changed, NULL);
}

static struct td_h5_chunk **bucket_of(struct td_h5_cache *c, const void *owner, uint64_t number)
{
	uint64_t h = ((uint64_t)(uintptr_t)owner ^ number * 0x9e3779b97f4a7c15u) * 0x9e3779b97f4a7c15u;
	return &c->buckets[h >> 52 & (TD_H5_BUCKETS - 1)];
}

static struct td_h5_chunk *find(struct td_h5_cache *c, const void *owner, uint64_t number)
{
	struct td_h5_chunk *chunk = *bucket_of(c, owner, number);
	while (chunk && (chunk->owner != owner || chunk->number != number))
		chunk = chunk->in_bucket;
	return chunk;
}

/* Takes it out of the line of those that nobody uses. */
static void unlink_idle(struct td_h5_cache *c, struct td_h5_chunk *chunk)
{
	*(chunk->newer ? &chunk->newer->older : &c->newest) = chunk->older;
	*(chunk->older ? &chunk->older->newer : &c->oldest) = chunk->newer;
	chunk->newer = chunk->older = NULL;
}

/* One that all have had is the first to go. */
static void link_idle(struct td_h5_cache *c, struct td_h5_chunk *chunk)
{
	if (chunk->times >= chunk->enough) {
		chunk->newer = c->oldest;
		*(c->oldest ? &c->oldest->older : &c->newest) = chunk;
		c->oldest = chunk;
		return;
	}
	chunk->older = c->newest;
	*(c->newest ? &c->newest->newer : &c->oldest) = chunk;
	c->newest = chunk;
}

/* One that nobody uses and that is in no line. */
static void discard(struct td_h5_cache *c, struct td_h5_chunk *chunk)
{
	struct td_h5_chunk **at = bucket_of(c, chunk->owner, chunk->number);
	while (*at != chunk)
		at = &(*at)->in_bucket;
	*at = chunk->in_bucket;
	c->used -= chunk->bytes;
	if (chunk->data)
		munmap(chunk->data, chunk->bytes);
	free(chunk);
}

/* Makes room for so many bytes as far as nobody uses what is there. */
static void drop_idle(struct td_h5_cache *c, uint64_t bytes)
{
	while (c->oldest && c->used + bytes > c->budget) {
		struct td_h5_chunk *old = c->oldest;
		unlink_idle(c, old);
		discard(c, old);
	}
}

/* One that is over the budget passes alone. */
static void make_room(struct td_h5_cache *c, uint64_t bytes)
{
	for (drop_idle(c, bytes); c->used && c->used + bytes > c->budget; drop_idle(c, bytes))
		td_wait(&c->changed, &c->lock, &c->waits);
}

/* The memory of one that all have had, rather than new pages; NULL: none is to be had. */
static uint8_t *reuse(struct td_h5_cache *c, uint64_t bytes)
{
	struct td_h5_chunk *old = c->oldest;
	if (!old || old->times < old->enough || old->bytes != bytes || c->used < KEPT_BYTES)
		return NULL;
	uint8_t *data = old->data;
	old->data = NULL;
	unlink_idle(c, old);
	discard(c, old);
	return data;
}

static struct td_h5_chunk *add(struct td_h5_cache *c, const struct td_h5_want *w, uint64_t number)
{
	struct td_h5_chunk *chunk = calloc(1, sizeof *chunk);
	if (!chunk)
		return NULL;
	*chunk = (struct td_h5_chunk){ .owner = w->owner, .number = number, .bytes = w->bytes, .users = 1,
		.enough = w->enough, .data = reuse(c, w->bytes) };
	struct td_h5_chunk **bucket = bucket_of(c, w->owner, number);
	chunk->in_bucket = *bucket;
	*bucket = chunk;
	c->used += w->bytes;
	return chunk;
}

static void leave(struct td_h5_cache *c, struct td_h5_chunk *chunk)
{
	if (--chunk->users == 0) {
		if (chunk->failed)
			discard(c, chunk);
		else
			link_idle(c, chunk);
	}
	pthread_cond_broadcast(&c->changed);
}

/* Adds it and makes it: the lock is held, and is left for the work. */
static int make(struct td_h5_chunk **ret, struct td_h5_cache *c, const struct td_h5_want *w, uint64_t ahead,
    struct tundish_error *e)
{
	struct td_h5_chunk *chunk = add(c, w, w->number + ahead * w->step);
	if (!chunk)
		return td_err_memory(e);
	c->used += w->work;
	pthread_mutex_unlock(&c->lock);
	/* pages of its own: the heaps of many threads would not give them back */
	if (!chunk->data) {
		void *pages = mmap(NULL, w->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		chunk->data = pages == MAP_FAILED ? NULL : pages;
	}
	int rc = chunk->data ? w->fill(w->ctx, ahead, chunk->data, e) : td_err_memory(e);
	pthread_mutex_lock(&c->lock);
	c->used -= w->work;
	chunk->ready = true;
	chunk->failed = rc < 0;
	pthread_cond_broadcast(&c->changed);
	if (rc < 0)
		leave(c, chunk);
	else
		*ret = chunk;
	return rc;
}

/* One that is there or being made: 1; or 0. A failed one is tried again: whoever wants it
 * gets an error of its own. */
static int join(struct td_h5_chunk **ret, struct td_h5_cache *c, const struct td_h5_want *w)
{
	struct td_h5_chunk *chunk = find(c, w->owner, w->number);
	if (!chunk)
		return 0;
	if (chunk->users++ == 0)
		unlink_idle(c, chunk);
	while (!chunk->ready)
		td_wait(&c->changed, &c->lock, &c->waits);
	if (!chunk->failed) {
		*ret = chunk;
		return 1;
	}
	leave(c, chunk);
	return 0;
}

/* Instead of waiting: true when one of the next was made. It stays, for those who want it;
 * what is wrong with it is told then. */
static bool work_ahead(struct td_h5_cache *c, const struct td_h5_want *w)
{
	const struct td_h5_chunk *wanted = find(c, w->owner, w->number);
	struct td_h5_chunk *made;
	if (!wanted || wanted->ready)
		return false;
	for (uint64_t ahead = 1; ahead <= TD_MIN(w->left, (uint64_t)AHEAD_MOST); ahead++) {
		if (find(c, w->owner, w->number + ahead * w->step))
			continue;
		drop_idle(c, w->bytes + w->work);
		if (c->used + w->bytes + w->work > c->budget || make(&made, c, w, ahead, NULL) < 0)
			return false;
		leave(c, made);
		return true;
	}
	return false;
}

int td_h5_cache_get(struct td_h5_chunk **ret, struct td_h5_cache *c, const struct td_h5_want *w,
    struct tundish_error *e)
{
	int rc = 0;
	pthread_mutex_lock(&c->lock);
	while (work_ahead(c, w))
		;
	if (!join(ret, c, w)) {
		make_room(c, w->bytes + w->work);
		/* somebody may have come first, while this waited */
		bool there = false;
		while (find(c, w->owner, w->number) && !(there = join(ret, c, w)))
			;
		rc = there ? 0 : make(ret, c, w, 0, e);
	}
	if (rc == 0)
		(*ret)->times++;
	pthread_mutex_unlock(&c->lock);
	return rc;
}

void td_h5_cache_put(struct td_h5_cache *c, struct td_h5_chunk *chunk)
{
	pthread_mutex_lock(&c->lock);
	leave(c, chunk);
	pthread_mutex_unlock(&c->lock);
}

void td_h5_cache_drop(struct td_h5_cache *c, const void *owner)
{
	pthread_mutex_lock(&c->lock);
	for (struct td_h5_chunk *chunk = c->oldest, *next; chunk; chunk = next) {
		next = chunk->newer;
		if (chunk->owner == owner) {
			unlink_idle(c, chunk);
			discard(c, chunk);
		}
	}
	pthread_mutex_unlock(&c->lock);
}

void td_h5_cache_fini(struct td_h5_cache *c)
{
	while (c->oldest) {
		struct td_h5_chunk *chunk = c->oldest;
		unlink_idle(c, chunk);
		discard(c, chunk);
	}
	while (c->rooms) {
		struct td_h5_room *room = c->rooms;
		c->rooms = room->next;
		td_buf_free(&room->raw);
		td_buf_free(&room->scratch);
		free(room);
	}
	pthread_cond_destroy(&c->changed);
	pthread_mutex_destroy(&c->lock);
}

struct td_h5_room *td_h5_room_take(struct td_h5_cache *c)
{
	pthread_mutex_lock(&c->lock);
	struct td_h5_room *room = c->rooms;
	if (room)
		c->rooms = room->next;
	pthread_mutex_unlock(&c->lock);
	return room ? room : calloc(1, sizeof *room);
}

void td_h5_room_put(struct td_h5_cache *c, struct td_h5_room *room)
{
	pthread_mutex_lock(&c->lock);
	room->next = c->rooms;
	c->rooms = room;
	pthread_mutex_unlock(&c->lock);
}
