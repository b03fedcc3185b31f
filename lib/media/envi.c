/* SPDX-License-Identifier: BSD-2-Clause
 * ENVI: what the header says about the array, and whether the data file can hold it. */
#include "envi.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/number.h"

#define HEADER_MOST (16u << 20)

static bool is_word(const struct td_envi_field *f, const char *word)
{
	return f->len == strlen(word) && strcasecmp(f->value, word) == 0;
}

static int missing(const char *key, struct tundish_error *e)
{
	return td_err(e, TUNDISH_E_CORRUPT, "ENVI header has no \"%s\"", key);
}

static int bad_value(const struct td_envi_field *f, const char *wanted, struct tundish_error *e)
{
	return td_err(e, TUNDISH_E_CORRUPT, "ENVI header: %s = %s, where %s is due", f->key,
	    td_escape((char[TD_ESC_MAX]){ 0 }, TD_ESC_MAX, f->value, TD_MIN(f->len, (size_t)60)),
	    wanted);
}

/* A whole number from `least` on; the default where there is no such field. */
static int number(uint64_t *ret, const struct td_envi_header *h, const char *key, uint64_t least,
    uint64_t most, struct tundish_error *e)
{
	const struct td_envi_field *f = td_envi_find(h, key);
	if (!f)
		return 0;
	uint64_t v;
	if (!td_parse_u64(&v, f->value, f->len) || v < least)
		return bad_value(f, least ? "a whole number above 0" : "a whole number", e);
	if (v > most)
		return td_err(e, TUNDISH_E_LIMIT, "ENVI header: %s = %" PRIu64 ", %" PRIu64
		    " is the most", key, v, most);
	*ret = v;
	return 0;
}

static int sizes(struct td_envi *v, const struct td_envi_header *h, struct tundish_error *e)
{
	static const char *const keys[] = { "samples", "lines", "bands" };
	uint64_t *const to[] = { &v->samples, &v->lines, &v->bands };
	for (size_t i = 0; i < TD_COUNT(keys); i++) {
		int rc = td_envi_find(h, keys[i]) ?
		    number(to[i], h, keys[i], 1, TD_RASTER_AXIS_MOST, e) :
		    missing(keys[i], e);
		if (rc < 0)
			return rc;
	}
	return 0;
}

static int data_type(enum td_elem *ret, const struct td_envi_header *h, struct tundish_error *e)
{
	static const uint8_t types[] = { [1] = 1 + TD_UINT8, [2] = 1 + TD_INT16, [3] = 1 + TD_INT32,
		[4] = 1 + TD_FLOAT32, [5] = 1 + TD_FLOAT64, [6] = 1 + TD_COMPLEX64,
		[9] = 1 + TD_COMPLEX128, [12] = 1 + TD_UINT16, [13] = 1 + TD_UINT32,
		[14] = 1 + TD_INT64, [15] = 1 + TD_UINT64 };
	uint64_t code = 0;
	if (!td_envi_find(h, "data type"))
		return missing("data type", e);
	int rc = number(&code, h, "data type", 0, UINT64_MAX, e);
	if (rc < 0)
		return rc;
	if (code >= TD_COUNT(types) || !types[code])
		return td_err(e, TUNDISH_E_UNSUPPORTED, "ENVI header: unknown data type %" PRIu64,
		    code);
	*ret = (enum td_elem)(types[code] - 1);
	return 0;
}

