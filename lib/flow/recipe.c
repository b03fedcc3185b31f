/* SPDX-License-Identifier: BSD-2-Clause
 * From a record to a row of the batch: parse, decode, augment. */
#include "recipe.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/thread.h"

static const char *kind_name(int kind)
{
	static const char *const names[] = { "without a kind", "bytes", "float", "int64" };
	return kind >= 0 && kind < (int)TD_COUNT(names) ? names[kind] : "?";
}

static int missing(const char *key, struct tundish_error *e)
{
	return td_err(e, TUNDISH_E_SCHEMA, "feature %s is missing", TD_ESC(key));
}

/* One value of the wanted kind, no other number of them. */
static int check_feature(const struct tundish_feature *f, const char *key, int kind,
    struct tundish_error *e)
{
	if (!f)
		return missing(key, e);
	if (f->kind != kind)
		return td_err(e, TUNDISH_E_SCHEMA, "feature %s is %s, wanted is %s", TD_ESC(key),
		    kind_name(f->kind), kind_name(kind));
	if (f->count != 1)
		return td_err(e, TUNDISH_E_SCHEMA, "feature %s has %llu values, wanted is one",
		    TD_ESC(key), (unsigned long long)f->count);
	return 0;
}

/* What a record holds; `file` and `index` lie in it, NULL where there is none. */
struct found {
	const uint8_t *file, *index;
	size_t file_bytes, index_bytes;
	int64_t label;
	struct td_frames frames; /* instead, where clips are asked for */
};

/* One that is not as it should be is no reason to leave the record out. */
static void find_index(struct found *ret, const struct tundish_feature *f)
{
	if (f && f->kind == TUNDISH_BYTES && f->count == 1 &&
	    tundish_feature_bytes(f, 0, &ret->index, &ret->index_bytes) != 1)
		ret->index = NULL;
}

/* Its first frame is what stands for the record in a first look. */
static int find_frames(const char *key, const struct td_given *given, struct found *ret,
    struct tundish_error *e)
{
	struct td_bytes first;
	int rc = td_frames_find(&ret->frames, key, given->record, given->bytes);
	if (rc == 0)
		return td_err(e, TUNDISH_E_SCHEMA, "there is no list %s", TD_ESC(key));
	if (rc < 0)
		return td_err(e, TUNDISH_E_CORRUPT, "not an Example");
	if (ret->frames.n == 0)
		return td_err(e, TUNDISH_E_SCHEMA, "list %s is empty", TD_ESC(key));
	rc = td_frames_take(&ret->frames, 0, 1, 1, &first, e);
	ret->file = first.data;
	ret->file_bytes = first.len;
	return rc < 0 ? rc : 0;
}

static int parse(const struct td_recipe *r, const struct td_given *given, struct found *ret,
    struct tundish_error *e)
{
	const struct td_origin *o = &r->origins[given->origin];
	const struct td_keys *keys = &o->keys;
	struct td_sample s;
	if (td_sample_find(&s, keys, given->record, given->bytes) < 0)
		return td_err(e, TUNDISH_E_CORRUPT, "not an Example");
	int rc = 0;
	*ret = (struct found){ .label = -1 };
	if (keys->label)
		rc = check_feature(s.label, keys->label, TUNDISH_INT64, e);
	if (rc == 0 && keys->label && tundish_feature_int64(s.label, 0, &ret->label) != 1)
		rc = td_err(e, TUNDISH_E_CORRUPT, "not an Example");
	if (rc < 0 || !keys->image)
		return rc;
	if (r->chain.clip.frames && !o->grouped)
		return find_frames(keys->image, given, ret, e);
	rc = check_feature(s.image, keys->image, TUNDISH_BYTES, e);
	if (rc == 0 && tundish_feature_bytes(s.image, 0, &ret->file, &ret->file_bytes) != 1)
		rc = td_err(e, TUNDISH_E_CORRUPT, "not an Example");
	find_index(ret, s.index);
	return rc;
}

static int apply(const struct td_recipe *r, struct td_picture *p, unsigned first, unsigned end,
    uint64_t epoch, uint64_t position)
{
	for (unsigned i = first; i < end; i++) {
		struct td_rng rng;
		td_rng_at(&rng, r->seed, (uint32_t)epoch, position, r->chain.ops[i].purpose);
		int rc = td_op_apply(&r->chain.ops[i], p, &rng);
		if (rc < 0)
			return rc;
	}
	return 0;
}

/* Pictures up to this do not wait for their turn; what the largest of them took stays in
 * the ledger, as it does in the desk. */
#define SMALL_PICTURE ((uint64_t)8 << 20)

/* What decoding takes at most: all pixels, and for some files all coefficients; or a tensor
 * as float32. */
