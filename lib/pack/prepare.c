/* SPDX-License-Identifier: BSD-2-Clause
 * What becomes of a picture on its way into a record. */
#include "prepare.h"

#include <inttypes.h>
#include <string.h>

#include "base/err.h"
#include "base/number.h"
#include "base/pool.h"
#include "base/talk.h"
#include "base/thread.h"
#include "record/foreign.h"
#include "record/frame.h"
#include "record/sample.h"
#include "record/sequence.h"

/* ---- options ---- */

/* The number behind a prefix, 1 to most; 0 if it is not like that. */
static unsigned number_behind(const char *spec, const char *prefix, unsigned most)
{
	size_t skip = strlen(prefix);
	uint64_t n;
	bool good = strncmp(spec, prefix, skip) == 0 &&
	    td_parse_u64(&n, spec + skip, strlen(spec + skip));
	return good && n <= most ? (unsigned)n : 0;
}

/* "jpeg:95", "png", "raw", "raw:uint16", "jpeg-lossless", "jpeg-lossless:restart=off" */
static int parse_form(struct td_prepare *p, const char *spec, struct tundish_error *e)
{
	static const struct {
		const char *spec;
		enum td_form form;
		bool restarts, sixteen;
	} forms[] = {
		{ "png", TD_FORM_PNG, false, false },
		{ "raw", TD_FORM_RAW, false, false },
		{ "raw:uint8", TD_FORM_RAW, false, false },
		{ "raw:uint16", TD_FORM_RAW, false, true },
		{ "jpeg-lossless", TD_FORM_LOSSLESS, true, false },
		{ "jpeg-lossless:restart=rows", TD_FORM_LOSSLESS, true, false },
		{ "jpeg-lossless:restart=off", TD_FORM_LOSSLESS, false, false },
	};
	p->quality = TD_PREPARE_QUALITY;
	if (!spec)
		return 0;
	for (size_t i = 0; i < TD_COUNT(forms); i++)
		if (strcmp(spec, forms[i].spec) == 0) {
			p->form = forms[i].form;
			p->restarts = forms[i].restarts;
			p->sixteen = forms[i].sixteen;
			return 0;
		}
	p->form = TD_FORM_JPEG;
	p->quality = (int)number_behind(spec, "jpeg:", 100);
	if (p->quality)
		return 0;
	return td_err(e, TUNDISH_E_USAGE,
	    "reencode: \"%s\" is none of jpeg:Q with Q from 1 to 100, png, raw[:uint8|uint16] and "
	    "jpeg-lossless[:restart=rows|off]", TD_ESC(spec));
}

static int parse_alpha(struct td_prepare *p, const char *spec, struct tundish_error *e)
{
	static const struct {
		const char *spec;
		int level;
	} levels[] = { { "drop", -1 }, { "black", 0 }, { "white", 255 } };
	p->background = -1;
	size_t i = 0;
	while (spec && i < TD_COUNT(levels) && strcmp(spec, levels[i].spec) != 0)
		i++;
	if (i == TD_COUNT(levels))
		return td_err(e, TUNDISH_E_USAGE, "alpha: \"%s\" is neither drop, black nor white",
		    TD_ESC(spec));
	p->background = levels[i].level;
	return 0;
}

/* Pixels that have to stay cannot change. */
static int check_lossless(const struct td_prepare *p, struct tundish_error *e)
{
	const struct tundish_pack_options *o = p->o;
	if (p->form == TD_FORM_LOSSLESS &&
	    (o->shorter_side || o->max_side || o->apply_orientation || p->background >= 0))
		return td_err(e, TUNDISH_E_USAGE, "reencode: jpeg-lossless keeps all pixels as they are; "
		    "with shorter-side, max-side, apply-orientation and alpha it is jpeg:Q, png or raw");
	return 0;
}

/* "rows", "mcus:8", "off" */
static int parse_index(struct td_prepare *p, const char *spec, struct tundish_error *e)
{
	if (!spec)
		return 0;
	p->spacing = number_behind(spec, "mcus:", 65535);
	p->index = p->spacing || strcmp(spec, "rows") == 0 ? TD_INDEX_MAKE : TD_INDEX_OFF;
	if (p->index == TD_INDEX_MAKE || strcmp(spec, "off") == 0)
		return 0;
	return td_err(e, TUNDISH_E_USAGE, "jpeg-index: \"%s\" is neither rows, mcus:K nor off",
	    TD_ESC(spec));
}

