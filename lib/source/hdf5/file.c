/* SPDX-License-Identifier: BSD-2-Clause
 * HDF5 files: looking at them before the library does, and paths in them, link by link. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bits.h"
#include "base/err.h"
#include "base/infile.h"
#include "base/path.h"
#include "base/talk.h"
#include "inside.h"

#define LINKS_MOST 16
#define NAME_MOST 65536

/* ---- opening ---- */

enum {
	OPEN_FOR_WRITING = 1,
	OPEN_FOR_SWMR = 4,
};

struct superblock {
	uint64_t end;	/* where the file should end */
	unsigned flags;
};

static uint64_t number(const uint8_t *p, unsigned bytes)
{
	uint64_t v = 0;
	for (unsigned i = bytes; i > 0; i--)
		v = v << 8 | p[i - 1];
	return v;
}

static bool good_width(unsigned bytes)
{
	return bytes == 2 || bytes == 4 || bytes == 8;
}

/* Finds the superblock and reads what the library would trip over. */
static int read_superblock(struct td_h5_file *f, struct superblock *ret, struct tundish_error *e)
{
	static const uint8_t mark[8] = { 0x89, 'H', 'D', 'F', '\r', '\n', 0x1a, '\n' };
	uint8_t b[96] = { 0 };
	for (f->base = 0; f->base < f->bytes; f->base = f->base ? 2 * f->base : 512) {
		int64_t n = td_read_at(f->fd, b, sizeof b, f->base, e);
		if (n < 0)
			return (int)n;
		if (n >= 8 && memcmp(b, mark, 8) == 0)
			break;
	}
	if (f->base >= f->bytes || memcmp(b, mark, 8) != 0)
		return td_err(e, TUNDISH_E_UNSUPPORTED, "not an HDF5 file");
	bool old = b[8] < 2;
	f->addr_bytes = b[old ? 13 : 9];
	f->size_bytes = b[old ? 14 : 10];
	if (b[8] > 3 || !good_width(f->addr_bytes) || !good_width(f->size_bytes))
		return td_err(e, TUNDISH_E_CORRUPT, "no known form of HDF5 superblock");
	ret->flags = old ? 0 : b[11];
	ret->end = number(b + (old ? 24 + (b[8] == 1 ? 4 : 0) : 12) + 2 * f->addr_bytes, f->addr_bytes);
	return 0;
}

/* Whoever writes holds a lock; it is not waited for. */
static int take_lock(const struct td_h5_file *f, struct tundish_error *e)
{
	const char *word = getenv("HDF5_USE_FILE_LOCKING");
	if (word && (strcmp(word, "FALSE") == 0 || strcmp(word, "0") == 0))
		return 0;
	if (flock(f->fd, LOCK_SH | LOCK_NB) == 0 || errno != EWOULDBLOCK)
		return 0; /* file systems without locks */
	return td_err(e, TUNDISH_E_IO,
	    "in use by another process (locked); HDF5_USE_FILE_LOCKING=FALSE reads it all the same");
}

/* A member of an archive has no name that the library would open: it gets the bytes. */
static int give_bytes(const struct td_h5_file *f, hid_t access, struct tundish_error *e)
{
	struct td_buf all = { 0 };
	int rc = td_read_file(&all, f->path, f->bytes, e);
	if (rc == 0 && (H5Pset_fapl_core(access, 65536, false) < 0 ||
	    H5Pset_file_image(access, all.data, all.len) < 0))
		rc = td_h5_fail(e, TUNDISH_E_MEMORY, "HDF5 file in an archive");
	td_buf_free(&all);
	return rc;
}

static int open_library(struct td_h5_file *f, unsigned flags, struct tundish_error *e)
{
	char name[64]; /* the library takes files of one name for one file */
	bool member = strncmp(f->path, "/proc/self/fd/", 14) == 0;
	hid_t access = H5Pcreate(H5P_FILE_ACCESS);
	if (access < 0)
		return td_err_memory(e);
	snprintf(name, sizeof name, "member %p", (void *)f);
	H5Pset_file_locking(access, false, true); /* ours is taken */
	int rc = member ? give_bytes(f, access, e) : 0;
	f->id = rc < 0 ? -1 : H5Fopen(member ? name : f->path, H5F_ACC_RDONLY | flags, access);
	if (rc == 0 && f->id < 0)
		rc = td_h5_fail(e, TUNDISH_E_CORRUPT, "HDF5 file cannot be opened");
	H5Pclose(access);
	return rc;
}

