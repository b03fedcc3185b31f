/* SPDX-License-Identifier: BSD-2-Clause
 * From what the user named to record files: patterns, folders, litter, shard sets. */
#include "paths.h"

#include <dirent.h>
#include <errno.h>
#include <glob.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/err.h"
#include "shardname.h"

/* What grows while the paths are expanded. */
struct list {
	struct td_paths out;
	size_t cap, bytes_cap;
	char *empty; /* last folder that held nothing */
};

static int add(struct list *l, const char *folder, const char *name, uint64_t bytes,
    struct tundish_error *e)
{
	size_t n = l->out.n;
	char *path;
	const char *slash = !folder || !*folder || folder[strlen(folder) - 1] == '/' ? "" : "/";
	if (!td_grow(&l->out.paths, &l->cap, n, sizeof *l->out.paths) ||
	    !td_grow(&l->out.bytes, &l->bytes_cap, n, sizeof *l->out.bytes) ||
	    asprintf(&path, "%s%s%s", folder ? folder : "", slash, name) < 0)
		return td_err_memory(e);
	l->out.paths[n] = path;
	l->out.bytes[n] = bytes;
	l->out.n++;
	return 0;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

bool td_path_is_litter(const char *name)
{
	static const char *const ends[] = { ".idx", ".tfindex", ".json", ".txt", ".part", ".tmp", "~" };
	size_t n = strlen(name);
	if (name[0] == '.')
		return true;
	for (size_t i = 0; i < TD_COUNT(ends); i++) {
		size_t m = strlen(ends[i]);
		if (n >= m && strcmp(name + n - m, ends[i]) == 0)
			return true;
	}
	return false;
}

static int by_bytes(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void free_names(char **names, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free(names[i]);
	free(names);
}

/* The names in a folder that are no litter, sorted bytewise. */
static int folder_names(const char *folder, char ***ret_names, size_t *ret_n, struct tundish_error *e)
{
	char **names = NULL;
	size_t n = 0, cap = 0;
	DIR *dir = opendir(folder);
	if (!dir)
		return td_err_errno(e, errno, "%s", TD_ESC(folder));
	struct dirent *d;
	int rc = 0;
	while (errno = 0, rc == 0 && (d = readdir(dir))) {
		if (td_path_is_litter(d->d_name))
			continue;
		if (!td_grow(&names, &cap, n, sizeof *names) || !(names[n] = strdup(d->d_name)))
			rc = td_err_memory(e);
		else
			n++;
	}
	if (rc == 0 && errno != 0)
		rc = td_err_errno(e, errno, "%s", TD_ESC(folder));
	closedir(dir);
	if (rc < 0) {
		free_names(names, n);
		return rc;
	}
	if (n > 0)
		qsort(names, n, sizeof *names, by_bytes);
	*ret_names = names;
	*ret_n = n;
	return 0;
}

/* A file found in a folder or by a pattern: only regular ones are meant. */
static int add_found(struct list *l, const char *folder, const char *name, struct tundish_error *e)
{
	struct stat st;
	int rc = add(l, folder, name, 0, e);
	if (rc < 0)
		return rc;
	size_t last = l->out.n - 1;
	if (stat(l->out.paths[last], &st) == 0 && S_ISREG(st.st_mode)) {
		l->out.bytes[last] = (uint64_t)st.st_size;
		return 0;
	}
	free(l->out.paths[last]);
	l->out.n--;
	return 0;
}

static int add_folder(struct list *l, const char *folder, struct tundish_error *e)
{
	char **names;
	size_t n, before = l->out.n;
	int rc = folder_names(folder, &names, &n, e);
	if (rc < 0)
		return rc;
	for (size_t i = 0; i < n && rc == 0; i++)
		rc = add_found(l, folder, names[i], e);
	free_names(names, n);
	if (rc == 0 && l->out.n == before) {
		free(l->empty);
		l->empty = strdup(folder);
		rc = l->empty ? 0 : td_err_memory(e);
	}
	return rc;
}

static bool is_folder(const char *path)
{
	struct stat st;
	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* Files that a pattern matches; folders only when it matches nothing else. */
static int add_matches(struct list *l, const glob_t *g, struct tundish_error *e)
{
	size_t before = l->out.n;
	int rc = 0;
	for (size_t i = 0; i < g->gl_pathc && rc == 0; i++)
		if (!td_path_is_litter(base_name(g->gl_pathv[i])) && !is_folder(g->gl_pathv[i]))
			rc = add_found(l, NULL, g->gl_pathv[i], e);
	for (size_t i = 0; l->out.n == before && i < g->gl_pathc && rc == 0; i++)
		if (!td_path_is_litter(base_name(g->gl_pathv[i])) && is_folder(g->gl_pathv[i]))
			rc = add_folder(l, g->gl_pathv[i], e);
	return rc;
}

static int add_pattern(struct list *l, const char *pattern, struct tundish_error *e)
{
	glob_t g;
	/* glob()'s own order depends on the locale */
	int rc = glob(pattern, GLOB_NOSORT, NULL, &g);
	if (rc == GLOB_NOMATCH)
		return td_err(e, TUNDISH_E_NOT_FOUND, "%s: %s", TD_ESC(pattern),
		    strpbrk(pattern, "*?[") ? "the pattern matches nothing" :
					      "No such file or directory");
	if (rc != 0)
		return rc == GLOB_NOSPACE ? td_err_memory(e) :
					    td_err_errno(e, errno, "%s", TD_ESC(pattern));
	qsort(g.gl_pathv, g.gl_pathc, sizeof *g.gl_pathv, by_bytes);
	rc = add_matches(l, &g, e);
	globfree(&g);
	return rc;
}

/* *ret_set: may be part of a shard set that should be whole. */
static int add_named(struct list *l, const char *path, bool *ret_set, struct tundish_error *e)
{
	struct stat st;
	*ret_set = false;
	if (strcmp(path, "-") == 0) {
		for (size_t i = 0; i < l->out.n; i++)
			if (strcmp(l->out.paths[i], "-") == 0)
				return td_err(e, TUNDISH_E_USAGE, "standard input is named twice");
		return add(l, NULL, path, 0, e);
	}
	if (!*path)
		return td_err(e, TUNDISH_E_NOT_FOUND, "\"\": an empty path names no file");
	if (stat(path, &st) != 0) {
		if (errno != ENOENT && errno != ENOTDIR && errno != ENAMETOOLONG)
			return td_err_errno(e, errno, "%s", TD_ESC(path));
		*ret_set = true;
		return add_pattern(l, path, e);
	}
	if (!S_ISDIR(st.st_mode))
		return add(l, NULL, path, S_ISREG(st.st_mode) ? (uint64_t)st.st_size : 0, e);
	*ret_set = true;
	return add_folder(l, path, e);
}

/* ---- shard sets ---- */

struct set {
	struct td_shard_name name;
	const char *path; /* of its first file */
	uint64_t found;	  /* different shards */
	uint8_t *seen;	  /* times, 2 at most */
};

static bool same_folder(const char *a, const char *b)
{
	size_t n = (size_t)(base_name(a) - a);
	return n == (size_t)(base_name(b) - b) && memcmp(a, b, n) == 0;
}

static void mark(struct set *set, uint64_t shard)
{
	if (shard >= set->name.shards)
		return;
	set->found += set->seen[shard] == 0;
	set->seen[shard] = (uint8_t)TD_MIN(set->seen[shard] + 1, 2);
}

/* The set of a file among those noted so far. Paths are sorted, so those with the
 * same beginning are the last ones. */
static struct set *set_of(struct set *sets, size_t n, const char *path,
    const struct td_shard_name *name, bool *ret_rival)
{
	*ret_rival = false;
	while (n-- > 0) {
		struct set *set = sets + n;
		if (!same_folder(set->path, path) || !td_shard_name_same(&set->name, name))
			return NULL;
		if (set->name.shards == name->shards)
			return set;
		*ret_rival = true;
	}
	return NULL;
}

/* "3 of 10 shards are missing: 00002, ...": one fault a set. Returns 1 if there was one. */
static unsigned report(const struct tundish_listener *l, const struct set *set, uint8_t times,
    const char *what)
{
	char text[16 * 8 + 8];
	size_t len = 0;
	uint64_t n = 0;
	for (uint64_t i = 0; i < set->name.shards; i++) {
		if (set->seen[i] != times)
			continue;
		if (n < 16)
			len += (size_t)snprintf(text + len, sizeof text - len, "%s%05u",
			    n ? ", " : "", (unsigned)i);
		n++;
	}
	if (n == 0)
		return 0;
	td_fault(l, TUNDISH_E_CORRUPT, TD_PLACE(set->path), 0, "of %u shards %u %s %s: %s%s",
	    (unsigned)set->name.shards, (unsigned)n, n == 1 ? "is" : "are", what, text,
	    n > 16 ? ", ..." : "");
	return 1;
}

/* Marks what is on disk though not selected: [0-4] in a pattern leaves nothing missing. */
static int mark_unselected(struct set *set, struct tundish_error *e)
{
	char **names;
	size_t n;
	char *folder = strndup(set->path, (size_t)(base_name(set->path) - set->path));
	int rc = folder ? folder_names(*folder ? folder : ".", &names, &n, e) : td_err_memory(e);
	free(folder);
	if (rc < 0)
		return rc;
	for (size_t i = 0; i < n; i++) {
		struct td_shard_name one;
		if (td_shard_name_parse(&one, names[i]) && td_shard_name_same(&one, &set->name) &&
		    one.shards == set->name.shards && one.shard < one.shards &&
		    set->seen[one.shard] == 0)
			mark(set, one.shard);
	}
	free_names(names, n);
	return 0;
}

static int close_sets(struct td_paths *p, struct set *sets, size_t n,
    const struct tundish_listener *l, struct tundish_error *e)
{
	int rc = 0;
	for (size_t i = 0; i < n; i++) {
		if (rc == 0 && sets[i].found < sets[i].name.shards)
			rc = mark_unselected(sets + i, e);
		if (rc == 0)
			p->faults += report(l, sets + i, 0, "missing") +
				     report(l, sets + i, 2, "there twice");
		free(sets[i].seen);
	}
	free(sets);
	return rc;
}

/* Looks for missing and double shards among the paths of one folder or pattern. */
static int check_sets(struct td_paths *p, size_t from, const struct tundish_listener *l,
    struct tundish_error *e)
{
	struct set *sets = NULL;
	size_t n = 0, cap = 0;
	int rc = 0;
	for (size_t i = from; i < p->n && rc == 0; i++) {
		struct td_shard_name name;
		bool rival;
		if (!td_shard_name_parse(&name, base_name(p->paths[i])))
			continue;
		struct set *set = set_of(sets, n, p->paths[i], &name, &rival);
		if (!set) {
			if (rival)
				p->faults++;
			if (rival)
				td_fault(l, TUNDISH_E_CORRUPT, TD_PLACE(p->paths[i]), 0,
				    "two sets under one name: of %u and of %u shards",
				    (unsigned)sets[n - 1].name.shards, (unsigned)name.shards);
			if (!td_grow(&sets, &cap, n, sizeof *sets)) {
				rc = td_err_memory(e);
				break;
			}
			set = sets + n;
			*set = (struct set){ name, p->paths[i], 0, calloc(1, name.shards) };
			if (!set->seen) {
				rc = td_err_memory(e);
				break;
			}
			n++;
		}
		mark(set, name.shard);
	}
	int closed = close_sets(p, sets, n, rc == 0 ? l : NULL, e);
	return rc < 0 ? rc : closed;
}

/* ---- all of it ---- */

/* What came from one name: its paths begin at `from`. */
struct part {
	size_t from;
	bool set;
};

static int expand(struct list *l, struct part *parts, const char *const *paths, size_t n,
    struct tundish_error *e)
{
	int rc = 0;
	for (size_t i = 0; i < n && rc == 0; i++) {
		parts[i].from = l->out.n;
		rc = add_named(l, paths[i], &parts[i].set, e);
	}
	if (rc == 0 && l->out.n == 0)
		rc = td_err(e, TUNDISH_E_EMPTY, "%s: holds no record files",
		    TD_ESC(l->empty ? l->empty : "no path"));
	return rc;
}

static int check_parts(struct list *l, const struct part *parts, size_t n,
    const struct tundish_listener *listener, struct tundish_error *e)
{
	int rc = 0;
	size_t all = l->out.n;
	for (size_t i = 0; i < n && rc == 0; i++) {
		if (!parts[i].set)
			continue;
		l->out.n = i + 1 < n ? parts[i + 1].from : all;
		rc = check_sets(&l->out, parts[i].from, listener, e);
	}
	l->out.n = all;
	return rc;
}

/* A path without what does not change where it leads. */
static const char *shorter(const char *path)
{
	while (path[0] == '.' && path[1] == '/')
		for (path += 2; *path == '/';)
			path++;
	return path;
}

static int by_path(const void *a, const void *b)
{
	char *const *pa = *(char *const *const *)a, *const *pb = *(char *const *const *)b;
	int order = strcmp(shorter(*pa), shorter(*pb));
	return order ? order : (pa > pb) - (pa < pb);
}

/* A file that was named more than once is read once, where it was named first. */
static int drop_doubles(struct td_paths *p, const struct tundish_listener *l, struct tundish_error *e)
{
	char ***sorted = calloc(p->n + 1, sizeof *sorted);
	size_t left = 0, doubles = 0;
	if (!sorted)
		return td_err_memory(e);
	for (size_t i = 0; i < p->n; i++)
		sorted[i] = &p->paths[i];
	qsort(sorted, p->n, sizeof *sorted, by_path);
	for (size_t i = 1, first = 0; i < p->n; i++) {
		if (strcmp(shorter(*sorted[first]), shorter(*sorted[i])) != 0) {
			first = i;
			continue;
		}
		if (doubles++ == 0)
			td_notice(l, "%s: named more than once, read once", TD_ESC(*sorted[i]));
		free(*sorted[i]);
		*sorted[i] = NULL;
		sorted[i] = sorted[first];
	}
	if (doubles > 1)
		td_notice(l, "%zu more paths were named already", doubles - 1);
	for (size_t i = 0; i < p->n; i++) {
		if (!p->paths[i])
			continue;
		p->paths[left] = p->paths[i];
		p->bytes[left++] = p->bytes[i];
	}
	p->n = left;
	free(sorted);
	return 0;
}

int td_paths_find(struct td_paths *ret, const char *const *paths, size_t n,
    const struct tundish_listener *l, struct tundish_error *e)
{
	struct list list = { 0 };
	struct part *parts = calloc(n + 1, sizeof *parts);
	int rc = parts ? expand(&list, parts, paths, n, e) : td_err_memory(e);
	if (rc == 0 && list.empty)
		td_notice(l, "%s: holds no record files", TD_ESC(list.empty));
	if (rc == 0)
		rc = check_parts(&list, parts, n, l, e);
	if (rc == 0 && n > 1)
		rc = drop_doubles(&list.out, l, e);
	free(parts);
	free(list.empty);
	if (rc < 0) {
		td_paths_free(&list.out);
		return rc;
	}
	*ret = list.out;
	return 0;
}

void td_paths_free(struct td_paths *p)
{
	free_names(p->paths, p->n);
	free(p->bytes);
	*p = (struct td_paths){ 0 };
}
