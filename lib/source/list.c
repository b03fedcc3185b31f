/* SPDX-License-Identifier: BSD-2-Clause
 * The listing: walking the sources, probing what has no telling name, hints. */
#include "list.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "archive.h"
#include "assign.h"
#include "base/crc32c.h"
#include "base/err.h"
#include "base/infile.h"
#include "base/map.h"
#include "base/path.h"
#include "base/pool.h"
#include "media/raster.h"
#include "patterns.h"
#include "picture.h"
#include "times.h"

bool td_item_path(struct td_buf *out, const struct td_listing *l, const struct td_item *item)
{
	const char *folder = l->roots[item->root].folder, *name = td_item_name(l, item);
	size_t len = strlen(folder);
	out->len = 0;
	return td_buf_add(out, folder, len) &&
	    (len == 0 || folder[len - 1] == '/' || td_buf_add(out, "/", 1)) &&
	    td_buf_add(out, name, strlen(name) + 1);
}

bool td_item_file(struct td_file *ret, struct td_buf *out, const struct td_listing *l, const struct td_item *item)
{
	if (!td_item_path(out, l, item))
		return false;
	const struct td_root *root = &l->roots[item->root];
	*ret = (struct td_file){ (const char *)out->data, root->spec, &root->index };
	return true;
}

int td_item_load(struct td_loaded *out, struct td_buf *path, const struct td_listing *l,
    const struct td_item *item, const struct td_cut *cut, struct tundish_error *e)
{
	struct td_file file;
	if (!td_item_file(&file, path, l, item))
		return td_err_memory(e);
	int rc = item->member ? td_member_load(out, file, l, item, cut, e) :
				td_format_load(out, item->format, &file, item->part, cut, e);
	if (rc == 0 && td_formats[item->format] == &td_format_picture && !td_frame_extras(out, td_item_name(l, item)))
		rc = td_err_memory(e);
	return rc == 0 && cut->align ? td_aligns_load(cut->align, out, file.path, e) : rc;
}

int td_item_look(struct td_loaded *out, struct td_buf *path, const struct td_listing *l,
    const struct td_item *item, const struct td_cut *cut, struct tundish_error *e)
{
	struct td_file file;
	if (item->member)
		return td_item_load(out, path, l, item, cut, e);
	if (!td_item_file(&file, path, l, item))
		return td_err_memory(e);
	return td_format_look(out, item->format, &file, item->part, cut, e);
}

bool td_listing_root(struct td_listing *l, const char *folder, size_t skip, const char *spec)
{
	char *copy = strdup(folder), *spec_copy = spec ? strdup(spec) : NULL;
	if (!copy || (spec && !spec_copy) || !td_grow(&l->roots, &l->roots_cap, l->n_roots, sizeof *l->roots)) {
		free(copy);
		free(spec_copy);
		return false;
	}
	l->roots[l->n_roots++] = (struct td_root){ .folder = copy, .skip = skip, .spec = spec_copy };
	return true;
}

bool td_listing_add(struct td_listing *l, size_t root, const char *prefix, const char *name,
    const struct td_item *item)
{
	size_t at = l->names.len;
	if (!td_grow(&l->items, &l->cap, l->n, sizeof *l->items) ||
	    !td_buf_add(&l->names, prefix, strlen(prefix)) ||
	    !td_buf_add(&l->names, name, strlen(name) + 1))
		return false;
	struct td_item *new = &l->items[l->n++];
	*new = *item;
	new->name = at;
	new->root = (uint32_t)root;
	return true;
}

bool td_listing_group(struct td_listing *l, const char *name, uint32_t *ret)
{
	uint32_t *number = td_map_at(&l->groups, name, strlen(name));
	if (!number)
		return false;
	if (*number == 0)
		*number = (uint32_t)l->groups.n;
	*ret = *number;
	return true;
}

