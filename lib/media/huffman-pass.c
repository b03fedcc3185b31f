/* SPDX-License-Identifier: BSD-2-Clause
 * Passing over blocks of Huffman codes whose coefficients nobody wants. */
/* gcc would keep pairs of what is at hand in vector registers, moved twice in each step, and
 * fill the many short pieces of tables by string instructions, which are slow to begin. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("no-tree-slp-vectorize", "no-tree-loop-distribute-patterns")
#endif

#include "huffman-bits.h"

#include "base/bits.h"

#define SKIPS (1u << TD_SKIP_BITS)
#define FULL 63	  /* places that a block has behind DC */
#define OVER 64	  /* bit of the places that says: code by code */
#define ENDED 129 /* places at the end of a block: OVER is set if too many were before */
#define MOST_PLACES 62
#define LEAST_STRETCH 8192 /* bits */

/* ---- tables ---- */

static unsigned step_of(unsigned len, unsigned symbol)
{
	unsigned places = td_huff_places(symbol);
	return (len + (symbol & 15)) | (places == TD_HUFF_END ? ENDED : places) << 8;
}

/* Fills n lookups with a code's step and those behind it, where they have room. */
static void add_steps(
    uint16_t *out, unsigned step, const uint16_t *behind, unsigned n, unsigned most)
{
	unsigned places = step >> 8;
	for (unsigned i = 0; i < n; i++)
		out[i] = (uint16_t)(step + behind[i]);
	if (places + most <= MOST_PLACES)
		return;
	for (unsigned i = 0; i < n; i++) {
		unsigned more = behind[i] >> 8;
		if (places + (more >= ENDED ? more - ENDED : more) > MOST_PLACES)
			out[i] = (uint16_t)step;
	}
}

/* While lookups are filled: of that many bits, and the most places in those of fewer. */
struct filling {
	struct td_huff_skip *t;
	unsigned bits;
	unsigned most[TD_SKIP_BITS + 1];
};

/* The lookups of one code, all values of its bits; returns how many. */
static unsigned fill_step(struct filling *f, uint16_t *out, unsigned len, unsigned symbol)
{
	unsigned step = step_of(len, symbol), total = step & 255, n = 1u << (f->bits - len);
	bool ended = step >> 8 == ENDED;
	unsigned places = ended ? 0 : step >> 8, each = n;
	if (ended || total >= f->bits) {
		for (unsigned i = 0; i < n; i++)
			out[i] = (uint16_t)step;
	} else {
		unsigned left = f->bits - total;
		each = 1u << left;
		add_steps(out, step, f->t->fast + each, each, f->most[left]);
		places = TD_MIN(places + f->most[left], (unsigned)MOST_PLACES);
	}
	for (unsigned i = each; i < n; i++)
		out[i] = out[i - each];
	f->most[f->bits] = TD_MAX(f->most[f->bits], places);
	return n;
}

/* All lookups of that many bits, from those of fewer. */
static void fill_steps(struct filling *f)
{
	uint16_t *out = f->t->fast + (1u << f->bits), *end = out + (1u << f->bits);
	const struct td_huff_code *code = &f->t->code;
	unsigned place = 0;
	for (unsigned len = 1; len <= f->bits; len++)
		for (unsigned i = 0; i < code->bits[len]; i++, place++)
			out += fill_step(f, out, len, code->values[place]);
	/* longer codes: nothing is known of them, and in the end that has to be found out */
	uint16_t unknown = f->bits == TD_SKIP_BITS ? OVER << 8 : 0;
	while (out < end)
		*out++ = unknown;
}

bool td_huff_build_skip(
    struct td_huff_skip *t, const uint8_t bits[17], const uint8_t values[256])
{
	int rc = td_huff_new_code(&t->code, t->symbols, bits, values);
	struct filling f = { .t = t };
	if (rc <= 0)
		return rc == 0;
	t->fast[1] = 0;
	for (f.bits = 1; f.bits <= TD_SKIP_BITS; f.bits++)
		fill_steps(&f);
	return true;
}

/* ---- blocks ---- */

/* The rest of a block code by code. */
static bool slow_rest(const struct td_huff_skip *t, struct td_bits *b, unsigned places)
{
	while (places < FULL) {
		refill(b);
		unsigned symbol = t->symbols[b->buf >> (64 - TD_HUFF_BITS)];
		if (!symbol)
			symbol = td_huff_long_code(&t->code, b->buf);
		if (!symbol)
			return false;
		take(b, (symbol >> 8) + (symbol & 15));
		places += td_huff_places(symbol & 255);
	}
	return places == FULL || places >= TD_HUFF_END;
}

BODY bool skip_body(const struct td_huff_skip *t, struct td_bits *b)
{
	unsigned places = 0, e;
	uint64_t before;
	do {
		/* looked up before the refill: no step leaves less than 12 bits */
		e = t->fast[SKIPS + (b->buf >> (64 - TD_SKIP_BITS))];
		refill(b);
		before = b->buf;
		take(b, e);
		places += e >> 8;
	} while (places < FULL);
	if (td_likely(!(places & OVER)))
		return true;
	struct td_bits slow = *b;
	slow.buf = before;
	slow.n += e & 255;
	if (!slow_rest(t, &slow, places - (e >> 8)))
		return false;
	*b = slow;
	return true;
}

