/* SPDX-License-Identifier: BSD-2-Clause
 * The table of operations: their parameters, what they do to the size, how they are done. */
#include "optable.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "passes.h"
#include "picture.h"

static const struct td_word rules[] = {
	{ "bilinear", TD_RESIZE_BILINEAR },
	{ "antialias", TD_RESIZE_ANTIALIAS },
	{ "area", TD_RESIZE_AREA },
	{ 0 },
};
static const struct td_word dtypes[] = {
	{ "uint8", TUNDISH_UINT8 },
	{ "float16", TUNDISH_FLOAT16 },
	{ "bfloat16", TUNDISH_BFLOAT16 },
	{ "float32", TUNDISH_FLOAT32 },
	{ 0 },
};
static const struct td_word layouts[] = { { "nhwc", 0 }, { "nchw", 1 }, { 0 } };
static const struct td_word ways[] = { { "exact", 0 }, { "fast", 1 }, { 0 } };
static const struct td_word presets[] = { { "imagenet", 1 }, { "seed", 2 }, { "unit", 3 }, { 0 } };

#define AT(member) offsetof(struct td_op, member)
#define SIZE_PARAM { "", P_SIZE, AT(width), 1, TD_SIZE_MOST, NULL, true }
#define RULE_PARAM { "rule", P_WORD, AT(rule), 0, 0, rules, false }
#define CHANCE_PARAM { "", P_REAL, AT(p), 0, 1, NULL, false }
#define NO_MORE { 0 }

static const struct td_param decode_params[] = {
	{ "", P_WORD, AT(fast), 0, 0, ways, false }, NO_MORE
};
static const struct td_param size_params[] = { SIZE_PARAM, NO_MORE };
static const struct td_param crop_params[] = { SIZE_PARAM, { "x", P_NUMBER, AT(x), 0, TD_SIZE_MOST },
	{ "y", P_NUMBER, AT(y), 0, TD_SIZE_MOST }, NO_MORE };
static const struct td_param resize_params[] = { SIZE_PARAM, RULE_PARAM, NO_MORE };
static const struct td_param shorter_params[] = {
	{ "", P_NUMBER, AT(width), 1, TD_SIZE_MOST, NULL, true }, RULE_PARAM, NO_MORE
};
static const struct td_param rrc_params[] = { SIZE_PARAM,
	{ "scale", P_RANGE, AT(scale), 1e-6, 1 }, { "ratio", P_RANGE, AT(ratio), 1e-3, 1e3 },
	RULE_PARAM, NO_MORE };
static const struct td_param fraction_params[] = {
	{ "", P_REAL, AT(fraction), 1e-6, 1, NULL, true }, NO_MORE
};
static const struct td_param chance_params[] = { CHANCE_PARAM, NO_MORE };
static const struct td_param pad_params[] = {
	{ "", P_EDGES, AT(edge), 0, TD_SIZE_MOST, NULL, true },
	{ "value", P_REAL, AT(value), -1e9, 1e9 }, NO_MORE
};
static const struct td_param clamp_params[] = {
	{ "", P_RANGE, AT(range), -1e30, 1e30, NULL, true }, NO_MORE
};
static const struct td_param rotate_params[] = {
	{ "", P_SPREAD, AT(range), -3600, 3600, NULL, true },
	{ "value", P_REAL, AT(value), -1e9, 1e9 }, NO_MORE
};
static const struct td_param jitter_params[] = {
	{ "brightness", P_REAL, AT(brightness), 0, 100 }, { "contrast", P_REAL, AT(contrast), 0, 100 },
	{ "saturation", P_REAL, AT(saturation), 0, 100 }, { "hue", P_REAL, AT(hue), 0, 0.5 }, NO_MORE
};
static const struct td_param blur_params[] = {
	{ "", P_NUMBER, AT(width), 1, TD_BLUR_MOST, NULL, true },
	{ "sigma", P_RANGE, AT(sigma), 1e-3, 1e3 }, NO_MORE
};
static const struct td_param erasing_params[] = { CHANCE_PARAM,
	{ "scale", P_RANGE, AT(scale), 1e-6, 1 }, { "ratio", P_RANGE, AT(ratio), 1e-3, 1e3 },
	{ "value", P_REAL, AT(value), -1e9, 1e9 }, NO_MORE };
