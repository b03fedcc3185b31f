/* SPDX-License-Identifier: BSD-2-Clause
 * Classes from the first folder or from an expression, and putting them in order. */
#include "assign.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"

int td_settle_items(struct td_listing *l, const struct td_list_options *o, struct tundish_error *e)
{
	struct td_classes *c = &l->classes;
	for (size_t i = 0; i < c->n; i++)
		c->list[i].items = 0;
	for (size_t i = 0; i < l->n; i++)
		if (l->items[i].class >= 0)
			c->list[l->items[i].class].items++;
	int32_t *map = malloc((c->n + 1) * sizeof *map);
	if (!map)
		return td_err_memory(e);
	int rc = td_classes_settle(c, o->label_offset, map, e);
	for (size_t i = 0; rc == 0 && i < l->n; i++)
		if (l->items[i].class >= 0)
			l->items[i].class = map[l->items[i].class];
	free(map);
	for (size_t i = 0; rc == 0 && i < c->n; i++)
		if (c->list[i].items == 0 && o->class_list)
			td_notice(o->listener, "%s: class \"%s\" has no items",
			    TD_ESC(o->class_list), TD_ESC(c->list[i].name));
	return rc;
}

static int not_listed(const struct td_list_options *o, const char *what, const char *name, size_t len,
    struct tundish_error *e)
{
	char text[TD_ESC_MAX];
	return td_err(e, TUNDISH_E_USAGE, "%s \"%s\" is not in the class list %s", what,
	    td_escape(text, sizeof text, name, len), TD_ESC(o->class_list));
}

/* Removes items without a class, each a bad one. */
static int drop_unlabelled(struct td_listing *l, struct td_bad *bad, const char *reason,
    struct tundish_error *e)
{
	struct td_buf path = { 0 };
	size_t n = 0;
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < l->n; i++) {
		if (l->items[i].class >= 0 || l->items[i].flags & TD_ITEM_UNLABELLED)
			l->items[n++] = l->items[i];
		else if (!td_item_path(&path, l, &l->items[i]))
			rc = td_err_memory(e);
		else
			rc = td_bad_item(bad, TUNDISH_E_SCHEMA, TD_PLACE((const char *)path.data),
			    td_item_name(l, &l->items[i]), reason, e);
	}
	l->n = n;
	td_buf_free(&path);
	return rc;
}

/* "a, b, c and 7 more" of the names for which `want` holds. */
static int name_some(struct td_buf *out, const char *name, size_t len, size_t k)
{
	char text[TD_ESC_MAX];
	if (k >= 8)
		return 1;
	return td_buf_printf(out, "%s%s", k ? ", " : "", td_escape(text, sizeof text, name, len)) ? 1 : -1;
}

static int finish_some(struct td_buf *out, size_t k)
{
	return k <= 8 || td_buf_printf(out, " and %zu more", k - 8) ? 0 : -1;
}

/* Folders of the first level without items are no classes: say so, labels would move. */
static int note_empty_folders(const struct td_listing *l, const struct td_map *folders,
    const struct tundish_listener *listener)
{
	struct td_buf names = { 0 };
	size_t k = 0;
	int rc = 1;
	for (size_t i = 0; rc > 0 && i < folders->n; i++) {
		const char *name = td_map_key(folders, i);
		size_t len = folders->entries[i].key_bytes;
		if (td_classes_find(&l->classes, name, len) < 0)
			rc = name_some(&names, name, len, k++);
	}
	if (rc > 0 && k > 0 && finish_some(&names, k) == 0)
		td_notice(listener, "%s %s no pictures and %s: %s", k > 1 ? "folders" : "folder",
		    k > 1 ? "hold" : "holds", k > 1 ? "are no classes" : "is no class",
		    (const char *)names.data);
	td_buf_free(&names);
	return rc > 0 ? 0 : -1;
}

/* One level too high, probably. */
static int note_only_folders(const struct td_listing *l, const struct tundish_listener *listener)
{
	struct td_buf names = { 0 };
	int rc = 1;
	for (size_t i = 0; i < l->n; i++) {
		const char *below = strchr(td_item_name(l, &l->items[i]) + l->roots[l->items[i].root].skip, '/');
		if (!below || !strchr(below + 1, '/'))
			return 0;
	}
	for (size_t i = 0; rc > 0 && i < l->classes.n; i++)
		rc = name_some(&names, l->classes.list[i].name, strlen(l->classes.list[i].name), i);
	if (rc > 0 && finish_some(&names, l->classes.n) == 0)
		td_notice(listener, "class folder%s %s hold%s only folders: are the classes one level "
		    "further down?", l->classes.n > 1 ? "s" : "", (const char *)names.data,
		    l->classes.n > 1 ? "" : "s");
	td_buf_free(&names);
	return rc > 0 ? 0 : -1;
}

/* Whether the files' own labels are whole numbers, which records then hold as they are.
 * Folders are names, and names have their labels from us: the two do not mix. */
