/* SPDX-License-Identifier: BSD-2-Clause
 * UTF-8 by itself: is this a character, is all of this valid. */
#include "utf8.h"

#include <stdint.h>

size_t td_utf8_char(const char *s, size_t len)
{
	const unsigned char *p = (const unsigned char *)s;
	if (len == 0)
		return 0;
	if (p[0] < 0x80)
		return 1;
	size_t n = p[0] >= 0xf0 ? 4 : p[0] >= 0xe0 ? 3 : 2;
	if (p[0] < 0xc2 || p[0] > 0xf4 || len < n)
		return 0;
	uint32_t code = p[0] & (0x7fu >> n);
	for (size_t i = 1; i < n; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 0;
		code = code << 6 | (p[i] & 0x3f);
	}
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	if (code < least[n] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
		return 0;
	return n;
}

bool td_utf8_valid(const char *s, size_t len)
{
	for (size_t i = 0, n; i < len; i += n) {
		n = td_utf8_char(s + i, len - i);
		if (n == 0)
			return false;
	}
	return true;
}
