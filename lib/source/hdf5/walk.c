/* SPDX-License-Identifier: BSD-2-Clause
 * HDF5 files: all objects in one, and those that a pattern means. */
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/map.h"
#include "inside.h"

#define OBJECTS_MOST 1000000u
#define DEPTH_MOST 64

/* ---- a group's names ---- */

struct names {
	char **list;
	size_t n, cap;
	bool lost;
};

static herr_t note_name(hid_t group, const char *name, const H5L_info_t *info, void *ctx)
{
	struct names *names = ctx;
	(void)group;
	(void)info;
	char *copy = names->n < OBJECTS_MOST ? strdup(name) : NULL;
	if (!copy || !td_grow(&names->list, &names->cap, names->n, sizeof *names->list)) {
		free(copy);
		names->lost = true;
		return -1;
	}
	names->list[names->n++] = copy;
	return 0;
}

static void free_names(struct names *names)
{
	for (size_t i = 0; i < names->n; i++)
		free(names->list[i]);
	free(names->list);
}

static int by_bytes(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Bytewise sorted. Inside. */
static int list_group(struct names *ret, hid_t group, const char *path, struct tundish_error *e)
{
	struct names names = { 0 };
	if (H5Literate(group, H5_INDEX_NAME, H5_ITER_NATIVE, NULL, note_name, &names) < 0) {
		bool lost = names.lost;
		free_names(&names);
		return lost ? td_err(e, TUNDISH_E_LIMIT, "group %s: too many names", TD_ESC(path)) :
		    td_h5_fail(e, TUNDISH_E_CORRUPT, "group %s", TD_ESC(path));
	}
	if (names.n)
		qsort(names.list, names.n, sizeof *names.list, by_bytes);
	*ret = names;
	return 0;
}

/* ---- the walk ---- */

struct walk {
	td_h5_visit *visit;
	int (*link)(void *ctx, const char *path, const char *target, struct tundish_error *e);
	void *ctx;
	struct td_map seen; /* addresses of objects with several names */
	size_t n;
	struct td_buf path;
	struct tundish_error *e;
};

static int walk_group(struct walk *w, hid_t group, unsigned depth);

static int walk_object(struct walk *w, hid_t object, unsigned depth)
{
	H5O_info_t info;
	const char *path = (const char *)w->path.data;
	if (H5Oget_info2(object, &info, H5O_INFO_BASIC) < 0)
		return td_h5_fail(w->e, TUNDISH_E_CORRUPT, "%s", TD_ESC(path));
	size_t before = w->seen.n;
	if (!td_map_at(&w->seen, &info.addr, sizeof info.addr))
		return td_err_memory(w->e);
	if (w->seen.n == before)
		return w->link ? w->link(w->ctx, path, "another name of an object above", w->e) : 0;
	if (++w->n > OBJECTS_MOST || depth > DEPTH_MOST)
		return td_err(w->e, TUNDISH_E_LIMIT, "more than %u objects, or groups more than %d deep", OBJECTS_MOST,
		    DEPTH_MOST);
	int rc = w->visit(w->ctx, path, info.type, object, w->e);
	return rc == 0 && info.type == H5O_TYPE_GROUP ? walk_group(w, object, depth + 1) : rc;
}

/* "soft link to /x", "external link to FILE:/x" */
static int tell_link(struct walk *w, hid_t group, const char *name, const H5L_info_t *info)
{
	char value[4096] = "", target[TD_ESC_MAX * 2];
	unsigned flags;
	const char *file = "?", *object = "?";
	if (!w->link)
		return 0;
	if (info->u.val_size >= sizeof value || H5Lget_val(group, name, value, sizeof value, H5P_DEFAULT) < 0)
		snprintf(target, sizeof target, "link that cannot be read");
	else if (info->type == H5L_TYPE_SOFT)
		snprintf(target, sizeof target, "link to %s", TD_ESC(value));
	else if (info->type == H5L_TYPE_EXTERNAL && H5Lunpack_elink_val(value, info->u.val_size, &flags, &file, &object) >= 0)
		snprintf(target, sizeof target, "external link to %.400s:%.400s", TD_ESC(file), TD_ESC(object));
	else
		snprintf(target, sizeof target, "link of an unknown kind");
	H5Eclear2(H5E_DEFAULT);
	return w->link(w->ctx, (const char *)w->path.data, target, w->e);
}

static int walk_name(struct walk *w, hid_t group, const char *name, unsigned depth)
{
	H5L_info_t info;
	size_t len = w->path.len;
	if (!td_buf_printf(&w->path, "/%s", name))
		return td_err_memory(w->e);
	int rc = 0;
	if (H5Lget_info(group, name, &info, H5P_DEFAULT) < 0) {
		rc = td_h5_fail(w->e, TUNDISH_E_CORRUPT, "%s", TD_ESC((const char *)w->path.data));
	} else if (info.type != H5L_TYPE_HARD) {
		rc = tell_link(w, group, name, &info);
	} else {
		hid_t object = H5Oopen(group, name, H5P_DEFAULT);
		rc = object < 0 ? td_h5_fail(w->e, TUNDISH_E_CORRUPT, "%s", TD_ESC((const char *)w->path.data)) :
		    walk_object(w, object, depth);
		if (object >= 0)
			H5Oclose(object);
	}
	w->path.len = len;
	w->path.data[len] = 0;
	return rc;
}

static int walk_group(struct walk *w, hid_t group, unsigned depth)
{
	struct names names = { 0 };
	int rc = list_group(&names, group, (const char *)w->path.data, w->e);
	for (size_t i = 0; rc == 0 && i < names.n; i++)
		rc = walk_name(w, group, names.list[i], depth);
	free_names(&names);
	return rc;
}

int td_h5_walk(struct td_h5_files *files, td_h5_visit *visit,
    int (*link)(void *ctx, const char *path, const char *target, struct tundish_error *e), void *ctx,
    struct tundish_error *e)
{
	struct walk w = { .visit = visit, .link = link, .ctx = ctx, .e = e, .seen.value_bytes = 1 };
	if (!td_buf_printf(&w.path, "%s", ""))
		return td_err_memory(e);
	td_h5_enter();
	hid_t root = H5Gopen2(files->first->id, "/", H5P_DEFAULT);
	int rc = root < 0 ? td_h5_fail(e, TUNDISH_E_CORRUPT, "/") : walk_object(&w, root, 0);
	if (root >= 0)
		H5Gclose(root);
	td_h5_leave();
	td_map_free(&w.seen);
	td_buf_free(&w.path);
	return rc;
}

/* ---- patterns ---- */

struct glob {
	struct td_h5_files *files;
	struct td_h5_match *list;
	size_t n, cap;
	struct td_buf path, stars;
	size_t n_stars;
	struct tundish_error *e;
};

static int add_match(struct glob *g)
{
	struct td_h5_match m = { .path = strdup(g->path.len ? (const char *)g->path.data : "/"), .n_stars = g->n_stars };
	m.stars = malloc(g->stars.len + 1);
	if (!m.path || !m.stars || g->n == OBJECTS_MOST || !td_grow(&g->list, &g->cap, g->n, sizeof *g->list)) {
		free(m.path);
		free(m.stars);
		return td_err_memory(g->e);
	}
	if (g->stars.len)
		memcpy(m.stars, g->stars.data, g->stars.len);
	g->list[g->n++] = m;
	return 0;
}

static int glob_from(struct glob *g, const char *pattern, unsigned depth);

/* The next component is a name. */
static int glob_name(struct glob *g, const char *name, size_t n, const char *rest, bool starred, unsigned depth)
{
	size_t len = g->path.len, stars = g->stars.len;
	if (!td_buf_printf(&g->path, "/%.*s", (int)n, name) || (starred && !td_buf_add(&g->stars, name, n + 1)))
		return td_err_memory(g->e);
	if (starred)
		g->stars.data[g->stars.len - 1] = 0;
	g->n_stars += starred;
	int rc = glob_from(g, rest, depth + 1);
	g->n_stars -= starred;
	g->stars.len = stars;
	g->path.len = len;
	g->path.data[len] = 0;
	return rc;
}

static int list_place(struct names *ret, struct glob *g)
{
	struct td_h5_place place;
	int rc = td_h5_find(&place, g->files, g->path.len ? (const char *)g->path.data : "/", g->e);
	if (rc < 0)
		return rc;
	if (!place.group) {
		td_h5_place_free(&place);
		return 0; /* nothing below a dataset */
	}
	td_h5_enter();
	hid_t group = H5Gopen2(place.file->id, place.path, H5P_DEFAULT);
	rc = group < 0 ? td_h5_fail(g->e, TUNDISH_E_CORRUPT, "%s", TD_ESC(place.path)) :
	    list_group(ret, group, place.path, g->e);
	if (group >= 0)
		H5Gclose(group);
	td_h5_leave();
	td_h5_place_free(&place);
	return rc;
}

static int glob_from(struct glob *g, const char *pattern, unsigned depth)
{
	while (*pattern == '/')
		pattern++;
	size_t n = strcspn(pattern, "/");
	if (n == 0)
		return add_match(g);
	if (depth > DEPTH_MOST)
		return td_err(g->e, TUNDISH_E_LIMIT, "path more than %d deep", DEPTH_MOST);
	if (!memchr(pattern, '*', n))
		return glob_name(g, pattern, n, pattern + n, false, depth);
	struct names names = { 0 };
	char *part = strndup(pattern, n);
	int rc = part ? list_place(&names, g) : td_err_memory(g->e);
	for (size_t i = 0; rc == 0 && i < names.n; i++)
		if (fnmatch(part, names.list[i], FNM_NOESCAPE) == 0)
			rc = glob_name(g, names.list[i], strlen(names.list[i]), pattern + n, true, depth);
	free_names(&names);
	free(part);
	return rc;
}

int td_h5_glob(struct td_h5_match **ret, size_t *ret_n, struct td_h5_files *files, const char *pattern,
    struct tundish_error *e)
{
	struct glob g = { .files = files, .e = e };
	int rc = td_buf_printf(&g.path, "%s", "") ? glob_from(&g, pattern, 0) : td_err_memory(e);
	td_buf_free(&g.path);
	td_buf_free(&g.stars);
	if (rc < 0) {
		td_h5_matches_free(g.list, g.n);
		return rc;
	}
	*ret = g.list;
	*ret_n = g.n;
	return 0;
}

void td_h5_matches_free(struct td_h5_match *matches, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		free(matches[i].path);
		free(matches[i].stars);
	}
	free(matches);
}

char *td_h5_star(const char *pattern, const struct td_h5_match *match)
{
	struct td_buf out = { 0 };
	const char *star = match->stars;
	bool ok = td_buf_printf(&out, "%s", "");
	size_t left = match->n_stars;
	while (ok && *pattern) {
		size_t n = strcspn(pattern, "/");
		if (left && memchr(pattern, '*', n)) {
			ok = td_buf_printf(&out, "/%s", star);
			star += strlen(star) + 1;
			left--;
		} else if (n) {
			ok = td_buf_printf(&out, "/%.*s", (int)n, pattern);
		}
		pattern += n + (pattern[n] == '/');
	}
	char *text = ok ? strdup((const char *)out.data) : NULL;
	td_buf_free(&out);
	return text;
}