/* The word of the kinds that is this suffix, with its number; NULL: none. */
static char *find_kind(struct td_listing *l, const char *suffix, unsigned *ret_at)
{
	size_t n = strlen(suffix);
	*ret_at = 0;
	for (char *p = l->left_out_kinds; *p; ++*ret_at) {
		size_t len = strcspn(p, " ");
		if (len == n && memcmp(p, suffix, n) == 0)
			return p;
		p += len + (p[len] == ' ');
	}
	return NULL;
}

void td_listing_leave_out(struct td_listing *l, const char *name)
{
	const char *suffix = td_path_suffix(name);
	char *kinds = l->left_out_kinds;
	size_t len = strlen(kinds), n = strlen(suffix);
	unsigned at;
	l->left_out++;
	if (find_kind(l, suffix, &at)) {
		l->left_out_of_kind[at]++;
		return;
	}
	for (size_t i = 1; i < n; i++)
		if ((unsigned char)suffix[i] <= ' ' || (unsigned char)suffix[i] > '~')
			return;
	if (n > 0 && n < 12 && len + n + 2 <= sizeof l->left_out_kinds) {
		if (len)
			kinds[len++] = ' ';
		memcpy(kinds + len, suffix, n + 1);
		l->left_out_of_kind[at] = 1;
	}
}

void td_listing_take_back(struct td_listing *l, const char *name)
{
	unsigned at;
	char *kind = find_kind(l, td_path_suffix(name), &at);
	l->left_out -= l->left_out > 0;
	if (!kind || --l->left_out_of_kind[at] > 0)
		return;
	size_t len = strcspn(kind, " ");
	memmove(&l->left_out_of_kind[at], &l->left_out_of_kind[at + 1],
	    (TD_COUNT(l->left_out_of_kind) - at - 1) * sizeof *l->left_out_of_kind);
	if (kind[len])
		memmove(kind, kind + len + 1, strlen(kind + len + 1) + 1);
	else
		kind[kind > l->left_out_kinds ? -1 : 0] = 0;
}

void td_listing_keep(struct td_listing *l, bool (*keep)(const struct td_item *item))
{
	size_t n = 0;
	for (size_t i = 0; i < l->n; i++) {
		if (keep(&l->items[i]))
			l->items[n++] = l->items[i];
		else
			td_listing_leave_out(l, td_item_name(l, &l->items[i]));
	}
	l->n = n;
}

struct lister {
	struct td_listing *l;
	const struct td_list_options *o;
	struct td_labels labels;
	struct td_bad *bad;
	char *prefix; /* before the names of the source that is walked */
	struct td_map folders; /* first level of the sources */
	uint64_t polled;
	uint64_t archives; /* met below a folder */
	char *first_archive;
};

bool td_is_litter(const char *base)
{
	return base[0] == '.' || strcmp(base, "Thumbs.db") == 0 || strcmp(base, "desktop.ini") == 0 ||
	    strcmp(base, "__MACOSX") == 0;
}

static void note_file(struct td_listing *l, const char *name, uint64_t bytes, int64_t changed_ns)
{
	l->looked_at++;
	l->files = td_crc32c(l->files, name, strlen(name) + 1);
	l->files = td_crc32c(l->files, &bytes, sizeof bytes);
	l->files = td_crc32c(l->files, &changed_ns, sizeof changed_ns);
}

/* Of a file whose name tells nothing. A table's row may name it. */
static uint8_t unknown_flags(const struct lister *w)
{
	return TD_ITEM_PROBE | (w->labels.from == TD_LABELS_CSV ? TD_ITEM_NAMED : 0);
}

static int64_t changed_ns(const struct stat *st)
{
	return (int64_t)st->st_mtim.tv_sec * 1000000000 + st->st_mtim.tv_nsec;
}

static int add_file(struct lister *w, const struct td_walk_entry *entry, struct tundish_error *e)
{
	int format = td_format_named(entry->name);
	if (format < 0 && td_archive_named(entry->name) && !w->archives++) {
		w->first_archive = strdup(entry->path);
		if (!w->first_archive)
			return td_err_memory(e);
	}
	note_file(w->l, entry->name, entry->bytes, entry->changed_ns);
	const struct td_item item = {
		.bytes = entry->bytes,
		.class = -1,
		.format = (uint8_t)TD_MAX(format, 0),
		.flags = format >= 0 ? 0 : unknown_flags(w),
	};
	return td_listing_add(w->l, w->l->n_roots - 1, w->prefix, entry->name, &item) ? 0 :
	    td_err_memory(e);
}

