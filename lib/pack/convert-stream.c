/* SPDX-License-Identifier: BSD-2-Clause
 * convert: items of streams to Examples. */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "convert.h"
#include "groups.h"
#include "stream.h"

static int next_sample(void *ctx, struct td_taken *s, struct tundish_error *e)
{
	struct convert *c = ctx;
	int rc = td_intake_next(c->intake, s, e);
	if (rc != 1 || s->item < 0 || s->code < 0)
		return rc;
	/* of a listed one the listing knows what is not parted */
	size_t len = 0;
	const char *group = td_pack_group_name(&c->list, &c->list.items[s->item], &len);
	return !group || td_taken_text(&s->group, group, len) ? rc : td_err_memory(e);
}

static uint64_t sample_bytes(void *ctx, const struct td_taken *s)
{
	const struct convert *c = ctx;
	return td_taken_bytes(s, &c->list);
}

/* What is common to the features of all items, which does not depend on their order. */
static bool meet_extras(struct hand *h)
{
	struct td_specs more = { 0 };
	if (!td_specs_of(&more, &h->loaded.extras)) {
		td_specs_free(&more);
		return false;
	}
	td_specs_meet(&h->specs, &more);
	return true;
}

static int make_sample(void *ctx, struct td_taken *sample, unsigned worker, struct td_buf *frames,
    struct tundish_error *e)
{
	struct convert *c = ctx;
	struct hand *h = &c->hands[worker];
	const struct td_item *item = sample->item >= 0 ? &c->list.items[sample->item] : NULL;
	bool classes = sample->labelled && c->p.classes.fixed && *(const char *)sample->class.data;
	const struct subject s = {
		.name = (const char *)sample->name.data,
		.labelled = sample->labelled,
		.label = sample->label,
		.class = classes ? (const char *)sample->class.data : NULL,
		.group = sample->group.len ? (const char *)sample->group.data : NULL,
		.group_len = sample->group.len ? sample->group.len - 1 : 0,
		.keys = item ? c->listed_keys : sample->clip ? &c->frames : sample->sound ? &c->audio : &c->image,
	};
	int rc = td_taken_load(&h->loaded, &h->path, sample, &c->list, &c->cut, e);
	if (rc == 0 && sample->row)
		rc = td_cells_extras(&c->list.columns, sample->row - 1, &h->loaded.extras, e);
	if (rc == 0)
		rc = td_convert_record(c, &s, h, frames, e);
	if (rc == 0 && !meet_extras(h))
		rc = td_err_memory(e);
	h->streamed += rc == 0;
	h->grouped += rc == 0 && s.group;
	return rc;
}

static int finish_stream(void *ctx, struct tundish_error *e)
{
	struct convert *c = ctx;
	uint64_t grouped = 0;
	for (unsigned i = 0; i < c->n_hands; i++) {
		c->streamed += c->hands[i].streamed;
		grouped += c->hands[i].grouped;
		if (c->hands[i].specs.met)
			td_specs_meet(&c->list.specs, &c->hands[i].specs);
	}
	c->all_grouped = grouped == c->streamed;
	c->mixed = c->list.arrays.n > 0 && c->list.arrays.n < c->streamed;
	td_convert_listed(c);
	c->p.found = c->p.written + c->p.bad.count + c->p.left_out;
	return td_convert_features(c, e);
}

int td_convert_stream(struct convert *c, struct tundish_error *e)
{
	const struct tundish_pack_options *o = c->p.o;
	const struct td_stream_run run = {
		.p = &c->p,
		.by_class = td_pack_by_class(&c->p),
		.next = next_sample,
		.bytes = sample_bytes,
		.make = make_sample,
		.finish = finish_stream,
		.ctx = c,
	};
	c->alike = false; /* others may come */
	c->listed_keys = td_convert_keys(c);
	if (c->list.classes.fixed) {
		c->p.classes = c->list.classes;
		c->list.classes = (struct td_classes){ 0 };
	}
	if (o->resume)
		td_notice(&o->listener, "a stream starts anew: --resume has nothing to go on from");
	int rc = td_intake_open(&c->intake, &c->list, c->p.classes.fixed ? &c->p.classes : NULL, &c->listing, e);
	return rc ? rc : td_pack_stream(&run, e);
}
