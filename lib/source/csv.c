/* SPDX-License-Identifier: BSD-2-Clause
 * Tables of labels, through libcsv. */
#include <csv.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/err.h"
#include "base/infile.h"
#include "classes.h"
#include "labels.h"

#define CSV_MAX_BYTES ((uint64_t)4 << 30)

/* Cells are kept as offsets into the text while it grows. */
struct raw_row {
	size_t path, label;
	int64_t line;
};

struct parse {
	const struct td_labels *labels;
	struct td_cells *columns;
	size_t *wanted; /* for each column of the table which of `columns` it is + 1 */
	size_t n_wanted;
	struct td_buf text;
	struct raw_row *rows;
	size_t n, cap;
	size_t *cells; /* of the row at hand: offsets */
	size_t n_cells, cells_cap;
	int64_t line, row_line;
	size_t path_at, label_at; /* columns, once known */
	bool ready, ended_row;
	int rc;
	struct tundish_error *e;
};

static const char *cell_text(const struct parse *p, size_t column)
{
	return (const char *)p->text.data + p->cells[column];
}

static bool named(const char *cell, const char *const *names, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (strcasecmp(cell, names[i]) == 0)
			return true;
	return false;
}

/* The column with one of the names; n_cells when there is none. */
static size_t column_named(const struct parse *p, const char *const *names, size_t n)
{
	size_t i = 0;
	while (i < p->n_cells && !named(cell_text(p, i), names, n))
		i++;
	return i;
}

/* The column that an option asks for: by its name in the header, else by number. */
static bool find_column(const struct parse *p, const char *asked, bool header, size_t *ret)
{
	int64_t number;
	for (size_t i = 0; header && i < p->n_cells; i++) {
		if (strcmp(cell_text(p, i), asked) == 0) {
			*ret = i;
			return true;
		}
	}
	if (td_parse_int64(asked, &number) && number >= 1 && (uint64_t)number <= p->n_cells) {
		*ret = (size_t)number - 1;
		return true;
	}
	return false;
}

static int asked_column(struct parse *p, const char *asked, bool header, size_t *ret)
{
	if (find_column(p, asked, header, ret))
		return 0;
	return td_err(p->e, TUNDISH_E_USAGE, "%s: no column \"%s\" in the first row",
	    TD_ESC(p->labels->file), TD_ESC(asked));
}

static bool has_cell(const struct parse *p, const char *asked)
{
	for (size_t i = 0; asked && i < p->n_cells; i++)
		if (strcmp(cell_text(p, i), asked) == 0)
			return true;
	return false;
}

/* Which of the columns that become features are where. */
static int find_features(struct parse *p, bool header)
{
	p->n_wanted = p->n_cells;
	p->wanted = calloc(p->n_cells + 1, sizeof *p->wanted);
	if (!p->wanted)
		return td_err_memory(p->e);
	for (size_t i = 0; i < p->columns->n; i++) {
		struct td_cells_column *column = &p->columns->list[i];
		size_t at;
		column->found = find_column(p, column->name, header, &at) && !p->wanted[at];
		if (column->found)
			p->wanted[at] = i + 1;
	}
	return 0;
}

static bool names_column(const struct parse *p)
{
	bool any = false;
	for (size_t i = 0; !any && i < p->columns->n; i++)
		any = has_cell(p, p->columns->list[i].name);
	return any;
}

