/* SPDX-License-Identifier: BSD-2-Clause
 * Protocol buffers' wire format, as far as Examples need it: a cursor over fields. */
#include "wire.h"

#include "tundish.h"

#define GROUPS_MAX 100
enum { GROUP_START = 3, GROUP_END = 4 };

static bool take(struct td_span *s, uint64_t bytes, struct td_span *ret)
{
	if (bytes > td_span_bytes(*s))
		return false;
	*ret = (struct td_span){ s->p, s->p + bytes };
	s->p += bytes;
	return true;
}

static bool tag(struct td_span *s, struct td_wire_field *ret)
{
	uint64_t v;
	if (!td_varint(s, &v) || v > UINT32_MAX || v >> 3 == 0)
		return false;
	ret->number = (uint32_t)v >> 3;
	ret->type = v & 7;
	return true;
}

static bool body(struct td_span *s, struct td_wire_field *f)
{
	uint64_t v;
	const uint8_t *start = s->p;
	switch (f->type) {
	case TD_WIRE_VARINT:
		if (!td_varint(s, &v))
			return false;
		f->body = (struct td_span){ start, s->p };
		return true;
	case TD_WIRE_64:
		return take(s, 8, &f->body);
	case TD_WIRE_BYTES:
		return td_varint(s, &v) && take(s, v, &f->body);
	case TD_WIRE_32:
		return take(s, 4, &f->body);
	default:
		return false;
	}
}

/* Old-style groups are unknown fields to us, but legal. */
static bool pass_group(struct td_span *s, uint32_t number)
{
	uint32_t open[GROUPS_MAX] = { number };
	for (unsigned depth = 1; depth > 0;) {
		struct td_wire_field f;
		if (s->p == s->end || !tag(s, &f))
			return false;
		if (f.type == GROUP_START) {
			if (depth == GROUPS_MAX)
				return false;
			open[depth++] = f.number;
		} else if (f.type == GROUP_END) {
			if (open[--depth] != f.number)
				return false;
		} else if (!body(s, &f)) {
			return false;
		}
	}
	return true;
}

bool td_wire_any(struct td_span *s, struct td_wire_field *ret)
{
	const uint8_t *start;
	if (!tag(s, ret))
		return false;
	if (ret->type != GROUP_START)
		return body(s, ret);
	start = s->p;
	if (!pass_group(s, ret->number))
		return false;
	ret->body = (struct td_span){ start, s->p };
	return true;
}
