/* SPDX-License-Identifier: BSD-2-Clause
 * Compiler attributes and a few macros that everything uses. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#define td_printf_like(fmt, args) __attribute__((format(printf, fmt, args)))
#define td_must_check __attribute__((warn_unused_result))
#define td_likely(x) __builtin_expect(!!(x), 1)
#define td_unlikely(x) __builtin_expect(!!(x), 0)

/* The struct of this type that `member`, to which ptr points, is part of. */
#define TD_OUTER(ptr, type, member) ((type *)((char *)(ptr) - offsetof(type, member)))
#define TD_COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define TD_MIN(a, b) ((a) < (b) ? (a) : (b))
#define TD_MAX(a, b) ((a) > (b) ? (a) : (b))

/* Overflow-checked arithmetic: true when the result does not fit. */
#define td_add_overflow(a, b, ret) __builtin_add_overflow(a, b, ret)
#define td_mul_overflow(a, b, ret) __builtin_mul_overflow(a, b, ret)
