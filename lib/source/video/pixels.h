/* SPDX-License-Identifier: BSD-2-Clause
 * Frames as RGB pixels, upright. */
#pragma once
#include <libavutil/frame.h>
#include <libswscale/swscale.h>

#include "base/buf.h"
#include "tundish.h"

/* What is kept from one frame to the next; zeroed memory is a new one. */
struct av_pixels {
	struct SwsContext *scaler;
	struct td_buf rows, turned;
	const uint8_t *data; /* the last picture: 3 bytes a pixel, lines without gaps */
	uint32_t width, height;
};

/* Fills p->data. Bicubic chroma, rounded accurately, with the frame's own matrix and range
 * (where it tells none: BT.601, limited); more than 8 bits are rounded by libswscale.
 * `matrix` is the display matrix, or NULL: quarter turns and mirrors are applied. */
int av_pixels_make(struct av_pixels *p, const AVFrame *frame, const int32_t *matrix, struct tundish_error *e);
/* Width and height after the matrix. */
void av_pixels_size(uint32_t *ret_width, uint32_t *ret_height, int width, int height, const int32_t *matrix);
void av_pixels_free(struct av_pixels *p);