static uint64_t decode_bytes(const struct td_image_info *info, const struct td_raw *raw)
{
	if (raw->data)
		return (uint64_t)raw->width * raw->height * raw->channels * sizeof(float);
	uint64_t pixels = (uint64_t)info->width * info->height;
	return pixels * (info->progressive ? 10 : 4);
}

/* The picture of a record, or its tensor. */
struct opened {
	struct td_image_info info;
	struct td_raw raw;
};

static int open_picture(const struct td_recipe *r, struct opened *ret, const struct found *found,
    const struct td_given *given, struct tundish_error *e)
{
	const struct td_origin *o = &r->origins[given->origin];
	*ret = (struct opened){ 0 };
	return o->tensor.on ? td_tensor_take(&o->tensor, &ret->raw, o->keys.image, given->record, given->bytes,
		found->file, found->file_bytes, r->max_pixels, e) :
	    td_image_header(&ret->info, found->file, found->file_bytes, r->max_pixels, e);
}

static int start(const struct td_origin *o, struct td_picture *p, struct td_desk *desk,
    const struct opened *from, const struct found *found, struct tundish_error *e)
{
	if (!o->tensor.on) {
		td_picture_start(p, desk, &from->info, found->file, found->file_bytes, e);
		return 0;
	}
	td_picture_start_raw(p, desk, &from->raw, e);
	if (p->channels != o->channels)
		return td_err(e, TUNDISH_E_SCHEMA, "%u channels, wanted are %u", p->channels, o->channels);
	return 0;
}

/* True when the picture has to leave by gate as well. */
static bool enter(struct td_gate *g, struct td_desk *desk, uint64_t need)
{
	if (need > SMALL_PICTURE) {
		td_gate_enter(g, need);
		return true;
	}
	if (need > desk->held) {
		td_ledger_take(g->ledger, need - desk->held);
		desk->held = need;
	}
	return false;
}

/* Gives back what only a large picture needed. */
static void slim(struct td_gate *g, struct td_desk *desk)
{
	td_ledger_give(g->ledger, desk->held);
	desk->held = 0;
	struct td_decoder *fresh;
	if (td_decoder_new(&fresh, NULL) == 0) {
		td_decoder_free(desk->decoder);
		desk->decoder = fresh;
	}
	td_buf_free(&desk->wide);
	td_scratch_free(&desk->scratch);
	for (int i = 0; i < 2; i++)
		td_buf_free(&desk->frames[i].buf);
}

/* Keeps the picture as it is now, where there is room. */
static int keep(const struct td_recipe *r, struct td_picture *p, uint64_t number, int64_t label)
{
	size_t values = (size_t)p->width * p->height * p->channels;
	struct td_cached *entry = td_cache_room(r->cache, values * td_elem_bytes(p->elem));
	struct td_frame *f;
	if (!entry)
		return 0;
	int rc = td_picture_settle(p, false, &f);
	if (rc < 0) {
		td_cache_drop(r->cache, entry);
		return rc;
	}
	entry->width = f->width;
	entry->height = f->height;
	entry->channels = f->channels;
	entry->elem = f->elem;
	entry->label = label;
	memcpy(entry->data, f->buf.data, entry->bytes);
	td_cache_put(r->cache, number, entry);
	return 0;
}

/* An index lets the decoder jump to the window. It is made when a record first comes; of
 * what can have none, an empty entry says so. */
static void use_index(const struct td_recipe *r, struct td_picture *p, uint64_t number)
{
	struct td_desk *desk = p->desk;
	const struct td_cached *known = td_cache_get(r->cache, number);
	if (!known) {
		desk->index.len = 0;
		if (td_jpeg_index(desk->decoder, &desk->index, p->data, p->len, 0, NULL) < 0)
			desk->index.len = 0;
		struct td_cached *entry = td_cache_room(r->cache, desk->index.len);
		if (!entry)
			return;
		if (entry->bytes)
			memcpy(entry->data, desk->index.data, entry->bytes);
		td_cache_put(r->cache, number, entry);
		known = td_cache_get(r->cache, number);
	}
	if (known->bytes) {
		p->index = known->data;
		p->index_len = known->bytes;
	}
}

static bool keeps_pictures(const struct td_recipe *r)
{
	return r->cache && r->cache->kind >= TD_CACHE_DECODED;
}

/* Operations from `first` on, and into the batch. */
static int finish(const struct td_recipe *r, struct td_picture *p, unsigned first, uint64_t epoch,
    uint64_t position, void *out, bool *ret_differs)
{
	int rc = apply(r, p, first, r->chain.n, epoch, position);
	if (rc < 0)
		return rc;
	if (p->width != r->width || p->height != r->height) {
		*ret_differs = true;
		return td_err(p->e, TUNDISH_E_SCHEMA, "%ux%u", p->height, p->width);
	}
	if (p->channels != r->channels)
		return td_err(p->e, TUNDISH_E_SCHEMA, "%u channels, wanted are %u", p->channels, r->channels);
	return td_picture_finish(p, r->chain.dtype, r->chain.nchw, out);
}

