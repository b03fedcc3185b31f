/* SPDX-License-Identifier: BSD-2-Clause
 * A set of shards on disk that appears whole or not at all. */
#include "set.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/crc32c.h"
#include "base/err.h"
#include "base/path.h"
#include "record/frame.h"
#include "record/index.h"

#define FLUSH_BYTES ((uint64_t)8 << 20)

static bool exists(const char *folder, const char *name)
{
	struct stat st;
	char *path = td_path_join(folder, name);
	bool there = path && lstat(path, &st) == 0;
	free(path);
	return there;
}

int td_set_check(const struct td_output *out, bool overwrite, struct tundish_error *e)
{
	if (out->stream || overwrite || !exists(out->folder, "tundish.json"))
		return 0;
	return td_err(e, TUNDISH_E_EXISTS, "%s holds a finished set (tundish.json); --overwrite replaces it",
	    TD_ESC(out->folder));
}

/* ---- folder and journal ---- */

/* Like mkdir -p; the topmost folder that was made goes to *ret_made. */
static int make_folders(const char *folder, char **ret_made, struct tundish_error *e)
{
	struct stat st;
	if (stat(folder, &st) == 0)
		return S_ISDIR(st.st_mode) ? 0 : td_err(e, TUNDISH_E_IO, "%s: not a folder", TD_ESC(folder));
	char *up = td_path_folder(folder);
	int rc = !up ? td_err_memory(e) : strcmp(up, folder) == 0 ? 0 : make_folders(up, ret_made, e);
	free(up);
	if (rc < 0)
		return rc;
	if (mkdir(folder, 0777) != 0 && errno != EEXIST) {
		int number = errno;
		return td_err(e, number == ENOSPC || number == EDQUOT ? TUNDISH_E_SPACE : TUNDISH_E_IO,
		    "%s: %s", TD_ESC(folder), strerror(number));
	}
	if (!*ret_made)
		*ret_made = strdup(folder);
	return 0;
}

/* Removes a file of the set by its base name; names with a slash are none of ours. */
static void remove_file(const char *folder, const char *fmt, const char *name)
{
	char *file = NULL, *path = NULL;
	if (!strchr(name, '/') && asprintf(&file, fmt, name) >= 0)
		path = td_path_join(folder, file);
	if (path)
		unlink(path);
	free(path);
	free(file);
}

static void remove_shard_files(const char *folder, const char *file)
{
	remove_file(folder, "%s", file);
	remove_file(folder, ".%s.part", file);
	remove_file(folder, ".%s.idx.part", file);
	remove_file(folder, "index/%s.idx", file);
}

/* Each line of a dead run's journal names a file that may be left. */
static void clear_dead_run(const char *folder, int journal)
{
	FILE *f = fdopen(dup(journal), "re");
	char *line = NULL;
	size_t cap = 0;
	bool finished = exists(folder, "tundish.json");
	while (f && getline(&line, &cap, f) > 0) {
		json_t *o = json_loads(line, 0, NULL);
		const char *file = json_string_value(json_object_get(o, "file"));
		if (file && finished) {
			/* the names may be those of the finished set */
			remove_file(folder, ".%s.part", file);
			remove_file(folder, ".%s.idx.part", file);
		} else if (file) {
			remove_shard_files(folder, file);
		}
		json_decref(o);
	}
	free(line);
	if (f)
		fclose(f);
}

