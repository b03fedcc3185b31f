/* SPDX-License-Identifier: BSD-2-Clause
 * Operations that need a pass over pixels of their own. */
#pragma once
#include "picture.h"

/* From one frame into another of the right size and the same type. */
void td_pass_pad(struct td_frame *to, const struct td_frame *from, uint32_t left, uint32_t top,
    double value);
/* Counter-clockwise, as tf.image.rot90. */
void td_pass_rot90(struct td_frame *to, const struct td_frame *from);

/* Channel c of `to` is channel bands[c] of `from`. */
void td_pass_bands(struct td_frame *to, const struct td_frame *from, const uint32_t *bands);

/* In place, float32; of three channels, but for clamp and brightness. */
void td_pass_grayscale(struct td_frame *f);
void td_pass_clamp(struct td_frame *f, float low, float high);
/* A colour's distance from grey, from the mean grey, and from black, by a factor; all of
 * them clamp to 0 .. 255. */
void td_pass_saturation(struct td_frame *f, float factor);
void td_pass_contrast(struct td_frame *f, float factor);
void td_pass_brightness(struct td_frame *f, float factor);
/* Turns hues by that part of the circle. */
void td_pass_hue(struct td_frame *f, float turn);
/* A window of one value. */
void td_pass_fill(struct td_frame *f, struct td_window window, double value);

/* float32, from one frame into another of the same size. Counter-clockwise about the
 * middle, bilinear, `value` outside. */
void td_pass_rotate(struct td_frame *to, const struct td_frame *from, double sine, double cosine,
    float value);
/* Rows of `from` into columns of `to`, filtered along the row; twice is a blur in both
 * directions, the right way round. `n` weights, odd; the border is reflected. */
void td_pass_filter(struct td_frame *to, const struct td_frame *from, const float *weights,
    unsigned n);
