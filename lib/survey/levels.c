/* SPDX-License-Identifier: BSD-2-Clause
 * How often each level of each channel occurs: exact means and deviations of pixels. */
#include "levels.h"

#include <math.h>
#include <string.h>

#include "base/err.h"
#include "base/json.h"
#include "base/outfile.h"

#define SCALE 255.0

void td_levels_add(struct td_levels *l, const struct td_pixels *pixels)
{
	l->images++;
	l->pixels += (uint64_t)pixels->width * pixels->height;
	for (uint32_t y = 0; y < pixels->height; y++) {
		const uint8_t *p = pixels->data + y * pixels->stride;
		for (uint32_t x = 0; x < pixels->width; x++, p += pixels->step) {
			l->n[0][p[0]]++;
			l->n[1][p[1]]++;
			l->n[2][p[2]]++;
		}
	}
}

void td_levels_merge(struct td_levels *l, struct td_levels *part)
{
	l->images += part->images;
	l->pixels += part->pixels;
	for (unsigned c = 0; c < 3; c++) {
		for (unsigned v = 0; v < 256; v++)
			l->n[c][v] += part->n[c][v];
	}
	memset(part, 0, sizeof *part);
}

void td_levels_stats(const struct td_levels *l, unsigned channel, struct td_level_stats *ret)
{
	unsigned __int128 sum = 0, squares = 0;
	uint64_t below = 0, pixels = l->pixels;
	*ret = (struct td_level_stats){ .least = 255 };
	for (unsigned v = 0; v < 256; v++) {
		uint64_t n = l->n[channel][v];
		sum += (unsigned __int128)n * v;
		squares += (unsigned __int128)n * v * v;
		if (n)
			ret->most = v;
		if (n && below == 0)
			ret->least = v;
		if (below <= (pixels - 1) / 2)
			ret->median = v;
		below += n;
	}
	if (pixels == 0) {
		*ret = (struct td_level_stats){ 0 };
		return;
	}
	/* n * squares - sum^2 is a whole number: nothing cancels in floating point */
	long double spread = (long double)(squares * pixels - sum * sum);
	ret->mean = (double)((long double)sum / (long double)pixels);
	ret->std = (double)(sqrtl(spread) / (long double)pixels);
}

int td_levels_write(const struct td_levels *l, const char *path, struct tundish_error *e)
{
	static const char *const keys[] = { "mean", "std", "min", "median", "max" };
	struct td_json j = { 0 };
	json_t *o = json_object(), *lists[TD_COUNT(keys)];
	td_json_int(&j, o, "images", l->images);
	td_json_int(&j, o, "pixels", l->pixels);
	td_json_int(&j, o, "channels", 3);
	td_json_set(&j, o, "scale", json_real(SCALE));
	for (size_t i = 0; i < TD_COUNT(keys); i++)
		td_json_set(&j, o, keys[i], lists[i] = json_array());
	for (unsigned c = 0; c < 3 && !j.lost; c++) {
		struct td_level_stats s;
		td_levels_stats(l, c, &s);
		const double values[] = { s.mean / SCALE, s.std / SCALE, s.least, s.median, s.most };
		for (size_t i = 0; i < TD_COUNT(keys); i++)
			td_json_add(&j, lists[i], i < 2 ? json_real(values[i]) :
							   json_integer((json_int_t)values[i]));
	}
	struct td_buf out = { 0 };
	int rc = td_json_dump(&j, o, &out) && td_buf_printf(&out, "\n") ?
	    td_write_file(path, out.data, out.len, e) : td_err_memory(e);
	td_buf_free(&out);
	return rc;
}
