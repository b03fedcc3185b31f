/* SPDX-License-Identifier: BSD-2-Clause
 * Resizing and casting: one body for each loop, compiled for several instruction sets. */
#include "kernels.h"

#include <pthread.h>
#include <string.h>

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

#include "base/bits.h"

#define BODY static inline __attribute__((always_inline))

typedef float v4 __attribute__((vector_size(16)));

BODY v4 load4(const float *p)
{
	v4 v;
	memcpy(&v, p, sizeof v);
	return v;
}

BODY void blend_body(
    float *restrict to, const uint8_t *restrict a, const uint8_t *restrict b, float t, size_t n)
{
	for (size_t i = 0; i < n; i++)
		to[i] = (float)a[i] + (float)((int)b[i] - (int)a[i]) * t;
}

BODY void weigh_body(
    float *restrict to, const uint8_t *restrict row, float w, size_t n, bool more)
{
	if (!more)
		for (size_t i = 0; i < n; i++)
			to[i] = w * (float)row[i];
	else
		for (size_t i = 0; i < n; i++)
			to[i] = to[i] + w * (float)row[i];
}

BODY v4 lerp1(const float *row, const struct td_lerp *tap, v4 scale, v4 bias)
{
	v4 a = load4(row + tap->a), b = load4(row + tap->b);
	return (a + (b - a) * tap->t) * scale + bias;
}

/* The fourth float lands where the next pixel will be written, so the last pixel is
 * stored as three. */
BODY void lerp_body(float *restrict to, const float *restrict row,
    const struct td_lerp *restrict taps, size_t n, const float scale[3], const float bias[3])
{
	v4 s = { scale[0], scale[1], scale[2], 0 }, o = { bias[0], bias[1], bias[2], 0 }, v;
	for (size_t i = 0; i + 1 < n; i++) {
		v = lerp1(row, &taps[i], s, o);
		memcpy(to + 3 * i, &v, 16);
	}
	v = lerp1(row, &taps[n - 1], s, o);
	memcpy(to + 3 * (n - 1), &v, 12);
}

BODY v4 sum1(const float *row, const struct td_taps *taps, unsigned step, v4 scale, v4 bias)
{
	const float *p = row + taps->first;
	v4 v = load4(p) * taps->weights[0];
	for (uint32_t k = 1; k < taps->count; k++)
		v = v + load4(p + k * step) * taps->weights[k];
	return v * scale + bias;
}

BODY void sum_body(float *restrict to, const float *restrict row,
    const struct td_taps *restrict taps, size_t n, unsigned step, const float scale[3],
    const float bias[3])
{
	v4 s = { scale[0], scale[1], scale[2], 0 }, o = { bias[0], bias[1], bias[2], 0 }, v;
	for (size_t i = 0; i + 1 < n; i++) {
		v = sum1(row, &taps[i], step, s, o);
		memcpy(to + 3 * i, &v, 16);
	}
	v = sum1(row, &taps[n - 1], step, s, o);
	memcpy(to + 3 * (n - 1), &v, 12);
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

BODY void f16_body(uint16_t *restrict to, const float *restrict from, size_t n)
{
	for (size_t i = 0; i < n; i++)
		to[i] = td_half(from[i]);
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
#define KERNELS(isa, attribute, blend, lerp, f16)                                            \
	attribute static void blend_##isa(                                                   \
	    float *to, const uint8_t *a, const uint8_t *b, float t, size_t n)                \
	{                                                                                    \
		blend(to, a, b, t, n);                                                       \
	}                                                                                    \
	attribute static void weigh_##isa(                                                   \
	    float *to, const uint8_t *row, float w, size_t n, bool more)                     \
	{                                                                                    \
		weigh_body(to, row, w, n, more);                                             \
	}                                                                                    \
	attribute static void lerp_##isa(float *to, const float *row,                        \
	    const struct td_lerp *taps, size_t n, const float scale[3], const float bias[3]) \
	{                                                                                    \
		lerp(to, row, taps, n, scale, bias);                                         \
	}                                                                                    \
	attribute static void sum_##isa(float *to, const float *row,                         \
	    const struct td_taps *taps, size_t n, unsigned step, const float scale[3],       \
	    const float bias[3])                                                             \
	{                                                                                    \
		sum_body(to, row, taps, n, step, scale, bias);                               \
	}                                                                                    \
	attribute static void split_##isa(                                                   \
	    float *r, float *g, float *b, const float *row, size_t n)                        \
	{                                                                                    \
		split_body(r, g, b, row, n);                                                 \
	}                                                                                    \
	attribute static void u8_##isa(uint8_t *to, const float *from, size_t n)             \
	{                                                                                    \
		u8_body(to, from, n);                                                        \
	}                                                                                    \
	attribute static void f16_##isa(uint16_t *to, const float *from, size_t n)           \
	{                                                                                    \
		f16(to, from, n);                                                            \
	}                                                                                    \
	attribute static void bf16_##isa(uint16_t *to, const float *from, size_t n)          \
	{                                                                                    \
		bf16_body(to, from, n);                                                      \
	}                                                                                    \
	static const struct td_kernels set_##isa = { #isa, blend_##isa, weigh_##isa,         \
		lerp_##isa, sum_##isa, split_##isa, u8_##isa, f16_##isa, bf16_##isa };

