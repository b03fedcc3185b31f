/* SPDX-License-Identifier: BSD-2-Clause
 * What becomes of a picture on its way into a record. */
#include "prepare.h"

#include <string.h>

#include "base/err.h"
#include "base/number.h"
#include "record/foreign.h"
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

/* "jpeg:95", "jpeg-lossless", "jpeg-lossless:restart=rows", "jpeg-lossless:restart=off" */
static int parse_form(struct td_prepare *p, const char *spec, struct tundish_error *e)
{
	static const char lossless[] = "jpeg-lossless", *const restarts[] = { ":restart=rows",
		"", ":restart=off" };
	if (!spec)
		return 0;
	p->quality = (int)number_behind(spec, "jpeg:", 100);
	if (p->quality) {
		p->form = TD_FORM_JPEG;
		return 0;
	}
	size_t skip = strncmp(spec, lossless, sizeof lossless - 1) == 0 ? sizeof lossless - 1 : 0;
	for (size_t i = 0; skip && i < TD_COUNT(restarts); i++)
		if (strcmp(spec + skip, restarts[i]) == 0) {
			p->form = TD_FORM_LOSSLESS;
			p->restarts = i < 2;
			return 0;
		}
	return td_err(e, TUNDISH_E_USAGE,
	    "reencode: \"%s\" is neither jpeg:Q with Q from 1 to 100 nor jpeg-lossless with "
	    "or without restart=rows or off", TD_ESC(spec));
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

int td_prepare_parse(struct td_prepare *ret, const struct tundish_pack_options *o,
    struct tundish_error *e)
{
	struct td_prepare p = { .o = o };
	int rc = parse_form(&p, o->reencode, e);
	if (rc == 0)
		rc = parse_index(&p, o->jpeg_index, e);
	if (rc == 0)
		*ret = p;
	return rc;
}

void td_prep_desk_free(struct td_prep_desk *desk)
{
	td_decoder_free(desk->decoder);
	td_buf_free(&desk->encoded);
	td_buf_free(&desk->index);
	td_buf_free(&desk->record);
	*desk = (struct td_prep_desk){ 0 };
}

/* ---- pictures ---- */

static int need_decoder(struct td_prep_desk *desk, struct tundish_error *e)
{
	return desk->decoder ? 0 : td_decoder_new(&desk->decoder, e);
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

static int encode(const struct td_prepare *p, struct td_prep_desk *desk,
    struct td_prepared *picture, struct tundish_error *e)
{
	struct td_pixels pixels;
	int rc = td_decode(desk->decoder, &pixels, &picture->info, picture->image.data,
	    picture->image.len, NULL, false, e);
	if (rc == 0)
		rc = td_jpeg_encode(&desk->encoded, &pixels, p->quality, e);
	picture->info.kind = TD_IMAGE_JPEG;
	picture->image = (struct td_bytes){ desk->encoded.data, desk->encoded.len };
	return rc;
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

int td_prepare_picture(const struct td_prepare *p, struct td_prep_desk *desk, const void *data,
    size_t len, struct td_prepared *ret, struct tundish_error *e)
{
	const struct tundish_pack_options *o = p->o;
	struct td_prepared made = { .image = { data, len } };
	if (td_image_probe(data, len) == TD_IMAGE_NONE) {
		const char *what = td_foreign(data, len);
		return td_err(e, TUNDISH_E_CORRUPT, "no known format%s%s%s", what ? " (" : "",
		    what ? what : "", what ? ")" : "");
	}
	int rc = 0;
	if (p->form || p->index == TD_INDEX_MAKE || o->check == TUNDISH_CHECK_DECODE)
		rc = need_decoder(desk, e);
	if (rc == 0)
		rc = td_image_check(&made.info, data, len, o->check, o->max_pixels, desk->decoder, e);
	desk->encoded.len = 0;
	if (rc == 0 && p->form == TD_FORM_LOSSLESS)
		rc = rewrite(p, desk, &made, e);
	else if (rc == 0 && p->form)
		rc = encode(p, desk, &made, e);
	if (rc == 0 && p->index == TD_INDEX_MAKE)
		rc = make_index(p, desk, &made.image, &made.index, e);
	if (rc == 0)
		*ret = made;
	return rc;
}

/* ---- pixels ---- */

int td_prepare_pixels(const struct td_prepare *p, struct td_buf *out, const struct td_pixels *pixels,
    struct tundish_error *e)
{
	return td_jpeg_encode(out, pixels, p->form == TD_FORM_JPEG ? p->quality : TD_PREPARE_QUALITY, e);
}

int td_prepare_made(const struct td_prepare *p, struct td_prep_desk *desk, const void *data, size_t len,
    struct td_prepared *ret, struct tundish_error *e)
{
	struct td_prepared made = { .image = { data, len } };
	int rc = td_image_header(&made.info, data, len, p->o->max_pixels, e);
	if (rc == 0 && p->index == TD_INDEX_MAKE)
		rc = need_decoder(desk, e);
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

int td_prepare_record(const struct td_prepare *p, struct td_prep_desk *desk, const void *record,
    size_t bytes, struct td_bytes *ret, struct tundish_error *e)
{
	struct td_bytes image, index = { NULL, 0 };
	*ret = (struct td_bytes){ record, bytes };
	if (p->index == TD_INDEX_AS_IS ||
	    td_message_kind(record, bytes) == TD_MESSAGE_SEQUENCE ||
	    !find_image(record, bytes, &image))
		return 0;
	int rc = need_decoder(desk, e);
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
