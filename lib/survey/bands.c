/* SPDX-License-Identifier: BSD-2-Clause
 * Exact statistics of the channels of arrays. */
#include "bands.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/json.h"
#include "base/outfile.h"
#include "record/sample.h"

static bool is_real(enum td_elem elem)
{
	return elem == TD_FLOAT16 || elem == TD_FLOAT32 || elem == TD_FLOAT64;
}

/* n more numbers in that range. */
static void widen(struct td_band *b, long double least, long double most, uint64_t n)
{
	if (n == 0)
		return;
	b->least = b->n == 0 || least < b->least ? least : b->least;
	b->most = b->n == 0 || most > b->most ? most : b->most;
	b->n += n;
}

static void add_real(struct td_band *b, double v)
{
	if (!isfinite(v)) {
		b->odd++;
		return;
	}
	int exponent;
	uint64_t value = td_exact_parts(v, &exponent);
	widen(b, v, v, 1);
	td_exact_add(&b->sum, v < 0, value, exponent);
	td_exact_add(&b->squares, false, (unsigned __int128)value * value, 2 * exponent);
}

static void add_long(struct td_band *b, enum td_elem elem, const uint8_t *at)
{
	uint64_t v;
	memcpy(&v, at, sizeof v);
	bool negative = elem == TD_INT64 && (int64_t)v < 0;
	uint64_t value = negative ? -v : v;
	long double real = negative ? -(long double)value : (long double)value;
	widen(b, real, real, 1);
	td_exact_add(&b->sum, negative, value, 0);
	td_exact_add(&b->squares, false, (unsigned __int128)value * value, 0);
}

/* Whole numbers of up to 32 bits. */
static void add_whole(struct td_band *b, const struct td_array *a, uint64_t pixels, unsigned channel, unsigned step)
{
	__int128 sum = 0;
	unsigned __int128 squares = 0;
	double least = INFINITY, most = -INFINITY;
	for (uint64_t i = 0; i < pixels; i++) {
		double v = td_elem_value(a->elem, a->data, i * step + channel);
		int64_t whole = (int64_t)v;
		uint64_t size = (uint64_t)(whole < 0 ? -whole : whole);
		sum += whole;
		squares += size * size;
		least = v < least ? v : least;
		most = v > most ? v : most;
	}
	widen(b, least, most, pixels);
	td_exact_add(&b->sum, sum < 0, (unsigned __int128)(sum < 0 ? -sum : sum), 0);
	td_exact_add(&b->squares, false, squares, 0);
}

static void add_channel(struct td_band *b, const struct td_array *a, uint64_t pixels, unsigned channel,
    unsigned step)
{
	bool is_long = a->elem == TD_INT64 || a->elem == TD_UINT64;
	if (!is_real(a->elem) && !is_long) {
		add_whole(b, a, pixels, channel, step);
		return;
	}
	for (uint64_t i = 0; i < pixels; i++) {
		if (is_long)
			add_long(b, a->elem, a->data + (i * step + channel) * sizeof(uint64_t));
		else
			add_real(b, td_elem_value(a->elem, a->data, i * step + channel));
	}
}

/* The first array says what all are. */
static int begin(struct td_bands *b, enum td_elem elem, uint64_t channels, struct tundish_error *e)
{
	if (td_elem_bytes(elem) != td_elem_number_bytes(elem))
		return td_err(e, TUNDISH_E_UNSUPPORTED, "no statistics of complex numbers");
	if (channels > TD_BANDS_MOST)
		return td_err(e, TUNDISH_E_LIMIT, "%" PRIu64 " channels are more than the %u that statistics are taken of",
		    channels, TD_BANDS_MOST);
	if (b->arrays && (b->elem != elem || b->n != channels))
		return td_err(e, TUNDISH_E_SCHEMA, "an array of %s with %" PRIu64 " channels behind others of %s with %u",
		    td_elem_name(elem), channels, td_elem_name(b->elem), b->n);
	if (!b->list && !(b->list = calloc(channels, sizeof *b->list)))
		return td_err_memory(e);
	b->elem = elem;
	b->n = (unsigned)channels;
	return 0;
}

static int add_array(struct td_bands *b, const struct td_array *a, struct tundish_error *e)
{
	uint64_t values = a->bytes / td_elem_bytes(a->elem), channels = a->n_axes == 3 ? a->shape[2] : 1;
	if (a->n_axes == 0 || values == 0)
		return td_err(e, TUNDISH_E_SCHEMA, "nothing tells the shape of its array");
	int rc = begin(b, a->elem, channels, e);
	if (rc < 0)
		return rc;
	for (unsigned c = 0; c < b->n; c++)
		add_channel(&b->list[c], a, values / channels, c, b->n);
	b->arrays++;
	b->pixels += values / channels;
	return 1;
}

