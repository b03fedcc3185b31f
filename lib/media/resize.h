/* SPDX-License-Identifier: BSD-2-Clause
 * From decoded pixels to a sample in the batch: resize, flip, normalise, cast, lay out. */
#pragma once
#include "image.h"

enum td_resize_rule {
	TD_RESIZE_BILINEAR,  /* tf.image.resize: half-pixel centres, no antialias */
	TD_RESIZE_ANTIALIAS, /* Pillow's and torchvision's triangle filter */
	TD_RESIZE_AREA,	     /* tf.image.resize(method="area") */
};

/* What one sample is to look like. Value v of channel c is stored as
 * v * scale[c] + bias[c] in float32 (exactly so: one product, one sum), then cast. */
struct td_store {
	uint32_t width, height;
	enum td_resize_rule rule; /* unused when the size stays */
	bool hflip, vflip;
	const float *scale, *bias; /* one for each channel; NULL: the value as it is */
	int dtype; /* enum tundish_dtype; uint8: rounded to nearest even, clamped, NaN 0 */
	bool nchw; /* planes, else interleaved */
	void *out;
};

/* Working memory of one thread; zeroed is empty. */
struct td_scratch {
	struct td_buf rows, weights, floats;
};
void td_scratch_free(struct td_scratch *s);

/* Rows become columns: `to` has the pixels of a picture of height x width, `bytes` each. */
void td_transpose(void *to, const void *from, uint32_t width, uint32_t height, size_t bytes);

/* Takes a source of pixels, uint8 or float32 where a float may lie, to store->out, which has
 * as many channels. Of any other type pixels can only be moved: to the same size and type,
 * unscaled. The result depends on nothing but the arguments: the same on every CPU. MEMORY
 * is the only error. */
int td_store_pixels(const struct td_pixels *src, const struct td_store *store,
    struct td_scratch *s, struct tundish_error *e);
