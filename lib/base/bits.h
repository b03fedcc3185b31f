/* SPDX-License-Identifier: BSD-2-Clause
 * Numbers in files: little- and big-endian loads and stores at any address. */
#pragma once
#include <stdint.h>
#include <string.h>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "tundish is written for little-endian machines"
#endif

#define TD_LOAD(name, type, swap)                                                                  \
	static inline type name(const void *p)                                                     \
	{                                                                                          \
		type v;                                                                            \
		memcpy(&v, p, sizeof v);                                                           \
		return swap(v);                                                                    \
	}
#define TD_STORE(name, type, swap)                                                                 \
	static inline void name(void *p, type v)                                                   \
	{                                                                                          \
		v = swap(v);                                                                       \
		memcpy(p, &v, sizeof v);                                                           \
	}

TD_LOAD(td_le16, uint16_t, )
TD_LOAD(td_le32, uint32_t, )
TD_LOAD(td_le64, uint64_t, )
TD_LOAD(td_be16, uint16_t, __builtin_bswap16)
TD_LOAD(td_be32, uint32_t, __builtin_bswap32)
TD_STORE(td_put_le16, uint16_t, )
TD_STORE(td_put_le32, uint32_t, )
TD_STORE(td_put_le64, uint64_t, )
TD_STORE(td_put_be16, uint16_t, __builtin_bswap16)
TD_STORE(td_put_be32, uint32_t, __builtin_bswap32)

/* The nearest float16, ties to even. */
static inline __attribute__((always_inline)) uint16_t td_half(float value)
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
