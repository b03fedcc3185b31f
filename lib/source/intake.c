/* SPDX-License-Identifier: BSD-2-Clause
 * Sources that are read once, from their start: pipes and compressed archives. */
#include "intake.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "assign.h"
#include "base/err.h"
#include "base/path.h"
#include "base/thread.h"
#include "group.h"
#include "inlet.h"
#include "intake-inside.h"
#include "media/raster.h"
#include "member.h"
#include "picture.h"
#include "seen.h"

/* A member that is a file of items, of which some were handed out. */
struct opened {
	struct td_spilled *file; /* NULL: there is none */
	int format;
	struct td_parts parts;
	bool told_loss;
	uint32_t next;
	const char *label, *group; /* texts of the parts; NULL: there are none */
	struct td_buf name, path;
	int64_t offset;
};

struct td_intake {
	struct td_listing *l;
	const struct td_list_options *o;
	struct td_naming naming;
	const struct td_archiver *a;
	size_t next_item, source; /* of the listing; stream that is read */
	void *archive;		  /* NULL: the next source is to be opened */
	struct td_inlet *inlet;
	struct td_archive_feed feed;
	bool any; /* a member was met */
	struct td_waiting *group;
	size_t n_group, given, group_cap; /* members, those handed out, and slots made */
	struct td_waiting ahead; /* the first of the next group */
	bool have_ahead, at_end;
	struct td_waiting *main; /* of a group that is one sample; NULL: each for itself */
	bool settled;	      /* that is known */
	struct td_hold hold;
	struct opened opened;
	struct td_seen seen; /* names */
	struct td_buf text;
	int fault;	      /* the archive is damaged behind the group */
	struct tundish_error why;
	int64_t fault_offset;
};

static const struct td_stream_source *source_of(const struct td_intake *s)
{
	return &s->l->streams[s->source];
}

/* ---- reading members ---- */

static const char *name_of(const struct td_waiting *w)
{
	return (const char *)w->name.data;
}

static const char *extension(const struct td_waiting *w)
{
	const char *name = name_of(w);
	return name + w->key + (name[w->key] == '.');
}

static bool is_picture(const struct td_waiting *w)
{
	return w->format >= 0 && td_formats[w->format] == &td_format_picture;
}

/* The rest of a member behind its first bytes, into a file: that of a format, or numbers. */
static int pour(struct td_intake *s, struct td_waiting *w, bool numbers, uint64_t most)
{
	int rc = td_spilled_new(&w->file, &s->why);
	if (rc == 0 && numbers)
		rc = td_spilled_add_data(w->file, &s->why);
	if (rc < 0)
		return rc;
	int to = numbers ? w->file->data_fd : w->file->fd;
	rc = td_spilled_put(to, w->data.data, w->data.len, &s->why);
	if (rc < 0)
		return rc;
	uint64_t done = w->data.len;
	w->data.len = 0;
	return td_member_pour(to, s->a, s->archive, done, most, &s->why);
}

/* Whether a header of those that were met is in want of it. */
static bool is_wanted(const struct td_intake *s, const char *name)
{
	for (size_t i = s->given; i < s->n_group; i++)
		if (s->group[i].header && td_raster_is_data(name_of(&s->group[i]), name))
			return true;
	return td_hold_wants(&s->hold, name);
}

/* What may be numbers of a header is kept in memory until that comes, as far as there is room. */
static int read_numbers(struct td_intake *s, struct td_waiting *w, uint64_t bytes, uint64_t most)
{
	uint64_t room = s->hold.most - TD_MIN(s->hold.most, s->hold.bytes + 4096);
	w->numbers = true;
	if (is_wanted(s, name_of(w)))
		return pour(s, w, true, most);
	int rc = bytes > room ? TUNDISH_E_LIMIT : s->a->read(s->archive, &w->data, room, false, &s->why);
	if (rc != TUNDISH_E_LIMIT)
		return rc;
	w->numbers = false;
	td_buf_free(&w->data);
	return 0;
}

