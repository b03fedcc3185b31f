/* SPDX-License-Identifier: BSD-2-Clause
 * The TFRecord frame: length, its checksum, payload, its checksum. */
#pragma once
#include "base/bits.h"
#include "base/crc32c.h"

#define TD_FRAME_HEADER 12
#define TD_FRAME_FOOTER 4
#define TD_FRAME_EXTRA (TD_FRAME_HEADER + TD_FRAME_FOOTER)

static inline void td_frame_header(uint8_t out[TD_FRAME_HEADER], uint64_t length)
{
	td_put_le64(out, length);
	td_put_le32(out + 8, td_crc_mask(td_crc32c(0, out, 8)));
}

static inline int td_frame_length_ok(const uint8_t header[TD_FRAME_HEADER])
{
	return td_le32(header + 8) == td_crc_mask(td_crc32c(0, header, 8));
}

static inline void td_frame_footer(uint8_t out[TD_FRAME_FOOTER], const void *data, uint64_t length)
{
	td_put_le32(out, td_crc_mask(td_crc32c(0, data, (size_t)length)));
}
