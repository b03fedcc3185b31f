/* SPDX-License-Identifier: BSD-2-Clause
 * The engine: order -> fetch -> work -> batch ring. */
#pragma once
#include "base/held.h"
#include "base/ledger.h"
#include "base/pool.h"
#include "chunk.h"
#include "recipe.h"
#include "sampler.h"
#include "trace.h"

/*
 * The rules of flow:
 *
 * 1. Room for the result is reserved before the work is done: a position is handed out
 *    only when its batch has a slot, and the work writes straight into its row there.
 * 2. Bytes bound as well as items: records in memory and batches stand in one ledger.
 * 3. Either end may finish: the order runs out, or the consumer closes.
 * 4. The first real error in the order wins, whichever thread meets whichever error
 *    first: notes wait in their batch until it is its turn. Batches behind a known
 *    error are no longer worked on.
 * 5. Whatever is under way knows how to be dropped.
 * 6. Every blocking wait goes through td_wait(), which counts and times it.
 * 7. Positions are handed out in order, worked on in any, batches delivered in order.
 * 8. No lock per row of pixels, no allocation per record in steady state; one hold of
 *    the lock for each take or finish of a task.
 *
 * One pool does it all. Each worker takes the most downstream task that can run: work
 * before fetch. A few extra threads only fetch, so that waiting for a disk takes no core
 * from the work; they are no tuning knob, since workers without work fetch too.
 */

/* Which positions are this rank's, and how they fall into batches. All of it is known
 * before the first read. */
struct td_share {
	uint64_t records;	  /* in an epoch, of all ranks; 0: not known (stream) */
	uint64_t rank, world;
	uint64_t positions;	  /* of this rank in an epoch */
	uint64_t batches;	  /* of this rank in an epoch, unless batches flow over */
	unsigned batch;
	uint64_t epochs;
	bool by_file;		  /* `records` are those of this rank's own files, in its own order */
	bool flows;		  /* a batch may hold the end of one epoch and the start of the next */
};

/* Room for a batch. */
struct td_slot {
	struct td_slot *next; /* in the list of free ones */
	uint8_t *images;
	int64_t *labels;
	int64_t *sources;     /* of a mix */
	unsigned topped_up;   /* rows drawn once more for the least of their source */
	uint8_t *good;	      /* a row is to be delivered */
	uint64_t batch, epoch;
	unsigned rows;	      /* positions it is to hold */
	unsigned given, left; /* handed out; and of these not finished */
	bool closed, lent;
	uint64_t after_epoch, after_position; /* of a stream: where the next batch begins */
	struct td_note *notes;/* by row */
	struct td_held held;  /* what a reader of streams said while it filled this batch */
	struct td_column *columns;
	struct tundish_array *arrays; /* what of it goes out */
	/* where pictures are mixed: */
	struct td_mixing mixing;
	unsigned count;		      /* rows, closed up */
	unsigned tasks, next_task, tasks_left;
	bool prepared, mixed;
};

/* What one worker has for itself. */
struct td_hand {
	struct td_desk desk;
	struct td_buf spare; /* a stand-in's record */
	unsigned replaced;
};

/* A record of a stream that is kept: one that was looked at before the start, or that
 * waits in the shuffle buffer. */
#define TD_PEEKS 16
struct td_peek {
	struct td_buf data;
	struct td_spot spot;
};

/* One of the files that are read in turn, with the record that comes next of it. */
struct td_turn {
	struct tundish_reader *reader;
	size_t file;
	struct tundish_record next;
	uint64_t memory; /* of the reader, in the ledger */
};

/* Where the reading of a set stands that can only be read in order. */
struct td_stream {
	int compression;
	uint64_t max_record_bytes;
	unsigned threads;	   /* that inflate the members of a file; 0: the one that reads it */
	struct td_order_spec spec; /* shards, cycle and length, and a shuffle buffer's size */
	int uneven;
	struct td_turn *turns;
	unsigned n_turns, turn;	   /* open, and whose turn it is */
	uint64_t taken;		   /* records of it in this turn */
	size_t next_file;	   /* place in the order of the files */
	bool opened;		   /* the files of this epoch */
	uint64_t seen;		   /* records of this epoch, skipped ones too */
	struct td_peek *shuffle;   /* a ring; grows to spec.size as records come */
	uint64_t n_shuffle, shuffle_room, head, drawn, shuffle_bytes;
	uint64_t epoch, position;  /* of the record that comes next, of all ranks */
	uint64_t start;		   /* before it nothing is handed out */
	uint64_t out_epoch, out_position; /* behind the last batch handed out */
	struct td_slot *slot; /* that is being filled */
	struct td_held early; /* what the reader said before the start */
	struct td_peek peeked[TD_PEEKS];
	unsigned n_peeked, next_peeked;
};

