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
#include <sys/stat.h>
#include <unistd.h>

#include "base/crc32c.h"
#include "base/err.h"
#include "base/json.h"
#include "base/path.h"
#include "record/frame.h"
#include "record/index.h"

#define FLUSH_BYTES ((uint64_t)8 << 20)

bool td_set_has(const struct td_output *out, const char *name)
{
	struct stat st;
	char *path = td_path_join(out->folder, name);
	bool there = path && lstat(path, &st) == 0;
	free(path);
	return there;
}

int td_set_check(const struct td_output *out, bool overwrite, struct tundish_error *e)
{
	if (out->stream || overwrite || !td_set_has(out, "tundish.json"))
		return 0;
	td_journal_forget(out);
	return td_err(e, TUNDISH_E_EXISTS, "%s holds a finished set (tundish.json); --overwrite replaces it",
	    TD_ESC(out->folder));
}

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

void td_set_remove(const struct td_set *s, const char *fmt, const char *name)
{
	char *file = NULL, *path = NULL;
	if (!strchr(name, '/') && asprintf(&file, fmt, name) >= 0)
		path = td_path_join(s->o.out->folder, file);
	if (path)
		unlink(path);
	free(path);
	free(file);
}

int td_set_begin(struct td_set *s, const struct td_set_options *options, struct tundish_error *e)
{
	size_t n = options->plan->n_shards;
	*s = (struct td_set){ .o = *options, .journal = -1 };
	s->shards = calloc(n + 1, sizeof *s->shards);
	if (!s->shards)
		return td_err_memory(e);
	for (size_t i = 0; i < n; i++)
		s->shards[i].data.fd = s->shards[i].index.fd = -1;
	if (options->out->stream)
		return 0;
	int rc = make_folders(options->out->folder, &s->made_folder, e);
	if (rc == 0)
		rc = td_journal_open(s, e);
	if (rc == 0 && options->resume)
		return td_journal_resume(s, e);
	if (rc < 0)
		return rc;
	td_journal_clear(s);
	return td_journal_start(s, e);
}

/* ---- shards ---- */

static bool has_index(const struct td_set *s)
{
	return s->o.indexed && !s->o.out->stream;
}

static int open_data(struct td_set *s, size_t i, struct tundish_error *e)
{
	struct td_set_shard *shard = &s->shards[i];
	if (s->o.out->stream)
		return td_outfile_open(&shard->data, "-", e);
	shard->file = td_shard_file(s->o.template, s->o.with_count, s->o.out->name, s->o.plan, i, 0);
	char *path = shard->file ? td_path_join(s->o.out->folder, shard->file) : NULL, *index = NULL;
	int rc = path && asprintf(&index, "%s.idx", path) >= 0 ? 0 : td_err_memory(e);
	/* named before it is there, so that it is found when this run dies */
	if (rc == 0)
		rc = td_journal_file(s, shard->file, e);
	if (rc == 0)
		rc = td_outfile_open(&shard->data, path, e);
	if (rc == 0 && has_index(s))
		rc = td_outfile_open(&shard->index, index, e);
	if (rc == 0 && has_index(s) && s->o.members && !td_index_print_head(&shard->index_text))
		rc = td_err_memory(e);
	free(path);
	free(index);
	return rc;
}

static int open_shard(struct td_set *s, size_t i, struct tundish_error *e)
{
	if (s->shards[i].open)
		return 0;
	s->shards[i].open = true;
	return open_data(s, i, e);
}

static int write_index(struct td_set *s, struct td_set_shard *shard, struct tundish_error *e)
{
	int rc = !has_index(s) ? 0 : td_outfile_write(&shard->index, shard->index_text.data, shard->index_text.len, e);
	shard->index_text.len = 0;
	return rc;
}

/* Starts writing back early, so that the sync at the end has little left to do. */
static void flush_early(struct td_set *s, struct td_set_shard *shard, size_t bytes)
{
	shard->since_flush += bytes;
	if (s->o.out->stream || shard->since_flush < FLUSH_BYTES)
		return;
	sync_file_range(shard->data.fd, (off_t)(shard->data.bytes - shard->since_flush), (off_t)shard->since_flush,
	    SYNC_FILE_RANGE_WRITE);
	shard->since_flush = 0;
}

/* The uncompressed frames so far add up from payloads and records. */
static uint64_t frames_bytes(const struct td_set_shard *shard)
{
	return shard->payload_bytes + shard->records * TD_FRAME_EXTRA;
}

static int note_sizes(struct td_set_shard *shard, const struct td_set_piece *piece, struct tundish_error *e)
{
	uint64_t offset = frames_bytes(shard);
	for (size_t k = 0; k < piece->records; k++) {
		const struct td_index_entry entry = { offset, piece->sizes[k] };
		if (!td_index_print(&shard->index_text, &entry, 1))
			return td_err_memory(e);
		offset += piece->sizes[k];
	}
	return 0;
}

