/* SPDX-License-Identifier: BSD-2-Clause
 * Counter-based random numbers: functions of a key, never of what came before. */
#pragma once
#include "attr.h"

/* What a draw is for, so that no two uses share numbers. */
enum td_purpose {
	TD_RNG_ORDER = 1,	/* shuffles of records and items */
	TD_RNG_SPLIT = 2,
	TD_RNG_SHARD = 3,
	TD_RNG_REPLACE = 4,	/* stand-ins for bad records */
	TD_RNG_SAMPLE = 5,	/* samples for estimates, probes, sheets */
	TD_RNG_DRAW = 6,	/* samplers: which record comes */
	TD_RNG_DEAL = 7,	/* which batch a record goes to */
	TD_RNG_CLIP = 8,	/* which frames a clip has */
	TD_RNG_MIX = 128,	/* plus the place among mixup and cutmix, and the same for pairs */
	TD_RNG_OP = 256,	/* plus the place of the operation in the chain */
};

/* Philox 4x32-10 (Salmon et al., SC11): 128 random bits for a key and counter. */
void td_philox(uint32_t out[4], const uint32_t counter[4], const uint32_t key[2]);

/* A short sequence of draws at one (seed, epoch, position, purpose). */
struct td_rng {
	uint32_t key[2], counter[4], out[4];
	unsigned used;
};

void td_rng_at(struct td_rng *r, uint64_t seed, uint32_t epoch, uint64_t position, uint32_t purpose);
uint32_t td_rng_u32(struct td_rng *r);
uint64_t td_rng_u64(struct td_rng *r);
/* Uniform in [0, n), exact; n > 0. */
uint64_t td_rng_below(struct td_rng *r, uint64_t n);
/* Uniform in [0, 1): 53 bits. */
double td_rng_unit(struct td_rng *r);

/* Shuffles n items of `item_bytes` each in place (Fisher-Yates). */
void td_rng_shuffle(struct td_rng *r, void *items, size_t n, size_t item_bytes);
