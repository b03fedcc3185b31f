/* SPDX-License-Identifier: BSD-2-Clause
 * How often each level of each channel occurs: exact means and deviations of pixels. */
#pragma once
#include "media/image.h"

struct td_levels {
	uint64_t images, pixels;
	uint64_t n[3][256];
};

void td_levels_add(struct td_levels *l, const struct td_pixels *pixels);
/* Adds those of `part` and empties it. */
void td_levels_merge(struct td_levels *l, struct td_levels *part);

struct td_level_stats {
	double mean, std; /* of levels, 0 to 255; of the whole population */
	unsigned least, median, most;
};

/* All 0 without pixels. Depends on the counts alone. */
void td_levels_stats(const struct td_levels *l, unsigned channel, struct td_level_stats *ret);
/* The JSON file that tundish-inspect(1) documents. */
int td_levels_write(const struct td_levels *l, const char *path, struct tundish_error *e);
