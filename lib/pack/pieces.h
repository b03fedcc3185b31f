/* SPDX-License-Identifier: BSD-2-Clause
 * Compressed shards: records gathered into pieces, which are compressed in parallel and
 * written in their order.
 *
 * A piece ends with the record that fills it, never where blocks end, so the file depends
 * on the records alone. The serial side of an ordered loop adds records and puts pieces;
 * full ones are jobs of the same loop in between.
 */
#pragma once
#include <pthread.h>
#include <stdbool.h>

#include "record/compress.h"
#include "set.h"

struct td_piece {
	struct td_piece *next;
	size_t shard;
	bool first, last; /* of the shard */
	struct td_buf frames, packed;
	uint64_t *sizes; /* of the frames */
	size_t sizes_cap;
	uint64_t records, payload_bytes;
	uint32_t adler;
	struct td_set_facts facts; /* of the shard, in its last piece */
};

struct td_pieces {
	int compression, level;
	struct td_set *set;
	struct td_piece_shard {
		struct td_piece *open; /* being filled */
		bool begun;	       /* the shard has a piece */
		struct td_compressed sums;
	} *shards;
	size_t n_shards;
	/* between put and take */
	pthread_mutex_t lock;
	struct td_piece *ready, **ready_end, *spare;
	bool all_put; /* no more pieces will be made */
};

int td_pieces_init(struct td_pieces *ps, struct td_set *set, size_t n_shards, int compression, int level,
    struct tundish_error *e);
void td_pieces_free(struct td_pieces *ps);
/* Adds a frame to a shard. */
int td_pieces_add(struct td_pieces *ps, size_t shard, const void *frame, size_t bytes, struct tundish_error *e);
/* The shard's last piece is ready; takes the facts. */
int td_pieces_end(struct td_pieces *ps, size_t shard, struct td_set_facts *facts, struct tundish_error *e);
/* Nothing more will be added. */
void td_pieces_close(struct td_pieces *ps);

/* For take: 1 with a piece and the bytes that it holds, TD_TAKE_LATER, or 0 at the end. */
int td_pieces_take(struct td_pieces *ps, struct td_piece **ret, uint64_t *ret_bytes);
/* For work. */
int td_piece_pack(const struct td_pieces *ps, struct td_piece *piece, struct tundish_error *e);
/* For put: writes it, and ends the shard with its last one; then it is recycled. */
int td_pieces_put(struct td_pieces *ps, struct td_piece *piece, struct tundish_error *e);
/* One that was taken and never put. */
void td_piece_free(struct td_piece *piece);
