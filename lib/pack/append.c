/* SPDX-License-Identifier: BSD-2-Clause
 * Adding splits to a set that is finished. */
#include "append.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/codec.h"
#include "base/err.h"
#include "base/json.h"

static json_t *load(const struct td_output *out, const char *name)
{
	return td_json_read_in(out->folder, name, TD_METADATA_MAX, JSON_REJECT_DUPLICATES, NULL);
}

int td_append_open(struct td_append **ret, const struct td_output *out, struct tundish_error *e)
{
	struct td_append *a = calloc(1, sizeof *a);
	if (!a)
		return td_err_memory(e);
	a->own = out->stream ? NULL : load(out, "tundish.json");
	const char *name = json_string_value(json_object_get(a->own, "name"));
	if (!name || !json_is_array(json_object_get(a->own, "shards"))) {
		td_append_free(a);
		return td_err(e, TUNDISH_E_USAGE, "append: %s holds no finished set (tundish.json)",
		    TD_ESC(out->stream ? "-" : out->folder));
	}
	if (strcmp(name, out->name) != 0) {
		int rc = td_err(e, TUNDISH_E_USAGE, "append: the set in %s is called %s, not %s", TD_ESC(out->folder),
		    TD_ESC(name), TD_ESC(out->name));
		td_append_free(a);
		return rc;
	}
	td_journal_forget(out);
	a->info = load(out, "dataset_info.json");
	a->features = load(out, "features.json");
	*ret = a;
	return 0;
}

void td_append_free(struct td_append *a)
{
	if (!a)
		return;
	json_decref(a->own);
	json_decref(a->info);
	json_decref(a->features);
	free(a);
}

bool td_append_classes(struct td_classes *ret, const struct td_append *a)
{
	const json_t *list = json_object_get(a->own, "classes");
	bool ok = true;
	for (size_t i = 0; ok && i < json_array_size(list); i++) {
		const char *name = json_string_value(json_object_get(json_array_get(list, i), "name"));
		if (!name)
			return true;
		ok = td_classes_add(ret, name, strlen(name)) >= 0;
	}
	ret->fixed = json_array_size(list) > 0;
	return ok;
}

/* ---- what must agree ---- */

static int check_option(const struct td_append *a, const char *key, const char *now, const char *usual,
    struct tundish_error *e)
{
	const char *was = json_string_value(json_object_get(json_object_get(a->own, "options"), key));
	was = was ? was : usual;
	now = now ? now : usual;
	return strcmp(was, now) == 0 ? 0 :
	    td_err(e, TUNDISH_E_USAGE, "append: the set has %s %s, not %s", key, TD_ESC(was), TD_ESC(now));
}

static int check_splits(const struct td_append *a, const struct td_pack *p, struct tundish_error *e)
{
	const json_t *shards = json_object_get(a->own, "shards");
	for (size_t i = 0; i < json_array_size(shards); i++) {
		const char *split = json_string_value(json_object_get(json_array_get(shards, i), "split"));
		for (size_t s = 0; split && s < p->plan.n_splits; s++)
			if (strcmp(split, p->plan.splits[s].name) == 0)
				return td_err(e, TUNDISH_E_USAGE, "append: split %s is there already: --split NAME=1 "
				    "names another", split);
	}
	return 0;
}

int td_append_check_labels(const struct td_append *a, bool labels, bool numbers, struct tundish_error *e)
{
	const json_t *list = json_object_get(a->own, "classes");
	bool had = json_array_size(list) > 0;
	if (had != labels)
		return td_err(e, TUNDISH_E_USAGE, "append: the set has %s, and the new records have %s",
		    had ? "labels" : "no labels", had ? "none" : "some");
	bool named = had && json_object_get(json_array_get(list, 0), "name");
	if (had && named == numbers)
		return td_err(e, TUNDISH_E_USAGE, "append: labels are %s in the set, and the new ones are %s",
		    named ? "classes" : "numbers", named ? "numbers" : "classes");
	return 0;
}

int td_append_check_classes(const struct td_append *a, const struct td_classes *c, int64_t offset,
    struct tundish_error *e)
{
	const json_t *list = json_object_get(a->own, "classes");
	int rc = td_append_check_labels(a, c->n > 0, c->numbers, e);
	for (size_t i = 0; rc == 0 && !c->numbers && i < c->n; i++)
		if (json_integer_value(json_object_get(json_array_get(list, i), "label")) != (int64_t)i + offset)
			rc = td_err(e, TUNDISH_E_USAGE, "append: class %s has another label in the set: the same "
			    "--label-offset is needed", TD_ESC(c->list[i].name));
	return rc;
}

int td_append_check(const struct td_append *a, const struct td_pack *p, struct tundish_error *e)
{
	const struct tundish_pack_options *o = p->o;
	int rc = check_splits(a, p, e);
	if (rc == 0)
		rc = check_option(a, "compression", td_compression_name(p->compression), "NONE", e);
	if (rc == 0)
		rc = check_option(a, "keys", o->keys, "default", e);
	return rc ? rc : check_option(a, "name_template", o->name_template, "the usual", e);
}

/* ---- both parts as one ---- */

