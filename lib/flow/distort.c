/* SPDX-License-Identifier: BSD-2-Clause
 * Operations that change colours and shapes at random, by torchvision's rules. */
#include "base/real.h"
#include "optable.h"
#include "passes.h"

static double draw(struct td_rng *rng, double low, double high)
{
	return low + td_rng_unit(rng) * (high - low);
}

int td_apply_rotate(const struct td_op *op, struct td_picture *p, struct td_rng *rng)
{
	double sine, cosine;
	struct td_frame *from, *to;
	td_sin_cos(draw(rng, op->range[0], op->range[1]), &sine, &cosine);
	int rc = td_picture_settle(p, true, &from);
	if (rc == 0)
		rc = td_picture_other(p, from->width, from->height, from->channels, &to);
	if (rc < 0)
		return rc;
	td_pass_rotate(to, from, sine, cosine, (float)op->value);
	td_picture_swap(p);
	return 0;
}

int td_apply_jitter(const struct td_op *op, struct td_picture *p, struct td_rng *rng)
{
	/* the four draws come first, so that leaving one out moves no other */
	const float factors[3] = {
		(float)draw(rng, TD_MAX(1 - op->brightness, 0.0), 1 + op->brightness),
		(float)draw(rng, TD_MAX(1 - op->contrast, 0.0), 1 + op->contrast),
		(float)draw(rng, TD_MAX(1 - op->saturation, 0.0), 1 + op->saturation),
	};
	float turn = (float)draw(rng, -op->hue, op->hue);
	uint8_t order[4] = { 0, 1, 2, 3 };
	td_rng_shuffle(rng, order, 4, 1);
	struct td_frame *f;
	int rc = td_picture_settle(p, true, &f);
	for (int i = 0; i < 4 && rc == 0; i++) {
		if (order[i] == 0 && op->brightness > 0)
			td_pass_brightness(f, factors[0]);
		else if (order[i] == 1 && op->contrast > 0)
			td_pass_contrast(f, factors[1]);
		else if (order[i] == 2 && op->saturation > 0)
			td_pass_saturation(f, factors[2]);
		else if (order[i] == 3 && op->hue > 0)
			td_pass_hue(f, turn);
	}
	return rc;
}

/* Rows into columns and back: two passes of the same filter. */
static int filter_once(struct td_picture *p, const float *weights, unsigned n)
{
	struct td_frame *from, *to;
	int rc = td_picture_settle(p, true, &from);
	if (rc == 0)
		rc = td_picture_other(p, from->height, from->width, from->channels, &to);
	if (rc < 0)
		return rc;
	td_pass_filter(to, from, weights, n);
	td_picture_swap(p);
	return 0;
}

int td_apply_blur(const struct td_op *op, struct td_picture *p, struct td_rng *rng)
{
	float weights[TD_BLUR_MOST];
	double sigma = draw(rng, op->sigma[0], op->sigma[1]), sum = 0, all[TD_BLUR_MOST];
	unsigned n = op->width;
	for (unsigned i = 0; i < n; i++) {
		double d = ((double)i - (n - 1) / 2.0) / sigma;
		all[i] = d * d / 2 < 700 ? td_exp(-d * d / 2) : 0;
		sum += all[i];
	}
	for (unsigned i = 0; i < n; i++)
		weights[i] = (float)(all[i] / sum);
	int rc = filter_once(p, weights, n);
	return rc < 0 ? rc : filter_once(p, weights, n);
}

const char *td_check_blur(struct td_op *op)
{
	return op->width % 2 ? NULL : "the size of the filter is odd";
}

int td_apply_erasing(const struct td_op *op, struct td_picture *p, struct td_rng *rng)
{
	if (td_rng_unit(rng) >= op->p)
		return 0;
	struct td_window w = td_erasing_window(p->width, p->height, op->scale, op->ratio, rng);
	if (w.width == 0)
		return 0;
	struct td_frame *f;
	int rc = td_picture_settle(p, false, &f);
	if (rc == 0)
		td_pass_fill(f, w, op->value);
	return rc;
}
