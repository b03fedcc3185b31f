/* SPDX-License-Identifier: BSD-2-Clause
 * The first of shard's two passes: where the good records are, and what class each has. */
#include "scan.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/held.h"
#include "base/outfile.h"
#include "base/path.h"
#include "base/pool.h"
#include "record/ahead.h"
#include "record/frame.h"
#include "record/reader.h"
#include "record/sample.h"
#include "record/sequence.h"

#define SPOOL_CHUNK ((size_t)1 << 20)
#define POLL_RECORDS 512

struct run {
	const struct td_scan_options *o;
	struct td_scan *scan;
	struct td_bad *bad;
	size_t next;
	unsigned threads;	  /* for each file, where there are fewer files than threads */
	pthread_mutex_t lock;	  /* of the listener and the spool's making */
	_Atomic uint64_t spool_at;
	_Atomic int stopped;
};

/* One file. */
struct job {
	size_t file;
	struct td_scan_record *records;
	size_t n, cap;
	struct td_map classes, groups; /* kind and value -> number + 1, as they come */
	struct td_schema schema;
	struct td_held held;
	struct run *run;
	struct td_buf chunk;
	size_t chunk_first; /* record whose frame begins the chunk */
	bool spooled, sequences, others;
	uint64_t left_out;
};

static int take(void *ctx, void *job, uint64_t *ret_bytes, struct tundish_error *e)
{
	struct run *run = ctx;
	struct job *j = job;
	if (td_stopped(&run->o->pack->listener))
		return td_err(e, TUNDISH_E_STOPPED, "stopped");
	if (run->next == run->o->paths->n)
		return 0;
	j->file = run->next++;
	*ret_bytes = 4 * SPOOL_CHUNK + td_ahead_bytes(run->threads);
	return 1;
}

/* The listener is one for all threads. */
static int poll_stop(struct run *run, struct tundish_error *e)
{
	if (!atomic_load(&run->stopped) && pthread_mutex_trylock(&run->lock) == 0) {
		if (td_stopped(&run->o->pack->listener))
			atomic_store(&run->stopped, 1);
		pthread_mutex_unlock(&run->lock);
	}
	return atomic_load(&run->stopped) ? td_err(e, TUNDISH_E_STOPPED, "stopped") : 0;
}

static int stop_search(void *data)
{
	return poll_stop(TD_OUTER(data, struct job, held)->run, NULL) < 0;
}

/* ---- the spool ---- */

static int open_spool(struct run *run, struct tundish_error *e)
{
	int rc = 0;
	pthread_mutex_lock(&run->lock);
	if (run->scan->spool < 0)
		rc = TD_MIN(run->scan->spool = td_nameless_file(run->o->spool_folder, e), 0);
	pthread_mutex_unlock(&run->lock);
	return rc;
}

/* Moves the chunk to the spool, and its records' places with it. */
static int flush_chunk(struct run *run, struct job *j, struct tundish_error *e)
{
	uint64_t at = atomic_fetch_add(&run->spool_at, j->chunk.len);
	for (size_t done = 0; done < j->chunk.len;) {
		ssize_t n = pwrite(run->scan->spool, j->chunk.data + done, j->chunk.len - done, (off_t)(at + done));
		if (n < 0 && errno != EINTR)
			return td_err_errno(e, errno, "%s: temporary file", TD_ESC(run->o->spool_folder));
		done += n > 0 ? (size_t)n : 0;
	}
	for (; j->chunk_first < j->n; j->chunk_first++)
		j->records[j->chunk_first].offset += at;
	j->chunk.len = 0;
	return 0;
}

