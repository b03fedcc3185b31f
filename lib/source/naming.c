/* SPDX-License-Identifier: BSD-2-Clause
 * Which labels the items of a stream have, told one by one. */
#include "naming.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "assign.h"
#include "base/err.h"
#include "base/path.h"

int td_naming_init(struct td_naming *n, struct td_listing *l, const struct td_classes *fixed,
    const struct td_list_options *o, struct tundish_error *e)
{
	*n = (struct td_naming){ .l = l, .fixed = fixed, .o = o };
	int rc = td_labels_parse(&n->labels, o->labels, e);
	if (rc == 0 && l->table)
		rc = td_rows_new(&n->rows, l->table, e);
	if (rc == 0 && n->labels.from == TD_LABELS_REGEX) {
		rc = td_regex_compile(&n->re, n->labels.pattern, e);
		n->have_re = rc == 0;
	}
	return rc;
}

void td_naming_fini(struct td_naming *n)
{
	if (n->have_re)
		regfree(&n->re);
	td_rows_free(n->rows);
	td_labels_free(&n->labels);
	td_buf_free(&n->text);
}

bool td_naming_wants(struct td_naming *n, const char *name)
{
	return !n->rows || td_rows_find(n->rows, name) >= 0;
}

/* What the table says: the row's number, and its columns and group. */
static const char *from_row(struct td_naming *n, struct td_taken *out, const char *name)
{
	const struct td_cells *columns = &n->l->columns;
	int64_t row = td_rows_find(n->rows, name);
	if (row < 0)
		return NULL;
	out->row = columns->n ? (size_t)row + 1 : 0;
	const char *group = columns->group ? td_cells_text(columns, (size_t)row, columns->group - 1) : "";
	if (*group && !td_taken_text(&out->group, group, strlen(group)))
		return NULL;
	const char *label = n->l->table->labels ? n->l->table->rows[row].label : "";
	return *label ? label : NULL;
}

/* The label's text; NULL: there is none. */
static const char *find_label(struct td_naming *n, struct td_taken *out, const char *name, const char *own,
    size_t *ret_len)
{
	regmatch_t match[2];
	const char *text = NULL;
	switch (n->labels.from) {
	case TD_LABELS_CSV:
		text = from_row(n, out, name);
		break;
	case TD_LABELS_REGEX:
		if (regexec(&n->re, name, 2, match, 0) != 0 || match[1].rm_eo <= match[1].rm_so)
			return NULL;
		*ret_len = (size_t)(match[1].rm_eo - match[1].rm_so);
		return name + match[1].rm_so;
	case TD_LABELS_FOLDER:
		*ret_len = strcspn(name, "/");
		if (!own)
			return name[*ret_len] ? name : NULL;
		text = own;
		break;
	default:
		text = own;
	}
	*ret_len = text ? strlen(text) : 0;
	return text;
}

static int resolve(struct td_naming *n, struct td_taken *out, const char *text, size_t len, struct tundish_error *e)
{
	int64_t number, offset = n->o->label_offset;
	const char *name = (const char *)out->name.data;
	if (!td_taken_text(&out->class, text, len))
		return td_err_memory(e);
	const char *class = (const char *)out->class.data;
	if (n->fixed) {
		int32_t found = td_classes_known(n->fixed, class, len, offset);
		if (found < 0)
			return td_err(e, TUNDISH_E_USAGE, "class \"%s\" of %s is not in the class list %s",
			    TD_ESC(class), TD_ESC(name), TD_ESC(n->o->class_list));
		const char *known = n->fixed->list[found].name;
		out->label = found + offset;
		return td_taken_text(&out->class, known, strlen(known)) ? 0 : td_err_memory(e);
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

static const char *why_none(const struct td_naming *n)
{
	return n->labels.from == TD_LABELS_CSV ? "its row has no label" :
	    n->labels.from == TD_LABELS_JSON ? "no .json with a label beside it" : "no label";
}

int td_naming_label(struct td_naming *n, struct td_taken *out, const char *name, const char *own,
    struct tundish_error *e)
{
	size_t len = 0;
	bool none = own && !*own; /* the file says so: -1 */
	const char *text = none ? NULL : find_label(n, out, name, own, &len);
	bool wanted = n->labels.from == TD_LABELS_JSON || (n->rows && n->l->table->labels);
	out->labelled = text || none;
	if (n->decided == TD_NAMING_OPEN)
		n->decided = out->labelled || wanted ? TD_NAMING_WITH : TD_NAMING_WITHOUT;
	if ((n->decided == TD_NAMING_WITH) != out->labelled)
		return td_taken_bad(out, TUNDISH_E_SCHEMA, text ? "has a label, and the first item has none" :
		    why_none(n), e);
	if (none) {
		out->label = -1;
		return td_taken_text(&out->class, "", 0) ? 0 : td_err_memory(e);
	}
	return text ? resolve(n, out, text, len, e) : 0;
}

int td_naming_rest(struct td_naming *n, struct td_taken *out, struct tundish_error *e)
{
	int64_t first = 0, row = n->rows ? td_rows_unused(n->rows, n->next_row, &first) : -1;
	const char *table = n->labels.file;
	if (row < 0) {
		uint64_t other = n->rows ? td_rows_renormalised(n->rows) : 0;
		if (other)
			td_notice(n->o->listener, "%s: %" PRIu64 " names matched after Unicode normalisation",
			    TD_ESC(table), other);
		return 0;
	}
	const struct td_csv_row *at = &n->l->table->rows[row];
	n->next_row = (size_t)row + 1;
	n->text.len = 0;
	bool ok = first ? td_buf_printf(&n->text, "names a file that line %" PRId64 " has named", first) :
			  td_buf_printf(&n->text, "no such file: %s", TD_ESC(at->path));
	const char *base = td_path_base(table);
	out->line = at->line;
	if (!ok || !td_taken_text(&out->path, table, strlen(table)) || !td_taken_text(&out->name, base, strlen(base)))
		return td_err_memory(e);
	int rc = td_taken_bad(out, first ? TUNDISH_E_CORRUPT : TUNDISH_E_NOT_FOUND, (const char *)n->text.data, e);
	return rc < 0 ? rc : 1;
}
