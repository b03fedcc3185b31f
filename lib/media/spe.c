/* SPDX-License-Identifier: BSD-2-Clause
 * Princeton Instruments SPE: the header of 4100 bytes, frames of regions, and the values
 * behind each frame. */
#include "spe.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "base/err.h"

#define HEADER_BYTES 4100

struct spe {
	uint8_t header[HEADER_BYTES];
	bool xml; /* version 3 with a footer that could be read */
	struct td_spe_footer footer;
	uint64_t stride, size; /* of a frame; its values lie between them */
	uint64_t *at;	       /* of each region, in a frame */
	size_t at_cap;
	struct td_raster_field *fields;
	unsigned *fields_at;   /* in the values of a frame */
	int order;	       /* of the header's polynomial, or -1 */
	double c[6];
};

static int16_t i16(const struct spe *s, size_t at)
{
	return (int16_t)td_le16(s->header + at);
}

static double f32(const struct spe *s, size_t at)
{
	float v;
	memcpy(&v, s->header + at, sizeof v);
	return (double)v;
}

static double f64(const uint8_t *p)
{
	double v;
	memcpy(&v, p, sizeof v);
	return v;
}

static void put_real(struct td_raster *r, const char *key, double v)
{
	if (isfinite(v))
		td_raster_put(r, key, json_real(v));
}

static void put_int(struct td_raster *r, const char *key, int64_t v)
{
	td_raster_put(r, key, json_integer(v));
}

/* A text of fixed size, filled up with NULs or blanks. */
static json_t *fixed_text(const uint8_t *p, size_t room)
{
	size_t n = strnlen((const char *)p, room);
	while (n && p[n - 1] == ' ')
		n--;
	return n ? td_raster_text((const char *)p, n) : NULL;
}

static void put_fixed(struct td_raster *r, const char *key, const uint8_t *p, size_t room)
{
	json_t *text = fixed_text(p, room);
	if (text)
		td_raster_put(r, key, text);
}

/* The types that readers agree on, and 8, 5, 6, 7, which some of them know. */
static int header_type(enum td_elem *ret, const struct td_raster *r, int code,
    struct tundish_error *e)
{
	static const uint8_t types[] = { 1 + TD_FLOAT32, 1 + TD_INT32, 1 + TD_INT16, 1 + TD_UINT16,
		0, 1 + TD_FLOAT64, 1 + TD_UINT8, 1 + TD_UINT8, 1 + TD_UINT32 };
	if (code < 0 || code >= (int)TD_COUNT(types) || !types[code])
		return td_err(e, TUNDISH_E_UNSUPPORTED, "SPE data type %d is not supported", code);
	if (code == 6)
		td_raster_notice(r, "data type 6 is read as uint8: other software takes it for int8");
	*ret = (enum td_elem)(types[code] - 1);
	return 0;
}

static int footer_type(enum td_elem *ret, const char *format, struct tundish_error *e)
{
	static const struct {
		const char *name;
		enum td_elem dtype;
	} formats[] = { { "MonochromeUnsigned16", TD_UINT16 }, { "MonochromeUnsigned32", TD_UINT32 },
		{ "MonochromeFloating32", TD_FLOAT32 } };
	for (size_t i = 0; i < TD_COUNT(formats); i++)
		if (strcmp(format, formats[i].name) == 0) {
			*ret = formats[i].dtype;
			return 0;
		}
	return td_err(e, TUNDISH_E_UNSUPPORTED, "SPE pixel format \"%s\" is not supported",
	    TD_ESC(format));
}

static struct td_raster_region *add_region(struct td_raster *r, uint64_t width, uint64_t height,
    uint64_t at, struct tundish_error *e)
{
	struct spe *s = r->own;
	bool room = td_grow(&s->at, &s->at_cap, r->info.n_regions, sizeof *s->at);
	struct td_raster_region *g = room ? td_raster_add_region(r) : NULL;
	if (!g) {
		td_err_memory(e);
		return NULL;
	}
	s->at[r->info.n_regions - 1] = at;
	g->axes[0] = "frames";
	g->axes[1] = "rows";
	g->axes[2] = "columns";
	g->shape[1] = height;
	g->shape[2] = width;
	return g;
}

/* Frames of which all pixels lie before `end`. */
static uint64_t whole_frames(const struct spe *s, uint64_t end)
{
	if (end < HEADER_BYTES || end - HEADER_BYTES < s->size)
		return 0;
	return 1 + (end - HEADER_BYTES - s->size) / s->stride;
}