static int note_member(const struct td_set *s, struct td_set_shard *shard, struct tundish_error *e)
{
	bool ok = td_buf_printf(&shard->members_text, "%c[%" PRIu64 ",%" PRIu64 ",%" PRIu64 "]",
	    shard->members_text.len ? ',' : '[', shard->bytes, shard->records, frames_bytes(shard));
	if (ok && has_index(s))
		ok = td_index_print_member(&shard->index_text, shard->bytes);
	return ok ? 0 : td_err_memory(e);
}

int td_set_append(struct td_set *s, size_t i, const struct td_set_piece *piece, struct tundish_error *e)
{
	struct td_set_shard *shard = &s->shards[i];
	int rc = open_shard(s, i, e);
	if (rc == 0 && s->o.members && piece->records)
		rc = note_member(s, shard, e);
	if (rc == 0 && has_index(s))
		rc = note_sizes(shard, piece, e);
	if (rc == 0)
		rc = td_outfile_write(&shard->data, piece->data, piece->bytes, e);
	if (rc == 0 && shard->index_text.len > 1 << 20)
		rc = write_index(s, shard, e);
	if (rc < 0)
		return rc;
	shard->records += piece->records;
	shard->payload_bytes += piece->payload_bytes;
	shard->bytes += piece->bytes;
	shard->crc = td_crc32c(shard->crc, piece->data, piece->bytes);
	flush_early(s, shard, piece->bytes);
	return 0;
}

static int keep_members(struct td_set_shard *shard, struct tundish_error *e)
{
	if (shard->members_text.len == 0)
		return 0;
	if (td_buf_printf(&shard->members_text, "]"))
		shard->members = strdup((const char *)shard->members_text.data);
	return shard->members ? 0 : td_err_memory(e);
}

int td_set_end(struct td_set *s, size_t i, struct td_set_facts *facts, struct tundish_error *e)
{
	struct td_set_shard *shard = &s->shards[i];
	shard->bad = facts->bad;
	shard->classes = facts->classes;
	shard->faults = facts->faults;
	*facts = (struct td_set_facts){ 0 };
	int rc = open_shard(s, i, e);
	if (rc == 0 && has_index(s) && s->o.members &&
	    !td_index_print_end(&shard->index_text, shard->bytes, frames_bytes(shard)))
		rc = td_err_memory(e);
	if (rc == 0)
		rc = write_index(s, shard, e);
	if (rc == 0)
		rc = keep_members(shard, e);
	if (rc == 0)
		rc = td_outfile_sync(&shard->data, e);
	if (rc == 0 && has_index(s))
		rc = td_outfile_sync(&shard->index, e);
	if (rc == 0 && !s->o.out->stream)
		rc = td_journal_shard(s, i, e);
	shard->whole = rc == 0;
	td_buf_free(&shard->index_text);
	td_buf_free(&shard->members_text);
	return rc;
}

/* ---- the end ---- */

static int final_name(struct td_set *s, size_t i, struct tundish_error *e)
{
	struct td_set_shard *shard = &s->shards[i];
	free(shard->file);
	shard->file = td_shard_file(s->o.template, s->o.with_count, s->o.out->name, s->o.plan, i, shard->records);
	char *index = NULL;
	if (!shard->file || asprintf(&index, "%s/index/%s.idx", s->o.out->folder, shard->file) < 0)
		return td_err_memory(e);
	free(shard->data.path);
	free(shard->index.path);
	shard->data.path = td_path_join(s->o.out->folder, shard->file);
	shard->index.path = index;
	/* the journal knows it before the folder does */
	return shard->data.path ? td_journal_file(s, shard->file, e) : td_err_memory(e);
}

int td_set_each_old(struct td_set *s, const json_t *old, td_set_visit *visit, void *ctx, struct tundish_error *e)
{
	json_t *item;
	size_t i;
	int rc = 0;
	json_array_foreach(json_object_get(old, "shards"), i, item) {
		const char *name = json_string_value(json_object_get(item, "file"));
		rc = rc || !name ? rc : visit(s, name, ctx, e);
	}
	json_array_foreach(json_object_get(old, "metadata"), i, item) {
		const char *name = json_string_value(item);
		rc = rc || !name ? rc : visit(s, name, ctx, e);
	}
	return rc;
}

static int note_old_file(struct td_set *s, const char *name, void *ctx, struct tundish_error *e)
{
	(void)ctx;
	return td_journal_file(s, name, e);
}

static int remove_old_file(struct td_set *s, const char *name, void *ctx, struct tundish_error *e)
{
	(void)e;
	(void)ctx;
	td_set_remove(s, "%s", name);
	td_set_remove(s, "index/%s.idx", name);
	return 0;
}

static int sync_journal(struct td_set *s, struct tundish_error *e)
{
	if (fsync(s->journal) == 0 || errno == EINVAL)
		return 0;
	return td_err_errno(e, errno, "%s", TD_ESC(s->journal_path));
}

