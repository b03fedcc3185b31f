/* SPDX-License-Identifier: BSD-2-Clause
 * Time series beside the frames: --align. */
#include "align.h"

#include <csv.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/crc32c.h"
#include "base/err.h"
#include "base/infile.h"
#include "base/number.h"
#include "base/path.h"
#include "base/talk.h"
#include "format.h"
#include "labels.h"
#include "times.h"

#define CSV_MAX_BYTES ((uint64_t)4 << 30)
#define COLUMNS_MOST 1000

/* ---- options ---- */

static int bad_spec(struct tundish_error *e, const char *spec)
{
	return td_err(e, TUNDISH_E_USAGE, "align: \"%s\" is not KEY=FILE[,time=COLUMN][,columns=A:B:C]"
	    "[,offset=SECONDS]", TD_ESC(spec));
}

static int take_columns(struct td_align *a, char *text, struct tundish_error *e)
{
	for (char *name = strsep(&text, ":"); name; name = strsep(&text, ":")) {
		char **more = a->n_columns < COLUMNS_MOST ? realloc(a->columns, (a->n_columns + 1) * sizeof *more) : NULL;
		if (!more || !(a->columns = more, more[a->n_columns] = strdup(name)))
			return td_err_memory(e);
		a->n_columns++;
	}
	return 0;
}

static int take_word(struct td_align *a, char *word, const char *spec, struct tundish_error *e)
{
	if (strncmp(word, "time=", 5) == 0 && word[5] && !a->time)
		return (a->time = strdup(word + 5)) ? 0 : td_err_memory(e);
	if (strncmp(word, "columns=", 8) == 0 && word[8] && !a->columns)
		return take_columns(a, word + 8, e);
	if (strncmp(word, "offset=", 7) == 0 && td_parse_double(&a->offset, word + 7, strlen(word + 7)) &&
	    isfinite(a->offset))
		return 0;
	return bad_spec(e, spec);
}

/* `text` is cut into its words. */
static int parse_one(struct td_align *a, char *text, const char *spec, struct tundish_error *e)
{
	char *word = strsep(&text, ","), *equals = strchr(word, '=');
	if (!equals || equals == word || !equals[1])
		return bad_spec(e, spec);
	a->key = strndup(word, (size_t)(equals - word));
	a->file = strdup(equals + 1);
	a->shared = !strstr(equals + 1, "{stem}") && !strstr(equals + 1, "{folder}");
	int rc = a->key && a->file ? 0 : td_err_memory(e);
	for (word = strsep(&text, ","); rc == 0 && word; word = strsep(&text, ","))
		rc = take_word(a, word, spec, e);
	return rc;
}

/* ---- tables ---- */

struct parse {
	const struct td_align *a;
	struct td_series *s;
	struct td_buf text;  /* of the row at hand, each cell with a NUL */
	struct td_buf cells; /* size_t: where each begins */
	size_t time_at, *columns; /* which cells count */
	size_t cap_times, cap_values, n_values, row;
	bool ready;
	int rc;
	struct tundish_error *e;
};

static size_t n_cells(const struct parse *p)
{
	return p->cells.len / sizeof(size_t);
}

static const char *cell(const struct parse *p, size_t i)
{
	return (const char *)p->text.data + ((const size_t *)(const void *)p->cells.data)[i];
}

static int find_column(const struct parse *p, const char *name, size_t *ret)
{
	uint64_t number;
	for (size_t i = 0; i < n_cells(p); i++) {
		if (strcmp(cell(p, i), name) == 0) {
			*ret = i;
			return 0;
		}
	}
	if (td_parse_u64(&number, name, strlen(name)) && number >= 1 && number <= n_cells(p)) {
		*ret = (size_t)number - 1;
		return 0;
	}
	return td_err(p->e, TUNDISH_E_USAGE, "%s: no column \"%s\" in the first row", TD_ESC(p->s->path), TD_ESC(name));
}

/* The first row says which columns there are. */
static int choose_columns(struct parse *p)
{
	const struct td_align *a = p->a;
	size_t n = a->columns ? a->n_columns : n_cells(p) - 1, at = 0;
	int rc = a->time ? find_column(p, a->time, &p->time_at) : 0;
	if (rc == 0 && (n == 0 || n > COLUMNS_MOST))
		rc = td_err(p->e, TUNDISH_E_USAGE, "%s: %zu columns of values", TD_ESC(p->s->path), n);
	p->columns = rc == 0 ? malloc(n * sizeof *p->columns) : NULL;
	if (rc == 0 && !p->columns)
		rc = td_err_memory(p->e);
	for (size_t i = 0; rc == 0 && a->columns && i < n; i++)
		rc = find_column(p, a->columns[i], &p->columns[i]);
	for (size_t i = 0; rc == 0 && !a->columns && at < n; i++)
		if (i != p->time_at)
			p->columns[at++] = i;
	p->s->n_columns = n;
	p->ready = true;
	return rc;
}

