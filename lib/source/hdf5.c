/* SPDX-License-Identifier: BSD-2-Clause
 * HDF5 files: how they are told from others, without the library. */
#include "hdf5.h"

#include <string.h>
#include <strings.h>

#include "base/path.h"
#include "format.h"

/* The signature stands at 0 or behind a user block of 512 bytes or a power of two more. */
static int probe(const char *path, const uint8_t *head, size_t len)
{
	static const uint8_t mark[8] = { 0x89, 'H', 'D', 'F', '\r', '\n', 0x1a, '\n' };
	(void)path;
	for (size_t at = 0; at + sizeof mark <= len; at = at ? 2 * at : 512)
		if (memcmp(head + at, mark, sizeof mark) == 0)
			return at && td_archive_marked(head, len) ? 0 : 90;
	return 0;
}

static bool named(const char *path)
{
	static const char *const suffixes[] = { ".h5", ".hdf5", ".he5" };
	return td_path_has_suffix(path, suffixes, TD_COUNT(suffixes));
}

const struct td_format td_format_hdf5 = {
	.name = "hdf5",
	.module = "hdf5",
	.package = "tundish-hdf5",
	.probe = probe,
	.named = named,
};
