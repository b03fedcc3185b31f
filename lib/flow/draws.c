/* SPDX-License-Identifier: BSD-2-Clause
 * Random windows. */
#include "base/real.h"
#include "ops.h"

/* Square roots and rounding are exact by IEEE 754, so that all CPUs draw alike. */
static double nearest(double v)
{
	return __builtin_rint(v);
}

/* The ratio is width to height, or with `upright` height to width. */
static bool try_window(uint32_t width, uint32_t height, const double scale[2],
    const double ratio[2], bool upright, struct td_rng *rng, struct td_window *ret)
{
	double area = (double)width * height * (scale[0] + td_rng_unit(rng) * (scale[1] - scale[0]));
	double low = td_log(ratio[0]), high = td_log(ratio[1]);
	double aspect = td_exp(low + td_rng_unit(rng) * (high - low));
	aspect = upright ? 1 / aspect : aspect;
	double w = nearest(__builtin_sqrt(area * aspect)), h = nearest(__builtin_sqrt(area / aspect));
	if (!(w > 0 && w <= width && h > 0 && h <= height))
		return false;
	*ret = (struct td_window){ .width = (uint32_t)w, .height = (uint32_t)h };
	ret->y = (uint32_t)td_rng_below(rng, height - ret->height + 1);
	ret->x = (uint32_t)td_rng_below(rng, width - ret->width + 1);
	return true;
}

/* The middle, as much as the ratios allow. */
static struct td_window middle_window(uint32_t width, uint32_t height, const double ratio[2])
{
	double whole = (double)width / height;
	uint32_t w = width, h = height;
	if (whole < ratio[0])
		h = TD_MIN(TD_MAX((uint32_t)nearest(width / ratio[0]), 1u), height);
	else if (whole > ratio[1])
		w = TD_MIN(TD_MAX((uint32_t)nearest(height * ratio[1]), 1u), width);
	return (struct td_window){ (width - w) / 2, (height - h) / 2, w, h };
}

struct td_window td_random_resized_window(uint32_t width, uint32_t height, const double scale[2],
    const double ratio[2], struct td_rng *rng)
{
	struct td_window w;
	for (int i = 0; i < 10; i++) {
		if (try_window(width, height, scale, ratio, false, rng, &w))
			return w;
	}
	return middle_window(width, height, ratio);
}

struct td_window td_erasing_window(uint32_t width, uint32_t height, const double scale[2],
    const double ratio[2], struct td_rng *rng)
{
	struct td_window w;
	for (int i = 0; i < 10; i++) {
		if (try_window(width, height, scale, ratio, true, rng, &w) && w.width < width &&
		    w.height < height)
			return w;
	}
	return (struct td_window){ 0 };
}