/* Features of a record come in any order: the best of the usual names, then the least one. */
static bool comes_before(const struct tundish_feature *a, const struct tundish_feature *b, const char *asked)
{
	int rank_a = td_key_rank(a->key, a->key_bytes, asked, td_image_keys);
	int rank_b = td_key_rank(b->key, b->key_bytes, asked, td_image_keys);
	if (rank_a != rank_b)
		return (unsigned)rank_a < (unsigned)rank_b;
	int order = memcmp(a->key, b->key, TD_MIN(a->key_bytes, b->key_bytes));
	return order ? order < 0 : a->key_bytes < b->key_bytes;
}

int td_bands_record(struct td_bands *b, const struct tundish_record *r, const char *asked,
    const struct td_beside *beside, struct tundish_error *e)
{
	struct tundish_feature f, best = { 0 };
	struct td_array array, found = { 0 };
	enum td_elem elem;
	if (!td_array_elem(&elem, r))
		return 0;
	for (size_t at = 0; tundish_example_next(r->data, r->bytes, &at, &f) > 0;) {
		if (!td_array_take(&array, r, &f, elem, asked, beside) || (best.key && !comes_before(&f, &best, asked)))
			continue;
		best = f;
		found = array;
	}
	return best.key ? add_array(b, &found, e) : 0;
}

int td_bands_merge(struct td_bands *b, struct td_bands *part, struct tundish_error *e)
{
	if (part->arrays == 0)
		return 0;
	int rc = begin(b, part->elem, part->n, e);
	for (unsigned c = 0; c < b->n && rc == 0; c++) {
		struct td_band *to = &b->list[c], *more = &part->list[c];
		td_exact_merge(&to->sum, &more->sum);
		td_exact_merge(&to->squares, &more->squares);
		widen(to, more->least, more->most, more->n);
		to->odd += more->odd;
	}
	b->arrays += part->arrays;
	b->pixels += part->pixels;
	td_bands_free(part);
	return rc;
}

/* As they are, where a whole number has room. */
static json_t *number(const struct td_bands *b, long double v)
{
	return is_real(b->elem) || v > INT64_MAX ? td_json_real((double)v) : json_integer((json_int_t)v);
}

static void add_numbers(const struct td_bands *b, const struct td_band *band, struct td_json *j, json_t *const lists[5])
{
	double scale = b->elem == TD_UINT8 ? 255 : 1, mean = 0, std = 0;
	if (band->n)
		td_exact_spread(&band->sum, &band->squares, band->n, &mean, &std);
	td_json_add(j, lists[0], td_json_real(mean / scale));
	td_json_add(j, lists[1], td_json_real(std / scale));
	td_json_add(j, lists[2], number(b, band->least));
	td_json_add(j, lists[3], number(b, band->most));
	if (lists[4])
		td_json_add(j, lists[4], json_integer((json_int_t)band->odd));
}

int td_bands_write(const struct td_bands *b, const char *path, struct tundish_error *e)
{
	static const char *const keys[] = { "mean", "std", "min", "max", "not_finite" };
	struct td_json j = { 0 };
	json_t *o = json_object(), *lists[TD_COUNT(keys)];
	td_json_int(&j, o, "arrays", b->arrays);
	td_json_int(&j, o, "pixels", b->pixels);
	td_json_int(&j, o, "channels", b->n);
	td_json_string(&j, o, "dtype", td_elem_name(b->elem));
	td_json_int(&j, o, "scale", b->elem == TD_UINT8 ? 255 : 1);
	size_t n = is_real(b->elem) ? TD_COUNT(keys) : TD_COUNT(keys) - 1;
	lists[4] = NULL;
	for (size_t i = 0; i < n; i++)
		td_json_set(&j, o, keys[i], lists[i] = json_array());
	for (unsigned c = 0; c < b->n && !j.lost; c++)
		add_numbers(b, &b->list[c], &j, lists);
	struct td_buf out = { 0 };
	int rc = td_json_dump(&j, o, &out) && td_buf_printf(&out, "\n") ?
	    td_write_file(path, out.data, out.len, e) : td_err_memory(e);
	td_buf_free(&out);
	return rc;
}

void td_bands_free(struct td_bands *b)
{
	free(b->list);
	*b = (struct td_bands){ 0 };
}
