/* SPDX-License-Identifier: BSD-2-Clause
 * The contact sheet: pictures of a set on one page, with their classes and names. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/outfile.h"
#include "base/path.h"
#include "canvas.h"
#include "fetch.h"
#include "media/resize.h"
#include "sheet.h"

enum {
	THUMB = 192,  /* the longer side of a picture */
	GAP = 16,     /* between pictures, and around all */
	TITLE = 3 * 9 + GAP,
	CAPTION = 6 + 2 * 9 + 4 + 9, /* two lines below a picture */
};

enum {
	PAPER = 0xf7f6f3,
	MOUNT = 0xe9e7e1, /* behind pictures that are not square */
	INK = 0x1c1c1c,
	FAINT = 0x6a6a6a,
	ALARM = 0xb3261e,
};

struct page {
	const struct tundish_survey *s;
	const struct td_class_table *classes;
	size_t *class_row; /* of each class of the picks; classes->n: without label */
	unsigned columns;
	struct td_canvas canvas;
	struct td_fetch fetch;
	struct td_decoder *decoder;
	struct td_scratch scratch;
	uint8_t *thumb;
};

/* The size at which a picture fits into its square; small ones stay as they are. */
static void fit(uint32_t width, uint32_t height, uint32_t *ret_width, uint32_t *ret_height)
{
	uint64_t longer = TD_MAX(width, height);
	if (longer <= THUMB) {
		*ret_width = width;
		*ret_height = height;
		return;
	}
	*ret_width = (uint32_t)TD_MAX((width * (uint64_t)THUMB + longer / 2) / longer, 1u);
	*ret_height = (uint32_t)TD_MAX((height * (uint64_t)THUMB + longer / 2) / longer, 1u);
}

/* Decodes and draws into the square at x, y. */
static int draw_picture(struct page *p, const struct tundish_feature *image, uint32_t x, uint32_t y,
    struct tundish_error *e)
{
	const uint8_t *data;
	size_t bytes;
	struct td_image_info info;
	struct td_pixels pixels;
	if (tundish_feature_bytes(image, 0, &data, &bytes) <= 0)
		return td_err(e, TUNDISH_E_SCHEMA, "no picture");
	int rc = td_image_header(&info, data, bytes, p->s->options.max_pixels, e);
	if (rc == 0)
		rc = td_decode(p->decoder, &pixels, &info, data, bytes, NULL, true, e);
	if (rc < 0)
		return rc;
	struct td_store store = { .rule = TD_RESIZE_ANTIALIAS, .dtype = TUNDISH_UINT8, .out = p->thumb };
	fit(pixels.width, pixels.height, &store.width, &store.height);
	rc = td_store_pixels(&pixels, &store, &p->scratch, e);
	if (rc < 0)
		return rc;
	uint32_t zoom = THUMB / TD_MAX(store.width, store.height);
	td_canvas_place(&p->canvas, x + (THUMB - store.width * zoom) / 2,
	    y + (THUMB - store.height * zoom) / 2, p->thumb, store.width, store.height, zoom);
	return 0;
}

/* "IMG_1.jpg" from the record, or "record 12". */
static void name_of(char *out, size_t bytes, const struct tundish_record *r)
{
	static const char *const keys[] = { "filename", "image/filename" };
	struct tundish_feature f;
	const uint8_t *data;
	size_t n;
	snprintf(out, bytes, "record %" PRIu64, r->number);
	for (size_t i = 0; i < TD_COUNT(keys); i++) {
		if (tundish_example_find(r->data, r->bytes, keys[i], strlen(keys[i]), &f) <= 0 ||
		    tundish_feature_bytes(&f, 0, &data, &n) <= 0 || n == 0)
			continue;
		const uint8_t *slash = memrchr(data, '/', n);
		const uint8_t *base = slash ? slash + 1 : data;
		td_escape(out, bytes, (const char *)base, (size_t)(data + n - base));
		return;
	}
}

