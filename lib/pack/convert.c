/* SPDX-License-Identifier: BSD-2-Clause
 * convert: from raw items to Examples. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "append.h"
#include "base/crc32c.h"
#include "base/err.h"
#include "base/thread.h"
#include "convert.h"
#include "groups.h"
#include "items.h"
#include "record/frame.h"
#include "record/sample.h"
#include "source/times.h"
#include "tofiles.h"

/* What an Example of a picture has besides the picture and the name, about. */
#define EXAMPLE_EXTRA 128

void tundish_convert_options_init(struct tundish_pack_options *ret_options)
{
	*ret_options = (struct tundish_pack_options){
		.size = sizeof *ret_options,
		.shard_bytes = (uint64_t)128 << 20,
		.check = TUNDISH_CHECK_STRUCTURE,
		.shuffle = -1,
		.pixel_origin = 1,
		.on_error = TUNDISH_SKIP,
		.max_record_bytes = INT32_MAX,
		.max_pixels = (uint64_t)1 << 28,
	};
}

static int check_options(struct convert *c, struct tundish_error *e)
{
	const struct tundish_pack_options *o = c->p.o;
	int rc = td_pack_check(&c->p, e);
	if (rc == 0)
		rc = td_key_names_parse(&c->keys, o->keys, e);
	if (rc == 0)
		rc = td_prepare_init(&c->prepare, o, e);
	if (rc == 0)
		rc = td_cut_parse(&c->cut, o, e);
	c->p.block_bytes = td_prepare_block(&c->prepare);
	if (rc == 0 && o->stratify && strcmp(o->stratify, "label") != 0 && strcmp(o->stratify, "none") != 0)
		rc = td_err(e, TUNDISH_E_USAGE, "stratify: \"%s\" is neither label nor none", TD_ESC(o->stratify));
	return rc;
}

/* ---- the listing ---- */

static bool name_arrays(struct array_keys *k, const char *plain)
{
	k->plain = plain;
	if (plain && (asprintf(&k->value, "%s/value", plain) < 0 || asprintf(&k->shape, "%s/shape", plain) < 0))
		k->value = k->shape = NULL;
	return !plain || (k->value && k->shape);
}

static int list_items(struct convert *c, struct tundish_error *e)
{
	const struct tundish_pack_options *o = c->p.o;
	bool none = o->labels && strcmp(o->labels, "none") == 0;
	if (c->p.append && !o->class_list && !none && !td_append_classes(&c->fixed, c->p.append))
		return td_err_memory(e);
	c->listing = (struct td_list_options){
		.sources = o->sources,
		.n_sources = o->n_sources,
		.labels = o->labels,
		.class_list = c->fixed.fixed ? "tundish.json" : o->class_list,
		.fixed = c->fixed.fixed ? &c->fixed : NULL,
		.columns = o->columns,
		.group_by = o->group_by,
		.label_offset = o->label_offset,
		.cut = &c->cut,
		.threads = o->threads,
		.memory = o->memory,
		.listener = &o->listener,
	};
	if (!name_arrays(&c->image, c->keys.image) || !name_arrays(&c->frames, "frames") ||
	    !name_arrays(&c->audio, "audio"))
		return td_err_memory(e);
	int rc = td_list(&c->list, &c->listing, &c->p.bad, e);
	if (rc < 0)
		return rc;
	c->mixed = c->list.arrays.n > 0 && c->list.arrays.n < c->list.n;
	c->alike = c->list.arrays.alike && !c->mixed;
	/* what decoders of videos hold comes out of the budget, too */
	if (c->list.work_bytes)
		c->p.threads = (unsigned)TD_MIN((uint64_t)c->p.threads,
		    TD_MAX(td_memory(o->memory) / 2 / c->list.work_bytes, (uint64_t)1));
	c->p.found = c->list.found;
	td_convert_listed(c);
	return 0;
}