static int bad_entry(struct lister *w, const struct td_walk_entry *entry, int code,
    const char *reason, struct tundish_error *e)
{
	return td_bad_item(w->bad, code, TD_PLACE(entry->path), entry->name, reason, e);
}

static int pass_over(struct lister *w, const struct td_walk_entry *entry, const char *why)
{
	td_notice(w->o->listener, "%s: %s, passed over", TD_ESC(entry->path), why);
	w->l->looked_at++;
	td_listing_leave_out(w->l, entry->name);
	return 0;
}

static int visit(void *ctx, const struct td_walk_entry *entry, struct tundish_error *e)
{
	struct lister *w = ctx;
	if (++w->polled % 256 == 0 && td_stopped(w->o->listener))
		return td_err(e, TUNDISH_E_STOPPED, "stopped");
	if (td_is_litter(td_path_base(entry->name)))
		return 1;
	switch (entry->what) {
	case TD_WALK_FILE:
		return add_file(w, entry, e);
	case TD_WALK_FOLDER:
		return entry->depth == 0 && !td_map_at(&w->folders, entry->name, strlen(entry->name)) ?
		    td_err_memory(e) : 0;
	case TD_WALK_OTHER:
		return pass_over(w, entry, "not a regular file");
	case TD_WALK_LOOP:
		return pass_over(w, entry, "a link to a folder around it");
	case TD_WALK_BROKEN:
		if (td_format_named(entry->name) < 0)
			return pass_over(w, entry, "a link to nothing");
		return bad_entry(w, entry, TUNDISH_E_NOT_FOUND, "a link to nothing", e);
	default:
		return bad_entry(w, entry, TUNDISH_E_IO, "folder cannot be read", e);
	}
}

static int walk_archive(struct lister *w, const char *source, enum td_archive_kind kind, const struct stat *st,
    struct tundish_error *e)
{
	struct td_listing *l = w->l;
	char *prefix = w->o->n_sources == 1 ? strdup("") : td_path_join(td_path_base(source), "");
	const struct td_archive_walk walk = { .l = l, .o = w->o, .bad = w->bad, .folders = &w->folders,
		.prefix = prefix, .unknown = unknown_flags(w) };
	int rc = prefix && td_listing_root(l, source, strlen(prefix), NULL) ? 0 : td_err_memory(e);
	uint64_t looked_at = l->looked_at;
	note_file(l, td_path_base(source), (uint64_t)st->st_size, changed_ns(st));
	l->looked_at = looked_at;
	if (rc == 0)
		rc = td_archive_list(&walk, source, kind, e);
	free(prefix);
	return rc;
}

/* With more than one source, names begin with the source's own: they stay unique. */
static int walk_folder(struct lister *w, const char *source, struct tundish_error *e)
{
	char *tidy = strdup(source), *folder = NULL;
	if (!tidy)
		return td_err_memory(e);
	td_path_tidy(tidy);
	const char *base = td_path_base(tidy);
	bool plain = w->o->n_sources == 1 || !*base || strcmp(base, "..") == 0;
	folder = plain ? strdup(source) : td_path_folder(tidy);
	w->prefix = plain ? strdup("") : td_path_join(base, "");
	int rc = folder && w->prefix && td_listing_root(w->l, folder, strlen(w->prefix), NULL) ? 0 :
	    td_err_memory(e);
	if (rc == 0)
		rc = td_walk(source, visit, w, e);
	if (w->archives)
		td_notice(w->o->listener, "%s: %" PRIu64 " archive%s passed over, first %s: name them as sources to "
		    "read them", TD_ESC(source), w->archives, w->archives > 1 ? "s" : "", TD_ESC(w->first_archive));
	free(w->first_archive);
	w->first_archive = NULL;
	w->archives = 0;
	free(w->prefix);
	free(folder);
	free(tidy);
	return rc;
}