static int take_number(struct parse *p, size_t column, double *ret)
{
	if (column >= n_cells(p))
		return td_err(p->e, TUNDISH_E_CORRUPT, "%s: row %zu has %zu cells", TD_ESC(p->s->path), p->row, n_cells(p));
	const char *text = cell(p, column);
	return td_parse_double(ret, text, strlen(text)) ? 0 :
	    td_err(p->e, TUNDISH_E_CORRUPT, "%s: row %zu: \"%s\" is no number", TD_ESC(p->s->path), p->row, TD_ESC(text));
}

static int take_row(struct parse *p)
{
	struct td_series *s = p->s;
	double time, ignored;
	int rc = p->ready ? 0 : choose_columns(p);
	if (rc < 0)
		return rc;
	const char *text = p->time_at < n_cells(p) ? cell(p, p->time_at) : "";
	if (p->row == 1 && !td_parse_double(&ignored, text, strlen(text)))
		return 0; /* a header */
	rc = take_number(p, p->time_at, &time);
	if (rc == 0 && (!isfinite(time) || (s->n && time < s->times[s->n - 1])))
		rc = td_err(p->e, TUNDISH_E_CORRUPT, "%s: row %zu: time goes back", TD_ESC(s->path), p->row);
	if (rc == 0 && !td_grow(&s->times, &p->cap_times, s->n, sizeof *s->times))
		rc = td_err_memory(p->e);
	for (size_t i = 0; rc == 0 && i < s->n_columns; i++) {
		if (!td_grow(&s->values, &p->cap_values, p->n_values, sizeof *s->values))
			return td_err_memory(p->e);
		rc = take_number(p, p->columns[i], &s->values[p->n_values]);
		p->n_values++;
	}
	if (rc == 0)
		s->times[s->n++] = time;
	return rc;
}

static void on_cell(void *text, size_t len, void *ctx)
{
	struct parse *p = ctx;
	size_t at = p->text.len;
	if (p->rc == 0 && (!td_buf_add(&p->cells, &at, sizeof at) || !td_buf_add(&p->text, text, len) ||
	    !td_buf_add(&p->text, "", 1)))
		p->rc = td_err_memory(p->e);
}

static void on_row(int end, void *ctx)
{
	struct parse *p = ctx;
	(void)end;
	p->row++;
	if (p->rc == 0)
		p->rc = take_row(p);
	p->text.len = p->cells.len = 0;
}

static int parse_text(struct parse *p, const uint8_t *text, size_t len)
{
	struct csv_parser parser;
	if (csv_init(&parser, CSV_STRICT | CSV_STRICT_FINI) != 0)
		return td_err_memory(p->e);
	if (len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) {
		text += 3;
		len -= 3;
	}
	size_t done = csv_parse(&parser, text, len, on_cell, on_row, p);
	if (p->rc == 0 && done != len)
		p->rc = td_err(p->e, TUNDISH_E_CORRUPT, "%s: row %zu: %s", TD_ESC(p->s->path), p->row + 1,
		    td_csv_words(csv_error(&parser)));
	if (p->rc == 0 && csv_fini(&parser, on_cell, on_row, p) != 0)
		p->rc = td_err(p->e, TUNDISH_E_CORRUPT, "%s: row %zu: quotes are opened and not closed",
		    TD_ESC(p->s->path), p->row + 1);
	csv_free(&parser);
	return p->rc;
}

/* Takes the path. */
static int read_series(struct td_series *ret, const struct td_align *a, char *path, struct tundish_error *e)
{
	struct td_series s = { .path = path };
	struct parse p = { .a = a, .s = &s, .e = e };
	struct td_buf text = { 0 };
	int rc = td_read_named(&text, path, CSV_MAX_BYTES, e);
	if (rc == 0)
		rc = parse_text(&p, text.data, text.len);
	if (rc == 0 && s.n == 0)
		rc = td_err(e, TUNDISH_E_CORRUPT, "%s: no rows of numbers", TD_ESC(path));
	td_buf_free(&text);
	td_buf_free(&p.text);
	td_buf_free(&p.cells);
	free(p.columns);
	if (rc < 0)
		td_series_free(&s);
	else
		*ret = s;
	return rc;
}

