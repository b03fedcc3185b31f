/* SPDX-License-Identifier: BSD-2-Clause
 * Snappy blocks as TensorFlow frames them: a big-endian length before each. */
#pragma once
#include <stdbool.h>

#include "base/buf.h"
#include "tundish.h"

/* Longest compressed block that is read. */
#define TD_SNAPPY_BLOCK_MAX ((uint64_t)1 << 30)
/* Longest that a search behind damage takes for one: TensorFlow's are under 300 KiB
 * but for those of large records. */
#define TD_SNAPPY_SEARCH_MAX ((uint64_t)4 << 20)
/* Of a block that is cut or damaged, at most that much is decoded. */
#define TD_SNAPPY_SALVAGE_MAX ((size_t)64 << 20)
/* TensorFlow reads no block of more decompressed bytes. */
#define TD_SNAPPY_WRITE_MAX ((size_t)262144)

bool td_snappy_built(void);

/* Decodes a block behind what `out` holds: 1 all of it, 0 what came before the damage. */
int td_snappy_decode(struct td_buf *out, const uint8_t *data, size_t bytes, struct tundish_error *e);
/* Appends the frames of `bytes` bytes, in blocks of at most TD_SNAPPY_WRITE_MAX. */
int td_snappy_encode(struct td_buf *out, const uint8_t *data, size_t bytes, struct tundish_error *e);
bool td_snappy_valid(const uint8_t *data, size_t bytes);

/* At most out_bytes of a block, of which `bytes` are there: how many could be had. */
size_t td_snappy_prefix(const uint8_t *data, size_t bytes, uint8_t *out, size_t out_bytes);

/* May a framed block stand here, going by its two lengths? `all` bytes are left. */
bool td_snappy_plausible(const uint8_t *data, size_t bytes, uint64_t all);
