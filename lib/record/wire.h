/* SPDX-License-Identifier: BSD-2-Clause
 * Protocol buffers' wire format, as far as Examples need it: a cursor over fields. */
#pragma once
#include <stdbool.h>

#include "base/bits.h"
#include "base/attr.h"

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

/* The next field; call with s not at its end. False when the bytes are no message. */
bool td_wire_next(struct td_span *s, struct td_wire_field *ret);

/* The next field `number` that holds a message; others are passed over. 1 and its
 * content, 0 at the end, or CORRUPT. */
int td_wire_message(struct td_span *s, uint32_t number, struct td_span *ret);
