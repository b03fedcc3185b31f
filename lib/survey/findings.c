/* SPDX-License-Identifier: BSD-2-Clause
 * The findings as JSON; tundish-inspect(1) documents it. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/codec.h"
#include "base/err.h"
#include "survey.h"

#define PER_FILE_CELLS 1000000 /* a larger table of classes and files is left out */

static json_t *files(struct td_json *j, const struct tundish_survey *s)
{
	json_t *list = json_array();
	for (size_t i = 0; i < s->paths.n; i++) {
		const struct td_scan_file *f = &s->files[i];
		json_t *o = json_object();
		td_json_string(j, o, "path", f->path);
		td_json_int(j, o, "records", f->records);
		td_json_int(j, o, "faults", f->faults);
		td_json_int(j, o, "bytes", f->bytes);
		td_json_string(j, o, "compression", td_compression_name(f->compression));
		td_json_add(j, list, o);
	}
	return list;
}

static void set_spread(struct td_json *j, json_t *object, const char *key, const struct td_tally *tally)
{
	struct td_spread s;
	if (!td_tally_spread(tally, &s)) {
		j->lost = true;
		return;
	}
	if (s.n == 0)
		return;
	json_t *o = json_object();
	td_json_int(j, o, "min", (uint64_t)s.least);
	td_json_int(j, o, "median", (uint64_t)s.median);
	td_json_int(j, o, "max", (uint64_t)s.most);
	td_json_set(j, object, key, o);
}

/* {"3": 24, "1": 2}: how often which value. */
static void set_counts(struct td_json *j, json_t *object, const char *key, const struct td_tally *tally)
{
	struct td_tally_entry *entries = td_tally_sorted(tally);
	json_t *o = json_object();
	char text[24];
	j->lost |= !entries;
	for (size_t i = 0; entries && i < tally->map.n; i++) {
		snprintf(text, sizeof text, "%" PRId64, entries[i].value);
		td_json_int(j, o, text, entries[i].n);
	}
	free(entries);
	td_json_set(j, object, key, o);
}

static json_t *histogram(struct td_json *j, const struct td_tally *tally)
{
	struct td_histogram h;
	json_t *list = json_array();
	td_tally_histogram(tally, &h);
	for (size_t i = h.first; i < h.end; i++) {
		json_t *o = json_object();
		td_json_int(j, o, "from", td_histogram_from(i));
		td_json_int(j, o, "below", td_histogram_from(i + 1));
		td_json_int(j, o, "records", h.n[i]);
		td_json_add(j, list, o);
	}
	return list;
}

static json_t *kind(struct td_json *j, const struct td_kind_facts *k, int number)
{
	json_t *o = json_object();
	td_json_string(j, o, "kind", td_kind_name(number));
	td_json_int(j, o, "records", k->records);
	td_json_int(j, o, "min_values", k->least);
	td_json_int(j, o, "max_values", k->most);
	td_json_int(j, o, "empty", k->empty);
	td_json_string(j, o, "first_file", k->first);
	return o;
}

static json_t *feature(struct td_json *j, const struct td_schema *s, size_t i)
{
	const struct td_feature_facts *f = td_schema_facts(s, i);
	json_t *o = json_object(), *kinds = json_array();
	td_json_set(j, o, "name", td_json_text(td_map_key(&s->features, i),
	    s->features.entries[i].key_bytes));
	td_json_int(j, o, "records", f->records);
	td_json_int(j, o, "absent", s->records - f->records);
	for (int k = TUNDISH_INT64; k >= TUNDISH_KIND_NONE; k--) {
		if (f->kinds[k].records)
			td_json_add(j, kinds, kind(j, &f->kinds[k], k));
	}
	td_json_set(j, o, "kinds", kinds);
	if (f->kinds[TUNDISH_BYTES].most) {
		td_json_int(j, o, "min_bytes", f->least_bytes);
		td_json_int(j, o, "max_bytes", f->most_bytes);
	}
	if (f->missing.path) {
		json_t *missing = json_object();
		td_json_string(j, missing, "path", f->missing.path);
		td_json_int(j, missing, "record", f->missing.record);
		td_json_set(j, o, "first_absent", missing);
	}
	return o;
}

static json_t *schema(struct td_json *j, const struct td_schema *s)
{
	size_t *order = td_schema_sorted(s);
	json_t *list = json_array();
	j->lost |= !order;
	for (size_t i = 0; order && i < s->features.n; i++)
		td_json_add(j, list, feature(j, s, order[i]));
	free(order);
	return list;
}

static json_t *images(struct td_json *j, const struct tundish_survey *s)
{
	const struct td_image_facts *f = &s->facts.images;
	json_t *o = json_object(), *kinds = json_object();
	td_json_string(j, o, "feature", s->image_key);
	for (size_t i = 0; i < TD_IMAGE_KINDS; i++) {
		if (f->kinds[i])
			td_json_int(j, kinds, i ? td_image_kind_name((enum td_image_kind)i) : "unknown",
			    f->kinds[i]);
	}
	td_json_set(j, o, "kinds", kinds);
	td_json_int(j, o, "empty", f->empty);
	td_json_int(j, o, "bad", f->bad);
	if (s->options.decode || s->options.stats)
		td_json_int(j, o, "decoded", f->decoded);
	set_spread(j, o, "bytes", &f->bytes);
	set_spread(j, o, "width", &f->widths);
	set_spread(j, o, "height", &f->heights);
	set_counts(j, o, "channels", &f->channels);
	set_counts(j, o, "bits", &f->bits);
	return o;
}