static int open_journal(struct td_set *s, struct tundish_error *e)
{
	char *name = NULL;
	if (asprintf(&name, ".%s.journal", s->out.name) < 0)
		return td_err_memory(e);
	s->journal_path = td_path_join(s->out.folder, name);
	free(name);
	if (!s->journal_path)
		return td_err_memory(e);
	s->journal = open(s->journal_path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
	if (s->journal < 0)
		return td_err_errno(e, errno, "%s", TD_ESC(s->journal_path));
	if (flock(s->journal, LOCK_EX | LOCK_NB) == 0)
		return 0;
	/* not ours: leave it alone */
	close(s->journal);
	s->journal = -1;
	return td_err(e, TUNDISH_E_EXISTS, "%s: another run is writing this set", TD_ESC(s->journal_path));
}

static int journal_line(struct td_set *s, const char *text, size_t len, struct tundish_error *e)
{
	while (len > 0) {
		ssize_t n = write(s->journal, text, len);
		if (n < 0 && errno != EINTR)
			return td_err_errno(e, errno, "%s", TD_ESC(s->journal_path));
		text += n > 0 ? n : 0;
		len -= n > 0 ? (size_t)n : 0;
	}
	return 0;
}

/* A line {"file":NAME, ...}; a shard's when it is whole has size and checksum. */
static int journal_file(struct td_set *s, const char *file, const struct td_set_shard *shard,
    struct tundish_error *e)
{
	json_t *o = json_object();
	json_object_set_new(o, "file", json_stringn_nocheck(file, strlen(file)));
	if (shard) {
		json_object_set_new(o, "bytes", json_integer((json_int_t)shard->bytes));
		json_object_set_new(o, "crc32c", json_integer(shard->crc));
	}
	char *text = json_dumps(o, JSON_COMPACT);
	json_decref(o);
	int rc = text ? journal_line(s, text, strlen(text), e) : td_err_memory(e);
	if (rc == 0)
		rc = journal_line(s, "\n", 1, e);
	free(text);
	return rc;
}

int td_set_begin(struct td_set *s, const struct td_output *out, const struct td_plan *plan,
    const char *template, bool with_count, struct tundish_error *e)
{
	*s = (struct td_set){ .out = *out, .plan = plan, .template = template, .with_count = with_count,
		.current = plan->n_shards, .journal = -1 };
	s->shards = calloc(plan->n_shards + 1, sizeof *s->shards);
	if (!s->shards)
		return td_err_memory(e);
	for (size_t i = 0; i < plan->n_shards; i++)
		s->shards[i].data.fd = s->shards[i].index.fd = -1;
	if (out->stream)
		return 0;
	int rc = make_folders(out->folder, &s->made_folder, e);
	if (rc == 0)
		rc = open_journal(s, e);
	if (rc < 0)
		return rc;
	clear_dead_run(out->folder, s->journal);
	if (ftruncate(s->journal, 0) != 0 || lseek(s->journal, 0, SEEK_SET) != 0)
		return td_err_errno(e, errno, "%s", TD_ESC(s->journal_path));
	return 0;
}

/* ---- shards ---- */

static int open_data(struct td_set *s, size_t i, struct tundish_error *e)
{
	struct td_set_shard *shard = &s->shards[i];
	if (s->out.stream)
		return td_outfile_open(&shard->data, "-", e);
	shard->file = td_shard_file(s->template, s->with_count, s->out.name, s->plan, i, 0);
	char *path = shard->file ? td_path_join(s->out.folder, shard->file) : NULL, *index = NULL;
	int rc = path && asprintf(&index, "%s.idx", path) >= 0 ? 0 : td_err_memory(e);
	/* named before it is there, so that it is found when this run dies */
	if (rc == 0)
		rc = journal_file(s, shard->file, NULL, e);
	if (rc == 0)
		rc = td_outfile_open(&shard->data, path, e);
	if (rc == 0)
		rc = td_outfile_open(&shard->index, index, e);
	free(path);
	free(index);
	return rc;
}

static int open_shard(struct td_set *s, size_t i, struct tundish_error *e)
{
	if (s->current == i)
		return 0;
	s->current = i;
	s->index_text.len = 0;
	s->since_flush = 0;
	return open_data(s, i, e);
}

static int write_index(struct td_set *s, struct td_set_shard *shard, struct tundish_error *e)
{
	int rc = s->out.stream ? 0 : td_outfile_write(&shard->index, s->index_text.data, s->index_text.len, e);
	s->index_text.len = 0;
	return rc;
}

/* Starts writing back early, so that the sync at the end has little left to do. */
static void flush_early(struct td_set *s, struct td_set_shard *shard, size_t bytes)
{
	s->since_flush += bytes;
	if (s->out.stream || s->since_flush < FLUSH_BYTES)
		return;
	sync_file_range(shard->data.fd, (off_t)(shard->data.bytes - s->since_flush), (off_t)s->since_flush,
	    SYNC_FILE_RANGE_WRITE);
	s->since_flush = 0;
}

int td_set_append(struct td_set *s, size_t i, const void *frames, size_t bytes, const uint64_t *sizes,
    size_t n, struct tundish_error *e)
{
	struct td_set_shard *shard = &s->shards[i];
	int rc = open_shard(s, i, e);
	if (rc < 0)
		return rc;
	uint64_t offset = shard->bytes;
	for (size_t k = 0; k < n; k++) {
		const struct td_index_entry entry = { offset, sizes[k] };
		if (!s->out.stream && !td_index_print(&s->index_text, &entry, 1))
			return td_err_memory(e);
		offset += sizes[k];
		shard->payload_bytes += sizes[k] - TD_FRAME_EXTRA;
	}
	rc = td_outfile_write(&shard->data, frames, bytes, e);
	if (rc == 0 && s->index_text.len > 1 << 20)
		rc = write_index(s, shard, e);
	if (rc < 0)
		return rc;
	shard->records += n;
	shard->bytes += bytes;
	shard->crc = td_crc32c(shard->crc, frames, bytes);
	flush_early(s, shard, bytes);
	return 0;
}

int td_set_end(struct td_set *s, size_t i, char *classes, struct tundish_error *e)
{
	struct td_set_shard *shard = &s->shards[i];
	shard->classes = classes;
	int rc = open_shard(s, i, e);
	if (rc == 0)
		rc = write_index(s, shard, e);
	if (rc == 0)
		rc = td_outfile_sync(&shard->data, e);
	if (rc == 0 && !s->out.stream)
		rc = td_outfile_sync(&shard->index, e);
	if (rc == 0 && !s->out.stream)
		rc = journal_file(s, shard->file, shard, e);
	shard->whole = rc == 0;
	s->current = s->plan->n_shards;
	return rc;
}

/* ---- the end ---- */

static int final_name(struct td_set *s, size_t i, struct tundish_error *e)
{
	struct td_set_shard *shard = &s->shards[i];
	free(shard->file);
	shard->file = td_shard_file(s->template, s->with_count, s->out.name, s->plan, i, shard->records);
	char *index = NULL;
	if (!shard->file || asprintf(&index, "%s/index/%s.idx", s->out.folder, shard->file) < 0)
		return td_err_memory(e);
	free(shard->data.path);
	free(shard->index.path);
	shard->data.path = td_path_join(s->out.folder, shard->file);
	shard->index.path = index;
	/* the journal knows it before the folder does */
	return shard->data.path ? journal_file(s, shard->file, shard, e) : td_err_memory(e);
}

/* Files of the set that is replaced: what its tundish.json lists. */
static void remove_old_set(const struct td_set *s)
{
	char *path = td_path_join(s->out.folder, "tundish.json");
	json_t *old = path ? json_load_file(path, 0, NULL) : NULL;
	if (path && unlink(path) == 0)
		td_sync_folder(path, NULL);
	size_t i;
	json_t *shard, *file;
	json_array_foreach(json_object_get(old, "shards"), i, shard) {
		const char *name = json_string_value(json_object_get(shard, "file"));
		if (name) {
			remove_file(s->out.folder, "%s", name);
			remove_file(s->out.folder, "index/%s.idx", name);
		}
	}
	json_array_foreach(json_object_get(old, "metadata"), i, file) {
		if (json_is_string(file))
			remove_file(s->out.folder, "%s", json_string_value(file));
	}
	json_decref(old);
	free(path);
}

static int make_index_folder(const struct td_set *s, struct tundish_error *e)
{
	char *path = td_path_join(s->out.folder, "index");
	int rc = !path ? td_err_memory(e) : mkdir(path, 0777) == 0 || errno == EEXIST ? 0 :
	    td_err_errno(e, errno, "%s", TD_ESC(path));
	free(path);
	return rc;
}

int td_set_settle(struct td_set *s, struct tundish_error *e)
{
	int rc = 0;
	for (size_t i = 0; rc == 0 && !s->out.stream && i < s->plan->n_shards; i++)
		rc = final_name(s, i, e);
	return rc;
}

int td_set_meta(struct td_set *s, const char *name, const void *data, size_t bytes, struct tundish_error *e)
{
	if (s->out.stream)
		return 0;
	s->meta_names[s->n_meta] = name;
	struct td_outfile *f = &s->meta[s->n_meta++];
	char *path = td_path_join(s->out.folder, name);
	int rc = path ? journal_file(s, name, NULL, e) : td_err_memory(e);
	if (rc == 0)
		rc = td_outfile_open(f, path, e);
	if (rc == 0)
		rc = td_outfile_write(f, data, bytes, e);
	if (rc == 0)
		rc = td_outfile_sync(f, e);
	free(path);
	return rc;
}

static int rename_all(struct td_set *s, struct tundish_error *e)
{
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < s->plan->n_shards; i++)
		rc = td_outfile_commit(&s->shards[i].data, e);
	for (size_t i = 0; rc == 0 && i < s->plan->n_shards; i++)
		rc = td_outfile_commit(&s->shards[i].index, e);
	for (unsigned i = 0; rc == 0 && i < s->n_meta; i++) {
		/* what the last one vouches for is in the folder before it */
		if (i + 1 == s->n_meta)
			rc = td_sync_folder(s->journal_path, e);
		if (rc == 0)
			rc = td_outfile_commit(&s->meta[i], e);
	}
	return rc ? rc : td_sync_folder(s->journal_path, e);
}

