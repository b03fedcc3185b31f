/* SPDX-License-Identifier: BSD-2-Clause
 * The first directory of a TIFF file. EXIF data are one, too. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	TD_TIFF_SHORT = 3,
	TD_TIFF_LONG = 4,
};

struct td_tiff {
	const uint8_t *p;
	bool big; /* most significant byte first */
	bool cut; /* not all entries are there */
	size_t at, left;
};

/* `value` is right for one SHORT or LONG, the others have their bytes elsewhere. */
struct td_tiff_entry {
	uint32_t tag, type, count, value;
};

/* False: no TIFF, or its directory is not in it. */
bool td_tiff_open(struct td_tiff *t, const void *data, size_t len);
/* The entries in turn, those that are there; false at the end. */
bool td_tiff_next(struct td_tiff *t, struct td_tiff_entry *ret);