static const char *class_text(const struct page *p, size_t class)
{
	size_t row = p->class_row[class];
	if (row == p->classes->n)
		return "no label";
	const struct td_class_row *c = &p->classes->items[row];
	return *c->name ? c->name : c->text;
}

static int draw_cell(struct page *p, size_t cell, const struct td_picked *picked, struct tundish_error *e)
{
	uint32_t x = GAP + (uint32_t)(cell % p->columns) * (THUMB + GAP);
	uint32_t y = GAP + TITLE + (uint32_t)(cell / p->columns) * (THUMB + CAPTION + GAP);
	struct tundish_record r;
	struct td_sample sample;
	struct tundish_error why = { 0 };
	char name[200];
	const struct td_keys keys = { p->s->options.image_key, p->s->options.label_key };
	int rc = td_fetch(&p->fetch, picked->pick.file, picked->pick.record, picked->pick.offset, &r, e);
	if (rc < 0)
		return rc;
	td_canvas_fill(&p->canvas, x, y, THUMB, THUMB, MOUNT);
	rc = td_sample_find(&sample, &keys, r.data, r.bytes);
	if (rc == 0 && sample.image)
		rc = draw_picture(p, sample.image, x, y, &why);
	if (rc == TUNDISH_E_MEMORY)
		return td_err_memory(e);
	if (rc < 0)
		td_canvas_text(&p->canvas, x + 8, y + THUMB / 2 - 9, 2, THUMB - 16, ALARM, "bad picture");
	y += THUMB + 6;
	td_canvas_text(&p->canvas, x, y, 2, THUMB, INK, class_text(p, picked->class));
	name_of(name, sizeof name, &r);
	td_canvas_text(&p->canvas, x, y + 2 * 9 + 4, 1, THUMB, FAINT, name);
	return 0;
}

/* NAME of NAME.tfrecord-00000-of-00010 and the like. */
static void name_of_file(char *out, size_t bytes, const char *path)
{
	snprintf(out, bytes, "%s", td_path_base(path));
	static const char *const ends[] = { "-00000-of-", ".tfrecord" };
	for (size_t i = 0; i < TD_COUNT(ends); i++) {
		char *cut = strstr(out, ends[i]);
		if (cut && cut != out)
			*cut = 0;
	}
}

/* What the names of all files have in common up to a hyphen: the set, of several splits. */
static void set_name(char *out, size_t bytes, const struct tundish_survey *s)
{
	char other[160];
	name_of_file(out, bytes, s->paths.paths[0]);
	for (size_t i = 1; i < s->paths.n; i++) {
		size_t same = 0;
		name_of_file(other, sizeof other, s->paths.paths[i]);
		while (out[same] && out[same] == other[same])
			same++;
		if (out[same] == other[same] || (!out[same] && other[same] == '-'))
			continue;
		while (same && out[same] != '-')
			same--;
		out[same] = 0;
	}
	if (!out[0])
		snprintf(out, bytes, "%zu files", s->paths.n);
}

static void draw_title(struct page *p, size_t shown)
{
	char name[160], text[400];
	const struct tundish_survey *s = p->s;
	set_name(name, sizeof name, s);
	int n = snprintf(text, sizeof text, "%s: %" PRIu64 " records", TD_ESC(name), s->records);
	if (p->classes->n)
		n += snprintf(text + n, sizeof text - (size_t)n, ", %zu classes", p->classes->n);
	snprintf(text + n, sizeof text - (size_t)n, ", %zu shown", shown);
	uint32_t width = p->canvas.width - 2 * GAP;
	unsigned scale = td_canvas_text_width(text, 3) <= width ? 3 : 2;
	td_canvas_text(&p->canvas, GAP, GAP, scale, width, INK, text);
}

/* Pictures are read in the order of the files, whatever their place on the page. */
struct visit {
	const struct td_picked *picked;
	size_t cell;
};

static int by_place(const void *a, const void *b)
{
	const struct td_pick *pa = &((const struct visit *)a)->picked->pick;
	const struct td_pick *pb = &((const struct visit *)b)->picked->pick;
	if (pa->file != pb->file)
		return pa->file < pb->file ? -1 : 1;
	return (pa->record > pb->record) - (pa->record < pb->record);
}

