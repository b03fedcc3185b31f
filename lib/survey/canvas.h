/* SPDX-License-Identifier: BSD-2-Clause
 * A picture to draw on: rectangles, pictures, text. */
#pragma once
#include "base/buf.h"

/* 8-bit RGB, no gaps. */
struct td_canvas {
	uint32_t width, height;
	uint8_t *data;
};

/* Filled with a colour 0xRRGGBB. Needs free(). */
bool td_canvas_new(struct td_canvas *ret, uint32_t width, uint32_t height, uint32_t colour)
    td_must_check;
void td_canvas_free(struct td_canvas *c);

/* What lies outside is cut off; each pixel of a picture becomes a square of `zoom`. */
void td_canvas_fill(struct td_canvas *c, uint32_t x, uint32_t y, uint32_t width, uint32_t height,
    uint32_t colour);
void td_canvas_place(struct td_canvas *c, uint32_t x, uint32_t y, const uint8_t *rgb, uint32_t width,
    uint32_t height, uint32_t zoom);

/* UTF-8 text with its upper left corner at x, y, each dot `scale` pixels wide. What does
 * not fit into `width` is cut and ends in "..". */
void td_canvas_text(struct td_canvas *c, uint32_t x, uint32_t y, unsigned scale, uint32_t width,
    uint32_t colour, const char *text);
/* How wide it would be. */
uint32_t td_canvas_text_width(const char *text, unsigned scale);
