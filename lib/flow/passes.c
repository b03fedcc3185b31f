/* SPDX-License-Identifier: BSD-2-Clause
 * Operations that need a pass over pixels of their own. */
#include "passes.h"

#include <string.h>

#include "media/kernels.h"

static size_t value_bytes(const struct td_frame *f)
{
	return f->floats ? sizeof(float) : 1;
}

static void fill(struct td_frame *f, double value)
{
	size_t n = (size_t)f->width * f->height * 3;
	if (!f->floats) {
		uint8_t byte;
		const float v = (float)value;
		td_kernels()->to_u8(&byte, &v, 1);
		memset(f->buf.data, byte, n);
		return;
	}
	float *out = (float *)f->buf.data;
	for (size_t i = 0; i < n; i++)
		out[i] = (float)value;
}

void td_pass_pad(struct td_frame *to, const struct td_frame *from, uint32_t left, uint32_t top,
    double value)
{
	size_t pixel = 3 * value_bytes(from), row = from->width * pixel;
	fill(to, value);
	for (uint32_t y = 0; y < from->height; y++)
		memcpy(to->buf.data + ((size_t)(y + top) * to->width + left) * pixel,
		    from->buf.data + y * row, row);
}

void td_pass_rot90(struct td_frame *to, const struct td_frame *from)
{
	size_t pixel = 3 * value_bytes(from);
	for (uint32_t y = 0; y < to->height; y++) {
		const uint8_t *in = from->buf.data + (from->width - 1 - y) * pixel;
		uint8_t *out = to->buf.data + (size_t)y * to->width * pixel;
		for (uint32_t x = 0; x < to->width; x++)
			memcpy(out + x * pixel, in + (size_t)x * from->width * pixel, pixel);
	}
}

void td_pass_grayscale(struct td_frame *f)
{
	float *v = (float *)f->buf.data;
	for (size_t i = 0, n = (size_t)f->width * f->height; i < n; i++, v += 3) {
		float grey = v[0] * 0.2989f + v[1] * 0.587f + v[2] * 0.114f;
		v[0] = v[1] = v[2] = grey;
	}
}

void td_pass_clamp(struct td_frame *f, float low, float high)
{
	float *v = (float *)f->buf.data;
	for (size_t i = 0, n = (size_t)f->width * f->height * 3; i < n; i++) {
		float a = v[i] < low ? low : v[i];
		v[i] = a > high ? high : a;
	}
}
