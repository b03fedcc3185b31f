/* SPDX-License-Identifier: BSD-2-Clause
 * Operations that need a pass over pixels of their own. */
#include "passes.h"

#include <string.h>

static size_t pixel_bytes(const struct td_frame *f)
{
	return f->channels * td_elem_bytes(f->elem);
}

static size_t values_of(const struct td_frame *f)
{
	return (size_t)f->width * f->height * f->channels;
}

void td_pass_fill(struct td_frame *f, struct td_window w, double value)
{
	size_t bytes = td_elem_bytes(f->elem), n = (size_t)w.width * f->channels;
	uint8_t element[16];
	td_elem_put(f->elem, element, value);
	for (uint32_t y = w.y; y < w.y + w.height; y++) {
		uint8_t *out = f->buf.data + ((size_t)y * f->width + w.x) * pixel_bytes(f);
		if (bytes == 1)
			memset(out, element[0], n);
		else
			for (size_t i = 0; i < n; i++)
				memcpy(out + i * bytes, element, bytes);
	}
}

void td_pass_pad(struct td_frame *to, const struct td_frame *from, uint32_t left, uint32_t top,
    double value)
{
	size_t pixel = pixel_bytes(from), row = from->width * pixel;
	td_pass_fill(to, (struct td_window){ 0, 0, to->width, to->height }, value);
	for (uint32_t y = 0; y < from->height; y++)
		memcpy(to->buf.data + ((size_t)(y + top) * to->width + left) * pixel,
		    from->buf.data + y * row, row);
}

void td_pass_rot90(struct td_frame *to, const struct td_frame *from)
{
	size_t pixel = pixel_bytes(from);
	for (uint32_t y = 0; y < to->height; y++) {
		const uint8_t *in = from->buf.data + (from->width - 1 - y) * pixel;
		uint8_t *out = to->buf.data + (size_t)y * to->width * pixel;
		for (uint32_t x = 0; x < to->width; x++)
			memcpy(out + x * pixel, in + (size_t)x * from->width * pixel, pixel);
	}
}

void td_pass_bands(struct td_frame *to, const struct td_frame *from, const uint32_t *bands)
{
	size_t bytes = td_elem_bytes(from->elem), pixel = pixel_bytes(from);
	const uint8_t *in = from->buf.data;
	uint8_t *out = to->buf.data;
	for (size_t i = (size_t)from->width * from->height; i > 0; i--, in += pixel)
		for (uint32_t c = 0; c < to->channels; c++, out += bytes)
			memcpy(out, in + bands[c] * bytes, bytes);
}

static float grey_of(const float *v)
{
	return v[0] * 0.2989f + v[1] * 0.587f + v[2] * 0.114f;
}

void td_pass_grayscale(struct td_frame *f)
{
	float *v = (float *)f->buf.data;
	for (size_t i = 0, n = (size_t)f->width * f->height; i < n; i++, v += 3) {
		v[0] = v[1] = v[2] = grey_of(v);
	}
}

void td_pass_clamp(struct td_frame *f, float low, float high)
{
	float *v = (float *)f->buf.data;
	for (size_t i = 0, n = values_of(f); i < n; i++) {
		float a = v[i] < low ? low : v[i];
		v[i] = a > high ? high : a;
	}
}

/* ---- colours ---- */

static float clamp255(float v)
{
	v = v < 0 ? 0 : v;
	return v > 255 ? 255 : v;
}

/* v moved away from `from` by the factor. */
static float blend(float v, float from, float factor)
{
	return clamp255(v * factor + from * (1 - factor));
}

void td_pass_saturation(struct td_frame *f, float factor)
{
	float *v = (float *)f->buf.data;
	for (size_t i = 0, n = (size_t)f->width * f->height; i < n; i++, v += 3) {
		float grey = grey_of(v);
		for (int c = 0; c < 3; c++)
			v[c] = blend(v[c], grey, factor);
	}
}

void td_pass_brightness(struct td_frame *f, float factor)
{
	float *v = (float *)f->buf.data;
	for (size_t i = 0, n = values_of(f); i < n; i++)
		v[i] = blend(v[i], 0, factor);
}

void td_pass_contrast(struct td_frame *f, float factor)
{
	float *v = (float *)f->buf.data;
	size_t n = (size_t)f->width * f->height;
	double sum = 0;
	for (size_t i = 0; i < n; i++)
		sum += (double)grey_of(v + 3 * i);
	float mean = (float)(sum / (double)n);
	for (size_t i = 0; i < 3 * n; i++)
		v[i] = blend(v[i], mean, factor);
}

