/* SPDX-License-Identifier: BSD-2-Clause
 * Sources that are read once, from their start: pipes and compressed archives. */
#include "intake.h"

#include <inttypes.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "archive.h"
#include "base/err.h"
#include "base/path.h"
#include "group.h"
#include "inlet.h"
#include "member.h"
#include "picture.h"

/* A member that was read, waiting for the others of its key. */
struct waiting {
	struct td_buf name, data;
	size_t key;
	int format;	/* -1: none that is known */
	int code;	/* it cannot be read */
	struct td_buf reason;
	int64_t offset;
};

struct td_intake {
	struct td_listing *l;
	const struct td_classes *fixed;
	const struct td_list_options *o;
	struct td_labels labels;
	regex_t re;
	bool have_re;
	enum { OPEN, WITH, WITHOUT } decided; /* labels */
	const struct td_archiver *a;
	size_t next_item, source; /* of the listing; stream that is read */
	void *archive;		  /* NULL: the next source is to be opened */
	struct td_inlet *inlet;
	struct td_archive_feed feed;
	bool any; /* a member was met */
	struct waiting *group;
	size_t n_group, given, group_cap; /* members, those handed out, and slots made */
	struct waiting ahead; /* the first of the next group */
	bool have_ahead, at_end;
	struct waiting *main; /* of a group that is one sample; NULL: each for itself */
	bool settled;	      /* that is known */
	int fault;	      /* the archive is damaged behind the group */
	struct tundish_error why;
	int64_t fault_offset;
};

uint64_t td_taken_bytes(const struct td_taken *s, const struct td_listing *l)
{
	return s->item >= 0 ? l->items[s->item].bytes : s->data.len + s->side.len + s->name.len;
}

void td_taken_free(struct td_taken *s)
{
	td_buf_free(&s->name);
	td_buf_free(&s->data);
	td_buf_free(&s->side);
	td_buf_free(&s->class);
	td_buf_free(&s->reason);
	td_buf_free(&s->path);
	free(s->companions);
}

static bool set_text(struct td_buf *b, const char *text, size_t len)
{
	b->len = 0;
	return td_buf_add(b, text, len) && td_buf_add(b, "", 1);
}

static const struct td_stream_source *source_of(const struct td_intake *s)
{
	return &s->l->streams[s->source];
}

/* ---- labels ---- */

/* What the name or the .cls says; NULL: nothing. */
static const char *find_label(struct td_intake *s, const char *name, size_t skip, const char *own, size_t *ret_len)
{
	regmatch_t match[2];
	if (own || s->labels.from == TD_LABELS_NONE) {
		*ret_len = own ? strlen(own) : 0;
		return own;
	}
	if (s->have_re) {
		if (regexec(&s->re, name, 2, match, 0) != 0 || match[1].rm_eo <= match[1].rm_so)
			return NULL;
		*ret_len = (size_t)(match[1].rm_eo - match[1].rm_so);
		return name + match[1].rm_so;
	}
	*ret_len = strcspn(name + skip, "/");
	return name[skip + *ret_len] ? name + skip : NULL;
}

static int resolve_label(struct td_intake *s, struct td_taken *out, const char *text, size_t len,
    const char *name, struct tundish_error *e)
{
	int64_t number, offset = s->o->label_offset;
	if (!set_text(&out->class, text, len))
		return td_err_memory(e);
	const char *class = (const char *)out->class.data;
	if (s->fixed) {
		int32_t found = td_classes_known(s->fixed, class, len, offset);
		if (found < 0)
			return td_err(e, TUNDISH_E_USAGE, "class \"%s\" of %s is not in the class list %s",
			    TD_ESC(class), TD_ESC(name), TD_ESC(s->o->class_list));
		const char *known = s->fixed->list[found].name;
		out->label = found + offset;
		return set_text(&out->class, known, strlen(known)) ? 0 : td_err_memory(e);
	}
	if (!td_parse_int64(class, &number))
		return td_err(e, TUNDISH_E_USAGE, "%s: a stream's labels must be whole numbers, not \"%s\": give "
		    "--class-list FILE, or --labels none", TD_ESC(name), TD_ESC(class));
	if (td_add_overflow(number, offset, &out->label))
		return td_err(e, TUNDISH_E_USAGE, "%s: label %s with its offset is out of range", TD_ESC(name),
		    TD_ESC(class));
	out->class.len = 0;
	return td_buf_printf(&out->class, "%" PRId64, number) ? 0 : td_err_memory(e);
}