void td_convert_listed(struct convert *c)
{
	json_decref(c->p.about);
	c->p.about = td_about_json(&c->list.about);
	c->p.left_out = c->list.left_out + c->list.parts_left_out;
	c->p.left_out_what = c->list.parts_left_out ? "others" : c->list.left_out == 1 ? "other file" : "other files";
	memcpy(c->p.left_out_kinds, c->list.left_out_kinds, sizeof c->p.left_out_kinds);
}

/* skip and limit are of the listed items; what they leave away was not found. */
static int cut_list(struct convert *c, struct tundish_error *e)
{
	struct td_listing *l = &c->list;
	const struct tundish_pack_options *o = c->p.o;
	size_t skip = (size_t)TD_MIN(o->skip, (uint64_t)l->n), was = l->n;
	size_t n = o->limit ? (size_t)TD_MIN(o->limit, (uint64_t)(was - skip)) : was - skip;
	if (n == 0)
		return td_err(e, TUNDISH_E_EMPTY, "no item behind the first %zu", skip);
	memmove(l->items, l->items + skip, n * sizeof *l->items);
	l->n = n;
	c->p.found -= was - n;
	return 0;
}

static int fill_items(struct convert *c, struct tundish_error *e)
{
	const struct td_listing *l = &c->list;
	struct td_pack *p = &c->p;
	uint64_t growth = td_prepare_growth(&c->prepare);
	p->classes = c->list.classes;
	c->list.classes = (struct td_classes){ 0 };
	p->item_bytes = malloc((l->n + 1) * sizeof *p->item_bytes);
	p->item_class = p->classes.n ? malloc((l->n + 1) * sizeof *p->item_class) : NULL;
	if (!p->item_bytes || (p->classes.n && !p->item_class))
		return td_err_memory(e);
	p->inputs = l->files;
	for (size_t i = 0; i < l->n; i++) {
		p->inputs = td_crc32c(p->inputs, &l->items[i].class, sizeof l->items[i].class);
		p->inputs = td_crc32c(p->inputs, &l->items[i].group, sizeof l->items[i].group);
		p->item_bytes[i] = l->items[i].bytes * growth + EXAMPLE_EXTRA + strlen(td_item_name(l, &l->items[i]));
		if (p->item_class)
			p->item_class[i] = l->items[i].class;
	}
	return 0;
}

/* Pictures a record, or -1 where it differs. */
static int64_t clip_length(const struct convert *c)
{
	return c->list.n_clips == 0 ? 1 : c->cut.edge == TD_EDGE_KEEP ? -1 : (int64_t)c->cut.av.clip;
}

/* The features that arrays of the listing are. */
const struct array_keys *td_convert_keys(const struct convert *c)
{
	if (c->list.n_clips)
		return &c->frames;
	return c->list.n_sounds && c->list.n_sounds == c->list.arrays.n ? &c->audio : &c->image;
}

/* Numbers under two keys, VALUE and SHAPE, which TFDS sees as one feature; or of one shape. */
static bool tensor_features(struct convert *c, enum td_elem dtype, unsigned n_axes, const uint64_t *shape)
{
	struct td_pack *p = &c->p;
	if (!td_pack_feature(p, td_convert_keys(c)->plain, TD_FEATURE_TEXT, 1))
		return false;
	p->features[p->n_features - 1].json = td_meta_tensor(td_elem_name(dtype), n_axes, shape);
	return p->features[p->n_features - 1].json && td_pack_feature(p, "dtype", TD_FEATURE_TEXT, 1);
}