static int look_and_open(struct td_h5_file *f, const struct tundish_listener *l, struct tundish_error *e)
{
	struct superblock s = { 0 };
	f->fd = td_open_file(f->path, &f->bytes, e);
	if (f->fd < 0)
		return f->fd;
	if (f->bytes == 0)
		return td_err(e, TUNDISH_E_CORRUPT, "empty file");
	int rc = read_superblock(f, &s, e);
	if (rc < 0)
		return rc;
	bool swmr = s.flags & OPEN_FOR_SWMR;
	if (s.flags & OPEN_FOR_WRITING && !swmr)
		return td_err(e, TUNDISH_E_IO, "marked as open for writing, by a program that runs or has "
		    "crashed; when none does, `h5clear -s FILE` takes the mark off");
	if (!swmr && s.end > f->bytes)
		return td_err(e, TUNDISH_E_TRUNCATED, "truncated HDF5 file (%" PRIu64 " of %" PRIu64 " bytes)",
		    f->bytes, s.end);
	if (swmr)
		td_notice(l, "%s: marked as being written (SWMR): what is there now is read", TD_ESC(f->path));
	rc = take_lock(f, e);
	if (rc < 0)
		return rc;
	td_h5_enter();
	rc = open_library(f, swmr ? H5F_ACC_SWMR_READ : 0, e);
	td_h5_leave();
	return rc;
}

static void close_file(struct td_h5_file *f)
{
	if (f->id > 0) {
		td_h5_enter();
		H5Fclose(f->id);
		td_h5_leave();
	}
	if (f->fd >= 0)
		close(f->fd);
	free(f->path);
	free(f);
}

static int open_file(struct td_h5_file **ret, const char *path, const struct tundish_listener *l,
    struct tundish_error *e)
{
	struct td_h5_file *f = calloc(1, sizeof *f);
	if (!f)
		return td_err_memory(e);
	f->fd = -1;
	f->path = strdup(path);
	int rc = f->path ? look_and_open(f, l, e) : td_err_memory(e);
	if (rc < 0)
		close_file(f);
	else
		*ret = f;
	return rc;
}

int td_h5_open(struct td_h5_files *ret, const char *path, bool follow, const struct tundish_listener *l,
    struct tundish_error *e)
{
	struct td_h5_files files = { .follow = follow };
	int rc = open_file(&files.first, path, l, e);
	char *folder = rc == 0 ? td_path_folder(path) : NULL;
	files.folder = folder ? realpath(folder, NULL) : NULL;
	free(folder);
	if (rc == 0 && !files.folder)
		rc = td_err_memory(e);
	if (rc < 0)
		td_h5_close(&files);
	else
		*ret = files;
	return rc;
}

void td_h5_close(struct td_h5_files *files)
{
	for (struct td_h5_file *f = files->first, *next; f; f = next) {
		next = f->next;
		close_file(f);
	}
	free(files->folder);
	*files = (struct td_h5_files){ 0 };
}

/* ---- other files ---- */

static bool below(const char *folder, const char *path)
{
	size_t n = strlen(folder);
	return strncmp(path, folder, n) == 0 && (path[n] == '/' || (n && folder[n - 1] == '/'));
}

int td_h5_open_beside(const struct td_h5_files *files, const struct td_h5_file *beside, const char *what,
    const char *target, char **ret_path, uint64_t *ret_bytes, struct tundish_error *e)
{
	if (!files->follow)
		return td_err(e, TUNDISH_E_UNSUPPORTED, "%s %s: other files are read with --follow-external only",
		    what, TD_ESC(target));
	char *folder = td_path_folder(beside->path);
	char *joined = folder ? td_path_join(target[0] == '/' ? NULL : folder, target) : NULL;
	char *real = joined ? realpath(joined, NULL) : NULL;
	struct tundish_error why = { 0 };
	int rc = 0;
	if (!joined)
		rc = td_err_memory(e);
	else if (!real)
		rc = td_err_errno(e, errno, "%s %s", what, TD_ESC(target));
	else if (!below(files->folder, real))
		rc = td_err(e, TUNDISH_E_UNSUPPORTED, "%s %s: not below the file's folder", what, TD_ESC(target));
	else if ((rc = td_open_file(real, ret_bytes, &why)) < 0)
		td_err(e, rc, "%s %s: %s", what, TD_ESC(target), why.text);
	if (rc >= 0 && ret_path)
		*ret_path = real;
	else
		free(real);
	free(joined);
	free(folder);
	return rc;
}