static int make_bad(struct td_taken *out, int code, const char *reason, struct tundish_error *e)
{
	out->code = code;
	return set_text(&out->reason, reason, strlen(reason)) ? 0 : td_err_memory(e);
}

static int label(struct td_intake *s, struct td_taken *out, const char *name, size_t skip, const char *own,
    struct tundish_error *e)
{
	size_t len = 0;
	const char *text = find_label(s, name, skip, own, &len);
	out->labelled = text != NULL;
	if (s->decided == OPEN)
		s->decided = text ? WITH : WITHOUT;
	if ((s->decided == WITH) != out->labelled)
		return make_bad(out, TUNDISH_E_SCHEMA, text ? "has a label, and the first item has none" : "no label",
		    e);
	return text ? resolve_label(s, out, text, len, name, e) : 0;
}

/* ---- reading members ---- */

static void free_waiting(struct waiting *w)
{
	td_buf_free(&w->name);
	td_buf_free(&w->data);
	td_buf_free(&w->reason);
}

static const char *extension(const struct waiting *w)
{
	const char *name = (const char *)w->name.data;
	return name + w->key + (name[w->key] == '.');
}

/* All of it, or only its beginning where that shows that it is nothing. */
static int read_member(struct td_intake *s, struct waiting *w, const struct td_entry *entry, struct tundish_error *e)
{
	const uint64_t most = s->o->cut->max_bytes;
	bool side = td_group_role(extension(w)) != TD_ROLE_NONE;
	int rc = 0;
	w->data.len = 0;
	if (entry->locked)
		rc = td_err(&s->why, TUNDISH_E_UNSUPPORTED, "%s", entry->locked);
	else if (entry->bytes > most)
		rc = td_err(&s->why, TUNDISH_E_LIMIT, "%" PRIu64 " bytes, more than %" PRIu64, entry->bytes, most);
	else if (w->format < 0 && !side)
		rc = s->a->read(s->archive, &w->data, TD_HEAD_BYTES, true, &s->why);
	if (rc == 0 && w->format < 0 && !side)
		w->format = td_format_probe((const char *)w->name.data, w->data.data, w->data.len);
	if (rc == 0 && (w->format >= 0 || side))
		rc = s->a->read(s->archive, &w->data, side ? TD_MIN(most, TD_COMPANION_MAX) : most, false, &s->why);
	w->code = rc;
	if (rc == TUNDISH_E_MEMORY || rc == TUNDISH_E_STOPPED || rc == TUNDISH_E_IO)
		return td_err(e, rc, "%s: %s", TD_ESC(source_of(s)->path), s->why.text);
	return rc == 0 || set_text(&w->reason, s->why.text, strlen(s->why.text)) ? 0 : td_err_memory(e);
}

static int pass_over(struct td_intake *s, const char *name, const char *why)
{
	td_notice(s->o->listener, "%s/%s: %s, passed over", TD_ESC(source_of(s)->path), TD_ESC(name), why);
	td_listing_leave_out(s->l, name);
	return 0;
}

/* The next member that may be something, into `ahead`: 1, 0 at the end of the archive. */
static int read_ahead(struct td_intake *s, struct tundish_error *e)
{
	struct waiting *w = &s->ahead;
	struct td_entry entry;
	for (;;) {
		int rc = s->a->next(s->archive, &entry, &s->why);
		if (rc == TUNDISH_E_MEMORY || rc == TUNDISH_E_STOPPED || rc == TUNDISH_E_IO)
			return td_err(e, rc, "%s: %s", TD_ESC(source_of(s)->path), s->why.text);
		s->fault_offset = (int64_t)td_inlet_position(s->inlet);
		if (rc < 0)
			s->fault = rc;
		if (rc <= 0)
			return 0;
		s->any = true;
		if (!set_text(&w->name, entry.name, strlen(entry.name)))
			return td_err_memory(e);
		char *name = (char *)w->name.data;
		td_member_tidy(name);
		if (entry.what == TD_ENTRY_OTHER || !*name || td_member_litter(name))
			continue;
		s->l->looked_at++;
		if (entry.what != TD_ENTRY_FILE) {
			pass_over(s, name, "a link");
			continue;
		}
		w->key = td_group_key(name);
		w->format = td_format_named(name);
		w->offset = (int64_t)entry.at;
		rc = read_member(s, w, &entry, e);
		return rc < 0 ? rc : 1;
	}
}

