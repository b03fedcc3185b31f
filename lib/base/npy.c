/* SPDX-License-Identifier: BSD-2-Clause
 * Headers of NumPy's array files, format 1.0. */
#include "npy.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "bits.h"
#include "err.h"
#include "tundish.h"

const char *td_npy_descr(int dtype)
{
	static const char *const names[] = {
		[TUNDISH_UINT8] = "|u1",
		[TUNDISH_FLOAT16] = "<f2",
		[TUNDISH_BFLOAT16] = "<u2",
		[TUNDISH_FLOAT32] = "<f4",
		[TUNDISH_UINT16] = "<u2",
		[TUNDISH_INT8] = "|i1",
		[TUNDISH_INT16] = "<i2",
		[TUNDISH_UINT32] = "<u4",
		[TUNDISH_INT32] = "<i4",
		[TUNDISH_UINT64] = "<u8",
		[TUNDISH_DTYPE_INT64] = "<i8",
		[TUNDISH_FLOAT64] = "<f8",
		[TUNDISH_COMPLEX64] = "<c8",
		[TUNDISH_COMPLEX128] = "<c16",
	};
	return names[dtype];
}

void td_npy_header(struct td_npy_header *h, const char *descr, const uint64_t *shape, unsigned ndim,
    const char *name)
{
	static const char magic[8] = "\x93NUMPY\x01\x00";
	const size_t start = sizeof magic + 2;
	memcpy(h->bytes, magic, sizeof magic);
	size_t n = start;
	n += (size_t)snprintf(h->bytes + n, sizeof h->bytes - n,
	    "{'descr': '%s', 'fortran_order': False, 'shape': (", descr);
	for (unsigned i = 0; i < ndim; i++)
		n += (size_t)snprintf(h->bytes + n, sizeof h->bytes - n, "%" PRIu64 "%s", shape[i],
		    i + 1 < ndim ? ", " : ndim == 1 ? "," : "");
	n += (size_t)snprintf(h->bytes + n, sizeof h->bytes - n, "), }  # %.500s", TD_ESC(name));
	/* blanks and a newline up to the next multiple of 64 */
	h->n = (n + 1 + 63) & ~(size_t)63;
	memset(h->bytes + n, ' ', h->n - n - 1);
	h->bytes[h->n - 1] = '\n';
	td_put_le16(h->bytes + sizeof magic, (uint16_t)(h->n - start));
}