static bool picture_features(struct convert *c)
{
	struct td_pack *p = &c->p;
	const struct td_key_names *k = &c->keys;
	bool raw = c->prepare.form == TD_FORM_RAW;
	return (raw ? tensor_features(c, c->prepare.sixteen ? TD_UINT16 : TD_UINT8, c->list.n_clips ? 4 : 3, NULL)
		    : td_pack_feature(p, c->list.n_clips ? "frames" : k->image, TD_FEATURE_IMAGE,
			  clip_length(c))) &&
	    td_pack_feature(p, k->height, TD_FEATURE_INT, 1) &&
	    td_pack_feature(p, k->width, TD_FEATURE_INT, 1) &&
	    td_pack_feature(p, k->format, TD_FEATURE_TEXT, 1);
}

/* Arrays of one shape are the image itself; else value and shape stand under two keys. */
static bool array_features(struct convert *c)
{
	struct td_pack *p = &c->p;
	const struct td_arrays *a = &c->list.arrays;
	bool ok = tensor_features(c, a->dtype, a->n_axes, c->alike ? a->shape : NULL);
	if (!a->one_kind)
		p->no_tfds = "the arrays have different types or numbers of axes";
	if (a->dtype == TD_COMPLEX64 || a->dtype == TD_COMPLEX128)
		p->no_tfds = "it has no complex numbers of these types";
	return ok;
}

static bool has_feature(const struct td_pack *p, const char *key)
{
	for (size_t i = 0; i < p->n_features; i++)
		if (strcmp(p->features[i].key, key) == 0)
			return true;
	return false;
}

static bool extra_features(struct convert *c)
{
	const struct td_specs *specs = &c->list.specs;
	bool ok = true;
	for (size_t i = 0; ok && i < specs->n; i++) {
		const struct td_spec *spec = &specs->list[i];
		if (has_feature(&c->p, spec->key))
			continue;
		ok = td_pack_feature(&c->p, spec->key,
		    spec->kind == TUNDISH_INT64 ? TD_FEATURE_INT :
		    spec->kind == TUNDISH_FLOAT ? TD_FEATURE_FLOAT : TD_FEATURE_TEXT, spec->length);
		if (ok && spec->columns && c->list.n_clips) {
			struct td_feature_spec *feature = &c->p.features[c->p.n_features - 1];
			feature->json = td_meta_table(clip_length(c), spec->columns);
			ok = feature->json != NULL;
		}
		if (ok && spec->doubles) {
			const uint64_t n = (uint64_t)spec->length;
			struct td_feature_spec *feature = &c->p.features[c->p.n_features - 1];
			feature->json = td_meta_tensor("float64", 1, spec->length >= 0 ? &n : NULL);
			ok = feature->json != NULL;
		}
	}
	return ok;
}

/* Whether records have a feature of that name anyway. */
static bool is_taken(const struct convert *c, const char *name)
{
	const struct td_key_names *k = &c->keys;
	const char *const own[] = { k->image, k->label, k->height, k->width, k->filename, k->format, k->text,
		"group", "dtype", td_convert_keys(c)->value, td_convert_keys(c)->shape, td_index_key };
	bool taken = false;
	for (size_t n = 0; n < TD_COUNT(own); n++)
		taken |= own[n] && strcmp(own[n], name) == 0;
	return taken;
}

/* Columns of tables, or of the files themselves, may not be called so. Groups of members may:
 * what a .json says of a picture's size is passed over. */
static int check_columns(const struct convert *c, struct tundish_error *e)
{
	const struct td_cells *cells = &c->list.columns;
	const struct td_specs *specs = &c->list.specs;
	const char *taken = NULL;
	bool groups = c->list.n_grouped || c->list.n_streams;
	for (size_t i = 0; !groups && i < specs->n; i++)
		if (strcmp(specs->list[i].key, "group") != 0 && is_taken(c, specs->list[i].key))
			taken = specs->list[i].key;
	for (size_t i = 0; i < cells->n; i++) {
		const char *name = cells->list[i].name;
		size_t found = 0;
		for (size_t n = 0; n < specs->n; n++)
			found += strcmp(specs->list[n].key, name) == 0;
		if (cells->list[i].feature && (is_taken(c, name) || found > 1))
			taken = name;
	}
	return taken ? td_err(e, TUNDISH_E_USAGE, "columns: records have a feature \"%s\" already", TD_ESC(taken)) : 0;
}

