/* SPDX-License-Identifier: BSD-2-Clause
 * JPEG markers: the frame header, and whether the file is whole. */
#include "jpeg.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <jpeglib.h>

#include "base/bits.h"
#include "base/err.h"

enum {
	M_TEM = 0x01,
	M_SOF0 = 0xc0,
	M_SOF2 = 0xc2,
	M_DHT = 0xc4,
	M_JPG = 0xc8,
	M_SOF9 = 0xc9,
	M_SOF10 = 0xca,
	M_DAC = 0xcc,
	M_SOF15 = 0xcf,
	M_RST0 = 0xd0,
	M_RST7 = 0xd7,
	M_SOI = 0xd8,
	M_EOI = 0xd9,
	M_SOS = 0xda,
	M_DQT = 0xdb,
	M_DRI = 0xdd,
	M_APP0 = 0xe0,
	M_APP15 = 0xef,
	M_COM = 0xfe,
};

struct walk {
	const uint8_t *data;
	size_t len, at;		/* at: behind the marker last found */
	const uint8_t *payload; /* of the segment last read */
	size_t payload_len;
};

/* The next marker, whatever lies before it; 0 at the end of the data. Inside entropy
 * data this passes over stuffed zeros at the speed of memchr. */
static unsigned next_marker(struct walk *w)
{
	while (w->at < w->len) {
		const uint8_t *ff = memchr(w->data + w->at, 0xff, w->len - w->at);
		if (!ff)
			break;
		w->at = (size_t)(ff - w->data) + 1;
		while (w->at < w->len && w->data[w->at] == 0xff)
			w->at++;
		if (w->at < w->len && w->data[w->at++] != 0)
			return w->data[w->at - 1];
	}
	w->at = w->len;
	return 0;
}

static bool is_sof(unsigned m)
{
	return m >= M_SOF0 && m <= M_SOF15 && m != M_DHT && m != M_JPG && m != M_DAC;
}

static bool stands_alone(unsigned m)
{
	return m == M_TEM || (m >= M_RST0 && m <= M_RST7);
}

static bool has_length(unsigned m)
{
	return is_sof(m) || m == M_DHT || m == M_DAC || (m >= M_SOS && m <= M_DRI) ||
	       (m >= M_APP0 && m <= M_APP15) || m == M_COM;
}

static int read_segment(struct walk *w, unsigned m, struct tundish_error *e)
{
	size_t start = w->at - 2;
	if (!has_length(m))
		return td_err(e, TUNDISH_E_CORRUPT, "unexpected JPEG marker 0x%02X at byte %zu",
		    m, start);
	size_t n = w->len - w->at >= 2 ? td_be16(w->data + w->at) : 2;
	if (n < 2)
		return td_err(
		    e, TUNDISH_E_CORRUPT, "JPEG segment at byte %zu has length %zu", start, n);
	if (w->len - w->at < TD_MAX(n, (size_t)2))
		return td_err(e, TUNDISH_E_TRUNCATED,
		    "JPEG header is cut: segment 0x%02X at byte %zu needs %zu bytes, %zu are "
		    "there",
		    m, start, n, w->len - w->at);
	w->payload = w->data + w->at + 2;
	w->payload_len = n - 2;
	w->at += n;
	return 0;
}

/* What libjpeg has no decoder for, or NULL. */
static const char *unsupported_frame(unsigned m, unsigned precision)
{
	switch (m) {
	case 0xc3:
	case 0xcb:
		return "lossless JPEG";
	case 0xc5:
	case 0xc6:
	case 0xc7:
	case 0xcd:
	case 0xce:
	case 0xcf:
		return "hierarchical JPEG";
	default:
		break;
	}
#ifndef D_ARITH_CODING_SUPPORTED
	if (m == M_SOF9 || m == M_SOF10)
		return "arithmetic-coded JPEG";
#endif
	return precision == 12 ? "12-bit JPEG" : precision == 16 ? "16-bit JPEG" : NULL;
}

static int check_size(
    uint32_t width, uint32_t height, uint64_t max_pixels, struct tundish_error *e)
{
	if (width && height == 0)
		return td_err(e, TUNDISH_E_UNSUPPORTED,
		    "height 0: JPEG with its height behind the scan (DNL) is not supported");
	int r = td_image_check_size(width, height, max_pixels, e);
	if (r == 0 && (width > JPEG_MAX_DIMENSION || height > JPEG_MAX_DIMENSION))
		r = td_err(e, TUNDISH_E_UNSUPPORTED,
		    "%" PRIu32 " x %" PRIu32 " is above libjpeg's limit of %ld pixels a side",
		    width, height, JPEG_MAX_DIMENSION);
	return r;
}

