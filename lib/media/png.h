/* SPDX-License-Identifier: BSD-2-Clause
 * The PNG half of image.h: chunks walked by ourselves, pixels by libpng. */
#pragma once
#include "image.h"

/* IHDR; `data` starts with the signature. */
int td_png_header(struct td_image_info *ret, const void *data, size_t len, uint64_t max_pixels,
    struct tundish_error *e);
/* All chunks with their checksums to IEND; what follows it is of no matter. */
int td_png_walk(const void *data, size_t len, struct tundish_error *e);

/* See td_image_traits(): orientation and icc are set, and transparent for a transparent colour. */
void td_png_traits(struct td_image_traits *f, const void *data, size_t len);

/* As td_decode(); without `pixels` the rows go nowhere and *ret is not set. `row` is
 * working memory; background as td_decoder_background(). */
int td_png_decode(struct td_pixels *ret, struct td_buf *pixels, struct td_buf *row, int background,
    const struct td_image_info *info, const void *data, size_t len,
    const struct td_window *window, struct tundish_error *e);
/* All of a picture of 16 bits, see td_decoder_sixteen(). */
int td_png_decode16(struct td_pixels *ret, struct td_buf *pixels, struct td_buf *row,
    int background, const struct td_image_info *info, const void *data, size_t len,
    struct tundish_error *e);
