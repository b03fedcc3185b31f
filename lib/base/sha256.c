/* SPDX-License-Identifier: BSD-2-Clause
 * SHA-256 (FIPS 180-4), with the CPU's own instructions where it has them. */
#include "sha256.h"

#include <stdio.h>
#include <string.h>

#include "bits.h"

static const uint32_t k[64] __attribute__((aligned(16))) = {
	0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
	0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
	0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
	0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
	0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
	0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
	0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
	0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t ror(uint32_t x, int n)
{
	return x >> n | x << (32 - n);
}

static void schedule(uint32_t w[64], const uint8_t *p)
{
	for (int i = 0; i < 16; i++) {
		uint32_t v;
		memcpy(&v, p + 4 * i, 4);
		w[i] = __builtin_bswap32(v);
	}
	for (int i = 16; i < 64; i++) {
		uint32_t a = w[i - 15], b = w[i - 2];
		w[i] = w[i - 16] + (ror(a, 7) ^ ror(a, 18) ^ a >> 3) + w[i - 7] +
		    (ror(b, 17) ^ ror(b, 19) ^ b >> 10);
	}
}

void td_sha256_blocks_c(uint32_t h[8], const uint8_t *data, size_t n)
{
	uint32_t w[64], s[8];
	for (; n > 0; n--, data += 64) {
		schedule(w, data);
		memcpy(s, h, sizeof s);
		for (int i = 0; i < 64; i++) {
			uint32_t t1 = s[7] + (ror(s[4], 6) ^ ror(s[4], 11) ^ ror(s[4], 25)) +
			    ((s[4] & s[5]) ^ (~s[4] & s[6])) + k[i] + w[i];
			uint32_t t2 = (ror(s[0], 2) ^ ror(s[0], 13) ^ ror(s[0], 22)) +
			    ((s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]));
			memmove(s + 1, s, 7 * sizeof *s);
			s[4] += t1;
			s[0] = t1 + t2;
		}
		for (int i = 0; i < 8; i++)
			h[i] += s[i];
	}
}

#if defined(__x86_64__)
#include <immintrin.h>

/* Four rounds with the message words m, the state in the order of the instructions. */
#define ROUNDS(m, i)                                                                               \
	do {                                                                                       \
		__m128i x = _mm_add_epi32(m, _mm_load_si128((const __m128i *)(k + 4 * (i))));      \
		cdgh = _mm_sha256rnds2_epu32(cdgh, abef, x);                                       \
		abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(x, 0x0e));              \
	} while (0)

/* The next four message words in place of the oldest. */
#define NEXT(a, b, c, d)                                                                           \
	a = _mm_sha256msg2_epu32(                                                                  \
	    _mm_add_epi32(_mm_sha256msg1_epu32(a, b), _mm_alignr_epi8(d, c, 4)), d)

__attribute__((target("sha,sse4.1,ssse3"))) static void blocks_ni(uint32_t h[8],
    const uint8_t *data, size_t n)
{
	const __m128i swap = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
	__m128i dcba = _mm_loadu_si128((const __m128i *)h);
	__m128i hgfe = _mm_loadu_si128((const __m128i *)(h + 4));
	__m128i cdab = _mm_shuffle_epi32(dcba, 0xb1), efgh = _mm_shuffle_epi32(hgfe, 0x1b);
	__m128i abef = _mm_alignr_epi8(cdab, efgh, 8), cdgh = _mm_blend_epi16(efgh, cdab, 0xf0);
	for (; n > 0; n--, data += 64) {
		__m128i abef0 = abef, cdgh0 = cdgh, m[4];
		for (int i = 0; i < 4; i++)
			m[i] = _mm_shuffle_epi8(
			    _mm_loadu_si128((const __m128i *)(data + 16 * i)), swap);
		for (int i = 0; i < 16; i += 4) {
			ROUNDS(m[0], i);
			ROUNDS(m[1], i + 1);
			ROUNDS(m[2], i + 2);
			ROUNDS(m[3], i + 3);
			if (i == 12)
				break;
			NEXT(m[0], m[1], m[2], m[3]);
			NEXT(m[1], m[2], m[3], m[0]);
			NEXT(m[2], m[3], m[0], m[1]);
			NEXT(m[3], m[0], m[1], m[2]);
		}
		abef = _mm_add_epi32(abef, abef0);
		cdgh = _mm_add_epi32(cdgh, cdgh0);
	}
	__m128i feba = _mm_shuffle_epi32(abef, 0x1b), dchg = _mm_shuffle_epi32(cdgh, 0xb1);
	_mm_storeu_si128((__m128i *)h, _mm_blend_epi16(feba, dchg, 0xf0));
	_mm_storeu_si128((__m128i *)(h + 4), _mm_alignr_epi8(dchg, feba, 8));
}

static bool have_ni(void)
{
	unsigned a = 7, b = 0, c = 0, d;
	__asm__("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
	return (b >> 29 & 1) && __builtin_cpu_supports("sse4.1");
}

bool td_sha256_blocks_ni(uint32_t h[8], const uint8_t *data, size_t n)
{
	if (!have_ni())
		return false;
	blocks_ni(h, data, n);
	return true;
}
#else
bool td_sha256_blocks_ni(uint32_t h[8], const uint8_t *data, size_t n)
{
	(void)h, (void)data, (void)n;
	return false;
}
#endif

static void blocks(uint32_t h[8], const uint8_t *data, size_t n)
{
	if (n > 0 && !td_sha256_blocks_ni(h, data, n))
		td_sha256_blocks_c(h, data, n);
}

void td_sha256_init(struct td_sha256 *s)
{
	*s = (struct td_sha256){ .h = { 0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
				     0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19 } };
}

void td_sha256_add(struct td_sha256 *s, const void *data, size_t bytes)
{
	const uint8_t *p = data;
	size_t held = s->bytes % 64;
	s->bytes += bytes;
	if (held > 0) {
		size_t n = TD_MIN(bytes, 64 - held);
		memcpy(s->block + held, p, n);
		if (held + n < 64)
			return;
		blocks(s->h, s->block, 1);
		p += n;
		bytes -= n;
	}
	blocks(s->h, p, bytes / 64);
	if (bytes % 64)
		memcpy(s->block, p + bytes / 64 * 64, bytes % 64);
}

static struct td_sha256 finish(const struct td_sha256 *s)
{
	struct td_sha256 end = *s;
	uint64_t bits = __builtin_bswap64(s->bytes * 8);
	td_sha256_add(&end, "\x80", 1);
	while (end.bytes % 64 != 56)
		td_sha256_add(&end, "", 1);
	td_sha256_add(&end, &bits, 8);
	return end;
}

void td_sha256_raw(const struct td_sha256 *s, uint8_t out[32])
{
	struct td_sha256 end = finish(s);
	for (int i = 0; i < 8; i++)
		td_put_be32(out + 4 * i, end.h[i]);
}

void td_sha256_hex(const struct td_sha256 *s, char out[65])
{
	struct td_sha256 end = finish(s);
	for (int i = 0; i < 8; i++)
		snprintf(out + 8 * i, 9, "%08x", end.h[i]);
}