/* Where the header or footer and the file differ, the smaller number counts. */
static int set_frames(struct td_raster *r, uint64_t said, uint64_t end, struct tundish_error *e)
{
	const struct spe *s = r->own;
	uint64_t there = whole_frames(s, end), frames = said ? TD_MIN(said, there) : there;
	if (there == 0)
		return td_err(e, TUNDISH_E_TRUNCATED,
		    "SPE: not one whole frame of %" PRIu64 " bytes is in the file", s->size);
	if (frames > TD_RASTER_AXIS_MOST)
		return td_err(e, TUNDISH_E_LIMIT, "SPE: %" PRIu64 " frames", frames);
	if (said > there) {
		td_raster_notice(r, "%" PRIu64 " frames by the header, %" PRIu64 " are there", said,
		    there);
		r->info.missing_frames = said - there;
	} else if (there > said) {
		td_raster_notice(r, "%" PRIu64 " frames by the header, %" PRIu64 " by the size: "
		    "%" PRIu64 " are read", said, there, frames);
	}
	for (unsigned i = 0; i < r->info.n_regions; i++)
		r->regions[i].shape[0] = frames;
	return 0;
}

static uint64_t roi_side(const uint8_t *p)
{
	/* first, last (before the first in some files), pixels summed up */
	unsigned from = td_le16(p), to = td_le16(p + 2), group = td_le16(p + 4);
	unsigned side = (from > to ? from - to : to - from) + 1;
	return group ? side / group : 0;
}

/* The table of regions, when it has several and they make up the frame. */
static int table_regions(struct td_raster *r, uint64_t pixels, size_t z, struct tundish_error *e)
{
	const struct spe *s = r->own;
	int n = i16(s, 1510);
	uint64_t sum = 0;
	if (n < 2 || n > 10)
		return 0;
	for (int i = 0; i < n; i++) {
		const uint8_t *p = s->header + 1512 + 12 * i;
		uint64_t width = roi_side(p), height = roi_side(p + 6);
		sum += width && height ? width * height : pixels + 1;
	}
	if (sum != pixels) {
		td_raster_notice(r, "the table of %d regions does not make up the frame: read as one", n);
		return 0;
	}
	sum = 0;
	for (int i = 0; i < n; i++) {
		const uint8_t *p = s->header + 1512 + 12 * i;
		uint64_t width = roi_side(p), height = roi_side(p + 6);
		struct td_raster_region *g = add_region(r, width, height, sum * z, e);
		if (!g)
			return TUNDISH_E_MEMORY;
		g->x = TD_MIN(td_le16(p), td_le16(p + 2));
		g->y = TD_MIN(td_le16(p + 6), td_le16(p + 8));
		g->x -= g->x > 0; /* the table counts from 1 */
		g->y -= g->y > 0;
		g->x_binning = td_le16(p + 4);
		g->y_binning = td_le16(p + 10);
		sum += width * height;
	}
	return 1;
}

/* A wrong type shows when the size fits another one alone. */
static void compare_size(const struct td_raster *r, uint64_t pixels, uint64_t payload)
{
	const struct spe *s = r->own;
	int32_t frames = (int32_t)td_le32(s->header + 1446);
	size_t z = td_elem_bytes(r->info.dtype), fits = 0;
	unsigned n = 0;
	if (frames <= 0 || pixels * (uint64_t)frames * z == payload)
		return;
	for (size_t other = 1; other <= 8; other *= 2)
		if (pixels * (uint64_t)frames * other == payload) {
			fits = other;
			n++;
		}
	if (n == 1)
		td_raster_notice(r, "the header says %s, but the size fits numbers of %zu bytes",
		    td_elem_name(r->info.dtype), fits);
}

static int by_header(struct td_raster *r, uint64_t end, struct tundish_error *e)
{
	struct spe *s = r->own;
	uint64_t width = td_le16(s->header + 42), height = td_le16(s->header + 656);
	int rc = header_type(&r->info.dtype, r, i16(s, 108), e);
	if (rc < 0)
		return rc;
	size_t z = td_elem_bytes(r->info.dtype);
	if (!width || !height)
		return td_err(e, TUNDISH_E_CORRUPT, "SPE header: frames of %" PRIu64 " x %" PRIu64,
		    width, height);
	s->size = s->stride = width * height * z;
	compare_size(r, width * height, end - HEADER_BYTES);
	rc = table_regions(r, width * height, z, e);
	if (rc == 0 && !add_region(r, width, height, 0, e))
		rc = TUNDISH_E_MEMORY;
	int32_t frames = (int32_t)td_le32(s->header + 1446);
	return rc < 0 ? rc : set_frames(r, frames > 0 ? (uint64_t)frames : 0, end, e);
}

