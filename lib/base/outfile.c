/* SPDX-License-Identifier: BSD-2-Clause
 * Files that appear whole or not at all: written as .NAME.part, synced, renamed. */
#include "outfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "err.h"
#include "path.h"

static char *part_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	int folder = slash ? (int)(slash - path + 1) : 0;
	char *part;
	return asprintf(&part, "%.*s.%s.part", folder, path, path + folder) < 0 ? NULL : part;
}

/* 0: there is nothing. */
static mode_t mode_of(const char *path)
{
	struct stat st;
	return stat(path, &st) == 0 ? st.st_mode : 0;
}

int td_outfile_open(struct td_outfile *f, const char *path, struct tundish_error *e)
{
	*f = (struct td_outfile){ .fd = -1, .stream = strcmp(path, "-") == 0 };
	mode_t mode = f->stream ? 0 : mode_of(path);
	bool in_place = f->stream || (mode && !S_ISREG(mode));
	if (S_ISDIR(mode))
		return td_err_errno(e, EISDIR, "%s", TD_ESC(path));
	f->path = strdup(f->stream ? "standard output" : path);
	f->part = f->path && !in_place ? part_name(path) : NULL;
	if (!f->path || (!in_place && !f->part)) {
		td_outfile_abort(f);
		return td_err_memory(e);
	}
	if (f->stream) {
		f->fd = STDOUT_FILENO;
		return 0;
	}
	f->fd = in_place ? open(path, O_WRONLY | O_CLOEXEC) :
	    open(f->part, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (f->fd >= 0)
		return 0;
	int rc = td_err_errno(e, errno, "%s", TD_ESC(in_place ? path : f->part));
	/* a folder that is not there is no missing input */
	rc = rc == TUNDISH_E_NOT_FOUND ? td_err(e, TUNDISH_E_IO, "%s: no such folder", TD_ESC(path)) : rc;
	free(f->part);
	f->part = NULL;
	td_outfile_abort(f);
	return rc;
}

int td_write_all(int fd, const void *data, size_t bytes)
{
	const char *p = data;
	while (bytes > 0) {
		ssize_t n = write(fd, p, TD_MIN(bytes, (size_t)1 << 30));
		if (n < 0 && errno != EINTR)
			return -errno;
		p += n > 0 ? n : 0;
		bytes -= n > 0 ? (size_t)n : 0;
	}
	return 0;
}

int td_outfile_write(struct td_outfile *f, const void *data, size_t bytes, struct tundish_error *e)
{
	int rc = td_write_all(f->fd, data, bytes);
	if (rc < 0)
		return td_err_errno(e, -rc, "%s", TD_ESC(f->path));
	f->bytes += bytes;
	return 0;
}

int td_outfile_sync(struct td_outfile *f, struct tundish_error *e)
{
	if (f->stream || f->fd < 0)
		return 0;
	int rc = 0;
	if (fsync(f->fd) != 0 && errno != EINVAL && errno != EROFS)
		rc = td_err_errno(e, errno, "%s", TD_ESC(f->path));
	if (close(f->fd) != 0 && rc == 0)
		rc = td_err_errno(e, errno, "%s", TD_ESC(f->path));
	f->fd = -1;
	return rc;
}

int td_outfile_commit(struct td_outfile *f, struct tundish_error *e)
{
	int rc = td_outfile_sync(f, e);
	if (rc == 0 && f->part && rename(f->part, f->path) != 0)
		rc = td_err_errno(e, errno, "%s", TD_ESC(f->path));
	if (rc == 0) {
		free(f->part);
		f->part = NULL;
	}
	td_outfile_abort(f);
	return rc;
}

void td_outfile_abort(struct td_outfile *f)
{
	if (f->fd > 0 && !f->stream)
		close(f->fd);
	if (f->part)
		unlink(f->part);
	free(f->part);
	free(f->path);
	*f = (struct td_outfile){ .fd = -1 };
}

/* Not every file system has files without a name: there one is made and unlinked. */
int td_nameless_file(const char *folder, struct tundish_error *e)
{
	const char *usual = getenv("TMPDIR");
	if (!folder)
		folder = usual && *usual ? usual : "/tmp";
	int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (fd >= 0)
		return fd;
	char *path = td_path_join(folder, ".tundish-XXXXXX");
	fd = path ? mkostemp(path, O_CLOEXEC) : -1;
	int number = path ? errno : ENOMEM;
	if (fd >= 0)
		unlink(path);
	free(path);
	if (fd >= 0)
		return fd;
	/* a folder that is not there is no missing input */
	if (number == ENOENT || number == ENOTDIR)
		return td_err(e, TUNDISH_E_IO, "%s: temporary file: no such folder", TD_ESC(folder));
	return td_err_errno(e, number, "%s: temporary file", TD_ESC(folder));
}

int td_write_file(const char *path, const void *data, size_t bytes, struct tundish_error *e)
{
	struct td_outfile f;
	int rc = td_outfile_open(&f, path, e);
	if (rc < 0)
		return rc;
	rc = td_outfile_write(&f, data, bytes, e);
	if (rc == 0)
		return td_outfile_commit(&f, e);
	td_outfile_abort(&f);
	return rc;
}

int td_sync_folder(const char *path, struct tundish_error *e)
{
	const char *slash = strrchr(path, '/');
	char *folder = slash ? strndup(path, (size_t)(slash - path) + (slash == path)) : strdup(".");
	if (!folder)
		return td_err_memory(e);
	int rc = 0, fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	/* some file systems cannot sync folders: nothing is lost that they promised */
	if (fd < 0 || (fsync(fd) != 0 && errno != EINVAL && errno != ENOTSUP))
		rc = td_err_errno(e, errno, "%s", TD_ESC(folder));
	if (fd >= 0)
		close(fd);
	free(folder);
	return rc;
}
