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