KERNELS(plain, , blend_body, lerp_body, f16_body)

#if defined(__x86_64__)
#define AVX2 __attribute__((target("avx2,f16c")))
#if defined(__clang__) /* has no such switch for one function */
#define AVX512 __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,f16c")))
#else
#define AVX512          \
	__attribute__(( \
	    target("avx512f,avx512bw,avx512vl,avx512dq,f16c,prefer-vector-width=512")))
#endif

AVX2 static inline void f16_by_f16c(uint16_t *to, const float *from, size_t n)
{
	size_t i = 0;
	for (; i + 8 <= n; i += 8)
		_mm_storeu_si128((__m128i *)(to + i),
		    _mm256_cvtps_ph(_mm256_loadu_ps(from + i), _MM_FROUND_TO_NEAREST_INT));
	f16_body(to + i, from + i, n - i);
}

AVX2 static inline void blend_by_8(
    float *to, const uint8_t *a, const uint8_t *b, float t, size_t n)
{
	size_t i = 0;
	for (; i + 8 <= n; i += 8) {
		__m256i x = _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)(a + i)));
		__m256i y = _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)(b + i)));
		__m256 d = _mm256_cvtepi32_ps(_mm256_sub_epi32(y, x));
		d = _mm256_mul_ps(d, _mm256_set1_ps(t));
		_mm256_storeu_ps(to + i, _mm256_add_ps(_mm256_cvtepi32_ps(x), d));
	}
	blend_body(to + i, a + i, b + i, t, n - i);
}

AVX512 static inline void blend_by_16(
    float *to, const uint8_t *a, const uint8_t *b, float t, size_t n)
{
	size_t i = 0;
	for (; i + 16 <= n; i += 16) {
		__m512i x = _mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)(a + i)));
		__m512i y = _mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)(b + i)));
		__m512 d = _mm512_cvtepi32_ps(_mm512_sub_epi32(y, x));
		d = _mm512_mul_ps(d, _mm512_set1_ps(t));
		_mm512_storeu_ps(to + i, _mm512_add_ps(_mm512_cvtepi32_ps(x), d));
	}
	blend_body(to + i, a + i, b + i, t, n - i);
}

/* Four pixels in one register. */
#define FOUR(row, taps, side)                                                                \
	_mm512_insertf32x4(                                                                  \
	    _mm512_insertf32x4(_mm512_insertf32x4(_mm512_castps128_ps512(                    \
						      _mm_loadu_ps((row) + (taps)[0].side)), \
				   _mm_loadu_ps((row) + (taps)[1].side), 1),                 \
		_mm_loadu_ps((row) + (taps)[2].side), 2),                                    \
	    _mm_loadu_ps((row) + (taps)[3].side), 3)

AVX512 static inline void lerp_by_4(float *to, const float *row, const struct td_lerp *taps,
    size_t n, const float scale[3], const float bias[3])
{
	const __m512i spread =
	    _mm512_setr_epi32(2, 2, 2, 2, 5, 5, 5, 5, 8, 8, 8, 8, 11, 11, 11, 11);
	const __m512i close =
	    _mm512_setr_epi32(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, 0, 0, 0, 0);
	__m512 s = _mm512_broadcast_f32x4(_mm_setr_ps(scale[0], scale[1], scale[2], 0));
	__m512 o = _mm512_broadcast_f32x4(_mm_setr_ps(bias[0], bias[1], bias[2], 0));
	size_t i = 0;
	for (; i + 4 < n; i += 4, taps += 4, to += 12) {
		__m512 a = FOUR(row, taps, a), b = FOUR(row, taps, b);
		__m512 t = _mm512_permutexvar_ps(spread, _mm512_maskz_loadu_ps(0xfff, taps));
		__m512 v = _mm512_add_ps(a, _mm512_mul_ps(_mm512_sub_ps(b, a), t));
		v = _mm512_add_ps(_mm512_mul_ps(v, s), o);
		_mm512_mask_storeu_ps(to, 0xfff, _mm512_permutexvar_ps(close, v));
	}
	lerp_body(to, row, taps, n - i, scale, bias);
}

KERNELS(avx2, AVX2, blend_by_8, lerp_body, f16_by_f16c)
KERNELS(avx512, AVX512, blend_by_16, lerp_by_4, f16_by_f16c)

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
		      __builtin_cpu_supports("avx512bw") &&
		      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
	if (i == 1 && avx2)
		return &set_avx2;
	if (i == 2 && avx512)
		return &set_avx512;
#endif
	return i == 0 ? &set_plain : NULL;
}

static const struct td_kernels *best;

static void find_best(void)
{
	const struct td_kernels *next;
	for (unsigned i = 0; (next = td_kernels_at(i)); i++)
		best = next;
}

/* Once, because cpuid takes microseconds in a virtual machine. */
const struct td_kernels *td_kernels(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	pthread_once(&once, find_best);
	return best;
}