/* Its tundish.json goes first: what is left without it is no set, and the journal then
 * names all of it. Nothing here needs room once the journal is written. */
static int remove_old_set(struct td_set *s, struct tundish_error *e)
{
	char *path = td_path_join(s->o.out->folder, "tundish.json");
	json_t *old = path ? td_json_read(path, TD_METADATA_MAX, 0, NULL) : NULL;
	int rc = path ? td_set_each_old(s, old, note_old_file, NULL, e) : td_err_memory(e);
	if (rc == 0)
		rc = sync_journal(s, e);
	if (rc == 0) {
		s->committing = true;
		if (unlink(path) == 0)
			td_sync_folder(path, NULL);
		td_set_each_old(s, old, remove_old_file, NULL, e);
	}
	json_decref(old);
	free(path);
	return rc;
}

static int make_index_folder(const struct td_set *s, struct tundish_error *e)
{
	char *path = td_path_join(s->o.out->folder, "index");
	int rc = !path ? td_err_memory(e) : mkdir(path, 0777) == 0 || errno == EEXIST ? 0 :
	    td_err_errno(e, errno, "%s", TD_ESC(path));
	free(path);
	return rc;
}

int td_set_settle(struct td_set *s, struct tundish_error *e)
{
	int rc = 0;
	for (size_t i = 0; rc == 0 && !s->o.out->stream && i < s->o.plan->n_shards; i++)
		rc = final_name(s, i, e);
	return rc;
}

int td_set_meta(struct td_set *s, const char *name, const void *data, size_t bytes, struct tundish_error *e)
{
	if (s->o.out->stream)
		return 0;
	s->meta_names[s->n_meta] = name;
	struct td_outfile *f = &s->meta[s->n_meta++];
	char *path = td_path_join(s->o.out->folder, name);
	int rc = path ? td_journal_file(s, name, e) : td_err_memory(e);
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
	for (size_t i = 0; rc == 0 && i < s->o.plan->n_shards; i++)
		rc = td_outfile_commit(&s->shards[i].data, e);
	for (size_t i = 0; rc == 0 && has_index(s) && i < s->o.plan->n_shards; i++)
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
	if (s->o.out->stream)
		return 0;
	int rc = has_index(s) ? make_index_folder(s, e) : 0;
	if (rc == 0)
		rc = s->o.append ? sync_journal(s, e) : remove_old_set(s, e);
	s->committing |= rc == 0;
	if (rc == 0)
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

size_t td_set_whole(const struct td_set *s)
{
	size_t n = 0;
	while (s->shards && n < s->o.plan->n_shards && s->shards[n].whole)
		n++;
	return n;
}

static void remove_index_folder(const struct td_set *s)
{
	char *path = td_path_join(s->o.out->folder, "index");
	if (path)
		rmdir(path);
	free(path);
}

/* From the innermost folder up to the one that this run made first. */
static void remove_made_folders(const struct td_set *s)
{
	char *folder = strdup(s->o.out->folder);
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
	/* those of a set that was added to are the old ones, or fit both */
	for (unsigned i = 0; !s->o.append && i < s->n_meta; i++)
		td_set_remove(s, "%s", s->meta_names[i]);
	for (size_t i = 0; i < s->o.plan->n_shards; i++) {
		td_set_remove(s, "%s", s->shards[i].file);
		td_set_remove(s, "index/%s.idx", s->shards[i].file);
	}
}

/* Forgets a file without removing it. */
static void leave(struct td_outfile *f)
{
	free(f->part);
	free(f->path);
	*f = (struct td_outfile){ .fd = -1 };
}

static void close_shards(struct td_set *s, size_t kept)
{
	for (size_t i = 0; s->shards && i < s->o.plan->n_shards; i++) {
		struct td_set_shard *shard = &s->shards[i];
		if (i < kept) {
			leave(&shard->data);
			leave(&shard->index);
		}
		td_outfile_abort(&shard->data);
		td_outfile_abort(&shard->index);
		free(shard->file);
		free(shard->classes);
		free(shard->faults);
		free(shard->members);
		td_buf_free(&shard->index_text);
		td_buf_free(&shard->members_text);
	}
	free(s->shards);
}

void td_set_close(struct td_set *s, bool keep)
{
	size_t kept = keep && !s->committing && s->journal >= 0 ? td_set_whole(s) : 0;
	if (s->committing)
		take_back(s);
	for (unsigned i = 0; i < s->n_meta; i++)
		td_outfile_abort(&s->meta[i]);
	close_shards(s, kept);
	if (s->journal >= 0) {
		if (kept == 0)
			unlink(s->journal_path);
		close(s->journal);
	}
	if (s->made_folder && kept == 0) {
		remove_index_folder(s);
		remove_made_folders(s);
	}
	free(s->made_folder);
	free(s->journal_path);
	*s = (struct td_set){ .journal = -1 };
}
