/* SPDX-License-Identifier: BSD-2-Clause
 * The findings as text for people. */
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/table.h"
#include "survey.h"

#define SHOWN_CLASSES 40
#define SHOWN_FILES 20
#define SHOWN_SHARDS 8

/* Text in the making; out of memory shows at the end. */
struct text {
	struct td_buf *out;
	struct td_table table;
	bool lost;
};

static void line(struct text *t, const char *fmt, ...) td_printf_like(2, 3);
static void line(struct text *t, const char *fmt, ...)
{
	char *text;
	va_list args;
	va_start(args, fmt);
	int n = vasprintf(&text, fmt, args);
	va_end(args);
	if (n < 0 || !td_buf_printf(t->out, "%s\n", text))
		t->lost = true;
	if (n >= 0)
		free(text);
}

#define cell(t, ...) ((t)->lost |= !td_table_cell(&(t)->table, __VA_ARGS__))

static void begin(struct text *t, const char *title, unsigned columns, const char *align)
{
	if (t->out->len)
		line(t, "%s", "");
	line(t, "%s", title);
	t->table.columns = columns;
	t->table.align = align;
}

static void end(struct text *t)
{
	t->lost |= !td_table_print(&t->table, t->out, 2);
}

static void spread(struct text *t, const char *name, const struct td_tally *tally)
{
	struct td_spread s;
	t->lost |= !td_tally_spread(tally, &s);
	if (t->lost || s.n == 0)
		return;
	cell(t, "%s", name);
	cell(t, "%" PRId64, s.least);
	cell(t, "%" PRId64, s.median);
	cell(t, "%" PRId64, s.most);
}

static const char *compression_name(int compression)
{
	static const char *const names[] = { "no compression", "GZIP", "ZLIB", "SNAPPY" };
	return compression > 0 && compression < (int)TD_COUNT(names) ? names[compression] : names[0];
}

static const char *checked(int crc)
{
	return crc == TUNDISH_CRC_FULL ? "all checksums checked" :
	    crc == TUNDISH_CRC_LENGTH  ? "checksums of lengths checked, not of data" :
					 "no checksum checked";
}

static void head(struct text *t, const struct tundish_survey *s)
{
	line(t, "%zu file%s, %" PRIu64 " bytes, %s, %" PRIu64 " records (%s)", s->paths.n,
	    s->paths.n == 1 ? "" : "s", s->bytes, compression_name(s->files[0].compression),
	    s->records, checked(s->options.crc));
	const struct td_facts *f = &s->facts;
	if (f->examples)
		line(t, "%" PRIu64 " Example%s%s", f->examples, f->examples == 1 ? "" : "s",
		    f->empty == f->examples ? " with 0 features" : "");
	if (f->empty && f->empty != f->examples)
		line(t, "%" PRIu64 " of them with 0 features", f->empty);
	if (f->sequences)
		line(t, "%" PRIu64 " SequenceExample%s", f->sequences, f->sequences == 1 ? "" : "s");
	if (s->faults)
		line(t, "%" PRIu64 " fault%s", s->faults, s->faults == 1 ? "" : "s");
}

static void sizes(struct text *t, const struct tundish_survey *s)
{
	begin(t, "sizes", 4, "lrrr");
	cell(t, "%s", "");
	cell(t, "least");
	cell(t, "median");
	cell(t, "most");
	spread(t, "record bytes", &s->facts.sizes);
	spread(t, "picture bytes", &s->facts.images.bytes);
	spread(t, "width", &s->facts.images.widths);
	spread(t, "height", &s->facts.images.heights);
	spread(t, "channels", &s->facts.images.channels);
	spread(t, "bits", &s->facts.images.bits);
	end(t);
}

/* Records by powers of two of their size, as bars. */
static void histogram(struct text *t, const struct td_tally *tally)
{
	static const char bar[] = "########################################";
	struct td_histogram h;
	uint64_t most = 1;
	td_tally_histogram(tally, &h);
	for (size_t i = h.first; i < h.end; i++)
		most = TD_MAX(most, h.n[i]);
	begin(t, "records by size", 4, "rrrl");
	for (size_t i = h.first; i < h.end; i++) {
		double length = (double)h.n[i] / (double)most * (double)(sizeof bar - 1);
		cell(t, "%" PRIu64, td_histogram_from(i));
		cell(t, "to %" PRIu64, TD_MAX(td_histogram_from(i + 1), (uint64_t)1) - 1);
		cell(t, "%" PRIu64, h.n[i]);
		cell(t, "%.*s", (int)ceil(length), bar);
	}
	end(t);
}

