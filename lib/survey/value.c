/* SPDX-License-Identifier: BSD-2-Clause
 * Values of features as text. */
#include "value.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"

#define SHOWN_BYTES 200 /* of one value in a list */

bool td_text_float(struct td_buf *out, float v)
{
	if (isnan(v))
		return td_buf_printf(out, "nan");
	if (isinf(v))
		return td_buf_printf(out, v < 0 ? "-inf" : "inf");
	char text[40];
	for (int digits = 6; digits <= 9; digits++) {
		snprintf(text, sizeof text, "%.*g", digits, (double)v);
		if (strtof(text, NULL) == v)
			break;
	}
	/* told from an int64 at first sight */
	return td_buf_printf(out, strpbrk(text, ".e") ? "%s" : "%s.0", text);
}

bool td_text_bytes(struct td_buf *out, const void *data, size_t bytes, size_t max_bytes)
{
	size_t n = TD_MIN(bytes, max_bytes);
	return td_buf_escape(out, data, n) &&
	    (n == bytes || td_buf_printf(out, "... (%zu bytes)", bytes));
}

static bool text_value(struct td_buf *out, const struct tundish_feature *f, uint64_t i)
{
	const uint8_t *data;
	size_t bytes;
	int64_t n;
	float v;
	switch (f->kind) {
	case TUNDISH_INT64:
		return tundish_feature_int64(f, i, &n) <= 0 || td_buf_printf(out, "%" PRId64, n);
	case TUNDISH_FLOAT:
		return tundish_feature_float(f, i, &v) <= 0 || td_text_float(out, v);
	case TUNDISH_BYTES:
		return tundish_feature_bytes(f, i, &data, &bytes) <= 0 ||
		    td_text_bytes(out, data, bytes, SHOWN_BYTES);
	default:
		return true;
	}
}

bool td_text_values(struct td_buf *out, const struct tundish_feature *f, uint64_t max_values)
{
	for (uint64_t i = 0; i < TD_MIN(f->count, max_values); i++) {
		if ((i && !td_buf_printf(out, ",")) || !text_value(out, f, i))
			return false;
	}
	return f->count <= max_values ||
	    td_buf_printf(out, ",... (%" PRIu64 " values)", f->count);
}
