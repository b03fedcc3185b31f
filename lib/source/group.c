/* SPDX-License-Identifier: BSD-2-Clause
 * Members of an archive that are one sample, as WebDataset names them. */
#include "group.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/err.h"
#include "base/json.h"
#include "base/path.h"
#include "base/text.h"
#include "format.h"

size_t td_group_key(const char *name)
{
	const char *base = td_path_base(name), *dot = strchr(base, '.');
	return dot ? (size_t)(dot - name) : strlen(name);
}

static bool ends_with(const char *s, const char *end)
{
	size_t n = strlen(s), m = strlen(end);
	return n > m && strcasecmp(s + n - m, end) == 0;
}

enum td_role td_group_role(const char *extension)
{
	static const struct {
		const char *name;
		enum td_role role;
	} roles[] = {
		{ "cls", TD_ROLE_CLASS },
		{ "json", TD_ROLE_JSON },
		{ "txt", TD_ROLE_TEXT },
	};
	for (unsigned i = 0; i < TD_COUNT(roles); i++)
		if (strcasecmp(extension, roles[i].name) == 0)
			return roles[i].role;
	return ends_with(extension, ".bin") ? TD_ROLE_BYTES : TD_ROLE_NONE;
}

bool td_group_rather(const char *extension, const char *than)
{
	return strchr(than, '.') && !strchr(extension, '.');
}

/* "%2F", as we write a slash, which a member's name cannot have there. */
static int escaped(const char *s)
{
	return strncmp(s, "%2F", 3) == 0 ? '/' : strncmp(s, "%25", 3) == 0 ? '%' : 0;
}

char *td_group_feature(const char *extension)
{
	char *name = strndup(extension, strlen(extension) - (ends_with(extension, ".bin") ? 4 : 0));
	char *to = name;
	for (const char *from = name; from && *from; to++) {
		int c = escaped(from);
		*to = c ? (char)c : *from;
		from += c ? 3 : 1;
	}
	if (name)
		*to = 0;
	return name;
}

void td_group_class(struct td_buf *text)
{
	const char *line = (const char *)text->data;
	size_t len = 0;
	while (len < text->len && line[len] && line[len] != '\n')
		len++;
	td_trim(&line, &len);
	if (len)
		memmove(text->data, line, len);
	text->len = len;
}

/* ---- JSON ---- */

static int scalar_kind(const json_t *v)
{
	if (json_is_integer(v) || json_is_boolean(v))
		return TUNDISH_INT64;
	return json_is_real(v) ? TUNDISH_FLOAT : json_is_string(v) ? TUNDISH_BYTES : TUNDISH_KIND_NONE;
}

/* Of a list: that of all, numbers together are floats; NONE for what is mixed or nested. */
static int list_kind(const json_t *list)
{
	int kind = scalar_kind(json_array_get(list, 0));
	for (size_t i = 1; i < json_array_size(list); i++) {
		int other = scalar_kind(json_array_get(list, i));
		if (other == kind)
			continue;
		if (kind == TUNDISH_KIND_NONE || other == TUNDISH_KIND_NONE || kind == TUNDISH_BYTES ||
		    other == TUNDISH_BYTES)
			return TUNDISH_KIND_NONE;
		kind = TUNDISH_FLOAT;
	}
	return kind;
}

static bool add_text(struct td_extras *x, const char *key, const json_t *v)
{
	char *text = json_dumps(v, JSON_COMPACT | JSON_ENCODE_ANY);
	bool ok = text && td_extra_text(x, key, text);
	free(text);
	return ok;
}

static bool add_value(struct td_extras *x, const char *key, const json_t *v)
{
	if (json_is_null(v) || (json_is_array(v) && json_array_size(v) == 0))
		return true;
	int kind = json_is_array(v) ? list_kind(v) : scalar_kind(v);
	if (kind == TUNDISH_KIND_NONE)
		return add_text(x, key, v);
	return td_extra_json(x, key, kind, v);
}

static int add_object(struct td_extras *x, const void *data, size_t bytes, struct tundish_error *e)
{
	json_error_t why;
	json_t *o = json_loadb(data, bytes, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &why), *v;
	const char *key;
	bool ok = true;
	if (!json_is_object(o)) {
		json_decref(o);
		return td_err(e, TUNDISH_E_CORRUPT, "its .json is %s", o ? "no object" : why.text);
	}
	json_object_foreach(o, key, v)
		ok = ok && add_value(x, key, v);
	json_decref(o);
	return ok ? 0 : td_err_memory(e);
}

int td_group_extras(struct td_extras *x, enum td_role role, const char *extension, const void *data,
    size_t bytes, struct tundish_error *e)
{
	const struct td_bytes all = { data, bytes };
	if (role == TD_ROLE_JSON)
		return add_object(x, data, bytes, e);
	if (role == TD_ROLE_TEXT)
		return td_extra_bytes(x, "txt", &all, 1) ? 0 : td_err_memory(e);
	if (role != TD_ROLE_BYTES)
		return 0;
	char *key = td_group_feature(extension);
	bool ok = key && td_extra_bytes(x, key, &all, 1);
	free(key);
	return ok ? 0 : td_err_memory(e);
}
