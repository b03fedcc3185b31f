/* SPDX-License-Identifier: BSD-2-Clause
 * Filling a struct tundish_error, and making names fit for a message. */
#pragma once
#include "attr.h"
#include "tundish.h"

/* Writes code and text (cut to fit, at a UTF-8 border) and returns code. `e` may
 * be NULL. Overwrites: whoever must keep the first error tests e->code. */
int td_err(struct tundish_error *e, int code, const char *fmt, ...) td_printf_like(3, 4);

/* The same for a failed system call: "TEXT: No space left on device". The code
 * follows from `number` (ENOSPC, EDQUOT -> SPACE, ENOENT, ENOTDIR -> NOT_FOUND,
 * ENOMEM -> MEMORY, EPIPE -> CLOSED, else IO). */
int td_err_errno(struct tundish_error *e, int number, const char *fmt, ...) td_printf_like(3, 4);

int td_err_memory(struct tundish_error *e);

/* Puts "PREFIX: " before the text that is there. */
void td_err_prefix(struct tundish_error *e, const char *fmt, ...) td_printf_like(2, 3);

/* Escapes control characters, backslashes and bytes that are no UTF-8 (\n, \t,
 * \x1b) into out, cut with "..." where it does not fit; always terminates. */
#define TD_ESC_MAX 512
const char *td_escape(char *out, size_t out_bytes, const char *s, size_t len);
/* For use in the arguments of a call: the buffer lives to the end of the block. */
#define TD_ESC(s) td_escape((char[TD_ESC_MAX]){ 0 }, TD_ESC_MAX, (s), (size_t)-1)
