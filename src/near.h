/* SPDX-License-Identifier: BSD-2-Clause
 * "Did you mean": the nearest of some names to a mistyped one. */
#pragma once
#include <stddef.h>

/* Start with *best NULL and *distance (size_t)-1 and offer all names one by one; then
 * *best is the nearest name that is near enough to be meant, or NULL. */
void near_offer(const char *typed, const char *name, const char **best, size_t *distance);