static const struct td_param normalize_params[] = {
	{ "", P_PRESET, AT(preset), 0, 0, presets, false },
	{ "mean", P_LIST, AT(mean), -1e9, 1e9 }, { "std", P_LIST, AT(std), 1e-9, 1e9 }, NO_MORE
};
static const struct td_param bands_params[] = {
	{ "", P_BANDS, AT(bands), 1, TD_LIST_MOST, NULL, true }, NO_MORE
};
static const struct td_param cast_params[] = {
	{ "", P_WORD, AT(dtype), 0, 0, dtypes, true }, NO_MORE
};
static const struct td_param select_params[] = {
	{ "", P_TEXT, AT(text), 0, 0, NULL, true }, NO_MORE
};
static const struct td_param one_hot_params[] = {
	{ "", P_NUMBER, AT(classes), 1, TD_CLASSES_MOST, NULL, true }, NO_MORE
};
static const struct td_word elems[] = {
	{ "uint8", TD_UINT8 },
	{ "int8", TD_INT8 },
	{ "uint16", TD_UINT16 },
	{ "int16", TD_INT16 },
	{ "uint32", TD_UINT32 },
	{ "int32", TD_INT32 },
	{ "uint64", TD_UINT64 },
	{ "int64", TD_INT64 },
	{ "float32", TD_FLOAT32 },
	{ "float64", TD_FLOAT64 },
	{ "complex64", TD_COMPLEX64 },
	{ "complex128", TD_COMPLEX128 },
	{ 0 },
};
static const struct td_param clip_params[] = {
	{ "", P_NUMBER, AT(frames), 1, TD_CLIP_MOST, NULL, true },
	{ "stride", P_NUMBER, AT(stride), 1, TD_CLIP_MOST },
	{ "start", P_NUMBER, AT(start), 0, 999999999 }, NO_MORE
};
static const struct td_param mix_params[] = {
	{ "", P_REAL, AT(alpha), 0.01, 1000, NULL, true }, { "p", P_REAL, AT(p), 0, 1 }, NO_MORE
};
static const struct td_param tensor_params[] = {
	{ "", P_SHAPE, AT(shape), 1, INT32_MAX, NULL, true }, { "dtype", P_WORD, AT(elem), 0, 0, elems },
	NO_MORE
};
static const struct td_param layout_params[] = {
	{ "", P_WORD, AT(layout), 0, 0, layouts, true }, NO_MORE
};

/* ---- checks behind the parameters ---- */

static bool own_list(struct td_numbers *to, const double *from, uint32_t n)
{
	to->list = malloc(n * sizeof *to->list);
	to->n = to->list ? n : 0;
	if (to->list)
		memcpy(to->list, from, n * sizeof *from);
	return to->list;
}

/* One number stands for all. */
static bool spread(struct td_numbers *list, uint32_t n)
{
	double one = list->list[0], *all = list->n == 1 ? realloc(list->list, n * sizeof *all) : NULL;
	if (!all)
		return list->n == n || n == 1;
	for (uint32_t i = 0; i < n; i++)
		all[i] = one;
	*list = (struct td_numbers){ all, n };
	return true;
}

static const char *check_normalize(struct td_op *op)
{
	static const double mean[3] = { 0.485, 0.456, 0.406 }, std[3] = { 0.229, 0.224, 0.225 };
	static const double middle = 0.5, none = 0, one = 1;
	bool file = op->preset == TD_NORMALIZE_FILE, own = op->mean.n && op->std.n;
	if (op->preset && !file && (op->mean.n || op->std.n))
		return "give a name, or mean and std";
	if (!op->mean.n != !op->std.n)
		return "mean and std go together";
	if (own && (!spread(&op->mean, op->std.n) || !spread(&op->std, op->mean.n)))
		return "mean and std have as many numbers";
	bool ok = own;
	if (!own && op->preset == 2)
		ok = own_list(&op->mean, &middle, 1) && own_list(&op->std, &middle, 1);
	else if (!own && op->preset == 3)
		ok = own_list(&op->mean, &none, 1) && own_list(&op->std, &one, 1);
	else if (!own) {
		op->preset = 1;
		ok = own_list(&op->mean, mean, 3) && own_list(&op->std, std, 3);
	}
	return ok ? NULL : "out of memory";
}

/* ---- sizes ---- */

static void size_given(const struct td_op *op, struct td_size *size)
{
	*size = (struct td_size){ op->width, op->height };
}

static void size_random_crop(const struct td_op *op, struct td_size *size)
{
	size->width = TD_MIN(size->width, op->width);
	size->height = TD_MIN(size->height, op->height);
}

static uint32_t central_side(uint32_t n, double fraction)
{
	return n - 2 * (uint32_t)(((double)n - (double)n * fraction) / 2);
}

