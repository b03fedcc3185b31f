/* SPDX-License-Identifier: BSD-2-Clause
 * Resizing by rows, then columns, straight into the batch. */
#include "resize.h"

#include <string.h>

#include "base/err.h"
#include "kernels.h"

/* Which source samples make each output sample along one side. For bilinear `lerp` is
 * set, for the other rules `taps`. */
struct axis {
	struct td_lerp *lerp;
	struct td_taps *taps;
};

/* Of a side, in samples: all of it, but for pictures that libjpeg made smaller. */
struct part {
	double start, span;
};

struct job {
	const struct td_pixels *src;
	const struct td_store *store;
	const struct td_kernels *kernels;
	struct axis x, y;
	float *row;	/* a source row, or a blend of some */
	float *out_row; /* interleaved floats, where they do not go straight to the batch */
	float scale[3], bias[3]; /* of three channels */
};

void td_scratch_free(struct td_scratch *s)
{
	td_buf_free(&s->rows);
	td_buf_free(&s->weights);
	td_buf_free(&s->floats);
}

/* Pixel centres lie at halves; outside the picture its border goes on. */
static void plan_bilinear(
    struct td_lerp *lerp, uint32_t in, struct part part, uint32_t out, unsigned step)
{
	double scale = part.span / out;
	for (uint32_t i = 0; i < out; i++) {
		double at = part.start + (i + 0.5) * scale - 0.5;
		at = at < 0 ? 0 : at;
		uint32_t a = (uint32_t)at, b;
		a = TD_MIN(a, in - 1);
		b = TD_MIN(a + 1, in - 1);
		lerp[i] = (struct td_lerp){ a * step, b * step, (float)(at - a) };
	}
}

/* What part of source sample i the output sample [start, end) covers. */
static double cover(uint32_t i, double start, double end)
{
	double from = i > start ? i : start, to = i + 1.0 < end ? i + 1.0 : end;
	return to > from ? to - from : 0;
}

/* A triangle around `centre`, as wide as two output samples. */
static double triangle(uint32_t i, double centre, double width)
{
	double d = (i + 0.5 - centre) / width;
	d = d < 0 ? -d : d;
	return d < 1 ? 1 - d : 0;
}

static void plan_taps(struct td_taps *taps, float *weights, size_t most, uint32_t in,
    struct part part, uint32_t out, enum td_resize_rule rule, unsigned step)
{
	double scale = part.span / out, width = scale > 1 ? scale : 1;
	for (uint32_t i = 0; i < out; i++, weights += most) {
		double centre = part.start + (i + 0.5) * scale, sum = 0, w[2] = { 0 };
		double reach = rule == TD_RESIZE_AREA ? scale / 2 : width;
		double start = centre - reach, end = centre + reach;
		uint32_t first = start > 0 ? TD_MIN((uint32_t)start, in - 1) : 0, n = 0;
		for (uint32_t k = first; k < in && k < end && n < most; k++, n++) {
			w[0] = rule == TD_RESIZE_AREA ? cover(k, start, end)
						      : triangle(k, centre, width);
			weights[n] = (float)w[0];
			sum += w[0];
		}
		for (uint32_t k = 0; k < n; k++)
			weights[k] = (float)(weights[k] / sum);
		taps[i] = (struct td_taps){ first * step, n, weights };
	}
}

/* Bytes for one axis; 0 when they cannot be counted. */
static size_t axis_bytes(uint32_t in, uint32_t out, enum td_resize_rule rule, size_t *ret_most)
{
	*ret_most = 2 * (size_t)(in / out + 1) + 3;
	size_t each = rule == TD_RESIZE_BILINEAR
			  ? sizeof(struct td_lerp)
			  : sizeof(struct td_taps) + *ret_most * sizeof(float);
	size_t bytes;
	return td_mul_overflow(each, out, &bytes) ? 0 : (bytes + 15) & ~(size_t)15;
}

