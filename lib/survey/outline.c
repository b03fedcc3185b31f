/* SPDX-License-Identifier: BSD-2-Clause
 * JSON as lines for people. */
#include "outline.h"

#include <inttypes.h>
#include <string.h>

#include "base/err.h"

#define LIST_SHOWN 8	/* longer lists: the first few and the last */
#define OBJECTS_SHOWN 100
#define TEXT_SHOWN 200
#define DEPTH_MOST 16

static bool scalar(struct td_buf *out, const json_t *v)
{
	char text[TD_ESC_MAX];
	switch (json_typeof(v)) {
	case JSON_STRING:
		return td_buf_printf(out, "%s%s", td_escape(text, sizeof text, json_string_value(v),
		    TD_MIN(json_string_length(v), (size_t)TEXT_SHOWN)),
		    json_string_length(v) > TEXT_SHOWN ? "..." : "");
	case JSON_INTEGER:
		return td_buf_printf(out, "%" JSON_INTEGER_FORMAT, json_integer_value(v));
	case JSON_REAL:
		return td_buf_printf(out, "%.10g", json_real_value(v));
	case JSON_TRUE:
	case JSON_FALSE:
		return td_buf_printf(out, "%s", json_is_true(v) ? "yes" : "no");
	case JSON_ARRAY:
		return td_buf_printf(out, "[%zu]", json_array_size(v));
	default:
		return td_buf_printf(out, "-");
	}
}

/* "1, 2, 3, ... 9 (20)" */
static bool list(struct td_buf *out, const json_t *v)
{
	size_t n = json_array_size(v);
	bool ok = true, whole = n <= LIST_SHOWN;
	for (size_t i = 0; ok && i < (whole ? n : LIST_SHOWN / 2); i++)
		ok = td_buf_printf(out, "%s", i ? ", " : "") && scalar(out, json_array_get(v, i));
	return ok && (whole || (td_buf_printf(out, ", ... ") && scalar(out, json_array_get(v, n - 1)) &&
	    td_buf_printf(out, " (%zu)", n)));
}

static bool members(struct td_buf *out, const json_t *object, int depth);

static bool has_objects(const json_t *v)
{
	return json_is_array(v) && json_is_object(json_array_get(v, 0));
}

static bool member(struct td_buf *out, const char *key, const json_t *v, int depth)
{
	bool ok = td_buf_printf(out, "%*s%s:", 2 * depth, "", TD_ESC(key)), deeper = depth < DEPTH_MOST;
	if (ok && json_is_object(v) && deeper)
		return td_buf_printf(out, "\n") && members(out, v, depth + 1);
	size_t n = has_objects(v) && deeper ? json_array_size(v) : 0;
	ok = ok && td_buf_printf(out, "%s", n ? "\n" : " ");
	for (size_t i = 0; ok && i < TD_MIN(n, (size_t)OBJECTS_SHOWN); i++)
		ok = td_buf_printf(out, "%*s%zu:\n", 2 * depth + 2, "", i) &&
		    members(out, json_array_get(v, i), depth + 2);
	if (n > OBJECTS_SHOWN)
		return ok && td_buf_printf(out, "%*s... %zu in all\n", 2 * depth + 2, "", n);
	if (n)
		return ok;
	return ok && (json_is_array(v) ? list(out, v) : scalar(out, v)) && td_buf_printf(out, "\n");
}

static bool members(struct td_buf *out, const json_t *object, int depth)
{
	const char *key;
	json_t *v;
	json_object_foreach((json_t *)(uintptr_t)object, key, v) {
		if (!(depth == 1 && strcmp(key, "kind") == 0) && !member(out, key, v, depth))
			return false;
	}
	return true;
}

bool td_outline(struct td_buf *out, const char *name, const json_t *about)
{
	const char *kind = json_string_value(json_object_get(about, "kind"));
	return td_buf_printf(out, "%s: %s\n", TD_ESC(name), kind ? kind : "") && members(out, about, 1);
}