static int interleave(struct td_raster *r, const struct td_envi_header *h, struct tundish_error *e)
{
	struct td_envi *v = r->own;
	static const char *const words[] = { "bsq", "bil", "bip" };
	static const int forced[] = { TD_RASTER_BSQ, TD_RASTER_BIL, TD_RASTER_BIP };
	const struct td_envi_field *f = td_envi_find(h, "interleave");
	for (size_t i = 0; i < TD_COUNT(forced); i++)
		if (r->flags & forced[i]) {
			v->interleave = (enum td_envi_interleave)i;
			return 0;
		}
	if (!f)
		return missing("interleave", e);
	for (size_t i = 0; i < TD_COUNT(words); i++)
		if (is_word(f, words[i])) {
			v->interleave = (enum td_envi_interleave)i;
			return 0;
		}
	if (!(r->flags & TD_RASTER_HEADER_ONLY))
		return bad_value(f, "bsq, bil or bip", e);
	td_raster_notice(r, "no interleave that is known: give --interleave to read it");
	return 0;
}

static int file_type(struct td_envi *v, const struct td_envi_header *h, struct tundish_error *e)
{
	static const char *const without_pixels[] = { "ENVI Meta File", "ENVI Virtual Mosaic" };
	const struct td_envi_field *f = td_envi_find(h, "file type");
	if (!f)
		return 0;
	for (size_t i = 0; i < TD_COUNT(without_pixels); i++)
		if (is_word(f, without_pixels[i]))
			return td_err(e, TUNDISH_E_UNSUPPORTED, "an %s has no pixels of its own",
			    without_pixels[i]);
	v->library = is_word(f, "ENVI Spectral Library");
	return 0;
}

/* Bytes before and after each line. */
static int frame_offsets(uint64_t ret[2], const struct td_envi *v, const struct td_envi_header *h,
    struct tundish_error *e)
{
	static const char *const keys[] = { "major frame offsets", "minor frame offsets" };
	ret[0] = ret[1] = 0;
	for (size_t i = 0; i < TD_COUNT(keys); i++) {
		const struct td_envi_field *f = td_envi_find(h, keys[i]);
		const char *s;
		size_t at = 0, len, n = 0;
		while (f && td_envi_item(f, &at, &s, &len)) {
			uint64_t bytes;
			if (n == 2 || !td_parse_u64(&bytes, s, len) || bytes > INT32_MAX)
				return bad_value(f, "two numbers of bytes", e);
			if (bytes && (i > 0 || (v->interleave == TD_ENVI_BSQ && v->bands > 1)))
				return td_err(e, TUNDISH_E_UNSUPPORTED,
				    "ENVI %s are not supported for this interleave", keys[i]);
			if (i == 0)
				ret[n] = bytes;
			n++;
		}
	}
	return 0;
}

/* Where each number is, and how long the data file must be. */
static int geometry(struct td_envi *v, const struct td_envi_header *h, size_t z,
    struct tundish_error *e)
{
	uint64_t offset = 0, extra[2], plane, all;
	int rc = number(&offset, h, "header offset", 0, INT64_MAX, e);
	if (rc == 0)
		rc = frame_offsets(extra, v, h, e);
	if (rc < 0)
		return rc;
	if (v->library) {
		if (v->bands != 1)
			return td_err(e, TUNDISH_E_CORRUPT, "a spectral library of %" PRIu64 " bands",
			    v->bands);
		v->bands = v->samples;
		v->samples = 1;
		v->interleave = TD_ENVI_BIP;
	}
	/* two sizes below 2^31 and an item of at most 16 bytes fit */
	if (td_mul_overflow(v->lines * v->samples, z, &plane) ||
	    td_mul_overflow(plane, v->bands, &all) ||
	    td_add_overflow(all, v->lines * (extra[0] + extra[1]), &all) ||
	    td_add_overflow(all, offset, &all) || all > INT64_MAX)
		return td_err(e, TUNDISH_E_LIMIT,
		    "ENVI header: %" PRIu64 " lines, %" PRIu64 " samples, %" PRIu64
		    " bands are more than any file holds", v->lines, v->samples, v->bands);
	bool bip = v->interleave == TD_ENVI_BIP;
	v->sample = bip ? v->bands * z : z;
	v->band = v->interleave == TD_ENVI_BSQ ? plane : bip ? z : v->samples * z;
	v->line = v->samples * z * (v->interleave == TD_ENVI_BSQ ? 1 : v->bands);
	v->line += extra[0] + extra[1];
	v->start = offset + extra[0];
	v->bytes = all - extra[1];
	return 0;
}

