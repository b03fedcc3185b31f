/* SPDX-License-Identifier: BSD-2-Clause
 * Classes from a table: from the rows' paths to files, whatever form the names have. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <utf8proc.h>

#include "assign.h"
#include "base/err.h"
#include "base/path.h"

struct match {
	struct td_listing *l;
	const char *table;
	const struct td_csv *csv;
	const struct td_list_options *o;
	struct td_bad *bad;
	struct tundish_error *e;
	struct td_map names;	 /* below the source -> uint32_t item */
	struct td_map composed;	 /* the same in NFC, of names that are not plain ASCII */
	bool have_composed;
	char *folder;		 /* of the table */
	char *real_folder;	 /* its real path, and those of the sources */
	char **real_roots;
	size_t n_real_roots;
	int64_t *row_of;	 /* item -> line of the row that names it */
	size_t row_of_cap;
	uint64_t renormalised;
	size_t first_renormalised; /* where in the names */
	struct td_buf scratch;
};

static bool is_ascii(const char *s)
{
	for (; *s; s++)
		if ((unsigned char)*s >= 0x80)
			return false;
	return true;
}

char *td_name_composed(const char *s)
{
	return is_ascii(s) ? NULL : (char *)utf8proc_NFC((const utf8proc_uint8_t *)s);
}

#define TWO_NAMES UINT32_MAX

static bool index_name(struct td_map *map, const char *name, uint32_t item, bool mark_twice)
{
	size_t before = map->n;
	uint32_t *value = td_map_at(map, name, strlen(name));
	if (!value)
		return false;
	if (map->n > before)
		*value = item;
	else if (mark_twice)
		*value = TWO_NAMES;
	return true;
}

static const char *below_source(const struct match *m, size_t i)
{
	const struct td_item *item = &m->l->items[i];
	return td_item_name(m->l, item) + m->l->roots[item->root].skip;
}

static int index_names(struct match *m)
{
	for (size_t i = 0; i < m->l->n; i++)
		if (!index_name(&m->names, below_source(m, i), (uint32_t)i, false))
			return td_err_memory(m->e);
	return 0;
}

/* Made only when a plain look-up fails: most tables need none of it. */
static int index_composed(struct match *m)
{
	m->have_composed = true;
	for (size_t i = 0; i < m->l->n; i++) {
		const char *name = below_source(m, i);
		char *nfc = td_name_composed(name);
		bool ok = !nfc || index_name(&m->composed, nfc, (uint32_t)i, true);
		free(nfc);
		if (!ok)
			return td_err_memory(m->e);
	}
	return 0;
}

static int find_real_paths(struct match *m)
{
	m->folder = td_path_folder(m->table);
	m->real_folder = m->folder ? realpath(m->folder, NULL) : NULL;
	m->real_roots = calloc(m->l->n_roots + 1, sizeof *m->real_roots);
	if (!m->folder || !m->real_roots)
		return td_err_memory(m->e);
	m->n_real_roots = m->l->n_roots;
	for (size_t i = 0; i < m->l->n_roots; i++) {
		const struct td_root *root = &m->l->roots[i];
		/* the source itself: the root's folder and what stands before its names */
		const char *own = root->skip && m->l->n ? NULL : "";
		for (size_t k = 0; !own && k < m->l->n; k++)
			if (m->l->items[k].root == i)
				own = td_item_name(m->l, &m->l->items[k]);
		m->scratch.len = 0;
		if (!td_buf_printf(&m->scratch, "%s/%.*s", root->folder, (int)root->skip, own ? own : ""))
			return td_err_memory(m->e);
		m->real_roots[i] = realpath((const char *)m->scratch.data, NULL);
	}
	return 0;
}

/* What of an absolute path stands below a source, or NULL. */
static const char *below_roots(const struct match *m, const char *path)
{
	for (size_t i = 0; i < m->n_real_roots; i++) {
		const char *root = m->real_roots[i];
		size_t n = root ? strlen(root) : 0;
		if (n && strncmp(path, root, n) == 0 && path[n] == '/')
			return path + n + 1;
	}
	return NULL;
}

static int64_t look_up(const struct td_map *map, const char *name)
{
	const uint32_t *found = td_map_find(map, name, strlen(name));
	return found ? (int64_t)*found : -1;
}

/* A row's path as it stands below a source when it is relative to the table, or NULL. */
static const char *from_table(struct match *m, const char *path)
{
	if (!m->real_folder)
		return NULL;
	m->scratch.len = 0;
	if (!td_buf_printf(&m->scratch, "%s/%s", m->real_folder, path))
		return NULL;
	td_path_tidy((char *)m->scratch.data);
	return below_roots(m, (const char *)m->scratch.data);
}