static void plan_axis(struct axis *a, void *at, uint32_t in, struct part part, uint32_t out,
    enum td_resize_rule rule, size_t most, unsigned step)
{
	*a = (struct axis){ 0 };
	if (rule == TD_RESIZE_BILINEAR) {
		a->lerp = at;
		plan_bilinear(a->lerp, in, part, out, step);
	} else {
		a->taps = at;
		plan_taps(a->taps, (float *)(a->taps + out), most, in, part, out, rule, step);
	}
}

static bool same_size(const struct td_pixels *src, const struct td_store *to)
{
	return to->width == src->width && to->height == src->height && src->across == 0;
}

static int plan(struct job *j, struct td_scratch *s, struct tundish_error *e)
{
	const struct td_store *to = j->store;
	const struct td_pixels *src = j->src;
	enum td_resize_rule rule = same_size(src, to) ? TD_RESIZE_BILINEAR : to->rule;
	struct part x = { 0, src->width }, y = { 0, src->height };
	if (src->across > 0) {
		x = (struct part){ src->left, src->across };
		y = (struct part){ src->top, src->down };
	}
	size_t most_x, most_y;
	size_t bytes_x = axis_bytes(src->width, to->width, rule, &most_x);
	size_t bytes_y = axis_bytes(src->height, to->height, rule, &most_y), both;
	if (!bytes_x || !bytes_y || td_add_overflow(bytes_x, bytes_y, &both) ||
	    !td_buf_fit(&s->weights, both) ||
	    !td_buf_fit(&s->rows, ((size_t)src->width * src->step + 4) * sizeof(float)) ||
	    !td_buf_fit(&s->floats, ((size_t)to->width * src->channels * 2 + 4) * sizeof(float)))
		return td_err_memory(e);
	plan_axis(&j->x, s->weights.data, src->width, x, to->width, rule, most_x, src->step);
	plan_axis(&j->y, s->weights.data + bytes_x, src->height, y, to->height, rule, most_y, 1);
	j->row = (float *)s->rows.data;
	j->out_row = (float *)s->floats.data;
	for (int c = 0; c < 3 && src->channels == 3; c++) {
		j->scale[c] = to->scale ? to->scale[c] : 1;
		j->bias[c] = to->scale ? to->bias[c] : 0;
	}
	return 0;
}

static void blend_floats(float *to, const float *a, const float *b, float t, size_t n)
{
	for (size_t i = 0; i < n; i++)
		to[i] = a[i] + (b[i] - a[i]) * t;
}

static void weigh_floats(float *to, const float *row, float w, size_t n, bool more)
{
	for (size_t i = 0; i < n; i++)
		to[i] = more ? to[i] + w * row[i] : w * row[i];
}

/* The same as blend_rows() for a source of floats: pictures that were worked on before. */
static void blend_float_rows(struct job *j, uint32_t y)
{
	const struct td_pixels *src = j->src;
	size_t n = (size_t)src->width * src->step, stride = src->stride / sizeof(float);
	const float *rows = (const float *)(const void *)src->data;
	if (j->y.lerp) {
		const struct td_lerp *l = &j->y.lerp[y];
		blend_floats(j->row, rows + l->a * stride, rows + l->b * stride, l->t, n);
		return;
	}
	const struct td_taps *t = &j->y.taps[y];
	for (uint32_t k = 0; k < t->count; k++)
		weigh_floats(j->row, rows + (t->first + k) * stride, t->weights[k], n, k > 0);
}

static void blend_rows(struct job *j, uint32_t y)
{
	const struct td_pixels *src = j->src;
	size_t n = (size_t)src->width * src->step;
	if (src->elem == TD_FLOAT32) {
		blend_float_rows(j, y);
		return;
	}
	if (j->y.lerp) {
		const struct td_lerp *l = &j->y.lerp[y];
		j->kernels->blend(j->row, src->data + l->a * src->stride,
		    src->data + l->b * src->stride, l->t, n);
		return;
	}
	const struct td_taps *t = &j->y.taps[y];
	for (uint32_t k = 0; k < t->count; k++)
		j->kernels->weigh(
		    j->row, src->data + (t->first + k) * src->stride, t->weights[k], n, k > 0);
}

