/* SPDX-License-Identifier: BSD-2-Clause
 * The index of a baseline JPEG as it is kept beside the picture: 16 bytes (magic with
 * version, MCUs between entries, length and CRC-32C of the picture, each 32 bits
 * little-endian), then the entries of entropy.h. */
#pragma once
#include "entropy.h"

bool td_jpeg_index_head(struct td_buf *out, const void *data, size_t len, uint32_t spacing);
/* False when it is damaged or of another picture. */
bool td_jpeg_index_open(
    struct td_entries *ret, const void *index, size_t index_len, const void *data, size_t len);