int td_recipe_make_kept(const struct td_recipe *r, struct td_desk *desk,
    const struct td_cached *kept, uint64_t epoch, uint64_t position, const struct td_room *room,
    bool *ret_differs, struct tundish_error *e)
{
	struct td_picture p;
	*ret_differs = false;
	*room->label = kept->label;
	int rc = td_columns_label(room->columns, &r->outs, room->row, kept->label, e);
	if (rc < 0)
		return rc;
	td_picture_start_raw(&p, desk, &(struct td_raw){ kept->data, kept->width, kept->height,
		kept->channels, kept->elem }, e);
	return finish(r, &p, r->cut, epoch, position, room->image, ret_differs);
}

/* The picture in a file, or a tensor, to `out`. */
static int make_picture(const struct td_recipe *r, struct td_desk *desk, const struct found *found,
    const struct td_given *given, void *out, bool *ret_differs, struct tundish_error *e)
{
	const struct td_origin *o = &r->origins[given->origin];
	struct opened from;
	uint64_t begun = td_now_ns();
	int rc = open_picture(r, &from, found, given, e);
	if (rc < 0)
		return rc;
	desk->parse_ns += td_now_ns() - begun;
	desk->pictures++;
	desk->picture_bytes += (uint64_t)from.info.width * from.info.height * 3;
	struct td_picture p;
	uint64_t need = decode_bytes(&from.info, &from.raw);
	bool large = r->gate && enter(r->gate, desk, need), keeps = given->number != TD_NO_RECORD;
	rc = start(o, &p, desk, &from, found, e);
	p.index = found->index;
	p.index_len = found->index_bytes;
	if (!p.index && !o->tensor.on && r->cache && r->cache->kind == TD_CACHE_INDEX && keeps)
		use_index(r, &p, given->number);
	if (rc == 0)
		rc = apply(r, &p, 0, r->cut, given->epoch, given->position);
	if (rc == 0 && keeps_pictures(r) && keeps)
		rc = keep(r, &p, given->number, found->label);
	if (rc == 0)
		rc = finish(r, &p, r->cut, given->epoch, given->position, out, ret_differs);
	if (large) {
		slim(r->gate, desk);
		td_gate_leave(r->gate, need);
	}
	return rc;
}

/* All frames have the same draws, since these are a function of the position. */
static int make_clip(const struct td_recipe *r, struct td_desk *desk, struct found *found,
    const struct td_given *given, uint8_t *out, bool *ret_differs, struct tundish_error *e)
{
	const struct td_clip *clip = &r->chain.clip;
	struct td_given one = *given;
	uint64_t first;
	struct td_rng rng;
	one.number = TD_NO_RECORD;
	td_rng_at(&rng, r->seed, (uint32_t)given->epoch, given->position, TD_RNG_CLIP);
	int rc = td_clip_start(clip, found->frames.n, &rng, &first, e);
	if (rc == 0 && !td_buf_fit(&desk->clip, clip->frames * sizeof(struct td_bytes)))
		rc = td_err_memory(e);
	struct td_bytes *frames = (struct td_bytes *)desk->clip.data;
	if (rc == 0)
		rc = td_frames_take(&found->frames, first, clip->stride, clip->frames, frames, e);
	for (uint32_t i = 0; i < clip->frames && rc == 0; i++) {
		found->file = frames[i].data;
		found->file_bytes = frames[i].len;
		rc = make_picture(r, desk, found, &one, out + i * (r->row_bytes / clip->frames), ret_differs, e);
	}
	return rc;
}

/* Label and other features into their place. */
static int take_features(const struct td_recipe *r, struct td_desk *desk, const struct td_given *given,
    const struct td_room *room, struct found *ret, struct tundish_error *e)
{
	uint64_t begun = td_now_ns();
	int rc = parse(r, given, ret, e);
	if (rc == 0)
		*room->label = ret->label;
	if (rc == 0)
		rc = td_columns_label(room->columns, &r->outs, room->row, *room->label, e);
	if (rc == 0)
		rc = td_columns_read(room->columns, &r->outs, room->row, given->record, given->bytes, r->ledger, e);
	ret->label = *room->label;
	desk->parse_ns += td_now_ns() - begun;
	return rc;
}

int td_recipe_make_frame(const struct td_recipe *r, struct td_desk *desk, const struct td_given *given,
    uint32_t frame, const struct td_room *room, bool *ret_differs, struct tundish_error *e)
{
	struct found found;
	*ret_differs = false;
	int rc = frame == 0 ? take_features(r, desk, given, room, &found, e) : parse(r, given, &found, e);
	if (rc < 0 || !r->origins[given->origin].keys.image)
		return rc;
	return make_picture(r, desk, &found, given,
	    (uint8_t *)room->image + frame * (r->row_bytes / r->chain.clip.frames), ret_differs, e);
}

