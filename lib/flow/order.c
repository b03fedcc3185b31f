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
	uint64_t *first;      /* a copy of the spec's, where it is needed */
	pthread_mutex_t lock; /* over the replays */
	struct replay kept[KEPT_EPOCHS];
	uint64_t turn;
};

/* A number behind NAME, or 0. */
static uint64_t sized(const char *text, size_t len, const char *name)
{
	size_t n = strlen(name);
	uint64_t size = 0;
	if (len <= n || len > n + 15 || strncmp(text, name, n) != 0)
		return 0;
	for (size_t i = n; i < len; i++) {
		if (text[i] < '0' || text[i] > '9')
			return 0;
		size = size * 10 + (uint64_t)(text[i] - '0');
	}
	return size;
}

/* One level; the levels stand in their order, each once at most. Its rank, or 0. */
static int parse_level(struct td_order_spec *s, const char *text, size_t len)
{
	uint64_t n;
	if (len == 6 && strncmp(text, "shards", len) == 0) {
		s->shards = true;
		return 1;
	}
	if (len == 4 && strncmp(text, "full", len) == 0) {
		s->kind = TD_ORDER_FULL;
		return 2;
	}
	if ((n = sized(text, len, "block:")) > 0) {
		s->kind = TD_ORDER_BLOCK;
		s->size = n;
		return 2;
	}
	if ((n = sized(text, len, "buffer:")) > 0) {
		s->kind = TD_ORDER_BUFFER;
		s->size = n;
		return 2;
	}
	if ((n = sized(text, len, "batch:")) > 0) {
		s->group = n;
		return 3;
	}
	return 0;
}

int td_order_parse(struct td_order_spec *ret, const char *text, struct tundish_error *e)
{
	struct td_order_spec s = *ret;
	s.shards = false;
	s.kind = TD_ORDER_OFF;
	s.size = s.group = 0;
	bool off = !text || strcmp(text, "off") == 0, good = true;
	int last = 0;
	for (const char *at = text; !off && good; at++) {
		size_t len = strcspn(at, "+");
		int rank = parse_level(&s, at, len);
		good = rank > last;
		last = rank;
		at += len;
		if (!*at)
			break;
	}
	if (!good)
		return td_err(e, TUNDISH_E_USAGE, "shuffle \"%s\" is not understood: off, full, block:N or "
		    "buffer:N, with shards+ before or +batch:N behind it", TD_ESC(text));
	*ret = s;
	return 0;
}

