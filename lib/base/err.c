/* SPDX-License-Identifier: BSD-2-Clause
 * Filling a struct tundish_error, and making names fit for a message. */
#include "err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "utf8.h"

static void trim_utf8(char *s)
{
	size_t n = strlen(s), i = n;
	while (i > 0 && n - i < 4 && ((unsigned char)s[i - 1] & 0xc0) == 0x80)
		i--;
	if (i > 0 && (unsigned char)s[i - 1] >= 0xc0 && td_utf8_char(s + i - 1, n - i + 1) == 0)
		s[i - 1] = 0;
}

int td_err(struct tundish_error *e, int code, const char *fmt, ...)
{
	if (!e)
		return code;
	char text[sizeof e->text];
	va_list args;
	va_start(args, fmt);
	int n = vsnprintf(text, sizeof text, fmt, args);
	va_end(args);
	if (n >= (int)sizeof text)
		trim_utf8(text);
	e->code = code;
	memcpy(e->text, text, sizeof text);
	return code;
}

static int code_of_errno(int number)
{
	switch (number) {
	case ENOSPC:
	case EDQUOT:
	case EFBIG:
		return TUNDISH_E_SPACE;
	case ENOENT:
	case ENOTDIR:
		return TUNDISH_E_NOT_FOUND;
	case ENOMEM:
		return TUNDISH_E_MEMORY;
	case EPIPE:
		return TUNDISH_E_CLOSED;
	default:
		return TUNDISH_E_IO;
	}
}

int td_err_errno(struct tundish_error *e, int number, const char *fmt, ...)
{
	char text[sizeof e->text], why[128];
	va_list args;
	va_start(args, fmt);
	vsnprintf(text, sizeof text, fmt, args);
	va_end(args);
	return td_err(e, code_of_errno(number), "%s: %s", text,
	    strerror_r(number, why, sizeof why));
}

int td_err_memory(struct tundish_error *e)
{
	return td_err(e, TUNDISH_E_MEMORY, "out of memory");
}

void td_err_prefix(struct tundish_error *e, const char *fmt, ...)
{
	if (!e)
		return;
	char prefix[sizeof e->text];
	va_list args;
	va_start(args, fmt);
	vsnprintf(prefix, sizeof prefix, fmt, args);
	va_end(args);
	struct tundish_error old = *e;
	td_err(e, old.code, "%s: %s", prefix, old.text);
}

/* The escaped form of what stands at s: its length in out, bytes taken in *used. */
static size_t escape_one(char out[5], const char *s, size_t len, size_t *used)
{
	unsigned char c = (unsigned char)s[0];
	static const char names[] = "\aa\bb\tt\nn\vv\ff\rr\\\\";
	*used = 1;
	for (size_t i = 0; i + 1 < sizeof names; i += 2) {
		if (c == (unsigned char)names[i]) {
			out[0] = '\\';
			out[1] = names[i + 1];
			return 2;
		}
	}
	size_t n = c < 0x20 || c == 0x7f ? 0 : td_utf8_char(s, len);
	/* C1 controls move terminals as well */
	if (n == 0 || (n == 2 && c == 0xc2 && (unsigned char)s[1] < 0xa0)) {
		snprintf(out, 5, "\\x%02x", c);
		return 4;
	}
	memcpy(out, s, n);
	*used = n;
	return n;
}

const char *td_escape(char *out, size_t out_bytes, const char *s, size_t len)
{
	size_t at = 0;
	if (len == (size_t)-1)
		len = strlen(s);
	for (size_t i = 0; i < len;) {
		char one[5];
		size_t used, n = escape_one(one, s + i, len - i, &used);
		size_t rest = i + used < len ? 4 : 1;
		if (at + n + rest > out_bytes) {
			memcpy(out + at, "...", TD_MIN((size_t)4, out_bytes - at));
			out[out_bytes - 1] = 0;
			return out;
		}
		memcpy(out + at, one, n);
		at += n;
		i += used;
	}
	out[at] = 0;
	return out;
}