int td_prepare_init(struct td_prepare *p, const struct tundish_pack_options *o,
    struct tundish_error *e)
{
	p->o = o;
	int rc = parse_form(p, o->reencode, e);
	if (rc == 0)
		rc = parse_index(p, o->jpeg_index, e);
	if (rc == 0)
		rc = parse_alpha(p, o->alpha, e);
	if (rc == 0)
		rc = check_lossless(p, e);
	/* the other half is for records */
	p->ledger.budget = td_memory(o->memory) / 2;
	td_gate_init(&p->gate, &p->ledger);
	return rc;
}

unsigned td_prepare_growth(const struct td_prepare *p)
{
	return p->form != TD_FORM_RAW ? 1 : p->sixteen ? 12 : 6;
}

uint64_t td_prepare_block(const struct td_prepare *p)
{
	return p->form == TD_FORM_RAW ? (uint64_t)64 << 10 : 0;
}

void td_prepare_tell(const struct td_prepare *p)
{
	static const char *const said[TD_CHANGES] = { "made smaller", "turned upright",
		"of 16 bits reduced to 8 (--reencode raw:uint16 keeps them)",
		"of CMYK turned into RGB", NULL };
	struct td_buf text = { 0 };
	bool ok = true;
	for (int i = 0; ok && i < TD_CHANGES; i++) {
		uint64_t n = p->changed[i];
		const char *what = said[i] ? said[i] :
		    p->background < 0	   ? "without their alpha" :
		    p->background == 0	   ? "laid over black" :
					     "laid over white";
		if (n)
			ok = td_buf_printf(&text, "%s%" PRIu64 " %s", text.len ? ", " : "", n, what);
	}
	if (ok && text.len)
		td_notice(&p->o->listener, "pictures: %s", (const char *)text.data);
	td_buf_free(&text);
}

void td_prepare_fini(struct td_prepare *p)
{
	td_gate_fini(&p->gate);
}

void td_prep_desk_free(struct td_prep_desk *desk)
{
	td_decoder_free(desk->decoder);
	td_scratch_free(&desk->scratch);
	td_buf_free(&desk->encoded);
	td_buf_free(&desk->index);
	td_buf_free(&desk->record);
	td_buf_free(&desk->made);
	td_buf_free(&desk->wide);
	td_buf_free(&desk->turned);
	*desk = (struct td_prep_desk){ 0 };
}

/* ---- pictures ---- */

static int need_decoder(const struct td_prepare *p, struct td_prep_desk *desk,
    struct tundish_error *e)
{
	int rc = desk->decoder ? 0 : td_decoder_new(&desk->decoder, e);
	if (rc == 0)
		td_decoder_background(desk->decoder, p->background);
	return rc;
}

/* A JPEG whose coefficients cannot be written anew without loss stays as it is, like
 * all other pictures. */
static int rewrite(const struct td_prepare *p, struct td_prep_desk *desk,
    struct td_prepared *picture, struct tundish_error *e)
{
	if (picture->info.kind != TD_IMAGE_JPEG)
		return 0;
	int rc = td_jpeg_lossless(desk->decoder, &desk->encoded, picture->image.data,
	    picture->image.len, p->restarts, p->o->max_pixels, e);
	if (rc == 0)
		picture->image = (struct td_bytes){ desk->encoded.data, desk->encoded.len };
	return rc == TUNDISH_E_MEMORY ? rc : 0;
}

/* How a picture is to look. */
struct shape {
	uint32_t width, height; /* as it is stored, before it is turned */
	unsigned orientation;	/* to undo; 1: none */
	bool smaller;
};

static uint32_t scaled(uint32_t side, uint32_t to, uint32_t from)
{
	return TD_MAX((uint32_t)((uint64_t)side * to / from), 1u);
}

/* Pictures are made smaller, never larger. The other side is truncated, as torchvision
 * does it. */
static void fit_side(struct shape *s, uint32_t now, uint32_t most)
{
	if (!most || now <= most)
		return;
	bool wide = s->width == now;
	uint32_t other = scaled(wide ? s->height : s->width, most, now);
	s->width = wide ? most : other;
	s->height = wide ? other : most;
	s->smaller = true;
}

