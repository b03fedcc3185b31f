/* SPDX-License-Identifier: BSD-2-Clause
 * The names of compressions. */
#pragma once
#include "attr.h"

/* "none", "gzip", ... of an enum tundish_compression; "unknown" before it is recognised. */
static inline const char *td_compression_name(int compression)
{
	static const char *const names[] = { "none", "gzip", "zlib", "snappy" };
	return compression >= 0 && compression < (int)TD_COUNT(names) ? names[compression] : "unknown";
}
