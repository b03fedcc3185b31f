/* SPDX-License-Identifier: BSD-2-Clause
 * The journal of a run: what it was made of, which files it has, which shards are whole.
 *
 * A line each, JSON objects: first the run's identity, then {"file":NAME} before a file
 * comes into being, then {"shard":NUMBER,...} when a shard is whole.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/crc32c.h"
#include "base/err.h"
#include "base/infile.h"
#include "base/json.h"
#include "base/map.h"
#include "base/path.h"
#include "set.h"

int td_journal_open(struct td_set *s, struct tundish_error *e)
{
	char *name = NULL;
	if (asprintf(&name, ".%s.journal", s->o.out->name) < 0)
		return td_err_memory(e);
	s->journal_path = td_path_join(s->o.out->folder, name);
	free(name);
	if (!s->journal_path)
		return td_err_memory(e);
	s->journal = open(s->journal_path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_APPEND, 0666);
	if (s->journal < 0)
		return td_err_errno(e, errno, "%s", TD_ESC(s->journal_path));
	if (flock(s->journal, LOCK_EX | LOCK_NB) == 0)
		return 0;
	/* not ours: leave it alone */
	close(s->journal);
	s->journal = -1;
	return td_err(e, TUNDISH_E_EXISTS, "%s: another run is writing this set", TD_ESC(s->journal_path));
}

/* ---- writing ---- */

static int add_line(struct td_set *s, const char *line, struct tundish_error *e)
{
	struct td_buf text = { 0 };
	int rc = td_buf_printf(&text, "%s\n", line) ? 0 : td_err_memory(e);
	for (size_t done = 0; rc == 0 && done < text.len;) {
		ssize_t n = write(s->journal, text.data + done, text.len - done);
		if (n < 0 && errno != EINTR)
			rc = td_err_errno(e, errno, "%s", TD_ESC(s->journal_path));
		done += n > 0 ? (size_t)n : 0;
	}
	td_buf_free(&text);
	return rc;
}

/* Takes the object. */
static int add_object(struct td_set *s, json_t *o, struct tundish_error *e)
{
	char *line = o ? json_dumps(o, JSON_COMPACT) : NULL;
	json_decref(o);
	int rc = line ? add_line(s, line, e) : td_err_memory(e);
	free(line);
	return rc;
}

int td_journal_start(struct td_set *s, struct tundish_error *e)
{
	if (ftruncate(s->journal, 0) != 0)
		return td_err_errno(e, errno, "%s", TD_ESC(s->journal_path));
	return add_line(s, s->o.identity, e);
}

int td_journal_file(struct td_set *s, const char *file, struct tundish_error *e)
{
	json_t *o = json_object();
	json_object_set_new(o, "file", json_stringn_nocheck(file, strlen(file)));
	return add_object(s, o, e);
}

int td_journal_shard(struct td_set *s, size_t i, struct tundish_error *e)
{
	const struct td_set_shard *shard = &s->shards[i];
	json_t *o = json_object();
	json_object_set_new(o, "shard", json_integer((json_int_t)i));
	json_object_set_new(o, "records", json_integer((json_int_t)shard->records));
	json_object_set_new(o, "payload_bytes", json_integer((json_int_t)shard->payload_bytes));
	json_object_set_new(o, "bytes", json_integer((json_int_t)shard->bytes));
	json_object_set_new(o, "crc32c", json_integer(shard->crc));
	json_object_set_new(o, "bad", json_integer((json_int_t)shard->bad));
	if (shard->classes)
		json_object_set_new(o, "classes", json_loads(shard->classes, 0, NULL));
	if (shard->faults)
		json_object_set_new(o, "faults", json_loads(shard->faults, 0, NULL));
	if (shard->members)
		json_object_set_new(o, "members", json_loads(shard->members, 0, NULL));
	return add_object(s, o, e);
}

/* ---- reading ---- */

/* Calls visit for each line that is a JSON object; a last one that is cut is none. */
static void each_line(struct td_set *s, void (*visit)(struct td_set *, const json_t *, void *), void *ctx)
{
	FILE *f = fopen(s->journal_path, "re");
	char *line = NULL;
	size_t cap = 0;
	while (f && getline(&line, &cap, f) > 0) {
		json_t *o = json_loads(line, 0, NULL);
		if (json_is_object(o))
			visit(s, o, ctx);
		json_decref(o);
	}
	free(line);
	if (f)
		fclose(f);
}

/* Names whose temporary files stay, and whether final names are those of a finished set. */
struct clearing {
	struct td_map kept;
	struct td_map old; /* files of the set that is added to */
	bool finished;
};