/* ---- groups ---- */

static bool joins(const struct td_intake *s)
{
	const struct waiting *a = &s->group[0], *b = &s->ahead;
	uint64_t bytes = b->data.len;
	for (size_t i = 0; i < s->n_group; i++)
		bytes += s->group[i].data.len;
	return s->n_group < TD_GROUP_MOST && bytes <= s->o->cut->max_bytes && a->key == b->key &&
	    memcmp(a->name.data, b->name.data, a->key) == 0;
}

static int push_ahead(struct td_intake *s, struct tundish_error *e)
{
	size_t cap = s->group_cap;
	if (!td_grow(&s->group, &s->group_cap, s->n_group, sizeof *s->group))
		return td_err_memory(e);
	if (s->group_cap > cap)
		memset(s->group + cap, 0, (s->group_cap - cap) * sizeof *s->group);
	struct waiting old = s->group[s->n_group];
	s->group[s->n_group++] = s->ahead;
	s->ahead = old;
	s->have_ahead = false;
	return 0;
}

/* All members of the next key: 1, or 0 at the end. */
static int gather(struct td_intake *s, struct tundish_error *e)
{
	s->n_group = s->given = 0;
	s->settled = false;
	s->main = NULL;
	for (;;) {
		if (!s->have_ahead && !s->at_end) {
			int rc = read_ahead(s, e);
			if (rc < 0)
				return rc;
			s->have_ahead = rc == 1;
			s->at_end = rc == 0;
		}
		if (!s->have_ahead || (s->n_group && !joins(s)))
			return s->n_group > 0;
		int rc = push_ahead(s, e);
		if (rc < 0)
			return rc;
	}
}

/* As td_archive_list() has it: a picture, and a class or JSON beside it. */
static void settle_group(struct td_intake *s)
{
	struct waiting *item = NULL;
	bool marked = false;
	for (size_t i = 0; i < s->n_group; i++) {
		enum td_role role = td_group_role(extension(&s->group[i]));
		if (s->group[i].format >= 0 && role == TD_ROLE_NONE &&
		    (!item || td_group_rather(extension(&s->group[i]), extension(item))))
			item = &s->group[i];
		marked |= role == TD_ROLE_CLASS || role == TD_ROLE_JSON;
	}
	s->main = marked ? item : NULL;
	s->settled = true;
}

static bool add_companion(struct td_taken *out, const struct waiting *w, enum td_role role)
{
	const char *ext = extension(w);
	struct td_companion c = { .role = (uint8_t)role, .extension = out->side.len, .bytes = w->data.len };
	if (!td_grow(&out->companions, &out->cap, out->n, sizeof *out->companions) ||
	    !td_buf_add(&out->side, ext, strlen(ext) + 1))
		return false;
	c.data = out->side.len;
	out->companions[out->n++] = c;
	return td_buf_add(&out->side, w->data.data, w->data.len);
}

/* Name, place and picture of a sample. */
static int start_sample(struct td_intake *s, struct td_taken *out, struct waiting *w, struct tundish_error *e)
{
	const struct td_stream_source *from = source_of(s);
	struct td_buf used = out->data;
	out->name.len = out->path.len = used.len = 0;
	out->data = w->data; /* which is given once, and then filled anew */
	w->data = used;
	out->offset = -1;
	if (!td_buf_printf(&out->name, "%s%s", from->prefix, (const char *)w->name.data) ||
	    !td_buf_printf(&out->path, "%s/%s", from->path, (const char *)w->name.data))
		return td_err_memory(e);
	if (w->code < 0)
		return make_bad(out, w->code, (const char *)w->reason.data, e);
	if (td_formats[w->format] != &td_format_picture)
		return make_bad(out, TUNDISH_E_UNSUPPORTED, "only pictures are read from a stream: unpack it", e);
	return out->data.len ? 0 : make_bad(out, TUNDISH_E_CORRUPT, "empty file", e);
}

