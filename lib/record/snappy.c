/* SPDX-License-Identifier: BSD-2-Clause
 * Snappy blocks as TensorFlow frames them: a big-endian length before each. */
#include "snappy.h"

#include <string.h>

#include "base/bits.h"
#include "base/err.h"
#include "wire.h"

#ifdef TD_HAVE_SNAPPY
#include <snappy-c.h>
#endif

/* Two bytes of input give 11 bytes at most, three give 64. */
#define GROWTH 22
#define TRUSTED ((size_t)1 << 20)

bool td_snappy_plausible(const uint8_t *data, size_t bytes, uint64_t all)
{
	uint64_t plain;
	if (bytes < 5)
		return false;
	uint64_t length = td_be32(data);
	struct td_span s = td_span(data + 4, bytes - 4);
	return length > 0 && length <= all - 4 && length <= TD_SNAPPY_BLOCK_MAX &&
	       td_varint(&s, &plain) && plain <= length * GROWTH &&
	       /* no compressor makes data longer than this */
	       length <= 32 + plain + plain / 6;
}

/* ---- a decoder that keeps what comes before damage ---- */

/* An element: literal bytes at s, or a copy from `back` bytes ago. */
struct element {
	uint64_t bytes;
	uint32_t back; /* 0: a literal */
};

static bool number(struct td_span *s, unsigned bytes, uint32_t *ret)
{
	uint32_t v = 0;
	if (td_span_bytes(*s) < bytes)
		return false;
	memcpy(&v, s->p, bytes);
	s->p += bytes;
	*ret = v;
	return true;
}

static bool element(struct td_span *s, struct element *ret)
{
	uint8_t tag = *s->p++;
	uint32_t v = 0;
	switch (tag & 3) {
	case 0:
		if (tag >> 2 >= 60 && !number(s, (tag >> 2) - 59u, &v))
			return false;
		*ret = (struct element){ (tag >> 2 < 60 ? tag >> 2 : (uint64_t)v) + 1, 0 };
		return true;
	case 1:
		if (!number(s, 1, &v))
			return false;
		*ret = (struct element){ (tag >> 2 & 7) + 4u, (uint32_t)(tag >> 5) << 8 | v };
		return ret->back > 0;
	default:
		if (!number(s, tag & 1 ? 4 : 2, &v))
			return false;
		*ret = (struct element){ (tag >> 2) + 1u, v };
		return v > 0;
	}
}

size_t td_snappy_prefix(const uint8_t *data, size_t bytes, uint8_t *out, size_t out_bytes)
{
	struct td_span s = td_span(data, bytes);
	struct element el;
	uint64_t plain;
	size_t n = 0;
	if (!td_varint(&s, &plain))
		return 0;
	out_bytes = (size_t)TD_MIN((uint64_t)out_bytes, plain);
	while (n < out_bytes && s.p < s.end && element(&s, &el)) {
		size_t take = (size_t)TD_MIN(el.bytes, (uint64_t)(out_bytes - n));
		if (el.back > n)
			break;
		if (el.back == 0) {
			take = TD_MIN(take, td_span_bytes(s));
			memcpy(out + n, s.p, take);
			s.p += take;
			n += take;
		}
		for (; el.back > 0 && take > 0; take--, n++)
			out[n] = out[n - el.back];
	}
	return n;
}

#ifdef TD_HAVE_SNAPPY

bool td_snappy_built(void)
{
	return true;
}

int td_snappy_decode(struct td_buf *out, const uint8_t *data, size_t bytes, struct tundish_error *e)
{
	size_t plain = 0;
	if (snappy_uncompressed_length((const char *)data, bytes, &plain) != SNAPPY_OK)
		return 0;
	/* a length that costs memory must be true */
	bool good = plain / GROWTH <= bytes && (plain <= TRUSTED || td_snappy_valid(data, bytes));
	plain = good ? plain : TD_MIN(plain, TD_MIN(bytes * GROWTH, TD_SNAPPY_SALVAGE_MAX));
	if (!td_buf_reserve(out, plain))
		return td_err_memory(e);
	uint8_t *to = out->data + out->len;
	if (good && snappy_uncompress((const char *)data, bytes, (char *)to, &plain) == SNAPPY_OK) {
		out->len += plain;
		return 1;
	}
	out->len += td_snappy_prefix(data, bytes, to, plain);
	return 0;
}

bool td_snappy_valid(const uint8_t *data, size_t bytes)
{
	return snappy_validate_compressed_buffer((const char *)data, bytes) == SNAPPY_OK;
}

int td_snappy_encode(struct td_buf *out, const uint8_t *data, size_t bytes, struct tundish_error *e)
{
	while (bytes > 0) {
		size_t n = TD_MIN(bytes, TD_SNAPPY_WRITE_MAX), room = snappy_max_compressed_length(n);
		if (!td_buf_reserve(out, 4 + room))
			return td_err_memory(e);
		uint8_t *to = out->data + out->len;
		snappy_compress((const char *)data, n, (char *)to + 4, &room);
		td_put_be32(to, (uint32_t)room);
		out->len += 4 + room;
		data += n;
		bytes -= n;
	}
	return 0;
}

#else

bool td_snappy_built(void)
{
	return false;
}

int td_snappy_decode(struct td_buf *out, const uint8_t *data, size_t bytes, struct tundish_error *e)
{
	(void)out, (void)data, (void)bytes;
	return td_err(e, TUNDISH_E_MODULE, "built without snappy");
}

bool td_snappy_valid(const uint8_t *data, size_t bytes)
{
	(void)data, (void)bytes;
	return false;
}

int td_snappy_encode(struct td_buf *out, const uint8_t *data, size_t bytes, struct tundish_error *e)
{
	return td_snappy_decode(out, data, bytes, e);
}

#endif
