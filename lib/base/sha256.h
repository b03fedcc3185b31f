/* SPDX-License-Identifier: BSD-2-Clause
 * SHA-256 (FIPS 180-4), with the CPU's own instructions where it has them. */
#pragma once
#include <stdbool.h>

#include "attr.h"

struct td_sha256 {
	uint32_t h[8];
	uint64_t bytes;
	uint8_t block[64];
};

void td_sha256_init(struct td_sha256 *s);
void td_sha256_add(struct td_sha256 *s, const void *data, size_t bytes);
/* The digest of all so far; adding may go on. */
void td_sha256_raw(const struct td_sha256 *s, uint8_t out[32]);
/* The same as 64 hexadecimal digits and a NUL. */
void td_sha256_hex(const struct td_sha256 *s, char out[65]);

/* The two ways to take in whole blocks; for the test that holds them side by side. */
void td_sha256_blocks_c(uint32_t h[8], const uint8_t *data, size_t n);
/* False where the CPU cannot; nothing is done then. */
bool td_sha256_blocks_ni(uint32_t h[8], const uint8_t *data, size_t n);
