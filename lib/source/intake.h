/* SPDX-License-Identifier: BSD-2-Clause
 * Sources that are read once, from their start: pipes and compressed archives. */
#pragma once
#include "labels.h"
#include "list.h"

/*
 * What comes is known only when it is there. So labels must be whole numbers, which records
 * hold as they are, or be names of a list. Whether there are labels at all is settled by the
 * first item; others that have none then are bad. Listed sources of the same call come
 * first, in their order.
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
	bool labelled;
	int64_t label;	      /* with the offset */
	struct td_buf class;  /* its name, or the number in decimal before the offset */
	int code;	      /* negative: it is bad, for this reason, at this place */
	struct td_buf reason, path;
	int64_t offset;
};
/* The bytes that it holds. */
uint64_t td_taken_bytes(const struct td_taken *s, const struct td_listing *l);
void td_taken_free(struct td_taken *s);

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