/* A list of one number for each band, to be freed; NULL when there is none or it is of
 * another length, which is noticed. */
static double *per_band(struct td_raster *r, const struct td_envi_header *h, const char *key)
{
	const struct td_envi *v = r->own;
	const struct td_envi_field *f = td_envi_find(h, key);
	const char *s;
	size_t at = 0, len, n = 0;
	if (!f)
		return NULL;
	double *list = malloc(TD_MIN((uint64_t)f->len + 1, v->bands) * sizeof *list), one;
	bool fine = list;
	while (fine && td_envi_item(f, &at, &s, &len)) {
		if (len == 0)
			continue;
		fine = n < v->bands && td_parse_double(&one, s, len);
		if (fine)
			list[n++] = one;
	}
	r->lost |= !list;
	if (fine && n == v->bands)
		return list;
	if (list)
		td_raster_notice(r, "\"%s\" is left out: not %" PRIu64 " numbers, one for each band",
		    key, v->bands);
	free(list);
	return NULL;
}

static void put_numbers(struct td_raster *r, const char *key, const double *list, size_t n,
    bool whole)
{
	json_t *numbers = td_raster_numbers(list, n, whole);
	if (numbers)
		td_raster_put(r, key, numbers);
}

static void bands(struct td_raster *r, const struct td_envi_header *h)
{
	struct td_envi *v = r->own;
	size_t n = (size_t)v->bands;
	const char *key = td_envi_find(h, "wavelength") ? "wavelength" : "wavelengths";
	v->axis = per_band(r, h, key);
	if (v->axis)
		put_numbers(r, "wavelength", v->axis, n, false);
	const struct td_envi_field *unit = td_envi_find(h, "wavelength units");
	if (unit && unit->len < sizeof v->unit && !memchr(unit->value, '\0', unit->len)) {
		memcpy(v->unit, unit->value, unit->len);
		r->info.axis_unit = v->unit;
	}
	double *fwhm = per_band(r, h, "fwhm"), *bbl = per_band(r, h, "bbl");
	if (fwhm)
		put_numbers(r, "fwhm", fwhm, n, false);
	if (bbl) {
		put_numbers(r, "bbl", bbl, n, true);
		v->bad = malloc(n);
		r->lost |= !v->bad;
		for (size_t i = 0; v->bad && i < n; i++)
			v->bad[i] = bbl[i] == 0;
		r->info.bad_bands = v->bad;
	}
	free(fwhm);
	free(bbl);
}

/* Gains and offsets: of the data, or where there are none of those, to reflectance. */
static void scale(struct td_raster *r, const struct td_envi_header *h)
{
	static const char *const keys[2][2] = { { "data gain values", "data offset values" },
		{ "data reflectance gain values", "data reflectance offset values" } };
	const struct td_envi *v = r->own;
	for (int i = 0; i < 2; i++) {
		double *gain = per_band(r, h, keys[i][0]), *offset = per_band(r, h, keys[i][1]);
		if (gain)
			put_numbers(r, keys[i][0], gain, (size_t)v->bands, false);
		if (offset)
			put_numbers(r, keys[i][1], offset, (size_t)v->bands, false);
		if (!r->gain && !r->offset) {
			r->gain = gain;
			r->offset = offset;
		} else {
			free(gain);
			free(offset);
		}
	}
	const struct td_envi_field *f = td_envi_find(h, "reflectance scale factor");
	double factor;
	if (f && td_parse_double(&factor, f->value, f->len) && isfinite(factor) && factor != 0)
		r->factor = factor;
	else if (f)
		td_raster_notice(r, "reflectance scale factor is no number: it is left out");
	f = td_envi_find(h, "data ignore value");
	r->info.has_ignore = f && td_parse_double(&r->info.ignore, f->value, f->len);
	if (f && !r->info.has_ignore)
		td_raster_notice(r, "data ignore value is no number: it is left out");
	/* as the pixels have it: -3.4028235e38 is the lowest float32, and no double */
	if (r->info.dtype == TD_FLOAT32 || r->info.dtype == TD_COMPLEX64)
		r->info.ignore = (double)(float)r->info.ignore;
	r->info.has_scale = r->gain || r->offset || r->factor != 0;
}