static bool has_id(const struct td_spe_block *b, uint64_t id)
{
	for (unsigned i = 0; i < b->n_ids; i++)
		if (b->ids[i] == id)
			return true;
	return false;
}

static void place_on_sensor(struct td_raster_region *g, const struct td_spe_footer *f,
    const struct td_spe_block *b)
{
	for (size_t i = 0; i < f->n_sensors; i++) {
		const struct td_spe_sensor *n = &f->sensors[i];
		if (!has_id(b, n->id))
			continue;
		g->x = n->x;
		g->y = n->y;
		g->x_binning = (uint32_t)TD_MAX(TD_MIN(n->x_binning, (uint64_t)INT32_MAX), 1u);
		g->y_binning = (uint32_t)TD_MAX(TD_MIN(n->y_binning, (uint64_t)INT32_MAX), 1u);
		return;
	}
}

static int footer_regions(struct td_raster *r, struct tundish_error *e)
{
	struct spe *s = r->own;
	const struct td_spe_footer *f = &s->footer;
	uint64_t z = td_elem_bytes(r->info.dtype), at = 0;
	for (size_t i = 0; i < f->n_regions; i++) {
		const struct td_spe_block *b = &f->regions[i];
		uint64_t bytes = 0;
		bool sane = b->width && b->height && b->width <= TD_RASTER_AXIS_MOST &&
		    b->height <= TD_RASTER_AXIS_MOST &&
		    !td_mul_overflow(b->width * b->height, z, &bytes) && bytes == b->size &&
		    (b->stride >= b->size || b->stride == 0);
		if (!sane)
			return td_err(e, TUNDISH_E_CORRUPT,
			    "SPE region %zu: %" PRIu64 " x %" PRIu64 " pixels in %" PRIu64 " bytes", i,
			    b->width, b->height, b->size);
		struct td_raster_region *g = add_region(r, b->width, b->height, at, e);
		if (!g)
			return TUNDISH_E_MEMORY;
		place_on_sensor(g, f, b);
		if (td_add_overflow(at, TD_MAX(b->stride, b->size), &at) || at > f->frame.size)
			return td_err(e, TUNDISH_E_CORRUPT,
			    "SPE: %zu regions do not fit into frames of %" PRIu64 " bytes",
			    f->n_regions, f->frame.size);
	}
	return 0;
}

/* The values behind each frame, when what the footer says of them fits. */
static int footer_fields(struct td_raster *r, struct tundish_error *e)
{
	struct spe *s = r->own;
	const struct td_spe_footer *f = &s->footer;
	uint64_t room = s->stride - s->size, sum = 0;
	if (!f->meta_format || !f->n_fields)
		return 0;
	s->fields = calloc(f->n_fields, sizeof *s->fields);
	s->fields_at = calloc(f->n_fields, sizeof *s->fields_at);
	if (!s->fields || !s->fields_at)
		return td_err_memory(e);
	unsigned n = 0;
	for (size_t i = 0; i < f->n_fields; i++) {
		if (f->fields[i].block != f->meta_format)
			continue;
		if (f->fields[i].known) {
			s->fields[n] = f->fields[i].field;
			s->fields_at[n++] = (unsigned)sum;
		}
		sum += f->fields[i].bytes;
	}
	if (sum == room) {
		r->info.fields = s->fields;
		r->info.n_fields = n;
	} else {
		td_raster_notice(r, "values of frames are left out: %" PRIu64 " bytes by the footer, %"
		    PRIu64 " in the file", sum, room);
	}
	return 0;
}

static int by_footer(struct td_raster *r, uint64_t end, struct tundish_error *e)
{
	struct spe *s = r->own;
	const struct td_spe_block *frame = &s->footer.frame;
	s->xml = true;
	int rc = footer_type(&r->info.dtype, s->footer.pixel_format, e);
	if (rc < 0)
		return rc;
	s->size = frame->size;
	s->stride = frame->stride;
	if (s->size == 0 || s->stride < s->size)
		return td_err(e, TUNDISH_E_CORRUPT,
		    "SPE: frames of %" PRIu64 " bytes every %" PRIu64, s->size, s->stride);
	rc = footer_regions(r, e);
	if (rc == 0)
		rc = set_frames(r, frame->count, end, e);
	return rc == 0 ? footer_fields(r, e) : rc;
}

