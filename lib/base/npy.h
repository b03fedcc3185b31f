/* SPDX-License-Identifier: BSD-2-Clause
 * Headers of NumPy's array files, format 1.0. */
#pragma once
#include <stddef.h>
#include <stdint.h>

struct td_npy_header {
	char bytes[1024];
	size_t n; /* a multiple of 64 */
};

/* `descr` as NumPy spells types, C order, at most 8 axes. The name stands behind a #, which
 * NumPy passes over: escaped, at most 500 bytes of it. */
void td_npy_header(struct td_npy_header *ret, const char *descr, const uint64_t *shape,
    unsigned ndim, const char *name);
/* Of enum tundish_dtype; NumPy has no bfloat16, its bits go as "<u2". */
const char *td_npy_descr(int dtype);