int td_convert_features(struct convert *c, struct tundish_error *e)
{
	struct td_pack *p = &c->p;
	const struct td_key_names *k = &c->keys;
	const struct td_arrays *a = &c->list.arrays;
	bool labels = p->classes.n > 0, names = labels && !p->classes.numbers;
	/* only what all records have may be named there */
	bool ok = a->n == 0 ? picture_features(c) : array_features(c);
	if (c->mixed)
		p->no_tfds = "pictures and arrays are mixed";
	if (c->list.n_clips && c->list.n_clips < (c->list.n_streams ? c->streamed : c->list.n))
		p->no_tfds = "clips and others are mixed";
	if (c->cut.av.sequence && c->list.n_clips)
		p->no_tfds = "it cannot read SequenceExamples";
	ok = ok && (!labels || td_pack_feature(p, k->label, TD_FEATURE_LABEL, 1)) &&
	    td_pack_feature(p, k->filename, TD_FEATURE_TEXT, 1) &&
	    (!names || td_pack_feature(p, k->text, TD_FEATURE_TEXT, 1)) &&
	    (!(c->list.n_streams ? c->all_grouped : td_pack_all_grouped(&c->list)) || td_pack_feature(p, "group", TD_FEATURE_TEXT, 1)) &&
	    extra_features(c);
	return ok ? check_columns(c, e) : td_err_memory(e);
}

/* ---- records ---- */

static struct td_bytes bytes_of(const char *s)
{
	return (struct td_bytes){ s, strlen(s) };
}

static void add_field(struct fields *f, const struct td_field *field)
{
	if (!td_grow(&f->list, &f->cap, f->n, sizeof *f->list))
		f->lost = true;
	else if (field->key)
		f->list[f->n++] = *field;
}

static void add_bytes(struct fields *f, const char *key, const struct td_bytes *value)
{
	add_field(f, &(struct td_field){ .key = key, .kind = TUNDISH_BYTES, .n = 1, .bytes = value });
}

static void add_int(struct fields *f, const char *key, const int64_t *value)
{
	add_field(f, &(struct td_field){ .key = key, .kind = TUNDISH_INT64, .n = 1, .ints = value });
}

/* Appends the Example with its frame around it; or the SequenceExample. */
static int add_frame(struct td_buf *frames, const struct fields *f, bool sequence, uint64_t max_bytes,
    struct tundish_error *e)
{
	size_t start = frames->len;
	if (f->lost || !td_buf_reserve(frames, TD_FRAME_EXTRA))
		return td_err_memory(e);
	frames->len += TD_FRAME_HEADER;
	int rc = sequence ? td_sequence_encode(frames, f->list, f->n, max_bytes, e) :
			    td_example_encode(frames, f->list, f->n, max_bytes, e);
	if (rc < 0)
		return rc;
	uint64_t length = frames->len - start - TD_FRAME_HEADER;
	if (!td_buf_reserve(frames, TD_FRAME_FOOTER))
		return td_err_memory(e);
	td_frame_header(frames->data + start, length);
	td_frame_footer(frames->data + frames->len, frames->data + start + TD_FRAME_HEADER, length);
	frames->len += TD_FRAME_FOOTER;
	return 0;
}

static struct fields *start_fields(struct hand *h)
{
	h->fields.n = 0;
	h->fields.lost = false;
	return &h->fields;
}

static bool has_field(const struct fields *f, const char *key)
{
	for (size_t i = 0; i < f->n; i++)
		if (strcmp(f->list[i].key, key) == 0)
			return true;
	return false;
}

/* An extra feature may say the file's name in place of ours, but only as a name. */
static bool is_other_filename(const struct td_key_names *k, const struct td_field *extra)
{
	return k->filename && strcmp(extra->key, k->filename) == 0 &&
	    (extra->kind != TUNDISH_BYTES || extra->n != 1);
}

