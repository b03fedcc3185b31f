/* SPDX-License-Identifier: BSD-2-Clause
 * Saying what is wrong with a frame, and finding the next good one. */
#include "damage.h"

#include <zlib.h>

#include "frame.h"

static uint32_t crc32_of(const uint8_t *p, size_t bytes)
{
	return (uint32_t)crc32_z(0, p, bytes);
}

#define REASON(of_length, what) ((of_length) ? "length checksum " what : "data checksum " what)

const char *td_crc_reason(bool of_length, const void *data, size_t bytes, uint32_t stored)
{
	uint32_t crc32;
	if (stored == 0 && of_length && td_le64(data) == 0)
		return "zero bytes where a record should start";
	if (stored == 0)
		return REASON(of_length, "is 0");
	if (stored == td_crc32c(0, data, bytes))
		return REASON(of_length, "is unmasked");
	crc32 = crc32_of(data, bytes);
	if (stored == crc32 || stored == td_crc_mask(crc32))
		return REASON(of_length, "is CRC-32 where CRC-32C is due");
	return REASON(of_length, "mismatch");
}

size_t td_find_header(const uint8_t *data, size_t at, size_t bytes, uint64_t max_length)
{
	for (; at + TD_FRAME_HEADER <= bytes; at++)
		/* in most places the upper bytes of a length are not 0: no checksum needed */
		if (td_le64(data + at) <= max_length && td_frame_length_ok(data + at))
			return at;
	return bytes;
}
