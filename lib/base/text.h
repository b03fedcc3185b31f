/* SPDX-License-Identifier: BSD-2-Clause
 * Blanks in text that is not terminated. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

/* As isspace() in the C locale. */
static inline bool td_is_blank(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

/* Takes the blanks off both ends. */
static inline void td_trim(const char **s, size_t *len)
{
	while (*len && td_is_blank(**s)) {
		++*s;
		--*len;
	}
	while (*len && td_is_blank((*s)[*len - 1]))
		--*len;
}

/* The bytes up to the first blank. */
static inline size_t td_word(const char *s, size_t len)
{
	size_t n = 0;
	while (n < len && !td_is_blank(s[n]))
		n++;
	return n;
}
