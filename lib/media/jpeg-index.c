/* SPDX-License-Identifier: BSD-2-Clause
 * The index of a baseline JPEG as it is kept beside the picture. */
#include "jpeg-index.h"

#include "base/bits.h"
#include "base/crc32c.h"

#define MAGIC 0x314a4454u /* "TDJ1" */
#define HEAD_BYTES 16

bool td_jpeg_index_head(struct td_buf *out, const void *data, size_t len, uint32_t spacing)
{
	uint8_t head[HEAD_BYTES];
	if (len > UINT32_MAX || spacing == 0)
		return false;
	td_put_le32(head, MAGIC);
	td_put_le32(head + 4, spacing);
	td_put_le32(head + 8, (uint32_t)len);
	td_put_le32(head + 12, td_crc32c(0, data, len));
	return td_buf_add(out, head, sizeof head);
}

bool td_jpeg_index_open(
    struct td_entries *ret, const void *index, size_t index_len, const void *data, size_t len)
{
	const uint8_t *p = index;
	if (index_len < HEAD_BYTES || (index_len - HEAD_BYTES) % TD_ENTRY_BYTES ||
	    td_le32(p) != MAGIC || td_le32(p + 4) == 0 || td_le32(p + 8) != len ||
	    td_le32(p + 12) != td_crc32c(0, data, len))
		return false;
	*ret = (struct td_entries){ .packed = p + HEAD_BYTES,
		.spacing = td_le32(p + 4),
		.n = (index_len - HEAD_BYTES) / TD_ENTRY_BYTES };
	return true;
}
