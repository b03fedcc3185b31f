/* SPDX-License-Identifier: BSD-2-Clause
 * CRC-32C (Castagnoli) by the CPU's instructions or ISA-L, and TFRecord's masked form. */
#include "crc32c.h"

#include <isa-l/crc.h>

#include "crc32c-fold.h"

#ifdef __x86_64__
TD_FOLDS static uint32_t fold(uint32_t crc, const void *data, size_t bytes)
{
	return ~td_crc32c_fold(~crc, data, bytes);
}

/* ISA-L 2.30 leaves the upper halves of the vector registers in use, which slows down
 * whatever SSE code runs next: 80 ns a record. */
__attribute__((target("avx"))) static void clear_upper(void)
{
	__builtin_ia32_vzeroupper();
}
#endif

uint32_t td_crc32c_isal(uint32_t crc, const void *data, size_t bytes)
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
#ifdef __x86_64__
	if (__builtin_cpu_supports("avx"))
		clear_upper();
#endif
	return ~crc;
}

uint32_t td_crc32c(uint32_t crc, const void *data, size_t bytes)
{
#ifdef __x86_64__
	if (bytes < TD_FOLD_LEAST && __builtin_cpu_supports("sse4.2"))
		return ~td_crc32c_few(~crc, data, bytes);
	if (bytes >= TD_FOLD_LEAST && td_crc32c_folds())
		return fold(crc, data, bytes);
#endif
	return td_crc32c_isal(crc, data, bytes);
}
