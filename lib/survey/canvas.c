/* SPDX-License-Identifier: BSD-2-Clause
 * A picture to draw on: rectangles, pictures, text. */
#include "canvas.h"

#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "font.h"

bool td_canvas_new(struct td_canvas *ret, uint32_t width, uint32_t height, uint32_t colour)
{
	size_t bytes;
	struct td_canvas c = { .width = width, .height = height };
	if (td_mul_overflow((size_t)width * 3, height, &bytes) || !(c.data = malloc(bytes + 1)))
		return false;
	td_canvas_fill(&c, 0, 0, width, height, colour);
	*ret = c;
	return true;
}

void td_canvas_free(struct td_canvas *c)
{
	free(c->data);
	*c = (struct td_canvas){ 0 };
}

static uint8_t *at(const struct td_canvas *c, uint32_t x, uint32_t y)
{
	return c->data + ((size_t)y * c->width + x) * 3;
}

void td_canvas_fill(struct td_canvas *c, uint32_t x, uint32_t y, uint32_t width, uint32_t height,
    uint32_t colour)
{
	x = TD_MIN(x, c->width);
	y = TD_MIN(y, c->height);
	width = TD_MIN(width, c->width - x);
	height = TD_MIN(height, c->height - y);
	for (uint32_t row = 0; row < height; row++) {
		uint8_t *p = at(c, x, y + row);
		for (uint32_t i = 0; i < width; i++, p += 3) {
			p[0] = (uint8_t)(colour >> 16);
			p[1] = (uint8_t)(colour >> 8);
			p[2] = (uint8_t)colour;
		}
	}
}

void td_canvas_place(struct td_canvas *c, uint32_t x, uint32_t y, const uint8_t *rgb, uint32_t width,
    uint32_t height, uint32_t zoom)
{
	for (uint32_t row = 0; row < height; row++) {
		for (uint32_t i = 0; i < width; i++, rgb += 3)
			td_canvas_fill(c, x + i * zoom, y + row * zoom, zoom, zoom,
			    (uint32_t)rgb[0] << 16 | (uint32_t)rgb[1] << 8 | rgb[2]);
	}
}

static void glyph(struct td_canvas *c, uint32_t x, uint32_t y, unsigned scale, uint32_t colour,
    unsigned code)
{
	for (unsigned row = 0; row < TD_FONT_HEIGHT; row++) {
		const char *dots = td_font_row(code, row);
		for (unsigned i = 0; i < TD_FONT_WIDTH; i++) {
			if (dots[i] == '#')
				td_canvas_fill(c, x + i * scale, y + row * scale, scale, scale, colour);
		}
	}
}

/* Bytes of the character at s; what is no UTF-8 counts byte by byte. */
static size_t character(const char *s)
{
	size_t n = td_utf8_char(s, strlen(s));
	return n ? n : 1;
}

static size_t characters(const char *s)
{
	size_t n = 0;
	for (; *s; s += character(s))
		n++;
	return n;
}

uint32_t td_canvas_text_width(const char *text, unsigned scale)
{
	size_t n = TD_MIN(characters(text), (size_t)10000);
	return n ? (uint32_t)(n * TD_FONT_STEP - 1) * scale : 0;
}

void td_canvas_text(struct td_canvas *c, uint32_t x, uint32_t y, unsigned scale, uint32_t width,
    uint32_t colour, const char *text)
{
	size_t room = (width / scale + 1) / TD_FONT_STEP, n = characters(text);
	size_t shown = n <= room ? n : room - TD_MIN(room, (size_t)2);
	for (size_t i = 0; i < TD_MIN(n, room); i++) {
		unsigned code = i < shown ? (unsigned char)*text : '.';
		glyph(c, x, y, scale, colour, code);
		x += TD_FONT_STEP * scale;
		text += character(text);
	}
}