static int64_t find_composed(struct match *m, const char *name)
{
	char *nfc = name ? td_name_composed(name) : NULL;
	int64_t found = nfc ? look_up(&m->composed, nfc) : -1;
	free(nfc);
	return found;
}

/* The item that a tidy path means: its number, -1, TWO_NAMES; -2 for an error. */
static int64_t find_item(struct match *m, const char *path)
{
	bool absolute = path[0] == '/';
	const char *name = absolute ? below_roots(m, path) : path;
	int64_t found = name ? look_up(&m->names, name) : -1;
	const char *other = found < 0 && !absolute ? from_table(m, path) : NULL;
	if (found < 0 && other)
		found = look_up(&m->names, other);
	if (found >= 0)
		return found;
	if (!m->have_composed && index_composed(m) < 0)
		return -2;
	found = find_composed(m, name);
	if (found < 0)
		found = find_composed(m, other);
	if (found >= 0 && found != TWO_NAMES && m->renormalised++ == 0)
		m->first_renormalised = m->l->items[found].name;
	return found;
}

static bool is_file(const char *path, uint64_t *ret_bytes)
{
	struct stat st;
	if (stat(path, &st) != 0 || !S_ISREG(st.st_mode))
		return false;
	*ret_bytes = (uint64_t)st.st_size;
	return true;
}

/* A file that is not among those below the sources, yet is there: relative to the table,
 * or hidden below a source. Its number, -1, or -2. */
static int64_t add_other(struct match *m, const char *path)
{
	struct td_item item = { .class = -1 };
	char *full = td_path_join(path[0] == '/' ? NULL : m->folder, path);
	if (!full || !td_buf_fit(&m->scratch, 1))
		return free(full), td_err_memory(m->e), -2;
	const char *folder = path[0] == '/' ? "" : m->folder;
	for (size_t i = 0; !is_file(full, &item.bytes); i++) {
		free(full);
		if (i == m->n_real_roots || path[0] == '/')
			return -1;
		folder = m->real_roots[i] ? m->real_roots[i] : m->folder;
		full = td_path_join(folder, path);
		if (!full)
			return td_err_memory(m->e), -2;
	}
	free(full);
	if (!td_listing_root(m->l, folder, 0, NULL) ||
	    !td_listing_add(m->l, m->l->n_roots - 1, "", path, &item) ||
	    !index_name(&m->names, path, (uint32_t)m->l->n - 1, false))
		return td_err_memory(m->e), -2;
	m->l->looked_at++;
	return (int64_t)m->l->n - 1;
}

static int bad_row(struct match *m, const struct td_csv_row *row, int code, const char *fmt,
    const char *what)
{
	char reason[TD_ESC_MAX + 128];
	struct td_place at = TD_PLACE(m->table);
	at.line = row->line;
	snprintf(reason, sizeof reason, fmt, TD_ESC(what));
	return td_bad_item(m->bad, code, at, td_path_base(m->table), reason, m->e);
}

static int not_listed(const char *table, const struct td_csv_row *row, const struct td_list_options *o,
    struct tundish_error *e)
{
	return td_err(e, TUNDISH_E_USAGE, "%s: line %" PRId64 ": class \"%s\" is not in the class list %s",
	    TD_ESC(table), row->line, TD_ESC(row->label), TD_ESC(o->class_list));
}

/* Notes the row's class at its item. */
static int label_item(struct match *m, const struct td_csv_row *row, size_t i)
{
	while (m->l->n > m->row_of_cap) {
		size_t was = m->row_of_cap;
		if (!td_grow(&m->row_of, &m->row_of_cap, was, sizeof *m->row_of))
			return td_err_memory(m->e);
		memset(m->row_of + was, 0, (m->row_of_cap - was) * sizeof *m->row_of);
	}
	if (m->row_of[i]) {
		char line[32];
		snprintf(line, sizeof line, "%" PRId64, m->row_of[i]);
		return bad_row(m, row, TUNDISH_E_CORRUPT, "names a file that line %s has named", line);
	}
	if (!*row->label && m->csv->labels)
		return bad_row(m, row, TUNDISH_E_SCHEMA, "no label for %s", row->path);
	struct td_classes *c = &m->l->classes;
	int32_t class = m->csv->labels ? td_classes_add(c, row->label, strlen(row->label)) : 0;
	if (class == -2)
		return td_err_memory(m->e);
	if (class < 0)
		return not_listed(m->table, row, m->o, m->e);
	struct td_item *item = &m->l->items[i];
	item->class = m->csv->labels ? class : -1;
	item->flags |= TD_ITEM_TAKEN;
	m->row_of[i] = row->line;
	const struct td_cells *columns = &m->l->columns;
	size_t number = (size_t)(row - m->csv->rows);
	item->row = columns->n ? (uint32_t)number + 1 : 0;
	const char *group = columns->group ? td_cells_text(columns, number, columns->group - 1) : "";
	return !*group || td_listing_group(m->l, group, &item->group) ? 0 : td_err_memory(m->e);
}