static int look_at_own_labels(struct td_listing *l, const struct td_list_options *o, struct tundish_error *e)
{
	const struct td_item *own = NULL, *other = NULL;
	bool numbers = !l->classes.fixed;
	int64_t number;
	for (size_t i = 0; i < l->n && numbers; i++) {
		const struct td_item *item = &l->items[i];
		if (item->flags & TD_ITEM_LABELS) {
			own = item;
			numbers = td_parse_int64(l->classes.list[item->class].name, &number);
		} else if (item->class >= 0) {
			other = item;
		}
	}
	l->classes.numbers = numbers && own;
	if (!l->classes.numbers || !other)
		return 0;
	return td_err(e, TUNDISH_E_USAGE, "%s: labels are numbers in %s and names of folders for %s: give a class "
	    "list, or --labels none", TD_ESC(o->sources[0]), TD_ESC(td_item_name(l, own)),
	    TD_ESC(td_item_name(l, other)));
}

static int find_folder_classes(struct td_listing *l, const struct td_list_options *o, size_t *ret_with,
    size_t *ret_own, struct tundish_error *e)
{
	size_t with = 0, own = 0;
	for (size_t i = 0; i < l->n; i++) {
		struct td_item *item = &l->items[i];
		const char *name = td_item_name(l, item) + l->roots[item->root].skip;
		size_t n = strcspn(name, "/");
		bool says = item->flags & (TD_ITEM_LABELS | TD_ITEM_UNLABELLED);
		own += says;
		if (!name[n] || says)
			continue;
		item->class = td_classes_add(&l->classes, name, n);
		if (item->class == -1)
			return not_listed(o, "class folder", name, n, e);
		if (item->class < 0)
			return td_err_memory(e);
		with++;
	}
	*ret_with = with;
	*ret_own = own;
	return 0;
}

int td_assign_folders(struct td_listing *l, const struct td_map *folders,
    const struct td_list_options *o, struct td_bad *bad, struct tundish_error *e)
{
	size_t with = 0, own = 0;
	int rc = find_folder_classes(l, o, &with, &own, e);
	if (rc < 0)
		return rc;
	if (with + own == 0 && l->classes.fixed)
		return td_err(e, TUNDISH_E_USAGE, "%s: a class list needs class folders, and there are none",
		    TD_ESC(o->sources[0]));
	if (with + own == 0) {
		td_notice(o->listener, "%s: no class folders, the records have no label",
		    TD_ESC(o->sources[0]));
		return 0;
	}
	rc = drop_unlabelled(l, bad, "stands in no class folder", e);
	if (rc == 0)
		rc = look_at_own_labels(l, o, e);
	if (rc == 0)
		rc = td_settle_items(l, o, e);
	if (rc == 0 && own == 0 && (note_empty_folders(l, folders, o->listener) < 0 ||
	    note_only_folders(l, o->listener) < 0))
		rc = td_err_memory(e);
	return rc;
}

static int find_regex_classes(struct td_listing *l, const regex_t *re, const struct td_list_options *o,
    size_t *ret_with, struct tundish_error *e)
{
	for (size_t i = 0; i < l->n; i++) {
		struct td_item *item = &l->items[i];
		const char *name = td_item_name(l, item);
		regmatch_t match[2];
		if (regexec(re, name, 2, match, 0) != 0 || match[1].rm_eo <= match[1].rm_so)
			continue;
		size_t len = (size_t)(match[1].rm_eo - match[1].rm_so);
		item->class = td_classes_add(&l->classes, name + match[1].rm_so, len);
		if (item->class == -1)
			return not_listed(o, "class", name + match[1].rm_so, len, e);
		if (item->class < 0)
			return td_err_memory(e);
		++*ret_with;
	}
	return 0;
}

int td_regex_compile(regex_t *ret, const char *pattern, struct tundish_error *e)
{
	int error = regcomp(ret, pattern, REG_EXTENDED);
	if (error) {
		char why[128];
		regerror(error, ret, why, sizeof why);
		return td_err(e, TUNDISH_E_USAGE, "labels: regex \"%s\": %s", TD_ESC(pattern), why);
	}
	if (ret->re_nsub)
		return 0;
	regfree(ret);
	return td_err(e, TUNDISH_E_USAGE, "labels: regex \"%s\" has no group", TD_ESC(pattern));
}

int td_assign_regex(struct td_listing *l, const char *pattern, const struct td_list_options *o,
    struct td_bad *bad, struct tundish_error *e)
{
	regex_t re;
	size_t with = 0;
	int rc = td_regex_compile(&re, pattern, e);
	if (rc < 0)
		return rc;
	rc = find_regex_classes(l, &re, o, &with, e);
	regfree(&re);
	if (rc == 0 && with == 0)
		rc = td_err(e, TUNDISH_E_USAGE, "labels: regex \"%s\" matches no path, not \"%s\"",
		    TD_ESC(pattern), TD_ESC(td_item_name(l, &l->items[0])));
	if (rc == 0)
		rc = drop_unlabelled(l, bad, "no label: the expression does not match", e);
	return rc ? rc : td_settle_items(l, o, e);
}