bool td_source_spec(const char *source, char **ret_path, const char **ret_spec)
{
	struct stat st;
	for (const char *colon = strchr(source, ':'); colon; colon = strchr(colon + 1, ':')) {
		char *path = strndup(source, (size_t)(colon - source));
		if (path && stat(path, &st) == 0 && S_ISREG(st.st_mode)) {
			*ret_path = path;
			*ret_spec = colon + 1;
			return true;
		}
		free(path);
	}
	return false;
}

/* A file that was named itself is an item, whatever it is. */
static int add_source_file(struct lister *w, const char *source, const char *spec, const struct stat *st,
    struct tundish_error *e)
{
	char *folder = td_path_folder(source);
	const struct td_item item = { .bytes = (uint64_t)st->st_size, .class = -1,
		.flags = TD_ITEM_PROBE | TD_ITEM_NAMED };
	struct td_listing *l = w->l;
	if (spec)
		l->files = td_crc32c(l->files, spec, strlen(spec) + 1);
	bool same = folder && l->n_roots && strcmp(l->roots[l->n_roots - 1].folder, folder) == 0 &&
	    l->roots[l->n_roots - 1].skip == 0 && !spec && !l->roots[l->n_roots - 1].spec;
	bool ok = folder && (same || td_listing_root(l, folder, 0, spec)) &&
	    td_listing_add(l, l->n_roots - 1, "", td_path_base(source), &item);
	free(folder);
	note_file(l, td_path_base(source), item.bytes, changed_ns(st));
	return ok ? 0 : td_err_memory(e);
}

static int add_stream(struct lister *w, const char *source, struct tundish_error *e)
{
	struct td_listing *l = w->l;
	if (!td_grow(&l->streams, &l->streams_cap, l->n_streams, sizeof *l->streams))
		return td_err_memory(e);
	struct td_stream_source *new = &l->streams[l->n_streams++];
	new->path = strdup(source);
	new->prefix = w->o->n_sources == 1 ? strdup("") : td_path_join(td_path_base(source), "");
	return new->path && new->prefix ? 0 : td_err_memory(e);
}

static int walk_file(struct lister *w, const char *source, const struct stat *st, struct tundish_error *e)
{
	enum td_archive_kind kind;
	int rc = td_archive_kind(&kind, source, w->o->listener, e);
	if (rc < 0)
		return rc;
	if (kind == TD_ARCHIVE_STREAM)
		return add_stream(w, source, e);
	return kind == TD_ARCHIVE_TAR || kind == TD_ARCHIVE_ZIP ? walk_archive(w, source, kind, st, e) :
	    add_source_file(w, source, NULL, st, e);
}

static int look_at_source(const char *source, struct tundish_error *e)
{
	struct stat st;
	char *path;
	const char *spec;
	if (strcmp(source, "-") == 0)
		return 0;
	if (stat(source, &st) == 0)
		return S_ISREG(st.st_mode) || S_ISDIR(st.st_mode) || S_ISFIFO(st.st_mode) ? 0 :
		    td_err(e, TUNDISH_E_USAGE, "%s: neither a file, a folder nor a pipe", TD_ESC(source));
	int rc = td_err_errno(e, errno, "%s", TD_ESC(source));
	if (!td_source_spec(source, &path, &spec))
		return rc;
	free(path);
	return 0;
}

static int look_at_sources(const struct td_list_options *o, struct tundish_error *e)
{
	for (size_t i = 0; i < o->n_sources; i++) {
		int rc = look_at_source(o->sources[i], e);
		if (rc < 0)
			return rc;
	}
	return o->n_sources ? 0 : td_err(e, TUNDISH_E_USAGE, "no source is given");
}