/* All of it, or only its beginning where that shows that it is nothing. */
static int read_content(struct td_intake *s, struct td_waiting *w, const struct td_entry *entry)
{
	const uint64_t most = s->o->cut->max_bytes;
	bool side = td_group_role(extension(w)) != TD_ROLE_NONE;
	if (entry->locked)
		return td_err(&s->why, TUNDISH_E_UNSUPPORTED, "%s", entry->locked);
	if (entry->bytes > most)
		return td_err(&s->why, TUNDISH_E_LIMIT, "%" PRIu64 " bytes, more than %" PRIu64, entry->bytes, most);
	if (side)
		return s->a->read(s->archive, &w->data, TD_MIN(most, TD_COMPANION_MAX), false, &s->why);
	int rc = w->format < 0 ? s->a->read(s->archive, &w->data, TD_HEAD_BYTES, true, &s->why) : 0;
	if (rc < 0)
		return rc;
	if (w->format < 0) {
		w->format = td_format_probe(name_of(w), w->data.data, w->data.len);
		w->header = w->format >= 0 && td_raster_probe(w->data.data, w->data.len) == TD_RASTER_ENVI;
	}
	if (is_picture(w))
		return s->a->read(s->archive, &w->data, most, false, &s->why);
	if (w->header)
		return s->a->read(s->archive, &w->data, TD_COMPANION_MAX, false, &s->why);
	if (w->format >= 0)
		return pour(s, w, false, most);
	return td_raster_data_named(name_of(w)) ? read_numbers(s, w, entry->bytes, most) : 0;
}

static bool ends_run(int rc)
{
	return rc == TUNDISH_E_MEMORY || rc == TUNDISH_E_STOPPED || rc == TUNDISH_E_IO || rc == TUNDISH_E_MODULE ||
	    rc == TUNDISH_E_SPACE;
}

