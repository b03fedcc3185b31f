/* SPDX-License-Identifier: BSD-2-Clause
 * A growing run of bytes, also used as string builder and for recycling. */
#include "buf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "err.h"

/* The allocator may keep what it is given back, per thread, for the next of that size; the
 * pages of large buffers go back to the system whatever it does. */
#define LARGE ((size_t)1 << 20)
static void release(const struct td_buf *b)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), first = (uintptr_t)b->data + page - 1;
	if (b->cap >= LARGE) {
		first -= first % page;
		uintptr_t end = (uintptr_t)b->data + b->cap;
		end -= end % page;
		madvise((void *)first, end - first, MADV_DONTNEED);
	}
	free(b->data);
}

/* Large ones are moved by their pages, not copied: old and new need not fit at a time. */
static bool stretch(struct td_buf *b, size_t cap)
{
	uint8_t *data = realloc(b->data, cap);
	if (!data)
		return false;
	b->data = data;
	b->cap = cap;
	return (uintptr_t)data % 64 == 0;
}

static bool grow_to(struct td_buf *b, size_t cap, size_t keep)
{
	if (cap > SIZE_MAX / 2)
		return false;
	cap = (cap + 63) & ~(size_t)63;
	if (keep && b->cap >= LARGE && stretch(b, cap))
		return true;
	uint8_t *data = aligned_alloc(64, cap);
	if (!data)
		return false;
	if (keep)
		memcpy(data, b->data, keep);
	release(b);
	b->data = data;
	b->cap = cap;
	return true;
}

bool td_buf_reserve(struct td_buf *b, size_t more)
{
	size_t need;
	if (td_add_overflow(b->len, more, &need))
		return false;
	if (need <= b->cap && b->data)
		return true;
	return grow_to(b, TD_MAX(need, TD_MAX(b->cap + b->cap / 2, (size_t)64)), b->len);
}

bool td_buf_fit(struct td_buf *b, size_t bytes)
{
	b->len = 0;
	return (bytes <= b->cap && b->data) || grow_to(b, TD_MAX(bytes, (size_t)64), 0);
}

bool td_buf_add(struct td_buf *b, const void *data, size_t bytes)
{
	if (!td_buf_reserve(b, bytes))
		return false;
	if (bytes)
		memcpy(b->data + b->len, data, bytes);
	b->len += bytes;
	return true;
}

bool td_buf_printf(struct td_buf *b, const char *fmt, ...)
{
	va_list args;
	va_start(args, fmt);
	int n = vsnprintf(NULL, 0, fmt, args);
	va_end(args);
	if (n < 0 || !td_buf_reserve(b, (size_t)n + 1))
		return false;
	va_start(args, fmt);
	vsnprintf((char *)b->data + b->len, (size_t)n + 1, fmt, args);
	va_end(args);
	b->len += (size_t)n;
	return true;
}

bool td_buf_escape(struct td_buf *b, const void *text, size_t bytes)
{
	size_t room;
	if (td_mul_overflow(bytes, (size_t)4, &room) || !td_buf_reserve(b, room + 1))
		return false;
	char *out = (char *)b->data + b->len;
	b->len += strlen(td_escape(out, room + 1, text, bytes));
	return true;
}

void td_buf_free(struct td_buf *b)
{
	release(b);
	*b = (struct td_buf){ 0 };
}

bool td_grow(void *items, size_t *cap, size_t n, size_t item_bytes)
{
	if (n < *cap)
		return true;
	size_t want = TD_MAX(*cap + *cap / 2, (size_t)16), bytes;
	void *old;
	memcpy(&old, items, sizeof old);
	if (td_mul_overflow(want, item_bytes, &bytes))
		return false;
	void *more = realloc(old, bytes);
	if (!more)
		return false;
	memcpy(items, &more, sizeof more);
	*cap = want;
	return true;
}
