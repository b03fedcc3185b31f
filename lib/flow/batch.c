/* SPDX-License-Identifier: BSD-2-Clause
 * What is done to a batch once all its rows are there. */
#include "batch.h"

#include <string.h>

/* Of each picture a task takes about that much. */
#define MIX_BYTES ((size_t)64 << 10)

unsigned td_batch_close_up(const struct tundish_flow *f, struct td_slot *s)
{
	unsigned n = 0;
	size_t row = f->recipe.row_bytes;
	for (unsigned i = 0; i < s->given; i++) {
		if (!s->good[i])
			continue;
		if (n != i) {
			if (f->has_images)
				memcpy(s->images + n * row, s->images + i * row, row);
			s->labels[n] = s->labels[i];
			td_columns_move(s->columns, &f->recipe.outs, n, i);
			td_mixing_move(&s->mixing, f->recipe.chain.n_mixes, n, i);
			if (s->sources)
				s->sources[n] = s->sources[i];
		}
		n++;
	}
	return n;
}

static struct td_mix_shape shape_of(const struct td_recipe *r)
{
	bool planes = r->chain.nchw;
	return (struct td_mix_shape){
		.row_bytes = r->row_bytes,
		.width = r->width,
		.height = r->height,
		.lines = (size_t)r->height * (planes ? r->channels : 1) * TD_MAX(r->chain.clip.frames, 1u),
		.pixel = planes ? 1 : r->channels,
		.dtype = r->chain.dtype,
	};
}

static size_t lines_each(const struct td_mix_shape *shape)
{
	size_t line = shape->row_bytes / shape->lines;
	return TD_MAX(MIX_BYTES / TD_MAX(line, (size_t)1), (size_t)1);
}

static bool mix_labels(const struct tundish_flow *f, struct td_slot *s, struct td_desk *desk)
{
	const struct td_outs *outs = &f->recipe.outs;
	bool ok = true;
	for (unsigned i = 0; i < outs->n && ok; i++) {
		if (outs->list[i].source == TD_OUT_LABEL && s->columns[i].fixed)
			ok = td_mixing_labels(&s->mixing, f->recipe.chain.n_mixes, (float *)s->columns[i].fixed,
			    outs->classes, &desk->wide);
	}
	return ok;
}

int td_batch_prepare(const struct tundish_flow *f, struct td_slot *s, struct td_desk *desk)
{
	const struct td_mix_shape shape = shape_of(&f->recipe);
	size_t each = lines_each(&shape);
	s->count = td_batch_close_up(f, s);
	td_mixing_pair(&s->mixing, f->recipe.chain.n_mixes, s->count, f->recipe.seed);
	if (!mix_labels(f, s, desk))
		return TUNDISH_E_MEMORY;
	return s->count < 2 ? 0 : (int)((shape.lines + each - 1) / each);
}

bool td_batch_mix(const struct tundish_flow *f, struct td_slot *s, unsigned task, struct td_desk *desk)
{
	const struct td_mix_shape shape = shape_of(&f->recipe);
	size_t each = lines_each(&shape), first = task * each;
	return td_mixing_lines(&s->mixing, f->recipe.chain.mixes, f->recipe.chain.n_mixes, &shape, s->images,
	    first, TD_MIN(first + each, shape.lines), &desk->wide);
}
