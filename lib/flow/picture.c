/* SPDX-License-Identifier: BSD-2-Clause
 * A picture on its way through a chain: what is still to be done to it, done late. */
#include "picture.h"

#include "base/err.h"
#include "base/thread.h"

static void clean_sheet(struct td_picture *p, uint32_t width, uint32_t height)
{
	p->window = (struct td_window){ 0, 0, width, height };
	p->width = width;
	p->height = height;
	p->resized = p->hflip = p->vflip = p->scaled = false;
}

void td_picture_start(struct td_picture *p, struct td_desk *desk, const struct td_image_info *info,
    const void *data, size_t len, struct tundish_error *e)
{
	*p = (struct td_picture){
		.desk = desk, .e = e, .info = info, .data = data, .len = len, .at = -1
	};
	clean_sheet(p, info->width, info->height);
}

void td_picture_start_kept(struct td_picture *p, struct td_desk *desk, const void *pixels,
    struct td_size size, bool floats, struct tundish_error *e)
{
	*p = (struct td_picture){
		.desk = desk, .e = e, .pixels = pixels, .kept = size, .kept_floats = floats,
		.floats = floats, .at = -1
	};
	clean_sheet(p, size.width, size.height);
}

int td_picture_crop(struct td_picture *p, struct td_window w)
{
	if (p->resized) {
		struct td_frame *f;
		int rc = td_picture_settle(p, true, &f);
		if (rc < 0)
			return rc;
	}
	/* under a flip the window lies mirrored in the source */
	p->window.x += p->hflip ? p->width - w.x - w.width : w.x;
	p->window.y += p->vflip ? p->height - w.y - w.height : w.y;
	p->window.width = p->width = w.width;
	p->window.height = p->height = w.height;
	return 0;
}

int td_picture_resize(struct td_picture *p, uint32_t width, uint32_t height, int rule)
{
	if (p->resized) {
		struct td_frame *f;
		int rc = td_picture_settle(p, true, &f);
		if (rc < 0)
			return rc;
	}
	p->resized = p->floats = true;
	p->rule = (enum td_resize_rule)rule;
	p->width = width;
	p->height = height;
	return 0;
}

void td_picture_hflip(struct td_picture *p)
{
	p->hflip = !p->hflip;
}

void td_picture_vflip(struct td_picture *p)
{
	p->vflip = !p->vflip;
}

void td_picture_scale(struct td_picture *p, const double scale[3], const double bias[3])
{
	for (int c = 0; c < 3; c++) {
		double s = p->scaled ? (double)p->scale[c] : 1, b = p->scaled ? (double)p->bias[c] : 0;
		p->scale[c] = (float)(s * scale[c]);
		p->bias[c] = (float)(b * scale[c] + bias[c]);
	}
	p->scaled = p->floats = true;
}

/* The window of pixels that lie in memory. */
static struct td_pixels view(const struct td_picture *p)
{
	bool kept = p->at < 0;
	const struct td_frame *f = kept ? NULL : &p->desk->frames[p->at];
	size_t row = (size_t)(kept ? p->kept.width : f->width) * 3;
	bool floats = kept ? p->kept_floats : f->floats;
	size_t bytes = floats ? sizeof(float) : 1;
	return (struct td_pixels){
		.data = (kept ? p->pixels : f->buf.data) +
		    (p->window.y * row + p->window.x * 3) * bytes,
		.width = p->window.width,
		.height = p->window.height,
		.channels = 3,
		.step = 3,
		.stride = row * bytes,
		.floats = floats,
	};
}

/* An index helps only where less than the picture is wanted. */
static int decode(struct td_picture *p, struct td_pixels *ret)
{
	struct td_desk *desk = p->desk;
	const struct td_window *w = &p->window;
	bool jumps = p->index && p->info->kind == TD_IMAGE_JPEG &&
	    (w->width < p->info->width || w->height < p->info->height);
	if (jumps)
		td_decoder_index(desk->decoder, p->index, p->index_len);
	if (p->fast && p->resized)
		td_decoder_fast(desk->decoder, p->width, p->height);
	int rc = td_decode(desk->decoder, ret, p->info, p->data, p->len, w, false, p->e);
	if (jumps && td_decoder_index_refused(desk->decoder))
		desk->index_refused++;
	return rc;
}