static int spool_record(struct run *run, struct job *j, const struct tundish_record *r, struct tundish_error *e)
{
	struct td_scan_record *record = &j->records[j->n - 1];
	if (!td_buf_reserve(&j->chunk, r->bytes + TD_FRAME_EXTRA))
		return td_err_memory(e);
	uint8_t *out = j->chunk.data + j->chunk.len;
	record->offset = j->chunk.len;
	td_frame_header(out, r->bytes);
	memcpy(out + TD_FRAME_HEADER, r->data, r->bytes);
	td_frame_footer(out + TD_FRAME_HEADER + r->bytes, r->data, r->bytes);
	j->chunk.len += r->bytes + TD_FRAME_EXTRA;
	return j->chunk.len >= SPOOL_CHUNK ? flush_chunk(run, j, e) : 0;
}

/* ---- records ---- */

static bool key_is(const struct tundish_feature *f, const char *key)
{
	return f->key_bytes == strlen(key) && memcmp(f->key, key, f->key_bytes) == 0;
}

static bool is_label(const struct tundish_feature *f)
{
	return key_is(f, td_label_keys[0]) || key_is(f, td_label_keys[1]);
}

/* Number of a class or group in the job; -1: none, -2: no memory. */
static int32_t number_of(struct td_map *map, const struct tundish_feature *f)
{
	struct td_buf key = { 0 };
	const uint8_t *data;
	size_t len;
	int64_t number;
	bool ok = true;
	if (f && tundish_feature_int64(f, 0, &number) > 0)
		ok = td_buf_add(&key, "i", 1) && td_buf_add(&key, &number, sizeof number);
	else if (f && tundish_feature_bytes(f, 0, &data, &len) > 0)
		ok = td_buf_add(&key, "b", 1) && td_buf_add(&key, data, TD_MIN(len, (size_t)4096));
	else
		return -1;
	int32_t *value = ok ? td_map_at(map, key.data, key.len) : NULL;
	td_buf_free(&key);
	if (!value)
		return -2;
	/* numbered from 1, so that a new one is told by its 0 */
	if (*value == 0)
		*value = (int32_t)map->n;
	return *value - 1;
}

struct look {
	struct tundish_feature class, filter, group;
	bool has_class, has_filter, has_group;
};

/* One pass over the features: what the filter, the classes and the schema want. */
static int look_at(const struct run *run, struct job *j, const struct tundish_record *r, struct look *ret,
    struct tundish_error *e)
{
	const struct td_filter *filter = run->o->filter;
	const char *class_key = run->o->class_key;
	struct tundish_feature f;
	size_t at = 0;
	int rc;
	*ret = (struct look){ 0 };
	while ((rc = tundish_example_next(r->data, r->bytes, &at, &f)) > 0) {
		if (class_key ? key_is(&f, class_key) : is_label(&f)) {
			ret->class = f;
			ret->has_class = true;
		}
		if (run->o->group_key && key_is(&f, run->o->group_key)) {
			ret->group = f;
			ret->has_group = true;
		}
		if (filter->key && (key_is(&f, filter->key) ||
		    (strcmp(filter->key, "label") == 0 && !ret->has_filter && is_label(&f)))) {
			ret->filter = f;
			ret->has_filter = true;
		}
		if (!td_schema_feature(&j->schema, &f))
			return td_err_memory(e);
	}
	if (rc < 0)
		j->others = true;
	return 0;
}

static int take_record(struct run *run, struct job *j, const struct tundish_record *r, struct tundish_error *e)
{
	struct look look;
	int rc = look_at(run, j, r, &look, e);
	if (rc < 0)
		return rc;
	if (!td_schema_record(&j->schema, run->o->paths->paths[j->file], r->number))
		return td_err_memory(e);
	/* a record without features has the same bytes in both kinds */
	if (!j->sequences && !j->others && td_message_kind(r->data, r->bytes) == TD_MESSAGE_SEQUENCE)
		j->sequences = true;
	if (run->o->filter->key && !(look.has_filter && td_filter_keeps(run->o->filter, &look.filter))) {
		j->left_out++;
		return 0;
	}
	int32_t class = number_of(&j->classes, look.has_class ? &look.class : NULL);
	int32_t group = number_of(&j->groups, look.has_group ? &look.group : NULL);
	if (class == -2 || group == -2 || !td_grow(&j->records, &j->cap, j->n, sizeof *j->records))
		return td_err_memory(e);
	j->records[j->n++] = (struct td_scan_record){
		.offset = r->offset,
		.bytes = (uint32_t)(r->bytes + TD_FRAME_EXTRA),
		.file = (uint32_t)j->file,
		.number = (uint32_t)r->number,
		.class = class,
		.group = group,
	};
	return j->spooled ? spool_record(run, j, r, e) : 0;
}