static const char *unit_of(int code)
{
	static const char *const units[] = { "", "pixel", "data", "user units", "nm", "cm-1",
		"Raman shift cm-1" };
	return code >= 0 && code < (int)TD_COUNT(units) ? units[code] : "";
}

/* The calibration at `at`; its order, or -1 when there is none that holds. */
static int calibration(struct td_raster *r, const char *key, size_t at, double c[6])
{
	const uint8_t *p = ((const struct spe *)r->own)->header + at;
	int order = p[101];
	if (p[98] != 1 || order > 5)
		return -1;
	for (int i = 0; i < 6; i++)
		c[i] = f64(p + 263 + 8 * i);
	json_t *list = td_raster_numbers(c, (size_t)order + 1, false);
	if (!list)
		return -1;
	double laser = f64(p + 311);
	json_t *j = json_pack("{s:i, s:o, s:s}", "order", order, "coefficients", list, "unit",
	    unit_of(p[100]));
	if (j && isfinite(laser) && laser != 0)
		json_object_set_new(j, "laser_nm", json_real(laser));
	td_raster_put(r, key, j);
	return order;
}

static void header_metadata(struct td_raster *r)
{
	struct spe *s = r->own;
	put_fixed(r, "software", s->header + 688, 16);
	put_fixed(r, "date", s->header + 20, 10);
	put_fixed(r, "local_time", s->header + 172, 7);
	put_fixed(r, "utc_time", s->header + 179, 7);
	put_real(r, "exposure_s", f32(s, 10));
	put_real(r, "detector_temperature", f32(s, 36));
	put_real(r, "readout_time_ms", f32(s, 672));
	put_real(r, "center_wavelength_nm", f32(s, 72));
	put_real(r, "grooves_per_mm", f32(s, 650));
	put_int(r, "accumulations", (int64_t)td_le32(s->header + 1422));
	put_int(r, "geometric", td_le16(s->header + 600));
	json_t *comments = json_array();
	for (int i = 0; i < 5; i++) {
		json_t *text = fixed_text(s->header + 200 + 80 * i, 80);
		if (text)
			json_array_append_new(comments, text);
	}
	td_raster_put(r, "comments", comments);
	double y[6];
	s->order = calibration(r, "x_calibration", 3000, s->c);
	calibration(r, "y_calibration", 3489, y);
	if (s->order >= 0)
		r->info.axis_unit = unit_of(s->header[3000 + 100]);
}

static const struct td_spe_mapping *mapping_of(const struct spe *s, unsigned region)
{
	const struct td_spe_footer *f = &s->footer;
	for (size_t i = 0; i < f->n_mappings; i++)
		if (f->mappings[i].n && (has_id(&f->frame, f->mappings[i].id) ||
			has_id(&f->regions[region], f->mappings[i].id)))
			return &f->mappings[i];
	return NULL;
}

static void footer_metadata(struct td_raster *r)
{
	const struct spe *s = r->own;
	const struct td_spe_footer *f = &s->footer;
	const char *const texts[][2] = { { "created", f->created }, { "creator", f->creator },
		{ "absolute_time", f->absolute_time } };
	for (size_t i = 0; i < TD_COUNT(texts); i++)
		if (texts[i][1][0])
			td_raster_put(r, texts[i][0], td_raster_text(texts[i][1], strlen(texts[i][1])));
	if (f->exposure_ms != 0)
		put_real(r, "exposure_s", f->exposure_ms / 1000);
	const struct td_spe_mapping *m = mapping_of(s, 0);
	if (!m)
		return;
	r->info.axis_unit = "nm";
	json_t *list = td_raster_numbers(f->wavelengths + m->first, m->n, false);
	if (list)
		td_raster_put(r, "wavelength", list);
	if (m->laser != 0)
		put_real(r, "laser_nm", m->laser);
}

/* The footer's word counts; without one that can be read, the header's. */
static int by_version_3(struct td_raster *r, struct tundish_error *e)
{
	struct spe *s = r->own;
	uint64_t offset = td_le64(s->header + 678), size = r->file.size;
	struct tundish_error why = { 0 };
	bool inside = offset > HEADER_BYTES && offset < size;
	int rc = inside ? td_spe_footer_read(&s->footer, &r->file, offset, &why) :
			  td_err(&why, TUNDISH_E_TRUNCATED, "no XML footer at byte %" PRIu64, offset);
	if (rc == 0)
		return by_footer(r, offset, e);
	if (rc != TUNDISH_E_CORRUPT && rc != TUNDISH_E_TRUNCATED)
		return td_err(e, rc, "%s", why.text);
	td_raster_notice(r, "%s: the old header is read instead", why.text);
	return by_header(r, inside ? offset : size, e);
}

