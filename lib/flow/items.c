/* SPDX-License-Identifier: BSD-2-Clause
 * Raw data read in place: each item as the record that convert would write of it. */
#include "items.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/err.h"
#include "base/thread.h"
#include "base/infile.h"
#include "base/path.h"
#include "base/pool.h"
#include "media/image.h"
#include "record/frame.h"
#include "source/archive.h"
#include "source/list.h"
#include "source/patterns.h"

#define RECORD_EXTRA ((uint64_t)4096)	 /* names and small features */
#define UNKNOWN_PART ((uint64_t)1 << 20) /* of files whose parts differ */
#define KEPT_BYTES ((size_t)1 << 20)	 /* a larger buffer is given back */

struct td_items {
	struct td_listing list;
	struct td_cut cut;
	uint64_t part_bytes; /* of one of several items in a file, about */
};

struct td_items_desk {
	struct td_loaded loaded;
	struct td_buf path;
	struct td_field *fields;
	size_t n_fields, fields_cap;
	uint64_t shape[3]; /* of pixels that a format has made */
};

/* ---- which paths these are ---- */

bool td_items_said(const struct tundish_flow_options *o)
{
	return o->labels || o->class_list || o->columns || o->group_by || o->label_offset || o->tile || o->edge || o->bands ||
	    o->drop_bad_bands || o->region || o->apply_scale || o->stack || o->frames ||
	    o->max_nodata || o->label_raster || o->unlabelled || o->interleave || o->pixel_origin != 1;
}

static bool is_raw_file(const char *path)
{
	uint8_t head[TD_HEAD_BYTES];
	struct stat st;
	if (stat(path, &st) < 0 || !S_ISREG(st.st_mode))
		return false;
	int64_t n = td_read_head(path, head, sizeof head);
	if (n <= 0)
		return n == 0 && td_format_named(path) >= 0;
	if (n >= TD_FRAME_HEADER && td_frame_length_ok(head))
		return false;
	return td_format_named(path) >= 0 || td_format_probe(path, head, (size_t)n) >= 0 ||
	    td_archive_looks(path, head, (size_t)n) || strstr(td_path_base(path), ".tar.");
}

static bool is_raw(const char *path)
{
	const char *spec;
	char *file;
	if (is_raw_file(path))
		return true;
	if (strcmp(path, "-") == 0 || !td_source_spec(path, &file, &spec))
		return false;
	bool raw = is_raw_file(file);
	free(file);
	return raw;
}

int td_items_wanted(bool *ret, const struct tundish_flow_options *o, struct tundish_error *e)
{
	size_t raw = 0;
	for (size_t i = 0; i < o->n_paths; i++) {
		/* of a pattern the first match tells */
		struct td_patterns p;
		int rc = td_patterns_expand(&p, &o->paths[i], 1, e);
		if (rc < 0)
			return rc;
		raw += is_raw(p.list[0]);
		td_patterns_free(&p);
	}
	if (raw && raw < o->n_paths)
		return td_err(e, TUNDISH_E_USAGE, "raw data and records, or folders, cannot be read together");
	*ret = raw > 0;
	return 0;
}

/* ---- listing ---- */

static int parse_cut(struct td_cut *ret, const struct tundish_flow_options *o, struct tundish_error *e)
{
	const struct tundish_pack_options pack = {
		.tile = o->tile,
		.edge = o->edge,
		.bands = o->bands,
		.drop_bad_bands = o->drop_bad_bands,
		.region = o->region,
		.apply_scale = o->apply_scale,
		.stack = o->stack,
		.frames = o->frames,
		.max_nodata = o->max_nodata,
		.label_raster = o->label_raster,
		.unlabelled = o->unlabelled,
		.interleave = o->interleave,
		.pixel_origin = o->pixel_origin,
		.max_record_bytes = o->max_record_bytes,
		.max_pixels = o->max_pixels,
		/* beside what the flow holds itself */
		.memory = td_memory(o->memory) / 2,
	};
	return td_cut_parse(ret, &pack, e);
}

static uint64_t bytes_of_part(const struct td_arrays *a)
{
	uint64_t bytes = a->n && a->alike ? td_elem_bytes(a->dtype) : 0;
	for (unsigned i = 0; i < a->n_axes && bytes; i++) {
		if (td_mul_overflow(bytes, a->shape[i], &bytes))
			return UNKNOWN_PART;
	}
	return bytes ? bytes : UNKNOWN_PART;
}

static int list(struct td_items *items, const struct tundish_flow_options *o, uint64_t *ret_bad,
    struct tundish_error *e)
{
	const struct td_list_options options = {
		.sources = o->paths,
		.n_sources = o->n_paths,
		.labels = o->labels,
		.class_list = o->class_list,
		.columns = o->columns,
		.group_by = o->group_by,
		.label_offset = o->label_offset,
		.cut = &items->cut,
		.threads = td_threads(o->threads),
		.memory = o->memory,
		.listener = &o->listener,
	};
	struct td_bad bad = {
		.listener = &o->listener,
		.on_error = o->on_error == TUNDISH_FAIL ? TUNDISH_FAIL : TUNDISH_SKIP,
		.limit = UINT64_MAX,
	};
	int rc = td_list(&items->list, &options, &bad, e);
	*ret_bad = bad.count;
	td_bad_free(&bad);
	return rc;
}