static void size_central(const struct td_op *op, struct td_size *size)
{
	size->width = central_side(size->width, op->fraction);
	size->height = central_side(size->height, op->fraction);
}

static struct td_size shorter_size(struct td_size now, uint32_t side)
{
	/* torchvision: the longer side is truncated */
	if (now.width <= now.height)
		return (struct td_size){ side, (uint32_t)((uint64_t)side * now.height / now.width) };
	return (struct td_size){ (uint32_t)((uint64_t)side * now.width / now.height), side };
}

static void size_shorter(const struct td_op *op, struct td_size *size)
{
	if (size->width && size->height)
		*size = shorter_size(*size, op->width);
	else
		*size = (struct td_size){ 0 };
}

static void size_turned(const struct td_op *op, struct td_size *size)
{
	if (op->p >= 1)
		*size = (struct td_size){ size->height, size->width };
	else if (op->p > 0 && size->width != size->height)
		*size = (struct td_size){ 0 };
}

static void size_pad(const struct td_op *op, struct td_size *size)
{
	size->width += size->width ? op->edge[0] + op->edge[2] : 0;
	size->height += size->height ? op->edge[1] + op->edge[3] : 0;
}

/* ---- what they do ---- */

static bool happens(const struct td_op *op, struct td_rng *rng)
{
	return td_rng_unit(rng) < op->p;
}

static int apply_crop(const struct td_op *op, struct td_picture *p, struct td_rng *rng)
{
	(void)rng;
	if ((uint64_t)op->x + op->width > p->width || (uint64_t)op->y + op->height > p->height)
		return td_err(p->e, TUNDISH_E_SCHEMA, "crop of %ux%u at y %u, x %u is outside %ux%u",
		    op->height, op->width, op->y, op->x, p->height, p->width);
	return td_picture_crop(p, (struct td_window){ op->x, op->y, op->width, op->height });
}

/* round() of Python: half goes to even. */
static uint32_t half(uint32_t d)
{
	return d / 2 + (d % 2 && d / 2 % 2);
}

static int pad(struct td_picture *p, const uint32_t edge[4], double value)
{
	struct td_frame *from, *to;
	int rc = td_picture_settle(p, false, &from);
	if (rc == 0)
		rc = td_picture_other(p, edge[0] + from->width + edge[2],
		    edge[1] + from->height + edge[3], from->channels, &to);
	if (rc < 0)
		return rc;
	td_pass_pad(to, from, edge[0], edge[1], value);
	td_picture_swap(p);
	return 0;
}

static int apply_center_crop(const struct td_op *op, struct td_picture *p, struct td_rng *rng)
{
	(void)rng;
	/* torchvision pads with zeros what is too small, then cuts */
	uint32_t more_w = op->width > p->width ? op->width - p->width : 0;
	uint32_t more_h = op->height > p->height ? op->height - p->height : 0;
	if (more_w || more_h) {
		const uint32_t edge[4] = { more_w / 2, more_h / 2, (more_w + 1) / 2,
			(more_h + 1) / 2 };
		int rc = pad(p, edge, 0);
		if (rc < 0)
			return rc;
	}
	return td_picture_crop(p, (struct td_window){ half(p->width - op->width),
	    half(p->height - op->height), op->width, op->height });
}

static int apply_central_crop(const struct td_op *op, struct td_picture *p, struct td_rng *rng)
{
	(void)rng;
	uint32_t w = central_side(p->width, op->fraction), h = central_side(p->height, op->fraction);
	return td_picture_crop(p,
	    (struct td_window){ (p->width - w) / 2, (p->height - h) / 2, w, h });
}

static int apply_random_crop(const struct td_op *op, struct td_picture *p, struct td_rng *rng)
{
	uint32_t w = TD_MIN(op->width, p->width), h = TD_MIN(op->height, p->height);
	uint32_t y = (uint32_t)td_rng_below(rng, p->height - h + 1);
	uint32_t x = (uint32_t)td_rng_below(rng, p->width - w + 1);
	return td_picture_crop(p, (struct td_window){ x, y, w, h });
}

static int apply_rrc(const struct td_op *op, struct td_picture *p, struct td_rng *rng)
{
	int rc = td_picture_crop(p,
	    td_random_resized_window(p->width, p->height, op->scale, op->ratio, rng));
	return rc < 0 ? rc : td_picture_resize(p, op->width, op->height, op->rule);
}