static struct shape wished_shape(const struct td_prepare *p, const struct td_prepared *picture)
{
	struct shape s = { picture->info.width, picture->info.height, 1, false };
	fit_side(&s, TD_MIN(s.width, s.height), p->o->shorter_side);
	fit_side(&s, TD_MAX(s.width, s.height), p->o->max_side);
	if (p->o->apply_orientation)
		s.orientation = picture->traits.orientation;
	return s;
}

/* From floats, rounded to nearest; values of 8 bits times 257. */
static int widen(struct td_buf *to, const struct td_buf *from, size_t n, float scale,
    struct tundish_error *e)
{
	if (!td_buf_fit(to, n * sizeof(uint16_t)))
		return td_err_memory(e);
	uint16_t *out = (uint16_t *)(void *)to->data;
	const float *in = (const float *)(const void *)from->data;
	for (size_t i = 0; i < n; i++) {
		float v = in[i] * scale;
		out[i] = (uint16_t)__builtin_rintf(v < 0 ? 0 : v > 65535 ? 65535 : v);
	}
	return 0;
}

/* Rows and columns change places, where the orientation says so. */
static int turn(struct td_prep_desk *desk, struct shape *s, size_t pixel_bytes,
    const uint8_t **data, struct tundish_error *e)
{
	if (s->orientation < 5)
		return 0;
	if (!td_buf_fit(&desk->turned, (size_t)s->width * s->height * pixel_bytes))
		return td_err_memory(e);
	td_transpose(desk->turned.data, *data, s->width, s->height, pixel_bytes);
	*data = desk->turned.data;
	*s = (struct shape){ s->height, s->width, s->orientation, s->smaller };
	return 0;
}

/* The wanted pixels in memory of their own, three values each: uint8, or uint16. */
static int reshape(const struct td_prepare *p, struct td_prep_desk *desk, struct shape *s,
    struct td_pixels *pixels, struct tundish_error *e)
{
	bool wide = p->form == TD_FORM_RAW && p->sixteen;
	size_t values = (size_t)s->width * s->height * 3, bytes;
	if (td_mul_overflow(values, wide ? sizeof(float) : 1, &bytes) ||
	    !td_buf_fit(&desk->made, bytes))
		return td_err_memory(e);
	const struct td_store store = {
		.width = s->width,
		.height = s->height,
		.rule = TD_RESIZE_ANTIALIAS,
		/* before rows and columns change places */
		.hflip = strchr("\2\3\7\x8", (int)s->orientation),
		.vflip = strchr("\3\4\6\7", (int)s->orientation),
		.dtype = wide ? TUNDISH_FLOAT32 : TUNDISH_UINT8,
		.out = desk->made.data,
	};
	bool floats = pixels->elem == TD_FLOAT32;
	int rc = td_store_pixels(pixels, &store, &desk->scratch, e);
	if (rc == 0 && wide)
		rc = widen(&desk->wide, &desk->made, values, floats ? 1 : 257, e);
	if (rc < 0)
		return rc;
	size_t pixel_bytes = wide ? 6 : 3;
	const uint8_t *data = wide ? desk->wide.data : desk->made.data;
	rc = turn(desk, s, pixel_bytes, &data, e);
	*pixels = (struct td_pixels){ .data = data, .width = s->width, .height = s->height,
		.channels = 3, .step = 3, .stride = (size_t)s->width * pixel_bytes,
		.grey = pixels->grey };
	return rc;
}

static void count(struct td_prepare *p, const struct td_prepared *picture, const struct shape *s)
{
	const bool changed[TD_CHANGES] = {
		[TD_CHANGE_SMALLER] = s->smaller,
		[TD_CHANGE_TURNED] = s->orientation > 1,
		[TD_CHANGE_DEPTH] = picture->bits == 16 && !p->sixteen,
		[TD_CHANGE_INKS] = picture->info.channels == 4 && !picture->info.alpha,
		[TD_CHANGE_ALPHA] = picture->traits.transparent,
	};
	for (int i = 0; i < TD_CHANGES; i++)
		if (changed[i])
			p->changed[i]++;
}