static int walk_source(struct lister *w, const char *source, struct tundish_error *e)
{
	struct stat st;
	char *path = NULL;
	const char *spec = NULL;
	if (strcmp(source, "-") == 0)
		return add_stream(w, source, e);
	if (stat(source, &st) == 0 && S_ISFIFO(st.st_mode))
		return add_stream(w, source, e);
	if (stat(source, &st) == 0)
		return S_ISDIR(st.st_mode) ? walk_folder(w, source, e) : walk_file(w, source, &st, e);
	if (!td_source_spec(source, &path, &spec) || stat(path, &st) != 0) {
		free(path);
		return td_err_errno(e, ENOENT, "%s", TD_ESC(source));
	}
	int rc = add_source_file(w, path, spec, &st, e);
	free(path);
	return rc;
}

static int walk_sources(struct lister *w, struct tundish_error *e)
{
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < w->o->n_sources; i++)
		rc = walk_source(w, w->o->sources[i], e);
	if (rc == 0 && w->l->n >= UINT32_MAX)
		rc = td_err(e, TUNDISH_E_LIMIT, "more than %" PRIu32 " items", UINT32_MAX - 1);
	return rc;
}

/* ---- kinds by content ---- */

#define PROBE_BLOCK 64

struct probe_run {
	struct td_listing *l;
	const struct tundish_listener *listener;
	size_t next;
};

struct probe_job {
	size_t items[PROBE_BLOCK];
	unsigned n;
	struct td_buf path;
	uint8_t head[TD_HEAD_BYTES];
};

static int take_unknown(void *ctx, void *job, uint64_t *ret_bytes, struct tundish_error *e)
{
	struct probe_run *run = ctx;
	struct probe_job *j = job;
	*ret_bytes = 0;
	j->n = 0;
	if (td_stopped(run->listener))
		return td_err(e, TUNDISH_E_STOPPED, "stopped");
	for (; run->next < run->l->n && j->n < PROBE_BLOCK; run->next++)
		if (run->l->items[run->next].flags & TD_ITEM_PROBE)
			j->items[j->n++] = run->next;
	return j->n > 0;
}

static int64_t read_head(const struct td_listing *l, const struct td_item *item, const char *path, uint8_t *head)
{
	if (item->member)
		return td_member_head(head, TD_HEAD_BYTES, l, item);
	return td_read_head(path, head, TD_HEAD_BYTES);
}

static int probe_block(void *ctx, void *job, unsigned worker, struct tundish_error *e)
{
	(void)worker;
	struct probe_run *run = ctx;
	struct probe_job *j = job;
	for (unsigned i = 0; i < j->n; i++) {
		struct td_item *item = &run->l->items[j->items[i]];
		if (!td_item_path(&j->path, run->l, item))
			return td_err_memory(e);
		const char *path = (const char *)j->path.data;
		int64_t n = read_head(run->l, item, path, j->head);
		int format = n > 0 ? td_format_probe(path, j->head, (size_t)n) : -1;
		if (format < 0 && item->flags & TD_ITEM_NAMED)
			format = td_format_named(path);
		if (format >= 0) {
			item->format = (uint8_t)format;
			item->flags &= (uint8_t)~TD_ITEM_PROBE;
			if (item->member && td_raster_probe(j->head, (size_t)n) == TD_RASTER_ENVI)
				item->flags |= TD_ITEM_HEADER;
		}
	}
	return 0;
}

static int put_nothing(void *ctx, void *job, struct tundish_error *e)
{
	(void)ctx;
	(void)job;
	(void)e;
	return 0;
}

static void free_probe(void *job)
{
	td_buf_free(&((struct probe_job *)job)->path);
}

static bool is_known(const struct td_item *item)
{
	return !(item->flags & TD_ITEM_PROBE) || item->flags & TD_ITEM_NAMED;
}

static int probe_unknown(struct lister *w, struct tundish_error *e)
{
	struct probe_run run = { .l = w->l, .listener = w->o->listener };
	const struct td_ordered loop = {
		.job_bytes = sizeof(struct probe_job),
		.threads = td_threads(w->o->threads),
		.take = take_unknown,
		.work = probe_block,
		.put = put_nothing,
		.free_job = free_probe,
	};
	size_t unknown = 0;
	for (size_t i = 0; i < w->l->n; i++)
		unknown += w->l->items[i].flags & TD_ITEM_PROBE;
	int rc = unknown ? td_ordered_run(&loop, &run, NULL, e) : 0;
	if (rc == 0 && unknown)
		rc = td_members_pair(w->l, e);
	if (rc == 0)
		td_listing_keep(w->l, is_known);
	return rc;
}

