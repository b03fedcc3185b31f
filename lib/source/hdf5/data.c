/* SPDX-License-Identifier: BSD-2-Clause
 * HDF5 datasets: where their numbers are, and rows of them. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bits.h"
#include "base/err.h"
#include "base/infile.h"
#include "inside.h"

#define COMPACT_MOST 65536u
/* Packed numbers are at most about 1032 times smaller; what claims more rows than that has
 * none, and would fill our memory with places for them. */
#define ROWS_FREE 1048576u
#define ROWS_PER_BYTE 1100u

/* ---- opening; the library's lock is held ---- */

static int read_space(struct td_h5_data *d, struct tundish_error *e)
{
	hid_t space = H5Dget_space(d->id);
	hsize_t dims[H5S_MAX_RANK];
	H5S_class_t class = space < 0 ? H5S_NO_CLASS : H5Sget_simple_extent_type(space);
	int rank = space < 0 ? -1 : H5Sget_simple_extent_ndims(space);
	int rc = 0;
	if (class == H5S_NULL)
		rc = td_err(e, TUNDISH_E_EMPTY, "dataset %s is empty: it has no shape", TD_ESC(d->path));
	else if (rank < 0 || rank > H5S_MAX_RANK || H5Sget_simple_extent_dims(space, dims, NULL) < 0)
		rc = td_h5_fail(e, TUNDISH_E_CORRUPT, "dataset %s", TD_ESC(d->path));
	if (space >= 0)
		H5Sclose(space);
	if (rc < 0)
		return rc;
	d->rank = (unsigned)rank;
	d->n = rank ? dims[0] : 1;
	d->row_elements = 1;
	for (int i = 0; i < rank; i++) {
		d->dims[i] = dims[i];
		if (i && (td_mul_overflow(d->row_elements, d->dims[i], &d->row_elements)))
			return td_err(e, TUNDISH_E_LIMIT, "dataset %s: impossible shape", TD_ESC(d->path));
	}
	return 0;
}

static int check_size(struct td_h5_data *d, struct tundish_error *e)
{
	uint64_t all;
	d->element_bytes = td_h5_file_bytes(d->file_type, d->file->addr_bytes);
	if (d->element_bytes == 0 || td_mul_overflow(d->row_elements, d->element_bytes, &d->row_bytes) ||
	    td_mul_overflow(d->row_bytes, d->n, &all) || all > INT64_MAX)
		return td_err(e, TUNDISH_E_LIMIT, "dataset %s: impossible size", TD_ESC(d->path));
	if (d->n >= UINT32_MAX)
		return td_err(e, TUNDISH_E_LIMIT, "dataset %s: %" PRIu64 " rows; the limit is %" PRIu32, TD_ESC(d->path),
		    d->n, UINT32_MAX - 1);
	if (!d->external && d->n > ROWS_FREE && d->n / ROWS_PER_BYTE > d->file->bytes)
		return td_err(e, TUNDISH_E_CORRUPT, "dataset %s: %" PRIu64 " rows in a file of %" PRIu64 " bytes",
		    TD_ESC(d->path), d->n, d->file->bytes);
	return 0;
}

static bool add_piece(struct td_h5_data *d, const struct td_h5_piece *piece)
{
	struct td_h5_piece *more = realloc(d->pieces, (d->n_pieces + 1) * sizeof *more);
	if (!more)
		return false;
	d->pieces = more;
	more[d->n_pieces++] = *piece;
	return true;
}

