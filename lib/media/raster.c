/* SPDX-License-Identifier: BSD-2-Clause
 * Which kind of raster it is, and what is the same for all of them. */
#include "raster-kind.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "base/err.h"
#include "base/path.h"
#include "base/text.h"
#include "base/utf8.h"
#include "radiance.h"

#define HEAD_BYTES 4200
#define SPE_HEADER_BYTES 4100

static const struct {
	const char *name;
	const struct td_raster_ops *ops;
} kinds[] = {
	[TD_RASTER_NONE] = { "no known kind of raster", NULL },
	[TD_RASTER_ENVI] = { "ENVI", &td_envi_ops },
	[TD_RASTER_SPE] = { "SPE", &td_spe_ops },
	[TD_RASTER_RADIANCE] = { "Radiance", &td_radiance_ops },
	[TD_RASTER_ANALYZE] = { "Analyze or NIfTI", NULL },
	[TD_RASTER_ESRI] = { "ESRI BIL", NULL },
};

static bool is_envi(const uint8_t *p, size_t len)
{
	size_t at = len >= 3 && memcmp(p, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
	while (at < len && td_is_blank((char)p[at]))
		at++;
	return len - at >= 4 && memcmp(p + at, "ENVI", 4) == 0 &&
	    (len - at == 4 || td_is_blank((char)p[at + 4]));
}

/* NAME VALUE lines without "=", the first words of which are known. */
static bool is_esri(const uint8_t *p, size_t len)
{
	static const char *const names[] = { "BYTEORDER", "LAYOUT", "NROWS", "NCOLS", "NBANDS",
		"NBITS" };
	size_t at = 0;
	unsigned found = 0;
	for (unsigned line = 0; line < 8 && at < len; line++) {
		const uint8_t *end = memchr(p + at, '\n', len - at);
		size_t n = (end ? (size_t)(end - p) : len) - at;
		if (memchr(p + at, '=', n))
			return false;
		for (size_t i = 0; i < TD_COUNT(names); i++) {
			size_t word = strlen(names[i]);
			if (n > word && strncasecmp((const char *)p + at, names[i], word) == 0 &&
			    td_is_blank((char)p[at + word]))
				found++;
		}
		at += n + 1;
	}
	return found >= 3;
}

static bool is_analyze(const uint8_t *p, size_t len)
{
	if (len < 348)
		return false;
	uint32_t le = td_le32(p), be = td_be32(p);
	return le == 348 || be == 348 || le == 540 || be == 540;
}

enum td_raster_kind td_raster_probe(const void *data, size_t len)
{
	if (is_envi(data, len))
		return TD_RASTER_ENVI;
	if (len >= SPE_HEADER_BYTES && td_le32((const uint8_t *)data + 2996) == 0x01234567)
		return TD_RASTER_SPE;
	if (td_radiance_probe(data, TD_MIN(len, (size_t)HEAD_BYTES)))
		return TD_RASTER_RADIANCE;
	if (is_analyze(data, len))
		return TD_RASTER_ANALYZE;
	return is_esri(data, len) ? TD_RASTER_ESRI : TD_RASTER_NONE;
}

void td_raster_notice(const struct td_raster *r, const char *fmt, ...)
{
	char text[2 * TD_ESC_MAX + 200]; /* two names and words */
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	td_notice(r->listener, "%s: %s", r->name ? TD_ESC(r->name) : r->path ? TD_ESC(r->path) : "memory", text);
}

struct td_raster_region *td_raster_add_region(struct td_raster *r)
{
	unsigned n = r->info.n_regions;
	if (!td_grow(&r->regions, &r->regions_cap, n, sizeof *r->regions))
		return NULL;
	r->info.regions = r->regions;
	r->info.n_regions++;
	r->regions[n] = (struct td_raster_region){ .n_axes = 3, .x_binning = 1, .y_binning = 1 };
	return &r->regions[n];
}

void td_raster_put(struct td_raster *r, const char *key, json_t *value)
{
	if (json_object_set_new(r->metadata, key, value) != 0)
		r->lost = true;
}

json_t *td_raster_text(const char *s, size_t len)
{
	if (td_utf8_valid(s, len))
		return json_stringn(s, len);
	char *text = malloc(2 * len);
	size_t n = 0;
	if (!text)
		return NULL;
	for (size_t i = 0; i < len; i++) {
		uint8_t c = (uint8_t)s[i];
		if (c >= 0x80)
			text[n++] = (char)(0xc0 | c >> 6);
		text[n++] = (char)(c >= 0x80 ? 0x80 | (c & 0x3f) : c);
	}
	json_t *j = json_stringn(text, n);
	free(text);
	return j;
}

json_t *td_raster_numbers(const double *v, size_t n, bool whole)
{
	json_t *list = json_array();
	for (size_t i = 0; list && i < n; i++) {
		bool integer = whole && v[i] == floor(v[i]) && fabs(v[i]) < 1e15;
		json_t *one = integer ? json_integer((json_int_t)v[i]) : json_real(v[i]);
		if (json_array_append_new(list, one) != 0) {
			json_decref(list);
			return NULL;
		}
	}
	return list;
}

static int read_head(uint8_t *head, size_t *ret_len, const struct td_bytes *file,
    struct tundish_error *e)
{
	*ret_len = (size_t)TD_MIN((uint64_t)HEAD_BYTES, file->size);
	return td_bytes_read(file, head, *ret_len, 0, e);
}

static int open_kind(struct td_raster *r, struct tundish_error *e)
{
	uint8_t head[HEAD_BYTES];
	size_t len;
	int rc = read_head(head, &len, &r->file, e);
	if (rc < 0)
		return rc;
	r->info.kind = td_raster_probe(head, len);
	r->ops = kinds[r->info.kind].ops;
	if (len == 0)
		return td_err(e, TUNDISH_E_TRUNCATED, "empty file");
	if (!r->ops)
		return td_err(e, TUNDISH_E_UNSUPPORTED,
		    r->info.kind == TD_RASTER_NONE ? "%s" : "%s headers are not supported",
		    kinds[r->info.kind].name);
	r->metadata = json_object();
	r->lost = !r->metadata;
	rc = r->ops->open(r, e);
	if (rc == 0 && r->lost)
		rc = td_err_memory(e);
	r->info.metadata = r->metadata;
	r->info.data_path = r->pixels_path;
	return rc;
}

static int finish_open(struct td_raster **ret, struct td_raster *r,
    const struct tundish_listener *l, struct tundish_error *e)
{
	r->listener = l;
	r->info.axis_unit = "";
	int rc = open_kind(r, e);
	r->listener = NULL;
	if (rc < 0)
		td_raster_close(r);
	else
		*ret = r;
	return rc;
}

int td_raster_open(struct td_raster **ret, const char *path, int flags,
    const struct tundish_listener *l, struct tundish_error *e)
{
	return td_raster_open_pair(ret, path, NULL, NULL, flags, l, e);
}

int td_raster_open_pair(struct td_raster **ret, const char *path, const char *data_path, const char *name,
    int flags, const struct tundish_listener *l, struct tundish_error *e)
{
	struct td_raster *r = calloc(1, sizeof *r);
	if (!r)
		return td_err_memory(e);
	r->file.fd = r->pixels.fd = -1;
	r->flags = flags;
	r->path = strdup(path);
	r->given = data_path ? strdup(data_path) : NULL;
	r->name = name ? strdup(name) : NULL;
	bool ok = r->path && (r->given || !data_path) && (r->name || !name);
	int rc = ok ? td_bytes_open(&r->file, path, e) : td_err_memory(e);
	if (rc < 0) {
		td_raster_close(r);
		return rc;
	}
	return finish_open(ret, r, l, e);
}

int td_raster_open_memory(struct td_raster **ret, const void *data, size_t len, const void *pixels,
    size_t pixels_len, const struct tundish_listener *l, struct tundish_error *e)
{
	struct td_raster *r = calloc(1, sizeof *r);
	if (!r)
		return td_err_memory(e);
	r->file = td_bytes_memory(data, len);
	r->pixels = td_bytes_memory(pixels, pixels_len);
	return finish_open(ret, r, l, e);
}

uint64_t td_raster_data_bytes(const void *header, size_t len)
{
	struct td_raster *r = calloc(1, sizeof *r), *opened;
	if (!r)
		return 0;
	r->file = td_bytes_memory(header, len);
	r->pixels = td_bytes_memory(NULL, 0);
	r->flags = TD_RASTER_HEADER_ONLY;
	if (finish_open(&opened, r, NULL, NULL) < 0)
		return 0;
	uint64_t bytes = opened->data_bytes;
	td_raster_close(opened);
	return bytes;
}

void td_raster_close(struct td_raster *r)
{
	if (!r)
		return;
	if (r->ops && r->own)
		r->ops->close(r);
	td_bytes_close(&r->file);
	td_bytes_close(&r->pixels);
	free(r->path);
	free(r->given);
	free(r->name);
	free(r->pixels_path);
	free(r->regions);
	free(r->gain);
	free(r->offset);
	json_decref(r->metadata);
	free(r);
}

const struct td_raster_info *td_raster_info(const struct td_raster *r)
{
	return &r->info;
}

static json_t *shape_of(const struct td_raster_region *g)
{
	json_t *shape = json_array();
	for (unsigned i = 0; i < g->n_axes; i++)
		json_array_append_new(shape, json_integer((json_int_t)g->shape[i]));
	return shape;
}

static json_t *describe_regions(const struct td_raster_info *info)
{
	json_t *list = json_array();
	for (unsigned i = 0; i < info->n_regions; i++) {
		const struct td_raster_region *g = &info->regions[i];
		json_array_append_new(list,
		    json_pack("{s:o, s:I, s:I, s:I, s:I}", "shape", shape_of(g), "x",
			(json_int_t)g->x, "y", (json_int_t)g->y, "x_binning",
			(json_int_t)g->x_binning, "y_binning", (json_int_t)g->y_binning));
	}
	return list;
}

static json_t *describe_fields(const struct td_raster_info *info)
{
	json_t *list = json_array();
	for (unsigned i = 0; i < info->n_fields; i++) {
		const struct td_raster_field *f = &info->fields[i];
		json_t *one = json_pack("{s:s, s:s}", "name", f->name, "type",
		    f->real ? "float64" : "int64");
		if (f->resolution)
			json_object_set_new(one, "ticks_per_s",
			    json_integer((json_int_t)f->resolution));
		json_array_append_new(list, one);
	}
	return list;
}

json_t *td_raster_describe(const struct td_raster *r)
{
	const struct td_raster_info *info = &r->info;
	const struct td_raster_region *g = &info->regions[0];
	json_t *all = json_pack("{s:s, s:s, s:[s, s], s:o}", "kind", kinds[info->kind].name,
	    "dtype", td_elem_name(info->dtype), "axes", g->axes[0], g->axes[1], "shape",
	    shape_of(g));
	if (g->n_axes == 3)
		json_array_append_new(json_object_get(all, "axes"), json_string(g->axes[2]));
	if (info->kind == TD_RASTER_SPE)
		json_object_set_new(all, "regions", describe_regions(info));
	if (info->data_path)
		json_object_set_new(all, "data_file",
		    td_raster_text(td_path_base(info->data_path),
			strlen(td_path_base(info->data_path))));
	if (info->n_fields)
		json_object_set_new(all, "frame_fields", describe_fields(info));
	if (info->missing_frames)
		json_object_set_new(all, "missing_frames",
		    json_integer((json_int_t)info->missing_frames));
	if (json_object_set(all, "metadata", r->metadata) != 0) {
		json_decref(all);
		return NULL;
	}
	return all;
}

struct td_raster_part td_raster_all(const struct td_raster *r, unsigned region)
{
	struct td_raster_part part = { .region = region };
	for (unsigned i = 0; i < r->info.regions[region].n_axes; i++)
		part.count[i] = r->info.regions[region].shape[i];
	return part;
}

static int check_part(const struct td_raster *r, const struct td_raster_part *part,
    struct tundish_error *e)
{
	if (part->region >= r->info.n_regions)
		return td_err(e, TUNDISH_E_INVALID, "region %u of %u", part->region,
		    r->info.n_regions);
	const struct td_raster_region *g = &r->info.regions[part->region];
	unsigned last = g->n_axes - 1;
	if (part->bands && r->info.kind != TD_RASTER_ENVI)
		return td_err(e, TUNDISH_E_INVALID, "a list of %s", g->axes[last]);
	for (unsigned i = 0; i < g->n_axes - (part->bands ? 1 : 0); i++)
		if (part->count[i] == 0 || part->start[i] > g->shape[i] ||
		    part->count[i] > g->shape[i] - part->start[i])
			return td_err(e, TUNDISH_E_INVALID,
			    "%" PRIu64 " %s from %" PRIu64 " on, of %" PRIu64, part->count[i],
			    g->axes[i], part->start[i], g->shape[i]);
	for (uint32_t i = 0; part->bands && i < part->n_bands; i++)
		if (part->bands[i] >= g->shape[last])
			return td_err(e, TUNDISH_E_INVALID, "place %" PRIu32 " of %" PRIu64 " %s",
			    part->bands[i], g->shape[last], g->axes[last]);
	if (part->bands && part->n_bands == 0)
		return td_err(e, TUNDISH_E_INVALID, "no %s", g->axes[last]);
	return 0;
}

/* How many of the last axis, and how many of all before it. */
static uint64_t places(const struct td_raster *r, const struct td_raster_part *part)
{
	return part->bands ? part->n_bands :
			     part->count[r->info.regions[part->region].n_axes - 1];
}

static uint64_t pixels(const struct td_raster *r, const struct td_raster_part *part)
{
	return r->info.regions[part->region].n_axes == 3 ? part->count[0] * part->count[1] :
							   part->count[0];
}

int td_raster_part_bytes(uint64_t *ret, const struct td_raster *r,
    const struct td_raster_part *part, struct tundish_error *e)
{
	int rc = check_part(r, part, e);
	if (rc < 0)
		return rc;
	uint64_t bytes = td_elem_bytes(r->info.dtype);
	/* two axes of at most 2^31 each fit, and so the product of `pixels` */
	if (td_mul_overflow(bytes, pixels(r, part), &bytes) ||
	    td_mul_overflow(bytes, places(r, part), &bytes))
		return td_err(e, TUNDISH_E_LIMIT, "more bytes than a number can count");
	*ret = bytes;
	return 0;
}

int td_raster_read(struct td_raster *r, const struct td_raster_part *part, void *out,
    struct td_buf *scratch, struct tundish_error *e)
{
	uint64_t bytes;
	int rc = td_raster_part_bytes(&bytes, r, part, e);
	return rc < 0 ? rc : r->ops->read(r, part, out, scratch, e);
}

int td_raster_axis(double *ret, const struct td_raster *r, unsigned region, int first_pixel)
{
	return r->ops->axis ? r->ops->axis(ret, r, region, first_pixel) : 0;
}

int td_raster_frame(union td_raster_value *ret, const struct td_raster *r, uint64_t frame,
    struct tundish_error *e)
{
	if (!r->info.n_fields || frame >= r->info.regions[0].shape[0])
		return td_err(e, TUNDISH_E_INVALID, "no values for frame %" PRIu64, frame);
	return r->ops->frame(ret, r, frame, e);
}

static bool is_ignored(const struct td_raster *r, double v)
{
	return r->info.has_ignore && (v == r->info.ignore || (isnan(v) && isnan(r->info.ignore)));
}

void td_raster_scale(float *out, const struct td_raster *r, const struct td_raster_part *part,
    const void *in)
{
	uint64_t n = places(r, part), n_pixels = pixels(r, part);
	unsigned last = r->info.regions[part->region].n_axes - 1;
	double factor = r->factor != 0 ? r->factor : 1;
	for (uint64_t i = 0; i < n_pixels; i++)
		for (uint64_t k = 0; k < n; k++) {
			size_t at = (size_t)(i * n + k);
			size_t band = (size_t)(part->bands ? part->bands[k] : part->start[last] + k);
			double v = td_elem_value(r->info.dtype, in, at);
			double gain = r->gain ? r->gain[band] : 1;
			double offset = r->offset ? r->offset[band] : 0;
			out[at] = is_ignored(r, v) ? NAN : (float)((v * gain + offset) / factor);
		}
}

uint64_t td_raster_ignored(const struct td_raster *r, const struct td_raster_part *part,
    const void *in)
{
	uint64_t n = places(r, part), n_pixels = pixels(r, part), found = 0;
	for (uint64_t i = 0; r->info.has_ignore && i < n_pixels; i++) {
		uint64_t k = 0;
		while (k < n && is_ignored(r, td_elem_value(r->info.dtype, in, (size_t)(i * n + k))))
			k++;
		found += k == n;
	}
	return found;
}
