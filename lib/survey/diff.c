/* SPDX-License-Identifier: BSD-2-Clause
 * Two sets compared record by record, however they are cut into shards. */
#include "diff.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/sha256.h"

#define NAMED 10 /* records that only one set has; the rest is counted */

/* A record, by half of the SHA-256 of its bytes. */
struct print {
	uint8_t hash[16];
	uint32_t file;
	uint64_t record;
};

struct prints {
	struct print *list;
	size_t n, cap;
};

struct side {
	const struct td_paths *paths;
	struct prints prints;
	uint64_t faults;
	size_t only[NAMED]; /* in prints */
	uint64_t n_only;
};

struct diff {
	struct side a, b;
	uint64_t both;
	bool same_order;
	struct print first; /* where the order differs, in a */
};

static int take_print(void *ctx, struct td_scan_job *job, const struct tundish_record *r,
    struct tundish_error *e)
{
	(void)ctx;
	struct prints *p = job->part;
	struct td_sha256 sha;
	uint8_t digest[32];
	if (!td_grow(&p->list, &p->cap, p->n, sizeof *p->list))
		return td_err_memory(e);
	td_sha256_init(&sha);
	td_sha256_add(&sha, r->data, r->bytes);
	td_sha256_raw(&sha, digest);
	struct print *print = &p->list[p->n++];
	*print = (struct print){ .file = (uint32_t)job->file.number, .record = r->number };
	memcpy(print->hash, digest, sizeof print->hash);
	return 0;
}

static int merge(void *ctx, struct td_scan_job *job, struct tundish_error *e)
{
	struct side *side = ctx;
	struct prints *part = job->part, *all = &side->prints;
	side->faults += job->file.faults;
	for (size_t i = 0; i < part->n; i++) {
		if (!td_grow(&all->list, &all->cap, all->n, sizeof *all->list))
			return td_err_memory(e);
		all->list[all->n++] = part->list[i];
	}
	part->n = 0;
	return 0;
}

static void free_part(void *part)
{
	free(((struct prints *)part)->list);
}

static int read_side(struct side *side, const struct tundish_inspect_options *o, struct tundish_error *e)
{
	side->faults = side->paths->faults;
	struct td_scan scan = td_survey_scan(o, side->paths);
	scan.ctx = side;
	scan.part_bytes = sizeof(struct prints);
	scan.record = take_print;
	scan.merge = merge;
	scan.free_part = free_part;
	return td_scan_run(&scan, e);
}

static void compare_order(struct diff *d)
{
	const struct prints *a = &d->a.prints, *b = &d->b.prints;
	d->same_order = a->n == b->n;
	for (size_t i = 0; i < TD_MIN(a->n, b->n); i++) {
		if (memcmp(a->list[i].hash, b->list[i].hash, sizeof a->list[i].hash) == 0)
			continue;
		d->same_order = false;
		d->first = a->list[i];
		return;
	}
}

/* By content, then by place. */
static int by_hash(const void *pa, const void *pb)
{
	const struct print *a = pa, *b = pb;
	int rc = memcmp(a->hash, b->hash, sizeof a->hash);
	if (rc == 0)
		rc = (a->file > b->file) - (a->file < b->file);
	return rc ? rc : (a->record > b->record) - (a->record < b->record);
}

static int by_place(const struct print *a, const struct print *b)
{
	return a->file != b->file ? (a->file < b->file ? -1 : 1) :
				    (a->record > b->record) - (a->record < b->record);
}

/* Keeps the first NAMED by place. */
static void note_only(struct side *side, size_t i)
{
	size_t n = TD_MIN(side->n_only, (uint64_t)NAMED), at = n;
	const struct print *list = side->prints.list;
	side->n_only++;
	while (at > 0 && by_place(&list[i], &list[side->only[at - 1]]) < 0)
		at--;
	if (at == NAMED)
		return;
	size_t moved = TD_MIN(n, (size_t)NAMED - 1) - at;
	memmove(side->only + at + 1, side->only + at, moved * sizeof *side->only);
	side->only[at] = i;
}