/* The features that pictures and arrays have alike. What the item is goes before extra
 * features of the same name, but for the name itself. */
static int finish_record(struct convert *c, const struct subject *s, struct hand *h, struct td_buf *frames,
    struct tundish_error *e)
{
	struct fields *f = &h->fields;
	const struct td_key_names *k = &c->keys;
	const struct td_bytes name = bytes_of(s->name), class = bytes_of(s->class ? s->class : "");
	const struct td_bytes group = { s->group, s->group_len };
	add_bytes(f, s->group ? "group" : NULL, &group);
	add_int(f, s->labelled ? k->label : NULL, &s->label);
	add_bytes(f, s->class ? k->text : NULL, &class);
	for (size_t i = 0; i < h->loaded.extras.n; i++) {
		const struct td_field extra = td_extra_field(&h->loaded.extras, i);
		if (!has_field(f, extra.key) && !is_other_filename(k, &extra))
			add_field(f, &extra);
	}
	if (k->filename && !has_field(f, k->filename))
		add_bytes(f, k->filename, &name);
	bool sequence = c->cut.av.sequence && h->loaded.ends.len > 0;
	return add_frame(frames, f, sequence, c->p.o->max_record_bytes, e);
}

/* The picture that was read, as records or files have it. */
static int prepare_loaded(struct convert *c, struct hand *h, struct td_prepared *ret, struct tundish_error *e)
{
	const struct td_buf *s = &h->loaded.data;
	return h->loaded.encoded ? td_prepare_made(&c->prepare, &h->desk, s->data, s->len, ret, e) :
				   td_prepare_picture(&c->prepare, &h->desk, s->data, s->len, ret, e);
}

static int make_picture(struct convert *c, const struct subject *subject, struct hand *h, struct td_buf *frames,
    struct tundish_error *e)
{
	const struct td_key_names *k = &c->keys;
	struct td_prepared p;
	int rc = prepare_loaded(c, h, &p, e);
	if (rc < 0)
		return rc;
	const struct td_bytes format = bytes_of(p.raw ? "raw" : td_image_format_name(p.info.kind));
	const struct td_bytes dtype = bytes_of(p.info.bits == 16 ? "uint16" : "uint8");
	const struct td_bytes colours = bytes_of(p.traits.colours);
	const int64_t shape[] = { p.info.height, p.info.width, 3 };
	const int64_t bits = p.bits, orientation = p.traits.orientation;
	struct fields *f = start_fields(h);
	add_bytes(f, p.raw ? subject->keys->value : k->image, &p.image);
	if (p.raw)
		add_field(f, &(struct td_field){ .key = subject->keys->shape, .kind = TUNDISH_INT64, .n = 3,
		    .ints = shape });
	add_bytes(f, p.raw ? "dtype" : NULL, &dtype);
	add_bytes(f, k->format, &format);
	add_int(f, k->height, &shape[0]);
	add_int(f, k->width, &shape[1]);
	add_bytes(f, p.index.len ? td_index_key : NULL, &p.index);
	/* what the file was, where it was not the usual */
	add_bytes(f, strcmp(p.traits.colours, "rgb") ? td_colours_key : NULL, &colours);
	add_int(f, p.bits != 8 ? td_bits_key : NULL, &bits);
	add_int(f, p.traits.orientation > 1 ? td_orientation_key : NULL, &orientation);
	rc = finish_record(c, subject, h, frames, e);
	td_prep_desk_slim(&h->desk);
	return rc;
}

