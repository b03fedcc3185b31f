/* SPDX-License-Identifier: BSD-2-Clause
 * Operations that put pictures of a batch together: mixup and cutmix. */
#include "mixup.h"

#include <stdlib.h>
#include <string.h>

#include "base/elem.h"
#include "base/real.h"
#include "media/kernels.h"
#include "tundish.h"

bool td_mixing_new(struct td_mixing *m, unsigned mixes, unsigned batch)
{
	m->batch = batch;
	m->rows = calloc((size_t)mixes * batch, sizeof *m->rows);
	m->cycle = calloc((size_t)mixes * batch, sizeof *m->cycle);
	return m->rows && m->cycle;
}

void td_mixing_free(struct td_mixing *m)
{
	free(m->rows);
	free(m->cycle);
	*m = (struct td_mixing){ 0 };
}

/* ---- draws ---- */

/* In (0, 1]. */
static double above_zero(struct td_rng *rng)
{
	return 1 - td_rng_unit(rng);
}

/* Joehnk: of u and v to the power of 1 / alpha, where their sum is at most 1; with their
 * logarithms, since the powers may be too small for numbers. */
static double beta_small(struct td_rng *rng, double alpha)
{
	for (;;) {
		double x = td_log(above_zero(rng)) / alpha, y = td_log(above_zero(rng)) / alpha;
		double most = TD_MAX(x, y), least = TD_MIN(x, y);
		double small = least - most > -700 ? td_exp(least - most) : 0;
		if (most > -700 && td_exp(most) * (1 + small) > 1)
			continue;
		double part = small / (1 + small);
		return x > y ? 1 - part : part;
	}
}

/* Cheng's BB (1978), both parameters alike. */
static double beta_large(struct td_rng *rng, double alpha)
{
	double root = __builtin_sqrt(alpha);
	for (;;) {
		double u = above_zero(rng), u2 = above_zero(rng);
		if (u >= 1)
			continue;
		double v = td_log(u / (1 - u)) / root, z = u * u * u2;
		if (v > 600 || v < -600)
			continue;
		double w = alpha * td_exp(v), r = (alpha + root) * v - 1.3862943611198906;
		if (r + 2 * alpha * td_log(2 * alpha / (alpha + w)) >= td_log(z))
			return w / (alpha + w);
	}
}

double td_beta(struct td_rng *rng, double alpha)
{
	return alpha == 1 ? td_rng_unit(rng) :
	    alpha < 1	  ? beta_small(rng, alpha) : beta_large(rng, alpha);
}

static struct td_mix_row draw_window(struct td_rng *rng, double keep, uint32_t width, uint32_t height)
{
	uint32_t x = (uint32_t)td_rng_below(rng, width), y = (uint32_t)td_rng_below(rng, height);
	double half = 0.5 * __builtin_sqrt(1 - keep);
	uint32_t dx = (uint32_t)(half * width), dy = (uint32_t)(half * height);
	struct td_mix_row r = { .x = x > dx ? x - dx : 0, .y = y > dy ? y - dy : 0 };
	r.width = TD_MIN(x + dx, width) - r.x;
	r.height = TD_MIN(y + dy, height) - r.y;
	r.keep = (float)(1 - (double)r.width * r.height / ((double)width * height));
	return r;
}

void td_mixing_draw(struct td_mixing *m, const struct td_mix *mixes, unsigned n, unsigned row,
    uint32_t width, uint32_t height, uint64_t seed, uint64_t epoch, uint64_t position)
{
	if (row == 0) {
		m->epoch = epoch;
		m->position = position;
	}
	for (unsigned i = 0; i < n; i++) {
		struct td_rng rng;
		td_rng_at(&rng, seed, (uint32_t)epoch, position, TD_RNG_MIX + i);
		bool mixed = td_rng_unit(&rng) < mixes[i].p;
		double keep = td_beta(&rng, mixes[i].alpha);
		struct td_mix_row drawn = { .keep = mixed ? (float)keep : 1 };
		if (mixed && mixes[i].cut)
			drawn = draw_window(&rng, keep, width, height);
		m->rows[i * m->batch + row] = drawn;
	}
}

void td_mixing_move(struct td_mixing *m, unsigned n, unsigned to, unsigned from)
{
	for (unsigned i = 0; i < n; i++)
		m->rows[i * m->batch + to] = m->rows[i * m->batch + from];
}

void td_mixing_pair(struct td_mixing *m, unsigned n, unsigned count, uint64_t seed)
{
	m->count = count;
	for (unsigned i = 0; i < n; i++) {
		struct td_rng rng;
		uint32_t *cycle = m->cycle + i * m->batch;
		td_rng_at(&rng, seed, (uint32_t)m->epoch, m->position, TD_RNG_MIX + TD_MIXES_MAX + i);
		for (unsigned k = 0; k < count; k++)
			cycle[k] = k;
		td_rng_shuffle(&rng, cycle, count, sizeof *cycle);
	}
}