static json_t *texts(const struct td_envi_field *f)
{
	json_t *list = json_array();
	const char *s;
	size_t at = 0, len;
	while (td_envi_item(f, &at, &s, &len))
		if (json_array_append_new(list, td_raster_text(s, len)) != 0) {
			json_decref(list);
			return NULL;
		}
	return list;
}

static json_t *numbers_of(const struct td_envi_field *f)
{
	json_t *list = json_array();
	const char *s;
	size_t at = 0, len;
	double v;
	while (list && td_envi_item(f, &at, &s, &len)) {
		json_t *one = len && td_parse_double(&v, s, len) ? td_raster_numbers(&v, 1, true) : NULL;
		if (!one || json_array_extend(list, one) != 0) {
			json_decref(list);
			list = NULL;
		}
		json_decref(one);
	}
	return list;
}

/* All fields that are not there yet, under the header's own keys. */
static void metadata(struct td_raster *r, const struct td_envi_header *h)
{
	static const char *const lists[] = { "band names", "class names", "spectra names" };
	static const char *const numbers[] = { "samples", "lines", "bands", "header offset",
		"data type", "byte order", "classes", "class lookup", "default bands",
		"reflectance scale factor", "data ignore value", "file compression" };
	static const char *const per_band_keys[] = { "wavelength", "wavelengths", "fwhm", "bbl",
		"data gain values", "data offset values", "data reflectance gain values",
		"data reflectance offset values" };
	for (size_t i = 0; i < h->n; i++) {
		const struct td_envi_field *f = &h->fields[i];
		bool list = false, number = false, done = false;
		for (size_t k = 0; k < TD_COUNT(lists); k++)
			list |= strcmp(f->key, lists[k]) == 0;
		for (size_t k = 0; k < TD_COUNT(numbers); k++)
			number |= strcmp(f->key, numbers[k]) == 0;
		for (size_t k = 0; k < TD_COUNT(per_band_keys); k++)
			done |= strcmp(f->key, per_band_keys[k]) == 0;
		if (done)
			continue;
		json_t *value = list ? texts(f) : number ? numbers_of(f) : NULL;
		if (value && number && !f->braces && json_array_size(value) == 1) {
			json_t *one = json_incref(json_array_get(value, 0));
			json_decref(value);
			value = one;
		}
		json_t *key = td_raster_text(f->key, strlen(f->key));
		if (key)
			td_raster_put(r, json_string_value(key),
			    value ? value : td_raster_text(f->value, f->len));
		json_decref(key);
	}
}

/* A data file that is too short cannot be read, a longer one is common. */
static int check_data(struct td_raster *r, struct tundish_error *e)
{
	const struct td_envi *v = r->own;
	if (v->gzip || r->pixels.size == v->bytes)
		return 0;
	if (r->pixels.size > v->bytes) {
		td_raster_notice(r, "the data file has %" PRIu64 " bytes behind the array",
		    r->pixels.size - v->bytes);
		return 0;
	}
	return td_err(e, TUNDISH_E_TRUNCATED,
	    "data file of %" PRIu64 " bytes, where the ENVI header asks for %" PRIu64,
	    r->pixels.size, v->bytes);
}

