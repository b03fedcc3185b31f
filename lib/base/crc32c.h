/* SPDX-License-Identifier: BSD-2-Clause
 * CRC-32C (Castagnoli) by the CPU's instructions or ISA-L, and TFRecord's masked form. */
#pragma once
#include "attr.h"

/* The checksum of all bytes so far: start with crc 0, go on with the result. */
uint32_t td_crc32c(uint32_t crc, const void *data, size_t bytes);
/* The same by ISA-L alone. */
uint32_t td_crc32c_isal(uint32_t crc, const void *data, size_t bytes);

static inline uint32_t td_crc_mask(uint32_t crc)
{
	return (crc >> 15 | crc << 17) + 0xa282ead8u;
}