static void range(char out[48], uint64_t least, uint64_t most)
{
	snprintf(out, 48, least == most ? "%" PRIu64 : "%" PRIu64 "..%" PRIu64, least, most);
}

/* What is odd about a feature of one kind. */
static void note(char *out, size_t bytes, const struct td_schema *s, const struct td_feature_facts *f,
    int kind)
{
	const struct td_kind_facts *k = &f->kinds[kind];
	char sizes[48];
	size_t n = 0;
	*out = 0;
#define PART(...) n += (size_t)snprintf(out + n, n < bytes ? bytes - n : 0, __VA_ARGS__)
	range(sizes, f->least_bytes, f->most_bytes);
	if (kind == TUNDISH_BYTES && f->most_bytes)
		PART("%s bytes", sizes);
	if (kind == TUNDISH_KIND_NONE)
		PART("no kind set");
	else if (k->empty)
		PART("%sempty in %" PRIu64, n ? ", " : "", k->empty);
	if (f->records < s->records)
		PART("%sabsent in %" PRIu64, n ? ", " : "", s->records - f->records);
#undef PART
}

static void feature(struct text *t, const struct td_schema *s, size_t i)
{
	const struct td_feature_facts *f = td_schema_facts(s, i);
	char name[64], values[48], notes[200];
	td_escape(name, sizeof name, td_map_key(&s->features, i), s->features.entries[i].key_bytes);
	for (int kind = TUNDISH_INT64; kind >= TUNDISH_KIND_NONE; kind--) {
		const struct td_kind_facts *k = &f->kinds[kind];
		if (k->records == 0)
			continue;
		range(values, k->least, k->most);
		note(notes, sizeof notes, s, f, kind);
		cell(t, "%s", *name ? name : "\"\"");
		cell(t, "%s", td_kind_name(kind));
		cell(t, "%s", values);
		cell(t, "%" PRIu64 " of %" PRIu64, k->records, s->records);
		cell(t, "%s", notes);
	}
}

static void schema(struct text *t, const struct td_schema *s, const char *title, const char *values)
{
	if (s->features.n == 0)
		return;
	size_t *order = td_schema_sorted(s);
	t->lost |= order == NULL;
	begin(t, title, 5, "llrrl");
	cell(t, "name");
	cell(t, "kind");
	cell(t, "%s", values);
	cell(t, "records");
	cell(t, "%s", "");
	for (size_t i = 0; order && i < s->features.n; i++)
		feature(t, s, order[i]);
	free(order);
	end(t);
}

static void pictures(struct text *t, const struct tundish_survey *s)
{
	const struct td_image_facts *f = &s->facts.images;
	char title[TD_ESC_MAX + 32];
	snprintf(title, sizeof title, "pictures in %s", TD_ESC(s->image_key));
	begin(t, title, 2, "lr");
	for (size_t i = 0; i < TD_IMAGE_KINDS; i++) {
		if (f->kinds[i]) {
			cell(t, "%s", i ? td_image_kind_name((enum td_image_kind)i) : "not a picture");
			cell(t, "%" PRIu64, f->kinds[i]);
		}
	}
	if (f->empty) {
		cell(t, "empty");
		cell(t, "%" PRIu64, f->empty);
	}
	if (f->bad) {
		cell(t, "bad");
		cell(t, "%" PRIu64, f->bad);
	}
	if (f->decoded) {
		cell(t, "decoded");
		cell(t, "%" PRIu64, f->decoded);
	}
	end(t);
}

static void class_row(struct text *t, const struct tundish_survey *s, const struct td_class_table *c,
    size_t i, size_t n_shards)
{
	const struct td_class_row *item = &c->items[i];
	cell(t, "%s", *item->text ? item->text : "\"\"");
	if (s->names.n)
		cell(t, "%s", TD_ESC(item->name));
	cell(t, "%" PRIu64, item->records);
	cell(t, "%.1f %%", 100.0 * (double)item->records / (double)c->records);
	for (size_t k = 0; k < n_shards; k++) {
		uint64_t n = td_share_of(&s->file_labels[k], item->label);
		uint64_t all = s->file_labels[k].records;
		cell(t, "%.1f", all ? 100.0 * (double)n / (double)all : 0.0);
	}
}

