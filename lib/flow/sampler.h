/* SPDX-License-Identifier: BSD-2-Clause
 * Which record comes at a position, where not all come once: weights, strata, mixtures. */
#pragma once
#include "deal.h"
#include "order.h"
#include "strata.h"

enum td_sampler_kind {
	TD_SAMPLE_ALL,	      /* the order itself: each record once an epoch */
	TD_SAMPLE_WEIGHTED,   /* drawn, put back, drawn again */
	TD_SAMPLE_STRATIFIED, /* each batch holds all values of a feature in proportion */
	TD_SAMPLE_MIX,	      /* several sources in proportion */
};

/* What `sampler` says. */
struct td_sampler_spec {
	enum td_sampler_kind kind;
	char *feature, *table; /* table: a file of weights; NULL: 1 / frequency */
	bool equal;	       /* stratified: all values alike, not as frequent as they are */
};
/* "weighted:FEATURE[,table=FILE]", "stratified:FEATURE[,equal]", or NULL. USAGE. */
int td_sampler_parse(struct td_sampler_spec *ret, const char *text, struct tundish_error *e);
void td_sampler_spec_free(struct td_sampler_spec *spec);

struct td_pick {
	uint64_t record;
	unsigned source; /* of a mix */
	bool extra;	 /* drawn once more to reach the least of its source in a batch */
};

/* A function of epoch and position, like an order. An epoch has `positions`. */
struct td_sampler {
	enum td_sampler_kind kind;
	uint64_t seed, positions;
	struct td_strata strata; /* weighted, stratified */
	double *sums;		 /* weighted: of the weights of all records up to a value */
	bool shuffled;		 /* stratified: records of a value in a drawn order */
	struct td_deal deal;	 /* stratified, mix */
	struct td_order **orders;/* one, or one a source */
	uint64_t *first;	 /* mix: each source's first record, and the end */
	unsigned n_orders;
};

/* How it is dealt to batches. */
struct td_sampler_batches {
	uint64_t positions; /* of a batch of all ranks */
	uint64_t least;	    /* of each source in it */
};

/* Each opens a zeroed struct. Positions are set first, as far as they are known. */
int td_sampler_order(struct td_sampler *s, const struct td_order_spec *order, struct tundish_error *e);
/* `strata` becomes the sampler's. Errors: USAGE (tables), NOT_FOUND, IO, MEMORY. */
int td_sampler_strata(struct td_sampler *s, const struct td_sampler_spec *spec,
    struct td_strata *strata, uint64_t batch, const struct td_order_spec *order,
    const struct tundish_listener *l, struct tundish_error *e);
/* weights: one for each of the set's sources. */
int td_sampler_mix(struct td_sampler *s, const struct td_records *set,
    const struct td_sampler_batches *batches, const struct td_order_spec *order,
    struct tundish_error *e);

/* Any thread may ask. MEMORY is the only error. */
int td_sampler_at(const struct td_sampler *s, uint64_t epoch, uint64_t position, struct td_pick *ret);
void td_sampler_close(struct td_sampler *s);
