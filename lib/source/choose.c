/* SPDX-License-Identifier: BSD-2-Clause
 * Which of the items that can be cut out of an array are wanted, and what their labels
 * are. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/map.h"
#include "base/path.h"
#include "base/talk.h"
#include "grid.h"

struct chooser {
	struct td_parts *p;
	struct td_arrays_file *o;
	const struct td_cut *cut;
	struct tundish_error *e;
	struct td_raster *truth; /* the labels; NULL: none */
	const json_t *names;	 /* of its classes; NULL */
	struct td_buf path, data, scratch;
	struct td_map counts; /* value -> uint64_t pixels of a tile */
	uint64_t across, empty, unlabelled; /* that are left out */
};

bool td_grid_chooses(const struct td_cut *cut)
{
	return cut->block_h || cut->max_nodata <= 1 || cut->label_raster;
}

/* "ROW:COLUMN" of the block that a tile lies in; false when it lies in several. */
static bool block_of(char out[48], const struct td_cut *cut, const struct td_grid *g, const struct td_spot *spot)
{
	uint64_t row = spot->y / cut->block_h, column = spot->x / cut->block_w;
	uint64_t h = spot->part.count[g->y], w = spot->part.count[g->y + 1];
	snprintf(out, 48, "%" PRIu64 ":%" PRIu64, row, column);
	return (spot->y + h - 1) / cut->block_h == row && (spot->x + w - 1) / cut->block_w == column;
}

static int read_part(struct chooser *c, struct td_raster *r, const struct td_raster_part *part)
{
	uint64_t bytes;
	int rc = td_raster_part_bytes(&bytes, r, part, c->e);
	if (rc == 0 && bytes > c->cut->max_bytes)
		return td_err(c->e, TUNDISH_E_LIMIT, "record would be %" PRIu64 " bytes; the limit is %" PRIu64,
		    bytes, c->cut->max_bytes);
	if (rc == 0 && !td_buf_fit(&c->data, (size_t)bytes))
		return td_err_memory(c->e);
	return rc < 0 ? rc : td_raster_read(r, part, c->data.data, &c->scratch, c->e);
}

/* ---- no data ---- */

static bool over(const struct chooser *c, uint64_t ignored, uint64_t pixels)
{
	return (double)ignored > c->cut->max_nodata * (double)pixels;
}

/* 1: more pixels than allowed stand for no data. The first band alone says mostly no. */
static int has_no_data(struct chooser *c, const struct td_grid *g, const struct td_spot *spot)
{
	struct td_raster *r = c->o->raster;
	const struct td_raster_info *info = td_raster_info(r);
	struct td_raster_part part = spot->part;
	if (c->cut->max_nodata > 1 || !info->has_ignore || g->flat || info->kind != TD_RASTER_ENVI)
		return 0;
	uint64_t pixels = part.count[0] * part.count[1];
	uint32_t first = part.bands ? part.bands[0] : 0;
	part.bands = &first;
	part.n_bands = 1;
	int rc = read_part(c, r, &part);
	if (rc < 0 || !over(c, td_raster_ignored(r, &part, c->data.data), pixels))
		return rc;
	rc = read_part(c, r, &spot->part);
	return rc < 0 ? rc : over(c, td_raster_ignored(r, &spot->part, c->data.data), pixels);
}

/* ---- labels ---- */

/* "{}" in it stands for the cube's name without folder and suffix. */
static bool truth_path(struct td_buf *out, const char *pattern, const char *cube)
{
	const char *hole = strstr(pattern, "{}"), *base = td_path_base(cube);
	int stem = (int)(strlen(base) - strlen(td_path_suffix(base)));
	if (!hole)
		return td_buf_printf(out, "%s", pattern);
	return td_buf_printf(out, "%.*s%.*s%s", (int)(hole - pattern), pattern, stem, base, hole + 2);
}

static int open_truth(struct chooser *c, const char *path, const struct tundish_listener *l)
{
	const struct td_raster_info *own = td_raster_info(c->o->raster), *info;
	struct tundish_error why = { 0 };
	int rc = td_raster_open(&c->truth, path, c->cut->raster_flags, l, &why);
	if (rc < 0)
		return td_err(c->e, rc == TUNDISH_E_NOT_FOUND ? TUNDISH_E_UNSUPPORTED : rc, "%s: %s", TD_ESC(path),
		    why.text);
	info = td_raster_info(c->truth);
	const struct td_raster_region *g = &own->regions[0], *t = &info->regions[0];
	if (own->kind != TD_RASTER_ENVI || g->n_axes != 3)
		return td_err(c->e, TUNDISH_E_UNSUPPORTED, "a label raster is for ENVI cubes");
	if (info->kind != TD_RASTER_ENVI || t->n_axes != 3 || t->shape[2] != 1 || t->shape[0] != g->shape[0] ||
	    t->shape[1] != g->shape[1])
		return td_err(c->e, TUNDISH_E_UNSUPPORTED,
		    "%s: has no labels for %" PRIu64 " lines and %" PRIu64 " samples in one band", TD_ESC(path),
		    g->shape[0], g->shape[1]);
	c->names = json_object_get(info->metadata, "class names");
	return 0;
}

/* The labels that records get are the raster's own values where it names its classes. */
static int add_classes(struct chooser *c)
{
	size_t i;
	json_t *name;
	json_array_foreach((json_t *)(uintptr_t)c->names, i, name) {
		const char *text = json_string_value(name);
		if (!text || !td_buf_add(&c->p->classes, text, strlen(text) + 1))
			return td_err_memory(c->e);
	}
	return 0;
}

static bool is_unlabelled(const struct chooser *c, double v)
{
	const struct td_raster_info *info = td_raster_info(c->truth);
	return v == 0 || isnan(v) || (info->has_ignore && v == info->ignore);
}