static int give_group(struct td_intake *s, struct td_taken *out, struct tundish_error *e)
{
	char *own = NULL;
	int rc = start_sample(s, out, s->main, e);
	s->given = s->n_group;
	for (size_t i = 0; rc == 0 && i < s->n_group; i++) {
		struct waiting *w = &s->group[i];
		enum td_role role = td_group_role(extension(w));
		if (role == TD_ROLE_NONE && w->format >= 0)
			role = TD_ROLE_BYTES;
		if (w == s->main)
			continue;
		if (w->code < 0 && out->code == 0)
			rc = make_bad(out, w->code, (const char *)w->reason.data, e);
		if (role == TD_ROLE_NONE) {
			td_listing_leave_out(s->l, (const char *)w->name.data);
		} else if (role == TD_ROLE_CLASS) {
			td_group_class(&w->data);
			if (w->data.len && !s->o->labels && !own && !(own = strndup((char *)w->data.data, w->data.len)))
				rc = td_err_memory(e);
		} else if (!add_companion(out, w, role)) {
			rc = td_err_memory(e);
		}
	}
	if (rc == 0 && out->code == 0)
		rc = label(s, out, (const char *)out->name.data, strlen(source_of(s)->prefix), own, e);
	free(own);
	return rc;
}

/* One sample of the group that is gathered: 1, or 0 when there is none left. */
static int give(struct td_intake *s, struct td_taken *out, struct tundish_error *e)
{
	if (!s->settled)
		settle_group(s);
	if (s->main && s->given < s->n_group) {
		int rc = give_group(s, out, e);
		return rc < 0 ? rc : 1;
	}
	while (s->given < s->n_group) {
		struct waiting *w = &s->group[s->given++];
		if (w->format < 0 && w->code == 0) {
			td_listing_leave_out(s->l, (const char *)w->name.data);
			continue;
		}
		int rc = start_sample(s, out, w, e);
		if (rc == 0 && out->code == 0)
			rc = label(s, out, (const char *)out->name.data, strlen(source_of(s)->prefix), NULL, e);
		return rc < 0 ? rc : 1;
	}
	return 0;
}

/* ---- sources ---- */

static int no_archive(const struct td_intake *s, struct tundish_error *e)
{
	return td_err(e, TUNDISH_E_EMPTY, "%s: only a tar or zip archive can be read from a stream (%s)",
	    TD_ESC(source_of(s)->path), s->why.text);
}

static int open_source(struct td_intake *s, struct tundish_error *e)
{
	s->a = td_archiver(e);
	if (!s->a)
		return TUNDISH_E_MODULE;
	s->any = s->at_end = false;
	s->fault = 0;
	int rc = td_inlet_open(&s->inlet, source_of(s)->path, s->o->listener, e);
	if (rc < 0)
		return rc;
	s->feed = (struct td_archive_feed){ td_inlet_read, s->inlet };
	rc = s->a->open(&s->archive, -1, 0, TD_ARCHIVE_PIPE, &s->feed, &s->why);
	return rc == 0 ? 0 : rc == TUNDISH_E_CORRUPT ? no_archive(s, e) : td_err(e, rc, "%s", s->why.text);
}

static void close_source(struct td_intake *s)
{
	if (s->archive)
		s->a->close(s->archive);
	td_inlet_close(s->inlet);
	s->archive = NULL;
	s->inlet = NULL;
}