int td_items_open(struct td_items **ret, const struct tundish_flow_options *o, uint64_t *ret_bad,
    struct tundish_error *e)
{
	struct td_items *items = calloc(1, sizeof *items);
	if (!items)
		return td_err_memory(e);
	int rc = parse_cut(&items->cut, o, e);
	if (rc == 0)
		rc = list(items, o, ret_bad, e);
	if (rc < 0) {
		td_cut_free(&items->cut);
		free(items);
		return rc;
	}
	items->part_bytes = bytes_of_part(&items->list.arrays);
	*ret = items;
	return 0;
}

size_t td_items_n(const struct td_items *items)
{
	return items->list.n;
}

bool td_items_same_file(const struct td_items *items, size_t i)
{
	const struct td_listing *l = &items->list;
	if (i == 0)
		return false;
	const struct td_item *a = &l->items[i - 1], *b = &l->items[i];
	return (a->flags & b->flags & TD_ITEM_PART) && a->root == b->root && a->member == b->member &&
	    strcmp(td_item_name(l, a), td_item_name(l, b)) == 0;
}

bool td_items_same_group(const struct td_items *items, size_t i)
{
	const struct td_item *all = items->list.items;
	if (i == 0 || all[i - 1].group || all[i].group)
		return i > 0 && all[i - 1].group == all[i].group;
	return td_items_same_file(items, i);
}

bool td_items_grouped(const struct td_items *items)
{
	const struct td_listing *l = &items->list;
	for (size_t i = 0; i < l->n; i++) {
		if (l->items[i].group || l->items[i].flags & TD_ITEM_PART)
			return true;
	}
	return false;
}

bool td_items_path(const struct td_items *items, size_t i, struct td_buf *out)
{
	return td_item_path(out, &items->list, &items->list.items[i]);
}

bool td_items_label(const struct td_items *items, size_t i, int64_t *ret_label)
{
	int32_t class = items->list.items[i].class;
	if (items->list.classes.n == 0)
		return false;
	*ret_label = class < 0 ? -1 : items->list.classes.list[class].label;
	return true;
}

bool td_items_differ(const struct td_items *a, const struct td_items *b, int64_t *ret_label,
    const char **ret_a, const char **ret_b)
{
	const struct td_classes *x = &a->list.classes, *y = &b->list.classes;
	for (size_t i = 0; i < TD_MIN(x->n, y->n); i++) {
		if (x->list[i].label != y->list[i].label || strcmp(x->list[i].name, y->list[i].name) == 0)
			continue;
		*ret_label = x->list[i].label;
		*ret_a = x->list[i].name;
		*ret_b = y->list[i].name;
		return true;
	}
	return false;
}

uint64_t td_items_bytes(const struct td_items *items, size_t i)
{
	const struct td_item *item = &items->list.items[i];
	uint64_t bytes = item->flags & TD_ITEM_PART ? items->part_bytes : item->bytes;
	/* once as it is read, once in the record */
	return 2 * TD_MIN(bytes, items->cut.max_bytes) + RECORD_EXTRA;
}

/* ---- reading ---- */

static int add(struct td_items_desk *d, const struct td_field *field, struct tundish_error *e)
{
	for (size_t i = 0; i < d->n_fields; i++) {
		if (strcmp(d->fields[i].key, field->key) == 0)
			return 0;
	}
	if (!td_grow(&d->fields, &d->fields_cap, d->n_fields, sizeof *d->fields))
		return td_err_memory(e);
	d->fields[d->n_fields++] = *field;
	return 0;
}

static struct td_field one_text(const char *key, const struct td_bytes *value)
{
	return (struct td_field){ .key = key, .kind = TUNDISH_BYTES, .n = 1, .bytes = value };
}

/* Pixels stay as they are: no time is lost on packing them. */
static int take_pixels(void *ctx, struct td_buf *out, const struct td_pixels *p, struct tundish_error *e)
{
	struct td_items_desk *d = ctx;
	size_t row = (size_t)p->width * 3;
	d->shape[0] = p->height;
	d->shape[1] = p->width;
	d->shape[2] = 3;
	if (p->elem != TD_UINT8 || p->channels != 3)
		return td_err(e, TUNDISH_E_UNSUPPORTED, "pixels of another kind than RGB of 8 bits");
	for (uint32_t y = 0; y < p->height; y++) {
		const uint8_t *from = (const uint8_t *)p->data + y * p->stride;
		if (!td_buf_reserve(out, row))
			return td_err_memory(e);
		uint8_t *to = out->data + out->len;
		if (p->step == 3)
			memcpy(to, from, row);
		for (uint32_t x = 0; p->step != 3 && x < p->width; x++)
			memcpy(to + (size_t)x * 3, from + (size_t)x * p->step, 3);
		out->len += row;
	}
	return 0;
}