static int read_records(struct run *run, struct job *j, struct tundish_reader *reader, struct tundish_error *e)
{
	struct tundish_record r;
	int rc = 0;
	j->spooled = !td_reader_seekable(reader);
	if (j->spooled)
		rc = open_spool(run, e);
	for (uint64_t i = 1; rc == 0; i++) {
		if (i % POLL_RECORDS == 0)
			rc = poll_stop(run, e);
		if (rc == 0)
			rc = tundish_reader_next(reader, &r, e);
		if (rc <= 0)
			break;
		rc = take_record(run, j, &r, e);
	}
	return rc < 0 || !j->spooled ? rc : flush_chunk(run, j, e);
}

static int work(void *ctx, void *job, unsigned worker, struct tundish_error *e)
{
	(void)worker;
	struct run *run = ctx;
	struct job *j = job;
	const struct tundish_pack_options *o = run->o->pack;
	struct tundish_reader_options options;
	struct tundish_reader *reader;
	tundish_reader_options_init(&options);
	options.compression = o->input_compression;
	options.crc = o->crc;
	options.on_error = o->on_error;
	options.max_record_bytes = TD_MIN(o->max_record_bytes, (uint64_t)UINT32_MAX - TD_FRAME_EXTRA);
	options.listener = td_held_listener(&j->held);
	options.listener.stop = stop_search;
	options.threads = run->threads;
	j->run = run;
	j->n = j->chunk_first = j->chunk.len = 0;
	j->sequences = j->others = false;
	j->left_out = 0;
	j->classes.value_bytes = j->groups.value_bytes = sizeof(int32_t);
	td_map_clear(&j->classes);
	td_map_clear(&j->groups);
	int rc = tundish_reader_open(&reader, run->o->paths->paths[j->file], &options, e);
	if (rc < 0)
		return rc;
	rc = read_records(run, j, reader, e);
	tundish_reader_close(reader);
	return rc;
}

/* ---- together, in order ---- */

struct retell {
	struct run *run;
	int rc;
	struct tundish_error *e;
};

static void retell_fault(void *data, const struct tundish_fault *fault)
{
	struct retell *t = data;
	if (t->rc == 0)
		t->rc = td_bad_fault(t->run->bad, fault, td_path_base(fault->path ? fault->path : "-"), t->e);
}

static void retell_notice(void *data, const char *text)
{
	td_notice(((struct retell *)data)->run->bad->listener, "%s", text);
}

/* The classes of a job among all: map[job's] = all's. */
static int merge_classes(struct run *run, const struct job *j, int32_t *map, struct tundish_error *e)
{
	struct td_classes *all = &run->scan->classes;
	for (size_t i = 0; i < j->classes.n; i++) {
		const char *key = td_map_key(&j->classes, i);
		size_t len = j->classes.entries[i].key_bytes - 1;
		char number[32];
		int64_t value;
		if (key[0] == 'i') {
			memcpy(&value, key + 1, sizeof value);
			len = (size_t)snprintf(number, sizeof number, "%" PRId64, value);
			map[i] = td_classes_add(all, number, len);
		} else {
			all->numbers = false;
			/* names end at a NUL: the rest of such a value does not tell classes apart */
			map[i] = td_classes_add(all, key + 1, strnlen(key + 1, len));
		}
		if (map[i] < 0)
			return td_err_memory(e);
	}
	return 0;
}