static json_t *class_row(struct td_json *j, const struct tundish_survey *s,
    const struct td_class_table *c, const struct td_class_row *row)
{
	json_t *o = json_object();
	if (row->numbered)
		td_json_set(j, o, "value", json_integer(row->number));
	else
		td_json_string(j, o, "value", row->text);
	if (*row->name)
		td_json_string(j, o, "name", row->name);
	td_json_int(j, o, "records", row->records);
	td_json_set(j, o, "share", json_real((double)row->records / (double)c->records));
	if (c->n > PER_FILE_CELLS / s->paths.n)
		return o;
	json_t *shards = json_array();
	for (size_t i = 0; i < s->paths.n; i++)
		td_json_add(j, shards, json_integer((json_int_t)td_share_of(&s->file_labels[i],
		    row->label)));
	td_json_set(j, o, "records_per_file", shards);
	return o;
}

static json_t *classes(struct td_json *j, const struct tundish_survey *s,
    const struct td_class_table *c)
{
	json_t *o = json_object(), *list = json_array();
	td_json_string(j, o, "feature", s->label_key);
	td_json_int(j, o, "without", s->facts.labels.without);
	td_json_int(j, o, "smallest", c->smallest);
	td_json_int(j, o, "largest", c->largest);
	td_json_set(j, o, "evenness", json_real(c->evenness));
	td_json_set(j, o, "worst_file_distance", json_real(c->worst_shard));
	for (size_t i = 0; i < c->n; i++)
		td_json_add(j, list, class_row(j, s, c, &c->items[i]));
	td_json_set(j, o, "values", list);
	return o;
}

static json_t *order(struct td_json *j, const struct tundish_survey *s,
    const struct td_class_table *c)
{
	json_t *o = json_object();
	td_json_int(j, o, "runs", s->facts.order.runs);
	td_json_set(j, o, "expected_runs", json_real(c->expected_runs));
	td_json_set(j, o, "shuffled", json_real(c->shuffled));
	td_json_set(j, o, "entropy", json_real(c->entropy));
	td_json_int(j, o, "window", TD_ORDER_WINDOW);
	if (s->facts.order.windows)
		td_json_set(j, o, "window_entropy", json_real(c->window_entropy));
	td_json_set(j, o, "first_file_similarity", json_real(c->first_file));
	return o;
}

static json_t *lines(struct td_json *j, const struct td_lines *l)
{
	json_t *list = json_array();
	for (size_t i = 0; i < l->n; i++)
		td_json_add(j, list, td_json_text(l->lines[i], strlen(l->lines[i])));
	return list;
}

static json_t *types(struct td_json *j, const struct td_facts *f)
{
	json_t *o = json_object();
	td_json_int(j, o, "Example", f->examples);
	td_json_int(j, o, "SequenceExample", f->sequences);
	td_json_int(j, o, "other", f->others);
	td_json_int(j, o, "without_features", f->empty);
	return o;
}

static void raw_files(struct td_json *j, json_t *o, const struct tundish_survey *s)
{
	if (s->pictures)
		td_json_set(j, o, "pictures", json_incref(s->pictures));
	if (s->sources)
		td_json_set(j, o, "sources", json_incref(s->sources));
}

bool td_survey_to_json(struct tundish_survey *s, const struct td_class_table *c)
{
	static const char *const checked[] = { "full", "length", "off" };
	struct td_json j = { 0 };
	json_t *o = json_object();
	td_json_int(&j, o, "records", s->records);
	td_json_int(&j, o, "faults", s->faults);
	td_json_int(&j, o, "bytes", s->bytes);
	td_json_int(&j, o, "payload_bytes", s->facts.payload_bytes);
	td_json_string(&j, o, "checked", checked[s->options.crc]);
	td_json_set(&j, o, "types", types(&j, &s->facts));
	set_spread(&j, o, "record_bytes", &s->facts.sizes);
	td_json_set(&j, o, "record_bytes_histogram", histogram(&j, &s->facts.sizes));
	td_json_set(&j, o, "features", schema(&j, &s->facts.example));
	if (s->facts.sequences) {
		td_json_set(&j, o, "context", schema(&j, &s->facts.context));
		td_json_set(&j, o, "feature_lists", schema(&j, &s->facts.lists));
	}
	if (s->image_key)
		td_json_set(&j, o, "images", images(&j, s));
	if (c->n) {
		td_json_set(&j, o, "classes", classes(&j, s, c));
		td_json_set(&j, o, "order", order(&j, s, c));
	}
	td_json_set(&j, o, "files", files(&j, s));
	raw_files(&j, o, s);
	td_json_set(&j, o, "warnings", lines(&j, &s->warnings));
	return td_json_dump(&j, o, &s->json);
}

bool td_survey_raw_only(struct tundish_survey *s)
{
	struct td_json j = { 0 };
	json_t *o = json_object();
	td_json_int(&j, o, "faults", s->faults);
	raw_files(&j, o, s);
	return td_json_dump(&j, o, &s->json) && td_buf_printf(&s->text, "%s", "");
}