int td_set_commit(struct td_set *s, struct tundish_error *e)
{
	if (s->out.stream)
		return 0;
	int rc = make_index_folder(s, e);
	if (rc == 0 && fsync(s->journal) != 0 && errno != EINVAL)
		rc = td_err_errno(e, errno, "%s", TD_ESC(s->journal_path));
	if (rc < 0)
		return rc;
	s->committing = true;
	remove_old_set(s);
	rc = rename_all(s, e);
	if (rc < 0)
		return rc;
	s->committing = false;
	free(s->made_folder);
	s->made_folder = NULL;
	unlink(s->journal_path);
	close(s->journal);
	s->journal = -1;
	return 0;
}

static void remove_index_folder(const struct td_set *s)
{
	char *path = td_path_join(s->out.folder, "index");
	if (path)
		rmdir(path);
	free(path);
}

/* From the innermost folder up to the one that this run made first. */
static void remove_made_folders(const struct td_set *s)
{
	char *folder = strdup(s->out.folder);
	size_t least = s->made_folder ? strlen(s->made_folder) : SIZE_MAX;
	while (folder && strlen(folder) >= least && rmdir(folder) == 0) {
		char *up = td_path_folder(folder);
		free(folder);
		folder = up;
	}
	free(folder);
}

/* In the middle of the renames something failed: nothing may stay half done. */
static void take_back(struct td_set *s)
{
	for (unsigned i = 0; i < s->n_meta; i++)
		remove_file(s->out.folder, "%s", s->meta_names[i]);
	for (size_t i = 0; i < s->plan->n_shards; i++)
		remove_shard_files(s->out.folder, s->shards[i].file);
}

void td_set_close(struct td_set *s)
{
	if (s->committing)
		take_back(s);
	for (unsigned i = 0; i < s->n_meta; i++)
		td_outfile_abort(&s->meta[i]);
	for (size_t i = 0; s->shards && i < s->plan->n_shards; i++) {
		td_outfile_abort(&s->shards[i].data);
		td_outfile_abort(&s->shards[i].index);
		free(s->shards[i].file);
		free(s->shards[i].classes);
	}
	free(s->shards);
	if (s->journal >= 0) {
		unlink(s->journal_path);
		close(s->journal);
	}
	if (s->made_folder) {
		remove_index_folder(s);
		remove_made_folders(s);
	}
	free(s->made_folder);
	free(s->journal_path);
	td_buf_free(&s->index_text);
	*s = (struct td_set){ .journal = -1 };
}