static void classes(struct text *t, const struct tundish_survey *s, const struct td_class_table *c)
{
	static const char align[] = "llrrrrrrrrrr";
	_Static_assert(sizeof align - 1 == 4 + SHOWN_SHARDS, "a letter a column");
	unsigned named = s->names.n > 0;
	size_t n_shards = s->paths.n > 1 && s->paths.n <= SHOWN_SHARDS ? s->paths.n : 0;
	bool all = s->options.sections & TUNDISH_SECTION_CLASSES;
	size_t shown = all ? c->n : TD_MIN(c->n, (size_t)SHOWN_CLASSES);
	char title[TD_ESC_MAX + 32];
	snprintf(title, sizeof title, "classes in %s: %zu", TD_ESC(s->label_key), c->n);
	begin(t, title, 3 + named + (unsigned)n_shards, align + 1 - named);
	cell(t, "label");
	if (named)
		cell(t, "name");
	cell(t, "records");
	cell(t, "share");
	for (size_t k = 0; k < n_shards; k++)
		cell(t, "file %zu", k);
	for (size_t i = 0; i < shown; i++)
		class_row(t, s, c, i, n_shards);
	end(t);
	if (shown < c->n)
		line(t, "  ... and %zu more", c->n - shown);
	line(t, "  balance: least %" PRIu64 ", most %" PRIu64 " records a class; evenness %.3f (1 is even)",
	    c->smallest, c->largest, c->evenness);
	if (s->paths.n > 1)
		line(t, "  files: at most %.1f %% away from the classes of the whole (%s)",
		    100 * c->worst_shard, TD_ESC(c->worst_path));
}

static void order(struct text *t, const struct tundish_survey *s, const struct td_class_table *c)
{
	const struct td_order *o = &s->facts.order;
	begin(t, "order of labels", 1, "l");
	line(t, "  %" PRIu64 " runs of equal labels; %.0f expected of a shuffled set, %zu of a sorted "
	    "one: shuffled %.3f (1 is well)", o->runs, c->expected_runs, c->n, c->shuffled);
	if (o->windows)
		line(t, "  entropy in %d records in a row: %.3f bits, in the whole set %.3f",
		    TD_ORDER_WINDOW, c->window_entropy, c->entropy);
	if (s->paths.n > 1)
		line(t, "  the first file is %.1f %% like the whole", 100 * c->first_file);
}

static void files(struct text *t, const struct tundish_survey *s)
{
	bool all = s->options.sections & TUNDISH_SECTION_FILES;
	size_t shown = all ? s->paths.n : TD_MIN(s->paths.n, (size_t)SHOWN_FILES);
	begin(t, "files", 4, "rrrl");
	cell(t, "file");
	cell(t, "records");
	cell(t, "bytes");
	cell(t, "path");
	for (size_t i = 0; i < shown; i++) {
		const struct td_scan_file *f = &s->files[i];
		cell(t, "%zu", i);
		cell(t, "%" PRIu64, f->records);
		cell(t, "%" PRIu64, f->bytes);
		cell(t, "%s", TD_ESC(f->path));
	}
	end(t);
	if (shown < s->paths.n)
		line(t, "  ... and %zu more", s->paths.n - shown);
}

static void warnings(struct text *t, const struct tundish_survey *s)
{
	begin(t, "warnings", 1, "l");
	for (size_t i = 0; i < s->warnings.n; i++)
		line(t, "  %s", s->warnings.lines[i]);
}

bool td_survey_report(struct tundish_survey *s, const struct td_class_table *c)
{
	struct text t = { .out = &s->text };
	unsigned sections = s->options.sections ? s->options.sections : ~0u;
	if (s->pictures || s->sources)
		line(&t, "%s", "");
	if (sections & TUNDISH_SECTION_SUMMARY) {
		head(&t, s);
		if (s->records) {
			sizes(&t, s);
			histogram(&t, &s->facts.sizes);
		}
		if (s->image_key)
			pictures(&t, s);
	}
	if (sections & TUNDISH_SECTION_SCHEMA) {
		schema(&t, &s->facts.example, "features", "values");
		schema(&t, &s->facts.context, "context features", "values");
		schema(&t, &s->facts.lists, "feature lists", "steps");
	}
	if (sections & TUNDISH_SECTION_CLASSES && c->n)
		classes(&t, s, c);
	if (sections & TUNDISH_SECTION_ORDER && c->n)
		order(&t, s, c);
	if (sections & TUNDISH_SECTION_FILES && s->paths.n > 1)
		files(&t, s);
	if (s->warnings.n)
		warnings(&t, s);
	td_table_free(&t.table);
	return !t.lost;
}
