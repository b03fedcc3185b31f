/* SPDX-License-Identifier: BSD-2-Clause
 * What is done to each picture: a chain of operations, from its text to a list. */
#pragma once
#include "base/elem.h"
#include "base/rng.h"
#include "clip.h"
#include "media/resize.h"
#include "mixup.h"

/*
 * The text is that of tundish-flow(7): NAME[:VALUE][,key=value...], separated by
 * blanks. Everything about an operation stands in one line of the table in ops.c:
 * its parameters, what it does to the size, and the function that does it.
 *
 * Crops, flips, rot90 and pad keep the type; all else computes and stays in float32,
 * unrounded, until a cast. cast and layout at the end say what the batch holds
 * and are no part of the list.
 */
struct td_op_kind;
struct td_picture;

#define TD_TENSOR_AXES 7

/* A list of the operation's own. */
struct td_numbers {
	double *list;
	uint32_t n;
};
struct td_bands {
	uint32_t *list; /* from 0 */
	uint32_t n;
};

struct td_op {
	const struct td_op_kind *kind;
	uint32_t purpose;	/* of its draws: TD_RNG_OP + place in the chain */
	uint32_t width, height;	/* resize, crops; resize_shorter: width alone */
	uint32_t x, y;
	uint32_t edge[4];	/* pad: left, top, right, bottom */
	int rule;		/* enum td_resize_rule */
	int fast;		/* decode */
	int dtype;
	int layout;		/* 1: planes */
	double p;		/* probability */
	double fraction;
	double value;
	double scale[2], ratio[2], range[2], sigma[2];
	double brightness, contrast, saturation, hue;
	struct td_numbers mean, std; /* as many of both; one: for all channels */
	int preset;		/* of normalize */
	double most;		/* what counts as 1 there: 255; 1 for arrays that are not uint8 */
	struct td_bands bands;
	const char *text;	/* select: in the text of the chain */
	size_t text_len;
	uint32_t classes;	/* one_hot */
	double alpha;		/* mixup, cutmix */
	uint32_t frames, stride;/* clip */
	int start;		/* of the clip; -1: drawn */
	uint32_t axes, shape[TD_TENSOR_AXES]; /* tensor */
	int elem;		/* -1: not given */
};

#define TD_OPS_MAX 64

struct td_chain {
	struct td_op ops[TD_OPS_MAX];
	unsigned n;
	int dtype;  /* of the batch, enum tundish_dtype */
	bool keeps; /* that is the type of the pictures */
	bool nchw;
	bool random;
	const char *select; /* in the text; NULL: picture and label go out */
	size_t select_len;
	uint32_t classes;   /* of one_hot; 0: labels go out as they are */
	struct td_mix mixes[TD_MIXES_MAX]; /* mixup and cutmix, in that order */
	unsigned n_mixes;
	struct td_clip clip;
	/* of tensor; no axes: not given */
	unsigned tensor_axes;
	uint64_t tensor_shape[TD_TENSOR_AXES];
	bool tensor_typed;
	enum td_elem tensor_elem;
};

/* Reads the text, which must live as long as `select` is looked at; NULL and "" mean decode alone. Whatever is wrong is USAGE and names
 * the place in the text. */
int td_chain_parse(struct td_chain *ret, const char *text, struct tundish_error *e);
void td_chain_close(struct td_chain *chain);

/* What comes out of pictures of that many channels, and of that type. USAGE where an
 * operation cannot be done to them. */
int td_chain_channels(struct td_chain *chain, enum td_elem elem, uint32_t channels, uint32_t *ret_channels,
    struct tundish_error *e);
/* Whether it can be done to arrays that have no height and width. */
bool td_chain_any(const struct td_chain *chain);

/* Size of what comes out; 0 where it depends on the picture. */
struct td_size {
	uint32_t width, height;
};
struct td_size td_chain_size(const struct td_chain *chain);

/* Does operation i to the picture. */
int td_op_apply(const struct td_op *op, struct td_picture *picture, struct td_rng *rng);
/* Whether it draws. */
bool td_op_random(const struct td_op *op);

/* torchvision's crop, for a picture of that size: 10 tries, then the middle. */
struct td_window td_random_resized_window(uint32_t width, uint32_t height, const double scale[2],
    const double ratio[2], struct td_rng *rng);
/* The same tries for a window that must be smaller than the picture; width 0: none fits. */
struct td_window td_erasing_window(uint32_t width, uint32_t height, const double scale[2],
    const double ratio[2], struct td_rng *rng);