/* One that is for all is an option: what is wrong with it is no bad item. */
static int read_shared(struct td_align *a, struct tundish_error *e)
{
	char *path = strdup(a->file);
	int rc = path ? read_series(&a->series, a, path, e) : td_err_memory(e);
	if (rc == TUNDISH_E_CORRUPT && e)
		e->code = TUNDISH_E_USAGE;
	return rc == TUNDISH_E_CORRUPT ? TUNDISH_E_USAGE : rc;
}

int td_aligns_parse(struct td_aligns **ret, const struct tundish_pack_options *o, struct tundish_error *e)
{
	struct td_aligns *all = o->align ? calloc(1, sizeof *all) : NULL;
	char *copy = o->align ? strdup(o->align) : NULL, *rest = copy;
	int rc = 0;
	if (o->max_gap && (!o->align || !td_parse_double(&(double){ 0 }, o->max_gap, strlen(o->max_gap))))
		rc = td_err(e, TUNDISH_E_USAGE, "max-gap: seconds, with --align");
	if (rc == 0 && o->align && (!all || !copy || !(all->list = calloc(TD_ALIGNS_MOST, sizeof *all->list))))
		rc = td_err_memory(e);
	for (char *one = strsep(&rest, ";"); rc == 0 && one; one = strsep(&rest, ";")) {
		if (all->n == TD_ALIGNS_MOST) {
			rc = td_err(e, TUNDISH_E_USAGE, "align: more than %d series", TD_ALIGNS_MOST);
			break;
		}
		struct td_align *a = &all->list[all->n++];
		rc = parse_one(a, one, o->align, e);
		if (rc == 0 && a->shared)
			rc = read_shared(a, e);
	}
	if (rc == 0 && o->max_gap)
		td_parse_double(&all->max_gap, o->max_gap, strlen(o->max_gap));
	free(copy);
	if (rc < 0)
		td_aligns_free(all);
	else
		*ret = all;
	return rc;
}

void td_aligns_free(struct td_aligns *all)
{
	if (!all)
		return;
	for (size_t i = 0; i < all->n; i++) {
		struct td_align *a = &all->list[i];
		free(a->key);
		free(a->file);
		free(a->time);
		for (size_t k = 0; k < a->n_columns; k++)
			free(a->columns[k]);
		free(a->columns);
		td_series_free(&a->series);
	}
	free(all->list);
	free(all);
}

/* ---- a file's own table ---- */

/* The video's path without its suffix, also of a frame that is a file of its own. */
static char *stem_of(const char *path)
{
	size_t len;
	char *video = td_frame_read(path, &len, &(int64_t){ 0 }, &(double){ 0 }) ? strndup(path, len) : strdup(path);
	if (video)
		video[strlen(video) - strlen(td_path_suffix(video))] = 0;
	return video;
}

/* "{stem}.csv" of "a/clip.mp4" is "a/clip.csv"; NULL without memory. */
static char *own_path(const struct td_align *a, const char *path)
{
	char *stem = stem_of(path), *folder = td_path_folder(path);
	struct td_buf out = { 0 };
	bool ok = stem && folder;
	for (const char *s = a->file; ok && *s;) {
		bool is_stem = strncmp(s, "{stem}", 6) == 0, is_folder = strncmp(s, "{folder}", 8) == 0;
		ok = is_stem ? td_buf_printf(&out, "%s", stem) : is_folder ? td_buf_printf(&out, "%s", folder) :
									      td_buf_printf(&out, "%c", *s);
		s += is_stem ? 6 : is_folder ? 8 : 1;
	}
	char *copy = ok ? strdup((const char *)out.data) : NULL;
	td_buf_free(&out);
	free(stem);
	free(folder);
	return copy;
}

/* The table of a file: that of all, or its own, which is kept for the next item. */
static int find_series(const struct td_series **ret, const struct td_align *a, struct td_series *kept, const char *path,
    struct tundish_error *e)
{
	if (a->shared) {
		*ret = &a->series;
		return 0;
	}
	char *own = own_path(a, path);
	if (!own)
		return td_err_memory(e);
	if (kept->path && strcmp(kept->path, own) == 0) {
		free(own);
		*ret = kept;
		return 0;
	}
	td_series_free(kept);
	*ret = kept;
	return read_series(kept, a, own, e);
}