/* The archive is at its end: a last sample that says what is wrong with it, or 0. */
static int end_source(struct td_intake *s, struct td_taken *out, struct tundish_error *e)
{
	const char *path = source_of(s)->path;
	bool ended = s->a->ended(s->archive);
	close_source(s);
	if (!s->any && s->fault == TUNDISH_E_CORRUPT)
		return no_archive(s, e);
	if (!s->fault && s->any && !ended)
		td_notice(s->o->listener, "%s: no end mark: it may have been cut", TD_ESC(path));
	s->source++;
	if (!s->fault)
		return 0;
	const char *base = td_path_base(path);
	out->offset = s->fault_offset;
	if (!set_text(&out->path, path, strlen(path)) || !set_text(&out->name, base, strlen(base)))
		return td_err_memory(e);
	int rc = make_bad(out, s->fault, s->why.text, e);
	return rc < 0 ? rc : 1;
}

static int give_listed(struct td_intake *s, struct td_taken *out, struct tundish_error *e)
{
	const struct td_listing *l = s->l;
	const struct td_item *item = &l->items[s->next_item];
	const char *name = td_item_name(l, item);
	const struct td_classes *own = s->fixed ? s->fixed : &l->classes;
	out->item = (int64_t)s->next_item++;
	out->offset = -1;
	if (!set_text(&out->name, name, strlen(name)) || !td_item_path(&out->path, l, item))
		return td_err_memory(e);
	int rc = label(s, out, name, l->roots[item->root].skip,
	    item->flags & TD_ITEM_LABELS ? own->list[item->class].name : NULL, e);
	return rc < 0 ? rc : 1;
}

int td_intake_next(struct td_intake *s, struct td_taken *out, struct tundish_error *e)
{
	out->item = -1;
	out->code = 0;
	out->n = out->side.len = 0;
	out->labelled = false;
	if (s->next_item < s->l->n)
		return give_listed(s, out, e);
	while (s->source < s->l->n_streams) {
		int rc = s->archive ? 0 : open_source(s, e);
		if (rc == 0)
			rc = give(s, out, e);
		if (rc == 0)
			rc = gather(s, e);
		else
			return rc;
		if (rc == 1)
			continue;
		if (rc == 0)
			rc = end_source(s, out, e);
		if (rc != 0)
			return rc;
	}
	return 0;
}

/* ---- all together ---- */

int td_intake_open(struct td_intake **ret, struct td_listing *l, const struct td_classes *fixed,
    const struct td_list_options *o, struct tundish_error *e)
{
	struct td_intake *s = calloc(1, sizeof *s);
	if (!s)
		return td_err_memory(e);
	s->l = l;
	s->fixed = fixed;
	s->o = o;
	int rc = td_labels_parse(&s->labels, o->labels, e);
	if (rc == 0 && (s->labels.from == TD_LABELS_CSV || s->labels.from == TD_LABELS_JSON))
		rc = td_err(e, TUNDISH_E_USAGE, "labels: other files need sources that can be listed, and %s is a stream",
		    TD_ESC(l->streams[0].path));
	if (rc == 0 && s->labels.from == TD_LABELS_REGEX) {
		rc = td_regex_compile(&s->re, s->labels.pattern, e);
		s->have_re = rc == 0;
	}
	if (rc < 0)
		td_intake_close(s);
	else
		*ret = s;
	return rc;
}

void td_intake_close(struct td_intake *s)
{
	if (!s)
		return;
	close_source(s);
	for (size_t i = 0; i < s->group_cap; i++)
		free_waiting(&s->group[i]);
	free(s->group);
	free_waiting(&s->ahead);
	if (s->have_re)
		regfree(&s->re);
	td_labels_free(&s->labels);
	free(s);
}

int td_taken_load(struct td_loaded *out, struct td_buf *path, struct td_taken *s, const struct td_listing *l,
    const struct td_cut *cut, struct tundish_error *e)
{
	int rc = 0;
	if (s->item >= 0)
		return td_item_load(out, path, l, &l->items[s->item], cut, e);
	td_extras_reset(&out->extras);
	out->array = false;
	struct td_buf data = out->data;
	out->data = s->data;
	s->data = data;
	for (size_t i = 0; rc == 0 && i < s->n; i++) {
		const struct td_companion *c = &s->companions[i];
		rc = td_group_extras(&out->extras, c->role, (const char *)s->side.data + c->extension,
		    s->side.data + c->data, c->bytes, e);
	}
	return rc;
}