static int read_member(struct td_intake *s, struct td_waiting *w, const struct td_entry *entry, struct tundish_error *e)
{
	int rc = read_content(s, w, entry);
	w->code = rc;
	if (ends_run(rc))
		return td_err(e, rc, "%s: %s", TD_ESC(source_of(s)->path), s->why.text);
	return rc == 0 || td_taken_text(&w->reason, s->why.text, strlen(s->why.text)) ? 0 : td_err_memory(e);
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
	struct td_waiting *w = &s->ahead;
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
		if (!td_taken_text(&w->name, entry.name, strlen(entry.name)))
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
		td_waiting_reset(w);
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
	const struct td_waiting *a = &s->group[0], *b = &s->ahead;
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
	struct td_waiting old = s->group[s->n_group];
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

/* The member of the group that holds the numbers of its main one, a header. */
static struct td_waiting *own_numbers(struct td_intake *s, const struct td_waiting *header)
{
	struct td_waiting *found = NULL;
	unsigned best = 0;
	for (size_t i = 0; i < s->n_group; i++) {
		struct td_waiting *w = &s->group[i];
		unsigned rank = w->numbers ? td_raster_is_data(name_of(header), name_of(w)) : 0;
		found = rank > best ? w : found;
		best = TD_MAX(best, rank);
	}
	return found;
}

/* As td_archive_list() has it: a picture or other file, and a class or JSON beside it. */
static void settle_group(struct td_intake *s)
{
	struct td_waiting *item = NULL;
	bool marked = false;
	for (size_t i = 0; i < s->n_group; i++) {
		struct td_waiting *w = &s->group[i];
		enum td_role role = td_group_role(extension(w));
		if (w->format >= 0 && role == TD_ROLE_NONE && (!w->header || own_numbers(s, w)) &&
		    (!item || td_group_rather(extension(w), extension(item))))
			item = w;
		marked |= role == TD_ROLE_CLASS || role == TD_ROLE_JSON;
	}
	s->main = marked ? item : NULL;
	s->settled = true;
}

static bool add_companion(struct td_taken *out, const struct td_waiting *w, enum td_role role)
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

/* The name below its source. */
static const char *below(const struct td_intake *s, const struct td_taken *out)
{
	return (const char *)out->name.data + strlen(source_of(s)->prefix);
}

/* Name and place of a sample. */
static int start_sample(struct td_intake *s, struct td_taken *out, const char *name, int64_t offset,
    struct tundish_error *e)
{
	const struct td_stream_source *from = source_of(s);
	out->name.len = out->path.len = 0;
	out->offset = offset;
	return td_buf_printf(&out->name, "%s%s", from->prefix, name) && td_buf_printf(&out->path, "%s/%s", from->path, name) ?
	    0 : td_err_memory(e);
}

/* A picture, or what is bad. */
static int give_member(struct td_intake *s, struct td_taken *out, struct td_waiting *w, struct tundish_error *e)
{
	struct td_buf used = out->data;
	int rc = start_sample(s, out, name_of(w), -1, e);
	out->data = w->data; /* which is given once, and then filled anew */
	used.len = 0;
	w->data = used;
	if (rc < 0)
		return rc;
	if (!td_seen_add(&s->seen, name_of(w)))
		return td_err_memory(e);
	if (w->code < 0)
		return td_taken_bad(out, w->code, (const char *)w->reason.data, e);
	return out->data.len ? 0 : td_taken_bad(out, TUNDISH_E_CORRUPT, "empty file", e);
}

/* ---- files of several items ---- */

static void close_opened(struct opened *o)
{
	td_spilled_drop(o->file);
	td_parts_free(&o->parts);
	o->file = NULL;
}

/* Looks through a member that is a file, which is taken over: 1, or 0 where `out` says why not. */
static int open_member(struct td_intake *s, struct td_taken *out, const struct td_waiting *w,
    struct td_spilled *file, struct tundish_error *e)
{
	struct opened *o = &s->opened;
	int rc = start_sample(s, out, name_of(w), -1, e);
	*o = (struct opened){ .file = file, .format = w->format, .name = o->name, .path = o->path };
	if (rc == 0 && (!td_taken_text(&o->name, name_of(w), w->name.len - 1) ||
	    !td_taken_text(&o->path, (const char *)out->path.data, out->path.len) || !td_seen_add(&s->seen, name_of(w))))
		rc = td_err_memory(e);
	if (rc < 0)
		return rc;
	struct td_file f = { .path = (const char *)o->path.data };
	td_spilled_file(&f, file);
	rc = td_file_parts(&o->parts, (unsigned)w->format, &f, s->o->cut, s->o->listener, &s->why);
	if (ends_run(rc))
		return td_err(e, rc, "%s: %s", TD_ESC(f.name), s->why.text);
	if (rc < 0) {
		close_opened(o);
		return td_taken_bad(out, rc, s->why.text, e);
	}
	file->index = o->parts.index;
	o->parts.index = (struct td_buf){ 0 };
	o->label = s->naming.labels.from == TD_LABELS_FOLDER ? td_first_text(&o->parts.labels) : NULL;
	o->group = td_first_text(&o->parts.groups);
	return td_listing_note(s->l, (const char *)o->name.data, &o->parts) ? 1 : td_err_memory(e);
}

/* What no split may part. */
static bool set_group(const struct opened *o, struct td_taken *out)
{
	bool several = o->parts.n > 1 || o->parts.grouped || o->parts.numbers;
	out->group.len = 0;
	if (o->group)
		return td_buf_printf(&out->group, "%s:%s", (const char *)out->name.data, o->group) &&
		    td_buf_add(&out->group, "", 1);
	return !several || o->parts.samples ||
	    td_taken_text(&out->group, (const char *)out->name.data, strlen((const char *)out->name.data));
}

/* One item of the file that is open, and what that says of its label: 1, or 0 when there is
 * none left. */
static int give_part(struct td_intake *s, struct td_taken *out, const char **ret_own, struct tundish_error *e)
{
	struct opened *o = &s->opened;
	const struct td_parts *p = &o->parts;
	if (!o->file || (o->next >= p->n && (o->told_loss || !p->loss))) {
		close_opened(o);
		return 0;
	}
	int rc = start_sample(s, out, (const char *)o->name.data, -1, e);
	if (rc == 0 && p->loss && !o->told_loss) {
		o->told_loss = true;
		rc = td_taken_bad(out, TUNDISH_E_CORRUPT, p->loss, e);
		return rc < 0 ? rc : 1;
	}
	out->data.len = 0;
	out->format = o->format;
	out->file = td_spilled_share(o->file);
	out->part = p->numbers ? p->numbers[o->next] : o->next;
	out->record = p->n > 1 || p->grouped || p->numbers ? (int64_t)out->part : -1;
	out->bytes = p->bytes;
	out->clip = p->clips;
	out->sound = p->sound;
	out->sequence = p->sequence;
	if (rc == 0 && !set_group(o, out))
		rc = td_err_memory(e);
	*ret_own = o->label && (*o->label || p->unlabelled) ? o->label : NULL;
	o->next++;
	o->label = td_next_text(o->label);
	o->group = td_next_text(o->group);
	return rc < 0 ? rc : 1;
}

/* The same with its label. */
static int give_labelled(struct td_intake *s, struct td_taken *out, struct tundish_error *e)
{
	const char *own = NULL;
	int rc = give_part(s, out, &own, e);
	if (rc != 1 || out->code < 0)
		return rc;
	rc = td_naming_label(&s->naming, out, below(s, out), own, e);
	return rc < 0 ? rc : 1;
}

/* A header and its numbers have met. */
static int open_pair(struct td_intake *s, struct td_taken *out, struct td_waiting *header, struct td_waiting *numbers,
    struct tundish_error *e)
{
	struct td_spilled *file;
	int rc = td_hold_join(&file, header, numbers, &s->why);
	return rc < 0 ? td_err(e, rc, "%s: %s", TD_ESC(source_of(s)->path), s->why.text) :
			open_member(s, out, header, file, e);
}

/* One of both: what it belongs to is opened, 1; it waits from now on, 2; or it is bad, 0. */
static int meet(struct td_intake *s, struct td_taken *out, struct td_waiting *w, struct tundish_error *e)
{
	struct td_waiting other = { 0 };
	bool header = w->header;
	int rc = header ? td_hold_header(&s->hold, w, &other, &s->why) : td_hold_numbers(&s->hold, w, &other, &s->why);
	if (rc == 1)
		rc = open_pair(s, out, header ? w : &other, header ? &other : w, e);
	else if (rc == 0)
		rc = 2;
	else if (rc != TUNDISH_E_LIMIT)
		rc = td_err(e, rc, "%s", s->why.text);
	else if (!header)
		rc = (td_listing_leave_out(s->l, name_of(w)), 2);
	else
		rc = start_sample(s, out, name_of(w), w->offset, e) < 0 ? td_err_memory(e) :
		    td_taken_bad(out, rc, s->why.text, e);
	td_waiting_free(&other);
	return rc;
}

/* ---- samples ---- */

/* What belongs to the main member: its own label goes to *ret_own, to be freed. */
static int add_companions(struct td_intake *s, struct td_taken *out, char **ret_own, struct tundish_error *e)
{
	const struct td_labels *labels = &s->naming.labels;
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < s->n_group; i++) {
		struct td_waiting *w = &s->group[i];
		enum td_role role = td_group_role(extension(w));
		if (role == TD_ROLE_NONE && is_picture(w))
			role = TD_ROLE_BYTES;
		if (w == s->main || role == TD_ROLE_NONE)
			continue;
		if (w->code < 0 && out->code == 0)
			rc = td_taken_bad(out, w->code, (const char *)w->reason.data, e);
		if (role == TD_ROLE_CLASS) {
			td_group_class(&w->data);
			if (w->data.len && !s->o->labels && !*ret_own &&
			    !(*ret_own = strndup((char *)w->data.data, w->data.len)))
				rc = td_err_memory(e);
			continue;
		}
		if (role == TD_ROLE_JSON && labels->from == TD_LABELS_JSON && !*ret_own &&
		    td_sidecar_label(&s->text, labels, w->data.data, w->data.len) &&
		    !(*ret_own = strdup((const char *)s->text.data)))
			rc = td_err_memory(e);
		if (rc == 0 && !add_companion(out, w, role))
			rc = td_err_memory(e);
	}
	return rc;
}

