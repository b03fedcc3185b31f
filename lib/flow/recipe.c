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
static int find_frames(const struct td_recipe *r, const void *record, size_t bytes, struct found *ret,
    struct tundish_error *e)
{
	struct td_bytes first;
	int rc = td_frames_find(&ret->frames, r->keys.image, record, bytes);
	if (rc == 0)
		return td_err(e, TUNDISH_E_SCHEMA, "there is no list %s", TD_ESC(r->keys.image));
	if (rc < 0)
		return td_err(e, TUNDISH_E_CORRUPT, "not an Example");
	if (ret->frames.n == 0)
		return td_err(e, TUNDISH_E_SCHEMA, "list %s is empty", TD_ESC(r->keys.image));
	rc = td_frames_take(&ret->frames, 0, 1, 1, &first, e);
	ret->file = first.data;
	ret->file_bytes = first.len;
	return rc < 0 ? rc : 0;
}

static int parse(const struct td_recipe *r, const void *record, size_t bytes, struct found *ret,
    struct tundish_error *e)
{
	struct td_sample s;
	if (td_sample_find(&s, &r->keys, record, bytes) < 0)
		return td_err(e, TUNDISH_E_CORRUPT, "not an Example");
	int rc = 0;
	*ret = (struct found){ .label = -1 };
	if (r->keys.label)
		rc = check_feature(s.label, r->keys.label, TUNDISH_INT64, e);
	if (rc == 0 && r->keys.label && tundish_feature_int64(s.label, 0, &ret->label) != 1)
		rc = td_err(e, TUNDISH_E_CORRUPT, "not an Example");
	if (rc < 0 || !r->keys.image)
		return rc;
	if (r->chain.clip.frames && !r->grouped)
		return find_frames(r, record, bytes, ret, e);
	rc = check_feature(s.image, r->keys.image, TUNDISH_BYTES, e);
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
    const void *record, size_t bytes, struct tundish_error *e)
{
	*ret = (struct opened){ 0 };
	return r->tensor.on ? td_tensor_take(&r->tensor, &ret->raw, r->keys.image, record, bytes, found->file,
		found->file_bytes, r->max_pixels, e) :
	    td_image_header(&ret->info, found->file, found->file_bytes, r->max_pixels, e);
}

static int start(const struct td_recipe *r, struct td_picture *p, struct td_desk *desk,
    const struct opened *from, const struct found *found, struct tundish_error *e)
{
	if (!r->tensor.on) {
		td_picture_start(p, desk, &from->info, found->file, found->file_bytes, e);
		return 0;
	}
	td_picture_start_raw(p, desk, &from->raw, e);
	if (p->channels != r->source_channels)
		return td_err(e, TUNDISH_E_SCHEMA, "%u channels, wanted are %u", p->channels,
		    r->source_channels);
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
    const void *record, size_t bytes, uint64_t number, uint64_t epoch, uint64_t position, void *out,
    bool *ret_differs, struct tundish_error *e)
{
	struct opened from;
	uint64_t begun = td_now_ns();
	int rc = open_picture(r, &from, found, record, bytes, e);
	if (rc < 0)
		return rc;
	desk->parse_ns += td_now_ns() - begun;
	desk->pictures++;
	desk->picture_bytes += (uint64_t)from.info.width * from.info.height * 3;
	struct td_picture p;
	uint64_t need = decode_bytes(&from.info, &from.raw);
	bool large = r->gate && enter(r->gate, desk, need);
	rc = start(r, &p, desk, &from, found, e);
	p.index = found->index;
	p.index_len = found->index_bytes;
	if (!p.index && !r->tensor.on && r->cache && r->cache->kind == TD_CACHE_INDEX && number != TD_NO_RECORD)
		use_index(r, &p, number);
	if (rc == 0)
		rc = apply(r, &p, 0, r->cut, epoch, position);
	if (rc == 0 && keeps_pictures(r) && number != TD_NO_RECORD)
		rc = keep(r, &p, number, found->label);
	if (rc == 0)
		rc = finish(r, &p, r->cut, epoch, position, out, ret_differs);
	if (large) {
		slim(r->gate, desk);
		td_gate_leave(r->gate, need);
	}
	return rc;
}

/* All frames have the same draws, since these are a function of the position. */
static int make_clip(const struct td_recipe *r, struct td_desk *desk, struct found *found,
    const void *record, size_t bytes, uint64_t epoch, uint64_t position, uint8_t *out,
    bool *ret_differs, struct tundish_error *e)
{
	const struct td_clip *clip = &r->chain.clip;
	uint64_t first;
	struct td_rng rng;
	td_rng_at(&rng, r->seed, (uint32_t)epoch, position, TD_RNG_CLIP);
	int rc = td_clip_start(clip, found->frames.n, &rng, &first, e);
	if (rc == 0 && !td_buf_fit(&desk->clip, clip->frames * sizeof(struct td_bytes)))
		rc = td_err_memory(e);
	struct td_bytes *frames = (struct td_bytes *)desk->clip.data;
	if (rc == 0)
		rc = td_frames_take(&found->frames, first, clip->stride, clip->frames, frames, e);
	for (uint32_t i = 0; i < clip->frames && rc == 0; i++) {
		found->file = frames[i].data;
		found->file_bytes = frames[i].len;
		rc = make_picture(r, desk, found, record, bytes, TD_NO_RECORD, epoch, position,
		    out + i * (r->row_bytes / clip->frames), ret_differs, e);
	}
	return rc;
}

