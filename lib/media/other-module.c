/* SPDX-License-Identifier: BSD-2-Clause
 * The module "pictures": BMP, GIF and TIFF through libav, WebP through libwebp. */
#include <stdlib.h>
#include <string.h>

#include <libavcodec/avcodec.h>
#include <libavutil/imgutils.h>
#include <libavutil/pixdesc.h>
#include <libswscale/swscale.h>

#include "base/err.h"
#include "base/module.h"
#include "webp.h"
#include "words.h"

static int failed(int code, const struct td_image_info *info, struct tundish_error *e)
{
	if (code == AVERROR(ENOMEM))
		return td_err_memory(e);
	return td_err(e, TUNDISH_E_CORRUPT, "%s does not decode: %s", td_image_kind_name(info->kind), TD_ESC(td_words(code)));
}

/* One sample of all pixels of a line, as 8 bits. */
static void take_line(uint8_t *out, size_t step, uint16_t *line, const AVFrame *f, const AVPixFmtDescriptor *d, int y,
    int component)
{
	int depth = d->comp[component].depth;
	unsigned most = (1u << depth) - 1;
	av_read_image_line2(line, (const uint8_t **)f->data, f->linesize, d, 0, y, component, f->width, 0, sizeof *line);
	for (int x = 0; x < f->width; x++) {
		unsigned v = line[x];
		out[(size_t)x * step] = (uint8_t)(depth > 8 ? v >> (depth - 8) : (v * 255 + most / 2) / most);
	}
}

/* The same of a picture with a palette, whose colours are words of ARGB. */
static void take_looked_up(uint8_t *out, size_t step, const AVFrame *f, int y, int component)
{
	static const unsigned shifts[] = { 16, 8, 0, 24 };
	const uint8_t *line = f->data[0] + (ptrdiff_t)y * f->linesize[0];
	for (int x = 0; x < f->width; x++) {
		uint32_t colour;
		memcpy(&colour, f->data[1] + 4 * line[x], sizeof colour);
		out[(size_t)x * step] = (uint8_t)(colour >> shifts[component]);
	}
}

/* RGB, grey and palettes, to the last bit. */
static int take_exact(uint8_t *out, const AVFrame *f, const AVPixFmtDescriptor *d, int background, struct tundish_error *e)
{
	bool palette = d->flags & AV_PIX_FMT_FLAG_PAL, has_alpha = palette || d->flags & AV_PIX_FMT_FLAG_ALPHA;
	bool grey = !palette && d->nb_components < 3;
	size_t width = (size_t)f->width;
	uint16_t *line = malloc(width * sizeof *line);
	uint8_t *alpha = malloc(width);
	int rc = line && alpha ? 0 : td_err_memory(e);
	for (int y = 0; rc == 0 && y < f->height; y++, out += width * 3) {
		for (int c = 0; c < 3; c++) {
			if (palette)
				take_looked_up(out + c, 3, f, y, c);
			else
				take_line(out + c, 3, line, f, d, y, grey ? 0 : c);
		}
		if (background < 0 || !has_alpha)
			continue;
		if (palette)
			take_looked_up(alpha, 1, f, y, 3);
		else
			take_line(alpha, 1, line, f, d, y, grey ? 1 : 3);
		for (size_t i = 0; i < width * 3; i++)
			out[i] = td_over(out[i], alpha[i / 3], background);
	}
	free(line);
	free(alpha);
	return rc;
}

/* Pictures that are stored as luma and chroma. */
static int take_scaled(uint8_t *out, const AVFrame *f, struct tundish_error *e)
{
	struct SwsContext *scaler = sws_getContext(f->width, f->height, (enum AVPixelFormat)f->format, f->width, f->height,
	    AV_PIX_FMT_RGB24, SWS_BICUBIC | SWS_ACCURATE_RND | SWS_BITEXACT | SWS_FULL_CHR_H_INT, NULL, NULL, NULL);
	uint8_t *lines[4] = { out };
	int steps[4] = { f->width * 3 };
	int rc = scaler ? sws_scale(scaler, (const uint8_t *const *)f->data, f->linesize, 0, f->height, lines, steps) : 0;
	sws_freeContext(scaler);
	return rc == f->height ? 0 : td_err(e, TUNDISH_E_UNSUPPORTED, "pixels of this kind cannot be turned to RGB");
}

