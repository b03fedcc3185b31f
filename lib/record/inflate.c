/* SPDX-License-Identifier: BSD-2-Clause
 * ISA-L's inflate set up for a piece of compressed data, and whole gzip members. */
#include "inflate.h"

#include <stdlib.h>
#include <string.h>

#include "base/attr.h"

void td_inflate_begin(struct inflate_state *s, uint32_t kind)
{
	memset(s, 0, sizeof *s);
	isal_inflate_init(s);
	s->crc_flag = kind;
}

/* One call: what fits of it. It ended well, or there is no more, or no more room. */
static int inflate(struct inflate_state *s, uint32_t kind, const uint8_t *data, size_t bytes,
    uint8_t *out, size_t room)
{
	td_inflate_begin(s, kind);
	s->next_in = (uint8_t *)data;
	s->avail_in = (uint32_t)TD_MIN(bytes, (size_t)UINT32_MAX);
	s->next_out = out;
	s->avail_out = (uint32_t)TD_MIN(room, (size_t)UINT32_MAX);
	return isal_inflate(s) == ISAL_DECOMP_OK && s->block_state == ISAL_BLOCK_FINISH;
}

size_t td_inflate_member(struct inflate_state *s, const uint8_t *data, size_t bytes, uint8_t *out,
    size_t room, size_t *ret_made)
{
	if (!inflate(s, ISAL_GZIP, data, bytes, out, room))
		return 0;
	*ret_made = (size_t)(s->next_out - out);
	return (size_t)(s->next_in - data);
}

size_t td_inflate_start(uint32_t kind, const uint8_t *data, size_t bytes, uint8_t *out, size_t room,
    int *ret_ended)
{
	struct inflate_state *s = malloc(sizeof *s);
	if (!s)
		return 0;
	*ret_ended = inflate(s, kind, data, bytes, out, room);
	size_t made = (size_t)(s->next_out - out);
	free(s);
	return made;
}