/* One of the files that hold the numbers. */
static int add_external(struct td_h5_data *d, const struct td_h5_files *files, hid_t plist, unsigned i, uint64_t *at,
    struct tundish_error *e)
{
	char name[4096] = "", what[TD_ESC_MAX + 40];
	off_t offset;
	hsize_t bytes;
	uint64_t there, all = d->row_bytes * d->n;
	if (H5Pget_external(plist, i, sizeof name - 1, name, &offset, &bytes) < 0)
		return td_h5_fail(e, TUNDISH_E_CORRUPT, "dataset %s: external file", TD_ESC(d->path));
	if (*at >= all)
		return 0;
	snprintf(what, sizeof what, "dataset %.200s has its numbers in", TD_ESC(d->path));
	int fd = td_h5_open_beside(files, d->file, what, name, NULL, &there, e);
	if (fd < 0)
		return fd;
	struct td_h5_piece piece = { .fd = fd, .own_fd = true, .at = *at, .offset = (uint64_t)offset,
		.bytes = bytes == H5F_UNLIMITED ? all - *at : TD_MIN((uint64_t)bytes, all - *at) };
	if (!add_piece(d, &piece)) {
		close(fd);
		return td_err_memory(e);
	}
	if (piece.offset > there || piece.bytes > there - piece.offset)
		return td_err(e, TUNDISH_E_TRUNCATED, "%s %s: it has %" PRIu64 " bytes, %" PRIu64 " are needed", what,
		    TD_ESC(name), there, piece.offset + piece.bytes);
	*at += piece.bytes;
	return 0;
}

static int open_pieces(struct td_h5_data *d, const struct td_h5_files *files, hid_t plist, struct tundish_error *e)
{
	int n = H5Pget_external_count(plist), rc = 0;
	uint64_t at = 0, all = d->row_bytes * d->n;
	d->layout = TD_H5_PIECES;
	for (int i = 0; rc == 0 && i < n; i++)
		rc = add_external(d, files, plist, (unsigned)i, &at, e);
	if (n > 0 && rc == 0 && at < all)
		rc = td_err(e, TUNDISH_E_TRUNCATED, "dataset %s: its external files have %" PRIu64 " of %" PRIu64 " bytes",
		    TD_ESC(d->path), at, all);
	if (n > 0 || rc < 0)
		return rc;
	haddr_t offset = H5Dget_offset(d->id);
	if (offset == HADDR_UNDEF) {
		H5Eclear2(H5E_DEFAULT);
		return 0; /* never written */
	}
	if (offset > d->file->bytes || all > d->file->bytes - offset)
		return td_err(e, TUNDISH_E_TRUNCATED, "dataset %s: bytes %" PRIu64 " to %" PRIu64 " are wanted, the file has %"
		    PRIu64, TD_ESC(d->path), (uint64_t)offset, (uint64_t)offset + all, d->file->bytes);
	return add_piece(d, &(struct td_h5_piece){ .fd = d->file->fd, .offset = offset, .bytes = all }) ? 0 :
	    td_err_memory(e);
}

static bool has_varying(const struct td_h5_data *d)
{
	return H5Tdetect_class(d->file_type, H5T_VLEN) > 0 || d->element_bytes != H5Tget_size(d->file_type) ||
	    (H5Tget_class(d->file_type) == H5T_STRING && H5Tis_variable_str(d->file_type) > 0);
}

static int open_compact(struct td_h5_data *d, struct tundish_error *e)
{
	uint64_t bytes = d->row_bytes * d->n;
	d->layout = TD_H5_COMPACT;
	if (has_varying(d) || bytes > COMPACT_MOST)
		return td_err(e, TUNDISH_E_UNSUPPORTED, "dataset %s: %s in a compact dataset", TD_ESC(d->path),
		    bytes > COMPACT_MOST ? "more than 65536 bytes" : "variable lengths");
	d->compact = malloc(bytes ? bytes : 1);
	if (!d->compact)
		return td_err_memory(e);
	return bytes && H5Dread(d->id, d->file_type, H5S_ALL, H5S_ALL, H5P_DEFAULT, d->compact) < 0 ?
	    td_h5_fail(e, TUNDISH_E_CORRUPT, "dataset %s", TD_ESC(d->path)) : 0;
}