/* Looks at the first row: which columns, and is it a header? */
static int find_columns(struct parse *p, bool *ret_header)
{
	static const char *const paths[] = { "filename", "path", "image", "file" };
	static const char *const labels[] = { "label", "class" };
	const struct td_labels *l = p->labels;
	size_t path = column_named(p, paths, TD_COUNT(paths));
	size_t label = column_named(p, labels, TD_COUNT(labels));
	bool header = path < p->n_cells || label < p->n_cells ||
	    has_cell(p, l->path_column) || has_cell(p, l->label_column) || names_column(p);
	int rc = 0;
	if (l->path_column)
		rc = asked_column(p, l->path_column, header, &path);
	else if (path == p->n_cells)
		path = label == 0 ? 1 : 0;
	if (l->no_labels)
		label = SIZE_MAX;
	else if (rc == 0 && l->label_column)
		rc = asked_column(p, l->label_column, header, &label);
	else if (label == p->n_cells)
		label = path == 1 ? 0 : 1;
	if (rc == 0 && (path >= p->n_cells || (label >= p->n_cells && !l->no_labels)))
		rc = td_err(p->e, TUNDISH_E_USAGE,
		    "%s: line %d: needs two columns, a path and a label (delim=...?)",
		    TD_ESC(l->file), (int)p->row_line);
	p->path_at = path;
	p->label_at = label;
	*ret_header = header;
	return rc ? rc : find_features(p, header);
}

/* A cell that becomes a feature. */
static int take_feature(struct parse *p, size_t column, const void *data, size_t len)
{
	const struct td_bytes value = { data, len };
	if (p->columns->rows == p->n && !td_cells_row(p->columns))
		return td_err_memory(p->e);
	if (!td_cells_set(p->columns, column, &value, 1, false))
		return td_err_memory(p->e);
	return 0;
}

/* Of a first row that is none of names. */
static int take_features(struct parse *p)
{
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < p->n_cells; i++)
		if (p->wanted[i])
			rc = take_feature(p, p->wanted[i] - 1, cell_text(p, i), strlen(cell_text(p, i)));
	return rc;
}

static int take_row(struct parse *p)
{
	bool header = false;
	if (!p->ready) {
		int rc = find_columns(p, &header);
		p->ready = true;
		if (rc < 0 || header)
			return rc;
		rc = take_features(p);
		if (rc < 0)
			return rc;
	}
	/* one of which nothing was wanted */
	if (p->columns->n && p->columns->rows == p->n && !td_cells_row(p->columns))
		return td_err_memory(p->e);
	/* a cell that is not there is empty: the last byte of the text is always a NUL */
	size_t none = p->text.len - 1;
	if (!td_grow(&p->rows, &p->cap, p->n, sizeof *p->rows))
		return td_err_memory(p->e);
	p->rows[p->n++] = (struct raw_row){
		.path = p->path_at < p->n_cells ? p->cells[p->path_at] : none,
		.label = p->label_at < p->n_cells ? p->cells[p->label_at] : none,
		.line = p->row_line,
	};
	return 0;
}

static void on_cell(void *data, size_t len, void *ctx)
{
	struct parse *p = ctx;
	if (p->rc)
		return;
	/* a column that nobody asked for need not be kept */
	bool keep = !p->ready || p->n_cells == p->path_at || p->n_cells == p->label_at;
	size_t at = p->text.len;
	if (!td_grow(&p->cells, &p->cells_cap, p->n_cells, sizeof *p->cells) ||
	    (keep && (!td_buf_add(&p->text, data, len) || !td_buf_add(&p->text, "", 1)))) {
		p->rc = td_err_memory(p->e);
		return;
	}
	bool feature = p->ready && p->n_cells < p->n_wanted && p->wanted[p->n_cells];
	if (feature)
		p->rc = take_feature(p, p->wanted[p->n_cells] - 1, data, len);
	if (p->rc == 0 && (keep || feature) && memchr(data, 0, len))
		p->rc = td_err(p->e, TUNDISH_E_USAGE, "%s: line %d: no text file: holds a NUL",
		    TD_ESC(p->labels->file), (int)p->line);
	p->cells[p->n_cells++] = keep ? at : p->text.len - 1;
}

static void on_row(int end, void *ctx)
{
	(void)end;
	struct parse *p = ctx;
	if (p->rc == 0)
		p->rc = take_row(p);
	p->n_cells = 0;
	p->ended_row = true;
}