int td_recipe_make(const struct td_recipe *r, struct td_desk *desk, const struct td_given *given,
    const struct td_room *room, bool *ret_differs, struct tundish_error *e)
{
	struct found found;
	*ret_differs = false;
	int rc = take_features(r, desk, given, room, &found, e);
	if (rc < 0 || !r->origins[given->origin].keys.image)
		return rc;
	return r->chain.clip.frames ? make_clip(r, desk, &found, given, room->image, ret_differs, e) :
				      make_picture(r, desk, &found, given, room->image, ret_differs, e);
}

int td_recipe_measure(const struct td_recipe *r, struct td_desk *desk, const struct td_given *given,
    struct td_size *ret, struct tundish_error *e)
{
	struct found found;
	struct opened from;
	int rc = parse(r, given, &found, e);
	if (rc == 0)
		rc = open_picture(r, &from, &found, given, e);
	if (rc < 0)
		return rc;
	struct td_picture p;
	struct td_frame *f;
	rc = start(&r->origins[given->origin], &p, desk, &from, &found, e);
	if (rc == 0)
		rc = apply(r, &p, 0, r->chain.n, given->epoch, given->position);
	if (rc == 0)
		rc = td_picture_settle(&p, false, &f);
	if (rc == 0)
		*ret = (struct td_size){ f->width, f->height };
	return rc;
}

bool td_recipe_try_tensor(struct td_recipe *r, const struct td_given *given)
{
	struct td_origin *o = &r->origins[given->origin];
	struct found found;
	struct opened from;
	if (parse(r, given, &found, NULL) < 0 || open_picture(r, &from, &found, given, NULL) < 0)
		return false;
	o->channels = from.raw.channels;
	td_tensor_fix(&o->tensor, o->keys.image, given->record, given->bytes, found.file_bytes);
	return true;
}

/* Sources of a mix may hold pictures and arrays, as long as these are of one kind. */
static int check_alike(const struct td_origin *a, const struct td_origin *b, unsigned number,
    struct tundish_error *e)
{
	const struct td_tensor *s = &a->tensor, *t = &b->tensor;
	bool alike = s->elem == t->elem && a->channels == b->channels && s->plain == t->plain;
	if (alike && s->plain)
		alike = s->n_axes == t->n_axes && memcmp(s->shape, t->shape, s->n_axes * sizeof *s->shape) == 0;
	return alike ? 0 : td_err(e, TUNDISH_E_USAGE, "sources 1 and %u of the mix hold arrays of other kinds, %s with %u "
	    "channels and %s with %u: they do not fit into one batch", number, td_elem_name(s->elem), a->channels,
	    td_elem_name(t->elem), b->channels);
}

int td_recipe_set_channels(struct td_recipe *r, struct tundish_error *e)
{
	const struct td_origin *first = &r->origins[0];
	const struct td_tensor *t = &first->tensor;
	for (unsigned i = 0; i < r->n_origins; i++) {
		struct td_origin *o = &r->origins[i];
		if (!o->tensor.on)
			o->channels = 3;
		if (o->channels == 0)
			return td_err(e, TUNDISH_E_USAGE, "none of the first records holds an array of the shape and "
			    "type that are told");
		int rc = check_alike(first, o, i + 1, e);
		if (rc < 0)
			return rc;
	}
	if (t->plain && r->chain.clip.frames)
		return td_err(e, TUNDISH_E_USAGE, "clips are made of frames with 2 or 3 axes");
	if (t->plain && (!td_chain_any(&r->chain) || r->chain.n_mixes))
		return td_err(e, TUNDISH_E_USAGE, "arrays of %u axes can be normalized, clamped and cast alone",
		    t->n_axes);
	if (t->on && r->chain.keeps)
		r->chain.dtype = td_elem_dtype(t->elem);
	return td_chain_channels(&r->chain, t->elem, first->channels, &r->channels, e);
}

int td_recipe_set_size(struct td_recipe *r, struct td_size size, struct tundish_error *e)
{
	size_t bytes = td_dtype_bytes(r->chain.dtype) * r->channels;
	if (td_mul_overflow(bytes, size.width, &bytes) || td_mul_overflow(bytes, size.height, &bytes) ||
	    td_mul_overflow(bytes, TD_MAX(r->chain.clip.frames, 1u), &bytes))
		return td_err(e, TUNDISH_E_LIMIT, "a picture of %ux%u is too large", size.height,
		    size.width);
	r->width = size.width;
	r->height = size.height;
	r->row_bytes = bytes;
	return 0;
}
