/* SPDX-License-Identifier: BSD-2-Clause
 * Numbers for people: "1.2 GiB", "3.4 k", "1:02:03"; and sizes read from options. */
#include "units.h"

#include <stdio.h>
#include <string.h>

#include "base/attr.h"

/* Three digits that mean something, whatever the size. */
static const char *scaled(char out[UNITS_MAX], double n, double step, const char *const names[])
{
	unsigned i = 0;
	while (n >= step * .9995 && names[i + 1]) {
		n /= step;
		i++;
	}
	int digits = i == 0 || n >= 99.95 ? 0 : n >= 9.995 ? 1 : 2;
	snprintf(out, UNITS_MAX, "%.*f%s%s", digits, n, *names[i] ? " " : "", names[i]);
	return out;
}

const char *units_bytes(char out[UNITS_MAX], double bytes)
{
	static const char *const names[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB", NULL };
	return scaled(out, bytes, 1024, names);
}

const char *units_count(char out[UNITS_MAX], double n)
{
	static const char *const names[] = { "", "k", "M", "G", "T", NULL };
	if (n < 9.995 && n != (double)(int)n) {
		snprintf(out, UNITS_MAX, "%.2f", n);
		return out;
	}
	return scaled(out, n, 1000, names);
}

const char *units_clock(char out[UNITS_MAX], double seconds)
{
	double most = 359999;
	unsigned s = (unsigned)(seconds > most ? most : seconds + .5);
	if (s >= 3600)
		snprintf(out, UNITS_MAX, "%u:%02u:%02u", s / 3600, s / 60 % 60, s % 60);
	else
		snprintf(out, UNITS_MAX, "%u:%02u", s / 60, s % 60);
	return out;
}

/* Digits at *text into *value; moves *text behind them. False: none, or overflow. */
static bool digits(const char **text, uint64_t *value)
{
	const char *s = *text;
	*value = 0;
	for (; *s >= '0' && *s <= '9'; s++) {
		if (td_mul_overflow(*value, 10u, value) ||
		    td_add_overflow(*value, (uint64_t)(*s - '0'), value))
			return false;
	}
	bool any = s != *text;
	*text = s;
	return any;
}

bool units_parse_number(const char *text, uint64_t *ret_value, bool *ret_negative)
{
	uint64_t value;
	bool negative = ret_negative && *text == '-';
	text += negative;
	if (!digits(&text, &value) || *text)
		return false;
	*ret_value = value;
	if (ret_negative)
		*ret_negative = negative;
	return true;
}

/* The shift of "", "B", "K", "KB", "KiB" and so on; -1 for anything else. */
static int unit_shift(const char *s)
{
	static const char letters[] = "KMGT";
	int shift = 0;
	if (*s && *s != 'B' && *s != 'b') {
		const char *at = memchr(letters, *s & ~0x20, sizeof letters - 1);
		if (!at)
			return -1;
		shift = 10 * (int)(at - letters + 1);
		s += s[1] == 'i' ? 2 : 1;
	}
	if (*s == 'B' || *s == 'b')
		s++;
	return *s ? -1 : shift;
}

bool units_parse_size(const char *text, uint64_t *ret_value)
{
	uint64_t whole, part = 0, scale = 1;
	if (!digits(&text, &whole))
		return false;
	if (*text == '.') {
		const char *start = ++text;
		if (!digits(&text, &part) || text - start > 6)
			return false;
		for (; start < text; start++)
			scale *= 10;
	}
	int shift = unit_shift(text);
	if (shift < 0 || (scale > 1 && shift == 0) || whole > UINT64_MAX >> shift)
		return false;
	uint64_t rest = (uint64_t)(((unsigned __int128)part << shift) / scale);
	return !td_add_overflow(whole << shift, rest, ret_value);
}
