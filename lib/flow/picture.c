/* SPDX-License-Identifier: BSD-2-Clause
 * A picture on its way through a chain: what is still to be done to it, done late. */
#include "picture.h"

#include "base/err.h"
#include "base/thread.h"

static void clean_sheet(struct td_picture *p, uint32_t width, uint32_t height, uint32_t channels)
{
	p->window = (struct td_window){ 0, 0, width, height };
	p->width = width;
	p->height = height;
	p->channels = channels;
	p->resized = p->hflip = p->vflip = p->scaled = false;
}

void td_picture_start(struct td_picture *p, struct td_desk *desk, const struct td_image_info *info,
    const void *data, size_t len, struct tundish_error *e)
{
	*p = (struct td_picture){
		.desk = desk, .e = e, .info = info, .data = data, .len = len, .at = -1
	};
	clean_sheet(p, info->width, info->height, 3);
}

void td_picture_start_raw(struct td_picture *p, struct td_desk *desk, const struct td_raw *raw,
    struct tundish_error *e)
{
	*p = (struct td_picture){ .desk = desk, .e = e, .raw = *raw, .elem = raw->elem, .at = -1 };
	clean_sheet(p, raw->width, raw->height, raw->channels);
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
	p->resized = true;
	p->elem = TD_FLOAT32;
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

int td_picture_scale(struct td_picture *p, const double *scale, const double *bias)
{
	uint32_t n = p->channels;
	/* what is noted already is as long */
	if (!p->scaled && !td_buf_fit(&p->desk->affine, 2 * (size_t)n * sizeof(float)))
		return td_err_memory(p->e);
	float *noted = (float *)p->desk->affine.data;
	for (uint32_t c = 0; c < n; c++) {
		double s = p->scaled ? (double)noted[c] : 1, b = p->scaled ? (double)noted[n + c] : 0;
		noted[c] = (float)(s * scale[c]);
		noted[n + c] = (float)(b * scale[c] + bias[c]);
	}
	p->scaled = true;
	p->elem = TD_FLOAT32;
	return 0;
}

void td_picture_float(struct td_picture *p)
{
	p->elem = TD_FLOAT32;
}

/* The window of pixels that lie in memory. */
static struct td_pixels view(const struct td_picture *p)
{
	const struct td_frame *f = p->at < 0 ? NULL : &p->desk->frames[p->at];
	const struct td_raw from = !f ? p->raw :
	    (struct td_raw){ f->buf.data, f->width, f->height, f->channels, f->elem };
	size_t bytes = td_elem_bytes(from.elem), row = (size_t)from.width * from.channels;
	return (struct td_pixels){
		.data = (const uint8_t *)from.data +
		    (p->window.y * row + (size_t)p->window.x * from.channels) * bytes,
		.width = p->window.width,
		.height = p->window.height,
		.channels = from.channels,
		.step = from.channels,
		.stride = row * bytes,
		.elem = from.elem,
	};
}

/* Whether it can be computed with as it lies. */
static bool fit_for_math(const struct td_pixels *p)
{
	return p->elem == TD_UINT8 ||
	    (p->elem == TD_FLOAT32 && ((uintptr_t)p->data | p->stride) % sizeof(float) == 0);
}

/* The same pixels as float32. */
static int widen(struct td_picture *p, struct td_pixels *pixels)
{
	size_t row = (size_t)pixels->width * pixels->channels, bytes;
	struct td_buf *to = &p->desk->wide;
	if (td_mul_overflow(row * sizeof(float), pixels->height, &bytes) || !td_buf_fit(to, bytes))
		return td_err_memory(p->e);
	for (uint32_t y = 0; y < pixels->height; y++)
		td_elem_floats((float *)to->data + y * row, pixels->elem, pixels->data + y * pixels->stride,
		    row);
	pixels->data = to->data;
	pixels->stride = row * sizeof(float);
	pixels->elem = TD_FLOAT32;
	return 0;
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
	const float *affine = p->scaled ? (const float *)desk->affine.data : NULL;
	struct td_store store = {
		.width = p->width,
		.height = p->height,
		.rule = p->rule,
		.hflip = p->hflip,
		.vflip = p->vflip,
		.scale = affine,
		.bias = affine ? affine + p->channels : NULL,
		.dtype = dtype,
		.nchw = nchw,
		.out = out,
	};
	struct td_pixels pixels;
	uint64_t start = td_now_ns();
	int rc = 0;
	if (p->at < 0 && !p->raw.data) {
		rc = decode(p, &pixels);
		if (rc < 0)
			return rc;
		uint64_t now = td_now_ns();
		desk->decode_ns += now - start;
		start = now;
	} else {
		pixels = view(p);
	}
	bool moves = !p->resized && !p->scaled && dtype == td_elem_dtype(pixels.elem);
	if (!moves && !fit_for_math(&pixels))
		rc = widen(p, &pixels);
	if (rc == 0)
		rc = td_store_pixels(&pixels, &store, &desk->scratch, p->e);
	desk->pixels_ns += td_now_ns() - start;
	return rc;
}

static int fit(struct td_frame *f, uint32_t width, uint32_t height, uint32_t channels,
    enum td_elem elem, struct tundish_error *e)
{
	size_t bytes;
	if (td_mul_overflow((size_t)width * height, td_elem_bytes(elem) * channels, &bytes) ||
	    !td_buf_fit(&f->buf, bytes))
		return td_err_memory(e);
	f->width = width;
	f->height = height;
	f->channels = channels;
	f->elem = elem;
	return 0;
}

static int settle_as(struct td_picture *p, enum td_elem elem)
{
	int to = p->at == 0;
	struct td_frame *f = &p->desk->frames[to];
	int rc = fit(f, p->width, p->height, p->channels, elem, p->e);
	if (rc == 0)
		rc = carry_out(p, td_elem_dtype(elem), false, f->buf.data);
	if (rc < 0)
		return rc;
	p->at = to;
	p->elem = elem;
	clean_sheet(p, f->width, f->height, f->channels);
	return 0;
}

static bool settled(const struct td_picture *p, enum td_elem elem)
{
	if (p->at < 0 || p->resized || p->hflip || p->vflip || p->scaled)
		return false;
	const struct td_frame *f = &p->desk->frames[p->at];
	return f->elem == elem && p->width == f->width && p->height == f->height;
}

int td_picture_settle(struct td_picture *p, bool floats, struct td_frame **ret)
{
	enum td_elem elem = floats ? TD_FLOAT32 : p->elem;
	int rc = settled(p, elem) ? 0 : settle_as(p, elem);
	if (rc == 0)
		*ret = &p->desk->frames[p->at];
	return rc;
}

int td_picture_other(struct td_picture *p, uint32_t width, uint32_t height, uint32_t channels,
    struct td_frame **ret)
{
	struct td_frame *f = &p->desk->frames[!p->at];
	int rc = fit(f, width, height, channels, p->desk->frames[p->at].elem, p->e);
	if (rc == 0)
		*ret = f;
	return rc;
}

void td_picture_swap(struct td_picture *p)
{
	p->at = !p->at;
	const struct td_frame *f = &p->desk->frames[p->at];
	clean_sheet(p, f->width, f->height, f->channels);
}

int td_picture_round(struct td_picture *p)
{
	return p->elem != TD_UINT8 ? settle_as(p, TD_UINT8) : 0;
}

int td_picture_finish(struct td_picture *p, int dtype, bool nchw, void *out)
{
	return carry_out(p, dtype, nchw, out);
}

void td_desk_free(struct td_desk *desk)
{
	td_decoder_free(desk->decoder);
	td_scratch_free(&desk->scratch);
	td_buf_free(&desk->affine);
	td_buf_free(&desk->numbers);
	td_buf_free(&desk->wide);
	td_buf_free(&desk->clip);
	td_buf_free(&desk->index);
	for (int i = 0; i < 2; i++)
		td_buf_free(&desk->frames[i].buf);
	*desk = (struct td_desk){ 0 };
}
