/* SPDX-License-Identifier: BSD-2-Clause
 * ISA-L's inflate set up for a piece of compressed data, and whole gzip members. */
#pragma once
#include <isa-l/igzip_lib.h>
#include <stddef.h>
#include <stdint.h>

/* Before a piece; `kind` is ISAL_GZIP, ISAL_ZLIB or ISAL_DEFLATE. All is cleared: ISA-L reads
 * what it never set when data are damaged, and that must not depend on the run. */
void td_inflate_begin(struct inflate_state *s, uint32_t kind);

/* The gzip member that these bytes begin with, into `room` bytes: how many bytes it has, and
 * what it makes; 0: it is damaged, not whole, or makes more. */
size_t td_inflate_member(struct inflate_state *s, const uint8_t *data, size_t bytes, uint8_t *out,
    size_t room, size_t *ret_made);

/* What the first bytes of a piece make, up to `room`; *ret_ended: the piece ends in them. */
size_t td_inflate_start(uint32_t kind, const uint8_t *data, size_t bytes, uint8_t *out, size_t room,
    int *ret_ended);
