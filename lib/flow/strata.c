/* SPDX-License-Identifier: BSD-2-Clause
 * Which records hold which value of a feature. */
#include "strata.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/map.h"
#include "base/pool.h"
#include "chunk.h"
#include "record/sample.h"

#define NONE UINT32_MAX

/* An ordered loop over runs of records. */
struct scan {
	const struct td_records *set;
	struct td_files *files;
	const struct tundish_flow_options *options;
	struct td_keys keys;
	uint64_t next;
	struct td_map values; /* texts, numbered as they come */
	uint32_t *of;	      /* each record's value, or NONE */
	bool numbers;
	uint64_t faults;
};

struct run {
	uint64_t first;
	struct td_chunk chunk;
	struct td_items_desk *desk;
	struct td_buf texts;
	size_t end[TD_CHUNK_ITEMS];
	bool text; /* a value that is no number */
};

static int take_run(void *ctx, void *job, uint64_t *ret_bytes, struct tundish_error *e)
{
	struct scan *s = ctx;
	struct run *run = job;
	struct td_chunk *c = &run->chunk;
	(void)e;
	run->first = s->next;
	c->n = 0;
	for (*ret_bytes = 0; c->n < TD_CHUNK_ITEMS && s->next < s->set->records; c->n++) {
		struct td_item *item = &c->items[c->n];
		*item = (struct td_item){ .record = s->next, .spot = td_records_spot(s->set, s->next) };
		uint64_t bytes = td_item_read_bytes(s->set, item);
		if (c->n > 0 && *ret_bytes + bytes > (uint64_t)1 << 20)
			break;
		*ret_bytes += bytes;
		s->next++;
	}
	return c->n > 0;
}

/* The one value of the feature as text behind `texts`. A reason otherwise. */
static int find_value(const struct scan *s, struct run *run, const struct td_item *item,
    struct tundish_error *e)
{
	struct td_sample sample;
	const uint8_t *text;
	size_t len;
	int64_t number;
	if (td_sample_find(&sample, &s->keys, item->data, item->bytes) < 0)
		return td_err(e, TUNDISH_E_CORRUPT, "not an Example");
	const struct tundish_feature *f = sample.label;
	if (!f || f->count != 1)
		return td_err(e, TUNDISH_E_SCHEMA, "no single value of %s to sample by",
		    s->keys.label ? TD_ESC(s->keys.label) : "label");
	bool good = false;
	if (f->kind == TUNDISH_INT64 && tundish_feature_int64(f, 0, &number) == 1) {
		good = td_buf_printf(&run->texts, "%" PRId64, number);
	} else if (f->kind == TUNDISH_BYTES && tundish_feature_bytes(f, 0, &text, &len) == 1) {
		good = td_buf_add(&run->texts, text, len);
		run->text = true;
	} else {
		return td_err(e, TUNDISH_E_SCHEMA, "%s is neither a whole number nor a text",
		    s->keys.label ? TD_ESC(s->keys.label) : "label");
	}
	return good ? 0 : td_err_memory(e);
}

static int work_run(void *ctx, void *job, unsigned worker, struct tundish_error *e)
{
	struct scan *s = ctx;
	struct run *run = job;
	struct td_chunk *c = &run->chunk;
	(void)worker;
	run->texts.len = 0;
	run->text = false;
	if (s->set->n_parts && !run->desk && !(run->desk = td_items_desk_new()))
		return td_err_memory(e);
	int rc = td_chunk_read(c, s->set, s->files, run->desk, NULL, e);
	for (unsigned i = 0; i < c->n && rc == 0; i++) {
		struct td_item *item = &c->items[i];
		struct tundish_error why = { 0 };
		int bad = item->data ? find_value(s, run, item, &why) : 0;
		if (bad == TUNDISH_E_MEMORY || item->lost)
			rc = td_err_memory(e);
		else if (bad < 0 && !(item->note = td_note_new(bad, td_item_place(s->set, item), false, why.text)))
			rc = td_err_memory(e);
		run->end[i] = run->texts.len;
	}
	return rc;
}