int td_order_open(struct td_order **ret, const struct td_order_spec *spec, struct tundish_error *e)
{
	struct td_order *o = calloc(1, sizeof *o);
	if (!o)
		return td_err_memory(e);
	o->spec = *spec;
	o->spec.size = TD_MIN(spec->size, spec->records);
	o->spec.group = TD_MIN(spec->group, spec->records);
	o->spec.length = TD_MAX(spec->length, 1u);
	if (spec->shards || spec->cycle > 1) {
		size_t bytes = (spec->n_files + 1) * sizeof *o->first;
		o->first = malloc(bytes);
		if (!o->first) {
			free(o);
			return td_err_memory(e);
		}
		memcpy(o->first, spec->first, bytes);
	}
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

/* Draws of different levels, so that none repeats another's: blocks count from 0. */
#define WHICH_FILES UINT64_MAX
#define WHICH_GROUPS (UINT64_MAX - 1)

static uint64_t drawn_epoch(const struct td_order_spec *s, uint64_t epoch)
{
	return s->once ? 0 : epoch;
}

size_t td_order_file(const struct td_order_spec *s, uint64_t epoch, size_t i)
{
	struct td_permutation files;
	if (!s->shards)
		return i;
	td_permutation_init(&files, s->n_files, s->seed, drawn_epoch(s, epoch), WHICH_FILES);
	return (size_t)td_permutation_at(&files, i);
}

uint64_t td_order_draw(const struct td_order_spec *s, uint64_t epoch, uint64_t i, uint64_t n)
{
	struct td_rng r;
	td_rng_at(&r, s->seed, (uint32_t)drawn_epoch(s, epoch), i, TD_RNG_ORDER);
	return td_rng_below(&r, n);
}

/* A file in the cycle, and what is left of it. */
struct turn {
	uint64_t next, end;
};

/* The next file of the epoch that has records. */
static bool next_file(const struct td_order *o, uint64_t epoch, size_t *file, struct turn *ret)
{
	while (*file < o->spec.n_files) {
		size_t i = td_order_file(&o->spec, epoch, *file);
		++*file;
		*ret = (struct turn){ o->first[i], o->first[i + 1] };
		if (ret->next < ret->end)
			return true;
	}
	return false;
}

/* Files in turn, `length` records of each; a file that ends makes room for the next one.
 * False when out of memory. */
static bool interleave(const struct td_order *o, uint64_t epoch, uint64_t *records)
{
	const struct td_order_spec *s = &o->spec;
	size_t n = (size_t)TD_MAX(TD_MIN(s->cycle, s->n_files), 1u), file = 0, open = 0;
	struct turn *turns = calloc(n, sizeof *turns);
	if (!turns)
		return false;
	while (open < n && next_file(o, epoch, &file, &turns[open]))
		open++;
	for (size_t at = 0; open > 0;) {
		struct turn *t = &turns[at];
		for (uint64_t k = 0; k < s->length && t->next < t->end; k++)
			*records++ = t->next++;
		if (t->next < t->end || next_file(o, epoch, &file, t)) {
			at++;
		} else {
			memmove(t, t + 1, (open - at - 1) * sizeof *t);
			open--;
		}
		at = at < open ? at : 0;
	}
	free(turns);
	return true;
}

/* What a shuffle buffer gives out of them, in place. */
static void pass_buffer(const struct td_order_spec *s, uint64_t epoch, uint64_t *records)
{
	/* the buffer itself lies in the part of `records` that is not yet given out */
	uint64_t n = s->records;
	for (uint64_t i = 0; i < n; i++) {
		uint64_t j = i + td_order_draw(s, epoch, i, TD_MIN(s->size, n - i)), t = records[j];
		records[j] = records[i];
		records[i] = t;
	}
}

/* to[i] = from[place of i in the groups' order]; the last group may be short. */
static void order_groups(const struct td_order_spec *s, uint64_t epoch, uint64_t *to,
    const uint64_t *from)
{
	struct td_permutation groups;
	uint64_t n = (s->records - 1) / s->group + 1, at = 0;
	td_permutation_init(&groups, n, s->seed, epoch, WHICH_GROUPS);
	for (uint64_t i = 0; i < n; i++) {
		uint64_t first = td_permutation_at(&groups, i) * s->group;
		uint64_t count = TD_MIN(s->group, s->records - first);
		memcpy(to + at, from + first, count * sizeof *to);
		at += count;
	}
}

static uint64_t computed(const struct td_order_spec *s, uint64_t epoch, uint64_t position)
{
	struct td_permutation all;
	switch (s->kind) {
	case TD_ORDER_FULL:
		td_permutation_init(&all, s->records, s->seed, epoch, 0);
		return td_permutation_at(&all, position);
	case TD_ORDER_BLOCK:
		return block_at(s, epoch, position);
	default:
		return position;
	}
}

/* All levels of an epoch. False when out of memory. */
static bool fill(const struct td_order *o, uint64_t epoch, uint64_t *records)
{
	const struct td_order_spec *s = &o->spec;
	uint64_t *spare = calloc(s->records, sizeof *spare), *base = o->first ? spare : NULL;
	bool good = spare && (!base || interleave(o, epoch, base));
	for (uint64_t i = 0; i < s->records && good; i++) {
		uint64_t at = computed(s, epoch, i);
		records[i] = base ? base[at] : at;
	}
	if (good && s->kind == TD_ORDER_BUFFER)
		pass_buffer(s, epoch, records);
	if (good && s->group) {
		memcpy(spare, records, s->records * sizeof *spare);
		order_groups(s, epoch, records, spare);
	}
	free(spare);
	return good;
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
	oldest->used = fill(o, epoch, oldest->records) ? ++o->turn : 0;
	if (!oldest->used) {
		free(oldest->records);
		oldest->records = NULL;
	}
	return oldest->records;
}

int td_order_at(struct td_order *o, uint64_t epoch, uint64_t position, uint64_t *ret_record)
{
	const struct td_order_spec *s = &o->spec;
	epoch = drawn_epoch(s, epoch);
	if (s->kind != TD_ORDER_BUFFER && !o->first && !s->group) {
		*ret_record = computed(s, epoch, position);
		return 0;
	}
	pthread_mutex_lock(&o->lock);
	const uint64_t *records = replay(o, epoch);
	if (records)
		*ret_record = records[position];
	pthread_mutex_unlock(&o->lock);
	return records ? 0 : TUNDISH_E_MEMORY;
}

void td_order_close(struct td_order *o)
{
	if (!o)
		return;
	for (int i = 0; i < KEPT_EPOCHS; i++)
		free(o->kept[i].records);
	pthread_mutex_destroy(&o->lock);
	free(o->first);
	free(o);
}