BODY bool mcu_body(const struct td_mcu *mcu, struct td_bits *b, int32_t *dc)
{
	for (unsigned i = 0; i < mcu->n; i++) {
		int32_t *last = &dc[mcu->block[i].component];
		if (!td_huff_add_dc(mcu->block[i].dc, b, last) || *last != (int16_t)*last ||
		    !skip_body(mcu->block[i].skip, b))
			return false;
	}
	return !td_bits_behind(b);
}

BODY bool pass_body(const struct td_mcu *mcu, struct td_bits *bits, int32_t dc[4], uint64_t n)
{
	struct td_bits b = *bits;
	for (; n > 0; n--)
		if (!mcu_body(mcu, &b, dc))
			return false;
	*bits = b;
	return true;
}

/* ---- several places at once ---- */

/* What changes with each step. */
struct place {
	struct td_bits b;     /* n as it was at the last refill */
	uint64_t sum;	      /* bits taken since, and from the second byte on places */
	const uint16_t *fast; /* of the block at hand */
};

struct lane {
	const struct td_mcu *mcu;
	const uint8_t *data;
	unsigned block; /* of the MCU: the next one */
	int32_t dc[4];
	struct td_mark *marks;
	size_t n;	/* the last one is where the MCU at hand begins */
	uint32_t limit; /* the first MCU from there on ends it */
	bool guess;
};

BODY void settle(struct place *p)
{
	p->b.n -= (uint8_t)p->sum;
	p->sum &= ~(uint64_t)255;
}

/* At the start of an MCU. False: the lane ends here. */
BODY bool set_mark(struct lane *l, const struct td_bits *b)
{
	struct td_mark *m = &l->marks[l->n++];
	m->place = (uint32_t)td_bits_place(b, l->data);
	memcpy(m->dc, l->dc, sizeof m->dc);
	l->block = 0;
	return m->place < l->limit && l->n < TD_LANE_MARKS;
}

/* The DC value of the next block. */
BODY bool begin_block(struct lane *l, struct place *p)
{
	unsigned i = l->block++;
	p->sum = 0;
	p->fast = l->mcu->block[i].skip->fast + SKIPS;
	return td_huff_add_dc(l->mcu->block[i].dc, &p->b, &l->dc[l->mcu->block[i].component]);
}

/* A bad code: a guess that came to nothing goes on at the next byte, as if nothing had
 * been. False: the lane ends. */
static bool guess_anew(struct lane *l, struct place *p)
{
	while (l->guess) {
		td_bits_start(
		    &p->b, l->data + td_bits_place(&p->b, l->data) / 8 + 1, p->b.end, 0);
		l->n = 0;
		if (!set_mark(l, &p->b))
			return false;
		if (begin_block(l, p))
			return true;
	}
	return false;
}

/* A step went to the end of the block, or over it: `buf` was before it, e was the step.
 * False: the lane ends. Copies where it goes the slow way, so that what is at hand stays in
 * registers. */
BODY bool end_block(struct lane *l, struct place *p, uint64_t buf, uint64_t e)
{
	bool fine = true;
	if (td_unlikely(p->sum & OVER << 8)) {
		struct td_bits b = p->b;
		p->sum -= e;
		b.buf = buf;
		b.n -= (uint8_t)p->sum;
		fine = slow_rest(l->mcu->block[l->block - 1].skip, &b, (unsigned)(p->sum >> 8));
		p->b = b;
	} else {
		settle(p);
	}
	if (fine && l->block == l->mcu->n && !set_mark(l, &p->b))
		return false;
	if (td_likely(fine && begin_block(l, p)))
		return true;
	struct place again = *p;
	fine = guess_anew(l, &again);
	*p = again;
	return fine;
}

#define STEP(p, l)                                                              \
	do {                                                                    \
		uint64_t buf = p.b.buf, e = p.fast[buf >> (64 - TD_SKIP_BITS)]; \
		p.b.buf <<= e & 63;                                             \
		p.sum += e;                                                     \
		if (p.sum >= FULL << 8 && !end_block(&l, &p, buf, e))           \
			return;                                                 \
	} while (0)

BODY void fill(struct place *p)
{
	settle(p);
	refill(&p->b);
}

static bool start_lane(struct lane *l, struct place *p, size_t len, const struct td_mark *from)
{
	td_bits_start(&p->b, l->data + from->place / 8, l->data + len, from->place % 8);
	memcpy(l->dc, from->dc, sizeof from->dc);
	return set_mark(l, &p->b) && (begin_block(l, p) || guess_anew(l, p));
}

/* All lanes until the first of them ends. Two steps and a DC value take no more bits than a
 * refill gives. */