/* Rows at or before a time. */
static size_t rows_before(const struct td_series *s, double time)
{
	size_t low = 0, high = s->n;
	while (low < high) {
		size_t middle = (low + high) / 2;
		if (s->times[middle] <= time)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void values_at(float *out, const struct td_series *s, double time)
{
	size_t after = rows_before(s, time), d = s->n_columns;
	const double *before = &s->values[(after ? after - 1 : 0) * d];
	for (size_t i = 0; i < d; i++) {
		double v = before[i];
		if (after > 0 && after < s->n) {
			double t = s->times[after - 1], slope = (before[d + i] - v) / (s->times[after] - t);
			v = slope * (time - t) + v;
		}
		out[i] = (float)v;
	}
}

int td_aligns_load(const struct td_aligns *all, struct td_loaded *out, const char *path, struct tundish_error *e)
{
	const double *times = (const void *)out->times.data;
	size_t n = out->times.len / sizeof *times;
	struct td_buf values = { 0 };
	int rc = n ? 0 : td_err(e, TUNDISH_E_UNSUPPORTED, "it has no times for --align");
	if (rc == 0 && !out->series && !(out->series = calloc(TD_ALIGNS_MOST, sizeof *out->series)))
		rc = td_err_memory(e);
	for (size_t k = 0; rc == 0 && k < all->n; k++) {
		const struct td_align *a = &all->list[k];
		const struct td_series *s;
		rc = find_series(&s, a, &out->series[k], path, e);
		size_t d = rc == 0 ? s->n_columns : 0;
		if (rc == 0 && !td_buf_fit(&values, n * d * sizeof(float)))
			rc = td_err_memory(e);
		for (size_t i = 0; rc == 0 && i < n; i++)
			values_at((float *)(void *)values.data + i * d, s, times[i] + a->offset);
		if (rc == 0 && !td_extra_floats(&out->extras, a->key, (const void *)values.data, n * d))
			rc = td_err_memory(e);
		if (rc == 0)
			td_extra_step(&out->extras, d);
	}
	td_buf_free(&values);
	return rc;
}

/* ---- the listing ---- */

/* The longest stretch without a row between two times. */
static double longest_gap(const struct td_series *s, double from, double to, double *ret_at)
{
	double gap = 0, last = from;
	for (size_t i = rows_before(s, from); i <= s->n && last < to; i++) {
		/* a stretch that begins before is one all the same */
		double start = i ? s->times[i - 1] : from, end = i < s->n ? s->times[i] : to;
		if (end - start > gap) {
			gap = end - start;
			*ret_at = start;
		}
		last = end;
	}
	return gap;
}

static void tell_gap(const struct td_aligns *all, const struct td_align *a, const struct td_series *s,
    const struct td_parts *p, const char *path, const struct tundish_listener *l)
{
	double at = 0, gap = longest_gap(s, p->first_time + a->offset, p->last_time + a->offset, &at);
	if (all->max_gap > 0 && gap > all->max_gap)
		td_notice(l, "%s: no row of %s for %.6g s from %.6g s on: values between are drawn through", TD_ESC(path),
		    TD_ESC(s->path), gap, at);
}

/* For telling whether a table has changed. */
static uint32_t series_sum(const struct td_series *s, uint32_t sum)
{
	sum = td_crc32c(sum, s->times, s->n * sizeof *s->times);
	return td_crc32c(sum, s->values, s->n * s->n_columns * sizeof *s->values);
}

static bool add_spec(const struct td_align *a, const struct td_series *s, struct td_specs *specs, int64_t frames)
{
	int64_t length = frames < 0 ? -1 : frames * (int64_t)s->n_columns;
	if (!td_specs_add(specs, a->key, TUNDISH_FLOAT, length))
		return false;
	specs->list[specs->n - 1].columns = (uint32_t)s->n_columns;
	return true;
}

int td_aligns_check(const struct td_aligns *all, struct td_parts *p, const char *path, int64_t frames,
    const struct tundish_listener *l, struct tundish_error *e)
{
	int rc = 0;
	for (size_t k = 0; rc == 0 && k < all->n; k++) {
		struct td_series own = { 0 };
		const struct td_series *s;
		rc = find_series(&s, &all->list[k], &own, path, e);
		if (rc == 0) {
			tell_gap(all, &all->list[k], s, p, path, l);
			p->sum = series_sum(s, p->sum);
		}
		if (rc == 0 && !add_spec(&all->list[k], s, &p->specs, frames))
			rc = td_err_memory(e);
		td_series_free(&own);
	}
	return rc;
}
