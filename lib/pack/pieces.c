/* SPDX-License-Identifier: BSD-2-Clause
 * Compressed shards: records gathered into pieces. */
#include "pieces.h"

#include <stdlib.h>

#include "base/err.h"
#include "base/pool.h"
#include "record/frame.h"

int td_pieces_init(struct td_pieces *ps, struct td_set *set, size_t n_shards, int compression, int level,
    struct tundish_error *e)
{
	*ps = (struct td_pieces){ .compression = compression, .level = level, .set = set, .n_shards = n_shards,
		.lock = PTHREAD_MUTEX_INITIALIZER };
	ps->ready_end = &ps->ready;
	ps->shards = calloc(n_shards + 1, sizeof *ps->shards);
	return ps->shards ? 0 : td_err_memory(e);
}

void td_piece_free(struct td_piece *piece)
{
	if (!piece)
		return;
	td_buf_free(&piece->frames);
	td_buf_free(&piece->packed);
	free(piece->sizes);
	free(piece->facts.classes);
	free(piece->facts.faults);
	free(piece);
}

static void free_list(struct td_piece *list)
{
	while (list) {
		struct td_piece *next = list->next;
		td_piece_free(list);
		list = next;
	}
}

void td_pieces_free(struct td_pieces *ps)
{
	free_list(ps->ready);
	free_list(ps->spare);
	for (size_t i = 0; ps->shards && i < ps->n_shards; i++)
		td_piece_free(ps->shards[i].open);
	free(ps->shards);
}

static struct td_piece *new_piece(struct td_pieces *ps)
{
	pthread_mutex_lock(&ps->lock);
	struct td_piece *piece = ps->spare;
	if (piece)
		ps->spare = piece->next;
	pthread_mutex_unlock(&ps->lock);
	if (!piece)
		return calloc(1, sizeof *piece);
	const struct td_piece old = *piece;
	*piece = (struct td_piece){ .frames = old.frames, .packed = old.packed, .sizes = old.sizes,
		.sizes_cap = old.sizes_cap };
	piece->frames.len = piece->packed.len = 0;
	return piece;
}

static void push_ready(struct td_pieces *ps, size_t shard)
{
	struct td_piece *piece = ps->shards[shard].open;
	ps->shards[shard].open = NULL;
	pthread_mutex_lock(&ps->lock);
	piece->next = NULL;
	*ps->ready_end = piece;
	ps->ready_end = &piece->next;
	pthread_mutex_unlock(&ps->lock);
}

/* The piece that is being filled; a shard's first one where it has none. */
static int need_open(struct td_pieces *ps, size_t shard, struct tundish_error *e)
{
	struct td_piece_shard *s = &ps->shards[shard];
	if (s->open)
		return 0;
	s->open = new_piece(ps);
	if (!s->open)
		return td_err_memory(e);
	s->open->shard = shard;
	s->open->first = !s->begun;
	s->begun = true;
	return 0;
}

int td_pieces_add(struct td_pieces *ps, size_t shard, const void *frame, size_t bytes, struct tundish_error *e)
{
	int rc = need_open(ps, shard, e);
	if (rc < 0)
		return rc;
	struct td_piece *piece = ps->shards[shard].open;
	if (!td_buf_add(&piece->frames, frame, bytes) ||
	    !td_grow(&piece->sizes, &piece->sizes_cap, piece->records, sizeof *piece->sizes))
		return td_err_memory(e);
	piece->sizes[piece->records++] = bytes;
	piece->payload_bytes += bytes - TD_FRAME_EXTRA;
	if (piece->payload_bytes >= TD_PIECE_BYTES)
		push_ready(ps, shard);
	return 0;
}

int td_pieces_end(struct td_pieces *ps, size_t shard, struct td_set_facts *facts, struct tundish_error *e)
{
	/* without an open piece there was none yet, or the last one was just full */
	int rc = need_open(ps, shard, e);
	if (rc < 0)
		return rc;
	ps->shards[shard].open->last = true;
	ps->shards[shard].open->facts = *facts;
	*facts = (struct td_set_facts){ 0 };
	push_ready(ps, shard);
	return 0;
}

void td_pieces_close(struct td_pieces *ps)
{
	pthread_mutex_lock(&ps->lock);
	ps->all_put = true;
	pthread_mutex_unlock(&ps->lock);
}

int td_pieces_take(struct td_pieces *ps, struct td_piece **ret, uint64_t *ret_bytes)
{
	pthread_mutex_lock(&ps->lock);
	struct td_piece *piece = ps->ready;
	bool more = !ps->all_put;
	if (piece) {
		ps->ready = piece->next;
		if (!ps->ready)
			ps->ready_end = &ps->ready;
	}
	pthread_mutex_unlock(&ps->lock);
	*ret = piece;
	*ret_bytes = piece ? 2 * piece->frames.len : 0;
	return piece ? 1 : more ? TD_TAKE_LATER : 0;
}

int td_piece_pack(const struct td_pieces *ps, struct td_piece *piece, struct tundish_error *e)
{
	int rc = piece->first ? td_compress_head(&piece->packed, ps->compression, ps->level, e) : 0;
	if (rc == 0 && piece->frames.len)
		rc = td_compress_piece(&piece->packed, ps->compression, ps->level, piece->frames.data,
		    piece->frames.len, &piece->adler, e);
	return rc;
}

static int write_piece(struct td_pieces *ps, struct td_piece *piece, struct tundish_error *e)
{
	struct td_piece_shard *s = &ps->shards[piece->shard];
	int rc = 0;
	if (piece->first)
		s->sums = (struct td_compressed)TD_COMPRESSED_INIT;
	if (piece->frames.len)
		td_compress_note(&s->sums, piece->adler, piece->frames.len);
	if (piece->last)
		rc = td_compress_tail(&piece->packed, ps->compression, ps->level, &s->sums, e);
	const struct td_set_piece bytes = { piece->packed.data, piece->packed.len, piece->records,
		piece->payload_bytes, piece->sizes };
	if (rc == 0)
		rc = td_set_append(ps->set, piece->shard, &bytes, e);
	return rc == 0 && piece->last ? td_set_end(ps->set, piece->shard, &piece->facts, e) : rc;
}

int td_pieces_put(struct td_pieces *ps, struct td_piece *piece, struct tundish_error *e)
{
	int rc = write_piece(ps, piece, e);
	free(piece->facts.classes);
	free(piece->facts.faults);
	piece->facts = (struct td_set_facts){ 0 };
	pthread_mutex_lock(&ps->lock);
	piece->next = ps->spare;
	ps->spare = piece;
	pthread_mutex_unlock(&ps->lock);
	return rc;
}