/* ---- pictures ---- */

static float from_half(uint16_t h)
{
	uint32_t sign = (uint32_t)(h & 0x8000) << 16, mag = h & 0x7fff, bits;
	float v;
	if (mag < 0x400) { /* subnormal: a number of 2^-24 */
		v = (float)mag * 0x1p-24f;
		return sign ? -v : v;
	}
	bits = sign | (mag < 0x7c00 ? (mag << 13) + 0x38000000 : mag << 13 | 0x7f800000);
	memcpy(&v, &bits, sizeof v);
	return v;
}

static float from_bfloat(uint16_t b)
{
	uint32_t bits = (uint32_t)b << 16;
	float v;
	memcpy(&v, &bits, sizeof v);
	return v;
}

#define WEIGH_BLOCK 256

/* 16 bits a value: weighed as float32, and rounded again. */
static void weigh_16(uint16_t *to, const uint16_t *other, float keep, size_t n, int dtype)
{
	float values[WEIGH_BLOCK];
	bool half = dtype == TUNDISH_FLOAT16;
	for (size_t at = 0; at < n; at += WEIGH_BLOCK) {
		size_t some = TD_MIN(n - at, (size_t)WEIGH_BLOCK);
		for (size_t i = 0; i < some; i++) {
			float a = half ? from_half(to[at + i]) : from_bfloat(to[at + i]);
			float b = half ? from_half(other[at + i]) : from_bfloat(other[at + i]);
			values[i] = a * keep + b * (1 - keep);
		}
		(half ? td_kernels()->to_f16 : td_kernels()->to_bf16)(to + at, values, some);
	}
}

static void weigh(void *to, const void *other, float keep, size_t n, int dtype)
{
	float *restrict a = to;
	const float *restrict b = other;
	if (dtype != TUNDISH_FLOAT32) {
		weigh_16(to, other, keep, n, dtype);
		return;
	}
	for (size_t i = 0; i < n; i++)
		a[i] = a[i] * keep + b[i] * (1 - keep);
}

/* Lines first .. end - 1 of a picture with those of its partner; both pointers are at the
 * first of them. */
static void mix_lines(uint8_t *to, const uint8_t *other, const struct td_mix_row *row, bool cut,
    const struct td_mix_shape *s, size_t first, size_t end)
{
	size_t value = td_dtype_bytes(s->dtype), line = s->width * s->pixel * value;
	if (row->keep >= 1)
		return;
	if (!cut) {
		weigh(to, other, row->keep, (end - first) * s->width * s->pixel, s->dtype);
		return;
	}
	for (size_t i = first; i < end; i++, to += line, other += line) {
		uint32_t y = (uint32_t)(i % s->height);
		size_t at = row->x * s->pixel * value;
		if (y >= row->y && y < row->y + row->height)
			memcpy(to + at, other + at, row->width * s->pixel * value);
	}
}

bool td_mixing_lines(const struct td_mixing *m, const struct td_mix *mixes, unsigned n,
    const struct td_mix_shape *s, uint8_t *images, size_t first, size_t end, struct td_buf *spare)
{
	size_t line = s->width * s->pixel * td_dtype_bytes(s->dtype), bytes = (end - first) * line;
	if (m->count < 2)
		return true;
	if (!td_buf_fit(spare, bytes))
		return false;
	images += first * line;
	for (unsigned i = 0; i < n; i++) {
		const uint32_t *cycle = m->cycle + i * m->batch;
		const struct td_mix_row *rows = m->rows + i * m->batch;
		memcpy(spare->data, images + cycle[0] * s->row_bytes, bytes);
		for (unsigned k = 0; k < m->count; k++) {
			const uint8_t *other = k + 1 < m->count ? images + cycle[k + 1] * s->row_bytes : spare->data;
			mix_lines(images + cycle[k] * s->row_bytes, other, &rows[cycle[k]], mixes[i].cut, s, first, end);
		}
	}
	return true;
}

bool td_mixing_labels(const struct td_mixing *m, unsigned n, float *labels, size_t classes,
    struct td_buf *spare)
{
	if (m->count < 2)
		return true;
	if (!td_buf_fit(spare, classes * sizeof *labels))
		return false;
	for (unsigned i = 0; i < n; i++) {
		const uint32_t *cycle = m->cycle + i * m->batch;
		const struct td_mix_row *rows = m->rows + i * m->batch;
		memcpy(spare->data, labels + cycle[0] * classes, classes * sizeof *labels);
		for (unsigned k = 0; k < m->count; k++) {
			const void *other = k + 1 < m->count ? labels + cycle[k + 1] * classes : (float *)spare->data;
			weigh(labels + cycle[k] * classes, other, rows[cycle[k]].keep, classes, TUNDISH_FLOAT32);
		}
	}
	return true;
}
