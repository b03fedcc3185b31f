/* SPDX-License-Identifier: BSD-2-Clause
 * Resizing and casting: one body for each loop, compiled for several instruction sets. */
#include "kernels.h"

#include <string.h>

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

#define BODY static inline __attribute__((always_inline))

typedef float v4 __attribute__((vector_size(16)));

BODY v4 load4(const float *p)
{
	v4 v;
	memcpy(&v, p, sizeof v);
	return v;
}

BODY void blend_body(float *restrict to, const uint8_t *restrict a, const uint8_t *restrict b,
    float t, size_t n)
{
	for (size_t i = 0; i < n; i++)
		to[i] = (float)a[i] + (float)((int)b[i] - (int)a[i]) * t;
}

BODY void weigh_body(float *restrict to, const uint8_t *restrict row, float w, size_t n, bool more)
{
	if (!more)
		for (size_t i = 0; i < n; i++)
			to[i] = w * (float)row[i];
	else
		for (size_t i = 0; i < n; i++)
			to[i] = to[i] + w * (float)row[i];
}

/* The fourth float lands where the next pixel will be written, so the last one is
 * stored by parts. */
BODY void store3(float *to, v4 v, bool last)
{
	if (last)
		memcpy(to, &v, 12);
	else
		memcpy(to, &v, 16);
}

BODY void lerp_body(float *restrict to, const float *restrict row, const struct td_lerp *restrict taps,
    size_t n, const float scale[3], const float bias[3])
{
	v4 s = { scale[0], scale[1], scale[2], 0 }, o = { bias[0], bias[1], bias[2], 0 };
	for (size_t i = 0; i < n; i++) {
		v4 a = load4(row + taps[i].a), b = load4(row + taps[i].b);
		store3(to + 3 * i, (a + (b - a) * taps[i].t) * s + o, i + 1 == n);
	}
}

BODY void sum_body(float *restrict to, const float *restrict row, const struct td_taps *restrict taps,
    size_t n, unsigned step, const float scale[3], const float bias[3])
{
	v4 s = { scale[0], scale[1], scale[2], 0 }, o = { bias[0], bias[1], bias[2], 0 };
	for (size_t i = 0; i < n; i++) {
		const float *p = row + taps[i].first;
		v4 v = load4(p) * taps[i].weights[0];
		for (uint32_t k = 1; k < taps[i].count; k++)
			v = v + load4(p + k * step) * taps[i].weights[k];
		store3(to + 3 * i, v * s + o, i + 1 == n);
	}
}

BODY void split_body(float *restrict r, float *restrict g, float *restrict b,
    const float *restrict row, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		r[i] = row[3 * i];
		g[i] = row[3 * i + 1];
		b[i] = row[3 * i + 2];
	}
}

/* Adding 1.5 * 2^23 leaves the nearest even integer in the low bits. */
BODY void u8_body(uint8_t *restrict to, const float *restrict from, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		float v = from[i] > 0 ? from[i] : 0;
		v = (v < 255 ? v : 255) + 12582912.0f;
		uint32_t bits;
		memcpy(&bits, &v, sizeof bits);
		to[i] = (uint8_t)bits;
	}
}

BODY uint16_t half(float value)
{
	uint32_t x;
	memcpy(&x, &value, sizeof x);
	uint32_t sign = x >> 16 & 0x8000, mag = x & 0x7fffffff;
	if (mag > 0x7f800000) /* NaN: made quiet, upper bits kept, as F16C does */
		return (uint16_t)(sign | 0x7e00 | (mag >> 13 & 0x3ff));
	if (mag >= 0x477ff000) /* rounds to 65520 or more */
		return (uint16_t)(sign | 0x7c00);
	if (mag < 0x38800000) { /* subnormal: adding 0.5 aligns it at 2^-24 */
		float v;
		memcpy(&v, &mag, sizeof v);
		v += 0.5f;
		memcpy(&mag, &v, sizeof mag);
		return (uint16_t)(sign | (mag - 0x3f000000));
	}
	mag += 0xc8000fff + (mag >> 13 & 1);
	return (uint16_t)(sign | mag >> 13);
}

BODY void f16_body(uint16_t *restrict to, const float *restrict from, size_t n)
{
	for (size_t i = 0; i < n; i++)
		to[i] = half(from[i]);
}