/* Several pictures, all of the first one's size and form. */
static int make_clip(struct convert *c, const struct subject *subject, struct hand *h, struct td_buf *frames,
    struct tundish_error *e)
{
	const struct td_key_names *k = &c->keys;
	const struct td_loaded *s = &h->loaded;
	const size_t *ends = (const void *)s->ends.data;
	size_t n = s->ends.len / sizeof *ends, start = 0;
	struct td_prepared first;
	if (!td_buf_fit(&h->pictures, n * sizeof(struct td_bytes)))
		return td_err_memory(e);
	struct td_bytes *pictures = (void *)h->pictures.data;
	for (size_t i = 0; i < n; start = ends[i++])
		pictures[i] = (struct td_bytes){ s->data.data + start, ends[i] - start };
	int rc = td_prepare_made(&c->prepare, &h->desk, pictures[0].data, pictures[0].len, &first, e);
	if (rc < 0)
		return rc;
	const struct td_bytes format = bytes_of(first.raw ? "raw" : td_image_format_name(first.info.kind));
	const int64_t width = first.info.width, height = first.info.height;
	const struct td_bytes all = { s->data.data, s->data.len }, dtype = bytes_of("uint8");
	const int64_t shape[] = { (int64_t)n, height, width, 3 };
	struct fields *f = start_fields(h);
	if (first.raw && all.len != n * first.info.height * (size_t)first.info.width * 3)
		return td_err(e, TUNDISH_E_UNSUPPORTED, "the frames of a clip differ in size");
	add_bytes(f, first.raw ? subject->keys->value : NULL, &all);
	add_field(f, &(struct td_field){ .key = first.raw ? subject->keys->shape : NULL, .kind = TUNDISH_INT64, .n = 4, .ints = shape });
	add_bytes(f, first.raw ? "dtype" : NULL, &dtype);
	add_field(f, &(struct td_field){ .key = first.raw ? NULL : "frames", .kind = TUNDISH_BYTES, .n = n,
		.bytes = pictures, .step = 1 });
	add_bytes(f, k->format, &format);
	add_int(f, k->height, &height);
	add_int(f, k->width, &width);
	return finish_record(c, subject, h, frames, e);
}

static int make_array(struct convert *c, const struct subject *subject, struct hand *h, struct td_buf *frames,
    struct tundish_error *e)
{
	const struct td_loaded *s = &h->loaded;
	const struct td_bytes value = { s->data.data, s->data.len };
	const struct td_bytes dtype = bytes_of(td_elem_name(s->dtype));
	int64_t shape[TD_AXES];
	struct fields *f = start_fields(h);
	for (unsigned i = 0; i < s->n_axes; i++)
		shape[i] = (int64_t)s->shape[i];
	add_bytes(f, c->alike ? subject->keys->plain : subject->keys->value, &value);
	add_field(f, &(struct td_field){ .key = c->alike ? NULL : subject->keys->shape, .kind = TUNDISH_INT64,
		.n = s->n_axes, .ints = shape });
	add_bytes(f, "dtype", &dtype);
	return finish_record(c, subject, h, frames, e);
}

int td_convert_record(struct convert *c, const struct subject *s, struct hand *h, struct td_buf *frames,
    struct tundish_error *e)
{
	return h->loaded.array	   ? make_array(c, s, h, frames, e) :
	    h->loaded.ends.len > 0 ? make_clip(c, s, h, frames, e) :
				     make_picture(c, s, h, frames, e);
}

static int encode_pixels(void *ctx, struct td_buf *out, const struct td_pixels *pixels, struct tundish_error *e)
{
	struct hand *h = ctx;
	return td_prepare_pixels(h->prepare, &h->desk, out, pixels, e);
}

