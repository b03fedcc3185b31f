/* SPDX-License-Identifier: BSD-2-Clause
 * The words for what is cut out of arrays. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/number.h"
#include "format.h"
#include "media/raster.h"

#define BANDS_MOST 1000000

/* Decimal digits at *s, which moves behind them; false without or with too many. */
static bool take_number(const char **s, uint64_t most, uint64_t *ret)
{
	uint64_t value = 0;
	if (!isdigit((unsigned char)**s))
		return false;
	for (; isdigit((unsigned char)**s); ++*s) {
		value = value * 10 + (uint64_t)(**s - '0');
		if (value > most)
			return false;
	}
	*ret = value;
	return true;
}

static bool take_char(const char **s, char c)
{
	if (**s != c)
		return false;
	++*s;
	return true;
}

static int parse_tile(struct td_cut *cut, const char *spec, struct tundish_error *e)
{
	uint64_t h, w, stride = 0;
	const char *s = spec;
	if (!spec)
		return 0;
	bool ok = take_number(&s, INT32_MAX, &h) && take_char(&s, 'x') && take_number(&s, INT32_MAX, &w);
	if (ok && *s)
		ok = take_char(&s, ':') && take_number(&s, INT32_MAX, &stride) && stride > 0;
	if (!ok || *s || h == 0 || w == 0)
		return td_err(e, TUNDISH_E_USAGE, "tile: \"%s\" is not HEIGHTxWIDTH[:STRIDE]", TD_ESC(spec));
	cut->tile_h = (uint32_t)h;
	cut->tile_w = (uint32_t)w;
	cut->stride = (uint32_t)stride;
	return 0;
}

static int parse_edge(struct td_cut *cut, const char *spec, struct tundish_error *e)
{
	static const char *const words[] = { "drop", "pad", "keep" };
	for (unsigned i = 0; spec && i < TD_COUNT(words); i++) {
		if (strcmp(spec, words[i]) == 0) {
			cut->edge = (enum td_edge)i;
			return 0;
		}
	}
	return spec ? td_err(e, TUNDISH_E_USAGE, "edge: \"%s\" is none of drop, pad, keep", TD_ESC(spec)) : 0;
}

static int add_bands(struct td_cut *cut, uint64_t first, uint64_t last, struct tundish_error *e)
{
	if (last - first >= BANDS_MOST - cut->n_bands)
		return td_err(e, TUNDISH_E_USAGE, "bands: more than %d", BANDS_MOST);
	uint32_t *more = realloc(cut->bands, (cut->n_bands + last - first + 1) * sizeof *more);
	if (!more)
		return td_err_memory(e);
	cut->bands = more;
	for (uint64_t band = first; band <= last; band++)
		more[cut->n_bands++] = (uint32_t)(band - 1);
	return 0;
}

static int parse_bands(struct td_cut *cut, const char *spec, struct tundish_error *e)
{
	for (const char *s = spec; s; s = *s ? s + 1 : NULL) {
		uint64_t first, last;
		bool ok = take_number(&s, INT32_MAX, &first);
		last = first;
		if (ok && *s == '-')
			ok = take_char(&s, '-') && take_number(&s, INT32_MAX, &last);
		if (!ok || first == 0 || last < first || (*s && *s != ',') || (*s == ',' && !s[1]))
			return td_err(e, TUNDISH_E_USAGE, "bands: \"%s\" is not a list like 10-40,55, from 1",
			    TD_ESC(spec));
		int rc = add_bands(cut, first, last, e);
		if (rc < 0 || !*s)
			return rc;
	}
	return 0;
}

static int parse_region(struct td_cut *cut, const char *spec, struct tundish_error *e)
{
	const char *s = spec;
	bool ok = true;
	if (!spec)
		return 0;
	for (int i = 0; ok && i < 4; i++)
		ok = (i == 0 || take_char(&s, ':')) && take_number(&s, INT32_MAX, &cut->region[i]);
	if (!ok || *s || cut->region[2] == 0 || cut->region[3] == 0)
		return td_err(e, TUNDISH_E_USAGE, "region: \"%s\" is not Y:X:HEIGHT:WIDTH", TD_ESC(spec));
	cut->has_region = true;
	return 0;
}

/* "item", "group", "blocks:HxW" */
static int parse_split_by(struct td_cut *cut, const struct tundish_pack_options *o, struct tundish_error *e)
{
	const char *spec = o->split_by ? o->split_by : "";
	uint64_t h = 0, w = 0;
	bool blocks = strncmp(spec, "blocks:", 7) == 0, group = strcmp(spec, "group") == 0;
	const char *s = spec + (blocks ? 7 : 0);
	if (blocks && !(take_number(&s, INT32_MAX, &h) && take_char(&s, 'x') && take_number(&s, INT32_MAX, &w) &&
	    !*s && h && w))
		return td_err(e, TUNDISH_E_USAGE, "split-by: \"%s\" is not blocks:HEIGHTxWIDTH", TD_ESC(spec));
	if (*spec && !blocks && !group && strcmp(spec, "item") != 0)
		return td_err(e, TUNDISH_E_USAGE, "split-by: \"%s\" is none of item, group, blocks:HxW",
		    TD_ESC(spec));
	if (blocks && (h < cut->tile_h || w < cut->tile_w || !cut->tile_h))
		return td_err(e, TUNDISH_E_USAGE, "split-by: blocks need tiles that fit into them");
	bool overlap = cut->stride && (cut->stride < cut->tile_h || cut->stride < cut->tile_w);
	if (overlap && o->split && !blocks && !group)
		return td_err(e, TUNDISH_E_USAGE, "tiles %u apart overlap: --split needs --split-by group, "
		    "which keeps each file in one split, or blocks:HxW", cut->stride);
	cut->block_h = (uint32_t)h;
	cut->block_w = (uint32_t)w;
	return 0;
}