/* ---- all together ---- */

/* "no pictures below DIR (3 files looked at, 2 left out: .txt)" */
static int nothing(const struct lister *w, struct tundish_error *e)
{
	const struct td_listing *l = w->l;
	char left_out[64] = "";
	if (l->left_out)
		snprintf(left_out, sizeof left_out, ", %" PRIu64 " left out", l->left_out);
	return td_err(e, TUNDISH_E_EMPTY, "no pictures below %s%s (%" PRIu64 " files looked at%s%s%s)",
	    TD_ESC(w->o->sources[0]), w->o->n_sources > 1 ? " and the other sources" : "",
	    l->looked_at, left_out, l->left_out_kinds[0] ? ": " : "", l->left_out_kinds);
}

static int read_labels(struct lister *w, struct td_csv *csv, struct tundish_error *e)
{
	int rc = look_at_sources(w->o, e);
	if (rc == 0)
		rc = td_labels_parse(&w->labels, w->o->labels, e);
	if (rc == 0 && w->o->class_list && w->labels.from == TD_LABELS_NONE)
		rc = td_err(e, TUNDISH_E_USAGE, "a class list needs labels other than none");
	if (rc == 0 && w->o->class_list)
		rc = w->o->fixed ? td_classes_copy(&w->l->classes, w->o->fixed, e) :
		    td_classes_load(&w->l->classes, w->o->class_list, w->o->listener, e);
	if (rc == 0)
		rc = td_cells_parse(&w->l->columns, w->o->columns, w->o->group_by, e);
	if (rc == 0 && w->labels.from == TD_LABELS_CSV)
		rc = td_csv_read(csv, &w->labels, &w->l->columns, e);
	return rc;
}

/* Each column must be there, at least in one place. */
static int settle_columns(struct lister *w, struct tundish_error *e)
{
	struct td_cells *c = &w->l->columns;
	bool table = w->labels.from == TD_LABELS_CSV;
	bool groups = w->l->n_streams && !table; /* whose side-cars come later */
	for (size_t i = 0; !groups && i < c->n; i++)
		if (!c->list[i].found && !(c->list[i].feature && td_about_has(&w->l->about, c->list[i].name)))
			return td_err(e, TUNDISH_E_USAGE, "no column \"%s\" in %s", TD_ESC(c->list[i].name),
			    table ? TD_ESC(w->labels.file) : "side-cars or headers");
	td_cells_settle(c);
	w->l->files ^= td_cells_crc(c);
	return 0;
}

/* What a table says of a stream's items is asked as they come. */
static int take_table(struct lister *w, struct td_csv *csv, struct tundish_error *e)
{
	int rc = csv->numbers && !w->l->classes.fixed ? 0 : td_assign_rows(w->l, w->labels.file, csv, w->o, e);
	if (rc < 0)
		return rc;
	w->l->table = malloc(sizeof *csv);
	if (!w->l->table)
		return td_err_memory(e);
	*w->l->table = *csv;
	*csv = (struct td_csv){ 0 };
	return 0;
}

/* A table says which files are wanted: only those are divided. All else is known of the
 * items themselves, and a file's own word goes before that of its folder. */