/* Those of a group that are nothing, once for all of its items. */
static void leave_rest(struct td_intake *s, const struct td_waiting *numbers)
{
	for (size_t i = 0; i < s->n_group; i++) {
		const struct td_waiting *w = &s->group[i];
		if (w != s->main && w != numbers && !is_picture(w) && td_group_role(extension(w)) == TD_ROLE_NONE)
			td_listing_leave_out(s->l, name_of(w));
	}
}

/* The rest of an item in a group: its label, which its file may say itself. */
static int end_group_item(struct td_intake *s, struct td_taken *out, const char *of_file, struct tundish_error *e)
{
	char *own = NULL;
	int rc = add_companions(s, out, &own, e);
	if (rc == 0 && out->code == 0)
		rc = td_naming_label(&s->naming, out, below(s, out), own ? own : of_file, e);
	free(own);
	return rc < 0 ? rc : 1;
}

/* The next item of a group that is one sample, or several where its main member is a file. */
static int give_group(struct td_intake *s, struct td_taken *out, struct tundish_error *e)
{
	struct td_waiting *w = s->main, *numbers = w->header ? own_numbers(s, w) : NULL;
	const char *own = NULL;
	int rc = 1;
	if (s->given == 0) {
		s->given = s->n_group;
		leave_rest(s, numbers);
		if (w->code == 0 && numbers && numbers->code < 0) {
			w->code = numbers->code;
			if (!td_taken_text(&w->reason, (const char *)numbers->reason.data, strlen((const char *)numbers->reason.data)))
				return td_err_memory(e);
		}
		if (w->code < 0 || is_picture(w)) {
			rc = give_member(s, out, w, e);
			return rc < 0 ? rc : end_group_item(s, out, NULL, e);
		}
		struct td_spilled *file = w->file;
		w->file = NULL;
		rc = numbers ? open_pair(s, out, w, numbers, e) : open_member(s, out, w, file, e);
	}
	if (rc == 1) {
		rc = give_part(s, out, &own, e);
		return rc == 1 ? end_group_item(s, out, own, e) : rc;
	}
	return rc < 0 ? rc : 1;
}

