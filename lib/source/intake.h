/* SPDX-License-Identifier: BSD-2-Clause
 * Sources that are read once, from their start: pipes and compressed archives. */
#pragma once
#include "labels.h"
#include "list.h"

/*
 * What comes is known only when it is there. So labels must be whole numbers, which records
 * hold as they are, or be names of a list or table. Whether there are labels at all is settled
 * by the first item; others that have none then are bad. Listed sources of the same call come
 * first, in their order.
 *
 * A picture is handed out as its bytes. Any other member is poured into a file without a name,
 * and its items are handed out one by one. An ENVI header waits for its numbers and the other
 * way round; numbers that come first wait in memory as far as that goes.
 */
struct td_taken {
	int64_t item;	      /* of the listing; -1: what follows holds it */
	struct td_buf name;   /* as records carry it, with a NUL */
	struct td_buf data;   /* the picture */
	struct td_buf side;   /* bytes and names of what belongs to it */
	struct td_companion {
		size_t extension, data, bytes; /* where in side */
		uint8_t role;
	} *companions;
	size_t n, cap;
	int format;	      /* of an item of a file */
	struct td_spilled *file; /* NULL: it is the picture in data */
	uint32_t part;
	uint64_t bytes;	      /* that reading it takes, about */
	bool clip, sound;
	bool sequence;	      /* its file's items follow one another */
	size_t row;	      /* in the listing's columns + 1; 0: none */
	struct td_buf group;  /* items that no split may part, with a NUL; empty: it has none */
	bool labelled;
	int64_t label;	      /* with the offset */
	struct td_buf class;  /* its name, or the number in decimal before the offset; "" for -1 */
	int code;	      /* negative: it is bad, for this reason, at this place */
	struct td_buf reason, path;
	int64_t offset, line, record;
};
/* The bytes that it holds. */
uint64_t td_taken_bytes(const struct td_taken *s, const struct td_listing *l);
void td_taken_free(struct td_taken *s);
/* Sets one of its texts, with a NUL. */
bool td_taken_text(struct td_buf *b, const char *text, size_t len) td_must_check;
/* It is bad: 0, or MEMORY. */
int td_taken_bad(struct td_taken *s, int code, const char *reason, struct tundish_error *e);

struct td_intake;
/* Reads what the listing holds and then its streams. The classes are a list, or NULL. */
int td_intake_open(struct td_intake **ret, struct td_listing *l, const struct td_classes *fixed,
    const struct td_list_options *o, struct tundish_error *e);
/* The next sample into recycled memory: 1, 0 at the end, or the error that ends the run
 * (USAGE for a label that cannot be). One thread. */
int td_intake_next(struct td_intake *s, struct td_taken *out, struct tundish_error *e);
void td_intake_close(struct td_intake *s);

/* Turns it into what td_item_load() gives. Any thread. */
int td_taken_load(struct td_loaded *out, struct td_buf *path, struct td_taken *s, const struct td_listing *l,
    const struct td_cut *cut, struct tundish_error *e);
