/* SPDX-License-Identifier: BSD-2-Clause
 * Building JSON where any step may be out of memory: the first loss shows at the end;
 * and reading files of it. */
#include "json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "err.h"
#include "infile.h"
#include "path.h"
#include "utf8.h"

void td_json_set(struct td_json *j, json_t *object, const char *key, json_t *value)
{
	if (!value || json_object_set_new(object, key, value) != 0)
		j->lost = true;
}

void td_json_add(struct td_json *j, json_t *array, json_t *value)
{
	if (!value || json_array_append_new(array, value) != 0)
		j->lost = true;
}

void td_json_int(struct td_json *j, json_t *object, const char *key, uint64_t n)
{
	td_json_set(j, object, key, json_integer((json_int_t)n));
}

json_t *td_json_text(const void *text, size_t bytes)
{
	if (td_utf8_valid(text, bytes))
		return json_stringn(bytes ? text : "", bytes);
	struct td_buf escaped = { 0 };
	json_t *value = td_buf_escape(&escaped, text, bytes) ? json_string((char *)escaped.data) : NULL;
	td_buf_free(&escaped);
	return value;
}

void td_json_string(struct td_json *j, json_t *object, const char *key, const char *text)
{
	td_json_set(j, object, key, td_json_text(text, strlen(text)));
}

json_t *td_json_real(double v)
{
	if (isnan(v))
		return json_string("nan");
	if (isinf(v))
		return json_string(v < 0 ? "-inf" : "inf");
	return json_real(v);
}

bool td_json_dump(struct td_json *j, json_t *value, struct td_buf *out)
{
	char *text = j->lost || !value ? NULL : json_dumps(value, JSON_INDENT(2) | JSON_REAL_PRECISION(15));
	json_decref(value);
	bool ok = text && td_buf_printf(out, "%s", text);
	free(text);
	return ok;
}

json_t *td_json_read(const char *path, uint64_t max_bytes, size_t flags, struct tundish_error *e)
{
	struct td_buf text = { 0 };
	json_error_t why;
	json_t *value = NULL;
	if (td_read_file(&text, path, max_bytes, e) == 0) {
		value = json_loadb(text.len ? (const char *)text.data : "", text.len, flags, &why);
		if (!value)
			td_err(e, TUNDISH_E_CORRUPT, "no JSON: line %d: %s", why.line, TD_ESC(why.text));
	}
	td_buf_free(&text);
	return value;
}

json_t *td_json_read_in(const char *folder, const char *name, uint64_t max_bytes, size_t flags,
    struct tundish_error *e)
{
	char *path = td_path_join(folder, name);
	json_t *value = NULL;
	if (path)
		value = td_json_read(path, max_bytes, flags, e);
	else
		td_err_memory(e);
	free(path);
	return value;
}