static int put_value(struct scan *s, uint64_t record, const void *text, size_t len, struct tundish_error *e)
{
	size_t known = s->values.n;
	uint32_t *value = td_map_at(&s->values, text, len);
	if (!value)
		return td_err_memory(e);
	if (s->values.n > known)
		*value = (uint32_t)known;
	s->of[record] = *value;
	return 0;
}

static int put_item(struct scan *s, struct run *run, unsigned i, struct tundish_error *e)
{
	struct td_item *item = &run->chunk.items[i];
	struct td_note *note = item->note;
	size_t start = i ? run->end[i - 1] : 0;
	if (note) {
		int rc = 0;
		if (note->fatal || s->options->on_error == TUNDISH_FAIL)
			rc = td_err_at(e, note->code, note->at, "%s", note->reason);
		else
			td_fault(&s->options->listener, note->code, note->at, 0, "%s", note->reason);
		s->faults++;
		free(note);
		item->note = NULL;
		return rc;
	}
	return put_value(s, run->first + i, run->texts.data + start, run->end[i] - start, e);
}

static int put_run(void *ctx, void *job, struct tundish_error *e)
{
	struct scan *s = ctx;
	struct run *run = job;
	int rc = 0;
	s->numbers &= !run->text;
	for (unsigned i = 0; i < run->chunk.n && rc == 0; i++)
		rc = put_item(s, run, i, e);
	return rc < 0 || !td_stopped(&s->options->listener) ? rc :
							       td_err(e, TUNDISH_E_STOPPED, "stopped");
}

static void free_run(void *job)
{
	struct run *run = job;
	for (unsigned i = 0; i < run->chunk.n; i++)
		free(run->chunk.items[i].note);
	td_buf_free(&run->chunk.buf);
	td_items_desk_free(run->desk);
	td_buf_free(&run->texts);
}

static int read_all(struct scan *s, struct tundish_error *e)
{
	const struct td_ordered loop = {
		.job_bytes = sizeof(struct run),
		.threads = td_threads(s->options->threads),
		.max_bytes = td_memory(s->options->memory) / 4,
		.take = take_run,
		.work = work_run,
		.put = put_run,
		.free_job = free_run,
	};
	uint64_t start = td_now_ns();
	int rc = td_ordered_run(&loop, s, NULL, e);
	if (rc == 0)
		td_notice(&s->options->listener, "all %" PRIu64 " records were read for their %s in %.1f s",
		    s->set->records, s->keys.label ? TD_ESC(s->keys.label) : "label",
		    (double)(td_now_ns() - start) / 1e9);
	return rc;
}

/* The labels of raw data are known. */
static int take_labels(struct scan *s, struct tundish_error *e)
{
	int rc = 0;
	for (uint64_t i = 0; i < s->set->records && rc == 0; i++) {
		char text[32];
		int64_t label = -1;
		const struct td_part *all = &s->set->parts[0];
		const struct td_spot spot = td_records_spot(s->set, i);
		td_items_label(all->items, td_records_item(s->set, all, &spot), &label);
		int n = snprintf(text, sizeof text, "%" PRId64, label);
		rc = put_value(s, i, text, (size_t)n, e);
	}
	return rc;
}

struct named {
	const char *text;
	int64_t number;
	uint32_t at; /* in order of arrival */
};

static int by_number(const void *a, const void *b)
{
	int64_t x = ((const struct named *)a)->number, y = ((const struct named *)b)->number;
	return (x > y) - (x < y);
}

static int by_text(const void *a, const void *b)
{
	return strcmp(((const struct named *)a)->text, ((const struct named *)b)->text);
}