static int take_pixels(struct td_buf *out, const AVFrame *f, const struct td_image_info *info, int background,
    struct tundish_error *e)
{
	const AVPixFmtDescriptor *d = av_pix_fmt_desc_get((enum AVPixelFormat)f->format);
	size_t bytes = (size_t)info->width * info->height * 3;
	if (!d || f->width != (int)info->width || f->height != (int)info->height)
		return td_err(e, TUNDISH_E_CORRUPT, "a picture of %d x %d where the header says %u x %u", f->width, f->height,
		    info->width, info->height);
	/* libswscale writes whole vectors behind the last line */
	if (!td_buf_fit(out, bytes + 64))
		return td_err_memory(e);
	out->len = bytes;
	bool exact = d->flags & (AV_PIX_FMT_FLAG_RGB | AV_PIX_FMT_FLAG_PAL) || d->nb_components < 3;
	/* no decoder here makes these; none will be read wrongly */
	if (d->flags & AV_PIX_FMT_FLAG_FLOAT || d->comp[0].depth > 16 || (!exact && d->flags & AV_PIX_FMT_FLAG_ALPHA))
		return td_err(e, TUNDISH_E_UNSUPPORTED, "pixels of the kind %s cannot be turned to RGB", d->name);
	return exact ? take_exact(out->data, f, d, background, e) : take_scaled(out->data, f, e);
}

static int decode_packet(AVFrame *frame, AVCodecContext *c, const AVCodec *codec, AVPacket *packet, const void *data,
    size_t len)
{
	int rc = len > INT32_MAX - AV_INPUT_BUFFER_PADDING_SIZE ? AVERROR(EINVAL) : av_new_packet(packet, (int)len);
	if (rc < 0)
		return rc;
	memcpy(packet->data, data, len);
	packet->flags |= AV_PKT_FLAG_KEY;
	rc = avcodec_open2(c, codec, NULL);
	if (rc >= 0)
		rc = avcodec_send_packet(c, packet);
	if (rc >= 0)
		rc = avcodec_send_packet(c, NULL);
	return rc >= 0 ? avcodec_receive_frame(c, frame) : rc;
}

static int decode_by_libav(struct td_buf *out, const struct td_image_info *info, const void *data, size_t len, int background,
    struct tundish_error *e)
{
	static const enum AVCodecID ids[] = {
		[TD_IMAGE_BMP] = AV_CODEC_ID_BMP,
		[TD_IMAGE_GIF] = AV_CODEC_ID_GIF,
		[TD_IMAGE_TIFF] = AV_CODEC_ID_TIFF,
	};
	td_words_keep();
	td_words_forget();
	const AVCodec *codec = avcodec_find_decoder(ids[info->kind]);
	AVCodecContext *c = codec ? avcodec_alloc_context3(codec) : NULL;
	AVPacket *packet = av_packet_alloc();
	AVFrame *frame = av_frame_alloc();
	int rc;
	if (!codec) {
		rc = td_err(e, TUNDISH_E_UNSUPPORTED, "%s is not in this libav", td_image_kind_name(info->kind));
	} else if (!c || !packet || !frame) {
		rc = td_err_memory(e);
	} else {
		c->thread_count = 1;
		c->flags |= AV_CODEC_FLAG_BITEXACT;
		/* in TIFF that would be every unknown tag */
		c->err_recognition = info->kind == TD_IMAGE_TIFF ? 0 : AV_EF_EXPLODE;
		/* buffers are wider and higher */
		c->max_pixels = ((int64_t)info->width + 128) * ((int64_t)info->height + 128);
		int code = decode_packet(frame, c, codec, packet, data, len);
		rc = code < 0 ? failed(code, info, e) : take_pixels(out, frame, info, background, e);
		if (rc == 0 && (frame->flags & AV_FRAME_FLAG_CORRUPT || frame->decode_error_flags))
			rc = td_err(e, TUNDISH_E_CORRUPT, "%s is damaged", td_image_kind_name(info->kind));
	}
	av_frame_free(&frame);
	av_packet_free(&packet);
	avcodec_free_context(&c);
	return rc;
}

static int decode(struct td_buf *out, const struct td_image_info *info, const void *data, size_t len, int background,
    struct tundish_error *e)
{
	return info->kind == TD_IMAGE_WEBP ? td_webp_decode(out, info, data, len, background, e) :
					     decode_by_libav(out, info, data, len, background, e);
}

static const struct td_picture_codec vtable = { decode };

TUNDISH_API const struct td_module tundish_module;
const struct td_module tundish_module = {
	TD_MODULE_MAGIC,
	TD_MODULE_ABI,
	"picture",
	"pictures",
	&vtable,
};
