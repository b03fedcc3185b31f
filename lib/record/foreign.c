/* SPDX-License-Identifier: BSD-2-Clause
 * What a file is that is no TFRecord file, told by its first bytes. */
#include "foreign.h"

#include <stdbool.h>
#include <string.h>
#include <strings.h>

#define SIGN(at, text, what) { at, sizeof(text) - 1, text, what }
static const struct sign {
	size_t at, bytes;
	const char *text;
	const char *what;
} signs[] = {
	SIGN(0, "version https://git-lfs", "git-lfs pointer: the data was never downloaded"),
	SIGN(0, "\xff\xd8\xff", "JPEG image"),
	SIGN(0, "\x89PNG\r\n\x1a\n", "PNG image"),
	SIGN(0, "GIF8", "GIF image"),
	SIGN(0, "\x89HDF\r\n\x1a\n", "HDF5 file"),
	SIGN(0, "PK\3\4", "ZIP archive"),
	SIGN(0, "PK\5\6", "ZIP archive"),
	SIGN(257, "ustar", "tar archive"),
	SIGN(0, "BZh", "bzip2 data"),
	SIGN(0, "\xfd""7zXZ", "xz data"),
	SIGN(0, "\x28\xb5\x2f\xfd", "Zstandard data"),
	SIGN(0, "%PDF-", "PDF document"),
	SIGN(0, "\x93NUMPY", "NumPy array"),
	SIGN(0, "\x7f" "ELF", "program"),
};

static bool starts(const uint8_t *p, size_t bytes, const char *word)
{
	size_t n = strlen(word);
	return bytes >= n && strncasecmp((const char *)p, word, n) == 0;
}

static const char *markup(const uint8_t *p, size_t bytes)
{
	if (bytes >= 3 && memcmp(p, "\xef\xbb\xbf", 3) == 0) {
		p += 3;
		bytes -= 3;
	}
	while (bytes > 0 && strchr(" \t\r\n", *p) && *p) {
		p++;
		bytes--;
	}
	if (starts(p, bytes, "<!doctype html") || starts(p, bytes, "<html"))
		return "HTML page";
	if (starts(p, bytes, "<error") || (starts(p, bytes, "<?xml") && memmem(p, bytes, "<Error", 6)))
		return "XML error";
	return starts(p, bytes, "<?xml") ? "XML text" : NULL;
}

const char *td_foreign(const uint8_t *data, size_t bytes)
{
	for (size_t i = 0; i < TD_COUNT(signs); i++)
		if (bytes >= signs[i].at + signs[i].bytes &&
		    memcmp(data + signs[i].at, signs[i].text, signs[i].bytes) == 0)
			return signs[i].what;
	return markup(data, bytes);
}