static int read_filters(struct td_h5_data *d, hid_t plist, struct tundish_error *e)
{
	int n = H5Pget_nfilters(plist);
	if (n < 0 || n > TD_H5_FILTERS)
		return td_err(e, TUNDISH_E_UNSUPPORTED, "dataset %s: %d filters", TD_ESC(d->path), n);
	for (int i = 0; i < n; i++) {
		struct td_h5_filter *f = &d->filters[d->n_filters++];
		unsigned flags, config;
		size_t values = TD_COUNT(f->values);
		f->id = H5Pget_filter2(plist, (unsigned)i, &flags, &values, f->values, sizeof f->name, f->name, &config);
		if (f->id < 0)
			return td_h5_fail(e, TUNDISH_E_CORRUPT, "dataset %s: filters", TD_ESC(d->path));
		f->n_values = (unsigned)TD_MIN(values, TD_COUNT(f->values));
		f->name[sizeof f->name - 1] = 0;
	}
	d->ours = td_h5_filters_ours(d->filters, d->n_filters);
	for (int i = 0; !d->ours && i < n; i++) {
		const struct td_h5_filter *f = &d->filters[i];
		/* LZF is ours, but among others it is theirs */
		if (H5Zfilter_avail(f->id) <= 0) {
			H5Eclear2(H5E_DEFAULT);
			return td_err(e, TUNDISH_E_UNSUPPORTED, "dataset %s needs HDF5 filter %d (%s), not available; set "
			    "HDF5_PLUGIN_PATH to the folder that has it", TD_ESC(d->path), f->id,
			    TD_ESC(td_h5_filter_name(f->id, f->name)));
		}
	}
	return 0;
}

static int open_chunks(struct td_h5_data *d, hid_t plist, struct tundish_error *e)
{
	hsize_t dims[H5S_MAX_RANK];
	int rank = H5Pget_chunk(plist, H5S_MAX_RANK, dims);
	d->layout = TD_H5_CHUNKS;
	d->chunk_bytes = d->element_bytes;
	if (rank != (int)d->rank || rank == 0)
		return td_err(e, TUNDISH_E_CORRUPT, "dataset %s: impossible chunks", TD_ESC(d->path));
	for (int i = 0; i < rank; i++) {
		d->chunk[i] = dims[i];
		if (dims[i] == 0 || td_mul_overflow(d->chunk_bytes, d->chunk[i], &d->chunk_bytes))
			return td_err(e, TUNDISH_E_CORRUPT, "dataset %s: impossible chunks", TD_ESC(d->path));
	}
	if (d->chunk_bytes > d->max_bytes || d->chunk_bytes > UINT32_MAX)
		return td_err(e, TUNDISH_E_LIMIT, "dataset %s: chunks of %" PRIu64 " bytes; the limit is %" PRIu64,
		    TD_ESC(d->path), d->chunk_bytes, TD_MIN(d->max_bytes, (uint64_t)UINT32_MAX));
	int rc = read_filters(d, plist, e);
	if (rc == 0 && !d->ours && has_varying(d))
		rc = td_err(e, TUNDISH_E_UNSUPPORTED, "dataset %s: variable lengths behind filters like these",
		    TD_ESC(d->path));
	return rc;
}

/* A virtual dataset: each of its sources must be there and be as long as it is wanted,
 * else the library would put fill values. */
