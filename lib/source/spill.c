/* SPDX-License-Identifier: BSD-2-Clause
 * Members of archives as files without a name, for formats that open a file. */
#include "spill.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/err.h"
#include "base/outfile.h"
#include "format.h"

static int open_one(int *ret_fd, char path[32], struct tundish_error *e)
{
	int fd = td_nameless_file(NULL, e);
	if (fd < 0)
		return fd;
	snprintf(path, 32, "/proc/self/fd/%d", fd);
	*ret_fd = fd;
	return 0;
}

int td_spilled_new(struct td_spilled **ret, struct tundish_error *e)
{
	struct td_spilled *s = calloc(1, sizeof *s);
	if (!s)
		return td_err_memory(e);
	s->data_fd = -1;
	atomic_init(&s->users, 1);
	int rc = open_one(&s->fd, s->path, e);
	if (rc < 0)
		free(s);
	else
		*ret = s;
	return rc;
}

int td_spilled_add_data(struct td_spilled *s, struct tundish_error *e)
{
	return open_one(&s->data_fd, s->data_path, e);
}

int td_spilled_put(int fd, const void *data, size_t bytes, struct tundish_error *e)
{
	int rc = td_write_all(fd, data, bytes);
	return rc < 0 ? td_err_errno(e, -rc, "a temporary file") : 0;
}

struct td_spilled *td_spilled_share(struct td_spilled *s)
{
	atomic_fetch_add(&s->users, 1);
	return s;
}

void td_spilled_drop(struct td_spilled *s)
{
	if (!s || atomic_fetch_sub(&s->users, 1) > 1)
		return;
	close(s->fd);
	if (s->data_fd >= 0)
		close(s->data_fd);
	td_buf_free(&s->index);
	free(s);
}

void td_spilled_file(struct td_file *file, const struct td_spilled *s)
{
	file->name = td_file_shown(file);
	file->path = s->path;
	file->data_path = s->data_fd >= 0 ? s->data_path : NULL;
}
