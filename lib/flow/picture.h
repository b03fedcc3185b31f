/* SPDX-License-Identifier: BSD-2-Clause
 * A picture on its way through a chain: what is still to be done to it, done late. */
#pragma once
#include "media/image.h"
#include "media/resize.h"
#include "ops.h"

/* Pixels between two operations, three values each, no padding. */
struct td_frame {
	struct td_buf buf;
	uint32_t width, height;
	bool floats; /* float32, else uint8 */
};

/* What one thread works with; zeroed is empty but for the decoder. */
struct td_desk {
	struct td_decoder *decoder;
	struct td_scratch scratch;
	struct td_frame frames[2];
	struct td_buf index; /* of the JPEG that comes next */
	uint64_t parse_ns, decode_ns, pixels_ns; /* time spent, monotonic */
	unsigned index_refused; /* JPEG indexes that did not fit */
	uint64_t held;		/* in the ledger for the buffers above */
};

/*
 * Crops, flips, resize and normalize are not done when they are met but noted: as the
 * window of the source that is wanted, the size it is to have, the flips, and one
 * product and sum a channel. So the usual chain is one decode of the crop and one pass
 * from there into the batch. An operation that cannot be noted (a crop behind a resize, a
 * kernel of its own) first lets the picture settle: the notes are carried out into a
 * frame, and a clean sheet begins with that frame as source.
 */
struct td_picture {
	struct td_desk *desk;
	struct tundish_error *e;
	/* the source: a file until it settles, then frames[at] */
	const struct td_image_info *info;
	const uint8_t *data;
	size_t len;
	const uint8_t *index; /* of a JPEG, or NULL */
	size_t index_len;
	const uint8_t *pixels; /* or the picture as it was kept, of `kept` type and size */
	struct td_size kept;
	bool kept_floats;
	int at; /* -1: the file, or what was kept */
	/* what is noted */
	struct td_window window;
	uint32_t width, height; /* as the next operation sees it */
	bool resized, hflip, vflip, scaled;
	bool floats; /* values are float32 by now, noted or settled */
	bool fast;   /* a JPEG may be made smaller while it is decoded */
	enum td_resize_rule rule;
	float scale[3], bias[3];
};

void td_picture_start(struct td_picture *p, struct td_desk *desk, const struct td_image_info *info,
    const void *data, size_t len, struct tundish_error *e);

/* From pixels that were kept: three values each, no padding. */
void td_picture_start_kept(struct td_picture *p, struct td_desk *desk, const void *pixels,
    struct td_size size, bool floats, struct tundish_error *e);

/* Notes. A crop's window lies in the picture as it is seen now. */
int td_picture_crop(struct td_picture *p, struct td_window window);
int td_picture_resize(struct td_picture *p, uint32_t width, uint32_t height, int rule);
void td_picture_hflip(struct td_picture *p);
void td_picture_vflip(struct td_picture *p);
void td_picture_scale(struct td_picture *p, const double scale[3], const double bias[3]);

/* Carries out the notes; what is seen is then in *ret, which kernels may change in place
 * or replace by the other one (td_picture_other). With `floats` it becomes float32. */
int td_picture_settle(struct td_picture *p, bool floats, struct td_frame **ret);
/* The frame not in use, with room for that size and the type of the one in use. */
int td_picture_other(struct td_picture *p, uint32_t width, uint32_t height, struct td_frame **ret);
/* Makes the other frame the one in use. */
void td_picture_swap(struct td_picture *p);
/* Rounds to uint8, as cast:uint8 does. */
int td_picture_round(struct td_picture *p);

/* Carries everything out into `out`, which has room for width * height * 3 values. */
int td_picture_finish(struct td_picture *p, int dtype, bool nchw, void *out);

void td_desk_free(struct td_desk *desk);