static int divide_and_assign(struct lister *w, struct td_csv *csv, struct tundish_error *e)
{
	enum td_labels_from from = w->labels.from;
	int rc = 0;
	if (from == TD_LABELS_CSV && w->l->n_streams)
		rc = take_table(w, csv, e);
	else if (from == TD_LABELS_CSV)
		rc = td_assign_table(w->l, w->labels.file, csv, w->o, w->bad, e);
	else if (from == TD_LABELS_JSON && !w->l->n_streams)
		rc = td_assign_sidecars(w->l, &w->labels, w->o, w->bad, e);
	if (rc == 0)
		rc = td_listing_divide(w->l, w->o, from == TD_LABELS_FOLDER, w->bad, e);
	if (rc == 0)
		rc = settle_columns(w, e);
	if (rc < 0 || w->l->n == 0 || w->l->n_streams)
		return rc;
	if (from == TD_LABELS_REGEX)
		return td_assign_regex(w->l, w->labels.pattern, w->o, w->bad, e);
	return from == TD_LABELS_FOLDER ? td_assign_folders(w->l, &w->folders, w->o, w->bad, e) : 0;
}

/* Groups of members have features too, which are the set's where there is nothing else. */
static void meet_groups(struct td_listing *l)
{
	if (l->n_grouped == l->n && !l->specs.met) {
		l->specs = l->group_specs;
		l->group_specs = (struct td_specs){ 0 };
	}
}

static int list_all(struct td_listing *ret, const struct td_list_options *options, struct td_bad *bad,
    struct tundish_error *e)
{
	struct td_listing l = { .groups.value_bytes = sizeof(uint32_t) };
	struct td_csv csv = { 0 };
	struct lister w = { .l = &l, .o = options, .bad = bad, .folders.value_bytes = 1 };
	/* jansson seeds its hash tables with the first object, unless it was told before there
	 * are threads */
	json_object_seed(0);
	int rc = read_labels(&w, &csv, e);
	if (rc == 0)
		rc = walk_sources(&w, e);
	if (rc == 0)
		rc = probe_unknown(&w, e);
	if (rc == 0 && l.n == 0 && l.n_streams == 0 && bad->count == 0 && csv.n == 0)
		rc = nothing(&w, e);
	if (rc == 0)
		rc = divide_and_assign(&w, &csv, e);
	if (rc == 0)
		meet_groups(&l);
	/* a stream's items show their features themselves */
	if (rc == 0 && l.n_streams == 0 && !td_cells_specs(&l.columns, &l.specs))
		rc = td_err_memory(e);
	if (rc == 0)
		rc = td_frames_settle(&l, options, e);
	if (rc == 0 && l.n == 0 && l.n_streams == 0)
		rc = bad->count ? td_err(e, TUNDISH_E_EMPTY, "no good item (%" PRIu64 " bad)", bad->count) :
		    nothing(&w, e);
	l.found = l.n + bad->count + l.left_out + l.parts_left_out;
	td_csv_free(&csv);
	td_map_free(&w.folders);
	td_labels_free(&w.labels);
	if (rc < 0)
		td_listing_free(&l);
	else
		*ret = l;
	return rc;
}

int td_list(struct td_listing *ret, const struct td_list_options *options, struct td_bad *bad,
    struct tundish_error *e)
{
	struct td_list_options own = *options;
	struct td_patterns p;
	int rc = td_patterns_expand(&p, options->sources, options->n_sources, e);
	if (rc < 0)
		return rc;
	own.sources = p.list;
	own.n_sources = p.n;
	rc = list_all(ret, &own, bad, e);
	td_patterns_free(&p);
	return rc;
}

static void free_root(struct td_root *root)
{
	free(root->folder);
	free(root->spec);
	td_buf_free(&root->index);
}

void td_listing_free(struct td_listing *l)
{
	for (size_t i = 0; i < l->n_roots; i++)
		free_root(&l->roots[i]);
	free(l->roots);
	free(l->items);
	td_buf_free(&l->names);
	td_classes_free(&l->classes);
	td_specs_free(&l->specs);
	td_map_free(&l->groups);
	td_specs_free(&l->group_specs);
	free(l->members);
	td_cells_free(&l->columns);
	if (l->table)
		td_csv_free(l->table);
	free(l->table);
	for (size_t i = 0; i < l->n_streams; i++) {
		free(l->streams[i].path);
		free(l->streams[i].prefix);
	}
	free(l->streams);
	td_about_free(&l->about);
	*l = (struct td_listing){ 0 };
}