static int check_source(struct td_h5_data *d, const struct td_h5_files *files, hid_t plist, size_t i,
    struct tundish_error *e)
{
	char name[4096] = "", dataset[4096] = "", what[TD_ESC_MAX + 40], *path = NULL;
	if (H5Pget_virtual_filename(plist, i, name, sizeof name - 1) < 0 ||
	    H5Pget_virtual_dsetname(plist, i, dataset, sizeof dataset - 1) < 0)
		return td_h5_fail(e, TUNDISH_E_CORRUPT, "dataset %s: sources", TD_ESC(d->path));
	snprintf(what, sizeof what, "virtual dataset %.200s needs", TD_ESC(d->path));
	bool here = strcmp(name, ".") == 0;
	int fd = here ? 0 : td_h5_open_beside(files, d->file, what, name, &path, NULL, e);
	if (fd < 0)
		return fd;
	if (!here)
		close(fd);
	if (strchr(name, '%') || strchr(dataset, '%')) {
		free(path);
		return td_err(e, TUNDISH_E_UNSUPPORTED, "%s %s: patterns of names", what, TD_ESC(name));
	}
	hsize_t start[H5S_MAX_RANK], end[H5S_MAX_RANK], dims[H5S_MAX_RANK];
	hid_t file = here ? d->file->id : H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
	hid_t source = file < 0 ? -1 : H5Dopen2(file, dataset, H5P_DEFAULT);
	hid_t space = source < 0 ? -1 : H5Dget_space(source), wanted = H5Pget_virtual_srcspace(plist, i);
	hid_t made = source < 0 ? -1 : H5Dget_create_plist(source);
	int rank = space < 0 ? -1 : H5Sget_simple_extent_dims(space, dims, NULL), rc = 0;
	bool plain = made >= 0 && H5Pget_layout(made) != H5D_VIRTUAL && H5Pget_external_count(made) <= 0;
	bool whole = wanted >= 0 && rank >= 0 && H5Sget_select_type(wanted) == H5S_SEL_ALL;
	bool known = whole || (wanted >= 0 && rank == H5Sget_simple_extent_ndims(wanted) &&
	    H5Sget_select_bounds(wanted, start, end) >= 0);
	for (int k = 0; known && !whole && k < rank; k++)
		known = end[k] < dims[k];
	if (rank < 0)
		rc = td_h5_fail(e, TUNDISH_E_NOT_FOUND, "%s %s in %s", what, TD_ESC(dataset), TD_ESC(name));
	else if (!plain)
		rc = td_err(e, TUNDISH_E_UNSUPPORTED, "%s %s in %s, which takes from others itself", what, TD_ESC(dataset),
		    TD_ESC(name));
	else if (!known)
		rc = td_err(e, TUNDISH_E_TRUNCATED, "%s more of %s in %s than is there", what, TD_ESC(dataset), TD_ESC(name));
	const hid_t spaces[] = { space, wanted };
	for (unsigned k = 0; k < TD_COUNT(spaces); k++)
		if (spaces[k] >= 0)
			H5Sclose(spaces[k]);
	if (made >= 0)
		H5Pclose(made);
	if (source >= 0)
		H5Dclose(source);
	if (!here && file >= 0)
		H5Fclose(file);
	free(path);
	return rc;
}

static int open_virtual(struct td_h5_data *d, const struct td_h5_files *files, hid_t plist, struct tundish_error *e)
{
	size_t n = 0;
	d->layout = TD_H5_LIBRARY;
	int rc = H5Pget_virtual_count(plist, &n) < 0 ? td_h5_fail(e, TUNDISH_E_CORRUPT, "dataset %s", TD_ESC(d->path)) : 0;
	for (size_t i = 0; rc == 0 && i < n; i++)
		rc = check_source(d, files, plist, i, e);
	if (rc == 0 && has_varying(d))
		rc = td_err(e, TUNDISH_E_UNSUPPORTED, "virtual dataset %s: variable lengths", TD_ESC(d->path));
	return rc;
}

static int read_fill(struct td_h5_data *d, hid_t plist, struct tundish_error *e)
{
	H5D_fill_value_t status;
	d->fill = calloc(1, TD_MAX(d->element_bytes, (uint64_t)H5Tget_size(d->file_type)));
	if (!d->fill)
		return td_err_memory(e);
	if (!has_varying(d) && H5Pfill_value_defined(plist, &status) >= 0 && status == H5D_FILL_VALUE_USER_DEFINED &&
	    H5Pget_fill_value(plist, d->file_type, d->fill) < 0)
		return td_h5_fail(e, TUNDISH_E_CORRUPT, "dataset %s: fill value", TD_ESC(d->path));
	return 0;
}

static int open_layout(struct td_h5_data *d, const struct td_h5_files *files, hid_t plist, struct tundish_error *e)
{
	H5D_layout_t layout = H5Pget_layout(plist);
	d->external = layout == H5D_VIRTUAL || H5Pget_external_count(plist) > 0;
	int rc = check_size(d, e);
	if (rc == 0)
		rc = read_fill(d, plist, e);
	if (rc < 0)
		return rc;
	switch (layout) {
	case H5D_CONTIGUOUS:
		return open_pieces(d, files, plist, e);
	case H5D_COMPACT:
		return open_compact(d, e);
	case H5D_CHUNKED:
		return open_chunks(d, plist, e);
	case H5D_VIRTUAL:
		return open_virtual(d, files, plist, e);
	default:
		return td_h5_fail(e, TUNDISH_E_CORRUPT, "dataset %s: unknown layout", TD_ESC(d->path));
	}
}

