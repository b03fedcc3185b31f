/* SPDX-License-Identifier: BSD-2-Clause
 * HDF5 files as a tree: what is in one, for looking. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/json.h"
#include "inside.h"

#define VALUES_MOST 64		/* of an attribute */
#define BYTES_MOST 65536u
#define ATTRIBUTES_MOST 256

struct tree {
	const struct td_h5_file *file;
	struct td_json j;
	json_t *groups, *datasets, *links;
};

/* ---- attributes ---- */

static json_t *number_json(const struct td_h5_type *t, const void *number)
{
	int64_t v;
	bool real = t->elem == TD_FLOAT16 || t->elem == TD_FLOAT32 || t->elem == TD_FLOAT64;
	if (t->elem == TD_COMPLEX64 || t->elem == TD_COMPLEX128)
		return json_string("complex");
	if (real || !td_h5_integer(&v, t->elem, number))
		return td_json_real(td_elem_value(t->elem, number, 0));
	for (size_t i = 0; i < t->enumeration.n; i++)
		if (t->enumeration.values[i] == v)
			return td_json_text(t->enumeration.names[i], strlen(t->enumeration.names[i]));
	return json_integer(v);
}

/* Values as the library reads them: `step` bytes each. */
static json_t *values_json(const struct td_h5_type *t, uint8_t *data, size_t n, size_t step, bool list)
{
	json_t *all = list ? json_array() : NULL, *v = NULL;
	for (size_t i = 0; i < n; i++) {
		uint8_t number[16];
		if (t->what == TD_H5_VTEXT) {
			const char *text;
			memcpy(&text, data + i * step, sizeof text);
			v = td_json_text(text ? text : "", text ? strlen(text) : 0);
		} else if (t->what == TD_H5_NUMBER) {
			v = td_h5_numbers_inside(number, t, data + i * step, 1, t->bytes, NULL) < 0 ? json_null() :
			    number_json(t, number);
		} else {
			v = td_json_text(data + i * step, strnlen((char *)data + i * step, t->bytes));
		}
		if (list)
			json_array_append_new(all, v);
	}
	return list ? all : v;
}

static json_t *read_attribute(const struct tree *w, hid_t attribute)
{
	hid_t type = H5Aget_type(attribute), space = H5Aget_space(attribute);
	hssize_t n = space < 0 ? -1 : H5Sget_simple_extent_npoints(space);
	struct td_h5_type t = { 0 };
	json_t *v = NULL;
	size_t step = type < 0 ? 0 : H5Tget_size(type);
	bool known = type >= 0 && n >= 0 && td_h5_type(&t, type, NULL, w->file->addr_bytes, NULL) == 0;
	bool shown = known && t.count == 1 && (t.what == TD_H5_NUMBER || t.what == TD_H5_TEXT || t.what == TD_H5_VTEXT) &&
	    n <= VALUES_MOST && step && step <= BYTES_MOST / VALUES_MOST * 16;
	uint8_t *data = shown ? calloc((size_t)n + 1, step) : NULL;
	if (data && H5Aread(attribute, type, data) >= 0) {
		v = values_json(&t, data, (size_t)n, step, H5Sget_simple_extent_ndims(space) > 0 || n != 1);
		if (t.what == TD_H5_VTEXT)
			H5Dvlen_reclaim(type, space, H5P_DEFAULT, data);
	}
	free(data);
	if (!v)
		v = json_string(known ? t.name : "that cannot be read");
	td_h5_type_free(&t);
	if (type >= 0)
		H5Tclose(type);
	if (space >= 0)
		H5Sclose(space);
	H5Eclear2(H5E_DEFAULT);
	return v;
}

static json_t *attributes_json(struct tree *w, hid_t object)
{
	H5O_info_t info;
	json_t *o = json_object();
	if (H5Oget_info2(object, &info, H5O_INFO_NUM_ATTRS) < 0)
		info.num_attrs = 0;
	for (hsize_t i = 0; i < TD_MIN(info.num_attrs, (hsize_t)ATTRIBUTES_MOST); i++) {
		char name[1024] = "";
		hid_t a = H5Aopen_by_idx(object, ".", H5_INDEX_NAME, H5_ITER_INC, i, H5P_DEFAULT, H5P_DEFAULT);
		if (a < 0)
			continue;
		if (H5Aget_name(a, sizeof name, name) >= 0)
			td_json_set(&w->j, o, TD_ESC(name), read_attribute(w, a));
		H5Aclose(a);
	}
	H5Eclear2(H5E_DEFAULT);
	return o;
}

/* ---- objects ---- */

static json_t *sizes_json(const hsize_t *sizes, int n)
{
	json_t *list = json_array();
	for (int i = 0; i < n; i++)
		json_array_append_new(list, json_integer((json_int_t)sizes[i]));
	return list;
}

static void set_filters(struct tree *w, json_t *o, hid_t plist)
{
	json_t *list = json_array();
	for (int i = 0; i < TD_MIN(H5Pget_nfilters(plist), TD_H5_FILTERS); i++) {
		char name[64] = "";
		unsigned flags, config, values[8];
		size_t n = TD_COUNT(values);
		int id = H5Pget_filter2(plist, (unsigned)i, &flags, &n, values, sizeof name, name, &config);
		const char *known = td_h5_filter_name(id, name);
		bool ours = td_h5_filters_ours(&(struct td_h5_filter){ .id = id }, 1);
		json_array_append_new(list, json_sprintf("%s%s", known[0] ? TD_ESC(known) : "unnamed",
		    ours || H5Zfilter_avail(id) > 0 ? "" : " (not available)"));
	}
	if (json_array_size(list))
		td_json_set(&w->j, o, "filters", list);
	else
		json_decref(list);
}

