/* SPDX-License-Identifier: BSD-2-Clause
 * Writing what cannot be planned: items come one by one, and all shards are open. */
#pragma once
#include "pack.h"
#include "source/intake.h"

/*
 * Each class is dealt to the splits by the item's number within its class, and within a
 * split to the shards in turn, from a start drawn by (seed, class). So each shard holds each
 * class within one item of its share. With shuffle, records wait in a window of a quarter of
 * the memory, and whenever it is full a drawn one of them leaves it. What comes out depends
 * on the input's order, the options and that window, never on threads.
 */
struct td_stream_run {
	struct td_pack *p;
	bool by_class; /* else all are dealt as one */
	/* The next sample: 1, 0 at the end. */
	int (*next)(void *ctx, struct td_taken *s, struct tundish_error *e);
	/* What it holds. */
	uint64_t (*bytes)(void *ctx, const struct td_taken *s);
	/* Appends its record's frame; as td_pack.make. */
	int (*make)(void *ctx, struct td_taken *s, unsigned worker, struct td_buf *frames, struct tundish_error *e);
	/* All is written and the classes are in order: names the features. */
	int (*finish)(void *ctx, struct tundish_error *e);
	void *ctx;
};

/* Writes all of it, in place of td_pack_plan() and td_pack_run(). */
int td_pack_stream(const struct td_stream_run *stream, struct tundish_error *e);