/* The same for any number of channels. */
static void lerp_any(const struct job *j, float *to)
{
	size_t channels = j->src->channels;
	for (uint32_t x = 0; x < j->store->width; x++, to += channels) {
		const struct td_lerp *t = &j->x.lerp[x];
		blend_floats(to, j->row + t->a, j->row + t->b, t->t, channels);
	}
}

static void sum_any(const struct job *j, float *to)
{
	size_t channels = j->src->channels;
	for (uint32_t x = 0; x < j->store->width; x++, to += channels) {
		const struct td_taps *t = &j->x.taps[x];
		for (uint32_t k = 0; k < t->count; k++)
			weigh_floats(to, j->row + t->first + k * channels, t->weights[k], channels, k > 0);
	}
}

static void scale_any(const struct job *j, float *to)
{
	const struct td_store *s = j->store;
	size_t channels = j->src->channels;
	for (uint32_t x = 0; x < s->width; x++, to += channels)
		for (size_t c = 0; c < channels; c++)
			to[c] = to[c] * s->scale[c] + s->bias[c];
}

static void blend_any(const struct job *j, float *to)
{
	if (j->x.lerp)
		lerp_any(j, to);
	else
		sum_any(j, to);
	if (j->store->scale)
		scale_any(j, to);
}

static void blend_columns(struct job *j, float *to)
{
	if (j->src->channels != 3)
		blend_any(j, to);
	else if (j->x.lerp)
		j->kernels->lerp(to, j->row, j->x.lerp, j->store->width, j->scale, j->bias);
	else
		j->kernels->sum(
		    to, j->row, j->x.taps, j->store->width, j->src->step, j->scale, j->bias);
}

static void cast(const struct job *j, void *to, const float *from, size_t n)
{
	switch (j->store->dtype) {
	case TUNDISH_UINT8:
		j->kernels->to_u8(to, from, n);
		break;
	case TUNDISH_FLOAT16:
		j->kernels->to_f16(to, from, n);
		break;
	case TUNDISH_BFLOAT16:
		j->kernels->to_bf16(to, from, n);
		break;
	default:
		memcpy(to, from, n * sizeof *from);
	}
}

static void split_any(float *planes, const float *row, size_t width, size_t channels)
{
	for (size_t x = 0; x < width; x++)
		for (size_t c = 0; c < channels; c++)
			planes[c * width + x] = row[x * channels + c];
}

static void store_row(struct job *j, uint32_t y)
{
	const struct td_store *to = j->store;
	size_t width = to->width, bytes = td_dtype_bytes(to->dtype), plane = width * to->height;
	size_t channels = j->src->channels;
	uint8_t *out = to->out;
	if (!to->nchw) {
		out += channels * width * y * bytes;
		bool straight = to->dtype == TUNDISH_FLOAT32;
		blend_columns(j, straight ? (float *)out : j->out_row);
		if (!straight)
			cast(j, out, j->out_row, channels * width);
		return;
	}
	blend_columns(j, j->out_row);
	float *planes = j->out_row + channels * width;
	if (channels == 3)
		j->kernels->split(planes, planes + width, planes + 2 * width, j->out_row, width);
	else
		split_any(planes, j->out_row, width, channels);
	for (size_t c = 0; c < channels; c++)
		cast(j, out + (c * plane + width * y) * bytes, planes + c * width, width);
}

static void flip(struct axis *a, uint32_t n)
{
	for (uint32_t i = 0; i < n / 2; i++) {
		if (a->lerp) {
			struct td_lerp l = a->lerp[i];
			a->lerp[i] = a->lerp[n - 1 - i];
			a->lerp[n - 1 - i] = l;
		} else {
			struct td_taps t = a->taps[i];
			a->taps[i] = a->taps[n - 1 - i];
			a->taps[n - 1 - i] = t;
		}
	}
}

/* The sample at `from` into the plane of its channel. */
static void copy_planes(uint8_t *out, const uint8_t *from, size_t channels, size_t plane, size_t bytes)
{
	for (size_t c = 0; c < channels; c++)
		memcpy(out + c * plane * bytes, from + c * bytes, bytes);
}