static int merge_groups(struct run *run, const struct job *j, int32_t *map, struct tundish_error *e)
{
	struct td_map *all = &run->scan->groups;
	for (size_t i = 0; i < j->groups.n; i++) {
		int32_t *value = td_map_at(all, td_map_key(&j->groups, i), j->groups.entries[i].key_bytes);
		if (!value)
			return td_err_memory(e);
		if (*value == 0)
			*value = (int32_t)all->n;
		map[i] = *value - 1;
	}
	return 0;
}

static int add_records(struct run *run, const struct job *j, const int32_t *map, const int32_t *group_map,
    struct tundish_error *e)
{
	struct td_scan *s = run->scan;
	if (s->n + j->n >= UINT32_MAX)
		return td_err(e, TUNDISH_E_LIMIT, "more than %" PRIu32 " records", UINT32_MAX - 1);
	while (s->cap < s->n + j->n)
		if (!td_grow(&s->records, &s->cap, s->cap, sizeof *s->records))
			return td_err_memory(e);
	for (size_t i = 0; i < j->n; i++) {
		struct td_scan_record r = j->records[i];
		r.class = r.class < 0 ? -1 : map[r.class];
		r.group = r.group < 0 ? -1 : group_map[r.group];
		s->records[s->n++] = r;
	}
	return 0;
}

static int put(void *ctx, void *job, struct tundish_error *e)
{
	struct run *run = ctx;
	struct job *j = job;
	struct td_scan *s = run->scan;
	struct retell t = { run, 0, e };
	const struct tundish_listener listener = { &t, retell_fault, retell_notice, NULL, NULL };
	int rc = td_held_tell(&j->held, &listener, e);
	if (rc == 0)
		rc = t.rc;
	int32_t *map = malloc((j->classes.n + j->groups.n + 1) * sizeof *map);
	if (rc == 0)
		rc = map ? merge_classes(run, j, map, e) : td_err_memory(e);
	if (rc == 0)
		rc = merge_groups(run, j, map + j->classes.n, e);
	if (rc == 0)
		rc = add_records(run, j, map, map + j->classes.n, e);
	if (rc == 0 && !td_schema_merge(&s->schema, &j->schema))
		rc = td_err_memory(e);
	free(map);
	s->spooled[j->file] = j->spooled;
	s->left_out += j->left_out;
	s->sequences |= j->sequences;
	s->others |= j->others;
	return rc;
}

static void free_job(void *job)
{
	struct job *j = job;
	free(j->records);
	td_map_free(&j->classes);
	td_map_free(&j->groups);
	td_schema_free(&j->schema);
	td_held_free(&j->held);
	td_buf_free(&j->chunk);
}

int td_scan(struct td_scan *ret, const struct td_scan_options *o, struct td_bad *bad, struct tundish_error *e)
{
	struct td_scan scan = { .spool = -1, .classes.numbers = true, .groups.value_bytes = sizeof(int32_t) };
	struct run run = { .o = o, .scan = &scan, .bad = bad, .lock = PTHREAD_MUTEX_INITIALIZER };
	unsigned threads = td_threads(o->pack->threads);
	run.threads = (unsigned)TD_MAX(threads / TD_MAX(o->paths->n, (size_t)1), 1u);
	const struct td_ordered loop = {
		.job_bytes = sizeof(struct job),
		.threads = threads,
		.max_bytes = td_memory(o->pack->memory) / 2,
		.take = take,
		.work = work,
		.put = put,
		.free_job = free_job,
	};
	scan.spooled = calloc(o->paths->n + 1, sizeof *scan.spooled);
	int rc = scan.spooled ? td_ordered_run(&loop, &run, NULL, e) : td_err_memory(e);
	if (rc < 0)
		td_scan_free(&scan);
	else
		*ret = scan;
	return rc;
}

void td_scan_free(struct td_scan *s)
{
	free(s->records);
	free(s->spooled);
	if (s->spool > 0)
		close(s->spool);
	td_classes_free(&s->classes);
	td_map_free(&s->groups);
	td_schema_free(&s->schema);
	*s = (struct td_scan){ .spool = -1 };
}
