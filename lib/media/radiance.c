/* SPDX-License-Identifier: BSD-2-Clause
 * Radiance pictures: pixels of three mantissas and a shared exponent, in scanlines that
 * are flat or run-length coded in the old or the new way. */
#include "radiance.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/number.h"
#include "base/text.h"
#include "raster-kind.h"

#define HEADER_MOST (1u << 20)
#define PLANE_MOST 32767 /* the longest scanline that the new coding has */
#define IN_BYTES 65536

struct radiance {
	uint64_t pixels_at;
	bool columns; /* a scanline is a column of the picture */
	bool flip_scanlines, flip_pixels;
	uint64_t scanlines, length;
};

/* The line at *at without its end, and *at moved behind it; false where none ends. */
static bool next_line(const char **ret, size_t *ret_len, const uint8_t *p, size_t len, size_t *at)
{
	const uint8_t *end = *at < len ? memchr(p + *at, '\n', len - *at) : NULL;
	if (!end)
		return false;
	*ret = (const char *)p + *at;
	*ret_len = (size_t)(end - p) - *at;
	*at += *ret_len + 1;
	if (*ret_len && (*ret)[*ret_len - 1] == '\r')
		--*ret_len;
	return true;
}

static bool starts(const char *s, size_t len, const char *with)
{
	size_t n = strlen(with);
	return len >= n && memcmp(s, with, n) == 0;
}

bool td_radiance_probe(const void *data, size_t len)
{
	const char *line;
	size_t n, at = 0;
	if (starts(data, len, "#?"))
		return true;
	while (next_line(&line, &n, data, len, &at) && n)
		if (starts(line, n, "FORMAT=32-bit_rle_") || starts(line, n, "FORMAT=Radiance_"))
			return true;
	return false;
}

/* Numbers with blanks between them; how many, or -1. */
static int parse_numbers(double *ret, int most, const char *s, size_t len)
{
	int n = 0;
	for (td_trim(&s, &len); len; td_trim(&s, &len)) {
		size_t word = td_word(s, len);
		if (n == most || !td_parse_double(&ret[n++], s, word))
			return -1;
		s += word;
		len -= word;
	}
	return n;
}

struct header {
	double exposure, colour[3], aspect;
	bool has_exposure, has_colour, has_aspect, xyz;
};

/* EXPOSURE, COLORCORR and PIXASPECT count as the product of all their lines. */
static bool take_factors(struct header *h, const char *line, size_t len)
{
	static const struct {
		const char *name;
		int n;
	} names[] = { { "EXPOSURE=", 1 }, { "COLORCORR=", 3 }, { "PIXASPECT=", 1 } };
	double *const to[] = { &h->exposure, h->colour, &h->aspect };
	bool *const has[] = { &h->has_exposure, &h->has_colour, &h->has_aspect };
	for (size_t i = 0; i < TD_COUNT(names); i++) {
		size_t word = strlen(names[i].name);
		double v[3];
		if (!starts(line, len, names[i].name) ||
		    parse_numbers(v, names[i].n, line + word, len - word) != names[i].n)
			continue;
		for (int k = 0; k < names[i].n; k++)
			to[i][k] *= v[k];
		return *has[i] = true;
	}
	return false;
}

static int take_format(struct header *h, const char *s, size_t len, struct tundish_error *e)
{
	td_trim(&s, &len);
	h->xyz = len == 15 && memcmp(s, "32-bit_rle_xyze", 15) == 0;
	if (h->xyz || (len == 15 && memcmp(s, "32-bit_rle_rgbe", 15) == 0))
		return 0;
	return td_err(e, TUNDISH_E_UNSUPPORTED, "Radiance format %s is not supported",
	    td_escape((char[TD_ESC_MAX]){ 0 }, TD_ESC_MAX, s, TD_MIN(len, (size_t)100)));
}