static void compare_content(struct diff *d)
{
	struct prints *a = &d->a.prints, *b = &d->b.prints;
	if (a->n)
		qsort(a->list, a->n, sizeof *a->list, by_hash);
	if (b->n)
		qsort(b->list, b->n, sizeof *b->list, by_hash);
	for (size_t i = 0, k = 0; i < a->n || k < b->n;) {
		int rc = i == a->n ? 1 : k == b->n ? -1 :
			memcmp(a->list[i].hash, b->list[k].hash, sizeof a->list[i].hash);
		if (rc < 0)
			note_only(&d->a, i++);
		else if (rc > 0)
			note_only(&d->b, k++);
		else {
			d->both++;
			i++;
			k++;
		}
	}
}

static json_t *side_json(struct td_json *j, const struct side *side)
{
	json_t *o = json_object(), *list = json_array();
	td_json_int(j, o, "files", side->paths->n);
	td_json_int(j, o, "records", side->prints.n);
	td_json_int(j, o, "only", side->n_only);
	for (size_t i = 0; i < TD_MIN(side->n_only, (uint64_t)NAMED); i++) {
		const struct print *p = &side->prints.list[side->only[i]];
		json_t *place = json_object();
		td_json_string(j, place, "path", side->paths->paths[p->file]);
		td_json_int(j, place, "record", p->record);
		td_json_add(j, list, place);
	}
	td_json_set(j, o, "first_only", list);
	return o;
}

static bool tell_json(struct tundish_survey *s, const struct diff *d)
{
	struct td_json j = { 0 };
	json_t *o = json_object();
	td_json_int(&j, o, "both", d->both);
	td_json_set(&j, o, "same_order", json_boolean(d->same_order));
	td_json_int(&j, o, "faults", d->a.faults + d->b.faults);
	td_json_set(&j, o, "a", side_json(&j, &d->a));
	td_json_set(&j, o, "b", side_json(&j, &d->b));
	return td_json_dump(&j, o, &s->json);
}

static bool tell_side(struct td_buf *out, const char *name, const struct side *side)
{
	bool ok = td_buf_printf(out, "%s: %" PRIu64 " of %zu records in %zu file%s only there\n", name,
	    side->n_only, side->prints.n, side->paths->n, side->paths->n == 1 ? "" : "s");
	for (size_t i = 0; ok && i < TD_MIN(side->n_only, (uint64_t)NAMED); i++) {
		const struct print *p = &side->prints.list[side->only[i]];
		ok = td_buf_printf(out, "  %s: record %" PRIu64 "\n",
		    TD_ESC(side->paths->paths[p->file]), p->record);
	}
	if (ok && side->n_only > NAMED)
		ok = td_buf_printf(out, "  ... and %" PRIu64 " more\n", side->n_only - NAMED);
	return ok;
}

static bool tell_text(struct tundish_survey *s, const struct diff *d)
{
	struct td_buf *out = &s->text;
	bool ok = td_buf_printf(out, "%" PRIu64 " records are in both sets%s\n", d->both,
	    d->same_order ? ", in the same order" : "");
	if (ok && !d->same_order && d->a.n_only == 0 && d->b.n_only == 0)
		ok = td_buf_printf(out, "the order differs, first at %s: record %" PRIu64 "\n",
		    TD_ESC(d->a.paths->paths[d->first.file]), d->first.record);
	if (ok && d->a.n_only)
		ok = tell_side(out, TD_ESC(s->options.diff), &d->a);
	if (ok && d->b.n_only)
		ok = tell_side(out, TD_ESC(s->options.paths[0]), &d->b);
	return ok;
}

int td_survey_diff(struct tundish_survey *s, struct tundish_error *e)
{
	const struct tundish_inspect_options *o = &s->options;
	struct td_paths first = { 0 };
	int rc = td_paths_find(&first, &o->diff, 1, &o->listener, e);
	if (rc < 0)
		return rc;
	struct diff d = { .a = { .paths = &first }, .b = { .paths = &s->paths } };
	rc = read_side(&d.a, o, e);
	if (rc == 0)
		rc = read_side(&d.b, o, e);
	if (rc == 0) {
		compare_order(&d);
		compare_content(&d);
		s->faults = d.a.faults + d.b.faults + d.a.n_only + d.b.n_only;
		rc = tell_json(s, &d) && tell_text(s, &d) ? 0 : td_err_memory(e);
	}
	free(d.a.prints.list);
	free(d.b.prints.list);
	td_paths_free(&first);
	return rc;
}
