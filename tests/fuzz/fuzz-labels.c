/* SPDX-License-Identifier: BSD-2-Clause
 * Tables of labels with columns, and class lists. The input: a line "KIND SPEC" (csv and
 * what stands behind --labels csv:FILE and --columns, or list), then the file. */
#include "fuzz.h"

#include "source/classes.h"
#include "source/labels.h"

static void check_rows(struct td_csv *csv, struct td_cells *cells)
{
	struct tundish_error e = { 0 };
	struct td_specs specs = { 0 };
	int64_t line = 0;
	td_cells_settle(cells);
	MUST(cells->rows == (cells->n ? csv->n : 0));
	MUST(td_cells_specs(cells, &specs));
	for (size_t i = 0; i < csv->n; i++) {
		struct td_extras x = { 0 };
		MUST(csv->rows[i].path && csv->rows[i].label && csv->rows[i].line >= line);
		line = csv->rows[i].line;
		int rc = cells->n ? td_cells_extras(cells, i, &x, &e) : 0;
		MUST(rc == 0 || rc == TUNDISH_E_SCHEMA);
		for (size_t k = 0; rc == 0 && k < x.n; k++)
			MUST(td_extra_field(&x, k).key[0]);
		/* what all rows have is there */
		for (size_t k = 0; rc == 0 && k < specs.n; k++) {
			bool found = false;
			for (size_t f = 0; f < x.n; f++)
				found |= strcmp(td_extra_field(&x, f).key, specs.list[k].key) == 0;
			MUST(found);
		}
		td_extras_free(&x);
	}
	td_specs_free(&specs);
}

static void table(const char *spec, const uint8_t *data, size_t len)
{
	struct tundish_error e = { 0 };
	struct td_labels labels = { 0 };
	struct td_cells cells = { 0 };
	struct td_csv csv = { 0 };
	char *words = strdup(spec), *columns = strchr(words, ' ');
	if (columns)
		*columns++ = 0;
	int rc = td_labels_parse(&labels, words, &e);
	if (rc == 0 && labels.from == TD_LABELS_CSV) {
		rc = td_cells_parse(&cells, columns, NULL, &e);
		if (rc == 0)
			rc = td_csv_parse(&csv, &labels, &cells, data, len, &e);
		if (rc == 0)
			check_rows(&csv, &cells);
	}
	if (rc < 0)
		must_be_told(rc, &e);
	td_csv_free(&csv);
	td_cells_free(&cells);
	td_labels_free(&labels);
	free(words);
}

static void list(const uint8_t *data, size_t len)
{
	struct tundish_error e = { 0 };
	struct td_classes classes = { 0 };
	struct td_buf text = { 0 };
	MUST(td_buf_add(&text, data, len));
	int rc = td_classes_parse(&classes, "list", &text, NULL, &e);
	if (rc < 0)
		must_be_told(rc, &e);
	for (size_t i = 0; rc == 0 && i < classes.n; i++)
		MUST(td_classes_find(&classes, classes.list[i].name, strlen(classes.list[i].name)) == (int32_t)i);
	td_classes_free(&classes);
	td_buf_free(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	const uint8_t *end = memchr(data, '\n', len);
	if (!end)
		return 0;
	char *line = strndup((const char *)data, (size_t)(end - data));
	size_t head = (size_t)(end - data) + 1;
	MUST(line);
	if (strncmp(line, "list", 4) == 0)
		list(data + head, len - head);
	else
		table(line, data + head, len - head);
	free(line);
	return 0;
}
