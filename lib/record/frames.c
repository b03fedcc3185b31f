/* SPDX-License-Identifier: BSD-2-Clause
 * Whole frames that lie in memory. */
#include "frames.h"

#include "base/crc32c-fold.h"
#include "damage.h"
#include "frame.h"
#include "tundish.h"

/* With the checksum made part of it: the CPU then begins with a frame before it is done
 * with the one before. */
static inline __attribute__((always_inline)) size_t walk(const uint8_t *data, size_t bytes,
    uint64_t max_payload, uint64_t *ret_frames, uint32_t (*crc)(const uint8_t *p, size_t n))
{
	size_t at = 0;
	uint64_t n = 0;
	for (; bytes - at >= TD_FRAME_EXTRA; n++) {
		const uint8_t *p = data + at;
		uint64_t length = td_le64(p);
		if (length > bytes - at - TD_FRAME_EXTRA || length > max_payload ||
		    td_le32(p + 8) != td_crc_mask(crc(p, 8)))
			break;
		p += TD_FRAME_HEADER;
		if (td_le32(p + length) != td_crc_mask(crc(p, (size_t)length)))
			break;
		at += (size_t)length + TD_FRAME_EXTRA;
	}
	*ret_frames = n;
	return at;
}

#ifdef __x86_64__
TD_FOLDS static inline uint32_t folding_crc(const uint8_t *p, size_t bytes)
{
	if (bytes < TD_FOLD_LEAST)
		return ~td_crc32c_few(~0u, p, bytes);
	return ~td_crc32c_fold(~0u, p, bytes);
}

TD_FOLDS static size_t walk_folding(const uint8_t *data, size_t bytes, uint64_t max_payload,
    uint64_t *ret_frames)
{
	return walk(data, bytes, max_payload, ret_frames, folding_crc);
}
#endif

static uint32_t plain_crc(const uint8_t *p, size_t bytes)
{
	return td_crc32c(0, p, bytes);
}

size_t td_frames_good(const uint8_t *data, size_t bytes, uint64_t max_payload, uint64_t *ret_frames)
{
#ifdef __x86_64__
	if (td_crc32c_folds())
		return walk_folding(data, bytes, max_payload, ret_frames);
#endif
	return walk(data, bytes, max_payload, ret_frames, plain_crc);
}

int td_frame_verify(const uint8_t *frame, uint64_t bytes, int crc, const char **ret_reason)
{
	const char *reason = NULL;
	uint64_t length = bytes >= TD_FRAME_EXTRA ? bytes - TD_FRAME_EXTRA : 0;
	const uint8_t *data = frame + TD_FRAME_HEADER, *footer = data + length;
	if (bytes < TD_FRAME_EXTRA)
		reason = "truncated";
	else if (crc != TUNDISH_CRC_OFF && !td_frame_length_ok(frame))
		reason = td_crc_reason(true, frame, 8, td_le32(frame + 8));
	else if (td_le64(frame) != length)
		reason = "length differs from the index";
	else if (crc == TUNDISH_CRC_FULL &&
		 td_le32(footer) != td_crc_mask(td_crc32c(0, data, (size_t)length)))
		reason = td_crc_reason(false, data, (size_t)length, td_le32(footer));
	if (!reason)
		return 0;
	*ret_reason = reason;
	return TUNDISH_E_CORRUPT;
}