/* A member for itself: 1, 0 where it is nothing by itself. */
static int give_single(struct td_intake *s, struct td_taken *out, struct td_waiting *w, struct tundish_error *e)
{
	int rc = 0;
	if (w->numbers && w->code == 0) {
		rc = meet(s, out, w, e);
	} else if ((w->format < 0 && w->code == 0) || !td_naming_wants(&s->naming, name_of(w))) {
		td_listing_leave_out(s->l, name_of(w));
		return 0;
	} else if (w->header && w->code == 0) {
		rc = meet(s, out, w, e);
	} else if (w->code == 0 && !is_picture(w)) {
		struct td_spilled *file = w->file;
		w->file = NULL;
		rc = open_member(s, out, w, file, e);
	} else {
		rc = give_member(s, out, w, e);
		if (rc == 0 && out->code == 0)
			rc = td_naming_label(&s->naming, out, below(s, out), NULL, e);
	}
	if (rc == 1)
		return give_labelled(s, out, e);
	return rc < 0 ? rc : rc != 2;
}

/* One sample of the group that is gathered: 1, or 0 when there is none left. */
static int give(struct td_intake *s, struct td_taken *out, struct tundish_error *e)
{
	if (!s->settled)
		settle_group(s);
	if (s->opened.file && !s->main) {
		int rc = give_labelled(s, out, e);
		if (rc != 0)
			return rc;
	}
	if (s->main && s->given == 0 && !td_naming_wants(&s->naming, name_of(s->main))) {
		td_listing_leave_out(s->l, name_of(s->main));
		leave_rest(s, NULL);
		s->given = s->n_group;
		return 0;
	}
	if (s->main)
		return s->given == 0 || s->opened.file ? give_group(s, out, e) : 0;
	while (s->given < s->n_group) {
		int rc = give_single(s, out, &s->group[s->given++], e);
		if (rc != 0)
			return rc;
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

/* Headers that found no numbers: 1, 0 when there are none. */
static int give_orphan(struct td_intake *s, struct td_taken *out, struct tundish_error *e)
{
	struct td_waiting w = { 0 };
	if (!td_hold_orphan(&s->hold, &w)) {
		for (size_t i = 0; i < s->hold.n_numbers; i++)
			td_listing_leave_out(s->l, name_of(&s->hold.numbers[i]));
		td_hold_free(&s->hold);
		return 0;
	}
	int rc = start_sample(s, out, name_of(&w), w.offset, e);
	if (rc == 0)
		rc = td_taken_bad(out, TUNDISH_E_NOT_FOUND, "no data file in the archive for the ENVI header, or one "
		    "before it that took more room than there is to wait (--memory)", e);
	td_waiting_free(&w);
	return rc < 0 ? rc : 1;
}

/* The archive is at its end: a last sample that says what is wrong with it, or 0. */
static int end_source(struct td_intake *s, struct td_taken *out, struct tundish_error *e)
{
	const char *path = source_of(s)->path;
	int orphan = give_orphan(s, out, e);
	if (orphan != 0)
		return orphan;
	bool ended = s->a->ended(s->archive);
	close_source(s);
	td_seen_tell(&s->seen, path, s->o->listener);
	if (!s->any && s->fault == TUNDISH_E_CORRUPT)
		return no_archive(s, e);
	if (!s->fault && s->any && !ended)
		td_notice(s->o->listener, "%s: no end mark: it may have been cut", TD_ESC(path));
	s->source++;
	if (!s->fault)
		return 0;
	const char *base = td_path_base(path);
	out->offset = s->fault_offset;
	if (!td_taken_text(&out->path, path, strlen(path)) || !td_taken_text(&out->name, base, strlen(base)))
		return td_err_memory(e);
	int rc = td_taken_bad(out, s->fault, s->why.text, e);
	return rc < 0 ? rc : 1;
}

static int give_listed(struct td_intake *s, struct td_taken *out, struct tundish_error *e)
{
	struct td_listing *l = s->l;
	const struct td_item *item = &l->items[s->next_item++];
	const char *name = td_item_name(l, item), *own = NULL;
	const struct td_classes *classes = s->naming.fixed ? s->naming.fixed : &l->classes;
	size_t skip = l->roots[item->root].skip;
	if (!td_naming_wants(&s->naming, name + skip)) {
		td_listing_leave_out(l, name);
		return 0;
	}
	out->item = (int64_t)(item - l->items);
	if (!td_taken_text(&out->name, name, strlen(name)) || !td_item_path(&out->path, l, item))
		return td_err_memory(e);
	if (item->flags & (TD_ITEM_PART | TD_ITEM_SAMPLE))
		out->record = item->part;
	if (item->flags & TD_ITEM_LABELS)
		own = classes->list[item->class].name;
	else if (item->flags & TD_ITEM_UNLABELLED)
		own = "";
	int rc = td_naming_label(&s->naming, out, name + skip, own, e);
	return rc < 0 ? rc : 1;
}

static void reset(struct td_taken *out)
{
	td_spilled_drop(out->file);
	out->file = NULL;
	out->item = out->offset = out->line = out->record = -1;
	out->code = 0;
	out->n = out->side.len = out->group.len = out->row = 0;
	out->bytes = 0;
	out->labelled = out->clip = out->sound = out->sequence = false;
}

int td_intake_next(struct td_intake *s, struct td_taken *out, struct tundish_error *e)
{
	reset(out);
	while (s->next_item < s->l->n) {
		int rc = give_listed(s, out, e);
		if (rc != 0)
			return rc;
	}
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
	return td_naming_rest(&s->naming, out, e);
}

/* ---- all together ---- */

int td_intake_open(struct td_intake **ret, struct td_listing *l, const struct td_classes *fixed,
    const struct td_list_options *o, struct tundish_error *e)
{
	struct td_intake *s = calloc(1, sizeof *s);
	if (!s)
		return td_err_memory(e);
	s->l = l;
	s->o = o;
	s->hold.most = td_memory(o->memory) / 8;
	s->seen.most = (size_t)(td_memory(o->memory) / 32);
	int rc = td_naming_init(&s->naming, l, fixed, o, e);
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
		td_waiting_free(&s->group[i]);
	free(s->group);
	td_waiting_free(&s->ahead);
	td_hold_free(&s->hold);
	close_opened(&s->opened);
	td_buf_free(&s->opened.name);
	td_buf_free(&s->opened.path);
	td_seen_free(&s->seen);
	td_naming_fini(&s->naming);
	td_buf_free(&s->text);
	free(s);
}