static int open_inside(struct td_h5_data *d, const struct td_h5_files *files, const char *member,
    struct tundish_error *e)
{
	hid_t access = H5Pcreate(H5P_DATASET_ACCESS);
	int rc = 0;
	if (access < 0)
		return td_err_memory(e);
	/* sources of virtual datasets are named from the file's own folder */
	H5Pset_virtual_prefix(access, "${ORIGIN}");
	d->id = H5Dopen2(d->file->id, d->path, access);
	d->file_type = d->id < 0 ? -1 : H5Dget_type(d->id);
	hid_t plist = d->file_type < 0 ? -1 : H5Dget_create_plist(d->id);
	if (plist < 0)
		rc = td_h5_fail(e, TUNDISH_E_CORRUPT, "dataset %s", TD_ESC(d->path));
	H5Pclose(access);
	struct tundish_error why = { 0 };
	if (rc == 0 && (rc = td_h5_type(&d->type, d->file_type, member, d->file->addr_bytes, &why)) < 0)
		td_err(e, rc, "dataset %s: %s", TD_ESC(d->path), why.text);
	if (rc == 0)
		rc = read_space(d, e);
	if (rc == 0)
		rc = open_layout(d, files, plist, e);
	if (plist >= 0)
		H5Pclose(plist);
	return rc;
}

int td_h5_data_open(struct td_h5_data *ret, struct td_h5_files *files, const struct td_h5_place *place,
    uint64_t max_bytes, struct tundish_error *e)
{
	*ret = (struct td_h5_data){ .file = place->file, .path = strdup(place->path), .id = -1, .file_type = -1,
		.max_bytes = max_bytes };
	int rc = 0;
	if (!ret->path)
		rc = td_err_memory(e);
	else if (place->group)
		rc = td_err(e, TUNDISH_E_UNSUPPORTED, "%s is a group, no dataset", TD_ESC(place->path));
	if (rc == 0) {
		td_h5_enter();
		rc = open_inside(ret, files, place->member, e);
		td_h5_leave();
	}
	if (rc < 0)
		td_h5_data_close(ret, NULL);
	return rc;
}

int td_h5_data_find(struct td_h5_data *ret, struct td_h5_files *files, const char *path, uint64_t max_bytes,
    struct tundish_error *e)
{
	struct td_h5_place place;
	int rc = td_h5_find(&place, files, path, e);
	if (rc < 0)
		return rc;
	rc = td_h5_data_open(ret, files, &place, max_bytes, e);
	td_h5_place_free(&place);
	return rc;
}

void td_h5_data_close(struct td_h5_data *d, struct td_h5_cache *cache)
{
	if (cache)
		td_h5_cache_drop(cache, d);
	td_h5_enter();
	td_h5_type_free(&d->type);
	if (d->file_type > 0)
		H5Tclose(d->file_type);
	if (d->id > 0)
		H5Dclose(d->id);
	td_h5_leave();
	for (size_t i = 0; i < d->n_pieces; i++)
		if (d->pieces[i].own_fd)
			close(d->pieces[i].fd);
	free(d->pieces);
	free(d->compact);
	free(d->fill);
	free(d->path);
	*d = (struct td_h5_data){ 0 };
}

/* ---- rows ---- */

static void put_fill(const struct td_h5_data *d, uint8_t *out, uint64_t bytes)
{
	for (uint64_t i = 0; i < bytes; i += d->element_bytes)
		memcpy(out + i, d->fill, d->element_bytes);
}

static int read_pieces(struct td_h5_data *d, uint64_t at, uint64_t bytes, uint8_t *out, struct tundish_error *e)
{
	if (d->n_pieces == 0)
		put_fill(d, out, bytes);
	for (size_t i = 0; i < d->n_pieces && bytes; i++) {
		const struct td_h5_piece *p = &d->pieces[i];
		if (at < p->at || at >= p->at + p->bytes)
			continue;
		uint64_t skip = at - p->at, n = TD_MIN(bytes, p->bytes - skip);
		int64_t got = td_read_at(p->fd, out, n, p->offset + skip, e);
		if (got < 0)
			return (int)got;
		if ((uint64_t)got < n)
			return td_err(e, TUNDISH_E_TRUNCATED, "dataset %s: the file ends in it", TD_ESC(d->path));
		out += n;
		at += n;
		bytes -= n;
	}
	return 0;
}