static int write_form(const struct td_prepare *p, struct td_prep_desk *desk, enum td_form form,
    const struct td_pixels *pixels, struct td_prepared *picture, struct tundish_error *e)
{
	int rc = 0;
	if (form == TD_FORM_RAW) {
		picture->raw = true;
		picture->image = (struct td_bytes){ pixels->data, pixels->stride * pixels->height };
	} else {
		rc = form == TD_FORM_JPEG ? td_jpeg_encode(&desk->encoded, pixels, p->quality, e) :
					    td_png_encode(&desk->encoded, pixels, e);
		picture->image = (struct td_bytes){ desk->encoded.data, desk->encoded.len };
	}
	picture->info = (struct td_image_info){
		.kind = form == TD_FORM_PNG ? TD_IMAGE_PNG : TD_IMAGE_JPEG,
		.width = pixels->width,
		.height = pixels->height,
		.channels = pixels->grey && form != TD_FORM_RAW ? 1 : 3,
		.bits = p->sixteen ? 16 : 8,
	};
	return rc;
}

/* Whether they lie as a record has them. */
static bool packed(const struct td_prepare *p, const struct shape *s, const struct td_pixels *pixels)
{
	return !p->sixteen && !s->smaller && s->orientation <= 1 && pixels->elem == TD_UINT8 &&
	    pixels->step == 3 && pixels->stride == (size_t)pixels->width * 3;
}

/* Pixels may be a thousand times as large as the file that was counted. */
static void count_raw(const struct td_prepare *p, const struct shape *s, size_t file_bytes)
{
	uint64_t bytes = (uint64_t)s->width * s->height * (p->sixteen ? 6 : 3);
	uint64_t counted = (uint64_t)file_bytes * td_prepare_growth(p);
	if (p->form == TD_FORM_RAW && bytes > counted)
		td_ordered_more(bytes - counted);
}

/* Decodes, changes and encodes, where anything is to change. */
static int encode(struct td_prepare *p, struct td_prep_desk *desk, struct td_prepared *picture,
    struct tundish_error *e)
{
	struct shape s = wished_shape(p, picture);
	bool new_pixels = s.smaller || s.orientation > 1 || p->form == TD_FORM_RAW;
	bool covers = p->background >= 0 && picture->traits.transparent;
	bool kept = p->form == TD_FORM_KEPT || (p->spares &&
	    picture->info.kind == (p->form == TD_FORM_PNG ? TD_IMAGE_PNG : TD_IMAGE_JPEG));
	if (kept && !new_pixels && !covers)
		return 0;
	enum td_form form = p->form	? p->form :
	    picture->info.kind == TD_IMAGE_JPEG || picture->info.kind == TD_IMAGE_WEBP ? TD_FORM_JPEG :
										 TD_FORM_PNG;
	struct td_pixels pixels;
	if (p->sixteen)
		td_decoder_sixteen(desk->decoder);
	int rc = td_decode(desk->decoder, &pixels, &picture->info, picture->image.data,
	    picture->image.len, NULL, false, e);
	if (rc == 0 && new_pixels && !packed(p, &s, &pixels))
		rc = reshape(p, desk, &s, &pixels, e);
	if (rc < 0)
		return rc;
	count(p, picture, &s);
	if (p->o->apply_orientation)
		picture->traits.orientation = 1;
	return write_form(p, desk, form, &pixels, picture, e);
}

/* Of a picture that can have one. */
static int make_index(const struct td_prepare *p, struct td_prep_desk *desk,
    const struct td_bytes *image, struct td_bytes *ret, struct tundish_error *e)
{
	desk->index.len = 0;
	int rc = td_jpeg_index(desk->decoder, &desk->index, image->data, image->len, p->spacing, e);
	if (rc == 0)
		*ret = (struct td_bytes){ desk->index.data, desk->index.len };
	return rc == TUNDISH_E_MEMORY ? rc : 0;
}

/* Whether pixels may be touched at all. */
static bool may_encode(const struct td_prepare *p)
{
	const struct tundish_pack_options *o = p->o;
	return p->form > TD_FORM_LOSSLESS || o->shorter_side || o->max_side || o->apply_orientation ||
	    p->background >= 0;
}

static int change(struct td_prepare *p, struct td_prep_desk *desk, struct td_prepared *picture,
    struct tundish_error *e)
{
	int rc = 0;
	desk->encoded.len = 0;
	if (p->form == TD_FORM_LOSSLESS)
		rc = rewrite(p, desk, picture, e);
	else if (may_encode(p))
		rc = encode(p, desk, picture, e);
	if (rc == 0 && p->index == TD_INDEX_MAKE && !picture->raw)
		rc = make_index(p, desk, &picture->image, &picture->index, e);
	return rc;
}