/* Samples as they are: nothing to compute. */
static void copy_any(const struct td_pixels *src, const struct td_store *to)
{
	size_t bytes = td_elem_bytes(src->elem), channels = src->channels, width = to->width;
	size_t pixel = channels * bytes, step = src->step * bytes, plane = width * to->height;
	bool whole = !to->nchw && !to->hflip && src->step == channels;
	uint8_t *out = to->out;
	for (size_t y = 0; y < to->height; y++) {
		const uint8_t *row = src->data + (to->vflip ? to->height - 1 - y : y) * src->stride;
		if (whole)
			memcpy(out + y * width * pixel, row, width * pixel);
		for (size_t x = 0; x < width && !whole; x++) {
			const uint8_t *from = row + (to->hflip ? width - 1 - x : x) * step;
			if (to->nchw)
				copy_planes(out + (y * width + x) * bytes, from, channels, plane, bytes);
			else
				memcpy(out + (y * width + x) * pixel, from, pixel);
		}
	}
}

/* The same for bytes of three channels. */
static void copy_pixels(const struct td_pixels *src, const struct td_store *to)
{
	size_t width = to->width, plane = width * to->height;
	size_t dx = to->nchw ? 1 : 3, dc = to->nchw ? plane : 1;
	for (size_t y = 0; y < to->height; y++) {
		const uint8_t *from =
		    src->data + (to->vflip ? to->height - 1 - y : y) * src->stride;
		uint8_t *out = (uint8_t *)to->out + y * width * dx;
		ptrdiff_t step = (ptrdiff_t)src->step;
		if (to->hflip) {
			from += (width - 1) * src->step;
			step = -step;
		}
		for (size_t x = 0; x < width; x++, from += step, out += dx) {
			out[0] = from[0];
			out[dc] = from[1];
			out[2 * dc] = from[2];
		}
	}
}

int td_store_pixels(const struct td_pixels *src, const struct td_store *store,
    struct td_scratch *s, struct tundish_error *e)
{
	bool moves = same_size(src, store) && !store->scale && store->dtype == td_elem_dtype(src->elem);
	bool computes = (src->elem == TD_UINT8 || src->elem == TD_FLOAT32) &&
	    store->dtype >= 0 && store->dtype <= TUNDISH_FLOAT32;
	bool three = src->channels == 3 && (src->step == 3 || src->step == 4);
	if (!src->channels || !(three || src->step == src->channels) || !src->width || !src->height ||
	    !store->width || !store->height || !(moves || computes) ||
	    src->width > INT32_MAX / 4 / src->step || store->width > INT32_MAX / 4 / src->step)
		return td_err(e, TUNDISH_E_INVALID, "pixels cannot be stored like this");
	if (moves && three && src->elem == TD_UINT8)
		copy_pixels(src, store);
	else if (moves)
		copy_any(src, store);
	if (moves)
		return 0;
	struct job j = { .src = src, .store = store, .kernels = td_kernels() };
	int r = plan(&j, s, e);
	if (r < 0)
		return r;
	if (store->hflip)
		flip(&j.x, store->width);
	if (store->vflip)
		flip(&j.y, store->height);
	for (uint32_t y = 0; y < store->height; y++) {
		blend_rows(&j, y);
		store_row(&j, y);
	}
	return 0;
}

/* In squares, so that both sides stay in the cache. */
void td_transpose(void *to, const void *from, uint32_t width, uint32_t height, size_t bytes)
{
	const uint32_t side = 32;
	const uint8_t *in = from;
	uint8_t *out = to;
	for (uint32_t y0 = 0; y0 < height; y0 += side)
		for (uint32_t x0 = 0; x0 < width; x0 += side)
			for (uint32_t y = y0; y < TD_MIN(y0 + side, height); y++)
				for (uint32_t x = x0; x < TD_MIN(x0 + side, width); x++)
					memcpy(out + ((size_t)x * height + y) * bytes,
					    in + ((size_t)y * width + x) * bytes, bytes);
}