/* The file that an external link names, opened once. */
static int open_linked(struct td_h5_file **ret, struct td_h5_files *files, const struct td_h5_file *from,
    const char *path, const char *target, struct tundish_error *e)
{
	char what[TD_ESC_MAX + 40], *real = NULL;
	struct tundish_error why = { 0 };
	snprintf(what, sizeof what, "%.200s is an external link to", TD_ESC(path));
	int fd = td_h5_open_beside(files, from, what, target, &real, NULL, e);
	if (fd < 0)
		return fd;
	close(fd);
	struct td_h5_file **at = &files->first;
	for (; *at; at = &(*at)->next) {
		char *there = realpath((*at)->path, NULL);
		bool same = there && strcmp(there, real) == 0;
		free(there);
		if (same)
			break;
	}
	int rc = *at ? 0 : open_file(at, real, NULL, &why);
	if (rc < 0)
		td_err(e, rc, "%s %s: %s", what, TD_ESC(target), why.text);
	else
		*ret = *at;
	free(real);
	return rc;
}

/* ---- paths ---- */

void td_h5_place_free(struct td_h5_place *place)
{
	free(place->path);
	free(place->member);
	*place = (struct td_h5_place){ 0 };
}

/* What stands at a path whose parents are real groups. */
struct step {
	H5L_type_t link;
	H5O_type_t object;
	char *value; /* of a soft link; of an external one FILE and OBJECT, each with a NUL */
	char *object_path;
};

static int read_link(struct step *s, hid_t file, const char *path, size_t bytes, struct tundish_error *e)
{
	if (bytes == 0 || bytes > NAME_MOST)
		return td_err(e, TUNDISH_E_CORRUPT, "%s: impossible link", TD_ESC(path));
	char *value = calloc(1, bytes + 1);
	unsigned flags;
	const char *name, *object;
	if (!value)
		return td_err_memory(e);
	int rc = H5Lget_val(file, path, value, bytes, H5P_DEFAULT) < 0 ?
	    td_h5_fail(e, TUNDISH_E_CORRUPT, "link %s", TD_ESC(path)) : 0;
	if (rc == 0 && s->link == H5L_TYPE_SOFT) {
		s->value = strdup(value);
		rc = s->value ? 0 : td_err_memory(e);
	} else if (rc == 0 && H5Lunpack_elink_val(value, bytes, &flags, &name, &object) < 0) {
		rc = td_h5_fail(e, TUNDISH_E_CORRUPT, "link %s", TD_ESC(path));
	} else if (rc == 0) {
		s->value = strdup(name);
		s->object_path = strdup(object);
		rc = s->value && s->object_path ? 0 : td_err_memory(e);
	}
	free(value);
	return rc;
}

static int look_at_step(struct step *s, hid_t file, const char *path, struct tundish_error *e)
{
	H5L_info_t link;
	H5O_info_t object;
	*s = (struct step){ 0 };
	if (H5Lexists(file, path, H5P_DEFAULT) <= 0 || H5Lget_info(file, path, &link, H5P_DEFAULT) < 0) {
		H5Eclear2(H5E_DEFAULT);
		return td_err(e, TUNDISH_E_NOT_FOUND, "no %s in it", TD_ESC(path));
	}
	s->link = link.type;
	if (link.type == H5L_TYPE_SOFT || link.type == H5L_TYPE_EXTERNAL)
		return read_link(s, file, path, link.u.val_size, e);
	if (link.type != H5L_TYPE_HARD)
		return td_err(e, TUNDISH_E_UNSUPPORTED, "%s is a link of an unknown kind", TD_ESC(path));
	if (H5Oget_info_by_name2(file, path, &object, H5O_INFO_BASIC, H5P_DEFAULT) < 0)
		return td_h5_fail(e, TUNDISH_E_CORRUPT, "%s", TD_ESC(path));
	s->object = object.type;
	return 0;
}

