/* SPDX-License-Identifier: BSD-2-Clause
 * Numbers for people: "1.2 GiB", "3.4 k", "1:02:03"; and sizes read from options. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#define UNITS_MAX 32

/* Each writes into `out` and returns it. */
const char *units_bytes(char out[UNITS_MAX], double bytes);	/* 1.2 GiB */
const char *units_count(char out[UNITS_MAX], double n);		/* 812, 3.41 k, 12.9 M */
const char *units_clock(char out[UNITS_MAX], double seconds);	/* 0:07, 1:02:03 */

/* For use in the arguments of a call: the buffer lives to the end of the block. */
#define BYTES(n) units_bytes((char[UNITS_MAX]){ 0 }, (double)(n))
#define COUNT(n) units_count((char[UNITS_MAX]){ 0 }, (double)(n))
#define CLOCK(s) units_clock((char[UNITS_MAX]){ 0 }, (s))

/* A whole number in decimal digits, one leading '-' allowed where `negative` is not
 * NULL. Nothing else may stand around it. False: no number, or it does not fit. */
bool units_parse_number(const char *text, uint64_t *ret_value, bool *ret_negative);

/* A size in bytes: "4096", "64K", "1.5G", "128MiB": powers of 1024, K to T. */
bool units_parse_size(const char *text, uint64_t *ret_value);
