/* SPDX-License-Identifier: BSD-2-Clause
 * Operations that put pictures of a batch together: mixup and cutmix. */
#pragma once
#include "base/buf.h"
#include "base/rng.h"

#define TD_MIXES_MAX 4

/* One of them, as it is asked for. */
struct td_mix {
	bool cut;      /* a window of the partner, else both weighed */
	double alpha;  /* how much of each is drawn from Beta(alpha, alpha) */
	double p;      /* the chance of a picture to be mixed at all */
};

/* What is drawn for one picture: how much of it stays, and with `cut` where the partner's
 * window lies. */
struct td_mix_row {
	float keep;
	uint32_t x, y, width, height;
};

/* All pictures of a batch. They stand in memory as lines of pixels: of each channel when
 * channels are planes, of each frame of a clip. */
struct td_mix_shape {
	size_t row_bytes;
	uint32_t width, height;
	size_t lines;  /* of one picture: a multiple of height */
	size_t pixel;  /* values in a pixel of a line */
	int dtype;
};

/* A batch's draws. Everybody's partner is the next one in a cycle through all pictures,
 * so that mixing needs one picture more than there are. */
struct td_mixing {
	struct td_mix_row *rows; /* for each operation `batch` rows */
	uint32_t *cycle;	 /* the same */
	unsigned batch, count;
	uint64_t epoch, position;/* of the first row: of which the cycle is a function */
};

bool td_mixing_new(struct td_mixing *m, unsigned mixes, unsigned batch) td_must_check;
void td_mixing_free(struct td_mixing *m);

/* From Beta(alpha, alpha). */
double td_beta(struct td_rng *rng, double alpha);
/* A picture's draws, by torchvision's rules; mixes 0 .. n - 1. */
void td_mixing_draw(struct td_mixing *m, const struct td_mix *mixes, unsigned n, unsigned row,
    uint32_t width, uint32_t height, uint64_t seed, uint64_t epoch, uint64_t position);
/* Row `from` becomes row `to`. */
void td_mixing_move(struct td_mixing *m, unsigned n, unsigned to, unsigned from);
/* The cycles, once it is known that `count` rows are good. */
void td_mixing_pair(struct td_mixing *m, unsigned n, unsigned count, uint64_t seed);
/* Lines first .. end - 1 of all pictures. False without memory for `spare`. */
bool td_mixing_lines(const struct td_mixing *m, const struct td_mix *mixes, unsigned n,
    const struct td_mix_shape *shape, uint8_t *images, size_t first, size_t end, struct td_buf *spare);
/* Labels as so many classes. */
bool td_mixing_labels(const struct td_mixing *m, unsigned n, float *labels, size_t classes,
    struct td_buf *spare);
