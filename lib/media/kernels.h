/* SPDX-License-Identifier: BSD-2-Clause
 * The inner loops of resizing and casting, one set for each instruction set. */
#pragma once
#include <stdbool.h>

#include "base/attr.h"

/* Two samples of a row and how far to go from the one to the other. Offsets count
 * floats from the row's start. */
struct td_lerp {
	uint32_t a, b;
	float t;
};

/* A run of samples with a weight each. */
struct td_taps {
	uint32_t first, count; /* first: in floats */
	const float *weights;
};

/* Each set gives the same bits: products and sums are those that are written here, one
 * by one. Pixel rows of floats may be read one float past their end. */
struct td_kernels {
	const char *name;
	/* to[i] = a[i] + (b[i] - a[i]) * t */
	void (*blend)(float *to, const uint8_t *a, const uint8_t *b, float t, size_t n);
	/* to[i] = w * row[i], and with `more` to[i] + w * row[i] */
	void (*weigh)(float *to, const uint8_t *row, float w, size_t n, bool more);
	/* pixel i: v = a + (b - a) * t, then v * scale + bias, three floats each */
	void (*lerp)(float *to, const float *row, const struct td_lerp *taps, size_t n,
	    const float scale[3], const float bias[3]);
	/* the same for runs: v = w0 * p0 + w1 * p1 + ... */
	void (*sum)(float *to, const float *row, const struct td_taps *taps, size_t n,
	    unsigned step, const float scale[3], const float bias[3]);
	/* takes rows of three channels apart */
	void (*split)(float *r, float *g, float *b, const float *row, size_t n);
	void (*to_u8)(uint8_t *to, const float *from, size_t n);
	void (*to_f16)(uint16_t *to, const float *from, size_t n);
	void (*to_bf16)(uint16_t *to, const float *from, size_t n);
};

/* The best set for this machine. */
const struct td_kernels *td_kernels(void);
/* The sets that run here, NULL behind the last; the first is plain C. */
const struct td_kernels *td_kernels_at(unsigned i);
