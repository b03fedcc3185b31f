/* SPDX-License-Identifier: BSD-2-Clause
 * A window that slides over bytes from somewhere: look ahead, take, go on. */
#pragma once
#include <stdbool.h>
#include <sys/types.h>

#include "base/buf.h"
#include "tundish.h"

#define TD_SIZE_UNKNOWN UINT64_MAX
#define TD_WINDOW_MIN ((size_t)256 << 10)

struct td_window {
	struct td_buf buf; /* bytes from `base` on; buf.len of them are there */
	size_t at;	   /* the current place in buf */
	uint64_t base;	   /* offset of buf in the whole */
	uint64_t size;	   /* of the whole; TD_SIZE_UNKNOWN */
	bool ended;	   /* there is nothing behind buf */
	/* Up to `bytes` from `offset` on, which is where the last call ended unless
	 * td_window_forget() came between. Their number, 0 at the end, or negative. */
	ssize_t (*read)(void *ctx, uint64_t offset, void *out, size_t bytes, struct tundish_error *e);
	void *ctx;
};

static inline uint64_t td_window_offset(const struct td_window *w)
{
	return w->base + w->at;
}

/* Bytes that lie at td_window_here(). */
static inline size_t td_window_have(const struct td_window *w)
{
	return w->buf.len - w->at;
}

static inline const uint8_t *td_window_here(const struct td_window *w)
{
	return w->buf.data + w->at;
}

/* Bytes from here to the end, or TD_SIZE_UNKNOWN. */
uint64_t td_window_rest(const struct td_window *w);

/* Makes `want` bytes lie here, or as many as there are. `want` may come from a forged
 * length: the buffer grows as bytes really arrive, or as far as the size allows.
 * Reads at least `chunk` bytes at a time where there is room. */
int td_window_fill(struct td_window *w, uint64_t want, size_t chunk, struct tundish_error *e);

/* Moves ahead to `offset`, without reading what lies between and behind the window. */
void td_window_skip_to(struct td_window *w, uint64_t offset);
/* Drops what is there and goes on at any `offset`. */
void td_window_forget(struct td_window *w, uint64_t offset);