static int spe_open(struct td_raster *r, struct tundish_error *e)
{
	struct spe *s = calloc(1, sizeof *s);
	if (!s)
		return td_err_memory(e);
	r->own = s;
	s->order = -1;
	int rc = td_bytes_read(&r->file, s->header, HEADER_BYTES, 0, e);
	if (rc < 0)
		return rc;
	double version = f32(s, 1992);
	put_real(r, "version", version);
	rc = version >= 3 ? by_version_3(r, e) : by_header(r, r->file.size, e);
	if (rc == 0 && s->xml)
		footer_metadata(r);
	else if (rc == 0)
		header_metadata(r);
	return rc;
}

static void spe_close(struct td_raster *r)
{
	struct spe *s = r->own;
	td_spe_footer_free(&s->footer);
	free(s->at);
	free(s->fields);
	free(s->fields_at);
	free(s);
}

static int spe_read(struct td_raster *r, const struct td_raster_part *part, void *out,
    struct td_buf *scratch, struct tundish_error *e)
{
	(void)scratch;
	const struct spe *s = r->own;
	const struct td_raster_region *g = &r->regions[part->region];
	uint64_t z = td_elem_bytes(r->info.dtype), width = g->shape[2] * z;
	uint64_t run = part->count[2] * z, runs = part->count[1];
	if (run == width) { /* rows lie together */
		run *= runs;
		runs = 1;
	}
	uint8_t *to = out;
	for (uint64_t f = 0; f < part->count[0]; f++) {
		uint64_t at = HEADER_BYTES + (part->start[0] + f) * s->stride + s->at[part->region] +
		    part->start[1] * width + part->start[2] * z;
		for (uint64_t i = 0; i < runs; i++) {
			int rc = td_bytes_read(&r->file, to, (size_t)run, at + i * width, e);
			if (rc < 0)
				return rc;
			to += run;
		}
	}
	return 0;
}

/* Wavelengths by column of the sensor: of pixels that were summed up, the middle. */
static int footer_axis(double *ret, const struct td_raster *r, unsigned region)
{
	const struct spe *s = r->own;
	const struct td_raster_region *g = &r->regions[region];
	const struct td_spe_mapping *m = mapping_of(s, region);
	if (!m)
		return 0;
	const double *w = s->footer.wavelengths + m->first;
	uint64_t width = g->shape[2], bin = g->x_binning, x = g->x;
	if (m->n == width) {
		memcpy(ret, w, (size_t)width * sizeof *ret);
		return 1;
	}
	if (x > m->n || width > (m->n - x) / bin)
		return 0;
	for (uint64_t i = 0; i < width; i++)
		ret[i] = (w[x + i * bin] + w[x + i * bin + bin - 1]) / 2;
	return 1;
}

static int spe_axis(double *ret, const struct td_raster *r, unsigned region, int first_pixel)
{
	const struct spe *s = r->own;
	if (s->xml)
		return footer_axis(ret, r, region);
	if (s->order < 0)
		return 0;
	for (uint64_t i = 0; i < r->regions[region].shape[2]; i++) {
		double p = (double)i + first_pixel, v = s->c[s->order];
		for (int k = s->order - 1; k >= 0; k--)
			v = v * p + s->c[k];
		ret[i] = v;
	}
	return 1;
}

static int spe_frame(union td_raster_value *ret, const struct td_raster *r, uint64_t frame,
    struct tundish_error *e)
{
	const struct spe *s = r->own;
	uint8_t values[8 * 256];
	int rc = td_bytes_read(&r->file, values, (size_t)(s->stride - s->size),
	    HEADER_BYTES + frame * s->stride + s->size, e);
	for (unsigned i = 0; rc == 0 && i < r->info.n_fields; i++)
		memcpy(&ret[i], values + s->fields_at[i], sizeof ret[i]);
	return rc;
}

const struct td_raster_ops td_spe_ops = {
	.open = spe_open,
	.read = spe_read,
	.close = spe_close,
	.axis = spe_axis,
	.frame = spe_frame,
};