static int take_line(struct td_raster *r, struct header *h, const char *line, size_t len,
    struct tundish_error *e)
{
	/* lines with a blank before them are the history of other pictures */
	if (len == 0 || line[0] == ' ' || line[0] == '\t' || line[0] == '#')
		return 0;
	if (starts(line, len, "FORMAT="))
		return take_format(h, line + 7, len - 7, e);
	if (take_factors(h, line, len))
		return 0;
	static const char *const texts[] = { "VIEW", "SOFTWARE", "CAPDATE", "GMT" };
	static const char *const lists[] = { "PRIMARIES", "GAMMA" };
	const char *equals = memchr(line, '=', len);
	if (!equals)
		return 0;
	size_t word = (size_t)(equals - line), left = len - word - 1;
	const char *value = equals + 1;
	td_trim(&value, &left);
	for (size_t i = 0; i < TD_COUNT(texts); i++)
		if (word == strlen(texts[i]) && memcmp(line, texts[i], word) == 0)
			td_raster_put(r, texts[i], td_raster_text(value, left));
	double v[8];
	int n = parse_numbers(v, 8, value, left);
	for (size_t i = 0; n > 0 && i < TD_COUNT(lists); i++)
		if (word == strlen(lists[i]) && memcmp(line, lists[i], word) == 0) {
			json_t *list = td_raster_numbers(v, (size_t)n, false);
			if (list)
				td_raster_put(r, lists[i], list);
		}
	return 0;
}

/* "-Y 128 +X 128": scanlines first, then the pixels in one. */
static bool parse_resolution(struct radiance *p, const char *s, size_t len)
{
	char axis[2];
	bool minus[2];
	uint64_t n[2];
	for (int i = 0; i < 2; i++) {
		td_trim(&s, &len);
		if (len < 3 || (s[0] != '-' && s[0] != '+') || (s[1] != 'X' && s[1] != 'Y'))
			return false;
		minus[i] = s[0] == '-';
		axis[i] = s[1];
		s += 2;
		len -= 2;
		td_trim(&s, &len);
		size_t word = td_word(s, len);
		if (!td_parse_u64(&n[i], s, word) || n[i] == 0 || n[i] > TD_RASTER_AXIS_MOST)
			return false;
		s += word;
		len -= word;
	}
	td_trim(&s, &len);
	p->columns = axis[0] == 'X';
	/* Y counts from below */
	p->flip_scanlines = p->columns ? minus[0] : !minus[0];
	p->flip_pixels = p->columns ? !minus[1] : minus[1];
	p->scanlines = n[0];
	p->length = n[1];
	return len == 0 && axis[0] != axis[1];
}

static void put_header(struct td_raster *r, const struct header *h)
{
	td_raster_put(r, "channels", json_string(h->xyz ? "XYZ" : "RGB"));
	json_t *list;
	if (h->has_exposure && (list = json_real(h->exposure)))
		td_raster_put(r, "EXPOSURE", list);
	if (h->has_colour && (list = td_raster_numbers(h->colour, 3, false)))
		td_raster_put(r, "COLORCORR", list);
	if (h->has_aspect && (list = json_real(h->aspect)))
		td_raster_put(r, "PIXASPECT", list);
}

/* 1: all of it was read; 0: `len` bytes are not enough. */
static int parse_header(struct td_raster *r, struct radiance *p, const uint8_t *data, size_t len,
    struct tundish_error *e)
{
	struct header h = { .exposure = 1, .colour = { 1, 1, 1 }, .aspect = 1 };
	const char *line;
	size_t n, at = 0;
	do {
		if (!next_line(&line, &n, data, len, &at))
			return 0;
		int rc = take_line(r, &h, line, n, e);
		if (rc < 0)
			return rc;
	} while (n);
	if (!next_line(&line, &n, data, len, &at))
		return 0;
	if (!parse_resolution(p, line, n))
		return td_err(e, TUNDISH_E_CORRUPT, "no Radiance resolution line but \"%s\"",
		    td_escape((char[TD_ESC_MAX]){ 0 }, TD_ESC_MAX, line, TD_MIN(n, (size_t)60)));
	p->pixels_at = at;
	put_header(r, &h);
	return 1;
}

static int read_header(struct td_raster *r, struct radiance *p, struct tundish_error *e)
{
	struct td_buf head = { 0 };
	int rc = 0;
	for (size_t most = 4096; rc == 0; most *= 4) {
		size_t len = (size_t)TD_MIN((uint64_t)most, r->file.size);
		if (!td_buf_fit(&head, len))
			rc = td_err_memory(e);
		else
			rc = td_bytes_read(&r->file, head.data, len, 0, e);
		json_object_clear(r->metadata);
		if (rc == 0)
			rc = parse_header(r, p, head.data, len, e);
		if (rc == 0 && (len == r->file.size || most >= HEADER_MOST))
			rc = td_err(e, TUNDISH_E_TRUNCATED, "Radiance header does not end");
	}
	td_buf_free(&head);
	return rc < 0 ? rc : 0;
}