static void set_layout(struct tree *w, json_t *o, hid_t plist)
{
	hsize_t chunk[H5S_MAX_RANK];
	H5D_layout_t layout = H5Pget_layout(plist);
	int files = H5Pget_external_count(plist), n = layout == H5D_CHUNKED ? H5Pget_chunk(plist, H5S_MAX_RANK, chunk) : 0;
	td_json_string(&w->j, o, "layout", files > 0 ? "in other files" : layout == H5D_CHUNKED ? "chunked" :
	    layout == H5D_COMPACT ? "compact" : layout == H5D_VIRTUAL ? "virtual" : "contiguous");
	if (n > 0)
		td_json_set(&w->j, o, "chunks", sizes_json(chunk, n));
	set_filters(w, o, plist);
}

static json_t *dataset_json(struct tree *w, hid_t dataset)
{
	hsize_t dims[H5S_MAX_RANK], most[H5S_MAX_RANK];
	json_t *o = json_object();
	struct td_h5_type t;
	struct tundish_error why = { 0 };
	hid_t type = H5Dget_type(dataset), space = H5Dget_space(dataset), plist = H5Dget_create_plist(dataset);
	int n = space < 0 ? -1 : H5Sget_simple_extent_dims(space, dims, most);
	if (n >= 0 && H5Sget_simple_extent_type(space) != H5S_NULL)
		td_json_set(&w->j, o, "shape", sizes_json(dims, n));
	if (type >= 0 && td_h5_type(&t, type, NULL, w->file->addr_bytes, &why) == 0) {
		td_json_string(&w->j, o, "dtype", t.name);
		td_h5_type_free(&t);
	} else {
		td_json_string(&w->j, o, "dtype", why.text[0] ? why.text : "that cannot be read");
	}
	if (plist >= 0)
		set_layout(w, o, plist);
	for (int i = 0; i < TD_MAX(n, 0); i++)
		if (most[i] != dims[i]) {
			td_json_set(&w->j, o, "resizable", json_true());
			break;
		}
	if (type >= 0)
		H5Tclose(type);
	if (space >= 0)
		H5Sclose(space);
	if (plist >= 0)
		H5Pclose(plist);
	H5Eclear2(H5E_DEFAULT);
	return o;
}

static int visit(void *ctx, const char *path, H5O_type_t type, hid_t object, struct tundish_error *e)
{
	struct tree *w = ctx;
	json_t *attributes = attributes_json(w, object), *o = NULL;
	bool some = json_object_size(attributes) > 0;
	const char *name = *path ? path : "/";
	if (type == H5O_TYPE_DATASET)
		o = dataset_json(w, object);
	else if (type == H5O_TYPE_GROUP && some)
		o = json_object();
	if (o && some)
		td_json_set(&w->j, o, "attributes", attributes);
	else
		json_decref(attributes);
	if (o)
		td_json_set(&w->j, type == H5O_TYPE_DATASET ? w->datasets : w->groups, TD_ESC(name), o);
	return w->j.lost ? td_err_memory(e) : 0;
}

static int note_link(void *ctx, const char *path, const char *target, struct tundish_error *e)
{
	struct tree *w = ctx;
	td_json_string(&w->j, w->links, TD_ESC(path), target);
	return w->j.lost ? td_err_memory(e) : 0;
}

static void set_some(struct td_json *j, json_t *o, const char *key, json_t *v)
{
	if (json_object_size(v))
		td_json_set(j, o, key, v);
	else
		json_decref(v);
}

static int describe(json_t **ret, const struct td_file *file, const struct tundish_listener *l, struct tundish_error *e)
{
	struct td_h5_files files;
	int rc = td_h5_open(&files, file->path, false, l, e);
	if (rc < 0)
		return rc;
	struct tree w = { .file = files.first, .groups = json_object(), .datasets = json_object(), .links = json_object() };
	json_t *o = json_object();
	td_json_string(&w.j, o, "kind", "HDF5");
	if (files.first->base)
		td_json_int(&w.j, o, "user_block", files.first->base);
	rc = td_h5_walk(&files, visit, note_link, &w, e);
	set_some(&w.j, o, "groups", w.groups);
	set_some(&w.j, o, "datasets", w.datasets);
	set_some(&w.j, o, "links", w.links);
	td_h5_close(&files);
	if (rc == 0 && w.j.lost)
		rc = td_err_memory(e);
	if (rc < 0)
		json_decref(o);
	else
		*ret = o;
	return rc;
}

static void rehearse(void *ctx)
{
	json_t *about;
	describe(&about, ctx, NULL, NULL);
}

int td_h5_describe(json_t **ret, const struct td_file *file, const struct tundish_listener *l, struct tundish_error *e)
{
	struct td_file copy = *file;
	int rc = td_h5_rehearse(rehearse, &copy, e);
	return rc < 0 ? rc : describe(ret, file, l, e);
}
