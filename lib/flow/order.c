/* SPDX-License-Identifier: BSD-2-Clause
 * Which record comes when: a function of seed, epoch and position. */
#include "order.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/rng.h"

/* Small halves mix slowly: 16 rounds still show in a chi-square test over all orders of six
 * records, 24 do not. */
#define FEW ((uint64_t)1 << 16)
#define ROUNDS_FEW 24
#define ROUNDS_MANY 12
#define KEPT_EPOCHS 3

/* ---- permutations ---- */

void td_permutation_init(struct td_permutation *p, uint64_t n, uint64_t seed, uint64_t epoch,
    uint64_t which)
{
	struct td_rng r;
	td_rng_at(&r, seed, (uint32_t)epoch, which, TD_RNG_ORDER);
	uint64_t a = (uint64_t)__builtin_sqrt((double)n);
	/* one column or row alone would only turn round */
	a = n > 2 ? TD_MAX(a, 2u) : n;
	*p = (struct td_permutation){ n, a, (n - 1) / a + 1, { td_rng_u64(&r), td_rng_u64(&r) },
		n < FEW ? ROUNDS_FEW : ROUNDS_MANY };
}

/* A number below `below` for a half and a round (splitmix64's mixer). */
static uint64_t mixed(const struct td_permutation *p, uint64_t half, unsigned round, uint64_t below)
{
	uint64_t x = (half ^ p->key[0]) + p->key[1] + round * 0x9e3779b97f4a7c15u;
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
	x = ((x ^ x >> 27) + p->key[0]) * 0x94d049bb133111ebu;
	x ^= x >> 31;
	return (uint64_t)((unsigned __int128)x * below >> 64);
}

uint64_t td_permutation_at(const struct td_permutation *p, uint64_t i)
{
	do {
		uint64_t l = i % p->a, r = i / p->a;
		for (unsigned k = 0; k < p->rounds; k += 2) {
			l += mixed(p, r, k, p->a);
			l -= l >= p->a ? p->a : 0;
			r += mixed(p, l, k + 1, p->b);
			r -= r >= p->b ? p->b : 0;
		}
		i = r * p->a + l;
	} while (i >= p->n);
	return i;
}

uint64_t td_permutation_place(const struct td_permutation *p, uint64_t value)
{
	do {
		uint64_t l = value % p->a, r = value / p->a;
		for (unsigned k = p->rounds; k > 0; k -= 2) {
			uint64_t down = mixed(p, l, k - 1, p->b);
			r = r >= down ? r - down : r + p->b - down;
			down = mixed(p, r, k - 2, p->a);
			l = l >= down ? l - down : l + p->a - down;
		}
		value = r * p->a + l;
	} while (value >= p->n);
	return value;
}

/* ---- orders ---- */

struct replay {
	uint64_t epoch, used;
	uint64_t *records;
};

struct td_order {
	struct td_order_spec spec;
	pthread_mutex_t lock; /* over the replays */
	struct replay kept[KEPT_EPOCHS];
	uint64_t turn;
};

int td_order_parse(struct td_order_spec *ret, const char *text, struct tundish_error *e)
{
	static const struct {
		const char *name;
		enum td_order_kind kind;
		bool sized;
	} kinds[] = {
		{ "off", TD_ORDER_OFF, false },
		{ "full", TD_ORDER_FULL, false },
		{ "block:", TD_ORDER_BLOCK, true },
		{ "buffer:", TD_ORDER_BUFFER, true },
	};
	text = text ? text : "off";
	for (size_t i = 0; i < TD_COUNT(kinds); i++) {
		size_t n = strlen(kinds[i].name);
		if (!kinds[i].sized && strcmp(text, kinds[i].name) == 0) {
			ret->kind = kinds[i].kind;
			ret->size = 0;
			return 0;
		}
		if (!kinds[i].sized || strncmp(text, kinds[i].name, n) != 0)
			continue;
		size_t digits = strspn(text + n, "0123456789");
		uint64_t size = digits > 0 && digits < 16 ? strtoull(text + n, NULL, 10) : 0;
		if (size == 0 || text[n + digits])
			break;
		ret->kind = kinds[i].kind;
		ret->size = size;
		return 0;
	}
	return td_err(e, TUNDISH_E_USAGE,
	    "shuffle \"%s\" is not understood: off, full, block:N or buffer:N", TD_ESC(text));
}