static int match_row(struct match *m, const struct td_csv_row *row)
{
	char *path = strdup(row->path);
	if (!path)
		return td_err_memory(m->e);
	td_path_tidy(path);
	int64_t found = *path ? find_item(m, path) : -1;
	if (found == -1 && *path)
		found = add_other(m, path);
	free(path);
	if (found == -2)
		return TUNDISH_E_MEMORY;
	if (found == TWO_NAMES)
		return bad_row(m, row, TUNDISH_E_CORRUPT,
		    "two files differ from %s only in their Unicode form", row->path);
	if (found < 0)
		return bad_row(m, row, TUNDISH_E_NOT_FOUND, "no such file: %s", row->path);
	return label_item(m, row, (size_t)found);
}

static bool is_taken(const struct td_item *item)
{
	return item->flags & TD_ITEM_TAKEN;
}

/* The table itself, where it stands below a source, is nothing that was left out. */
static void forget_table(struct match *m)
{
	const char *name = from_table(m, td_path_base(m->table));
	int64_t found = name ? look_up(&m->names, name) : -1;
	if (found < 0 || is_taken(&m->l->items[found]))
		return;
	struct td_item *at = &m->l->items[found];
	memmove(at, at + 1, (m->l->n - (size_t)found - 1) * sizeof *at);
	m->l->n--;
	m->l->looked_at--;
}

static void free_match(struct match *m)
{
	td_map_free(&m->names);
	td_map_free(&m->composed);
	for (size_t i = 0; i < m->n_real_roots; i++)
		free(m->real_roots[i]);
	free(m->real_roots);
	free(m->real_folder);
	free(m->folder);
	free(m->row_of);
	td_buf_free(&m->scratch);
}

int td_assign_rows(struct td_listing *l, const char *table, const struct td_csv *csv, const struct td_list_options *o,
    struct tundish_error *e)
{
	struct td_classes *c = &l->classes;
	int rc = 0;
	for (size_t i = 0; rc == 0 && csv->labels && i < csv->n; i++) {
		const struct td_csv_row *row = &csv->rows[i];
		int32_t class = *row->label ? td_classes_add(c, row->label, strlen(row->label)) : 0;
		if (class == -1)
			rc = not_listed(table, row, o, e);
		else if (class < 0)
			rc = td_err_memory(e);
		else if (c->n)
			c->list[class].items++;
	}
	int32_t *map = rc == 0 ? malloc((c->n + 1) * sizeof *map) : NULL;
	if (rc == 0)
		rc = map ? td_classes_settle(c, 0, map, e) : td_err_memory(e);
	for (size_t i = 0; i < c->n; i++)
		c->list[i].items = 0;
	free(map);
	c->fixed |= c->n > 0;
	return rc;
}

int td_assign_table(struct td_listing *l, const char *table, const struct td_csv *csv,
    const struct td_list_options *o, struct td_bad *bad, struct tundish_error *e)
{
	struct match m = {
		.l = l, .table = table, .csv = csv, .o = o, .bad = bad, .e = e,
		.names.value_bytes = sizeof(uint32_t),
		.composed.value_bytes = sizeof(uint32_t),
	};
	l->classes.numbers = csv->numbers && !l->classes.fixed;
	int rc = find_real_paths(&m);
	if (rc == 0)
		rc = index_names(&m);
	for (size_t i = 0; rc == 0 && i < csv->n; i++)
		rc = match_row(&m, &csv->rows[i]);
	if (rc == 0 && m.renormalised)
		td_notice(o->listener, "%s: %" PRIu64 " names matched after Unicode normalisation, first %s",
		    TD_ESC(table), m.renormalised,
		    TD_ESC((const char *)l->names.data + m.first_renormalised));
	if (rc == 0) {
		forget_table(&m);
		td_listing_keep(l, is_taken);
		rc = td_settle_items(l, o, e);
	}
	free_match(&m);
	return rc;
}
