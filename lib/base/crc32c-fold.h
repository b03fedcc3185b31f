/* SPDX-License-Identifier: BSD-2-Clause
 * CRC-32C by folding 512 bits at a time, to be made part of loops for CPUs that can. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "attr.h"

#ifdef __x86_64__
#include <immintrin.h>

/*
 * A message keeps its checksum when 16 bytes of it that lie D bytes before others are
 * multiplied by x^(8D) and added to those; so all is folded into the last 16. What is no
 * multiple of 64 bytes comes first, behind zeros, which say nothing once the value to begin
 * with has been added to the message.
 */
#define TD_FOLDS \
	__attribute__((target("avx512f,avx512bw,avx512vl,vpclmulqdq,pclmul,sse4.2")))

/* x^(8D+32) and x^(8D-32) modulo the polynomial, bits reversed, for the two halves of 16
 * bytes that move by D. */
#define TD_FOLD_16 0xf20c0dfe, 0x14cd00bd6
#define TD_FOLD_32 0x1384aa63a, 0x0ba4fc28e
#define TD_FOLD_48 0x1c291d04, 0x1d82c63da
#define TD_FOLD_64 0x740eef02, 0x9e4addf8
#define TD_FOLD_128 0x6992cea2, 0x0d3b6092
#define TD_FOLD_192 0xa87ab8a8, 0xab7aff2a
#define TD_FOLD_256 0xdcb17aa4, 0xb9e02b86

/* What TD_FOLDS needs; these imply the older ones. */
static inline bool td_crc32c_folds(void)
{
	return __builtin_cpu_supports("vpclmulqdq") && __builtin_cpu_supports("avx512bw") &&
	    __builtin_cpu_supports("avx512vl");
}

#define TD_FOLD_LEAST 128
#define TD_FOLD_BLOCK sizeof(__m512i)

TD_FOLDS static inline __m512i td_fold_by(long long first, long long second)
{
	return _mm512_broadcast_i32x4(_mm_set_epi64x(second, first));
}

/* Adds `from`, moved, to `to`. */
TD_FOLDS static inline __m512i td_fold(__m512i from, __m512i constants, __m512i to)
{
	__m512i first = _mm512_clmulepi64_epi128(from, constants, 0x00);
	__m512i second = _mm512_clmulepi64_epi128(from, constants, 0x11);
	return _mm512_ternarylogic_epi64(first, second, to, 0x96);
}

TD_FOLDS static inline __m512i td_fold_load(const uint8_t *p)
{
	return _mm512_loadu_si512(p);
}

TD_FOLDS static inline uint32_t td_fold_finish(__m512i last)
{
	static const long long constants[8] __attribute__((aligned(64))) = {
		TD_FOLD_48, TD_FOLD_32, TD_FOLD_16, 0, 0
	};
	__m512i x = td_fold(last, _mm512_load_si512(constants), _mm512_maskz_mov_epi64(0xc0, last));
	__m256i y = _mm256_xor_si256(_mm512_castsi512_si256(x), _mm512_extracti64x4_epi64(x, 1));
	__m128i z = _mm_xor_si128(_mm256_castsi256_si128(y), _mm256_extracti128_si256(y, 1));
	uint64_t crc = _mm_crc32_u64(0, (uint64_t)_mm_cvtsi128_si64(z));
	return (uint32_t)_mm_crc32_u64(crc, (uint64_t)_mm_extract_epi64(z, 1));
}

/* A multiple of four blocks, one or more, behind what is folded to x. */
TD_FOLDS static inline __m512i td_fold_fours(__m512i x, const uint8_t *p, size_t bytes)
{
	const __m512i near = td_fold_by(TD_FOLD_64), far = td_fold_by(TD_FOLD_256);
	const uint8_t *end = p + bytes;
	__m512i a = td_fold(x, near, td_fold_load(p)), b = td_fold_load(p + TD_FOLD_BLOCK);
	__m512i c = td_fold_load(p + 2 * TD_FOLD_BLOCK), d = td_fold_load(p + 3 * TD_FOLD_BLOCK);
	while ((p += 4 * TD_FOLD_BLOCK) < end) {
		a = td_fold(a, far, td_fold_load(p));
		b = td_fold(b, far, td_fold_load(p + TD_FOLD_BLOCK));
		c = td_fold(c, far, td_fold_load(p + 2 * TD_FOLD_BLOCK));
		d = td_fold(d, far, td_fold_load(p + 3 * TD_FOLD_BLOCK));
	}
	d = td_fold(c, near, d);
	d = td_fold(b, td_fold_by(TD_FOLD_128), d);
	return td_fold(a, td_fold_by(TD_FOLD_192), d);
}

/* The inverted checksum behind few bytes, from the one before them. A frame's length is 8
 * bytes: there ISA-L's set-up costs more than its speed saves. */
__attribute__((target("sse4.2"))) static inline uint32_t td_crc32c_few(uint32_t state,
    const uint8_t *p, size_t bytes)
{
	uint64_t crc = state, v;
	for (; bytes >= sizeof v; bytes -= sizeof v, p += sizeof v) {
		memcpy(&v, p, sizeof v);
		crc = _mm_crc32_u64(crc, v);
	}
	for (; bytes > 0; bytes--)
		crc = _mm_crc32_u8((uint32_t)crc, *p++);
	return (uint32_t)crc;
}

/* The inverted checksum behind TD_FOLD_LEAST or more bytes, from the one before them. */
TD_FOLDS static inline uint32_t td_crc32c_fold(uint32_t state, const uint8_t *p, size_t bytes)
{
	size_t head = (bytes - 1) % TD_FOLD_BLOCK + 1;
	/* byte i of the state belongs to byte i of the message, wherever that stands */
	unsigned turn = (unsigned)-head % 4 * 8;
	__m512i seed = _mm512_set1_epi32((int)(state << turn | (uint64_t)state >> (32 - turn)));
	__mmask64 there = ~0ull << (TD_FOLD_BLOCK - head);
	const void *before = (const void *)((uintptr_t)p + head - TD_FOLD_BLOCK);
	__m512i x = _mm512_maskz_loadu_epi8(there, before);
	x = _mm512_xor_si512(x, _mm512_maskz_mov_epi8(there & ~(there << 4), seed));
	p += head;
	bytes -= head;
	if (td_unlikely(head < 4)) {
		seed = _mm512_maskz_mov_epi8(0xfull >> head, seed);
		x = td_fold(x, td_fold_by(TD_FOLD_64), _mm512_xor_si512(seed, td_fold_load(p)));
		p += TD_FOLD_BLOCK;
		bytes -= TD_FOLD_BLOCK;
	}
	for (; bytes % (4 * TD_FOLD_BLOCK) > 0; bytes -= TD_FOLD_BLOCK, p += TD_FOLD_BLOCK)
		x = td_fold(x, td_fold_by(TD_FOLD_64), td_fold_load(p));
	return td_fold_finish(bytes ? td_fold_fours(x, p, bytes) : x);
}
#endif