struct fetch {
	struct td_h5_data *d;
	struct td_h5_cache *cache;
	hsize_t start[H5S_MAX_RANK];
};

/* As it is in the file, or 0 bytes where it was never written. */
static int read_raw(struct td_h5_data *d, const hsize_t *start, struct td_buf *raw, uint32_t *ret_mask,
    struct tundish_error *e)
{
	hsize_t bytes = 0;
	int rc = H5Dget_chunk_storage_size(d->id, start, &bytes) < 0 ?
	    td_h5_fail(e, TUNDISH_E_CORRUPT, "dataset %s: chunk", TD_ESC(d->path)) : 0;
	raw->len = 0;
	if (rc < 0 || bytes == 0)
		return rc;
	if (bytes > d->file->bytes || bytes > UINT32_MAX)
		return td_err(e, TUNDISH_E_CORRUPT, "dataset %s: chunk of %" PRIu64 " bytes", TD_ESC(d->path), (uint64_t)bytes);
	if (!td_buf_fit(raw, bytes))
		return td_err_memory(e);
	if (H5Dread_chunk(d->id, H5P_DEFAULT, start, ret_mask, raw->data) < 0)
		return td_h5_fail(e, TUNDISH_E_CORRUPT, "dataset %s: chunk", TD_ESC(d->path));
	raw->len = bytes;
	return 0;
}

static int fill_ours(struct td_h5_data *d, struct td_h5_cache *cache, const hsize_t *start, uint8_t *out,
    struct tundish_error *e)
{
	struct tundish_error why = { 0 };
	struct td_h5_room *room = td_h5_room_take(cache);
	uint32_t mask = 0;
	if (!room)
		return td_err_memory(e);
	td_h5_enter();
	int rc = read_raw(d, start, &room->raw, &mask, e);
	td_h5_leave();
	if (rc == 0 && room->raw.len == 0) {
		put_fill(d, out, d->chunk_bytes);
	} else if (rc == 0) {
		rc = td_h5_unfilter(out, d->chunk_bytes, room, d->filters, d->n_filters, mask, &why);
		if (rc < 0)
			td_err(e, rc, "dataset %s: %s", TD_ESC(d->path), why.text);
	}
	td_h5_room_put(cache, room);
	return rc;
}

/* A box of the dataset through the library, into memory of the shape `room`. Inside. */
static int read_box(struct td_h5_data *d, const hsize_t *start, const hsize_t *count, const hsize_t *room,
    uint8_t *out, struct tundish_error *e)
{
	static const hsize_t zero[H5S_MAX_RANK];
	hid_t space = H5Dget_space(d->id), memory = H5Screate_simple((int)d->rank, room, NULL);
	bool ok = space >= 0 && memory >= 0 &&
	    H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL) >= 0 &&
	    H5Sselect_hyperslab(memory, H5S_SELECT_SET, zero, NULL, count, NULL) >= 0 &&
	    H5Dread(d->id, d->file_type, memory, space, H5P_DEFAULT, out) >= 0;
	int rc = ok ? 0 : td_h5_fail(e, TUNDISH_E_CORRUPT, "dataset %s", TD_ESC(d->path));
	if (space >= 0)
		H5Sclose(space);
	if (memory >= 0)
		H5Sclose(memory);
	return rc;
}

static int fill_chunk(void *ctx, uint64_t ahead, uint8_t *out, struct tundish_error *e)
{
	const struct fetch *f = ctx;
	struct td_h5_data *d = f->d;
	hsize_t start[H5S_MAX_RANK], count[H5S_MAX_RANK], room[H5S_MAX_RANK];
	memcpy(start, f->start, sizeof start);
	start[0] += ahead * d->chunk[0];
	if (d->ours)
		return fill_ours(d, f->cache, start, out, e);
	for (unsigned i = 0; i < d->rank; i++) {
		room[i] = d->chunk[i];
		count[i] = TD_MIN(d->chunk[i], d->dims[i] - start[i]);
	}
	memset(out, 0, d->chunk_bytes);
	td_h5_enter();
	int rc = read_box(d, start, count, room, out, e);
	td_h5_leave();
	return rc;
}