static int apply_resize(const struct td_op *op, struct td_picture *p, struct td_rng *rng)
{
	(void)rng;
	return td_picture_resize(p, op->width, op->height, op->rule);
}

static int apply_shorter(const struct td_op *op, struct td_picture *p, struct td_rng *rng)
{
	(void)rng;
	struct td_size to = shorter_size((struct td_size){ p->width, p->height }, op->width);
	if (TD_MAX(to.width, to.height) > TD_SIZE_MOST)
		return td_err(p->e, TUNDISH_E_LIMIT, "%ux%u with %u for the shorter side is too large",
		    p->height, p->width, op->width);
	return td_picture_resize(p, to.width, to.height, op->rule);
}

static int apply_hflip(const struct td_op *op, struct td_picture *p, struct td_rng *rng)
{
	if (happens(op, rng))
		td_picture_hflip(p);
	return 0;
}

static int apply_vflip(const struct td_op *op, struct td_picture *p, struct td_rng *rng)
{
	if (happens(op, rng))
		td_picture_vflip(p);
	return 0;
}

static int apply_rot90(const struct td_op *op, struct td_picture *p, struct td_rng *rng)
{
	if (!happens(op, rng))
		return 0;
	struct td_frame *from, *to;
	int rc = td_picture_settle(p, false, &from);
	if (rc == 0)
		rc = td_picture_other(p, from->height, from->width, from->channels, &to);
	if (rc < 0)
		return rc;
	td_pass_rot90(to, from);
	td_picture_swap(p);
	return 0;
}

static int apply_grayscale(const struct td_op *op, struct td_picture *p, struct td_rng *rng)
{
	td_picture_float(p);
	if (!happens(op, rng))
		return 0;
	struct td_frame *f;
	int rc = td_picture_settle(p, true, &f);
	if (rc == 0)
		td_pass_grayscale(f);
	return rc;
}

static int apply_pad(const struct td_op *op, struct td_picture *p, struct td_rng *rng)
{
	(void)rng;
	return pad(p, op->edge, op->value);
}

static int apply_normalize(const struct td_op *op, struct td_picture *p, struct td_rng *rng)
{
	(void)rng;
	struct td_buf *room = &p->desk->numbers;
	if (!td_buf_fit(room, 2 * (size_t)p->channels * sizeof(double)))
		return td_err_memory(p->e);
	double *scale = (double *)room->data, *bias = scale + p->channels;
	for (uint32_t c = 0; c < p->channels; c++) {
		uint32_t i = op->mean.n > 1 ? c : 0;
		scale[c] = 1 / (op->most * op->std.list[i]);
		bias[c] = -op->mean.list[i] / op->std.list[i];
	}
	return td_picture_scale(p, scale, bias);
}

static int apply_bands(const struct td_op *op, struct td_picture *p, struct td_rng *rng)
{
	(void)rng;
	struct td_frame *from, *to;
	int rc = td_picture_settle(p, false, &from);
	if (rc == 0)
		rc = td_picture_other(p, from->width, from->height, op->bands.n, &to);
	if (rc < 0)
		return rc;
	td_pass_bands(to, from, op->bands.list);
	td_picture_swap(p);
	return 0;
}

static int apply_clamp(const struct td_op *op, struct td_picture *p, struct td_rng *rng)
{
	(void)rng;
	struct td_frame *f;
	int rc = td_picture_settle(p, true, &f);
	if (rc == 0)
		td_pass_clamp(f, (float)op->range[0], (float)op->range[1]);
	return rc;
}

static int apply_cast(const struct td_op *op, struct td_picture *p, struct td_rng *rng)
{
	(void)rng;
	if (op->dtype == TUNDISH_UINT8)
		return td_picture_round(p);
	td_picture_float(p);
	return 0;
}

static int apply_decode(const struct td_op *op, struct td_picture *p, struct td_rng *rng)
{
	(void)rng;
	p->fast = op->fast;
	return 0;
}

static int apply_nothing(const struct td_op *op, struct td_picture *p, struct td_rng *rng)
{
	(void)op, (void)p, (void)rng;
	return 0;
}

/* ---- the table ---- */

