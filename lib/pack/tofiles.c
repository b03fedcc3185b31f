/* SPDX-License-Identifier: BSD-2-Clause
 * Pictures as files of their own instead of records. */
#include "tofiles.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/err.h"
#include "base/map.h"
#include "base/outfile.h"
#include "base/path.h"
#include "base/pool.h"
#include "source/list.h"
#include "source/picture.h"

int td_files_check(const char *spec, bool overwrite, const char **ret_folder, struct tundish_error *e)
{
	struct td_names names;
	if ((strncmp(spec, "jpg:", 4) != 0 && strncmp(spec, "png:", 4) != 0) || !spec[4])
		return td_err(e, TUNDISH_E_USAGE, "to: \"%s\" is neither jpg:FOLDER nor png:FOLDER", TD_ESC(spec));
	*ret_folder = spec + 4;
	if (td_list_folder(&names, *ret_folder, NULL) < 0)
		return 0; /* to be made */
	size_t n = names.n;
	td_names_free(&names);
	return n == 0 || overwrite ? 0 : td_err(e, TUNDISH_E_EXISTS, "%s is not empty (--overwrite adds to it)",
	    TD_ESC(*ret_folder));
}

char *td_file_name(const struct td_listing *l, const struct td_item *item, bool png)
{
	const char *name = td_item_name(l, item);
	struct td_buf part = { 0 };
	if (!(item->flags & (TD_ITEM_PART | TD_ITEM_SAMPLE)))
		return td_picture_name(name, png);
	char *made = td_buf_printf(&part, "%s.%06" PRIu32 ".jpg", name, item->part) ?
	    td_picture_name((const char *)part.data, png) : NULL;
	td_buf_free(&part);
	return made;
}

/* An archive may hold a and a/b, and a folder x.png beside the folder x.jpg. */
static int no_folder_too(const struct td_map *names, struct tundish_error *e)
{
	for (size_t i = 0; i < names->n; i++) {
		const char *name = td_map_key(names, i);
		size_t bytes = names->entries[i].key_bytes;
		for (size_t n = 1; n < bytes; n++) {
			char text[TD_ESC_MAX];
			if (name[n] == '/' && td_map_find(names, name, n))
				return td_err(e, TUNDISH_E_EXISTS, "to: %s would be a file and a folder",
				    td_escape(text, sizeof text, name, n));
		}
	}
	return 0;
}

/* Sources and archives may hold files of one name, and folders x.bmp and x.png: one would
 * replace the other. */
int td_files_differ(const struct td_listing *l, bool png, struct tundish_error *e)
{
	struct td_map seen = { .value_bytes = 1 };
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < l->n; i++) {
		size_t known = seen.n;
		if (i > 0 && l->items[i].name == l->items[i - 1].name)
			continue;
		char *name = td_file_name(l, &l->items[i], png);
		if (!name || !td_map_at(&seen, name, strlen(name)))
			rc = td_err_memory(e);
		else if (seen.n == known)
			rc = td_err(e, TUNDISH_E_EXISTS, "to: two items would be %s", TD_ESC(name));
		free(name);
	}
	rc = rc == 0 ? no_folder_too(&seen, e) : rc;
	td_map_free(&seen);
	return rc;
}

#define NAME_MOST (NAME_MAX - 6) /* until it is whole a file is called ".NAME.part" */

struct run {
	struct td_pack *p;
	const char *folder;
	td_picture_fn *picture;
	size_t next, n;
};

struct job {
	uint32_t item;
	int code; /* of the item; 0: it is written */
	struct td_buf data;
	struct tundish_error why;
};

static int take(void *ctx, void *job, uint64_t *ret_bytes, struct tundish_error *e)
{
	struct run *run = ctx;
	struct job *j = job;
	if (td_stopped(&run->p->o->listener))
		return td_err(e, TUNDISH_E_STOPPED, "stopped");
	if (run->next == run->n)
		return 0;
	j->item = (uint32_t)run->next++;
	*ret_bytes = 2 * run->p->item_bytes[j->item];
	return 1;
}

/* Like mkdir -p for what stands before the last slash. */
static int make_folders(char *path, struct tundish_error *e)
{
	for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = 0;
		int rc = mkdir(path, 0777) == 0 || errno == EEXIST ? 0 : td_err_errno(e, errno, "%s", TD_ESC(path));
		*slash = '/';
		if (rc < 0)
			return rc;
	}
	return 0;
}

/* Bad items are told when they are put; what cannot be written ends the run. */
static int work(void *ctx, void *job, unsigned worker, struct tundish_error *e)
{
	const struct run *run = ctx;
	struct job *j = job;
	char *name = NULL;
	j->data.len = 0;
	j->code = run->picture(run->p->ctx, j->item, worker, &j->data, &name, &j->why);
	if (j->code == 0 && strlen(td_path_base(name)) > NAME_MOST)
		j->code = td_err(&j->why, TUNDISH_E_UNSUPPORTED, "its file would have a name of more than %d bytes", NAME_MOST);
	if (j->code < 0) {
		free(name);
		return j->code == TUNDISH_E_MEMORY ? td_err_memory(e) : 0;
	}
	char *path = td_path_join(run->folder, name);
	int rc = path ? make_folders(path, e) : td_err_memory(e);
	if (rc == 0)
		rc = td_write_file(path, j->data.data, j->data.len, e);
	free(path);
	free(name);
	return rc;
}

static int put(void *ctx, void *job, struct tundish_error *e)
{
	struct run *run = ctx;
	struct td_pack *p = run->p;
	const struct job *j = job;
	const struct tundish_listener *l = &p->o->listener;
	struct td_place at;
	const char *name;
	int rc = 0;
	if (j->code < 0) {
		rc = p->place(p->ctx, j->item, &at, &name, e);
		return rc < 0 ? rc : td_bad_item(&p->bad, j->code, at, name, j->why.text, e);
	}
	p->written++;
	p->payload_bytes += j->data.len;
	p->file_bytes += j->data.len;
	const struct tundish_progress progress = { j->item + 1u, run->n, p->file_bytes, 0 };
	if (l->progress)
		l->progress(l->data, &progress);
	return 0;
}

static void free_job(void *job)
{
	td_buf_free(&((struct job *)job)->data);
}

int td_files_run(struct td_pack *p, size_t n, const char *folder, td_picture_fn *picture, struct tundish_error *e)
{
	struct run run = { .p = p, .folder = folder, .picture = picture, .n = n };
	const struct td_ordered loop = {
		.job_bytes = sizeof(struct job),
		.threads = p->threads,
		.max_bytes = td_memory(p->o->memory) / 2,
		.take = take,
		.work = work,
		.put = put,
		.free_job = free_job,
	};
	int rc = p->o->dry_run ? 0 : td_ordered_run(&loop, &run, NULL, e);
	if (rc == 0 && !p->o->dry_run && p->written == 0)
		rc = td_err(e, TUNDISH_E_EMPTY, "no good item (%" PRIu64 " bad)", p->bad.count);
	return rc;
}
