/* SPDX-License-Identifier: BSD-2-Clause
 * SPE: header, footer, regions and values of frames. */
#include "raster.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	try_raster(data, len, NULL, 0);
	return 0;
}