/* Looks at the line only: what follows may be as blank, and long. */
static bool is_blank(const char *line, size_t n)
{
	size_t i = 0;
	while (i < n && line[i] && strchr(" \t\r\n", line[i]))
		i++;
	return i == n;
}

/* Line by line, so that each row knows where it begins. */
static int parse_text(struct parse *p, const char *text, size_t len)
{
	struct csv_parser parser;
	if (csv_init(&parser, CSV_STRICT | CSV_STRICT_FINI) != 0)
		return td_err_memory(p->e);
	csv_set_delim(&parser, (unsigned char)p->labels->delimiter);
	bool in_row = false;
	while (len > 0 && p->rc == 0) {
		const char *newline = memchr(text, '\n', len);
		size_t n = newline ? (size_t)(newline - text) + 1 : len;
		p->line++;
		if (!in_row)
			p->row_line = p->line;
		p->ended_row = false;
		if (csv_parse(&parser, text, n, on_cell, on_row, p) != n)
			p->rc = td_err(p->e, TUNDISH_E_USAGE, "%s: line %d: %s",
			    TD_ESC(p->labels->file), (int)p->line, td_csv_words(csv_error(&parser)));
		in_row = !p->ended_row && (in_row || !is_blank(text, n));
		text += n;
		len -= n;
	}
	if (p->rc == 0 && csv_fini(&parser, on_cell, on_row, p) != 0)
		p->rc = td_err(p->e, TUNDISH_E_USAGE, "%s: line %d: quotes are opened and not closed",
		    TD_ESC(p->labels->file), (int)p->row_line);
	csv_free(&parser);
	return p->rc;
}

const char *td_csv_words(int error)
{
	return error == CSV_EPARSE ? "a quote stands within a cell" : csv_strerror(error);
}

static int hand_over(struct td_csv *ret, struct parse *p)
{
	struct td_csv csv = { .n = p->n, .numbers = p->n > 0, .labels = !p->labels->no_labels };
	csv.rows = malloc((p->n + 1) * sizeof *csv.rows);
	if (!csv.rows)
		return td_err_memory(p->e);
	csv.text = p->text;
	p->text = (struct td_buf){ 0 };
	for (size_t i = 0; i < p->n; i++) {
		const char *text = (const char *)csv.text.data;
		int64_t number;
		csv.rows[i] = (struct td_csv_row){
			.path = text + p->rows[i].path,
			.label = text + p->rows[i].label,
			.line = p->rows[i].line,
		};
		if (*csv.rows[i].label && !td_parse_int64(csv.rows[i].label, &number))
			csv.numbers = false;
	}
	*ret = csv;
	return 0;
}

int td_csv_parse(struct td_csv *ret, const struct td_labels *labels, struct td_cells *columns,
    const void *data, size_t len, struct tundish_error *e)
{
	struct parse p = { .labels = labels, .columns = columns, .e = e };
	const char *text = data;
	size_t bom = len >= 3 && memcmp(data, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
	int rc = td_buf_add(&p.text, "", 1) ? parse_text(&p, text + bom, len - bom) : td_err_memory(e);
	if (rc == 0)
		rc = hand_over(ret, &p);
	td_buf_free(&p.text);
	free(p.rows);
	free(p.cells);
	free(p.wanted);
	return rc;
}

int td_csv_read(struct td_csv *ret, const struct td_labels *labels, struct td_cells *columns,
    struct tundish_error *e)
{
	struct td_buf file = { 0 };
	int rc = td_read_named(&file, labels->file, CSV_MAX_BYTES, e);
	if (rc == 0)
		rc = td_csv_parse(ret, labels, columns, file.data, file.len, e);
	td_buf_free(&file);
	return rc;
}

void td_csv_free(struct td_csv *csv)
{
	free(csv->rows);
	td_buf_free(&csv->text);
	*csv = (struct td_csv){ 0 };
}
