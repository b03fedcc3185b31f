/* SPDX-License-Identifier: BSD-2-Clause
 * Frames as RGB pixels, upright. */
#include "pixels.h"

#include <stdlib.h>
#include <string.h>

#include <libavutil/pixdesc.h>

#include "base/err.h"

/* Where the axes of the picture go: x' = xx x + yx y, y' = xy x + yy y, one of each pair 0. */
struct turn {
	int xx, xy, yx, yy;
};

static int sign(int32_t v)
{
	return v < 0 ? -1 : 1;
}

/* The nearest quarter turn, mirrored or not. */
static struct turn turn_of(const int32_t *m)
{
	if (!m)
		return (struct turn){ .xx = 1, .yy = 1 };
	int64_t straight = llabs((int64_t)m[0]) + llabs((int64_t)m[4]);
	int64_t across = llabs((int64_t)m[1]) + llabs((int64_t)m[3]);
	if (straight >= across)
		return (struct turn){ .xx = sign(m[0]), .yy = sign(m[4]) };
	return (struct turn){ .xy = sign(m[1]), .yx = sign(m[3]) };
}

void av_pixels_size(uint32_t *ret_width, uint32_t *ret_height, int width, int height, const int32_t *matrix)
{
	bool across = turn_of(matrix).xx == 0;
	*ret_width = (uint32_t)(across ? height : width);
	*ret_height = (uint32_t)(across ? width : height);
}

static void turn_pixels(uint8_t *out, const uint8_t *in, uint32_t width, uint32_t height, struct turn t)
{
	uint32_t out_width = t.xx ? width : height, out_height = t.xx ? height : width;
	for (uint32_t y = 0; y < height; y++) {
		for (uint32_t x = 0; x < width; x++) {
			uint32_t to_x = t.xx ? x : y, to_y = t.xx ? y : x;
			if ((t.xx ? t.xx : t.yx) < 0)
				to_x = out_width - 1 - to_x;
			if ((t.xx ? t.yy : t.xy) < 0)
				to_y = out_height - 1 - to_y;
			memcpy(out + ((size_t)to_y * out_width + to_x) * 3, in + ((size_t)y * width + x) * 3, 3);
		}
	}
}

/* The scaler is told what the samples mean: it would take all for BT.601. */
static int set_colours(struct SwsContext *scaler, const AVFrame *frame)
{
	int *inverse, *table, from_range, to_range, brightness, contrast, saturation;
	if (sws_getColorspaceDetails(scaler, &inverse, &from_range, &table, &to_range, &brightness, &contrast,
	    &saturation) < 0)
		return 0; /* RGB has none */
	const int *coefficients = sws_getCoefficients((int)frame->colorspace);
	if (frame->color_range != AVCOL_RANGE_UNSPECIFIED)
		from_range = frame->color_range == AVCOL_RANGE_JPEG;
	return sws_setColorspaceDetails(scaler, coefficients, from_range, table, to_range, brightness, contrast,
	    saturation);
}

static int scale(struct av_pixels *p, const AVFrame *frame, struct tundish_error *e)
{
	uint8_t *lines[4] = { p->rows.data };
	int steps[4] = { frame->width * 3 };
	p->scaler = sws_getCachedContext(p->scaler, frame->width, frame->height, (enum AVPixelFormat)frame->format,
	    frame->width, frame->height, AV_PIX_FMT_RGB24,
	    SWS_BICUBIC | SWS_ACCURATE_RND | SWS_BITEXACT | SWS_FULL_CHR_H_INT, NULL, NULL, NULL);
	if (!p->scaler)
		return td_err(e, TUNDISH_E_UNSUPPORTED, "pixels of format %s cannot be turned to RGB",
		    av_get_pix_fmt_name((enum AVPixelFormat)frame->format));
	set_colours(p->scaler, frame);
	int rc = sws_scale(p->scaler, (const uint8_t *const *)frame->data, frame->linesize, 0, frame->height, lines, steps);
	return rc == frame->height ? 0 : td_err(e, TUNDISH_E_CORRUPT, "a frame cannot be turned to RGB");
}

int av_pixels_make(struct av_pixels *p, const AVFrame *frame, const int32_t *matrix, struct tundish_error *e)
{
	/* libswscale writes whole vectors behind the last line */
	size_t bytes = (size_t)frame->width * (size_t)frame->height * 3;
	struct turn turn = turn_of(matrix);
	if (!td_buf_fit(&p->rows, bytes + 64))
		return td_err_memory(e);
	int rc = scale(p, frame, e);
	if (rc < 0)
		return rc;
	p->data = p->rows.data;
	if (turn.xx != 1 || turn.yy != 1) {
		if (!td_buf_fit(&p->turned, bytes))
			return td_err_memory(e);
		turn_pixels(p->turned.data, p->rows.data, (uint32_t)frame->width, (uint32_t)frame->height, turn);
		p->data = p->turned.data;
	}
	av_pixels_size(&p->width, &p->height, frame->width, frame->height, matrix);
	return 0;
}

void av_pixels_free(struct av_pixels *p)
{
	sws_freeContext(p->scaler);
	td_buf_free(&p->rows);
	td_buf_free(&p->turned);
	*p = (struct av_pixels){ 0 };
}
