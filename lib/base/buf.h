/* SPDX-License-Identifier: BSD-2-Clause
 * A growing run of bytes, also used as string builder and for recycling. */
#pragma once
#include <stdarg.h>
#include <stdbool.h>

#include "attr.h"

/* Zeroed memory is an empty buffer. `data` is 64-byte aligned when not NULL. */
struct td_buf {
	uint8_t *data;
	size_t len, cap;
};

/* Makes room for `more` bytes behind len. False when out of memory. */
bool td_buf_reserve(struct td_buf *b, size_t more) td_must_check;
/* Room for exactly that many bytes in all, content not kept: for recycled buffers. */
bool td_buf_fit(struct td_buf *b, size_t bytes) td_must_check;
bool td_buf_add(struct td_buf *b, const void *data, size_t bytes) td_must_check;
/* Appends text; b->data then ends with a NUL that len does not count. */
bool td_buf_printf(struct td_buf *b, const char *fmt, ...) td_printf_like(2, 3) td_must_check;
/* The same with text that is escaped as td_escape() does, all of it. */
bool td_buf_escape(struct td_buf *b, const void *text, size_t bytes) td_must_check;
void td_buf_free(struct td_buf *b);

/* Array growth: makes *items (of item_bytes each) hold n + 1. */
bool td_grow(void *items, size_t *cap, size_t n, size_t item_bytes) td_must_check;
