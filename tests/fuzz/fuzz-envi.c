/* SPDX-License-Identifier: BSD-2-Clause
 * ENVI: the header, and behind its first NUL the pixels. */
#include "raster.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	const uint8_t *nul = memchr(data, '\0', len);
	size_t header = nul ? (size_t)(nul - data) : len;
	size_t left = nul ? len - header - 1 : 0;
	/* memory of its own, so that reads past its end are seen */
	uint8_t *copy = malloc(header + 1);
	MUST(copy);
	memcpy(copy, data, header);
	try_raster(copy, header, nul ? nul + 1 : NULL, left);
	free(copy);
	return 0;
}