static int make(void *ctx, uint32_t number, unsigned worker, struct td_buf *frames, struct tundish_error *e)
{
	struct convert *c = ctx;
	struct hand *h = &c->hands[worker];
	const struct td_item *item = &c->list.items[number];
	int rc = td_item_load(&h->loaded, &h->path, &c->list, item, &c->cut, e);
	if (rc == 0 && item->row)
		rc = td_cells_extras(&c->list.columns, item->row - 1, &h->loaded.extras, e);
	if (rc < 0)
		return rc;
	const struct td_class *class = item->class >= 0 ? &c->p.classes.list[item->class] : NULL;
	struct subject s = { .name = td_item_name(&c->list, item), .label = -1, .keys = td_convert_keys(c),
		.labelled = class || item->flags & TD_ITEM_UNLABELLED };
	s.group = td_pack_group_name(&c->list, item, &s.group_len);
	if (class) {
		s.label = class->label;
		s.class = c->p.classes.numbers ? NULL : class->name;
	}
	return td_convert_record(c, &s, h, frames, e);
}

static int place(void *ctx, uint32_t number, struct td_place *ret, const char **ret_name,
    struct tundish_error *e)
{
	struct convert *c = ctx;
	const struct td_item *item = &c->list.items[number];
	if (!td_item_path(&c->path, &c->list, item))
		return td_err_memory(e);
	*ret = TD_PLACE((const char *)c->path.data);
	if (item->flags & (TD_ITEM_PART | TD_ITEM_SAMPLE))
		ret->record = item->part;
	*ret_name = td_item_name(&c->list, item);
	return 0;
}

/* ---- all together ---- */

static int make_hands(struct convert *c, struct tundish_error *e)
{
	c->n_hands = c->p.threads;
	c->hands = calloc(c->n_hands, sizeof *c->hands);
	if (!c->hands)
		return td_err_memory(e);
	for (unsigned i = 0; i < c->n_hands; i++) {
		c->hands[i].loaded.encode = encode_pixels;
		c->hands[i].loaded.encode_ctx = &c->hands[i];
		c->hands[i].prepare = &c->prepare;
	}
	return 0;
}

static void free_convert(struct convert *c)
{
	for (unsigned i = 0; c->hands && i < c->n_hands; i++) {
		td_prep_desk_free(&c->hands[i].desk);
		td_buf_free(&c->hands[i].path);
		td_buf_free(&c->hands[i].pictures);
		td_loaded_free(&c->hands[i].loaded);
		free(c->hands[i].fields.list);
		td_specs_free(&c->hands[i].specs);
	}
	free(c->hands);
	td_buf_free(&c->path);
	td_intake_close(c->intake);
	td_classes_free(&c->fixed);
	td_listing_free(&c->list);
	td_key_names_free(&c->keys);
	td_cut_free(&c->cut);
	td_prepare_fini(&c->prepare);
	free(c->image.value);
	free(c->image.shape);
	free(c->frames.value);
	free(c->frames.shape);
	free(c->audio.value);
	free(c->audio.shape);
	td_pack_free(&c->p);
}

static int look(struct convert *c, struct tundish_error *e)
{
	if (c->list.n_streams)
		return td_err(e, TUNDISH_E_USAGE, "a stream cannot be listed: it is read once");
	struct td_item_hand *hands = malloc(c->n_hands * sizeof *hands);
	int rc = hands ? cut_list(c, e) : td_err_memory(e);
	for (unsigned i = 0; hands && i < c->n_hands; i++)
		hands[i] = (struct td_item_hand){ &c->hands[i].loaded, &c->hands[i].path };
	if (rc == 0)
		rc = td_pack_items(&c->p, &c->list, &c->cut, hands, e);
	free(hands);
	return rc;
}

static int convert_listed(struct convert *c, struct tundish_error *e)
{
	int rc = cut_list(c, e);
	if (rc == 0)
		rc = fill_items(c, e);
	if (rc == 0)
		rc = td_pack_groups(&c->p, &c->list, e);
	if (rc == 0)
		rc = td_convert_features(c, e);
	if (rc == 0)
		rc = td_pack_plan(&c->p, c->list.n, e);
	return rc ? rc : td_pack_run(&c->p, e);
}

