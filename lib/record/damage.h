/* SPDX-License-Identifier: BSD-2-Clause
 * Saying what is wrong with a frame, and finding the next good one. */
#pragma once
#include <stdbool.h>

#include "base/attr.h"

/* Static text for a checksum that does not fit `data`, naming the writer's mistake
 * where one explains it: length checksums, and those of the payload. */
const char *td_crc_reason(bool of_length, const void *data, size_t bytes, uint32_t stored);

/* The first place in data at or behind `at` where 12 bytes are a header with a right
 * checksum and a length of at most max_length, or `bytes` when there is none. */
size_t td_find_header(const uint8_t *data, size_t at, size_t bytes, uint64_t max_length);
