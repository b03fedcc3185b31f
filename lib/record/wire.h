/* SPDX-License-Identifier: BSD-2-Clause
 * Protocol buffers' wire format, as far as Examples need it: a cursor over fields. */
#pragma once
#include <stdbool.h>

#include "base/attr.h"
#include "base/bits.h"
#include "tundish.h"

struct td_span {
	const uint8_t *p, *end;
};

enum td_wire { TD_WIRE_VARINT = 0, TD_WIRE_64 = 1, TD_WIRE_BYTES = 2, TD_WIRE_32 = 5 };

/* A field just read. `body` is the content of WIRE_BYTES, and the raw bytes of others. */
struct td_wire_field {
	uint32_t number;
	unsigned type;
	struct td_span body;
};

static inline size_t td_span_bytes(struct td_span s)
{
	return (size_t)(s.end - s.p);
}

static inline struct td_span td_span(const void *data, size_t bytes)
{
	return (struct td_span){ data, (const uint8_t *)data + bytes };
}

/* A varint of up to ten bytes; false when it is longer or cut. */
static inline bool td_varint(struct td_span *s, uint64_t *ret)
{
	uint64_t v = 0;
	for (unsigned shift = 0; s->p < s->end && shift < 70; shift += 7) {
		uint8_t c = *s->p++;
		v |= (uint64_t)(c & 0x7f) << (shift & 63);
		if (c < 0x80) {
			*ret = v;
			return true;
		}
	}
	return false;
}

/* td_wire_next() for fields of any kind. */
bool td_wire_any(struct td_span *s, struct td_wire_field *ret);

/* The next field; call with s not at its end. False when the bytes are no message.
 * Nearly all fields in an Example are a tag of one byte and a length of one or two. */
static inline bool td_wire_next(struct td_span *s, struct td_wire_field *ret)
{
	const uint8_t *p = s->p;
	if (s->end - p < 3 || (p[0] & 0x87) != TD_WIRE_BYTES || p[0] < 8 || (p[1] & p[2] & 0x80)) {
		/* copies, so that the caller's can stay in registers */
		struct td_span all = *s;
		struct td_wire_field any = { 0 };
		bool good = td_wire_any(&all, &any);
		*s = all;
		*ret = any;
		return good;
	}
	size_t two = p[1] >> 7, bytes = (p[1] & 0x7fu) | (two ? (size_t)p[2] << 7 : 0);
	ret->number = p[0] >> 3;
	ret->type = TD_WIRE_BYTES;
	p += 2 + two;
	if (bytes > (size_t)(s->end - p))
		return false;
	ret->body = (struct td_span){ p, p + bytes };
	s->p = p + bytes;
	return true;
}

/* The next field `number` that holds a message; others are passed over. 1 and its
 * content, 0 at the end, or CORRUPT. */
static inline int td_wire_message(struct td_span *s, uint32_t number, struct td_span *ret)
{
	struct td_wire_field f;
	while (s->p < s->end) {
		if (!td_wire_next(s, &f))
			return TUNDISH_E_CORRUPT;
		if (f.number == number && f.type == TD_WIRE_BYTES) {
			*ret = f.body;
			return 1;
		}
	}
	return 0;
}
