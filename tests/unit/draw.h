/* SPDX-License-Identifier: BSD-2-Clause
 * Draws for tests. */
#pragma once
#include <stdint.h>

/* A sequence of numbers that is the same everywhere. */
static inline uint32_t draw(uint32_t *state)
{
	*state = *state * 1664525u + 1013904223u;
	return *state >> 8;
}
