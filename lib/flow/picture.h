/* SPDX-License-Identifier: BSD-2-Clause
 * A picture on its way through a chain: what is still to be done to it, done late. */
#pragma once
#include "media/image.h"
#include "media/resize.h"
#include "ops.h"

/* Pixels between two operations, without padding. */
struct td_frame {
	struct td_buf buf;
	uint32_t width, height, channels;
	enum td_elem elem;
};

/* Pixels in memory that is not ours: what was kept, or a raw tensor. */
struct td_raw {
	const void *data; /* aligned or not */
	uint32_t width, height, channels;
	enum td_elem elem;
};

/* What one thread works with; zeroed is empty but for the decoder. */
struct td_desk {
	struct td_decoder *decoder;
	struct td_scratch scratch;
	struct td_frame frames[2];
	struct td_buf affine; /* product and sum of each channel that are noted */
	struct td_buf numbers;/* for an operation while it is noted */
	struct td_buf wide;   /* a window of other numbers, as float32 */
	struct td_buf clip;   /* the frames of the clip at hand: struct td_bytes */
	struct td_buf index;  /* of the JPEG that comes next */
	uint64_t parse_ns, decode_ns, pixels_ns; /* time spent, monotonic */
	unsigned index_refused; /* JPEG indexes that did not fit */
	uint64_t pictures, picture_bytes; /* opened, and what all of each takes decoded */
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
	struct td_raw raw; /* or pixels, where .data is set */
	int at; /* -1: the file, or raw pixels */
	/* what is noted */
	struct td_window window;
	uint32_t width, height, channels; /* as the next operation sees it */
	bool resized, hflip, vflip, scaled;
	enum td_elem elem; /* of the values: float32 once something was computed, noted or settled */
	bool fast;	   /* a JPEG may be made smaller while it is decoded */
	enum td_resize_rule rule;
};

void td_picture_start(struct td_picture *p, struct td_desk *desk, const struct td_image_info *info,
    const void *data, size_t len, struct tundish_error *e);

/* From pixels in memory. */
void td_picture_start_raw(struct td_picture *p, struct td_desk *desk, const struct td_raw *raw,
    struct tundish_error *e);

/* Notes. A crop's window lies in the picture as it is seen now. */
int td_picture_crop(struct td_picture *p, struct td_window window);
int td_picture_resize(struct td_picture *p, uint32_t width, uint32_t height, int rule);
void td_picture_hflip(struct td_picture *p);
void td_picture_vflip(struct td_picture *p);
/* One product and sum for each channel. */
int td_picture_scale(struct td_picture *p, const double *scale, const double *bias);

/* Values become float32. */
void td_picture_float(struct td_picture *p);

/* Carries out the notes; what is seen is then in *ret, which kernels may change in place
 * or replace by the other one (td_picture_other). With `floats` it becomes float32. */
int td_picture_settle(struct td_picture *p, bool floats, struct td_frame **ret);
/* The frame not in use, with room for that size and the type of the one in use. */
int td_picture_other(struct td_picture *p, uint32_t width, uint32_t height, uint32_t channels,
    struct td_frame **ret);
/* Makes the other frame the one in use. */
void td_picture_swap(struct td_picture *p);
/* Rounds to uint8, as cast:uint8 does. */
int td_picture_round(struct td_picture *p);

/* Carries everything out into `out`, which has room for width * height * channels values. A
 * `dtype` that is not of float32 or smaller can only be that of the values. */
int td_picture_finish(struct td_picture *p, int dtype, bool nchw, void *out);

void td_desk_free(struct td_desk *desk);
