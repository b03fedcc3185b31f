/* SPDX-License-Identifier: BSD-2-Clause
 * WebP in the module "pictures": through libwebp, as everyone else reads it. */
#include "webp.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"

#if HAVE_WEBP
#include <webp/decode.h>
#include <webp/demux.h>

static int failed(VP8StatusCode code, struct tundish_error *e)
{
	switch (code) {
	case VP8_STATUS_OK:
		return 0;
	case VP8_STATUS_OUT_OF_MEMORY:
		return td_err_memory(e);
	case VP8_STATUS_NOT_ENOUGH_DATA:
	case VP8_STATUS_SUSPENDED:
		return td_err(e, TUNDISH_E_TRUNCATED, "WebP is cut");
	default:
		return td_err(e, TUNDISH_E_CORRUPT, "WebP does not decode");
	}
}

static VP8StatusCode decode_frame(const WebPIterator *frame, WEBP_CSP_MODE mode, uint8_t *to, size_t stride, size_t room)
{
	WebPDecoderConfig config;
	if (!WebPInitDecoderConfig(&config))
		return VP8_STATUS_INVALID_PARAM;
	config.output.colorspace = mode;
	config.output.is_external_memory = 1;
	config.output.u.RGBA = (WebPRGBABuffer){ to, (int)stride, room };
	return WebPDecode(frame->fragment.bytes, frame->fragment.size, &config);
}

/* With its alpha, over what is there. */
static int lay_over(uint8_t *out, size_t stride, const WebPIterator *frame, int background, struct tundish_error *e)
{
	size_t width = (size_t)frame->width, height = (size_t)frame->height;
	uint8_t *pixels = malloc(width * height * 4);
	if (!pixels)
		return td_err_memory(e);
	int rc = failed(decode_frame(frame, MODE_RGBA, pixels, width * 4, width * height * 4), e);
	for (size_t y = 0; rc == 0 && y < height; y++, out += stride)
		for (size_t x = 0; x < width; x++) {
			const uint8_t *p = pixels + (y * width + x) * 4;
			for (unsigned c = 0; c < 3; c++)
				out[3 * x + c] = td_over(p[c], p[3], background);
		}
	free(pixels);
	return rc;
}

static int put_frame(struct td_buf *out, const struct td_image_info *info, const WebPIterator *frame, int background,
    struct tundish_error *e)
{
	int64_t left = frame->x_offset, top = frame->y_offset;
	if (left < 0 || top < 0 || frame->width < 1 || frame->height < 1 || left + frame->width > info->width ||
	    top + frame->height > info->height)
		return td_err(e, TUNDISH_E_CORRUPT, "a frame of %d x %d at %d, %d does not lie on %u x %u", frame->width,
		    frame->height, frame->x_offset, frame->y_offset, info->width, info->height);
	size_t stride = (size_t)info->width * 3, bytes = stride * info->height;
	if (!td_buf_fit(out, bytes))
		return td_err_memory(e);
	out->len = bytes;
	memset(out->data, background < 0 ? 0 : background, bytes);
	size_t at = (size_t)top * stride + (size_t)left * 3;
	if (background >= 0)
		return lay_over(out->data + at, stride, frame, background, e);
	return failed(decode_frame(frame, MODE_RGB, out->data + at, stride, bytes - at), e);
}

static int first_frame(struct td_buf *out, const struct td_image_info *info, const WebPDemuxer *d, int background,
    struct tundish_error *e)
{
	uint32_t width = WebPDemuxGetI(d, WEBP_FF_CANVAS_WIDTH), height = WebPDemuxGetI(d, WEBP_FF_CANVAS_HEIGHT);
	if (width != info->width || height != info->height)
		return td_err(e, TUNDISH_E_CORRUPT, "a picture of %u x %u where the header says %u x %u", width, height,
		    info->width, info->height);
	WebPIterator frame = { 0 };
	int rc = WebPDemuxGetFrame(d, 1, &frame) ? put_frame(out, info, &frame, background, e) :
						   td_err(e, TUNDISH_E_CORRUPT, "WebP without a picture");
	WebPDemuxReleaseIterator(&frame);
	return rc;
}

int td_webp_decode(struct td_buf *out, const struct td_image_info *info, const void *data, size_t len,
    int background, struct tundish_error *e)
{
	const WebPData all = { data, len };
	WebPDemuxState state = WEBP_DEMUX_PARSE_ERROR;
	WebPDemuxer *d = WebPDemuxPartial(&all, &state);
	int rc;
	if (state == WEBP_DEMUX_PARSE_ERROR)
		rc = td_err(e, TUNDISH_E_CORRUPT, "WebP does not decode: its chunks do not fit");
	else if (state != WEBP_DEMUX_DONE)
		rc = td_err(e, TUNDISH_E_TRUNCATED, "WebP is cut");
	else
		rc = d ? first_frame(out, info, d, background, e) : td_err_memory(e);
	WebPDemuxDelete(d);
	return rc;
}
#else
int td_webp_decode(struct td_buf *out, const struct td_image_info *info, const void *data, size_t len,
    int background, struct tundish_error *e)
{
	(void)out;
	(void)info;
	(void)data;
	(void)len;
	(void)background;
	return td_err(e, TUNDISH_E_UNSUPPORTED, "WebP needs libwebp, which this build does without");
}
#endif