static int radiance_open(struct td_raster *r, struct tundish_error *e)
{
	struct radiance *p = calloc(1, sizeof *p);
	struct td_raster_region *g = td_raster_add_region(r);
	r->own = p;
	if (!p || !g)
		return td_err_memory(e);
	int rc = read_header(r, p, e);
	if (rc < 0)
		return rc;
	g->axes[0] = "rows";
	g->axes[1] = "columns";
	g->axes[2] = "channels";
	g->shape[0] = p->columns ? p->length : p->scanlines;
	g->shape[1] = p->columns ? p->scanlines : p->length;
	g->shape[2] = 3;
	r->info.dtype = TD_FLOAT32;
	/* no coding has a scanline in less than 4 bytes */
	uint64_t left = r->file.size - p->pixels_at;
	if (p->scanlines > left / 4 && !(r->flags & TD_RASTER_HEADER_ONLY))
		return td_err(e, TUNDISH_E_TRUNCATED,
		    "%" PRIu64 " x %" PRIu64 " pixels cannot be in %" PRIu64 " bytes",
		    g->shape[1], g->shape[0], left);
	return 0;
}

/* A cursor over the coded pixels. */
struct input {
	const struct td_bytes *file;
	uint64_t next; /* offset of what follows the buffer */
	uint8_t *buffer;
	size_t at, len;
};

/* Makes `bytes` (few) readable at in->buffer + in->at. */
static int need(struct input *in, size_t bytes, struct tundish_error *e)
{
	size_t left = in->len - in->at;
	if (left >= bytes)
		return 0;
	memmove(in->buffer, in->buffer + in->at, left);
	uint64_t more = TD_MIN(in->file->size - in->next, (uint64_t)(IN_BYTES - left));
	if (left + more < bytes)
		return td_err(e, TUNDISH_E_TRUNCATED, "Radiance pixels end early at byte %" PRIu64,
		    in->file->size);
	int rc = td_bytes_read(in->file, in->buffer + left, (size_t)more, in->next, e);
	if (rc < 0)
		return rc;
	in->next += more;
	in->at = 0;
	in->len = left + (size_t)more;
	return 0;
}

static uint64_t place(const struct input *in)
{
	return in->next - (in->len - in->at);
}

/* Where decoded pixels go: those of one scanline within [from, to). */
struct output {
	uint64_t from, to;
	float *first; /* the pixel at `from` */
	ptrdiff_t step; /* in floats */
	unsigned channel, channels;
};

/* 2^(e - 136), exact down to the smallest float. */
static float power(uint8_t e)
{
	uint32_t bits = e > 9 ? (uint32_t)(e - 9) << 23 : e > 0 ? 1u << (e + 13) : 0;
	float f;
	memcpy(&f, &bits, sizeof f);
	return f;
}

static void put_pixels(const struct output *o, uint64_t at, uint64_t n, const uint8_t rgbe[4])
{
	uint64_t from = TD_MAX(at, o->from), to = TD_MIN(at + n, o->to);
	float scale = power(rgbe[3]);
	for (uint64_t i = from; i < to; i++) {
		float *f = o->first + (ptrdiff_t)(i - o->from) * o->step;
		for (unsigned c = 0; c < o->channels; c++)
			f[c] = (float)rgbe[o->channel + c] * scale;
	}
}

/* Flat pixels, of which 1 1 1 n repeats the one before n times, and the next such
 * n * 256 times, and so on. */
static int old_scanline(struct input *in, uint64_t length, const struct output *o,
    struct tundish_error *e)
{
	uint8_t last[4] = { 0 };
	unsigned shift = 0;
	for (uint64_t at = 0; at < length;) {
		int rc = need(in, 4, e);
		if (rc < 0)
			return rc;
		const uint8_t *p = in->buffer + in->at;
		uint64_t n = 1;
		if (p[0] == 1 && p[1] == 1 && p[2] == 1) {
			if (at == 0 || shift > 24)
				return td_err(e, TUNDISH_E_CORRUPT,
				    "Radiance run at byte %" PRIu64 " repeats nothing", place(in));
			n = TD_MIN((uint64_t)p[3] << shift, length - at);
			shift += 8;
		} else {
			memcpy(last, p, 4);
			shift = 0;
		}
		put_pixels(o, at, n, last);
		at += n;
		in->at += 4;
	}
	return 0;
}

