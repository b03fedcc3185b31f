/* SPDX-License-Identifier: BSD-2-Clause
 * What in a set will trouble a reader: features that change kind or are missing. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/err.h"
#include "survey.h"

static bool warn(struct td_lines *w, const char *fmt, ...) td_printf_like(2, 3);
static bool warn(struct td_lines *w, const char *fmt, ...)
{
	va_list args;
	va_start(args, fmt);
	int n = td_grow(&w->lines, &w->cap, w->n, sizeof *w->lines) ?
	    vasprintf(&w->lines[w->n], fmt, args) : -1;
	va_end(args);
	w->n += n >= 0;
	return n >= 0;
}

/* "int64 in 2 records (first t-0), float in 2 records (first t-1)" */
static bool kinds_text(struct td_buf *out, const struct td_feature_facts *f, unsigned *ret_kinds)
{
	*ret_kinds = 0;
	for (int kind = TUNDISH_INT64; kind >= TUNDISH_BYTES; kind--) {
		const struct td_kind_facts *k = &f->kinds[kind];
		if (k->records == 0)
			continue;
		if (!td_buf_printf(out, "%s%s in %" PRIu64 " (first %s)", *ret_kinds ? ", " : "",
			td_kind_name(kind), k->records, TD_ESC(k->first)))
			return false;
		++*ret_kinds;
	}
	return true;
}

static bool warn_feature(struct td_lines *w, const struct td_schema *s, size_t i, const char *what)
{
	const struct td_feature_facts *f = td_schema_facts(s, i);
	char name[128];
	td_escape(name, sizeof name, td_map_key(&s->features, i), s->features.entries[i].key_bytes);
	struct td_buf kinds = { 0 };
	unsigned n;
	bool ok = kinds_text(&kinds, f, &n);
	if (ok && n > 1)
		ok = warn(w, "%s %s changes kind: %s", what, name, (const char *)kinds.data);
	td_buf_free(&kinds);
	bool optional = td_key_optional(
	    td_map_key(&s->features, i), s->features.entries[i].key_bytes);
	if (ok && f->missing.path && !optional)
		ok = warn(w, "%s %s is missing in %" PRIu64 " of %" PRIu64 " records, first %s: record %"
		    PRIu64, what, name, s->records - f->records, s->records,
		    TD_ESC(f->missing.path), f->missing.record);
	return ok;
}

static bool warn_schema(struct td_lines *w, const struct td_schema *s, const char *what)
{
	size_t *order = td_schema_sorted(s);
	bool ok = order != NULL;
	for (size_t i = 0; ok && i < s->features.n; i++)
		ok = warn_feature(w, s, order[i], what);
	free(order);
	return ok && (s->left_out == 0 || warn(w, "more than %d names of features: the others are "
	    "left out of this list", TD_SCHEMA_FEATURES));
}

static bool warn_records(struct tundish_survey *s)
{
	const struct td_facts *f = &s->facts;
	if (f->others && !warn(&s->warnings, "%" PRIu64 " of %" PRIu64 " records hold no "
	    "tf.train.Example, first %s: record %" PRIu64, f->others, s->records,
	    TD_ESC(f->other.path), f->other.record))
		return false;
	return !(f->sequences && f->examples) || warn(&s->warnings, "the set mixes %" PRIu64
	    " Examples and %" PRIu64 " SequenceExamples", f->examples, f->sequences);
}

static bool warn_pictures(struct tundish_survey *s)
{
	uint64_t n = s->facts.images.large, empty = s->facts.images.empty;
	if (empty && !warn(&s->warnings, "%" PRIu64 " picture%s empty", empty,
			 empty == 1 ? " is" : "s are"))
		return false;
	return n == 0 || warn(&s->warnings, "%" PRIu64 " picture%s over the limit of %" PRIu64
	    " pixels: bad for what decodes them", n, n == 1 ? " is" : "s are", s->options.max_pixels);
}

static bool warn_files(struct tundish_survey *s)
{
	for (size_t i = 0; i < s->paths.n; i++) {
		const struct td_scan_file *f = &s->files[i];
		if (f->records == 0 && f->faults == 0 &&
		    !warn(&s->warnings, "%s: holds no records", TD_ESC(f->path)))
			return false;
		if (i && f->compression != s->files[0].compression)
			return warn(&s->warnings, "files of different compression: %s and %s",
			    TD_ESC(s->files[0].path), TD_ESC(f->path));
	}
	return true;
}

static bool warn_classes(struct tundish_survey *s)
{
	if (s->names.n == 0)
		return true;
	for (size_t i = 0; i < s->facts.labels.values.n; i++) {
		const struct td_by_value *v = td_map_value(&s->facts.labels.values, i);
		if (v->kind == TUNDISH_INT64 && v->number >= (int64_t)s->names.n)
			return warn(&s->warnings, "label %" PRId64 " has no name: the labels file "
			    "holds %zu", v->number, s->names.n);
	}
	return true;
}

bool td_survey_warn(struct tundish_survey *s)
{
	struct td_lines *w = &s->warnings;
	return warn_files(s) && warn_records(s) && warn_schema(w, &s->facts.example, "feature") &&
	    warn_schema(w, &s->facts.context, "context feature") &&
	    warn_schema(w, &s->facts.lists, "feature list") && warn_pictures(s) &&
	    warn_classes(s);
}