/* "25", "25%" */
static int parse_nodata(struct td_cut *cut, const char *spec, struct tundish_error *e)
{
	double percent;
	cut->max_nodata = 2;
	if (!spec)
		return 0;
	size_t len = strlen(spec);
	len -= len && spec[len - 1] == '%';
	if (!td_parse_double(&percent, spec, len) || !(percent >= 0 && percent <= 100))
		return td_err(e, TUNDISH_E_USAGE, "max-nodata: \"%s\" is no percentage", TD_ESC(spec));
	cut->max_nodata = percent / 100;
	return 0;
}

/* One that is for all is told of before anything is done. */
static int try_raster(const char *path, struct tundish_error *e)
{
	struct tundish_error why = { 0 };
	struct td_raster *r;
	int rc = td_raster_open(&r, path, TD_RASTER_HEADER_ONLY, NULL, &why);
	if (rc == 0) {
		td_raster_close(r);
		return 0;
	}
	bool gone = rc == TUNDISH_E_NOT_FOUND || rc == TUNDISH_E_IO || rc == TUNDISH_E_MEMORY;
	return td_err(e, gone ? rc : TUNDISH_E_USAGE, "label-raster: %s: %s", TD_ESC(path), why.text);
}

/* "gt.hdr", "gt.hdr:center", "gt.hdr:majority" */
static int parse_label_raster(struct td_cut *cut, const char *spec, struct tundish_error *e)
{
	const char *colon = spec ? strrchr(spec, ':') : NULL;
	if (!spec)
		return 0;
	cut->majority = colon && strcmp(colon, ":majority") == 0;
	bool word = colon && (cut->majority || strcmp(colon, ":center") == 0);
	cut->label_raster = strndup(spec, word ? (size_t)(colon - spec) : strlen(spec));
	if (!cut->label_raster)
		return td_err_memory(e);
	if (!*cut->label_raster)
		return td_err(e, TUNDISH_E_USAGE, "label-raster: needs a file");
	return strstr(cut->label_raster, "{}") ? 0 : try_raster(cut->label_raster, e);
}

static int parse_words(struct td_cut *cut, const struct tundish_pack_options *o, struct tundish_error *e)
{
	static const struct {
		const char *word;
		int flag;
	} interleaves[] = { { "bsq", TD_RASTER_BSQ }, { "bil", TD_RASTER_BIL }, { "bip", TD_RASTER_BIP } };
	for (size_t i = 0; o->interleave && i < TD_COUNT(interleaves); i++)
		if (strcasecmp(o->interleave, interleaves[i].word) == 0)
			cut->raster_flags = interleaves[i].flag;
	if (o->interleave && !cut->raster_flags)
		return td_err(e, TUNDISH_E_USAGE, "interleave: \"%s\" is none of bsq, bil, bip", TD_ESC(o->interleave));
	cut->keep_unlabelled = o->unlabelled && strcmp(o->unlabelled, "keep") == 0;
	if (o->unlabelled && !cut->keep_unlabelled && strcmp(o->unlabelled, "drop") != 0)
		return td_err(e, TUNDISH_E_USAGE, "unlabelled: \"%s\" is neither drop nor keep", TD_ESC(o->unlabelled));
	if (o->pixel_origin != 0 && o->pixel_origin != 1)
		return td_err(e, TUNDISH_E_USAGE, "pixel-origin: %d is neither 0 nor 1", o->pixel_origin);
	cut->pixel_origin = o->pixel_origin;
	if (o->label_raster && o->labels && strcmp(o->labels, "folder") != 0)
		return td_err(e, TUNDISH_E_USAGE, "a label raster and other labels cannot go together");
	return td_cells_parse(&cut->columns, o->columns, NULL, e);
}

int td_cut_parse(struct td_cut *ret, const struct tundish_pack_options *o, struct tundish_error *e)
{
	struct td_cut cut = {
		.drop_bad_bands = o->drop_bad_bands,
		.apply_scale = o->apply_scale,
		.stack = o->stack,
		.max_bytes = o->max_record_bytes,
		.max_pixels = o->max_pixels,
		.follow_external = o->follow_external,
		.memory = td_memory(o->memory) / 4,
		.keep = calloc(1, sizeof *cut.keep),
	};
	if (!cut.keep)
		return td_err_memory(e);
	pthread_mutex_init(&cut.keep->lock, NULL);
	int rc = parse_tile(&cut, o->tile, e);
	if (rc == 0)
		rc = parse_edge(&cut, o->edge, e);
	if (rc == 0)
		rc = parse_bands(&cut, o->bands, e);
	if (rc == 0)
		rc = parse_region(&cut, o->region, e);
	if (rc == 0)
		rc = parse_split_by(&cut, o, e);
	if (rc == 0)
		rc = parse_nodata(&cut, o->max_nodata, e);
	if (rc == 0)
		rc = parse_label_raster(&cut, o->label_raster, e);
	if (rc == 0)
		rc = parse_words(&cut, o, e);
	if (rc == 0)
		rc = td_av_parse(&cut.av, o, e);
	if (rc == 0)
		rc = td_aligns_parse(&cut.align, o, e);
	if (rc < 0)
		td_cut_free(&cut);
	else
		*ret = cut;
	return rc;
}

void td_cut_free(struct td_cut *cut)
{
	free(cut->bands);
	td_aligns_free(cut->align);
	free(cut->label_raster);
	td_cells_free(&cut->columns);
	if (cut->keep) {
		if (cut->keep->state)
			cut->keep->free(cut->keep->state);
		pthread_mutex_destroy(&cut->keep->lock);
		free(cut->keep);
	}
	*cut = (struct td_cut){ 0 };
}