static int plane(struct input *in, uint8_t *to, size_t length, struct tundish_error *e)
{
	for (size_t at = 0; at < length;) {
		int rc = need(in, 2, e);
		if (rc < 0)
			return rc;
		unsigned code = in->buffer[in->at];
		size_t n = code > 128 ? code - 128u : code;
		if (n == 0 || n > length - at)
			return td_err(e, TUNDISH_E_CORRUPT,
			    "Radiance run of %zu at byte %" PRIu64 " in a scanline with %zu to go", n,
			    place(in), length - at);
		rc = code > 128 ? 0 : need(in, 1 + n, e);
		if (rc < 0)
			return rc;
		const uint8_t *p = in->buffer + in->at + 1;
		if (code > 128)
			memset(to + at, *p, n);
		else
			memcpy(to + at, p, n);
		in->at += code > 128 ? 2 : 1 + n;
		at += n;
	}
	return 0;
}

static int new_scanline(struct input *in, uint8_t *planes, size_t length, const struct output *o,
    struct tundish_error *e)
{
	const uint8_t *p = in->buffer + in->at;
	size_t said = (size_t)p[2] << 8 | p[3];
	if (said != length)
		return td_err(e, TUNDISH_E_CORRUPT,
		    "Radiance scanline at byte %" PRIu64 " has %zu pixels instead of %zu", place(in),
		    said, length);
	in->at += 4;
	for (int c = 0; c < 4; c++) {
		int rc = plane(in, planes + c * PLANE_MOST, length, e);
		if (rc < 0)
			return rc;
	}
	for (uint64_t i = o->from; i < o->to; i++) {
		uint8_t rgbe[4];
		for (int c = 0; c < 4; c++)
			rgbe[c] = planes[(size_t)c * PLANE_MOST + i];
		put_pixels(o, i, 1, rgbe);
	}
	return 0;
}

static int scanline(struct input *in, uint8_t *planes, uint64_t length, const struct output *o,
    struct tundish_error *e)
{
	int rc = need(in, 4, e);
	if (rc < 0)
		return rc;
	const uint8_t *p = in->buffer + in->at;
	if (length <= PLANE_MOST && p[0] == 2 && p[1] == 2 && p[2] < 128)
		return new_scanline(in, planes, (size_t)length, o, e);
	return old_scanline(in, length, o, e);
}

static int radiance_read(struct td_raster *r, const struct td_raster_part *part, void *out,
    struct td_buf *scratch, struct tundish_error *e)
{
	const struct radiance *p = r->own;
	if (!td_buf_fit(scratch, IN_BYTES + 4 * PLANE_MOST))
		return td_err_memory(e);
	struct input in = { .file = &r->file, .next = p->pixels_at, .buffer = scratch->data };
	/* the part in scanlines and pixels of the file, and steps in `out` along them */
	unsigned s = p->columns ? 1 : 0, x = !s;
	uint64_t first = p->flip_scanlines ? p->scanlines - part->start[s] - part->count[s] :
					     part->start[s];
	struct output o = { .channel = (unsigned)part->start[2],
		.channels = (unsigned)part->count[2] };
	o.from = p->flip_pixels ? p->length - part->start[x] - part->count[x] : part->start[x];
	o.to = o.from + part->count[x];
	ptrdiff_t steps[2] = { (ptrdiff_t)(part->count[1] * part->count[2]),
		(ptrdiff_t)part->count[2] };
	o.step = p->flip_pixels ? -steps[x] : steps[x];
	float *corner = (float *)out + (p->flip_pixels ? (ptrdiff_t)(part->count[x] - 1) * steps[x] : 0);
	struct output none = { 0 };
	for (uint64_t i = 0; i < first + part->count[s]; i++) {
		uint64_t row = i - first;
		if (p->flip_scanlines)
			row = part->count[s] - 1 - row;
		if (i >= first)
			o.first = corner + (ptrdiff_t)row * steps[s];
		int rc = scanline(&in, scratch->data + IN_BYTES, p->length, i < first ? &none : &o, e);
		if (rc < 0)
			return rc;
	}
	return 0;
}

static void radiance_close(struct td_raster *r)
{
	free(r->own);
}

const struct td_raster_ops td_radiance_ops = {
	.open = radiance_open,
	.read = radiance_read,
	.close = radiance_close,
};
