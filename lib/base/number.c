/* SPDX-License-Identifier: BSD-2-Clause
 * Numbers in text. */
#include "number.h"

#include <locale.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static locale_t c_locale;

static void set_locale(void)
{
	c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
}

bool td_parse_u64(uint64_t *ret, const char *s, size_t len)
{
	uint64_t v = 0;
	for (size_t i = 0; i < len; i++) {
		if (s[i] < '0' || s[i] > '9' || td_mul_overflow(v, (uint64_t)10, &v) ||
		    td_add_overflow(v, (uint64_t)(s[i] - '0'), &v))
			return false;
	}
	if (len > 0)
		*ret = v;
	return len > 0;
}

bool td_parse_double(double *ret, const char *s, size_t len)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	char text[128], *end;
	if (len == 0 || len >= sizeof text || memchr(" \t\n\v\f\r", s[0], 6))
		return false;
	pthread_once(&once, set_locale);
	memcpy(text, s, len);
	text[len] = '\0';
	double v = c_locale ? strtod_l(text, &end, c_locale) : strtod(text, &end);
	if (end != text + len)
		return false;
	*ret = v;
	return true;
}
