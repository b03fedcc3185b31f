/* SPDX-License-Identifier: BSD-2-Clause
 * Records of several strata dealt to batches, so that each batch holds all in proportion. */
#include "deal.h"

#include "base/rng.h"

/* One batch of an epoch. */
struct hand {
	const struct td_deal *d;
	uint64_t batch, whole; /* its number, and how many whole ones there are */
	uint64_t size, last;   /* positions, and those of the last, shorter one */
	uint64_t turn, offset; /* drawn for the epoch */
};

static uint64_t slots(const struct td_deal *d)
{
	return d->starts[d->n_strata];
}

static struct hand hand_of(const struct td_deal *d, uint64_t epoch, uint64_t position)
{
	uint64_t n = slots(d);
	struct hand h = { .d = d, .batch = position / d->batch, .whole = n / d->batch,
		.last = n % d->batch };
	struct td_rng r;
	td_rng_at(&r, d->seed, (uint32_t)epoch, UINT64_MAX, TD_RNG_DEAL);
	h.turn = h.whole ? td_rng_below(&r, h.whole) : 0;
	h.offset = td_rng_below(&r, n);
	h.size = h.batch < h.whole ? d->batch : h.last;
	return h;
}

/* How many of the first x slots the last batch picks. */
static uint64_t picked(const struct hand *h, uint64_t x)
{
	return (uint64_t)(((unsigned __int128)x * h->last + h->offset) / slots(h->d));
}

/* Of the first x slots without those, where the next one goes that this batch gets. */
static uint64_t dealt(const struct hand *h, uint64_t x)
{
	uint64_t card = (h->batch + h->turn) % h->whole;
	return x <= card ? 0 : (x - card + h->whole - 1) / h->whole;
}

/* The first slot of a stratum in this batch. */
static uint64_t first_of(const struct hand *h, unsigned stratum)
{
	uint64_t x = h->d->starts[stratum], p = picked(h, x);
	return h->batch < h->whole ? dealt(h, x - p) : p;
}

/* How many of the first x dealt slots go to the first n cards. */
static uint64_t to_cards(const struct hand *h, uint64_t x, uint64_t n)
{
	return x / h->whole * n + TD_MIN(x % h->whole, n);
}

/* How many of the first x dealt slots go to batches before this one. */
static uint64_t before(const struct hand *h, uint64_t x)
{
	uint64_t end = h->turn + h->batch;
	if (h->batch == h->whole)
		return x;
	if (end <= h->whole)
		return to_cards(h, x, end) - to_cards(h, x, h->turn);
	return x - to_cards(h, x, h->turn) + to_cards(h, x, end - h->whole);
}

static uint64_t number_of(const struct hand *h, unsigned stratum, uint64_t within)
{
	const uint64_t *s = h->d->starts + stratum;
	return before(h, s[1] - picked(h, s[1])) - before(h, s[0] - picked(h, s[0])) + within;
}

static uint64_t common_divisor(uint64_t a, uint64_t b)
{
	while (b) {
		uint64_t rest = a % b;
		a = b;
		b = rest;
	}
	return a;
}

/* The slot that stands at position q of the batch. */
static uint64_t slot_at(const struct hand *h, uint64_t epoch, uint64_t q)
{
	struct td_rng r;
	uint64_t a;
	if (h->size < 2)
		return q;
	td_rng_at(&r, h->d->seed, (uint32_t)epoch, h->batch, TD_RNG_DEAL);
	uint64_t o = td_rng_below(&r, h->size);
	do {
		a = 1 + td_rng_below(&r, h->size - 1);
	} while (common_divisor(a, h->size) > 1);
	return (uint64_t)(((unsigned __int128)a * q + o) % h->size);
}

static uint64_t count_of(const struct hand *h, unsigned stratum)
{
	return first_of(h, stratum + 1) - first_of(h, stratum);
}

/* How many slots strata have over `top`, all together. */
static uint64_t over(const struct hand *h, uint64_t top)
{
	uint64_t sum = 0;
	for (unsigned s = 0; s < h->d->n_strata; s++) {
		uint64_t n = count_of(h, s);
		sum += n > top ? n - top : 0;
	}
	return sum;
}

/* The largest number for which what strata have over it makes up for those that are short
 * of `least`; what it gives too much goes to *ret_back. */
static uint64_t level(const struct hand *h, uint64_t least, uint64_t *ret_back)
{
	uint64_t wanted = 0, low = least, high = h->size;
	for (unsigned s = 0; s < h->d->n_strata; s++) {
		uint64_t n = count_of(h, s);
		wanted += n < least ? least - n : 0;
	}
	while (low < high) {
		uint64_t middle = low + (high - low + 1) / 2;
		if (over(h, middle) >= wanted)
			low = middle;
		else
			high = middle - 1;
	}
	*ret_back = over(h, low) - wanted;
	return low;
}

/* Slot t where each stratum has `least`: those that are short get extra ones, the largest
 * give way. */
static struct td_dealt with_least(const struct hand *h, uint64_t t)
{
	const struct td_deal *d = h->d;
	uint64_t least = TD_MIN(d->least, h->size / d->n_strata), back, at = 0;
	uint64_t top = level(h, least, &back);
	struct td_dealt ret = { 0, 0, true };
	for (unsigned s = 0; s < d->n_strata; s++) {
		uint64_t n = count_of(h, s), keep = TD_MIN(TD_MAX(n, least), top);
		if (back > 0 && n > keep) {
			keep++;
			back--;
		}
		if (t < at + keep) {
			ret.stratum = s;
			ret.extra = t - at >= n;
			ret.number = ret.extra ? 0 : number_of(h, s, t - at);
			break;
		}
		at += keep;
	}
	return ret;
}

struct td_dealt td_deal_at(const struct td_deal *d, uint64_t epoch, uint64_t position)
{
	struct hand h = hand_of(d, epoch, position);
	uint64_t t = slot_at(&h, epoch, position % d->batch);
	if (d->least)
		return with_least(&h, t);
	unsigned low = 0, high = d->n_strata;
	while (high - low > 1) {
		unsigned middle = low + (high - low) / 2;
		if (first_of(&h, middle) <= t)
			low = middle;
		else
			high = middle;
	}
	return (struct td_dealt){ low, number_of(&h, low, t - first_of(&h, low)), false };
}