/* Label and other features into their place. */
static int take_features(const struct td_recipe *r, struct td_desk *desk, const void *record, size_t bytes,
    const struct td_room *room, struct found *ret, struct tundish_error *e)
{
	uint64_t begun = td_now_ns();
	int rc = parse(r, record, bytes, ret, e);
	if (rc == 0)
		*room->label = ret->label;
	if (rc == 0)
		rc = td_columns_label(room->columns, &r->outs, room->row, *room->label, e);
	if (rc == 0)
		rc = td_columns_read(room->columns, &r->outs, room->row, record, bytes, r->ledger, e);
	ret->label = *room->label;
	desk->parse_ns += td_now_ns() - begun;
	return rc;
}

int td_recipe_make_frame(const struct td_recipe *r, struct td_desk *desk, const void *record,
    size_t bytes, uint32_t frame, uint64_t epoch, uint64_t position, const struct td_room *room,
    bool *ret_differs, struct tundish_error *e)
{
	struct found found;
	*ret_differs = false;
	int rc = frame == 0 ? take_features(r, desk, record, bytes, room, &found, e) :
			      parse(r, record, bytes, &found, e);
	if (rc < 0 || !r->keys.image)
		return rc;
	return make_picture(r, desk, &found, record, bytes, TD_NO_RECORD, epoch, position,
	    (uint8_t *)room->image + frame * (r->row_bytes / r->chain.clip.frames), ret_differs, e);
}

int td_recipe_make(const struct td_recipe *r, struct td_desk *desk, const void *record,
    size_t bytes, uint64_t number, uint64_t epoch, uint64_t position, const struct td_room *room,
    bool *ret_differs, struct tundish_error *e)
{
	struct found found;
	*ret_differs = false;
	int rc = take_features(r, desk, record, bytes, room, &found, e);
	if (rc < 0 || !r->keys.image)
		return rc;
	return r->chain.clip.frames ?
	    make_clip(r, desk, &found, record, bytes, epoch, position, room->image, ret_differs, e) :
	    make_picture(r, desk, &found, record, bytes, number, epoch, position, room->image, ret_differs, e);
}

int td_recipe_measure(const struct td_recipe *r, struct td_desk *desk, const void *record,
    size_t bytes, uint64_t epoch, uint64_t position, struct td_size *ret, struct tundish_error *e)
{
	struct found found;
	struct opened from;
	int rc = parse(r, record, bytes, &found, e);
	if (rc == 0)
		rc = open_picture(r, &from, &found, record, bytes, e);
	if (rc < 0)
		return rc;
	struct td_picture p;
	struct td_frame *f;
	rc = start(r, &p, desk, &from, &found, e);
	if (rc == 0)
		rc = apply(r, &p, 0, r->chain.n, epoch, position);
	if (rc == 0)
		rc = td_picture_settle(&p, false, &f);
	if (rc == 0)
		*ret = (struct td_size){ f->width, f->height };
	return rc;
}

bool td_recipe_try_tensor(struct td_recipe *r, const void *record, size_t bytes)
{
	struct found found;
	struct opened from;
	if (parse(r, record, bytes, &found, NULL) < 0 ||
	    open_picture(r, &from, &found, record, bytes, NULL) < 0)
		return false;
	r->source_channels = from.raw.channels;
	td_tensor_fix(&r->tensor, r->keys.image, record, bytes, found.file_bytes);
	return true;
}

int td_recipe_set_channels(struct td_recipe *r, struct tundish_error *e)
{
	if (!r->tensor.on)
		r->source_channels = 3;
	if (r->source_channels == 0)
		return td_err(e, TUNDISH_E_USAGE, "none of the first records holds an array of the shape and type "
		    "that are told");
	if (r->tensor.plain && r->chain.clip.frames)
		return td_err(e, TUNDISH_E_USAGE, "clips are made of frames with 2 or 3 axes");
	if (r->tensor.plain && (!td_chain_any(&r->chain) || r->chain.n_mixes))
		return td_err(e, TUNDISH_E_USAGE, "arrays of %u axes can be normalized, clamped and cast alone",
		    r->tensor.n_axes);
	if (r->tensor.on && r->chain.keeps)
		r->chain.dtype = td_elem_dtype(r->tensor.elem);
	return td_chain_channels(&r->chain, r->tensor.elem, r->source_channels, &r->channels, e);
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
