/* SPDX-License-Identifier: BSD-2-Clause
 * Operations that need a pass over pixels of their own. */
#pragma once
#include "picture.h"

/* From one frame into another of the right size and the same type. */
void td_pass_pad(struct td_frame *to, const struct td_frame *from, uint32_t left, uint32_t top,
    double value);
/* Counter-clockwise, as tf.image.rot90. */
void td_pass_rot90(struct td_frame *to, const struct td_frame *from);

/* In place, float32. */
void td_pass_grayscale(struct td_frame *f);
void td_pass_clamp(struct td_frame *f, float low, float high);