/* Pictures up to this need not ask. */
#define SMALL_PICTURE ((uint64_t)16 << 20)

/* What decoding, resizing and turning take at most. */
static uint64_t need_of(const struct td_prepare *p, const struct td_image_info *info)
{
	uint64_t pixels = (uint64_t)info->width * info->height;
	unsigned each = info->progressive ? 10 : 4;
	if (may_encode(p))
		each += p->sixteen ? 12 + 12 + 6 : 3 + 3;
	return pixels * each;
}

static int change_by_gate(struct td_prepare *p, struct td_prep_desk *desk,
    struct td_prepared *picture, struct tundish_error *e)
{
	uint64_t need = need_of(p, &picture->info);
	struct shape s = wished_shape(p, picture);
	count_raw(p, &s, picture->image.len);
	if (need <= SMALL_PICTURE)
		return change(p, desk, picture, e);
	td_gate_enter(&p->gate, need);
	int rc = change(p, desk, picture, e);
	/* what only a large picture needed; the result stays until its record is made */
	struct td_buf *const bufs[] = { &desk->made, &desk->wide, &desk->turned };
	desk->heavy = picture->raw; /* pixels as they were decoded */
	for (size_t i = 0; i < TD_COUNT(bufs); i++)
		if (bufs[i]->data != picture->image.data)
			td_buf_free(bufs[i]);
		else
			desk->heavy = false;
	if (!desk->heavy) {
		td_decoder_free(desk->decoder);
		desk->decoder = NULL;
	}
	td_scratch_free(&desk->scratch);
	td_gate_leave(&p->gate, need);
	return rc;
}

void td_prep_desk_slim(struct td_prep_desk *desk)
{
	if (desk->heavy) {
		td_decoder_free(desk->decoder);
		desk->decoder = NULL;
		desk->heavy = false;
	}
	struct td_buf *const bufs[] = { &desk->made, &desk->wide, &desk->turned, &desk->encoded };
	for (size_t i = 0; i < TD_COUNT(bufs); i++)
		if (bufs[i]->cap > SMALL_PICTURE)
			td_buf_free(bufs[i]);
}

/* Pictures that only decoding can check are as large as they say. */
static int check_picture(struct td_prepare *p, struct td_prep_desk *desk, const void *data, size_t len,
    int check, struct td_image_info *ret, struct tundish_error *e)
{
	enum td_image_kind kind = td_image_probe(data, len);
	bool decodes = check >= TUNDISH_CHECK_STRUCTURE && kind != TD_IMAGE_JPEG && kind != TD_IMAGE_PNG;
	uint64_t need = 0;
	struct td_image_info info;
	if (decodes && td_image_header(&info, data, len, p->o->max_pixels, NULL) == 0)
		need = need_of(p, &info);
	if (need > SMALL_PICTURE)
		td_gate_enter(&p->gate, need);
	int rc = td_image_check(ret, data, len, check, p->o->max_pixels, desk->decoder, e);
	if (need > SMALL_PICTURE)
		td_gate_leave(&p->gate, need);
	return rc;
}

int td_prepare_picture(struct td_prepare *p, struct td_prep_desk *desk, const void *data,
    size_t len, struct td_prepared *ret, struct tundish_error *e)
{
	const struct tundish_pack_options *o = p->o;
	struct td_prepared made = { .image = { data, len } };
	if (td_image_probe(data, len) == TD_IMAGE_NONE) {
		const char *what = len >= TD_FRAME_HEADER && td_frame_length_ok(data) ? "TFRecord file: shard reads those" :
		    td_foreign(data, len);
		return td_err(e, TUNDISH_E_CORRUPT, "no known format%s%s%s", what ? " (" : "",
		    what ? what : "", what ? ")" : "");
	}
	td_prep_desk_slim(desk);
	int rc = 0;
	bool works = p->form || may_encode(p) || p->index == TD_INDEX_MAKE;
	if (works || o->check == TUNDISH_CHECK_DECODE)
		rc = need_decoder(p, desk, e);
	/* where each picture is decoded anyway, that is a check as well */
	int check = p->form > TD_FORM_LOSSLESS && !p->spares ? TD_MIN(o->check, TUNDISH_CHECK_STRUCTURE) : o->check;
	if (rc == 0)
		rc = check_picture(p, desk, data, len, check, &made.info, e);
	if (rc < 0)
		return rc;
	td_image_traits(&made.traits, &made.info, data, len);
	made.bits = made.info.bits;
	if (works)
		rc = change_by_gate(p, desk, &made, e);
	if (rc == 0)
		*ret = made;
	return rc;
}