int td_order_open(struct td_order **ret, const struct td_order_spec *spec, struct tundish_error *e)
{
	struct td_order *o = calloc(1, sizeof *o);
	if (!o)
		return td_err_memory(e);
	o->spec = *spec;
	if (o->spec.size > spec->records)
		o->spec.size = spec->records;
	pthread_mutex_init(&o->lock, NULL);
	*ret = o;
	return 0;
}

static uint64_t block_at(const struct td_order_spec *s, uint64_t epoch, uint64_t position)
{
	struct td_permutation blocks, inner;
	uint64_t last = (s->records - 1) / s->size, rest = s->records - last * s->size;
	td_permutation_init(&blocks, last + 1, s->seed, epoch, 0);
	/* the last block may be short; where it comes, all behind it moves up */
	uint64_t short_at = td_permutation_place(&blocks, last) * s->size, block;
	if (position >= short_at + rest)
		position += s->size - rest;
	block = td_permutation_at(&blocks, position / s->size);
	td_permutation_init(&inner, block == last ? rest : s->size, s->seed, epoch, block + 1);
	return block * s->size + td_permutation_at(&inner, position % s->size);
}

/* What a shuffle buffer would give, all of an epoch. */
static void fill_buffer_order(const struct td_order_spec *s, uint64_t epoch, uint64_t *records)
{
	/* the buffer itself lies in the part of `records` that is not yet given out */
	uint64_t n = s->records;
	for (uint64_t i = 0; i < n; i++)
		records[i] = i;
	for (uint64_t i = 0; i < n; i++) {
		struct td_rng r;
		td_rng_at(&r, s->seed, (uint32_t)epoch, i, TD_RNG_ORDER);
		uint64_t j = i + td_rng_below(&r, TD_MIN(s->size, n - i)), t = records[j];
		records[j] = records[i];
		records[i] = t;
	}
}

/* The replay of an epoch, made where it is not kept; NULL when out of memory. Locked. */
static const uint64_t *replay(struct td_order *o, uint64_t epoch)
{
	struct replay *oldest = &o->kept[0];
	for (int i = 0; i < KEPT_EPOCHS; i++) {
		struct replay *k = &o->kept[i];
		if (k->records && k->epoch == epoch) {
			k->used = ++o->turn;
			return k->records;
		}
		if (k->used < oldest->used)
			oldest = k;
	}
	if (!oldest->records)
		oldest->records = calloc(o->spec.records, sizeof *oldest->records);
	if (!oldest->records)
		return NULL;
	oldest->epoch = epoch;
	oldest->used = ++o->turn;
	fill_buffer_order(&o->spec, epoch, oldest->records);
	return oldest->records;
}

int td_order_at(struct td_order *o, uint64_t epoch, uint64_t position, uint64_t *ret_record)
{
	const struct td_order_spec *s = &o->spec;
	struct td_permutation all;
	const uint64_t *records;
	switch (s->kind) {
	case TD_ORDER_FULL:
		td_permutation_init(&all, s->records, s->seed, epoch, 0);
		*ret_record = td_permutation_at(&all, position);
		return 0;
	case TD_ORDER_BLOCK:
		*ret_record = block_at(s, epoch, position);
		return 0;
	case TD_ORDER_BUFFER:
		pthread_mutex_lock(&o->lock);
		records = replay(o, epoch);
		if (records)
			*ret_record = records[position];
		pthread_mutex_unlock(&o->lock);
		return records ? 0 : TUNDISH_E_MEMORY;
	default:
		*ret_record = position;
		return 0;
	}
}

void td_order_close(struct td_order *o)
{
	if (!o)
		return;
	for (int i = 0; i < KEPT_EPOCHS; i++)
		free(o->kept[i].records);
	pthread_mutex_destroy(&o->lock);
	free(o);
}