/* What the item belongs to: empty where that is nothing. */
static struct td_bytes group_of(const struct td_listing *l, const struct td_item *item)
{
	const char *name = item->flags & TD_ITEM_PART ? td_item_name(l, item) : "";
	if (item->group)
		return (struct td_bytes){ td_map_key(&l->groups, item->group - 1),
			l->groups.entries[item->group - 1].key_bytes };
	return (struct td_bytes){ name, strlen(name) };
}

/* The features of what was loaded, then those of its class, then all others. */
static int encode(const struct td_items *items, struct td_items_desk *d, const struct td_item *item,
    struct td_buf *out, struct tundish_error *e)
{
	struct td_loaded *s = &d->loaded;
	const struct td_class *class = item->class >= 0 ? &items->list.classes.list[item->class] : NULL;
	const char *dtype_name = s->array ? td_elem_name(s->dtype) : "uint8";
	const char *name = td_item_name(&items->list, item);
	const uint64_t *shape = s->array ? s->shape : d->shape;
	const struct td_bytes data = { s->data.data, s->data.len }, file = { name, strlen(name) };
	const struct td_bytes dtype = { dtype_name, strlen(dtype_name) };
	const struct td_bytes text = { class ? class->name : NULL, class ? strlen(class->name) : 0 };
	const struct td_bytes group = group_of(&items->list, item);
	const int64_t label = class ? class->label : -1;
	bool numbers = s->array || s->encoded;
	int64_t sides[TD_AXES];
	unsigned n_axes = s->array ? s->n_axes : 3;
	for (unsigned i = 0; i < n_axes; i++)
		sides[i] = (int64_t)shape[i];
	d->n_fields = 0;
	const struct td_field image = one_text(numbers ? "image/value" : "image", &data);
	const struct td_field own[] = {
		image,
		{ .key = "image/shape", .kind = TUNDISH_INT64, .n = n_axes, .ints = sides },
		one_text("dtype", &dtype),
		{ .key = "label", .kind = TUNDISH_INT64, .n = 1, .ints = &label },
		one_text("text", &text),
		one_text("filename", &file),
		one_text("group", &group),
	};
	const bool has[] = { true, numbers, numbers, class, class && !items->list.classes.numbers, true, group.len };
	int rc = 0;
	for (size_t i = 0; i < TD_COUNT(own) && rc == 0; i++)
		rc = has[i] ? add(d, &own[i], e) : 0;
	for (size_t i = 0; i < s->extras.n && rc == 0; i++) {
		const struct td_field extra = td_extra_field(&s->extras, i);
		rc = add(d, &extra, e);
	}
	return rc < 0 ? rc : td_example_encode(out, d->fields, d->n_fields, items->cut.max_bytes, e);
}

int td_items_read(const struct td_items *items, struct td_items_desk *d, size_t i, struct td_buf *out,
    struct tundish_error *e)
{
	const struct td_item *item = &items->list.items[i];
	d->loaded.encode = take_pixels;
	d->loaded.encode_ctx = d;
	int rc = td_item_load(&d->loaded, &d->path, &items->list, item, &items->cut, e);
	if (rc == 0 && item->row)
		rc = td_cells_extras(&items->list.columns, item->row - 1, &d->loaded.extras, e);
	if (rc == 0)
		rc = encode(items, d, item, out, e);
	if (d->loaded.data.cap > KEPT_BYTES)
		td_buf_free(&d->loaded.data);
	return rc;
}

/* ---- the rest ---- */

static void add_text(struct td_sha256 *sha, const char *text)
{
	td_sha256_add(sha, text ? text : "", text ? strlen(text) + 1 : 1);
}

void td_items_key(const struct td_items *items, const struct tundish_flow_options *o, struct td_sha256 *name,
    struct td_sha256 *content)
{
	const char *const texts[] = { o->labels, o->class_list, o->columns, o->group_by, o->tile, o->edge, o->bands, o->region,
		o->frames, o->max_nodata, o->label_raster, o->unlabelled, o->interleave };
	const int64_t numbers[] = { o->label_offset, o->drop_bad_bands, o->apply_scale, o->stack,
		o->pixel_origin };
	for (size_t i = 0; i < TD_COUNT(texts); i++)
		add_text(name, texts[i]);
	td_sha256_add(name, numbers, sizeof numbers);
	td_sha256_add(content, &items->list.files, sizeof items->list.files);
	for (size_t i = 0; i < items->list.n; i++)
		td_sha256_add(content, &items->list.items[i].class, sizeof items->list.items[i].class);
	const uint32_t cells = td_cells_crc(&items->list.columns);
	td_sha256_add(content, &cells, sizeof cells);
}

struct td_items_desk *td_items_desk_new(void)
{
	return calloc(1, sizeof(struct td_items_desk));
}

void td_items_desk_free(struct td_items_desk *d)
{
	if (!d)
		return;
	td_loaded_free(&d->loaded);
	td_buf_free(&d->path);
	free(d->fields);
	free(d);
}

void td_items_close(struct td_items *items)
{
	if (!items)
		return;
	td_listing_free(&items->list);
	td_cut_free(&items->cut);
	free(items);
}