/* From frames[at] or the file, by way of the notes, to `out`. */
static int carry_out(struct td_picture *p, int dtype, bool nchw, void *out)
{
	struct td_desk *desk = p->desk;
	struct td_store store = {
		.width = p->width,
		.height = p->height,
		.rule = p->rule,
		.hflip = p->hflip,
		.vflip = p->vflip,
		.scaled = p->scaled,
		.dtype = dtype,
		.nchw = nchw,
		.out = out,
	};
	for (int c = 0; c < 3; c++) {
		store.scale[c] = p->scale[c];
		store.bias[c] = p->bias[c];
	}
	struct td_pixels pixels;
	uint64_t start = td_now_ns();
	if (p->at < 0 && !p->pixels) {
		int rc = decode(p, &pixels);
		if (rc < 0)
			return rc;
		uint64_t now = td_now_ns();
		desk->decode_ns += now - start;
		start = now;
	} else {
		pixels = view(p);
	}
	int rc = td_store_pixels(&pixels, &store, &desk->scratch, p->e);
	desk->pixels_ns += td_now_ns() - start;
	return rc;
}

static int fit(struct td_frame *f, uint32_t width, uint32_t height, bool floats,
    struct tundish_error *e)
{
	size_t bytes;
	if (td_mul_overflow((size_t)width * height, (floats ? sizeof(float) : 1) * 3, &bytes) ||
	    !td_buf_fit(&f->buf, bytes))
		return td_err_memory(e);
	f->width = width;
	f->height = height;
	f->floats = floats;
	return 0;
}

static int settle_as(struct td_picture *p, bool floats)
{
	int to = p->at == 0;
	struct td_frame *f = &p->desk->frames[to];
	int rc = fit(f, p->width, p->height, floats, p->e);
	if (rc == 0)
		rc = carry_out(p, floats ? TUNDISH_FLOAT32 : TUNDISH_UINT8, false, f->buf.data);
	if (rc < 0)
		return rc;
	p->at = to;
	p->floats = floats;
	clean_sheet(p, f->width, f->height);
	return 0;
}

static bool settled(const struct td_picture *p, bool floats)
{
	if (p->at < 0 || p->resized || p->hflip || p->vflip || p->scaled)
		return false;
	const struct td_frame *f = &p->desk->frames[p->at];
	return f->floats == floats && p->width == f->width && p->height == f->height;
}

int td_picture_settle(struct td_picture *p, bool floats, struct td_frame **ret)
{
	floats = floats || p->floats;
	int rc = settled(p, floats) ? 0 : settle_as(p, floats);
	if (rc == 0)
		*ret = &p->desk->frames[p->at];
	return rc;
}

int td_picture_other(struct td_picture *p, uint32_t width, uint32_t height, struct td_frame **ret)
{
	struct td_frame *f = &p->desk->frames[!p->at];
	int rc = fit(f, width, height, p->desk->frames[p->at].floats, p->e);
	if (rc == 0)
		*ret = f;
	return rc;
}

void td_picture_swap(struct td_picture *p)
{
	p->at = !p->at;
	clean_sheet(p, p->desk->frames[p->at].width, p->desk->frames[p->at].height);
}

int td_picture_round(struct td_picture *p)
{
	return p->floats ? settle_as(p, false) : 0;
}

int td_picture_finish(struct td_picture *p, int dtype, bool nchw, void *out)
{
	return carry_out(p, dtype, nchw, out);
}

void td_desk_free(struct td_desk *desk)
{
	td_decoder_free(desk->decoder);
	td_scratch_free(&desk->scratch);
	td_buf_free(&desk->index);
	for (int i = 0; i < 2; i++)
		td_buf_free(&desk->frames[i].buf);
	*desk = (struct td_desk){ 0 };
}