/* ---- pixels ---- */

static int add_raw(struct td_prep_desk *desk, struct td_buf *out, const struct td_pixels *pixels,
    struct tundish_error *e)
{
	desk->raw_width = pixels->width;
	desk->raw_height = pixels->height;
	for (uint32_t y = 0; y < pixels->height; y++)
		if (!td_buf_add(out, pixels->data + y * pixels->stride, (size_t)pixels->width * 3))
			return td_err_memory(e);
	return 0;
}

int td_prepare_pixels(struct td_prepare *p, struct td_prep_desk *desk, struct td_buf *out,
    const struct td_pixels *pixels, struct tundish_error *e)
{
	const struct td_prepared as = {
		.info = { .width = pixels->width, .height = pixels->height, .channels = 3 },
		.traits.orientation = 1,
	};
	struct shape s = wished_shape(p, &as);
	struct td_pixels made = *pixels;
	if (p->form == TD_FORM_RAW && p->sixteen)
		return td_err(e, TUNDISH_E_UNSUPPORTED, "reencode: frames of videos are raw:uint8 only");
	int rc = s.smaller ? reshape(p, desk, &s, &made, e) : 0;
	if (rc < 0)
		return rc;
	count(p, &as, &s);
	if (p->form == TD_FORM_RAW)
		return add_raw(desk, out, &made, e);
	return p->form == TD_FORM_PNG ? td_png_encode(out, &made, e) :
					td_jpeg_encode(out, &made, p->quality, e);
}

int td_prepare_made(struct td_prepare *p, struct td_prep_desk *desk, const void *data, size_t len,
    struct td_prepared *ret, struct tundish_error *e)
{
	struct td_prepared made = {
		.image = { data, len }, .traits = { .orientation = 1, .colours = "rgb" }, .bits = 8
	};
	made.raw = p->form == TD_FORM_RAW;
	if (made.raw) {
		made.info = (struct td_image_info){ .width = desk->raw_width, .height = desk->raw_height, .channels = 3,
			.bits = 8 };
		*ret = made;
		return 0;
	}
	int rc = td_image_header(&made.info, data, len, p->o->max_pixels, e);
	if (rc == 0 && p->index == TD_INDEX_MAKE)
		rc = need_decoder(p, desk, e);
	if (rc == 0 && p->index == TD_INDEX_MAKE)
		rc = make_index(p, desk, &made.image, &made.index, e);
	if (rc == 0)
		*ret = made;
	return rc;
}

/* ---- records ---- */

/* The picture of an Example, alone under its usual name. */
static bool find_image(const void *record, size_t bytes, struct td_bytes *ret)
{
	const struct td_keys usual = { NULL, NULL };
	struct td_sample s;
	const uint8_t *data;
	if (td_sample_find(&s, &usual, record, bytes) < 0 || !s.image || s.image->count != 1 ||
	    tundish_feature_bytes(s.image, 0, &data, &ret->len) != 1)
		return false;
	ret->data = data;
	return true;
}

int td_prepare_record(struct td_prepare *p, struct td_prep_desk *desk, const void *record,
    size_t bytes, struct td_bytes *ret, struct tundish_error *e)
{
	struct td_bytes image, index = { NULL, 0 };
	*ret = (struct td_bytes){ record, bytes };
	if (p->index == TD_INDEX_AS_IS ||
	    td_message_kind(record, bytes) == TD_MESSAGE_SEQUENCE ||
	    !find_image(record, bytes, &image))
		return 0;
	int rc = need_decoder(p, desk, e);
	if (rc == 0 && p->index == TD_INDEX_MAKE)
		rc = make_index(p, desk, &image, &index, e);
	desk->record.len = 0;
	if (rc == 0)
		rc = td_example_replace(&desk->record, record, bytes, td_index_key,
		    index.len ? &index : NULL, p->o->max_record_bytes, e);
	if (rc == 0)
		*ret = (struct td_bytes){ desk->record.data, desk->record.len };
	return rc;
}
