/* SPDX-License-Identifier: BSD-2-Clause
 * The JPEG half of image.h: markers walked by ourselves, pixels by libjpeg. */
#pragma once
#include "image.h"

/* The frame header, read like libjpeg does; `data` starts with FF D8. */
int td_jpeg_header(struct td_image_info *ret, const void *data, size_t len, uint64_t max_pixels,
    struct tundish_error *e);
/* All markers to the EOI behind a scan. What libjpeg takes is taken: fill bytes, stray
 * bytes between segments, anything behind EOI. */
int td_jpeg_walk(const void *data, size_t len, struct tundish_error *e);

/* See td_image_traits(): orientation, ycck and icc are set. */
void td_jpeg_traits(struct td_image_traits *f, const void *data, size_t len);
/* Of EXIF data, which are a TIFF file; 0: nothing said. In traits.c. */
unsigned td_exif_orientation(const void *tiff, size_t len);

/* A progressive file costs a pass over all coefficients for each scan, and a scan may
 * take a dozen bytes. Real ones have about ten. */
#define TD_JPEG_MAX_SCANS 200

struct td_jpeg;
int td_jpeg_new(struct td_jpeg **ret, struct tundish_error *e);
void td_jpeg_free(struct td_jpeg *j);
/* Lets our own entropy decoder serve baseline files; a new decoder has it off. */
void td_jpeg_use_own(struct td_jpeg *j, bool own);
/* Whether it made the last picture by itself, to the end. */
bool td_jpeg_used_own(const struct td_jpeg *j);
/* Whether it can be used at all: it is built in, and small pictures of each sampling
 * come out the same both ways; false with TUNDISH_JPEG=libjpeg in the environment. Tried
 * once in a process. */
bool td_jpeg_own_works(void);

/* See td_decoder_index() and td_jpeg_index() in image.h. */
void td_jpeg_set_index(struct td_jpeg *j, const void *index, size_t len);
bool td_jpeg_index_refused(const struct td_jpeg *j);
/* See td_decoder_fast(). Width 0: exact. */
void td_jpeg_set_least(struct td_jpeg *j, uint32_t width, uint32_t height);
int td_jpeg_build_index(struct td_jpeg *j, struct td_buf *out, const void *data, size_t len,
    uint32_t spacing, struct tundish_error *e);

/* See td_jpeg_lossless() in image.h. */
int td_jpeg_rewrite(struct td_jpeg *j, struct td_buf *out, const void *data, size_t len,
    bool restarts, uint64_t max_pixels, struct tundish_error *e);

/* As td_decode(). The rows go to `pixels`, or with `pixels` NULL nowhere: then only the
 * warnings and errors count, and *ret is not set. */
int td_jpeg_decode(struct td_jpeg *j, struct td_pixels *ret, struct td_buf *pixels,
    const struct td_image_info *info, const void *data, size_t len,
    const struct td_window *window, bool lenient, struct tundish_error *e);
