/* SPDX-License-Identifier: BSD-2-Clause
 * Counter-based random numbers: functions of a key, never of what came before. */
#include "rng.h"

#include <string.h>

static void philox_round(uint32_t c[4], const uint32_t k[2])
{
	uint64_t a = (uint64_t)0xD2511F53u * c[0], b = (uint64_t)0xCD9E8D57u * c[2];
	uint32_t n0 = (uint32_t)(b >> 32) ^ c[1] ^ k[0];
	uint32_t n2 = (uint32_t)(a >> 32) ^ c[3] ^ k[1];
	c[1] = (uint32_t)b;
	c[3] = (uint32_t)a;
	c[0] = n0;
	c[2] = n2;
}

void td_philox(uint32_t out[4], const uint32_t counter[4], const uint32_t key[2])
{
	uint32_t c[4], k[2] = { key[0], key[1] };
	memcpy(c, counter, sizeof c);
	for (int i = 0; i < 10; i++) {
		philox_round(c, k);
		k[0] += 0x9E3779B9u;
		k[1] += 0xBB67AE85u;
	}
	memcpy(out, c, sizeof c);
}

/* Counter words: position (2), epoch, and purpose with the block number in its
 * upper bits: 4096 purposes, a million blocks of four draws each. */
void td_rng_at(struct td_rng *r, uint64_t seed, uint32_t epoch, uint64_t position, uint32_t purpose)
{
	r->key[0] = (uint32_t)seed;
	r->key[1] = (uint32_t)(seed >> 32);
	r->counter[0] = (uint32_t)position;
	r->counter[1] = (uint32_t)(position >> 32);
	r->counter[2] = epoch;
	r->counter[3] = purpose;
	r->used = 4;
}

uint32_t td_rng_u32(struct td_rng *r)
{
	if (r->used == 4) {
		td_philox(r->out, r->counter, r->key);
		r->counter[3] += 4096;
		/* past 2^20 blocks at one position: go on in the key */
		if (r->counter[3] < 4096)
			r->key[1] += 0x9E3779B9u;
		r->used = 0;
	}
	return r->out[r->used++];
}

uint64_t td_rng_u64(struct td_rng *r)
{
	uint64_t low = td_rng_u32(r);
	return low | (uint64_t)td_rng_u32(r) << 32;
}

uint64_t td_rng_below(struct td_rng *r, uint64_t n)
{
	/* Lemire: multiply, and redraw in the few cases that would be uneven */
	unsigned __int128 m = (unsigned __int128)td_rng_u64(r) * n;
	if ((uint64_t)m < n) {
		uint64_t least = -n % n;
		while ((uint64_t)m < least)
			m = (unsigned __int128)td_rng_u64(r) * n;
	}
	return (uint64_t)(m >> 64);
}

double td_rng_unit(struct td_rng *r)
{
	return (double)(td_rng_u64(r) >> 11) * 0x1p-53;
}

static void swap_bytes(uint8_t *a, uint8_t *b, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		uint8_t t = a[i];
		a[i] = b[i];
		b[i] = t;
	}
}

void td_rng_shuffle(struct td_rng *r, void *items, size_t n, size_t item_bytes)
{
	uint8_t *p = items;
	for (size_t i = n; i > 1; i--) {
		size_t j = (size_t)td_rng_below(r, i);
		if (j != i - 1)
			swap_bytes(p + j * item_bytes, p + (i - 1) * item_bytes, item_bytes);
	}
}