/* What of a chunk lies in rows first .. first+n-1 goes to its place in them. */
static void copy_chunk(const struct td_h5_data *d, const hsize_t *start, const uint8_t *chunk, uint64_t first,
    uint64_t n, uint8_t *out)
{
	uint64_t from[H5S_MAX_RANK], count[H5S_MAX_RANK] = { 0 }, at[H5S_MAX_RANK] = { 0 };
	unsigned last = d->rank - 1;
	uint64_t run = d->element_bytes;
	for (unsigned i = 0; i < d->rank; i++) {
		uint64_t low = i ? 0 : first, high = i ? d->dims[i] : first + n;
		from[i] = TD_MAX(low, (uint64_t)start[i]);
		count[i] = TD_MIN(high, (uint64_t)start[i] + d->chunk[i]) - from[i];
	}
	/* axes that are whole on both sides lie in one run */
	run *= count[last];
	while (last && count[last] == d->chunk[last] && count[last] == d->dims[last])
		run *= count[--last];
	for (bool more = true; more;) {
		uint64_t in = 0, to = 0;
		for (unsigned i = 0; i < d->rank; i++) {
			in = in * d->chunk[i] + from[i] + at[i] - start[i];
			to = to * (i ? d->dims[i] : n) + from[i] + at[i] - (i ? 0 : first);
		}
		memcpy(out + to * d->element_bytes, chunk + in * d->element_bytes, run);
		more = false;
		for (unsigned i = last; i-- > 0 && !more;) {
			at[i] = at[i] + 1 < count[i] ? at[i] + 1 : 0;
			more = at[i] != 0;
		}
	}
}

static int read_chunks(struct td_h5_data *d, struct td_h5_cache *cache, uint64_t first, uint64_t n, uint8_t *out,
    struct tundish_error *e)
{
	struct fetch f = { .d = d, .cache = cache };
	f.start[0] = first - first % d->chunk[0];
	for (bool more = true; more;) {
		struct td_h5_chunk *chunk;
		struct td_h5_want want = { .owner = d, .step = 1, .bytes = d->chunk_bytes,
			.work = d->chunk_bytes * (d->n_filters > 1 ? 2 : 1),
			.enough = TD_MIN(d->chunk[0], d->dims[0]), .fill = fill_chunk, .ctx = &f };
		for (unsigned i = 0; i < d->rank; i++) {
			uint64_t across = (d->dims[i] + d->chunk[i] - 1) / d->chunk[i];
			want.number = want.number * across + f.start[i] / d->chunk[i];
			want.step *= i ? across : 1;
		}
		want.left = (d->dims[0] - f.start[0] - 1) / d->chunk[0];
		int rc = td_h5_cache_get(&chunk, cache, &want, e);
		if (rc < 0)
			return rc;
		copy_chunk(d, f.start, chunk->data, first, n, out);
		td_h5_cache_put(cache, chunk);
		more = false;
		for (unsigned i = d->rank; i-- > 0 && !more;) {
			f.start[i] += d->chunk[i];
			more = f.start[i] < (i ? d->dims[i] : first + n);
			if (!more)
				f.start[i] = 0;
		}
	}
	return 0;
}

int td_h5_rows(struct td_h5_data *d, struct td_h5_cache *cache, uint64_t first, uint64_t n, uint8_t *out,
    struct tundish_error *e)
{
	hsize_t start[H5S_MAX_RANK] = { first }, count[H5S_MAX_RANK] = { n };
	int rc;
	if (n == 0 || d->row_bytes == 0)
		return 0;
	switch (d->layout) {
	case TD_H5_PIECES:
		return read_pieces(d, first * d->row_bytes, n * d->row_bytes, out, e);
	case TD_H5_COMPACT:
		memcpy(out, d->compact + first * d->row_bytes, n * d->row_bytes);
		return 0;
	case TD_H5_CHUNKS:
		return read_chunks(d, cache, first, n, out, e);
	default:
		for (unsigned i = 1; i < d->rank; i++)
			count[i] = d->dims[i];
		td_h5_enter();
		rc = read_box(d, start, count, count, out, e);
		td_h5_leave();
		return rc;
	}
}

