/* SPDX-License-Identifier: BSD-2-Clause
 * BMP, GIF, TIFF and WebP: their headers, and the door to the module that decodes them. */
#pragma once
#include "image.h"

/* What the module "pictures" exports, of kind "picture". */
struct td_picture_codec {
	/* Decodes the first picture into `out`, three bytes a pixel and no gaps: 16 bits become
	 * their high byte, grey is repeated, alpha is dropped (background -1) or laid over
	 * that level. The size must be that of info. CORRUPT, MEMORY. Any thread. */
	int (*decode)(struct td_buf *out, const struct td_image_info *info, const void *data, size_t len,
	    int background, struct tundish_error *e);
};

/* As td_image_header(); without the module UNSUPPORTED, naming the kind. */
int td_other_header(struct td_image_info *ret, enum td_image_kind kind, const void *data, size_t len,
    uint64_t max_pixels, struct tundish_error *e);
/* As td_decode(): the window of a picture that is decoded whole. ret may be NULL. */
int td_other_decode(struct td_pixels *ret, struct td_buf *pixels, const struct td_image_info *info,
    const void *data, size_t len, const struct td_window *window, int background, struct tundish_error *e);
