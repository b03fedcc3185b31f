/* SPDX-License-Identifier: BSD-2-Clause
 * What one line of the table of operations holds; for ops.c and chain.c. */
#pragma once
#include "ops.h"

#define TD_SIZE_MOST 65535u
#define TD_LIST_MOST 100000u
#define TD_CLIP_MOST 100000
#define TD_CLASSES_MOST 10000000

enum td_param_type {
	P_SIZE,	 /* N or HxW */
	P_NUMBER,/* a whole number */
	P_EDGES, /* N or left/top/right/bottom */
	P_REAL,
	P_RANGE, /* LO-HI */
	P_SPREAD,/* N for -N to N, or LO-HI */
	P_LIST,	 /* a or a/b/c and so on */
	P_BANDS, /* N or N-M, any number of them */
	P_WORD,
	P_PRESET,/* a word, or the path of a file with mean and std */
	P_SHAPE, /* NxN and so on, up to TD_TENSOR_AXES sides */
	P_TEXT,	 /* all that follows */
};

struct td_word {
	const char *name;
	int value;
};

struct td_param {
	const char *key; /* "": the value behind the colon */
	enum td_param_type type;
	size_t offset;	 /* in struct td_op */
	double least, most;
	const struct td_word *words;
	bool must;
};

#define TD_NORMALIZE_FILE 4 /* a preset: mean and std come from a file */

enum td_op_flags {
	TD_OP_KEEPS = 0,  /* the type stays */
	TD_OP_FLOATS = 1, /* the result is float32 */
	TD_OP_RANDOM = 2, /* draws, unless its chance is 0 or 1 */
	TD_OP_APART = 4,  /* nothing is done to the picture */
	TD_OP_RGB = 8,	  /* of three channels alone */
	TD_OP_ANY = 16,	  /* also of arrays that have no height and width */
};

struct td_op_kind {
	const char *name;
	const struct td_param *params; /* ends with a NULL key */
	const char *form; /* how it is written, for messages */
	int flags;
	/* completes the parameters; what is wrong with them, or NULL */
	const char *(*check)(struct td_op *op);
	void (*size)(const struct td_op *op, struct td_size *size);
	int (*apply)(const struct td_op *op, struct td_picture *p, struct td_rng *rng);
};

extern const struct td_op_kind td_op_kinds[]; /* ends with a NULL name */

/* Reads mean and std of all channels from a JSON file as inspect --stats writes them. False
 * when it is no such file. */
bool td_normalize_file(struct td_op *op, const char *path, size_t len);

/* Those of distort.c. */
#define TD_BLUR_MOST 99
int td_apply_rotate(const struct td_op *op, struct td_picture *p, struct td_rng *rng);
int td_apply_jitter(const struct td_op *op, struct td_picture *p, struct td_rng *rng);
int td_apply_blur(const struct td_op *op, struct td_picture *p, struct td_rng *rng);
const char *td_check_blur(struct td_op *op);
int td_apply_erasing(const struct td_op *op, struct td_picture *p, struct td_rng *rng);
