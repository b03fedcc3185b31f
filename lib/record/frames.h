/* SPDX-License-Identifier: BSD-2-Clause
 * Whole frames that lie in memory. */
#pragma once
#include "base/attr.h"

/* How many bytes from the start of data are whole frames with right checksums, each with a
 * payload of at most max_payload, one behind the other; and how many frames they are. Not
 * always all of them: what is left must be looked at one by one. */
size_t td_frames_good(const uint8_t *data, size_t bytes, uint64_t max_payload, uint64_t *ret_frames);

/* Checks a whole frame that lies in memory, as fetched by an index. 0, or CORRUPT
 * and what is wrong in `ret_reason` ("data checksum mismatch"). */
int td_frame_verify(const uint8_t *frame, uint64_t bytes, int crc, const char **ret_reason);