static int find_in(struct td_h5_place *ret, struct td_h5_files *files, struct td_h5_file *file, const char *path,
    unsigned depth, struct tundish_error *e);

/* Goes on where a link leads; `rest` is what stands behind it, or "". */
static int follow_link(struct td_h5_place *ret, struct td_h5_files *files, struct td_h5_file *file,
    const char *path, const char *rest, const struct step *s, unsigned depth, struct tundish_error *e)
{
	struct td_buf next = { 0 };
	struct td_h5_file *to = file;
	int rc = 0;
	const char *last = strrchr(path, '/');
	if (depth == LINKS_MOST)
		return td_err(e, TUNDISH_E_CORRUPT, "%s: more than %d links one after another", TD_ESC(path), LINKS_MOST);
	if (s->link == H5L_TYPE_EXTERNAL)
		rc = open_linked(&to, files, file, path, s->value, e);
	bool ok = s->link == H5L_TYPE_EXTERNAL ? td_buf_printf(&next, "%s/%s", s->object_path, rest) :
	    s->value[0] == '/' ? td_buf_printf(&next, "%s/%s", s->value, rest) :
	    td_buf_printf(&next, "%.*s/%s/%s", (int)(last - path), path, s->value, rest);
	if (rc == 0)
		rc = ok ? find_in(ret, files, to, (const char *)next.data, depth + 1, e) : td_err_memory(e);
	if (rc == TUNDISH_E_NOT_FOUND && s->link == H5L_TYPE_SOFT)
		td_err(e, rc, "%s is a link to %s, which is not there", TD_ESC(path), TD_ESC(s->value));
	td_buf_free(&next);
	return rc;
}

/* `path` is whole now: 0 go on below it, 1 done. */
static int take_step(struct td_h5_place *ret, struct td_h5_files *files, struct td_h5_file *file,
    const char *path, const char *rest, unsigned depth, struct tundish_error *e)
{
	struct step s;
	td_h5_enter();
	int rc = look_at_step(&s, file->id, path, e);
	td_h5_leave();
	if (rc == 0 && s.link != H5L_TYPE_HARD) {
		rc = follow_link(ret, files, file, path, rest, &s, depth, e);
		rc = rc < 0 ? rc : 1;
	} else if (rc == 0 && s.object == H5O_TYPE_DATASET) {
		*ret = (struct td_h5_place){ .file = file, .path = strdup(path), .member = *rest ? strdup(rest) : NULL };
		rc = ret->path && (!*rest || ret->member) ? 1 : td_err_memory(e);
	} else if (rc == 0 && s.object != H5O_TYPE_GROUP) {
		rc = td_err(e, TUNDISH_E_UNSUPPORTED, "%s is neither a dataset nor a group", TD_ESC(path));
	}
	free(s.value);
	free(s.object_path);
	return rc;
}

static int find_in(struct td_h5_place *ret, struct td_h5_files *files, struct td_h5_file *file, const char *path,
    unsigned depth, struct tundish_error *e)
{
	struct td_buf at = { 0 };
	int rc = 0;
	for (const char *rest = path; rc == 0 && *rest;) {
		size_t n = strcspn(rest, "/");
		const char *name = rest;
		rest += n + (rest[n] == '/');
		if (n == 0 || (n == 1 && *name == '.'))
			continue;
		if (!td_buf_printf(&at, "/%.*s", (int)n, name))
			rc = td_err_memory(e);
		else
			rc = take_step(ret, files, file, (const char *)at.data, rest, depth, e);
	}
	if (rc == 0) {
		*ret = (struct td_h5_place){ .file = file, .path = strdup(at.len ? (const char *)at.data : "/"), .group = true };
		rc = ret->path ? 0 : td_err_memory(e);
	}
	td_buf_free(&at);
	return rc < 0 ? rc : 0;
}

int td_h5_find(struct td_h5_place *ret, struct td_h5_files *files, const char *path, struct tundish_error *e)
{
	struct td_h5_place place = { 0 };
	int rc = find_in(&place, files, files->first, path, 0, e);
	if (rc < 0)
		td_h5_place_free(&place);
	else
		*ret = place;
	return rc;
}
