/* SPDX-License-Identifier: BSD-2-Clause
 * One position made into its row, and what happens when its record is bad. */
#include "row.h"

#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "groups.h"

#define STAND_INS 16

static uint8_t *row_of(const struct tundish_flow *f, const struct td_item *item)
{
	return f->has_images ? item->slot->images + item->row * f->recipe.row_bytes : NULL;
}

static struct td_room room_of(const struct tundish_flow *f, const struct td_item *item)
{
	return (struct td_room){ row_of(f, item), &item->slot->labels[item->row], item->slot->columns,
		item->row };
}

/* What this worker reads raw data with. */
static struct td_items_desk *desk_of(const struct tundish_flow *f, const struct td_hand *hand)
{
	return f->item_desks ? f->item_desks[hand - f->hands] : NULL;
}

static void make_blank(const struct tundish_flow *f, const struct td_item *item)
{
	if (f->has_images)
		memset(row_of(f, item), 0, f->recipe.row_bytes);
	item->slot->labels[item->row] = -1;
	td_columns_blank(item->slot->columns, &f->recipe.outs, item->row);
	item->slot->good[item->row] = 1;
}

/* What may stand in for a bad record. */
struct stand_in {
	struct td_spot spot;
	const uint8_t *data;
	uint64_t bytes;
};

/* Another record, the same for any number of ranks that share them; of a stream, one of
 * those at its start, which are kept. False when it cannot be read. */
static bool draw_stand_in(struct tundish_flow *f, struct td_hand *hand, const struct td_item *item,
    struct td_rng *rng, struct stand_in *ret)
{
	const struct td_stream *s = &f->stream;
	struct td_items_desk *desk = desk_of(f, hand);
	struct td_pick pick;
	if (f->set.stream) {
		const struct td_peek *p = &s->peeked[td_rng_below(rng, TD_MAX(s->n_peeked, 1u))];
		*ret = (struct stand_in){ p->spot, p->data.data, p->data.len };
		return s->n_peeked > 0;
	}
	uint64_t position = td_rng_below(rng, f->share.records);
	if (td_sampler_at(&f->sampler, item->epoch, position, &pick) < 0)
		return false;
	ret->spot = td_records_spot(&f->set, pick.record);
	if (f->set.groups)
		td_groups_start(f, &ret->spot, item->epoch, item->position);
	return td_record_read(&hand->spare, &f->set, f->files, desk, &ret->spot, &ret->data, &ret->bytes,
		   NULL) == 0;
}

static void name_frame(const struct tundish_flow *f, const struct td_spot *frame, struct tundish_error *e)
{
	if (td_records_part(&f->set, frame->file))
		td_err_prefix(e, "%s of its clip", TD_ESC(f->set.files.paths[frame->file]));
	else
		td_err_prefix(e, "record %llu of its clip", (unsigned long long)frame->number);
}

/* A clip of several records, the first of which is read already. */
static int make_group(struct tundish_flow *f, struct td_hand *hand, const struct td_item *item,
    const struct td_spot *spot, struct td_given given, bool *ret_differs, struct tundish_error *e)
{
	const struct td_recipe *r = &f->recipe;
	const struct td_clip *clip = &r->chain.clip;
	struct td_room room = room_of(f, item);
	uint64_t length = (uint64_t)(clip->frames - 1) * clip->stride + 1;
	*ret_differs = false;
	if (spot->frames < length)
		return td_err(e, TUNDISH_E_SCHEMA, "its group has %llu frames, too few for a clip of %llu",
		    (unsigned long long)spot->frames, (unsigned long long)length);
	struct td_items_desk *desk = desk_of(f, hand);
	given.number = TD_NO_RECORD;
	int rc = td_recipe_make_frame(r, &hand->desk, &given, 0, &room, ret_differs, e);
	for (uint32_t i = 1; i < clip->frames && rc == 0; i++) {
		struct td_spot frame = td_groups_frame(f, spot, (uint64_t)i * clip->stride);
		const uint8_t *data;
		rc = td_record_read(&hand->spare, &f->set, f->files, desk, &frame, &data, &given.bytes, e);
		given.record = data;
		if (rc == 0)
			rc = td_recipe_make_frame(r, &hand->desk, &given, i, &room, ret_differs, e);
		if (rc < 0 && !*ret_differs)
			name_frame(f, &frame, e);
	}
	return rc;
}

