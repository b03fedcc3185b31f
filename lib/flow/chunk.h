/* SPDX-License-Identifier: BSD-2-Clause
 * Records on their way from the files to the work, a few at a time. */
#pragma once
#include "base/buf.h"
#include "cache.h"
#include "files.h"
#include "records.h"

struct td_slot;

/* What is to be said about one position, once its batch is handed out. */
struct td_note {
	struct td_note *next;
	unsigned row;
	int code;
	bool fatal; /* ends the flow whatever on_error says */
	struct td_place at;
	char reason[];
};

/* NULL when out of memory. */
struct td_note *td_note_new(int code, struct td_place at, bool fatal, const char *reason);

/* One position of the order. */
struct td_item {
	struct td_slot *slot;
	unsigned row;
	uint64_t epoch, position; /* the global one, of which draws are a function */
	uint64_t record;	  /* in the set */
	struct td_spot spot;
	const struct td_cached *kept; /* what the cache has of it: then it is not read */
	uint64_t shelved;	  /* bytes of what a shelf has of it, which is read instead; or 0 */
	const uint8_t *data;	  /* the payload, in the chunk's buffer */
	uint64_t bytes;
	struct td_note *note;	  /* it could not be read, or made */
	bool extra;		  /* see struct td_pick */
	bool lost;		  /* there was no memory for the note */
};

#define TD_CHUNK_ITEMS 64

struct td_chunk {
	struct td_chunk *next;
	unsigned n, claimed, left; /* items, handed to workers, not yet finished */
	uint64_t bytes;		   /* to be read, or that were read */
	uint64_t held;		   /* taken from the ledger; stays for the buffer when it is empty */
	struct td_buf buf;
	struct td_item items[TD_CHUNK_ITEMS];
};

struct td_place td_item_place(const struct td_records *set, const struct td_item *item);

/* What is to be read of an item: nothing when it is kept already, or too large. */
uint64_t td_item_read_bytes(const struct td_records *set, const struct td_item *item);

/* Reads and checks the records of a chunk; neighbours in a file by one read. What the
 * cache has on a shelf is read from there; `cache` may be NULL where no item says so. Raw
 * data are made into records with `desk`, the thread's own. What is wrong with an item is
 * its note. MEMORY is the only error. */
int td_chunk_read(struct td_chunk *chunk, const struct td_records *set, struct td_files *files,
    struct td_items_desk *desk, const struct td_cache *cache, struct tundish_error *e);
/* One record into buf, for stand-ins and probes: 0, or what is wrong with it. */
int td_record_read(struct td_buf *buf, const struct td_records *set, struct td_files *files,
    struct td_items_desk *desk, const struct td_spot *spot, const uint8_t **ret_data, uint64_t *ret_bytes,
    struct tundish_error *e);
