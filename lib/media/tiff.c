/* SPDX-License-Identifier: BSD-2-Clause
 * The first directory of a TIFF file. EXIF data are one, too. */
#include "tiff.h"

#include <string.h>

#include "base/attr.h"
#include "base/bits.h"

#define HEADER_BYTES 8
#define ENTRY_BYTES 12

static uint32_t number16(const struct td_tiff *t, size_t at)
{
	return t->big ? td_be16(t->p + at) : td_le16(t->p + at);
}

static uint32_t number32(const struct td_tiff *t, size_t at)
{
	return t->big ? td_be32(t->p + at) : td_le32(t->p + at);
}

bool td_tiff_open(struct td_tiff *t, const void *data, size_t len)
{
	*t = (struct td_tiff){ .p = data };
	if (len < HEADER_BYTES + 2 || (memcmp(t->p, "II*\0", 4) != 0 && memcmp(t->p, "MM\0*", 4) != 0))
		return false;
	t->big = t->p[0] == 'M';
	size_t at = number32(t, 4);
	if (at > len - 2)
		return false;
	size_t n = number16(t, at), room = (len - at - 2) / ENTRY_BYTES;
	t->cut = n > room;
	t->at = at + 2;
	t->left = TD_MIN(n, room);
	return true;
}

bool td_tiff_next(struct td_tiff *t, struct td_tiff_entry *ret)
{
	if (t->left == 0)
		return false;
	*ret = (struct td_tiff_entry){ number16(t, t->at), number16(t, t->at + 2), number32(t, t->at + 4), 0 };
	ret->value = ret->type == TD_TIFF_SHORT ? number16(t, t->at + 8) : number32(t, t->at + 8);
	t->at += ENTRY_BYTES;
	t->left--;
	return true;
}
