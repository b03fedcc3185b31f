/* SPDX-License-Identifier: BSD-2-Clause
 * Building JSON where any step may be out of memory: the first loss shows at the end.
 * And reading: a file of it, and what may be a list or a value by itself. */
#pragma once
#include <jansson.h>

#include "buf.h"
#include "tundish.h"

struct td_json {
	bool lost;
};

/* Each takes `value` over; NULL marks the loss. */
void td_json_set(struct td_json *j, json_t *object, const char *key, json_t *value);
void td_json_add(struct td_json *j, json_t *array, json_t *value);
void td_json_int(struct td_json *j, json_t *object, const char *key, uint64_t n);
/* Text as it is where that is UTF-8, else escaped (\xe9). */
json_t *td_json_text(const void *text, size_t bytes);
void td_json_string(struct td_json *j, json_t *object, const char *key, const char *text);
/* NaN and infinities, which JSON has not, become text. */
json_t *td_json_real(double v);
/* Appends the indented text, NUL-terminated, and drops the reference. */
bool td_json_dump(struct td_json *j, json_t *value, struct td_buf *out) td_must_check;

/* A metadata file may hold so much; what people write by hand less. */
#define TD_METADATA_MAX ((uint64_t)1 << 30)

/* What a regular file of up to max_bytes holds (flags: jansson's), to be dropped. NULL, and
 * in e, as in td_read_file(), why, without the path; CORRUPT where it is no JSON. */
json_t *td_json_read(const char *path, uint64_t max_bytes, size_t flags, struct tundish_error *e);
/* The same of the file `name` in a folder; MEMORY. */
json_t *td_json_read_in(const char *folder, const char *name, uint64_t max_bytes, size_t flags,
    struct tundish_error *e);

/* How many values there are, and the i-th: what is no list is one of itself. */
static inline size_t td_json_n(const json_t *v)
{
	return json_is_array(v) ? json_array_size(v) : 1;
}

static inline const json_t *td_json_at(const json_t *v, size_t i)
{
	return json_is_array(v) ? json_array_get(v, i) : v;
}