static int draw_cells(struct page *p, const struct td_picked *picked, size_t n, struct tundish_error *e)
{
	struct visit *visits = calloc(n + 1, sizeof *visits);
	if (!visits)
		return td_err_memory(e);
	for (size_t i = 0; i < n; i++)
		visits[i] = (struct visit){ &picked[i], i };
	qsort(visits, n, sizeof *visits, by_place);
	int rc = 0;
	for (size_t i = 0; i < n && rc == 0; i++)
		rc = draw_cell(p, visits[i].cell, visits[i].picked, e);
	free(visits);
	return rc;
}

static int write_page(const struct page *p, const char *path, struct tundish_error *e)
{
	const struct td_canvas *c = &p->canvas;
	const struct td_pixels pixels = { .data = c->data, .width = c->width, .height = c->height,
		.channels = 3, .step = 3, .stride = (size_t)c->width * 3 };
	struct td_buf png = { 0 };
	int rc = td_png_encode(&png, &pixels, e);
	if (rc == 0)
		rc = td_write_file(path, png.data, png.len, e);
	td_buf_free(&png);
	return rc;
}

static int draw_page(struct page *p, const struct td_picks *picks, struct tundish_error *e)
{
	size_t n = 0;
	struct td_picked *picked = td_picks_draw(picks, p->class_row, &n);
	if (!picked)
		return td_err_memory(e);
	/* a page about as wide as high, as captions make cells high */
	p->columns = (unsigned)ceil(sqrt((double)n * 1.6));
	size_t rows = (n + p->columns - 1) / p->columns;
	int rc = td_decoder_new(&p->decoder, e);
	if (rc == 0 && (!(p->thumb = malloc(THUMB * THUMB * 3)) ||
		!td_canvas_new(&p->canvas, GAP + TD_MAX(p->columns, 3u) * (THUMB + GAP),
		    GAP + TITLE + (uint32_t)rows * (THUMB + CAPTION + GAP), PAPER)))
		rc = td_err_memory(e);
	if (rc == 0) {
		draw_title(p, n);
		rc = draw_cells(p, picked, n, e);
	}
	if (rc == 0)
		rc = write_page(p, p->s->options.sheet, e);
	free(picked);
	return rc;
}

/* The row of each class of the picks in the table of classes. */
static bool find_rows(struct page *p, const struct td_picks *picks)
{
	size_t n = picks->classes.n;
	p->class_row = calloc(n + 1, sizeof *p->class_row);
	for (size_t i = 0; p->class_row && i < n; i++)
		p->class_row[i] = p->classes->n;
	for (size_t i = 0; p->class_row && i < p->classes->n; i++) {
		const char *text = p->classes->items[i].text;
		const uint8_t *at = td_map_find(&picks->classes, text, strlen(text));
		if (at)
			p->class_row[(size_t)(at - picks->classes.values) /
			    picks->classes.value_bytes] = i;
	}
	return p->class_row != NULL;
}

int td_sheet_draw(const struct tundish_survey *s, const struct td_class_table *classes,
    const struct td_picks *picks, struct tundish_error *e)
{
	if (picks->classes.n == 0)
		return td_err(e, TUNDISH_E_EMPTY, "%s: no pictures to draw", TD_ESC(s->options.sheet));
	struct page p = { .s = s, .classes = classes, .fetch = { .paths = &s->paths } };
	p.fetch.options = td_survey_reader(&s->options);
	p.fetch.options.on_error = TUNDISH_SKIP;
	int rc = find_rows(&p, picks) ? draw_page(&p, picks, e) : td_err_memory(e);
	td_fetch_end(&p.fetch);
	td_decoder_free(p.decoder);
	td_scratch_free(&p.scratch);
	td_canvas_free(&p.canvas);
	free(p.thumb);
	free(p.class_row);
	return rc;
}