static int find_and_check(struct td_raster *r, struct tundish_error *e)
{
	struct tundish_error why = { 0 };
	int rc = r->given ? td_bytes_open(&r->pixels, r->given, &why) : r->path ? td_envi_find_data(r, &why) : 0;
	if (rc == 0)
		rc = check_data(r, &why);
	if (rc == 0 || rc == TUNDISH_E_MEMORY || !(r->flags & TD_RASTER_HEADER_ONLY))
		return rc == 0 ? 0 : td_err(e, rc, "%s", why.text);
	td_raster_notice(r, "%s", why.text);
	return 0;
}

static int take_header(struct td_raster *r, const struct td_envi_header *h, struct tundish_error *e)
{
	struct td_envi *v = r->own;
	uint64_t order = 0, gzip = 0;
	int rc = sizes(v, h, e);
	if (rc == 0)
		rc = data_type(&r->info.dtype, h, e);
	if (rc == 0)
		rc = interleave(r, h, e);
	if (rc == 0)
		rc = file_type(v, h, e);
	if (rc == 0)
		rc = number(&order, h, "byte order", 0, 1, e);
	if (rc == 0)
		rc = number(&gzip, h, "file compression", 0, UINT64_MAX, e);
	if (rc == 0)
		rc = geometry(v, h, td_elem_bytes(r->info.dtype), e);
	r->data_bytes = gzip ? 0 : v->bytes;
	v->swap = order == 1 && td_elem_number_bytes(r->info.dtype) > 1;
	v->gzip = gzip != 0;
	return rc;
}

static int add_region(struct td_raster *r, struct tundish_error *e)
{
	const struct td_envi *v = r->own;
	struct td_raster_region *g = td_raster_add_region(r);
	if (!g)
		return td_err_memory(e);
	static const char *const cube[] = { "lines", "samples", "bands" };
	static const char *const library[] = { "spectra", "channels" };
	uint64_t shape[] = { v->lines, v->samples, v->bands };
	g->n_axes = v->library ? 2 : 3;
	for (unsigned i = 0; i < g->n_axes; i++) {
		g->axes[i] = v->library ? library[i] : cube[i];
		g->shape[i] = shape[v->library && i == 1 ? 2 : i];
	}
	return 0;
}

static int envi_open(struct td_raster *r, struct tundish_error *e)
{
	struct td_envi *v = calloc(1, sizeof *v);
	struct td_envi_header h = { 0 };
	struct td_buf text = { 0 };
	if (!v)
		return td_err_memory(e);
	pthread_mutex_init(&v->lock, NULL);
	r->own = v;
	if (r->file.size > HEADER_MOST)
		return td_err(e, TUNDISH_E_LIMIT, "an ENVI header of %" PRIu64 " bytes", r->file.size);
	size_t len = (size_t)r->file.size;
	int rc = td_buf_fit(&text, len) ? td_bytes_read(&r->file, text.data, len, 0, e) :
					  td_err_memory(e);
	if (rc == 0)
		rc = td_envi_parse(&h, text.data, len, e);
	td_buf_free(&text);
	if (rc == 0)
		rc = take_header(r, &h, e);
	if (rc == 0) {
		bands(r, &h);
		scale(r, &h);
		metadata(r, &h);
		rc = add_region(r, e);
	}
	td_envi_header_free(&h);
	return rc == 0 ? find_and_check(r, e) : rc;
}

static void envi_close(struct td_raster *r)
{
	struct td_envi *v = r->own;
	pthread_mutex_destroy(&v->lock);
	free(v->bad);
	free(v->axis);
	free(v);
}

static int envi_axis(double *ret, const struct td_raster *r, unsigned region, int first_pixel)
{
	(void)region;
	(void)first_pixel;
	const struct td_envi *v = r->own;
	if (!v->axis)
		return 0;
	memcpy(ret, v->axis, (size_t)v->bands * sizeof *ret);
	return 1;
}

const struct td_raster_ops td_envi_ops = {
	.open = envi_open,
	.read = td_envi_read,
	.close = envi_close,
	.axis = envi_axis,
};
