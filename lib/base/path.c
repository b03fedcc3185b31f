/* SPDX-License-Identifier: BSD-2-Clause
 * Paths and folders: parts of a name, sorted listings, walks that end. */
#include "path.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "buf.h"
#include "err.h"

const char *td_path_base(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

const char *td_path_suffix(const char *path)
{
	const char *base = td_path_base(path), *dot = strrchr(base, '.');
	return dot && dot != base ? dot : "";
}

bool td_path_has_suffix(const char *path, const char *const *suffixes, size_t n)
{
	const char *suffix = td_path_suffix(path);
	for (size_t i = 0; i < n; i++)
		if (strcasecmp(suffix, suffixes[i]) == 0)
			return true;
	return false;
}

char *td_path_join(const char *folder, const char *name)
{
	char *path;
	if (!folder || !*folder)
		return strdup(name);
	const char *slash = folder[strlen(folder) - 1] == '/' ? "" : "/";
	return asprintf(&path, "%s%s%s", folder, slash, name) < 0 ? NULL : path;
}

char *td_path_folder(const char *path)
{
	const char *slash = strrchr(path, '/');
	if (!slash)
		return strdup(".");
	return strndup(path, TD_MAX((size_t)(slash - path), (size_t)1));
}

void td_path_tidy(char *path)
{
	char *root = path + (*path == '/'), *out = root;
	for (char *in = root; *in;) {
		size_t n = strcspn(in, "/");
		char *next = in + n + (in[n] == '/');
		bool up = n == 2 && in[0] == '.' && in[1] == '.';
		char *last = out;
		while (last > root && last[-1] != '/')
			last--;
		bool is_up = out - last == 2 && last[0] == '.' && last[1] == '.';
		if (up && out > root && !is_up) {
			out = last > root ? last - 1 : root;
		} else if (n > 0 && !(n == 1 && in[0] == '.') && !(up && root > path)) {
			if (out > root)
				*out++ = '/';
			memmove(out, in, n);
			out += n;
		}
		in = next;
	}
	*out = 0;
}

static int by_bytes(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Names one after another, each with its NUL. 0, or errno. */
static int read_names(DIR *dir, struct td_buf *text, size_t *ret_n)
{
	struct dirent *entry;
	while (errno = 0, (entry = readdir(dir)) != NULL) {
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		if (!td_buf_add(text, entry->d_name, strlen(entry->d_name) + 1))
			return ENOMEM;
		++*ret_n;
	}
	return errno;
}

/* Takes `dir`, closes it not. 0, or errno. */
static int sorted_names(struct td_names *ret, DIR *dir)
{
	struct td_buf text = { 0 };
	size_t n = 0;
	int error = read_names(dir, &text, &n);
	const char **names = error ? NULL : malloc((n + 1) * sizeof *names);
	char *tight = error ? NULL : malloc(text.len + 1);
	if (!names || !tight) {
		free(names);
		free(tight);
		td_buf_free(&text);
		return error ? error : ENOMEM;
	}
	if (text.len)
		memcpy(tight, text.data, text.len);
	td_buf_free(&text);
	const char *at = tight;
	for (size_t i = 0; i < n; i++) {
		names[i] = at;
		at += strlen(at) + 1;
	}
	qsort(names, n, sizeof *names, by_bytes);
	*ret = (struct td_names){ .names = names, .n = n, .text = tight };
	return 0;
}

int td_list_folder(struct td_names *ret, const char *path, struct tundish_error *e)
{
	DIR *dir = opendir(path);
	int error = dir ? sorted_names(ret, dir) : errno;
	if (dir)
		closedir(dir);
	return error ? td_err_errno(e, error, "%s", TD_ESC(path)) : 0;
}

void td_names_free(struct td_names *names)
{
	free(names->names);
	free(names->text);
	*names = (struct td_names){ 0 };
}

/* The folders that are being walked, innermost first. */
struct level {
	const struct level *up;
	dev_t device;
	ino_t inode;
};

struct walk {
	td_walk_fn *visit;
	void *ctx;
	struct td_buf path;
	size_t root_len; /* of the root and its slash */
	struct tundish_error *e;
};

static int report(struct walk *w, enum td_walk_what what, unsigned depth, const struct stat *st)
{
	const char *path = (const char *)w->path.data;
	const struct td_walk_entry entry = {
		.path = path,
		.name = path + w->root_len,
		.depth = depth,
		.what = what,
		.bytes = st ? (uint64_t)st->st_size : 0,
		.changed_ns = st ? (int64_t)st->st_mtim.tv_sec * 1000000000 + st->st_mtim.tv_nsec : 0,
	};
	return w->visit(w->ctx, &entry, w->e);
}

static bool is_loop(const struct level *level, const struct stat *st)
{
	for (; level; level = level->up)
		if (level->device == st->st_dev && level->inode == st->st_ino)
			return true;
	return false;
}

static int walk_folder(struct walk *w, const struct level *up, const struct stat *st, unsigned depth);

/* w->path names something in folder `level`. */
static int walk_entry(struct walk *w, const struct level *level, int folder, const char *base,
    unsigned depth)
{
	struct stat st;
	if (fstatat(folder, base, &st, 0) != 0)
		return report(w, TD_WALK_BROKEN, depth, NULL);
	if (S_ISREG(st.st_mode))
		return report(w, TD_WALK_FILE, depth, &st);
	if (!S_ISDIR(st.st_mode))
		return report(w, TD_WALK_OTHER, depth, NULL);
	if (is_loop(level, &st))
		return report(w, TD_WALK_LOOP, depth, NULL);
	int rc = report(w, TD_WALK_FOLDER, depth, NULL);
	return rc ? TD_MIN(rc, 0) : walk_folder(w, level, &st, depth + 1);
}

static bool set_name(struct td_buf *path, size_t len, const char *name)
{
	path->len = len;
	return td_buf_add(path, name, strlen(name) + 1);
}

/* w->path is the folder, its NUL not counted by the caller's length. */
static int walk_folder(struct walk *w, const struct level *up, const struct stat *st, unsigned depth)
{
	const struct level level = { .up = up, .device = st->st_dev, .inode = st->st_ino };
	struct td_names names = { 0 };
	size_t len = strlen((const char *)w->path.data);
	DIR *dir = opendir((const char *)w->path.data);
	int error = dir ? sorted_names(&names, dir) : errno, rc = 0;
	if (error) {
		if (dir)
			closedir(dir);
		if (error == ENOMEM)
			return td_err_memory(w->e);
		if (depth == 0)
			return td_err_errno(w->e, error, "%s", TD_ESC((const char *)w->path.data));
		return TD_MIN(report(w, TD_WALK_UNREADABLE, depth - 1, NULL), 0);
	}
	bool slash = len > 0 && w->path.data[len - 1] == '/';
	for (size_t i = 0; rc >= 0 && i < names.n; i++) {
		size_t at = len + !slash;
		if (!set_name(&w->path, len, slash ? "" : "/") ||
		    !set_name(&w->path, at, names.names[i])) {
			rc = td_err_memory(w->e);
			break;
		}
		if (depth == 0)
			w->root_len = at;
		rc = walk_entry(w, &level, dirfd(dir), names.names[i], depth);
	}
	w->path.data[len] = 0;
	closedir(dir);
	td_names_free(&names);
	return TD_MIN(rc, 0);
}

int td_walk(const char *root, td_walk_fn *visit, void *ctx, struct tundish_error *e)
{
	struct walk w = { .visit = visit, .ctx = ctx, .e = e };
	struct stat st;
	if (stat(root, &st) != 0)
		return td_err_errno(e, errno, "%s", TD_ESC(root));
	if (!td_buf_add(&w.path, root, strlen(root) + 1))
		return td_err_memory(e);
	int rc = walk_folder(&w, NULL, &st, 0);
	td_buf_free(&w.path);
	return rc;
}