static void clear_line(struct td_set *s, const json_t *o, void *ctx)
{
	const struct clearing *c = ctx;
	const char *file = json_string_value(json_object_get(o, "file"));
	if (!file)
		return;
	if (!td_map_find(&c->kept, file, strlen(file))) {
		td_set_remove(s, ".%s.part", file);
		td_set_remove(s, ".%s.idx.part", file);
	}
	if (!c->finished && !td_map_find(&c->old, file, strlen(file))) {
		td_set_remove(s, "%s", file);
		td_set_remove(s, "index/%s.idx", file);
	}
}

static int note_old(struct td_set *s, const char *name, void *ctx, struct tundish_error *e)
{
	(void)s;
	struct clearing *c = ctx;
	return td_map_at(&c->old, name, strlen(name)) ? 0 : td_err_memory(e);
}

/* Of a set that is added to, what its tundish.json lists stays. */
static bool keep_old(struct td_set *s, struct clearing *c)
{
	json_t *old = td_json_read_in(s->o.out->folder, "tundish.json", TD_METADATA_MAX, 0, NULL);
	bool ok = old && td_set_each_old(s, old, note_old, c, NULL) == 0 && note_old(s, "tundish.json", c, NULL) == 0;
	json_decref(old);
	return ok;
}

static void clear(struct td_set *s, size_t n_kept)
{
	struct clearing c = { .kept.value_bytes = 1, .old.value_bytes = 1,
		.finished = td_set_has(s->o.out, "tundish.json") };
	if (s->o.append)
		c.finished = !keep_old(s, &c);
	for (size_t i = 0; i < n_kept; i++) {
		char *file = td_shard_file(s->o.template, s->o.with_count, s->o.out->name, s->o.plan, i, 0);
		bool ok = file && td_map_at(&c.kept, file, strlen(file));
		free(file);
		if (!ok)
			goto out;
	}
	each_line(s, clear_line, &c);
out:
	td_map_free(&c.kept);
	td_map_free(&c.old);
}

void td_journal_clear(struct td_set *s)
{
	clear(s, 0);
}

/* Whether a run that died has left a temporary file of that name. */
static void find_part(struct td_set *s, const json_t *o, void *ctx)
{
	const char *file = json_string_value(json_object_get(o, "file"));
	bool *any = ctx;
	for (int index = 0; file && !*any && index < 2; index++) {
		char *name = NULL;
		/* without memory it is taken to be there */
		*any = asprintf(&name, index ? ".%s.idx.part" : ".%s.part", file) < 0 || td_set_has(s->o.out, name);
		free(name);
	}
}

void td_journal_forget(const struct td_output *out)
{
	struct td_set s = { .o = { .out = out }, .journal = -1 };
	bool any = false;
	char *name = NULL;
	if (asprintf(&name, ".%s.journal", out->name) < 0)
		return;
	s.journal_path = td_set_has(out, name) ? td_path_join(out->folder, name) : NULL;
	free(name);
	int fd = s.journal_path ? open(s.journal_path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW) : -1;
	if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0) {
		each_line(&s, find_part, &any);
		if (!any)
			unlink(s.journal_path);
	}
	if (fd >= 0)
		close(fd);
	free(s.journal_path);
}

/* ---- resuming ---- */

struct reading {
	json_t *identity;
	json_t **shards; /* the newest line of each */
};

static void read_line(struct td_set *s, const json_t *o, void *ctx)
{
	struct reading *r = ctx;
	const json_t *number = json_object_get(o, "shard");
	if (!r->identity && !number && !json_object_get(o, "file"))
		r->identity = json_deep_copy(o);
	if (!json_is_integer(number) || json_integer_value(number) < 0 ||
	    (size_t)json_integer_value(number) >= s->o.plan->n_shards)
		return;
	json_t **slot = &r->shards[json_integer_value(number)];
	json_decref(*slot);
	*slot = json_deep_copy(o);
}

/* Names the first thing that is not as it was. */
static int compare_identities(const json_t *was, const json_t *now, struct tundish_error *e)
{
	const json_t *const sides[] = { now, was };
	for (int side = 0; side < 2; side++) {
		for (void *it = json_object_iter((json_t *)(uintptr_t)sides[side]); it;
		    it = json_object_iter_next((json_t *)(uintptr_t)sides[side], it)) {
			const char *key = json_object_iter_key(it);
			const json_t *a = json_object_get(was, key), *b = json_object_get(now, key);
			if (a && b && json_equal((json_t *)(uintptr_t)a, (json_t *)(uintptr_t)b))
				continue;
			if (a && b && strcmp(key, "inputs") == 0)
				return td_err(e, TUNDISH_E_USAGE, "resume: inputs: the sources are not what they were (a name, "
				    "size, time or class); without --resume it starts anew");
			char *old = a ? json_dumps(a, JSON_ENCODE_ANY) : NULL, *new = b ? json_dumps(b, JSON_ENCODE_ANY) : NULL;
			int rc = td_err(e, TUNDISH_E_USAGE, "resume: the run that was broken off had %s %s, this one has %s; "
			    "without --resume it starts anew", key, old ? old : "unset", new ? new : "unset");
			free(old);
			free(new);
			return rc;
		}
	}
	return 0;
}

