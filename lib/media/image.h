/* SPDX-License-Identifier: BSD-2-Clause
 * Pictures in files: what they are, whether they are whole, and their pixels. */
#pragma once
#include <stdbool.h>

#include "base/buf.h"
#include "base/elem.h"
#include "tundish.h"

enum td_image_kind {
	TD_IMAGE_NONE = 0, /* no picture that is known */
	TD_IMAGE_JPEG,
	TD_IMAGE_PNG,
	TD_IMAGE_BMP, /* from here on with the module "pictures" only */
	TD_IMAGE_GIF,
	TD_IMAGE_WEBP,
	TD_IMAGE_TIFF,
};

/* By the first bytes; 16 are enough. */
enum td_image_kind td_image_probe(const void *data, size_t len);
/* "JPEG", "PNG", ... */
const char *td_image_kind_name(enum td_image_kind kind);
/* "jpeg", "png", ..., as records name them. */
const char *td_image_format_name(enum td_image_kind kind);

struct td_image_info {
	enum td_image_kind kind;
	uint32_t width, height;
	unsigned channels; /* as stored: 1 to 4; a palette counts 3 */
	unsigned bits;	   /* per sample: 1 to 16 */
	bool progressive, palette, alpha;
};

/* Reads the header alone. Errors: UNSUPPORTED ("WebP is not supported", "lossless
 * JPEG is not supported"), CORRUPT, TRUNCATED, LIMIT (over max_pixels, in the text:
 * both numbers). Reason only: the caller knows the place. */
int td_image_header(struct td_image_info *ret, const void *data, size_t len,
    uint64_t max_pixels, struct tundish_error *e);

/* What else the file says; damage counts as nothing said. */
struct td_image_traits {
	unsigned orientation; /* 1 to 8, as EXIF counts; 1: upright */
	bool icc;	      /* a colour profile is in it */
	bool grey, ycck, transparent; /* transparent: alpha, or a transparent colour */
	const char *colours; /* "rgb", "grey", "palette", "cmyk", "ycck", the first three also
			      * with "+alpha" */
};
void td_image_traits(struct td_image_traits *ret, const struct td_image_info *info,
    const void *data, size_t len);

/* For whoever reads a size from a file: CORRUPT when a side is 0, LIMIT above max_pixels. */
int td_image_check_size(
    uint32_t width, uint32_t height, uint64_t max_pixels, struct tundish_error *e);

/* What enum tundish_check says: HEADER as above; STRUCTURE also walks all JPEG
 * markers to the EOI behind the last scan (junk behind it is fine; stray bytes that
 * libjpeg takes are fine), or all PNG chunks with their CRCs to IEND, at memory
 * speed; DECODE also decodes each pixel and takes libjpeg's warnings for damage.
 * `d` is needed for DECODE only. */
struct td_decoder;
int td_image_check(struct td_image_info *ret, const void *data, size_t len, int check,
    uint64_t max_pixels, struct td_decoder *d, struct tundish_error *e);

/* A decoder with its buffers; one a thread, reused for any number of pictures. */
int td_decoder_new(struct td_decoder **ret, struct tundish_error *e);
void td_decoder_free(struct td_decoder *d);
/* Baseline JPEGs are decoded by our own entropy decoder where td_jpeg_own_works() (in
 * jpeg.h); from here on by libjpeg's alone. The pixels are the same. */
void td_decoder_plain(struct td_decoder *d);
/* Whether our own decoder made the last JPEG, to the end. */
bool td_decoder_used_own(const struct td_decoder *d);

/* An index that td_jpeg_index() made of the picture that the next td_decode() gets: what
 * lies outside of the window is then jumped over. It must live until then. */
void td_decoder_index(struct td_decoder *d, const void *index, size_t len);
/* Whether the last td_decode() was given an index that does not fit and did without. */
bool td_decoder_index_refused(const struct td_decoder *d);
/* Appends the index of a baseline JPEG to `out`: one entry of 8 bytes every `spacing` MCUs
 * of each row, or with 0 one a row. Errors: UNSUPPORTED for all other pictures (those
 * with restart markers need none), CORRUPT. */
int td_jpeg_index(struct td_decoder *d, struct td_buf *out, const void *data, size_t len,
    uint32_t spacing, struct tundish_error *e);

/* Appends the same JPEG as a plain baseline file: same coefficients and markers, optimised
 * codes; with `restarts` a restart marker a row of MCUs, by which windows are found without
 * an index, else none at all. Progressive files become 3 times faster to decode. The result
 * was decoded in full and compared; where it differs, and for damaged files, an error (keep
 * the original). */
int td_jpeg_lossless(struct td_decoder *d, struct td_buf *out, const void *data, size_t len,
    bool restarts, uint64_t max_pixels, struct tundish_error *e);

/* Part of a picture, in pixels. */
struct td_window {
	uint32_t x, y, width, height;
};

/* Pixels in the decoder's memory, valid until its next use. `step` is the distance
 * of two pixels in bytes: 4 for JPEG colour (RGBX), else `channels`; `stride` that
 * of two rows. channels is 3: grey is repeated, alpha dropped, 16 bits
 * become their high byte, palettes are looked up, CMYK is turned to RGB. */
struct td_pixels {
	const uint8_t *data;
	uint32_t width, height;
	unsigned channels, step;
	size_t stride;
	bool grey; /* all three are alike: encoders write one */
	unsigned warnings; /* of the decoder: damage that it painted over */
	enum td_elem elem; /* of samples, which `step` counts; uint8 of all that is decoded */
	/* Where the window lies when the picture was made smaller, in samples; across 0: it
	 * is all there is. */
	double left, top, across, down;
};

/* Lets the next td_decode() make a JPEG smaller by 2, 4 or 8 while it is decoded, as far as
 * the window stays at least that large. That is fast and not exact: td_pixels has the
 * smaller size, and says where the window lies in it. */
void td_decoder_fast(struct td_decoder *d, uint32_t width, uint32_t height);

/* Decodes `window` of the picture (NULL: all of it). The pixels are those of a full
 * decode with the accurate integer DCT and fancy upsampling, for every window.
 * `info` is that of td_image_header() for the same data. With warnings (damage inside
 * the window) it is CORRUPT, a picture that ends early TRUNCATED, unless `lenient`. */
int td_decode(struct td_decoder *d, struct td_pixels *ret, const struct td_image_info *info,
    const void *data, size_t len, const struct td_window *window, bool lenient,
    struct tundish_error *e);

/* Lays a PNG's transparent pixels over that grey level (255: white) from here on; -1: their
 * colours stand as they are, which is how a new decoder does it. */
void td_decoder_background(struct td_decoder *d, int level);

/* A sample laid over the background, rounded to nearest, as Pillow does. */
static inline uint8_t td_over(unsigned value, unsigned alpha, int background)
{
	return (uint8_t)((value * alpha + (unsigned)background * (255 - alpha) + 127) / 255);
}

/* Lets the next td_decode(), of a whole picture, give a PNG of 16 bits as floats from 0 to
 * 65535; other pictures come as always. */
void td_decoder_sixteen(struct td_decoder *d);

/* Writes a JPEG of 8-bit RGB or grey pixels (ISLOW, 4:2:0), or a PNG. */
int td_jpeg_encode(
    struct td_buf *out, const struct td_pixels *pixels, int quality, struct tundish_error *e);
int td_png_encode(struct td_buf *out, const struct td_pixels *pixels, struct tundish_error *e);