static int read_frame(struct td_image_info *ret, const struct walk *w, unsigned m,
    uint64_t max_pixels, struct tundish_error *e)
{
	const uint8_t *p = w->payload;
	if (w->payload_len < 6)
		return td_err(e, TUNDISH_E_CORRUPT, "JPEG frame header is too short");
	const char *what = unsupported_frame(m, p[0]);
	if (what)
		return td_err(e, TUNDISH_E_UNSUPPORTED, "%s is not supported", what);
	uint32_t height = td_be16(p + 1), width = td_be16(p + 3);
	unsigned n = p[5];
	if (p[0] != 8)
		return td_err(e, TUNDISH_E_CORRUPT, "JPEG claims %u bits a sample", p[0]);
	int r = check_size(width, height, max_pixels, e);
	if (r < 0)
		return r;
	if (w->payload_len != 6 + 3 * (size_t)n)
		return td_err(e, TUNDISH_E_CORRUPT, "JPEG frame header has a wrong length");
	if (n != 1 && n != 3 && n != 4)
		return td_err(e, n ? TUNDISH_E_UNSUPPORTED : TUNDISH_E_CORRUPT,
		    "JPEG with %u components is not supported", n);
	for (unsigned i = 0; i < n; i++) {
		unsigned h = p[7 + 3 * i] >> 4, v = p[7 + 3 * i] & 15;
		if (h < 1 || h > 4 || v < 1 || v > 4)
			return td_err(
			    e, TUNDISH_E_CORRUPT, "JPEG sampling factor %u x %u", h, v);
	}
	*ret = (struct td_image_info){ .kind = TD_IMAGE_JPEG,
		.width = width,
		.height = height,
		.channels = n,
		.bits = 8,
		.progressive = m == M_SOF2 || m == M_SOF10 };
	return 0;
}

static int header_end(unsigned m, struct tundish_error *e)
{
	switch (m) {
	case 0:
		return td_err(e, TUNDISH_E_TRUNCATED, "JPEG header is cut");
	case M_EOI:
		return td_err(e, TUNDISH_E_CORRUPT, "JPEG holds no picture");
	default:
		return td_err(e, TUNDISH_E_CORRUPT, "JPEG scan without a frame header");
	}
}

int td_jpeg_header(struct td_image_info *ret, const void *data, size_t len, uint64_t max_pixels,
    struct tundish_error *e)
{
	struct walk w = { .data = data, .len = len, .at = 2 };
	struct td_image_info info = { 0 };
	bool arithmetic = false, huffman_tables = false;
	for (;;) {
		unsigned m = next_marker(&w);
		if (stands_alone(m))
			continue;
		/* the frame is known, only an arithmetic one has to look further */
		if (info.width && (m == 0 || m == M_EOI || m == M_SOS))
			break;
		if (m == 0 || m == M_EOI || m == M_SOS)
			return header_end(m, e);
		int r = read_segment(&w, m, e);
		if (r == 0 && is_sof(m) && !info.width) {
			r = read_frame(&info, &w, m, max_pixels, e);
			arithmetic = m == M_SOF9 || m == M_SOF10;
		}
		if (r < 0)
			return r;
		huffman_tables |= m == M_DHT;
		if (info.width && !arithmetic)
			break;
	}
	/* libjpeg would make noise of it without a word */
	if (arithmetic && huffman_tables)
		return td_err(e, TUNDISH_E_CORRUPT,
		    "JPEG claims arithmetic coding but brings Huffman tables");
	*ret = info;
	return 0;
}

void td_jpeg_traits(struct td_image_traits *f, const void *data, size_t len)
{
	struct walk w = { .data = data, .len = len, .at = 2 };
	for (;;) {
		unsigned m = next_marker(&w);
		if (stands_alone(m))
			continue;
		if (m == 0 || m == M_EOI || m == M_SOS || read_segment(&w, m, NULL) < 0)
			return;
		if (m == M_APP0 + 1 && f->orientation == 0 && w.payload_len > 6 &&
		    memcmp(w.payload, "Exif\0\0", 6) == 0)
			f->orientation = td_exif_orientation(w.payload + 6, w.payload_len - 6);
		if (m == M_APP0 + 2 && w.payload_len > 14 && memcmp(w.payload, "ICC_PROFILE", 12) == 0)
			f->icc = true;
		/* the last byte of Adobe's marker */
		if (m == M_APP0 + 14 && w.payload_len >= 12 && memcmp(w.payload, "Adobe", 5) == 0)
			f->ycck = w.payload[11] == 2;
	}
}

int td_jpeg_walk(const void *data, size_t len, struct tundish_error *e)
{
	struct walk w = { .data = data, .len = len, .at = 2 };
	bool frame = false, scan = false;
	for (;;) {
		unsigned m = next_marker(&w);
		if (stands_alone(m))
			continue;
		if (m == 0 && scan)
			return td_err(e, TUNDISH_E_TRUNCATED,
			    "JPEG is cut: no end marker in %zu bytes", len);
		if (m == M_EOI && scan)
			return 0;
		if (m == 0 || m == M_EOI || (m == M_SOS && !frame))
			return header_end(m, e);
		if (is_sof(m) && frame)
			return td_err(
			    e, TUNDISH_E_CORRUPT, "second JPEG frame at byte %zu", w.at - 2);
		int r = read_segment(&w, m, e);
		if (r < 0)
			return r;
		frame |= is_sof(m);
		scan |= m == M_SOS;
	}
}