BODY void bf16_body(uint16_t *restrict to, const float *restrict from, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		uint32_t x;
		memcpy(&x, &from[i], sizeof x);
		uint32_t round = (x + 0x7fff + (x >> 16 & 1)) >> 16, quiet = x >> 16 | 0x40;
		to[i] = (uint16_t)((x & 0x7fffffff) > 0x7f800000 ? quiet : round);
	}
}

/* One set: every body inside a function for that target. */
#define KERNELS(isa, attribute, f16)                                                               \
	attribute static void blend_##isa(float *to, const uint8_t *a, const uint8_t *b, float t,  \
	    size_t n)                                                                              \
	{                                                                                          \
		blend_body(to, a, b, t, n);                                                        \
	}                                                                                          \
	attribute static void weigh_##isa(float *to, const uint8_t *row, float w, size_t n,        \
	    bool more)                                                                             \
	{                                                                                          \
		weigh_body(to, row, w, n, more);                                                   \
	}                                                                                          \
	attribute static void lerp_##isa(float *to, const float *row, const struct td_lerp *taps,  \
	    size_t n, const float scale[3], const float bias[3])                                   \
	{                                                                                          \
		lerp_body(to, row, taps, n, scale, bias);                                          \
	}                                                                                          \
	attribute static void sum_##isa(float *to, const float *row, const struct td_taps *taps,   \
	    size_t n, unsigned step, const float scale[3], const float bias[3])                    \
	{                                                                                          \
		sum_body(to, row, taps, n, step, scale, bias);                                     \
	}                                                                                          \
	attribute static void split_##isa(float *r, float *g, float *b, const float *row,          \
	    size_t n)                                                                              \
	{                                                                                          \
		split_body(r, g, b, row, n);                                                       \
	}                                                                                          \
	attribute static void u8_##isa(uint8_t *to, const float *from, size_t n)                   \
	{                                                                                          \
		u8_body(to, from, n);                                                              \
	}                                                                                          \
	attribute static void f16_##isa(uint16_t *to, const float *from, size_t n)                 \
	{                                                                                          \
		f16(to, from, n);                                                                  \
	}                                                                                          \
	attribute static void bf16_##isa(uint16_t *to, const float *from, size_t n)                \
	{                                                                                          \
		bf16_body(to, from, n);                                                            \
	}                                                                                          \
	static const struct td_kernels set_##isa = { #isa, blend_##isa, weigh_##isa, lerp_##isa,   \
		sum_##isa, split_##isa, u8_##isa, f16_##isa, bf16_##isa };

KERNELS(plain, , f16_body)

#if defined(__x86_64__)
#define AVX2 __attribute__((target("avx2,f16c")))
#if defined(__clang__) /* has no such switch for one function */
#define AVX512 __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,f16c")))
#else
#define AVX512 __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,f16c,prefer-vector-width=512")))
#endif

AVX2 static inline void f16_by_f16c(uint16_t *to, const float *from, size_t n)
{
	size_t i = 0;
	for (; i + 8 <= n; i += 8)
		_mm_storeu_si128((__m128i *)(to + i),
		    _mm256_cvtps_ph(_mm256_loadu_ps(from + i), _MM_FROUND_TO_NEAREST_INT));
	f16_body(to + i, from + i, n - i);
}

KERNELS(avx2, AVX2, f16_by_f16c)
KERNELS(avx512, AVX512, f16_by_f16c)

/* __builtin_cpu_supports() of Clang 14 does not know f16c. */
static bool has_f16c(void)
{
	unsigned a, b, c, d;
	return __get_cpuid(1, &a, &b, &c, &d) && (c & bit_F16C);
}
#endif

const struct td_kernels *td_kernels_at(unsigned i)
{
#if defined(__x86_64__)
	bool avx2 = __builtin_cpu_supports("avx2") && has_f16c();
	bool avx512 = avx2 && __builtin_cpu_supports("avx512f") &&
	    __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
	    __builtin_cpu_supports("avx512dq");
	if (i == 1 && avx2)
		return &set_avx2;
	if (i == 2 && avx512)
		return &set_avx512;
#endif
	return i == 0 ? &set_plain : NULL;
}

const struct td_kernels *td_kernels(void)
{
	const struct td_kernels *best = &set_plain, *next;
	for (unsigned i = 1; (next = td_kernels_at(i)); i++)
		best = next;
	return best;
}
