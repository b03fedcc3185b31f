/* SPDX-License-Identifier: BSD-2-Clause
 * What raster.c needs of Radiance pictures to tell them apart. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

/* By a "#?" or a FORMAT line before the first empty one. */
bool td_radiance_probe(const void *data, size_t len);