/* Hue, 0 .. 6, of a colour whose largest value is `high` and smallest `low`. */
static float hue_of(const float *v, float high, float low)
{
	float d = high - low;
	if (d <= 0)
		return 0;
	float h = high == v[0] ? (v[1] - v[2]) / d :
	    high == v[1] ? 2 + (v[2] - v[0]) / d : 4 + (v[0] - v[1]) / d;
	return h < 0 ? h + 6 : h;
}

static void turn_hue(float *v, float turn)
{
	float high = TD_MAX(v[0], TD_MAX(v[1], v[2])), low = TD_MIN(v[0], TD_MIN(v[1], v[2]));
	float h = hue_of(v, high, low) + turn;
	h -= h >= 6 ? 6 : 0;
	h += h < 0 ? 6 : 0;
	int sector = (int)h % 6;
	float part = h - (float)(int)h, d = high - low;
	float up = low + d * part, down = high - d * part;
	const float rgb[6][3] = { { high, up, low }, { down, high, low }, { low, high, up },
		{ low, down, high }, { up, low, high }, { high, low, down } };
	memcpy(v, rgb[sector], sizeof rgb[sector]);
}

void td_pass_hue(struct td_frame *f, float turn)
{
	float *v = (float *)f->buf.data;
	for (size_t i = 0, n = (size_t)f->width * f->height; i < n; i++, v += 3)
		turn_hue(v, turn * 6);
}

/* ---- neighbourhoods ---- */

/* Adds a pixel's share, or that of what lies outside. */
static void add_share(float *sum, const struct td_frame *from, int64_t x, int64_t y, float share,
    float value)
{
	bool inside = x >= 0 && y >= 0 && x < from->width && y < from->height;
	const float *p = inside ?
	    (const float *)from->buf.data + ((size_t)y * from->width + (size_t)x) * from->channels : NULL;
	for (uint32_t c = 0; c < from->channels; c++)
		sum[c] += share * (p ? p[c] : value);
}

void td_pass_rotate(struct td_frame *to, const struct td_frame *from, double sine, double cosine,
    float value)
{
	double mx = from->width / 2.0, my = from->height / 2.0;
	float *out = (float *)to->buf.data;
	for (uint32_t y = 0; y < to->height; y++) {
		for (uint32_t x = 0; x < to->width; x++, out += to->channels) {
			double dx = x + 0.5 - mx, dy = y + 0.5 - my;
			double sx = cosine * dx - sine * dy + mx - 0.5;
			double sy = sine * dx + cosine * dy + my - 0.5;
			double fx = __builtin_floor(sx), fy = __builtin_floor(sy);
			float ax = (float)(sx - fx), ay = (float)(sy - fy);
			int64_t ix = (int64_t)fx, iy = (int64_t)fy;
			memset(out, 0, to->channels * sizeof *out);
			add_share(out, from, ix, iy, (1 - ax) * (1 - ay), value);
			add_share(out, from, ix + 1, iy, ax * (1 - ay), value);
			add_share(out, from, ix, iy + 1, (1 - ax) * ay, value);
			add_share(out, from, ix + 1, iy + 1, ax * ay, value);
		}
	}
}

/* Mirrored into 0 .. n - 1, the border pixel not repeated. */
static uint32_t reflect(int64_t i, int64_t n)
{
	while (n > 1 && (i < 0 || i >= n))
		i = i < 0 ? -i : 2 * (n - 1) - i;
	return n > 1 ? (uint32_t)i : 0;
}

void td_pass_filter(struct td_frame *to, const struct td_frame *from, const float *weights,
    unsigned n)
{
	size_t channels = from->channels;
	for (uint32_t y = 0; y < from->height; y++) {
		const float *row = (const float *)from->buf.data + (size_t)y * from->width * channels;
		for (uint32_t x = 0; x < from->width; x++) {
			float *sum = (float *)to->buf.data + ((size_t)x * to->width + y) * channels;
			memset(sum, 0, channels * sizeof *sum);
			for (unsigned k = 0; k < n; k++) {
				const float *p = row +
				    channels * reflect((int64_t)x + k - n / 2, from->width);
				for (size_t c = 0; c < channels; c++)
					sum[c] += p[c] * weights[k];
			}
		}
	}
}