const struct td_op_kind td_op_kinds[] = {
	{ "decode", decode_params, "decode[:exact|fast]", TD_OP_ANY, NULL, NULL, apply_decode },
	{ "crop", crop_params, "crop:N|HxW[,x=N,y=N]", TD_OP_KEEPS, NULL, size_given, apply_crop },
	{ "center_crop", size_params, "center_crop:N|HxW", TD_OP_KEEPS, NULL, size_given,
	    apply_center_crop },
	{ "central_crop", fraction_params, "central_crop:F", TD_OP_KEEPS, NULL, size_central,
	    apply_central_crop },
	{ "random_crop", size_params, "random_crop:N|HxW", TD_OP_RANDOM, NULL, size_random_crop,
	    apply_random_crop },
	{ "random_resized_crop", rrc_params,
	    "random_resized_crop:N|HxW[,scale=LO-HI,ratio=LO-HI,rule=R]", TD_OP_FLOATS | TD_OP_RANDOM, NULL,
	    size_given, apply_rrc },
	{ "resize", resize_params, "resize:N|HxW[,rule=bilinear|antialias|area]", TD_OP_FLOATS, NULL,
	    size_given, apply_resize },
	{ "resize_shorter", shorter_params, "resize_shorter:N[,rule=bilinear|antialias|area]",
	    TD_OP_FLOATS, NULL, size_shorter, apply_shorter },
	{ "hflip", chance_params, "hflip[:P]", TD_OP_RANDOM, NULL, NULL, apply_hflip },
	{ "vflip", chance_params, "vflip[:P]", TD_OP_RANDOM, NULL, NULL, apply_vflip },
	{ "rot90", chance_params, "rot90[:P]", TD_OP_RANDOM, NULL, size_turned, apply_rot90 },
	{ "rotate", rotate_params, "rotate:DEGREES|LO-HI[,value=V]", TD_OP_FLOATS | TD_OP_RANDOM, NULL,
	    NULL, td_apply_rotate },
	{ "color_jitter", jitter_params,
	    "color_jitter:brightness=B,contrast=C,saturation=S,hue=H, any of them",
	    TD_OP_FLOATS | TD_OP_RANDOM | TD_OP_RGB, NULL, NULL, td_apply_jitter },
	{ "gaussian_blur", blur_params, "gaussian_blur:N[,sigma=LO-HI]",
	    TD_OP_FLOATS | TD_OP_RANDOM, td_check_blur, NULL, td_apply_blur },
	{ "random_erasing", erasing_params, "random_erasing[:P][,scale=LO-HI,ratio=LO-HI,value=V]",
	    TD_OP_RANDOM, NULL, NULL, td_apply_erasing },
	{ "grayscale", chance_params, "grayscale[:P]", TD_OP_FLOATS | TD_OP_RANDOM | TD_OP_RGB, NULL, NULL,
	    apply_grayscale },
	{ "bands", bands_params, "bands:N|N-M,...", TD_OP_KEEPS, NULL, NULL, apply_bands },
	{ "pad", pad_params, "pad:N|LEFT/TOP/RIGHT/BOTTOM[,value=V]", TD_OP_KEEPS, NULL, size_pad,
	    apply_pad },
	{ "normalize", normalize_params,
	    "normalize[:imagenet|seed|unit|FILE.json] or normalize:mean=A/B/C,std=D/E/F",
	    TD_OP_FLOATS | TD_OP_ANY,
	    check_normalize, NULL, apply_normalize },
	{ "clamp", clamp_params, "clamp:LO-HI", TD_OP_FLOATS | TD_OP_ANY, NULL, NULL, apply_clamp },
	{ "cast", cast_params, "cast:uint8|float16|bfloat16|float32", TD_OP_ANY, NULL, NULL,
	    apply_cast },
	{ "select", select_params, "select:NAME,...; each NAME, NAME=N, NAME=ragged or NAME=bytes",
	    TD_OP_APART, NULL, NULL, apply_nothing },
	{ "tensor", tensor_params, "tensor:N|NxN|HxWxC|...[,dtype=TYPE]", TD_OP_APART, NULL, NULL,
	    apply_nothing },
	{ "clip", clip_params, "clip:N[,stride=K,start=I]", TD_OP_APART | TD_OP_RANDOM, NULL, NULL,
	    apply_nothing },
	{ "mixup", mix_params, "mixup:ALPHA[,p=P]", TD_OP_APART | TD_OP_FLOATS | TD_OP_RANDOM, NULL, NULL,
	    apply_nothing },
	{ "cutmix", mix_params, "cutmix:ALPHA[,p=P]", TD_OP_APART | TD_OP_RANDOM, NULL, NULL, apply_nothing },
	{ "one_hot", one_hot_params, "one_hot:N", TD_OP_APART, NULL, NULL, apply_nothing },
	{ "layout", layout_params, "layout:nhwc|nchw", TD_OP_KEEPS, NULL, NULL, apply_nothing },
	{ 0 },
};