/* The value that most pixels have, of several the smallest. */
static int most_common(struct chooser *c, uint64_t n, double *ret)
{
	enum td_elem dtype = td_raster_info(c->truth)->dtype;
	uint64_t most = 0;
	c->counts.value_bytes = sizeof(uint64_t);
	td_map_clear(&c->counts);
	for (uint64_t i = 0; i < n; i++) {
		double v = td_elem_value(dtype, c->data.data, (size_t)i);
		v = is_unlabelled(c, v) ? 0 : v;
		uint64_t *count = td_map_at(&c->counts, &v, sizeof v);
		if (!count)
			return td_err_memory(c->e);
		++*count;
	}
	for (size_t i = 0; i < c->counts.n; i++) {
		double v;
		uint64_t count = *(uint64_t *)td_map_value(&c->counts, i);
		memcpy(&v, td_map_key(&c->counts, i), sizeof v);
		if (count > most || (count == most && v < *ret)) {
			most = count;
			*ret = v;
		}
	}
	return 0;
}

static int put_label(struct chooser *c, double v)
{
	char number[32];
	const char *name = v >= 0 && v < 1e6 ? json_string_value(json_array_get(c->names, (size_t)v)) : NULL;
	if (v != floor(v) || fabs(v) > 9e15)
		return td_err(c->e, TUNDISH_E_UNSUPPORTED, "%s: label %g is no whole number",
		    TD_ESC((const char *)c->path.data), v);
	if (c->names && !name)
		return td_err(c->e, TUNDISH_E_UNSUPPORTED, "%s: label %.0f has no class name",
		    TD_ESC((const char *)c->path.data), v);
	snprintf(number, sizeof number, "%.0f", v);
	if (!name)
		name = number;
	return td_buf_add(&c->p->labels, name, strlen(name) + 1) ? 0 : td_err_memory(c->e);
}

/* 1: it has none, and is not wanted then. Else its label is noted, "" for none. */
static int find_label(struct chooser *c, const struct td_spot *spot)
{
	double v = 0;
	struct td_raster_part part = td_raster_all(c->truth, 0);
	for (unsigned i = 0; i < 2; i++) {
		part.start[i] = spot->part.start[i] + (c->cut->majority ? 0 : spot->part.count[i] / 2);
		part.count[i] = c->cut->majority ? spot->part.count[i] : 1;
	}
	int rc = read_part(c, c->truth, &part);
	if (rc == 0)
		rc = most_common(c, part.count[0] * part.count[1], &v);
	if (rc < 0)
		return rc;
	if (!is_unlabelled(c, v))
		return put_label(c, v);
	if (!c->cut->keep_unlabelled)
		return 1;
	return td_buf_add(&c->p->labels, "", 1) ? 0 : td_err_memory(c->e);
}

/* ---- all together ---- */

/* 1: the item is wanted. */
static int judge(struct chooser *c, uint64_t number)
{
	struct td_grid g = { .frames = 0 };
	unsigned region = 0;
	char block[48];
	int rc = td_grid_find(c->o, c->cut, &number, &region, &g, c->e);
	if (rc < 0)
		return rc;
	struct td_spot spot = td_grid_spot(c->o, region, &g, number);
	if (c->cut->block_h && !block_of(block, c->cut, &g, &spot)) {
		c->across++;
		return 0;
	}
	rc = has_no_data(c, &g, &spot);
	c->empty += rc == 1;
	if (rc == 0 && c->truth) {
		rc = find_label(c, &spot);
		c->unlabelled += rc == 1;
	}
	if (rc == 0 && c->cut->block_h && !td_buf_add(&c->p->groups, block, strlen(block) + 1))
		rc = td_err_memory(c->e);
	return rc < 0 ? rc : rc == 0;
}

static int judge_all(struct chooser *c)
{
	struct td_parts *p = c->p;
	uint32_t n = 0;
	p->numbers = malloc(p->n * sizeof *p->numbers);
	if (!p->numbers)
		return td_err_memory(c->e);
	for (uint32_t i = 0; i < p->n; i++) {
		int rc = judge(c, i);
		if (rc < 0)
			return rc;
		if (rc)
			p->numbers[n++] = i;
	}
	p->n_left_out = p->n - n;
	p->n = n;
	return 0;
}

static void tell(const struct chooser *c, const char *path, const struct tundish_listener *l)
{
	const struct {
		uint64_t n;
		const char *why;
	} left[] = { { c->across, "across the borders of blocks" }, { c->empty, "too much without data" },
		{ c->unlabelled, "without a label" } };
	for (size_t i = 0; i < TD_COUNT(left); i++)
		if (left[i].n)
			td_notice(l, "%s: %" PRIu64 " left out, %s", TD_ESC(path), left[i].n, left[i].why);
}

int td_grid_choose(struct td_parts *p, struct td_arrays_file *o, const struct td_file *file,
    const struct td_cut *cut, const struct tundish_listener *l, struct tundish_error *e)
{
	struct chooser c = { .p = p, .o = o, .cut = cut, .e = e };
	int rc = 0;
	if (cut->label_raster)
		rc = truth_path(&c.path, cut->label_raster, td_file_shown(file)) ?
		    open_truth(&c, (const char *)c.path.data, l) : td_err_memory(e);
	if (rc == 0)
		rc = judge_all(&c);
	p->unlabelled = c.truth && cut->keep_unlabelled;
	if (rc == 0 && c.names)
		rc = add_classes(&c);
	if (rc == 0)
		tell(&c, td_file_shown(file), l);
	td_raster_close(c.truth);
	td_buf_free(&c.data);
	td_buf_free(&c.scratch);
	td_buf_free(&c.path);
	td_map_free(&c.counts);
	return rc;
}