BODY void run_lanes(
    struct lane lanes[TD_LANES], size_t len, const struct td_mark from[TD_LANES])
{
	struct place first[TD_LANES];
	for (int i = 0; i < TD_LANES; i++)
		if (!start_lane(&lanes[i], &first[i], len, &from[i]))
			return;
	struct place a = first[0], b = first[1], c = first[2];
	for (;;) {
		fill(&a);
		fill(&b);
		fill(&c);
		STEP(a, lanes[0]);
		STEP(b, lanes[1]);
		STEP(c, lanes[2]);
		STEP(a, lanes[0]);
		STEP(b, lanes[1]);
		STEP(c, lanes[2]);
	}
}

/* Takes over what a lane found, as far as there is room. */
static size_t take_over(struct td_walk *w, size_t have, const struct td_mark *found, size_t n)
{
	const struct td_mark last = w->marks[have - 1];
	n = TD_MIN(n, TD_COUNT(w->marks) - have + 1);
	for (size_t i = 1; i < n; i++, have++) {
		w->marks[have].place = found[i].place;
		for (int k = 0; k < 3; k++)
			w->marks[have].dc[k] =
			    (int32_t)((uint32_t)last.dc[k] + (uint32_t)found[i].dc[k] -
				      (uint32_t)found[0].dc[k]);
	}
	return have;
}

/* On from the last mark, MCU by MCU, until a lane's guess was there too, or ends before.
 * Returns how many marks there are now. */
BODY size_t join(const struct td_mcu *mcu, const uint8_t *data, size_t len, struct td_walk *w,
    size_t have, uint64_t left, const struct td_mark *guess, size_t n)
{
	struct td_mark at = w->marks[have - 1];
	struct td_bits b;
	int32_t dc[4] = {at.dc[0], at.dc[1], at.dc[2]};
	td_bits_start(&b, data + at.place / 8, data + len, at.place % 8);
	for (size_t j = 0; have <= left && have < TD_COUNT(w->marks); have++) {
		while (j < n && guess[j].place < at.place)
			j++;
		if (j == n)
			break;
		if (guess[j].place == at.place)
			return take_over(w, have, guess + j, n - j);
		if (!mcu_body(mcu, &b, dc))
			break;
		at.place = (uint32_t)td_bits_place(&b, data);
		memcpy(at.dc, dc, sizeof at.dc);
		w->marks[have] = at;
	}
	return have;
}

/* Bits for each lane, 0 where one is enough. Lanes of about as many MCUs as there is room
 * for marks twice. */
static uint32_t stretch_of(uint32_t place, size_t len, uint64_t left)
{
	uint64_t bits = len * 8 - TD_MIN(place, len * 8),
		 room = bits * (TD_LANE_MARKS / 2) / left,
		 stretch = TD_MIN(bits / TD_LANES, room);
	return stretch < LEAST_STRETCH ? 0 : (uint32_t)stretch;
}

BODY size_t walk_body(
    const struct td_mcu *mcu, const uint8_t *data, size_t len, struct td_walk *w, uint64_t left)
{
	static const struct td_mark nowhere = {.place = UINT32_MAX};
	uint32_t stretch = stretch_of(w->marks[0].place, len, left);
	size_t have = 1;
	if (stretch) {
		struct lane lanes[TD_LANES];
		struct td_mark from[TD_LANES] = {w->marks[0]};
		for (unsigned i = 0; i < TD_LANES; i++) {
			uint32_t start = from[0].place + i * stretch;
			lanes[i] = (struct lane){.mcu = mcu,
			    .data = data,
			    .marks = i ? w->guesses[i - 1] : w->marks,
			    .limit = start + stretch,
			    .guess = i > 0};
			if (i > 0)
				from[i].place = start & ~7u;
		}
		run_lanes(lanes, len, from);
		have = lanes[0].n;
		for (int i = 1; i < TD_LANES; i++)
			have =
			    join(mcu, data, len, w, have, left, w->guesses[i - 1], lanes[i].n);
	}
	if (have == 1)
		have = join(mcu, data, len, w, have, left, &nowhere, 1);
	size_t passed = (size_t)TD_MIN(have - 1, left);
	/* only the last one can */
	return passed - (w->marks[passed].place > len * 8);
}

#define PASSES(isa, attribute)                                                             \
	attribute bool td_huff_pass_##isa(                                                 \
	    const struct td_mcu *mcu, struct td_bits *b, int32_t dc[4], uint64_t n)        \
	{                                                                                  \
		return pass_body(mcu, b, dc, n);                                           \
	}                                                                                  \
	attribute size_t td_huff_walk_##isa(const struct td_mcu *mcu, const uint8_t *data, \
	    size_t len, struct td_walk *w, uint64_t left)                                  \
	{                                                                                  \
		return walk_body(mcu, data, len, w, left);                                 \
	}

PASSES(plain, )
#if defined(__x86_64__)
PASSES(bmi2, TD_HUFF_BMI2)
#endif
