/* SPDX-License-Identifier: BSD-2-Clause
 * What records of arrays have besides the numbers: places, axes, values of frames, and
 * what the header says of itself. */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/json.h"
#include "grid.h"

static bool add_place(struct td_extras *x, const char *key, uint64_t value)
{
	return td_extra_ints(x, key, &(int64_t){ (int64_t)value }, 1);
}

static bool add_places(struct td_extras *x, const struct td_raster_info *info, unsigned region,
    const struct td_grid *g, const struct td_spot *spot, const struct td_cut *cut)
{
	bool regions = info->kind == TD_RASTER_SPE && info->n_regions > 1;
	return (!regions || add_place(x, "region", region)) && (!g->framed || add_place(x, "frame", spot->frame)) &&
	    (!cut->tile_h || (add_place(x, "y", spot->y) && add_place(x, "x", spot->x)));
}

/* ---- SPE ---- */

static const json_t *about(const struct td_raster_info *info, const char *key)
{
	return json_object_get(info->metadata, key);
}

static bool get_numbers(double **ret, size_t *ret_n, const json_t *list)
{
	size_t n = json_array_size(list);
	*ret = malloc((n + 1) * sizeof **ret);
	*ret_n = n;
	for (size_t i = 0; *ret && i < n; i++)
		(*ret)[i] = json_number_value(json_array_get(list, i));
	return *ret != NULL;
}

/* The numbers of the columns on the sensor, as far as a tile takes them, and the
 * coefficients that they come from. */
static bool add_axis(struct td_extras *x, const struct td_raster *r, const struct td_grid *g,
    const struct td_spot *spot, const struct td_cut *cut)
{
	const struct td_raster_info *info = td_raster_info(r);
	size_t n = (size_t)info->regions[spot->part.region].shape[2], n_coefficients = 0;
	double *axis = malloc(n * sizeof *axis), *coefficients = NULL;
	bool ok = axis != NULL;
	if (ok && td_raster_axis(axis, r, spot->part.region, cut->pixel_origin)) {
		uint64_t from = spot->part.start[g->y + 1], count = spot->part.count[g->y + 1];
		ok = td_extra_doubles(x, "axis", axis + from, (size_t)count) &&
		    td_extra_text(x, "axis_unit", info->axis_unit);
		const json_t *list = json_object_get(about(info, "x_calibration"), "coefficients");
		if (ok && list)
			ok = get_numbers(&coefficients, &n_coefficients, list) &&
			    td_extra_doubles(x, "axis_coefficients", coefficients, n_coefficients);
	}
	free(axis);
	free(coefficients);
	return ok;
}

/* "20Aug2013 165014", or the time that a footer has. */
static bool add_date(struct td_extras *x, const struct td_raster_info *info)
{
	const char *date = json_string_value(about(info, "date")), *time = json_string_value(about(info, "local_time"));
	const char *created = json_string_value(about(info, "created"));
	struct td_buf text = { 0 };
	bool ok = true;
	if (date)
		ok = td_buf_printf(&text, "%s%s%s", date, time ? " " : "", time ? time : "");
	else if (created)
		ok = td_buf_printf(&text, "%s", created);
	if (ok && text.data)
		ok = td_extra_text(x, "date", (const char *)text.data);
	td_buf_free(&text);
	return ok;
}

static bool add_exposure(struct td_extras *x, const struct td_raster_info *info)
{
	const json_t *v = about(info, "exposure_s");
	return !v || td_extra_floats(x, "exposure_s", &(float){ (float)json_number_value(v) }, 1);
}

/* A value of each of n frames, which begin at values[0] and lie `step` apart. */
static bool add_field(struct td_extras *x, const struct td_raster_field *field,
    const union td_raster_value *values, size_t n, size_t step)
{
	double *reals = malloc((n + 1) * sizeof *reals);
	int64_t *ints = malloc((n + 1) * sizeof *ints);
	bool ok = reals && ints;
	for (size_t i = 0; ok && i < n; i++) {
		reals[i] = values[i * step].f;
		ints[i] = values[i * step].i;
	}
	if (ok)
		ok = field->real ? td_extra_doubles(x, field->name, reals, n) :
				   td_extra_ints(x, field->name, ints, n);
	free(reals);
	free(ints);
	return ok;
}

static int add_fields(struct td_extras *x, const struct td_raster *r, const struct td_spot *spot,
    struct tundish_error *e)
{
	const struct td_raster_info *info = td_raster_info(r);
	size_t n = (size_t)spot->part.count[0], fields = info->n_fields;
	union td_raster_value *values = fields ? malloc(n * fields * sizeof *values) : NULL;
	int rc = fields && !values ? td_err_memory(e) : 0;
	for (size_t i = 0; rc == 0 && fields && i < n; i++)
		rc = td_raster_frame(values + i * fields, r, spot->part.start[0] + i, e);
	for (size_t i = 0; rc == 0 && i < fields; i++)
		if (!add_field(x, &info->fields[i], values + i, n, fields))
			rc = td_err_memory(e);
	free(values);
	return rc;
}

static int add_spe(struct td_extras *x, const struct td_raster *r, const struct td_grid *g,
    const struct td_spot *spot, const struct td_cut *cut, struct tundish_error *e)
{
	const struct td_raster_info *info = td_raster_info(r);
	if (!add_axis(x, r, g, spot, cut) || !add_date(x, info) || !add_exposure(x, info))
		return td_err_memory(e);
	return add_fields(x, r, spot, e);
}

/* ---- what the header says, where it was asked for ---- */

/* Whole numbers, numbers or texts, whatever all of a value is. */
static int kind_of(const struct td_cells_column *column, const json_t *v)
{
	bool whole = true, number = true;
	for (size_t i = 0; i < td_json_n(v); i++) {
		whole &= json_is_integer(td_json_at(v, i));
		number &= json_is_number(td_json_at(v, i));
	}
	if (!number)
		return TUNDISH_BYTES;
	return column->kind == TD_CELLS_FLOAT || !whole ? TUNDISH_FLOAT : TUNDISH_INT64;
}

static bool add_columns(struct td_extras *x, const struct td_raster_info *info, const struct td_cut *cut)
{
	bool ok = true;
	for (size_t i = 0; ok && i < cut->columns.n; i++) {
		const struct td_cells_column *column = &cut->columns.list[i];
		const json_t *v = about(info, column->name);
		if (v && !json_is_object(v))
			ok = td_extra_json(x, column->name, kind_of(column, v), v);
	}
	return ok;
}

/* ---- all together ---- */

int td_grid_extras(struct td_extras *x, const struct td_arrays_file *o, const struct td_grid *g,
    const struct td_spot *spot, const struct td_cut *cut, struct tundish_error *e)
{
	const struct td_raster_info *info = td_raster_info(o->raster);
	if (!add_places(x, info, spot->part.region, g, spot, cut) || !add_columns(x, info, cut))
		return td_err_memory(e);
	return info->kind == TD_RASTER_SPE ? add_spe(x, o->raster, g, spot, cut, e) : 0;
}
