/* SPDX-License-Identifier: BSD-2-Clause
 * Which record comes when: a function of seed, epoch and position. */
#pragma once
#include <stdbool.h>

#include "base/attr.h"
#include "tundish.h"

enum td_order_kind {
	TD_ORDER_OFF,	/* as in the files */
	TD_ORDER_FULL,	/* a permutation of all */
	TD_ORDER_BLOCK, /* blocks of `size` neighbours permuted, and the records in each */
	TD_ORDER_BUFFER,/* tf.data's shuffle buffer of `size` */
};

/* Three levels, each of which may be left out: files in an order drawn for each epoch and
 * interleaved, records, and at last whole groups of neighbours. */
struct td_order_spec {
	bool shards;	  /* files in a drawn order */
	uint64_t cycle;	  /* so many files at once, in turn; 1: one after the other */
	uint64_t length;  /* records of a file before it is the next one's turn */
	enum td_order_kind kind;
	uint64_t size;	  /* of block, buffer */
	uint64_t group;	  /* groups of so many in a drawn order; 0: no */
	bool once;	  /* all epochs have the order of the first one */
	uint64_t records; /* in an epoch; more than 0 */
	uint64_t seed;
	const uint64_t *first; /* each file's first record, and the end: n_files + 1 of them */
	size_t n_files;	       /* needed for shards and cycle alone */
};

/* Reads "off", "full", "block:N", "buffer:N", "shards", "batch:N" or some of them with +
 * between, such as "shards+buffer:N+batch:N"; NULL means off. USAGE. */
int td_order_parse(struct td_order_spec *ret, const char *text, struct tundish_error *e);
/* The file that comes as number i in an epoch. */
size_t td_order_file(const struct td_order_spec *spec, uint64_t epoch, size_t i);
/* Which of the `n` records in a shuffle buffer comes as number i of an epoch. */
uint64_t td_order_draw(const struct td_order_spec *spec, uint64_t epoch, uint64_t i, uint64_t n);

/* A keyed permutation of 0 .. n-1: a Feistel network over a * b >= n, walked until the
 * result is below n. Takes no memory. */
struct td_permutation {
	uint64_t n, a, b, key[2];
	unsigned rounds; /* even */
};
/* n > 0; `which` tells permutations of the same seed and epoch apart. */
void td_permutation_init(struct td_permutation *p, uint64_t n, uint64_t seed, uint64_t epoch,
    uint64_t which);
uint64_t td_permutation_at(const struct td_permutation *p, uint64_t i);
uint64_t td_permutation_place(const struct td_permutation *p, uint64_t value); /* its inverse */

/* off, full and block alone are computed at each call; all else is replayed once an epoch,
 * whole numbers only, and the last few epochs are kept. Any thread may ask. */
struct td_order;
int td_order_open(struct td_order **ret, const struct td_order_spec *spec, struct tundish_error *e);
/* The record at a position of an epoch. MEMORY is the only error. */
int td_order_at(struct td_order *o, uint64_t epoch, uint64_t position, uint64_t *ret_record);
void td_order_close(struct td_order *o);