/* The number that a frame's extras tell. */
static int64_t frame_number(struct td_loaded *s)
{
	for (size_t i = 0; i < s->extras.n; i++) {
		const struct td_field f = td_extra_field(&s->extras, i);
		if (strcmp(f.key, "frame") == 0 && f.kind == TUNDISH_INT64 && f.n == 1)
			return f.ints[0];
	}
	return 0;
}

/* td_picture_fn */
static int make_file(void *ctx, uint32_t number, unsigned worker, struct td_buf *bytes, char **ret_name,
    struct tundish_error *e)
{
	struct convert *c = ctx;
	struct hand *h = &c->hands[worker];
	struct td_loaded *s = &h->loaded;
	const struct td_item *item = &c->list.items[number];
	const char *name = td_item_name(&c->list, item);
	struct td_prepared p;
	int rc = td_item_load(s, &h->path, &c->list, item, &c->cut, e);
	if (rc == 0 && s->array)
		rc = td_err(e, TUNDISH_E_UNSUPPORTED, "an array is no picture");
	if (rc == 0)
		rc = prepare_loaded(c, h, &p, e);
	if (rc < 0)
		return rc;
	const double *times = (const void *)s->times.data;
	bool png = p.info.kind == TD_IMAGE_PNG;
	*ret_name = s->encoded && s->times.len ? td_frame_name(name, frame_number(s), times[0], png ? "png" : "jpg") :
						  td_file_name(&c->list, item, png);
	bool ok = *ret_name && td_buf_add(bytes, p.image.data, p.image.len);
	td_prep_desk_slim(&h->desk);
	return ok ? 0 : td_err_memory(e);
}

/* Files have the form that their names tell. */
static int convert_files(struct convert *c, struct tundish_error *e)
{
	bool png = strncmp(c->p.o->to_files, "png:", 4) == 0;
	c->prepare.spares = c->prepare.form == TD_FORM_KEPT;
	if (c->prepare.spares)
		c->prepare.form = png ? TD_FORM_PNG : TD_FORM_JPEG;
	if (c->prepare.form != (png ? TD_FORM_PNG : TD_FORM_JPEG))
		return td_err(e, TUNDISH_E_USAGE, "to: reencode is of another form");
	if (c->list.n_streams)
		return td_err(e, TUNDISH_E_USAGE, "to: streams become records only");
	int rc = cut_list(c, e);
	if (rc == 0)
		rc = td_files_differ(&c->list, png, e);
	if (rc == 0)
		rc = fill_items(c, e);
	return rc ? rc : td_files_run(&c->p, c->list.n, c->p.to_folder, make_file, e);
}

int tundish_convert(const struct tundish_pack_options *options, struct tundish_pack_result **ret_result,
    struct tundish_error *ret_error)
{
	struct tundish_pack_options o;
	tundish_convert_options_init(&o);
	memcpy(&o, options, TD_MIN(options->size, sizeof o));
	struct convert c = { .p = { .o = &o, .command = "convert", .make = make, .place = place,
		.set.journal = -1 } };
	c.p.ctx = &c;
	if (o.list) {
		o.output = "-";
		o.split = o.shards = NULL;
		o.dry_run = 1;
	}
	/* files have none, and where they lie does not matter */
	if (o.to_files && !o.labels)
		o.labels = "none";
	int rc = check_options(&c, ret_error);
	if (rc == 0)
		rc = list_items(&c, ret_error);
	if (o.shuffle < 0)
		o.shuffle = !c.list.sequences;
	if (rc == 0)
		rc = make_hands(&c, ret_error);
	if (rc == 0)
		rc = o.list	     ? look(&c, ret_error) :
		    o.to_files	     ? convert_files(&c, ret_error) :
		    c.list.n_streams ? td_convert_stream(&c, ret_error) :
				       convert_listed(&c, ret_error);
	if (rc == 0) {
		td_prepare_tell(&c.prepare);
		rc = td_pack_result(ret_result, &c.p, ret_error);
	}
	free_convert(&c);
	return rc;
}
