/* SPDX-License-Identifier: BSD-2-Clause
 * CRC-32C (Castagnoli) through ISA-L, and TFRecord's masked form. */
#include "crc32c.h"

#include <isa-l/crc.h>

uint32_t td_crc32c(uint32_t crc, const void *data, size_t bytes)
{
	const unsigned char *p = data;
	crc = ~crc;
	while (bytes > 0) {
		/* ISA-L takes an int */
		int n = (int)TD_MIN(bytes, (size_t)1 << 30);
		crc = crc32_iscsi((unsigned char *)p, n, crc);
		p += n;
		bytes -= (size_t)n;
	}
	return ~crc;
}
