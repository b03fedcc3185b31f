/* SPDX-License-Identifier: BSD-2-Clause
 * Chunks that were unpacked: each once, as long as there is room. */
#include <stdlib.h>

#include "base/err.h"
#include "inside.h"

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

static void link_idle(struct td_h5_cache *c, struct td_h5_chunk *chunk)
{
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
	free(chunk->data);
	free(chunk);
}

/* Room for so many bytes; one that is over the budget passes alone. */
static void make_room(struct td_h5_cache *c, uint64_t bytes)
{
	while (c->used && c->used + bytes > c->budget) {
		struct td_h5_chunk *old = c->oldest;
		if (old) {
			unlink_idle(c, old);
			discard(c, old);
		} else {
			td_wait(&c->changed, &c->lock, &c->waits);
		}
	}
}

static struct td_h5_chunk *add(struct td_h5_cache *c, const void *owner, uint64_t number, uint64_t bytes)
{
	struct td_h5_chunk *chunk = calloc(1, sizeof *chunk);
	if (!chunk)
		return NULL;
	*chunk = (struct td_h5_chunk){ .owner = owner, .number = number, .bytes = bytes, .users = 1 };
	struct td_h5_chunk **bucket = bucket_of(c, owner, number);
	chunk->in_bucket = *bucket;
	*bucket = chunk;
	c->used += bytes;
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

/* The lock is held, and is left for the work. */
static int fill_chunk(struct td_h5_cache *c, struct td_h5_chunk *chunk,
    int (*fill)(void *ctx, uint8_t *data, struct tundish_error *e), void *ctx, struct tundish_error *e)
{
	pthread_mutex_unlock(&c->lock);
	chunk->data = malloc(chunk->bytes ? chunk->bytes : 1);
	int rc = chunk->data ? fill(ctx, chunk->data, e) : td_err_memory(e);
	pthread_mutex_lock(&c->lock);
	chunk->ready = true;
	chunk->failed = rc < 0;
	pthread_cond_broadcast(&c->changed);
	if (rc < 0)
		leave(c, chunk);
	return rc;
}

/* One that is there or being made: 1; or 0. A failed one is tried again: whoever wants it
 * gets an error of its own. */
static int join(struct td_h5_chunk **ret, struct td_h5_cache *c, const void *owner, uint64_t number)
{
	struct td_h5_chunk *chunk = find(c, owner, number);
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

int td_h5_cache_get(struct td_h5_chunk **ret, struct td_h5_cache *c, const void *owner, uint64_t number,
    uint64_t bytes, int (*fill)(void *ctx, uint8_t *data, struct tundish_error *e), void *ctx,
    struct tundish_error *e)
{
	struct td_h5_chunk *chunk = NULL;
	int rc = 0;
	pthread_mutex_lock(&c->lock);
	if (!join(&chunk, c, owner, number)) {
		make_room(c, bytes);
		/* somebody may have come first, while this waited */
		while (find(c, owner, number) && !join(&chunk, c, owner, number))
			;
		if (!chunk) {
			chunk = add(c, owner, number, bytes);
			rc = chunk ? fill_chunk(c, chunk, fill, ctx, e) : td_err_memory(e);
		}
	}
	pthread_mutex_unlock(&c->lock);
	if (rc == 0)
		*ret = chunk;
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
	pthread_cond_destroy(&c->changed);
	pthread_mutex_destroy(&c->lock);
}
