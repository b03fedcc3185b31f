/* SPDX-License-Identifier: BSD-2-Clause
 * What files say of themselves, once for all of a set. */
#include "about.h"

#include <string.h>

#include "base/json.h"

/* A member that is no longer common goes to all files before. */
static bool hand_down(struct td_about *a, const char *key, json_t *value)
{
	const char *name;
	json_t *own;
	bool ok = true;
	json_object_foreach(a->files, name, own)
		ok = ok && json_object_set(own, key, value) == 0;
	return ok;
}

static bool compare(struct td_about *a, const json_t *said)
{
	const char *key;
	void *next;
	json_t *value;
	bool ok = true;
	json_object_foreach_safe(a->common, next, key, value) {
		if (json_equal(value, json_object_get(said, key)))
			continue;
		ok = ok && hand_down(a, key, value);
		json_object_del(a->common, key);
	}
	return ok;
}

bool td_about_add(struct td_about *a, const char *name, const json_t *said)
{
	const char *key;
	json_t *value, *own = json_object();
	if (a->n++ == 0) {
		a->common = json_copy((json_t *)(uintptr_t)said);
		a->files = json_object();
	}
	bool ok = own && a->common && a->files && compare(a, said);
	json_object_foreach((json_t *)(uintptr_t)said, key, value)
		if (ok && !json_object_get(a->common, key))
			ok = json_object_set(own, key, value) == 0;
	if (ok && a->n <= TD_ABOUT_FILES)
		return json_object_set_new(a->files, name, own) == 0;
	json_decref(own);
	return ok;
}

bool td_about_has(const struct td_about *a, const char *key)
{
	const char *name;
	json_t *own;
	bool found = json_object_get(a->common, key) != NULL;
	json_object_foreach(a->files, name, own)
		found |= json_object_get(own, key) != NULL;
	return found;
}

json_t *td_about_json(const struct td_about *a)
{
	const char *name;
	json_t *own, *differing = json_object();
	struct td_json j = { 0 };
	if (a->n == 0 || !differing) {
		json_decref(differing);
		return NULL;
	}
	json_object_foreach(a->files, name, own)
		if (json_object_size(own))
			td_json_set(&j, differing, name, json_incref(own));
	json_t *o = json_object();
	td_json_int(&j, o, "files", a->n);
	td_json_set(&j, o, "common", json_incref(a->common));
	td_json_set(&j, o, "differing", differing);
	if (!j.lost)
		return o;
	json_decref(o);
	return NULL;
}

void td_about_free(struct td_about *a)
{
	json_decref(a->common);
	json_decref(a->files);
	*a = (struct td_about){ 0 };
}