enum td_stage {
	TD_STAGE_FETCH,
	TD_STAGE_PARSE,
	TD_STAGE_DECODE,
	TD_STAGE_PIXELS,
	TD_STAGES,
};

struct tundish_flow {
	/* set at open, then only read */
	struct tundish_listener listener;
	struct tundish_allocator allocator;
	int on_error, last;
	bool has_images;
	struct td_share share;
	struct td_records set;
	struct td_files *files;
	struct td_sampler sampler;
	struct td_recipe recipe;
	unsigned threads, fetchers;
	unsigned prefetch, most_slots;
	unsigned chunk_items, grain; /* positions a fetch, records a work task */
	uint64_t chunk_keep;	     /* buffers above that are given back after use */
	uint64_t end;		     /* number of batches; UINT64_MAX: without end */

	/* under the pool's lock from the first batch on */
	struct td_pool *pool;
	pthread_cond_t ready;	     /* the next batch is complete, or never will be */
	struct td_hand *hands;
	struct td_items_desk **item_desks; /* one a thread, fetchers too; NULL: no raw data */
	struct td_chunk *chunks, *free_chunks, *head, *tail;
	unsigned n_chunks, busy_chunks;
	unsigned queued;	     /* chunks from head to tail */
	bool choked;		     /* the ledger refused the next record */
	struct td_slot *slots, *free_slots;
	struct td_slot *mix_head, *mix_tail; /* whose rows are all there and to be mixed */
	unsigned n_slots, lent;
	unsigned soft_slots;	     /* so many may be used by now, see grow() */
	bool was_full;		     /* workers had nowhere to go since the consumer last waited */
	struct td_slot **ring;	     /* batch b at b % n_ring */
	unsigned n_ring;
	struct td_slot *open;	     /* whose positions are being handed out */
	uint64_t next_open, next_out;
	uint64_t stop_at;	     /* no batch behind this one is wanted */
	bool closing;
	struct td_stream stream;     /* used by the thread that set `reading` */
	bool reading, read_all;
	int rc;			     /* sticky */
	struct tundish_error error;
	struct td_ledger ledger;
	struct td_cache cache;
	struct td_gate gate;
	struct td_wait_stats consumer;
	uint64_t records, batches, bad, topped_up; /* handed out and told; the consumer's alone */
	char cursor[80];
	struct tundish_flow_stats stats;
	uint64_t pictures, picture_bytes; /* see struct td_desk */
	uint64_t started_ns;
	struct td_trace *trace;	     /* or NULL */
	pthread_mutex_t talk;	     /* the listener is called by one thread at a time */
};

/* Starts the pool. */
int td_engine_start(struct tundish_flow *f, struct tundish_error *e);
/* Ends it; all that is under way is dropped. */
void td_engine_stop(struct tundish_flow *f);

/* The next batch in order, complete; 1, 0 at the end, or the sticky error. */
int td_engine_next(struct tundish_flow *f, struct td_slot **ret, struct tundish_error *e);
void td_slot_free(struct tundish_flow *f, struct td_slot *slot);
void td_engine_release(struct tundish_flow *f, struct td_slot *slot);

/* For the fetchers, lock held. The first error stays. */
void td_engine_fail(struct tundish_flow *f, int rc, const struct tundish_error *e);
/* The batch that is being handed out, opened where there is room; or NULL. */
struct td_slot *td_engine_open_slot(struct tundish_flow *f);
/* Its next row is handed out. */
void td_engine_give_row(struct tundish_flow *f);
/* It gets no more rows. */
void td_engine_close_batch(struct tundish_flow *f);
struct td_chunk *td_engine_take_chunk(struct tundish_flow *f);
/* Read: on to the workers; empty: back. */
void td_engine_put_chunk(struct tundish_flow *f, struct td_chunk *c);
void td_engine_count_fetch(struct tundish_flow *f, const struct td_chunk *c, uint64_t wall_ns,
    uint64_t cpu_ns);

/* The epoch of a row of batch b, and its position in the rank's share of that epoch. */
uint64_t td_share_at(const struct td_share *s, uint64_t b, unsigned row, uint64_t *ret_epoch);
/* Position number j of the share in the order of all ranks. */
static inline uint64_t td_share_global(const struct td_share *s, uint64_t j)
{
	return j * s->world + s->rank;
}
/* Its place in the order that is gone through: that of all ranks, or of this one. */
static inline uint64_t td_share_place(const struct td_share *s, uint64_t j)
{
	return s->by_file ? j : td_share_global(s, j);
}