static bool take_number(const json_t *o, const char *key, uint64_t *ret)
{
	const json_t *value = json_object_get(o, key);
	if (!json_is_integer(value) || json_integer_value(value) < 0)
		return false;
	*ret = (uint64_t)json_integer_value(value);
	return true;
}

static bool file_is(const char *path, uint64_t bytes, uint32_t crc)
{
	uint8_t buf[65536];
	uint64_t size, at = 0;
	uint32_t found = 0;
	int fd = td_open_file(path, &size, NULL);
	bool same = fd >= 0 && size == bytes;
	for (int64_t n; same && at < bytes; at += (uint64_t)n) {
		n = td_read_at(fd, buf, sizeof buf, at, NULL);
		same = n > 0;
		found = same ? td_crc32c(found, buf, (size_t)n) : 0;
	}
	if (fd >= 0)
		close(fd);
	return same && found == crc;
}

/* Back under its temporary name, if it has its final one. */
static bool bring_back(const char *part, const char *final)
{
	return access(part, F_OK) == 0 || rename(final, part) == 0;
}

static char *in_folder(const struct td_set *s, const char *fmt, const char *name)
{
	char *file = NULL, *path = NULL;
	if (name && asprintf(&file, fmt, name) >= 0)
		path = td_path_join(s->o.out->folder, file);
	free(file);
	return path;
}

/* Shard i as the journal says, if its files are there and the same. */
static bool restore(struct td_set *s, size_t i, const json_t *line)
{
	struct td_set_shard *shard = &s->shards[i];
	uint64_t crc;
	if (!line || !take_number(line, "records", &shard->records) ||
	    !take_number(line, "payload_bytes", &shard->payload_bytes) ||
	    !take_number(line, "bytes", &shard->bytes) || !take_number(line, "crc32c", &crc) ||
	    !take_number(line, "bad", &shard->bad))
		return false;
	char *name = td_shard_file(s->o.template, s->o.with_count, s->o.out->name, s->o.plan, i, 0);
	char *final = td_shard_file(s->o.template, s->o.with_count, s->o.out->name, s->o.plan, i, shard->records);
	char *part = in_folder(s, ".%s.part", name), *index = in_folder(s, ".%s.idx.part", name);
	char *path = in_folder(s, "%s", final), *index_path = in_folder(s, "index/%s.idx", final);
	bool ok = name && final && part && index && path && index_path && bring_back(part, path) &&
	    (!s->o.indexed || bring_back(index, index_path)) && file_is(part, shard->bytes, (uint32_t)crc);
	shard->crc = (uint32_t)crc;
	if (ok) {
		const json_t *classes = json_object_get(line, "classes"), *faults = json_object_get(line, "faults");
		const json_t *members = json_object_get(line, "members");
		shard->file = name;
		shard->data.part = part;
		shard->index.part = s->o.indexed ? index : NULL;
		shard->classes = classes ? json_dumps(classes, JSON_COMPACT) : NULL;
		shard->faults = faults ? json_dumps(faults, JSON_COMPACT) : NULL;
		shard->members = members ? json_dumps(members, JSON_COMPACT) : NULL;
		shard->whole = true;
		name = part = NULL;
		index = s->o.indexed ? NULL : index;
	}
	if (!ok)
		shard->records = shard->payload_bytes = shard->bytes = shard->bad = shard->crc = 0;
	free(name);
	free(final);
	free(part);
	free(index);
	free(path);
	free(index_path);
	return ok;
}

int td_journal_resume(struct td_set *s, struct tundish_error *e)
{
	size_t n = s->o.plan->n_shards;
	struct reading r = { .shards = calloc(n + 1, sizeof *r.shards) };
	json_t *now = json_loads(s->o.identity, 0, NULL);
	int rc = r.shards && now ? 0 : td_err_memory(e);
	if (rc == 0)
		each_line(s, read_line, &r);
	bool fresh = !r.identity;
	if (rc == 0 && !fresh)
		rc = compare_identities(r.identity, now, e);
	if (rc < 0) {
		/* what is there may still be resumed by the right command */
		close(s->journal);
		s->journal = -1;
	}
	while (rc == 0 && !fresh && s->n_resumed < n && restore(s, s->n_resumed, r.shards[s->n_resumed]))
		s->n_resumed++;
	if (rc == 0)
		clear(s, s->n_resumed);
	/* a last line that was cut must not swallow the next one */
	if (rc == 0)
		rc = fresh ? td_journal_start(s, e) : add_line(s, "", e);
	for (size_t i = 0; r.shards && i < n; i++)
		json_decref(r.shards[i]);
	free(r.shards);
	json_decref(r.identity);
	json_decref(now);
	return rc;
}
