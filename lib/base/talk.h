/* SPDX-License-Identifier: BSD-2-Clause
 * Telling the caller's listener about faults, notices and progress. */
#pragma once
#include "attr.h"
#include "tundish.h"

/* Where something is wrong: path may be NULL, the numbers -1. */
struct td_place {
	const char *path;
	int64_t record, line, offset;
};
#define TD_PLACE(p) ((struct td_place){ .path = (p), .record = -1, .line = -1, .offset = -1 })

/* Reports a fault; the text becomes "PATH: record N at byte O: REASON" with what
 * is known of it. `l` may be NULL. Returns code. */
int td_fault(const struct tundish_listener *l, int code, struct td_place at, uint64_t passed_bytes,
    const char *fmt, ...) td_printf_like(5, 6);

/* Writes the same line to e instead (for on_error fail). Returns code. */
int td_err_at(struct tundish_error *e, int code, struct td_place at, const char *fmt, ...)
    td_printf_like(4, 5);

void td_notice(const struct tundish_listener *l, const char *fmt, ...) td_printf_like(2, 3);

static inline int td_stopped(const struct tundish_listener *l)
{
	return l && l->stop && l->stop(l->data);
}
