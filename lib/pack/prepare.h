/* SPDX-License-Identifier: BSD-2-Clause
 * What becomes of a picture on its way into a record: another form of its bytes, another
 * size, and an index of its rows beside it. */
#pragma once
#include "base/ledger.h"
#include "media/image.h"
#include "media/resize.h"
#include "record/example.h"
#include "tundish.h"

/* Of JPEGs where none is said: hardly a loss to be seen. */
#define TD_PREPARE_QUALITY 95

enum td_form {
	TD_FORM_KEPT,	  /* but for those that change in other ways: as JPEG or PNG, what it was */
	TD_FORM_LOSSLESS, /* the coefficients of a JPEG, written anew */
	TD_FORM_JPEG,
	TD_FORM_PNG,
	TD_FORM_RAW, /* the pixels: height x width x 3 numbers */
};

/* What was lost or done, in pictures. */
enum td_change {
	TD_CHANGE_SMALLER,
	TD_CHANGE_TURNED,
	TD_CHANGE_DEPTH,  /* 16 bits became 8 */
	TD_CHANGE_INKS,	  /* CMYK became RGB */
	TD_CHANGE_ALPHA,  /* left out, or laid over a background */
	TD_CHANGES,
};

/* Read from the options. */
struct td_prepare {
	const struct tundish_pack_options *o;
	enum td_form form;
	bool spares;	/* JPEG, PNG: what has that form keeps its bytes, if nothing else changes it */
	int quality;	/* of JPEG */
	bool restarts;	/* LOSSLESS: a restart marker a row */
	bool sixteen;	/* RAW: uint16, not uint8 */
	int background; /* -1: transparent pixels as they are */
	enum td_index_wish {
		TD_INDEX_AS_IS, /* none for new pictures, what there is for records */
		TD_INDEX_OFF,
		TD_INDEX_MAKE,
	} index;
	uint32_t spacing; /* MCUs between two entries; 0: one entry a row */
	struct td_ledger ledger;
	struct td_gate gate; /* for pictures that take much memory */
	_Atomic uint64_t changed[TD_CHANGES];
};

/* USAGE names the option. */
int td_prepare_init(struct td_prepare *p, const struct tundish_pack_options *o,
    struct tundish_error *e);
/* By how much pictures grow, about: raw pixels of a photograph take six times its JPEG. */
unsigned td_prepare_growth(const struct td_prepare *p);
/* What is to be made at a time, as td_pack.block_bytes says: where pixels may be a thousand
 * times as large as their file, a few small files or one; 0: as usual. */
uint64_t td_prepare_block(const struct td_prepare *p);
/* Says in one notice what was done to how many pictures. */
void td_prepare_tell(const struct td_prepare *p);
void td_prepare_fini(struct td_prepare *p);

/* Working memory of one thread; zeroed is empty. */
struct td_prep_desk {
	struct td_decoder *decoder;
	struct td_scratch scratch;
	struct td_buf encoded, index, record, made, wide, turned;
	bool heavy; /* the decoder holds a large picture */
	uint32_t raw_width, raw_height; /* of the last frame that td_prepare_pixels() made raw */
};
void td_prep_desk_free(struct td_prep_desk *desk);

/* What only a large picture needed is given back: once its record is made. */
void td_prep_desk_slim(struct td_prep_desk *desk);

/* A picture as it goes into the record. The bytes are good until the next one. */
struct td_prepared {
	struct td_bytes image, index; /* index: length 0 where there is none */
	struct td_image_info info;    /* of what is in `image`; of raw pixels the size counts */
	bool raw;
	struct td_image_traits traits; /* of the file; orientation 1 where it was applied */
	unsigned bits;		     /* of the file */
};

/* Checks a picture as o->check says and does what is wished. Errors make the picture bad,
 * with a reason only, but MEMORY. */
int td_prepare_picture(struct td_prepare *p, struct td_prep_desk *desk, const void *data,
    size_t len, struct td_prepared *ret, struct tundish_error *e);

/* Appends a picture that comes as pixels, in the size and form that are wished: as JPEG
 * where none is. */
int td_prepare_pixels(struct td_prepare *p, struct td_prep_desk *desk, struct td_buf *out,
    const struct td_pixels *pixels, struct tundish_error *e);
/* What td_prepare_pixels() made, as it goes into the record. */
int td_prepare_made(struct td_prepare *p, struct td_prep_desk *desk, const void *data, size_t len,
    struct td_prepared *ret, struct tundish_error *e);

/* The index of the JPEG in an Example is made anew, or left out. What is no Example, or
 * has no picture, stays as it is. *ret lies in the record or is good until the next one. */
int td_prepare_record(struct td_prepare *p, struct td_prep_desk *desk, const void *record,
    size_t bytes, struct td_bytes *ret, struct tundish_error *e);
