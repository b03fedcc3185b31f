/* SPDX-License-Identifier: BSD-2-Clause
 * The index beside a JPEG. The input: the index's length in two bytes, the index, the
 * picture. It is tried as it is, and bound to the picture, so that its entries are believed. */
#include "fuzz.h"

#include "base/bits.h"
#include "base/crc32c.h"
#include "media/image.h"

#define PIXELS_MOST (1 << 18)

struct picture {
	const uint8_t *data;
	size_t len;
	struct td_image_info info;
};

static struct td_decoder *own, *plain;

/* No index may show in a full decode, in pixels, warnings or errors. */
static void full(const struct picture *p, const uint8_t *index, size_t len)
{
	struct tundish_error e[2] = { { 0 }, { 0 } };
	struct td_pixels a, b;
	td_decoder_index(own, index, len);
	int r = td_decode(own, &a, &p->info, p->data, p->len, NULL, true, &e[0]);
	MUST(r == td_decode(plain, &b, &p->info, p->data, p->len, NULL, true, &e[1]));
	MUST(!strcmp(e[0].text, e[1].text));
	if (r < 0)
		return;
	MUST(a.warnings == b.warnings);
	for (uint32_t y = 0; y < a.height; y++)
		MUST(!memcmp(a.data + y * a.stride, b.data + y * b.stride, (size_t)a.width * a.step));
}

/* One that lies may show in a part, but a part there is, or an error with words. */
static void part(const struct picture *p, const uint8_t *index, size_t len)
{
	struct tundish_error e = { 0 };
	struct td_pixels a;
	struct td_window w = { p->info.width / 3, p->info.height / 3, 0, 0 };
	w.width = (p->info.width - w.x + 1) / 2;
	w.height = (p->info.height - w.y + 1) / 2;
	td_decoder_index(own, index, len);
	int r = td_decode(own, &a, &p->info, p->data, p->len, &w, true, &e);
	if (r < 0)
		must_be_told(r, &e);
	else
		MUST(a.width == w.width && a.height == w.height);
	bool refused = td_decoder_index_refused(own);
	MUST(!refused || len > 0);
}

/* What was just made is believed, and no pixel differs. */
static void made(const struct picture *p, uint32_t spacing)
{
	struct td_buf index = { 0 };
	struct tundish_error e = { 0 };
	int r = td_jpeg_index(own, &index, p->data, p->len, spacing, &e);
	if (r < 0) {
		must_be_told(r, &e);
		MUST(index.len == 0);
	} else {
		full(p, index.data, index.len);
		part(p, index.data, index.len);
		if (td_decoder_used_own(own))
			MUST(!td_decoder_index_refused(own));
	}
	td_buf_free(&index);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct tundish_error e = { 0 };
	if (!own) {
		MUST(!td_decoder_new(&own, &e) && !td_decoder_new(&plain, &e));
		td_decoder_plain(plain);
	}
	size_t index_len = len >= 2 ? (size_t)data[0] | (size_t)data[1] << 8 : 0;
	if (len < 2 + index_len)
		return 0;
	struct picture p = { .data = data + 2 + index_len, .len = len - 2 - index_len };
	if (td_image_header(&p.info, p.data, p.len, PIXELS_MOST, &e) < 0)
		return 0;
	/* memory of its own, so that reads past its end are seen */
	uint8_t *index = malloc(index_len ? index_len : 1);
	MUST(index);
	memcpy(index, data + 2, index_len);
	full(&p, index, index_len);
	part(&p, index, index_len);
	if (index_len >= 16) {
		memcpy(index, "TDJ1", 4);
		td_put_le32(index + 8, (uint32_t)p.len);
		td_put_le32(index + 12, td_crc32c(0, p.data, p.len));
		full(&p, index, index_len);
		part(&p, index, index_len);
	}
	free(index);
	if (p.info.kind == TD_IMAGE_JPEG)
		made(&p, (uint32_t)index_len % 5);
	return 0;
}
