/* SPDX-License-Identifier: BSD-2-Clause
 * WebP in the module "pictures": through libwebp, as everyone else reads it. */
#pragma once
#include "other.h"

/* As td_picture_codec.decode(). Of an animation the first frame, where it lies on the canvas;
 * around it black, or the background. Also TRUNCATED, and UNSUPPORTED without libwebp. */
int td_webp_decode(struct td_buf *out, const struct td_image_info *info, const void *data, size_t len,
    int background, struct tundish_error *e);