/* ---- variable lengths ---- */

#define LOOK 4096u

/* An object of a global heap: a collection with one after another. */
static int find_object(const struct td_h5_data *d, uint64_t at, uint32_t index, uint64_t *ret_at, uint64_t *ret_bytes,
    struct tundish_error *e)
{
	uint8_t b[LOOK];
	unsigned head = 8 + d->file->size_bytes;
	int64_t n = td_read_at(d->file->fd, b, sizeof b, at, e);
	if (n < 0)
		return (int)n;
	uint64_t size = 0;
	if (n >= head)
		memcpy(&size, b + 8, d->file->size_bytes);
	if (n < head || memcmp(b, "GCOL\1", 5) != 0 || size < head || size > d->file->bytes - at)
		return td_err(e, TUNDISH_E_CORRUPT, "dataset %s: no heap at byte %" PRIu64, TD_ESC(d->path), at);
	uint64_t start = at; /* of what b holds */
	for (uint64_t object = at + head, end = at + size; object + head <= end;) {
		if (object < start || object + head > start + (uint64_t)n) {
			start = object;
			n = td_read_at(d->file->fd, b, sizeof b, start, e);
			if (n < (int64_t)head)
				return n < 0 ? (int)n : td_err(e, TUNDISH_E_TRUNCATED, "the file ends in a heap");
		}
		const uint8_t *p = b + (object - start);
		uint64_t bytes = 0;
		memcpy(&bytes, p + 8, d->file->size_bytes);
		if (td_le16(p) == 0 || bytes > end - object - head)
			break; /* free room, or nonsense */
		if (td_le16(p) == index) {
			*ret_at = object + head;
			*ret_bytes = bytes;
			return 0;
		}
		object += head + (bytes + 7) / 8 * 8;
	}
	return td_err(e, TUNDISH_E_CORRUPT, "dataset %s: no object %" PRIu32 " in the heap at byte %" PRIu64,
	    TD_ESC(d->path), index, at);
}

int td_h5_heap_read(struct td_buf *out, const struct td_h5_data *d, const uint8_t *element,
    uint64_t max_bytes, struct tundish_error *e)
{
	uint64_t at = 0, bytes, object = 0, object_bytes = 0;
	uint32_t n = td_le32(element), index = td_le32(element + 4 + d->file->addr_bytes);
	memcpy(&at, element + 4, d->file->addr_bytes);
	bytes = (uint64_t)n * d->type.bytes;
	if (n == 0 || (at == 0 && index == 0))
		return 0;
	if (bytes > max_bytes)
		return td_err(e, TUNDISH_E_LIMIT, "record would be %" PRIu64 " bytes; the limit is %" PRIu64, bytes, max_bytes);
	if (td_add_overflow(at, d->file->base, &at) || at >= d->file->bytes)
		return td_err(e, TUNDISH_E_CORRUPT, "dataset %s: heap at byte %" PRIu64 ", behind the end", TD_ESC(d->path), at);
	int rc = find_object(d, at, index, &object, &object_bytes, e);
	if (rc == 0 && object_bytes < bytes)
		rc = td_err(e, TUNDISH_E_CORRUPT, "dataset %s: %" PRIu64 " bytes are promised, %" PRIu64 " are there",
		    TD_ESC(d->path), bytes, object_bytes);
	if (rc == 0 && !td_buf_reserve(out, bytes))
		rc = td_err_memory(e);
	if (rc < 0)
		return rc;
	int64_t got = td_read_at(d->file->fd, out->data + out->len, bytes, object, e);
	if (got >= 0 && (uint64_t)got < bytes)
		return td_err(e, TUNDISH_E_TRUNCATED, "dataset %s: the file ends in it", TD_ESC(d->path));
	out->len += got > 0 ? bytes : 0;
	return got < 0 ? (int)got : 0;
}