/* One record, read already, and what belongs to it. */
static int make_read(struct tundish_flow *f, struct td_hand *hand, const struct td_item *item,
    const struct td_spot *spot, const uint8_t *data, uint64_t bytes, uint64_t number, bool *ret_differs,
    struct tundish_error *e)
{
	struct td_room room = room_of(f, item);
	const struct td_given given = { data, bytes, spot->source, number, item->epoch, item->position };
	return spot->frames ? make_group(f, hand, item, spot, given, ret_differs, e) :
				   td_recipe_make(&f->recipe, &hand->desk, &given, &room, ret_differs, e);
}

/* Another record, drawn by position and attempt, in place of a bad one; blank when sixteen
 * are bad as well. */
static void stand_in(struct tundish_flow *f, struct td_hand *hand, const struct td_item *item)
{
	struct td_rng rng;
	td_rng_at(&rng, f->recipe.seed, (uint32_t)item->epoch, item->position, TD_RNG_REPLACE);
	hand->replaced++;
	for (int attempt = 0; attempt < STAND_INS; attempt++) {
		struct stand_in other;
		bool differs;
		if (!draw_stand_in(f, hand, item, &rng, &other))
			continue;
		if (make_read(f, hand, item, &other.spot, other.data, other.bytes, TD_NO_RECORD, &differs, NULL) < 0)
			continue;
		item->slot->good[item->row] = 1;
		if (item->slot->sources)
			item->slot->sources[item->row] = other.spot.source;
		return;
	}
	make_blank(f, item);
}

static void note_it(const struct tundish_flow *f, struct td_item *item, int rc, bool differs,
    const struct tundish_error *e)
{
	struct td_place at = td_item_place(&f->set, item);
	if (!differs) {
		item->note = td_note_new(rc, at, rc == TUNDISH_E_MEMORY, e->text);
		item->lost = !item->note;
		return;
	}
	char text[2 * TD_ESC_MAX + 256], number[32] = "";
	if (at.record >= 0)
		snprintf(number, sizeof number, "record %lld: ", (long long)at.record);
	snprintf(text, sizeof text, "pictures differ in size: first %s, then %s: %s%.64s; "
	    "a resize or a crop makes them alike", f->recipe.first, TD_ESC(at.path), number, e->text);
	item->note = td_note_new(rc, (struct td_place){ NULL, -1, -1, -1 }, true, text);
	item->lost = !item->note;
}

/* The record as it was read, for the next epoch. */
static void keep_raw(struct tundish_flow *f, const struct td_item *item)
{
	struct td_cached *entry = td_cache_room(&f->cache, item->bytes);
	if (!entry)
		return;
	memcpy(entry->data, item->data, item->bytes);
	td_cache_put(&f->cache, item->record, entry);
}

/* From the record, or from what the cache has of it. */
static int make(struct tundish_flow *f, struct td_hand *hand, const struct td_item *item,
    bool *ret_differs, struct tundish_error *e)
{
	const struct td_cached *kept = item->kept;
	/* by now it may be there: the last epoch's turn is just over where sets are small */
	if (!kept && f->cache.kind > TD_CACHE_INDEX)
		kept = td_cache_get(&f->cache, item->record);
	struct td_room room = room_of(f, item);
	if (kept && f->cache.kind != TD_CACHE_RAW)
		return td_recipe_make_kept(&f->recipe, &hand->desk, kept, item->epoch,
		    item->position, &room, ret_differs, e);
	if (f->cache.kind == TD_CACHE_RAW && !kept)
		keep_raw(f, item);
	return make_read(f, hand, item, &item->spot, kept ? kept->data : item->data,
	    kept ? kept->bytes : item->bytes, item->record, ret_differs, e);
}

void td_row_make(struct tundish_flow *f, struct td_hand *hand, struct td_item *item)
{
	struct td_slot *s = item->slot;
	const struct td_recipe *r = &f->recipe;
	s->good[item->row] = 0;
	td_mixing_draw(&s->mixing, r->chain.mixes, r->chain.n_mixes, item->row, r->width, r->height, r->seed,
	    item->epoch, item->position);
	if (item->data || item->kept) {
		struct tundish_error e = { 0 };
		bool differs;
		int rc = make(f, hand, item, &differs, &e);
		if (rc == 0) {
			s->good[item->row] = 1;
			return;
		}
		note_it(f, item, rc, differs, &e);
	}
	if (!item->note)
		return;
	item->note->fatal |= f->on_error == TUNDISH_FAIL;
	if (item->note->fatal)
		return;
	if (f->on_error == TUNDISH_BLANK)
		make_blank(f, item);
	else if (f->last == TUNDISH_LAST_DROP)
		stand_in(f, hand, item);
}