/* Values in order, and the place of each in it. */
static int name_values(const struct scan *s, struct td_strata *ret, uint32_t *place)
{
	struct named *all = calloc(s->values.n, sizeof *all);
	int rc = all ? 0 : TUNDISH_E_MEMORY;
	for (uint32_t i = 0; i < s->values.n && rc == 0; i++) {
		char *text = strndup(td_map_key(&s->values, i), s->values.entries[i].key_bytes);
		if (!text) {
			rc = TUNDISH_E_MEMORY;
			break;
		}
		ret->values[ret->n++] = text;
		all[i] = (struct named){ text, s->numbers ? strtoll(text, NULL, 10) : 0, i };
	}
	if (rc == 0) {
		qsort(all, s->values.n, sizeof *all, s->numbers ? by_number : by_text);
		for (uint32_t i = 0; i < s->values.n; i++) {
			ret->values[i] = (char *)all[i].text;
			place[all[i].at] = i;
		}
	}
	free(all);
	return rc;
}

/* Counts, then deals out. */
static int sort_records(const struct scan *s, struct td_strata *ret, uint32_t *place)
{
	uint64_t n = s->set->records, good = 0;
	int rc = name_values(s, ret, place);
	for (uint64_t i = 0; i < n && rc == 0; i++) {
		if (s->of[i] == NONE)
			continue;
		ret->first[place[s->of[i]] + 1]++;
		good++;
	}
	for (unsigned i = 0; i < ret->n && rc == 0; i++)
		ret->first[i + 1] += ret->first[i];
	ret->records = calloc(TD_MAX(good, (uint64_t)1), sizeof *ret->records);
	uint64_t *next = calloc(ret->n + 1, sizeof *next);
	if (rc < 0 || !ret->records || !next) {
		free(next);
		return TUNDISH_E_MEMORY;
	}
	memcpy(next, ret->first, ret->n * sizeof *next);
	for (uint64_t i = 0; i < n; i++) {
		if (s->of[i] != NONE)
			ret->records[next[place[s->of[i]]]++] = i;
	}
	free(next);
	return 0;
}

static int gather(const struct scan *s, struct td_strata *ret, struct tundish_error *e)
{
	size_t n = s->values.n;
	uint32_t *place = calloc(n, sizeof *place);
	struct td_strata strata = { 0 };
	strata.values = calloc(n, sizeof *strata.values);
	strata.first = calloc(n + 1, sizeof *strata.first);
	int rc = !place || !strata.values || !strata.first ? TUNDISH_E_MEMORY :
							     sort_records(s, &strata, place);
	free(place);
	if (rc < 0) {
		td_strata_free(&strata);
		return td_err_memory(e);
	}
	*ret = strata;
	return 0;
}

int td_strata_open(struct td_strata *ret, struct td_records *set, struct td_files *files,
    const char *feature, const struct tundish_flow_options *options, struct tundish_error *e)
{
	bool label = strcmp(feature, "label") == 0;
	struct scan s = { .set = set, .files = files, .options = options, .numbers = true,
		.keys = { options->image_key, label ? options->label_key : feature },
		.values = { .value_bytes = sizeof(uint32_t) } };
	bool known = set->n_parts && label; /* there is no mix here */
	int64_t first;
	if (known && !td_items_label(set->parts[0].items, 0, &first))
		return td_err(e, TUNDISH_E_USAGE, "the items have no label to sample by");
	s.of = malloc(set->records * sizeof *s.of);
	if (!s.of)
		return td_err_memory(e);
	memset(s.of, 0xff, set->records * sizeof *s.of);
	int rc = known ? take_labels(&s, e) : read_all(&s, e);
	set->faults += s.faults;
	if (rc == 0 && s.values.n == 0)
		rc = td_err(e, TUNDISH_E_USAGE, "no record has a %s to sample by", TD_ESC(feature));
	if (rc == 0)
		rc = gather(&s, ret, e);
	td_map_free(&s.values);
	free(s.of);
	return rc;
}

void td_strata_free(struct td_strata *s)
{
	for (unsigned i = 0; i < s->n; i++)
		free(s->values[i]);
	free(s->values);
	free(s->first);
	free(s->records);
	*s = (struct td_strata){ 0 };
}