/* Puts the elements of one list before those of the other. */
static bool put_before(json_t *object, const char *key, const json_t *other)
{
	json_t *both = json_array();
	const json_t *first = json_object_get(other, key), *second = json_object_get(object, key);
	bool ok = both != NULL;
	for (size_t i = 0; ok && i < json_array_size(first); i++)
		ok = json_array_append(both, json_array_get(first, i)) == 0;
	for (size_t i = 0; ok && i < json_array_size(second); i++)
		ok = json_array_append(both, json_array_get(second, i)) == 0;
	return ok ? json_object_set_new(object, key, both) == 0 : (json_decref(both), false);
}

int td_append_info(const struct td_append *a, json_t *info, json_t *features, struct tundish_error *e)
{
	if (features && a->features && !json_equal(features, a->features))
		return td_err(e, TUNDISH_E_USAGE, "append: the new records have other features than features.json "
		    "of the set says");
	return !info || put_before(info, "splits", a->info) ? 0 : td_err_memory(e);
}

static int64_t label_of(const json_t *class)
{
	return json_integer_value(json_object_get(class, "label"));
}

/* Adds the records of one list of classes to another, by label, in the order of labels. */
static json_t *merge_classes(const json_t *old, const json_t *new)
{
	json_t *all = json_array();
	size_t i = 0, k = 0;
	while (all && (i < json_array_size(old) || k < json_array_size(new))) {
		const json_t *a = json_array_get(old, i), *b = json_array_get(new, k);
		bool take_a = a && (!b || label_of(a) <= label_of(b)), take_b = b && (!a || label_of(b) <= label_of(a));
		json_t *one = json_copy((json_t *)(uintptr_t)(take_a ? a : b));
		if (one && take_a && take_b)
			json_object_set_new(one, "records", json_integer(
			    json_integer_value(json_object_get(a, "records")) +
			    json_integer_value(json_object_get(b, "records"))));
		i += take_a;
		k += take_b;
		if (!one || json_array_append_new(all, one) != 0) {
			json_decref(all);
			return NULL;
		}
	}
	return all;
}

static int64_t place_of(const json_t *classes, int64_t label)
{
	size_t low = 0, high = json_array_size(classes);
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (label_of(json_array_get(classes, middle)) < label)
			low = middle + 1;
		else
			high = middle;
	}
	return (int64_t)low;
}

/* Shards say places in the list of classes, which is now another one. */
static bool renumber(json_t *shards, const json_t *before, const json_t *after)
{
	bool ok = true;
	for (size_t i = 0; ok && i < json_array_size(shards); i++) {
		json_t *shard = json_array_get(shards, i), *pairs = json_array();
		const json_t *old = json_object_get(shard, "classes");
		for (size_t k = 0; ok && k < json_array_size(old); k++) {
			const json_t *pair = json_array_get(old, k);
			const json_t *class = json_array_get(before, (size_t)json_integer_value(json_array_get(pair, 0)));
			ok = class && json_array_append_new(pairs, json_pack("[I,O]", (json_int_t)place_of(after,
			    label_of(class)), json_array_get(pair, 1))) == 0;
		}
		if (old && ok)
			ok = json_object_set(shard, "classes", pairs) == 0;
		json_decref(pairs);
	}
	return ok;
}

static bool add_number(json_t *object, const char *key, const json_t *other)
{
	json_int_t sum = json_integer_value(json_object_get(object, key)) + json_integer_value(json_object_get(other, key));
	return json_object_set_new(object, key, json_integer(sum)) == 0;
}

/* The options of what was there stay, those of the new part stand in a list behind them. */
static bool note_options(json_t *own, const json_t *old)
{
	json_t *one = json_pack("{s:O,s:O}", "seed", json_object_get(own, "seed"), "options",
	    json_object_get(own, "options")), *list = json_pack("{s:[o]}", "appended", one);
	bool ok = list && put_before(list, "appended", old) &&
	    json_object_set(own, "appended", json_object_get(list, "appended")) == 0 &&
	    json_object_set(own, "seed", json_object_get(old, "seed")) == 0 &&
	    json_object_set(own, "options", json_object_get(old, "options")) == 0;
	json_decref(list);
	return ok;
}

int td_append_own(const struct td_append *a, json_t *own, struct tundish_error *e)
{
	static const char *const numbers[] = { "found", "written", "bad", "left_out" };
	json_t *old = json_deep_copy(a->own);
	const json_t *was = json_object_get(a->own, "classes"), *now = json_object_get(own, "classes");
	json_t *classes = merge_classes(was, now);
	bool ok = old && classes && renumber(json_object_get(old, "shards"), was, classes) &&
	    renumber(json_object_get(own, "shards"), now, classes) && put_before(own, "shards", old) &&
	    put_before(own, "faults", old) && note_options(own, old);
	for (unsigned i = 0; ok && i < TD_COUNT(numbers); i++)
		ok = add_number(own, numbers[i], old);
	ok = ok && json_object_update_missing(own, old) == 0;
	if (ok && now)
		ok = json_object_set(own, "classes", classes) == 0;
	json_decref(classes);
	json_decref(old);
	return ok ? 0 : td_err_memory(e);
}
