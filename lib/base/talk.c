/* SPDX-License-Identifier: BSD-2-Clause
 * Telling the caller's listener about faults, notices and progress. */
#include "talk.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "err.h"

/* "PATH: record N at byte O: " with what is known. */
static void place_text(char *out, size_t bytes, struct td_place at)
{
	size_t n = 0;
	*out = 0;
#define PART(...) n += (size_t)snprintf(out + n, n < bytes ? bytes - n : 0, __VA_ARGS__)
	if (at.path)
		PART("%s: ", TD_ESC(at.path));
	if (at.line >= 0)
		PART("line %" PRId64 ": ", at.line);
	if (at.record >= 0 && at.offset >= 0)
		PART("record %" PRId64 " at byte %" PRId64 ": ", at.record, at.offset);
	else if (at.record >= 0)
		PART("record %" PRId64 ": ", at.record);
	else if (at.offset >= 0)
		PART("byte %" PRId64 ": ", at.offset);
#undef PART
}

int td_fault(const struct tundish_listener *l, int code, struct td_place at, uint64_t passed_bytes,
    const char *fmt, ...)
{
	if (!l || !l->fault)
		return code;
	char reason[1024], place[TD_ESC_MAX + 128], text[sizeof reason + sizeof place];
	va_list args;
	va_start(args, fmt);
	vsnprintf(reason, sizeof reason, fmt, args);
	va_end(args);
	place_text(place, sizeof place, at);
	snprintf(text, sizeof text, "%s%s", place, reason);
	const struct tundish_fault fault = {
		.code = code,
		.path = at.path,
		.record = at.record >= 0 ? at.record : at.line,
		.offset = at.offset,
		.passed_bytes = passed_bytes,
		.reason = reason,
		.text = text,
	};
	l->fault(l->data, &fault);
	return code;
}

int td_err_at(struct tundish_error *e, int code, struct td_place at, const char *fmt, ...)
{
	char reason[1024], place[TD_ESC_MAX + 128];
	va_list args;
	va_start(args, fmt);
	vsnprintf(reason, sizeof reason, fmt, args);
	va_end(args);
	place_text(place, sizeof place, at);
	return td_err(e, code, "%s%s", place, reason);
}

void td_notice(const struct tundish_listener *l, const char *fmt, ...)
{
	if (!l || !l->notice)
		return;
	char text[1024];
	va_list args;
	va_start(args, fmt);
	vsnprintf(text, sizeof text, fmt, args);
	va_end(args);
	l->notice(l->data, text);
}
