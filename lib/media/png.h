/* SPDX-License-Identifier: BSD-2-Clause
 * The PNG half of image.h: chunks walked by ourselves, pixels by libpng. */
#pragma once
#include "image.h"

/* IHDR; `data` starts with the signature. */
int td_png_header(struct td_image_info *ret, const void *data, size_t len, uint64_t max_pixels,
    struct tundish_error *e);
/* All chunks with their checksums to IEND; what follows it is of no matter. */
int td_png_walk(const void *data, size_t len, struct tundish_error *e);

/* As td_decode(); without `pixels` the rows go nowhere and *ret is not set. `row` is
 * working memory. */
int td_png_decode(struct td_pixels *ret, struct td_buf *pixels, struct td_buf *row,
    const struct td_image_info *info, const void *data, size_t len,
    const struct td_window *window, struct tundish_error *e);
