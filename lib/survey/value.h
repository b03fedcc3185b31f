/* SPDX-License-Identifier: BSD-2-Clause
 * Values of features as text. */
#pragma once
#include "base/buf.h"
#include "tundish.h"

/* Appends a float so that it reads back to the same: 0.5, 1.0, 1e+30, nan, inf. */
bool td_text_float(struct td_buf *out, float v) td_must_check;
/* Appends at most max_bytes bytes, escaped as td_escape() does; then "..." and the
 * size when there are more. */
bool td_text_bytes(struct td_buf *out, const void *data, size_t bytes, size_t max_bytes)
    td_must_check;
/* Appends the values, comma separated, bytes without quotes: as count shows them. At
 * most max_values of them, then "... (N values)". */
bool td_text_values(struct td_buf *out, const struct tundish_feature *f, uint64_t max_values)
    td_must_check;
