/* SPDX-License-Identifier: BSD-2-Clause
 * What becomes of a picture on its way into a record: another form of its bytes, and an
 * index of its rows beside it. */
#pragma once
#include "media/image.h"
#include "record/example.h"
#include "tundish.h"

enum td_form {
	TD_FORM_KEPT,
	TD_FORM_JPEG,
	TD_FORM_LOSSLESS, /* the coefficients of a JPEG, written anew */
};

/* Read from the options. */
struct td_prepare {
	const struct tundish_pack_options *o;
	enum td_form form;
	int quality;   /* of JPEG */
	bool restarts; /* LOSSLESS: a restart marker a row */
	enum td_index_wish {
		TD_INDEX_AS_IS, /* none for new pictures, what there is for records */
		TD_INDEX_OFF,
		TD_INDEX_MAKE,
	} index;
	uint32_t spacing; /* MCUs between two entries; 0: one entry a row */
};

/* USAGE names the option. */
int td_prepare_parse(struct td_prepare *ret, const struct tundish_pack_options *o,
    struct tundish_error *e);

/* Working memory of one thread; zeroed is empty. */
struct td_prep_desk {
	struct td_decoder *decoder;
	struct td_buf encoded, index, record;
};
void td_prep_desk_free(struct td_prep_desk *desk);

/* A picture as it goes into the record. The bytes are good until the next one. */
struct td_prepared {
	struct td_bytes image, index; /* index: length 0 where there is none */
	struct td_image_info info;
};

/* Checks a picture as o->check says and does what is wished. Errors make the picture bad,
 * with a reason only, but MEMORY. */
int td_prepare_picture(const struct td_prepare *p, struct td_prep_desk *desk, const void *data,
    size_t len, struct td_prepared *ret, struct tundish_error *e);

/* Appends a picture that comes as pixels, in the form that is wished: as JPEG of quality 95
 * where none is. */
#define TD_PREPARE_QUALITY 95
int td_prepare_pixels(const struct td_prepare *p, struct td_buf *out, const struct td_pixels *pixels,
    struct tundish_error *e);
/* What td_prepare_pixels() made, as it goes into the record. */
int td_prepare_made(const struct td_prepare *p, struct td_prep_desk *desk, const void *data, size_t len,
    struct td_prepared *ret, struct tundish_error *e);

/* The index of the JPEG in an Example is made anew, or left out. What is no Example, or
 * has no picture, stays as it is. *ret lies in the record or is good until the next one. */
int td_prepare_record(const struct td_prepare *p, struct td_prep_desk *desk, const void *record,
    size_t bytes, struct td_bytes *ret, struct tundish_error *e);
