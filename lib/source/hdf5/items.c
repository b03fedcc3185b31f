/* SPDX-License-Identifier: BSD-2-Clause
 * HDF5 as a source: rows of datasets, or a dataset each, with labels and columns. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/err.h"
#include "base/module.h"
#include "base/talk.h"
#include "inside.h"

#define OPEN_MOST 64 /* files that are kept open with nobody reading them */
#define LABEL_BLOCK 65536u
#define KEY_MOST 256

/* A file with what is wanted of it. */
struct source {
	struct source *next;
	dev_t device;
	ino_t inode; /* open files keep theirs; a path may stand for another one later */
	char *spec;
	unsigned users;
	struct td_h5_files files;
	struct td_h5_spec spec_of;
	struct td_h5_data images;   /* with rows; else `matches` are datasets */
	struct td_h5_match *matches;
	size_t n_matches;
	struct td_h5_data *columns; /* of rows: those of the spec, then the names */
	size_t n_columns;
	bool pictures;
	uint64_t max_bytes;
};

/* All that a run keeps. */
struct kept {
	struct td_h5_cache cache;
	pthread_mutex_t lock;
	struct source *sources; /* the one used last first */
};

/* ---- what is kept ---- */

static void free_source(struct source *s, struct td_h5_cache *cache)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->n_columns; i++)
		td_h5_data_close(&s->columns[i], cache);
	free(s->columns);
	if (s->images.path)
		td_h5_data_close(&s->images, cache);
	td_h5_matches_free(s->matches, s->n_matches);
	td_h5_spec_free(&s->spec_of);
	td_h5_close(&s->files);
	free(s->spec);
	free(s);
}

static void free_kept(void *state)
{
	struct kept *k = state;
	for (struct source *s = k->sources, *next; s; s = next) {
		next = s->next;
		free_source(s, &k->cache);
	}
	td_h5_cache_fini(&k->cache);
	pthread_mutex_destroy(&k->lock);
	free(k);
}

static struct kept *make_kept(const struct td_cut *cut)
{
	struct kept *k = calloc(1, sizeof *k);
	if (!k)
		return NULL;
	td_h5_cache_init(&k->cache, cut->memory);
	pthread_mutex_init(&k->lock, NULL);
	return k;
}

static struct kept *find_kept(const struct td_cut *cut)
{
	struct td_keep *keep = cut->keep;
	pthread_mutex_lock(&keep->lock);
	if (!keep->state) {
		keep->state = make_kept(cut);
		keep->free = free_kept;
	}
	struct kept *k = keep->state;
	pthread_mutex_unlock(&keep->lock);
	return k;
}

/* Closes those that nobody has used for longest. The lock is held. */
static void close_idle(struct kept *k)
{
	unsigned n = 0;
	for (struct source **at = &k->sources; *at;) {
		struct source *s = *at;
		if (s->users || ++n <= OPEN_MOST) {
			at = &s->next;
			continue;
		}
		*at = s->next;
		free_source(s, &k->cache);
	}
}

static bool same_text(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

static struct source *find_source(struct kept *k, const struct stat *st, const char *spec)
{
	for (struct source **at = &k->sources; *at; at = &(*at)->next) {
		struct source *s = *at;
		if (s->inode != st->st_ino || s->device != st->st_dev || !same_text(s->spec, spec))
			continue;
		*at = s->next;
		s->next = k->sources;
		k->sources = s;
		s->users++;
		return s;
	}
	return NULL;
}

/* ---- opening ---- */

static bool is_bytes(const struct td_h5_data *d)
{
	const struct td_h5_type *t = &d->type;
	bool one = d->row_elements == 1 && t->count == 1;
	return one && (t->what == TD_H5_OPAQUE || t->what == TD_H5_TEXT || t->what == TD_H5_VTEXT ||
	    (t->what == TD_H5_VLEN && t->elem == TD_UINT8));
}

/* What items of a dataset can be: numbers, or bytes of one kind or another. */
static int check_items(const struct td_h5_data *d, bool whole, struct tundish_error *e)
{
	const struct td_h5_type *t = &d->type;
	unsigned axes = d->rank + t->n_dims - (whole ? 0 : 1);
	if (!whole && d->rank == 0)
		return td_err(e, TUNDISH_E_UNSUPPORTED, "dataset %s is a single value: it has no rows", TD_ESC(d->path));
	if (t->what == TD_H5_OTHER || (t->what == TD_H5_VLEN && d->row_elements * t->count != 1))
		return td_err(e, TUNDISH_E_UNSUPPORTED, "dataset %s holds %s: neither numbers nor pictures", TD_ESC(d->path),
		    t->name);
	if (t->what != TD_H5_NUMBER && t->what != TD_H5_VLEN && !is_bytes(d))
		return td_err(e, TUNDISH_E_UNSUPPORTED, "dataset %s holds lists of %s", TD_ESC(d->path), t->name);
	if (d->n > 0 && d->row_elements * t->count == 0)
		return td_err(e, TUNDISH_E_UNSUPPORTED, "dataset %s: its items have no elements: one of their sides is 0",
		    TD_ESC(d->path));
	return axes <= TD_AXES ? 0 : td_err(e, TUNDISH_E_UNSUPPORTED, "dataset %s: items of %u axes; the limit is %d",
	    TD_ESC(d->path), axes, TD_AXES);
}

static int check_column(const struct td_h5_data *d, const struct source *s, struct tundish_error *e)
{
	const struct td_h5_type *t = &d->type;
	if (t->what == TD_H5_OTHER || t->elem == TD_COMPLEX64 || t->elem == TD_COMPLEX128)
		return td_err(e, TUNDISH_E_UNSUPPORTED, "dataset %s: %s cannot be a feature", TD_ESC(d->path), t->name);
	if (t->what == TD_H5_VLEN && d->row_elements * t->count != 1)
		return td_err(e, TUNDISH_E_UNSUPPORTED, "dataset %s: lists of %s", TD_ESC(d->path), t->name);
	if (s->images.path && (d->rank == 0 || d->n != s->images.n))
		return td_err(e, TUNDISH_E_SCHEMA, "dataset %s has %" PRIu64 " rows, %s has %" PRIu64, TD_ESC(d->path), d->rank ?
		    d->n : 0, TD_ESC(s->images.path), s->images.n);
	return 0;
}

static int open_columns(struct source *s, struct tundish_error *e)
{
	size_t n = s->spec_of.n_columns + (s->spec_of.name != NULL);
	s->columns = calloc(n + 1, sizeof *s->columns);
	if (!s->columns)
		return td_err_memory(e);
	for (size_t i = 0; i < n; i++) {
		const char *path = i < s->spec_of.n_columns ? s->spec_of.columns[i] : s->spec_of.name;
		int rc = td_h5_data_find(&s->columns[i], &s->files, path, s->max_bytes, e);
		if (rc < 0)
			return rc;
		s->n_columns++;
		rc = check_column(&s->columns[i], s, e);
		if (rc < 0)
			return rc;
	}
	return 0;
}

/* A pattern, or a group: all datasets in it. */
static int open_matches(struct source *s, const char *pattern, struct tundish_error *e)
{
	int rc = td_h5_glob(&s->matches, &s->n_matches, &s->files, pattern, e);
	if (rc == 0 && s->n_matches == 0)
		rc = td_err(e, TUNDISH_E_NOT_FOUND, "nothing is called %s", TD_ESC(pattern));
	return rc;
}

/* Bytes of some item, the first that has any, begin like a picture. */
static int look_for_pictures(struct source *s, struct td_h5_data *d, bool whole, struct td_h5_cache *cache,
    struct tundish_error *e);

static int open_image(struct source *s, struct td_h5_cache *cache, struct tundish_error *e)
{
	struct td_h5_place place;
	struct td_buf pattern = { 0 };
	if (strchr(s->spec_of.image, '*'))
		return open_matches(s, s->spec_of.image, e);
	int rc = td_h5_find(&place, &s->files, s->spec_of.image, e);
	if (rc < 0)
		return rc;
	if (place.group) {
		rc = td_buf_printf(&pattern, "%s/*", place.path) ? open_matches(s, (const char *)pattern.data, e) :
		    td_err_memory(e);
		td_buf_free(&pattern);
	} else {
		rc = td_h5_data_open(&s->images, &s->files, &place, s->max_bytes, e);
		if (rc == 0)
			rc = check_items(&s->images, false, e);
		if (rc == 0)
			rc = look_for_pictures(s, &s->images, false, cache, e);
		if (rc == 0)
			rc = open_columns(s, e);
	}
	td_h5_place_free(&place);
	return rc;
}

static int open_all(struct source *s, const struct td_file *file, const struct td_cut *cut, struct td_h5_cache *cache,
    const struct tundish_listener *l, struct tundish_error *e)
{
	s->max_bytes = cut->max_bytes;
	int rc = td_h5_open(&s->files, file->path, cut->follow_external, l, e);
	if (rc == 0)
		rc = td_h5_spec_parse(&s->spec_of, file->spec, e);
	if (rc == 0 && !s->spec_of.image) {
		rc = td_h5_choose(&s->spec_of, &s->files, cache, s->max_bytes, e);
		if (rc == 0)
			td_notice(l, "%s: taking %s%s%s", TD_ESC(td_file_shown(file)), TD_ESC(s->spec_of.image), s->spec_of.label ?
			    ", labels " : "", s->spec_of.label ? TD_ESC(s->spec_of.label) : "");
	}
	return rc == 0 ? open_image(s, cache, e) : rc;
}

/* The source of a file, opened by the first who wants it. */
static int get_source(struct source **ret, struct kept *k, const struct td_file *file, const struct td_cut *cut,
    const struct tundish_listener *l, struct tundish_error *e)
{
	struct stat st;
	int rc = 0;
	if (stat(file->path, &st) != 0) {
		char why[128];
		return td_err(e, td_err_errno(NULL, errno, "%s", ""), "%s", strerror_r(errno, why, sizeof why));
	}
	pthread_mutex_lock(&k->lock);
	struct source *s = find_source(k, &st, file->spec);
	if (!s) {
		s = calloc(1, sizeof *s);
		if (s) {
			s->device = st.st_dev;
			s->inode = st.st_ino;
			s->spec = file->spec ? strdup(file->spec) : NULL;
		}
		rc = s && (s->spec || !file->spec) ? open_all(s, file, cut, &k->cache, l, e) : td_err_memory(e);
		if (rc < 0) {
			free_source(s, &k->cache);
		} else {
			s->users = 1;
			s->next = k->sources;
			k->sources = s;
		}
	}
	pthread_mutex_unlock(&k->lock);
	if (rc == 0)
		*ret = s;
	return rc;
}

static void put_source(struct kept *k, struct source *s)
{
	pthread_mutex_lock(&k->lock);
	s->users--;
	close_idle(k);
	pthread_mutex_unlock(&k->lock);
}

/* ---- items ---- */

static int look_for_pictures(struct source *s, struct td_h5_data *d, bool whole, struct td_h5_cache *cache,
    struct tundish_error *e)
{
	struct td_buf row = { 0 }, bytes = { 0 };
	bool list = whole && d->rank == 1 && d->type.what == TD_H5_NUMBER && d->type.elem == TD_UINT8 && d->type.count == 1;
	int rc = 0;
	if (!list && !is_bytes(d))
		return 0;
	for (uint64_t i = 0; rc == 0 && bytes.len == 0 && i < TD_MIN(d->n, (uint64_t)16); i++) {
		rc = td_h5_read_row(&row, d, cache, i, list ? d->n : 1, e);
		if (rc == 0 && list)
			rc = td_buf_add(&bytes, row.data, row.len) ? 0 : td_err_memory(e);
		else if (rc == 0)
			rc = td_h5_element_bytes(&bytes, d, row.data + d->type.offset, true, e);
	}
	/* a damaged one is told of when it is its turn */
	if (rc != TUNDISH_E_MEMORY && rc < 0)
		rc = 0;
	s->pictures = td_h5_is_picture(bytes.data, bytes.len);
	td_buf_free(&row);
	td_buf_free(&bytes);
	if (rc == 0 && !s->pictures && (d->type.what == TD_H5_TEXT || d->type.what == TD_H5_VTEXT))
		rc = td_err(e, TUNDISH_E_UNSUPPORTED, "dataset %s holds texts, no pictures", TD_ESC(d->path));
	return rc;
}

static void set_shape(struct td_loaded *out, const struct td_h5_data *d, bool whole)
{
	out->dtype = d->type.elem;
	out->n_axes = 0;
	for (unsigned i = whole ? 0 : 1; i < d->rank; i++)
		out->shape[out->n_axes++] = d->dims[i];
	for (unsigned i = 0; i < d->type.n_dims; i++)
		out->shape[out->n_axes++] = d->type.dims[i];
	if (d->type.what == TD_H5_OPAQUE) {
		out->dtype = TD_UINT8;
		out->shape[out->n_axes++] = d->type.bytes;
	}
}

/* What is in the file is what is wanted. */
static bool is_plain(const struct td_h5_data *d)
{
	const struct td_h5_type *t = &d->type;
	return t->what == TD_H5_NUMBER && !t->swap && !t->from && d->element_bytes == t->count * t->bytes;
}

/* A row, or all of a dataset, as one item. */
static int load_data(struct td_loaded *out, struct source *s, struct td_h5_data *d, bool whole, uint64_t first,
    struct td_h5_cache *cache, struct tundish_error *e)
{
	uint64_t n = whole ? d->n : 1;
	bool list = whole && s->pictures && d->type.what == TD_H5_NUMBER;
	bool direct = is_plain(d) && (list || !s->pictures);
	int rc = td_h5_read_row(direct ? &out->data : &out->scratch, d, cache, first, n, e);
	set_shape(out, d, whole);
	out->array = !s->pictures;
	if (rc < 0 || direct)
		return rc;
	const uint8_t *element = out->scratch.data + d->type.offset;
	out->data.len = 0;
	if (s->pictures) {
		rc = td_h5_element_bytes(&out->data, d, element, true, e);
		return rc == 0 && out->data.len == 0 ? td_err(e, TUNDISH_E_CORRUPT, "empty element") : rc;
	}
	if (d->type.what == TD_H5_OPAQUE)
		return td_buf_add(&out->data, element, d->type.bytes) ? 0 : td_err_memory(e);
	if (d->type.what == TD_H5_VLEN) {
		struct td_buf scratch = { 0 };
		out->n_axes = 1;
		rc = td_h5_vlen_numbers(&out->data, d, element, &scratch, &out->shape[0], e);
		td_buf_free(&scratch);
		return rc;
	}
	return td_h5_element_numbers(&out->data, d, out->scratch.data, n * d->row_elements, e);
}

static int add_numbers(struct td_extras *x, const char *key, enum td_elem elem, const struct td_buf *numbers,
    struct tundish_error *e)
{
	size_t n = numbers->len / td_elem_bytes(elem);
	bool real = elem == TD_FLOAT16 || elem == TD_FLOAT32 || elem == TD_FLOAT64, ok;
	void *values = calloc(n + 1, sizeof(int64_t));
	int64_t *ints = values;
	float *floats = values;
	int rc = values ? 0 : td_err_memory(e);
	for (size_t i = 0; rc == 0 && i < n; i++) {
		if (real)
			floats[i] = (float)td_elem_value(elem, numbers->data, i);
		else if (!td_h5_integer(&ints[i], elem, numbers->data + i * td_elem_bytes(elem)))
			rc = td_err(e, TUNDISH_E_LIMIT, "feature %s: a number over 2^63 - 1", TD_ESC(key));
	}
	if (rc == 0) {
		ok = real ? td_extra_floats(x, key, floats, n) : td_extra_ints(x, key, ints, n);
		rc = ok ? 0 : td_err_memory(e);
	}
	free(values);
	return rc;
}

/* Texts and opaque bytes: one value for each element. */
static int add_bytes(struct td_extras *x, const char *key, const struct td_h5_data *d, const struct td_buf *row,
    struct tundish_error *e)
{
	uint64_t n = row->len / d->element_bytes * d->type.count;
	struct td_bytes *values = calloc(n + 1, sizeof *values);
	struct td_buf all = { 0 };
	int rc = values ? 0 : td_err_memory(e);
	size_t each = d->type.what == TD_H5_VLEN || d->type.what == TD_H5_VTEXT ? 8 + d->file->addr_bytes : d->type.bytes;
	for (uint64_t i = 0; rc == 0 && i < n; i++) {
		const uint8_t *p = row->data + i / d->type.count * d->element_bytes + d->type.offset + i % d->type.count * each;
		size_t before = all.len;
		struct td_buf one = { 0 };
		rc = td_h5_element_bytes(&one, d, p, false, e);
		if (rc == 0 && !td_buf_add(&all, one.data, one.len))
			rc = td_err_memory(e);
		values[i].len = all.len - before;
		td_buf_free(&one);
	}
	const uint8_t *at = all.data;
	for (uint64_t i = 0; rc == 0 && i < n; at += values[i++].len)
		values[i].data = at;
	if (rc == 0 && !td_extra_bytes(x, key, values, n))
		rc = td_err_memory(e);
	free(values);
	td_buf_free(&all);
	return rc;
}

static bool are_bytes(const struct td_h5_type *t)
{
	return t->what == TD_H5_TEXT || t->what == TD_H5_VTEXT || t->what == TD_H5_OPAQUE;
}

/* A feature from rows first .. first+n-1. */
static int add_column(struct td_extras *x, const char *key, struct td_h5_data *d, struct td_h5_cache *cache,
    uint64_t first, uint64_t n, struct tundish_error *e)
{
	struct td_buf row = { 0 }, numbers = { 0 }, scratch = { 0 };
	uint64_t values;
	int rc = td_h5_read_row(&row, d, cache, first, n, e);
	if (rc == 0 && are_bytes(&d->type)) {
		rc = add_bytes(x, key, d, &row, e);
	} else if (rc == 0) {
		rc = d->type.what == TD_H5_VLEN ? td_h5_vlen_numbers(&numbers, d, row.data + d->type.offset, &scratch, &values, e) :
		    td_h5_element_numbers(&numbers, d, row.data, n * d->row_elements, e);
		if (rc == 0)
			rc = add_numbers(x, key, d->type.elem, &numbers, e);
	}
	td_buf_free(&row);
	td_buf_free(&numbers);
	td_buf_free(&scratch);
	return rc;
}

static const char *key_of(const struct source *s, size_t column)
{
	return column < s->spec_of.n_columns ? s->spec_of.keys[column] : "name";
}

static int load_row(struct td_loaded *out, struct source *s, uint64_t row, struct td_h5_cache *cache,
    struct tundish_error *e)
{
	if (row >= s->images.n)
		return td_err(e, TUNDISH_E_CORRUPT, "the file has changed");
	int rc = load_data(out, s, &s->images, false, row, cache, e);
	for (size_t i = 0; rc == 0 && i < s->n_columns; i++)
		rc = add_column(&out->extras, key_of(s, i), &s->columns[i], cache, row, 1, e);
	return rc;
}

/* A dataset beside that of an item, by the pattern. */
static int open_starred(struct td_h5_data *ret, struct source *s, const char *pattern, const struct td_h5_match *m,
    struct tundish_error *e)
{
	char *path = td_h5_star(pattern, m);
	int rc = path ? td_h5_data_find(ret, &s->files, path, s->max_bytes, e) : td_err_memory(e);
	free(path);
	return rc;
}

static int add_starred(struct td_extras *x, struct source *s, size_t i, const struct td_h5_match *m,
    struct td_h5_cache *cache, struct tundish_error *e)
{
	struct td_h5_data d;
	int rc = open_starred(&d, s, s->spec_of.columns[i], m, e);
	if (rc < 0)
		return rc;
	rc = check_column(&d, s, e);
	if (rc == 0)
		rc = add_column(x, s->spec_of.keys[i], &d, cache, 0, d.n, e);
	td_h5_data_close(&d, cache);
	return rc;
}

/* A dataset is an item; its name is that of the part of the path that the pattern left open. */
static int load_match(struct td_loaded *out, struct source *s, uint64_t number, struct td_h5_cache *cache,
    struct tundish_error *e)
{
	struct td_h5_data d;
	if (number >= s->n_matches)
		return td_err(e, TUNDISH_E_CORRUPT, "the file has changed");
	const struct td_h5_match *m = &s->matches[number];
	int rc = td_h5_data_find(&d, &s->files, m->path, s->max_bytes, e);
	if (rc < 0)
		return rc;
	rc = check_items(&d, true, e);
	if (rc == 0)
		rc = load_data(out, s, &d, true, 0, cache, e);
	td_h5_data_close(&d, cache);
	for (size_t i = 0; rc == 0 && i < s->spec_of.n_columns; i++)
		rc = add_starred(&out->extras, s, i, m, cache, e);
	if (rc == 0 && !td_extra_text(&out->extras, "name", m->path))
		rc = td_err_memory(e);
	return rc;
}

static int load(struct td_loaded *out, const struct td_file *file, uint32_t part, const struct td_cut *cut,
    struct tundish_error *e)
{
	struct kept *k = find_kept(cut);
	struct source *s;
	int rc = k ? get_source(&s, k, file, cut, NULL, e) : td_err_memory(e);
	if (rc < 0)
		return rc;
	rc = s->images.path ? load_row(out, s, part, &k->cache, e) : load_match(out, s, part, &k->cache, e);
	put_source(k, s);
	return rc;
}

/* ---- parts ---- */

/* One label as a text: a number in decimal, an enumeration's name, or a text. */
static int add_label(struct td_buf *labels, const struct td_h5_data *d, const uint8_t *element, struct tundish_error *e)
{
	const struct td_h5_type *t = &d->type;
	struct td_buf text = { 0 };
	uint8_t number[16];
	int64_t value = 0;
	int rc = 0;
	if (t->what == TD_H5_NUMBER) {
		rc = td_h5_numbers(number, t, element, 1, t->bytes, e);
		if (rc == 0 && (t->elem == TD_COMPLEX64 || t->elem == TD_COMPLEX128 || !td_h5_integer(&value, t->elem, number)))
			rc = td_err(e, TUNDISH_E_SCHEMA, "dataset %s: labels are no whole numbers", TD_ESC(d->path));
		const char *name = NULL;
		for (size_t i = 0; i < t->enumeration.n && !name; i++)
			name = t->enumeration.values[i] == value ? t->enumeration.names[i] : NULL;
		if (rc == 0 && !(name ? td_buf_printf(&text, "%s", name) : td_buf_printf(&text, "%" PRId64, value)))
			rc = td_err_memory(e);
	} else {
		rc = td_h5_element_bytes(&text, d, element, false, e);
	}
	if (rc == 0 && !(td_buf_add(labels, text.data, strnlen((const char *)text.data, text.len)) && td_buf_add(labels, "", 1)))
		rc = td_err_memory(e);
	td_buf_free(&text);
	return rc;
}

static int check_labels(const struct td_h5_data *d, uint64_t n, struct tundish_error *e)
{
	const struct td_h5_type *t = &d->type;
	bool kind = t->what == TD_H5_NUMBER || t->what == TD_H5_TEXT || t->what == TD_H5_VTEXT;
	if (!kind || d->row_elements * t->count != 1)
		return td_err(e, TUNDISH_E_SCHEMA, "dataset %s: labels are one number or text each, not %" PRIu64 " of %s",
		    TD_ESC(d->path), d->row_elements * t->count, t->name);
	return d->n == n ? 0 : td_err(e, TUNDISH_E_SCHEMA, "dataset %s has %" PRIu64 " rows, not %" PRIu64 " as the items",
	    TD_ESC(d->path), d->n, n);
}

static int read_labels(struct td_buf *labels, struct td_h5_data *d, uint64_t n, struct td_h5_cache *cache,
    struct tundish_error *e)
{
	struct td_buf rows = { 0 };
	int rc = check_labels(d, n, e);
	uint64_t block = TD_MAX(LABEL_BLOCK / d->row_bytes, (uint64_t)1);
	for (uint64_t first = 0; rc == 0 && first < n; first += block) {
		uint64_t k = TD_MIN(block, n - first);
		rc = td_h5_read_row(&rows, d, cache, first, k, e);
		for (uint64_t i = 0; rc == 0 && i < k; i++)
			rc = add_label(labels, d, rows.data + i * d->row_bytes + d->type.offset, e);
	}
	td_buf_free(&rows);
	return rc;
}

static int label_rows(struct td_parts *p, struct source *s, struct td_h5_cache *cache, struct tundish_error *e)
{
	struct td_h5_data d;
	int rc = td_h5_data_find(&d, &s->files, s->spec_of.label, s->max_bytes, e);
	if (rc < 0)
		return rc;
	rc = read_labels(&p->labels, &d, p->n, cache, e);
	td_h5_data_close(&d, cache);
	return rc;
}

static bool add_spec(struct td_specs *specs, const char *key, const struct td_h5_data *d, uint64_t n)
{
	const struct td_h5_type *t = &d->type;
	bool real = t->elem == TD_FLOAT16 || t->elem == TD_FLOAT32 || t->elem == TD_FLOAT64;
	int kind = are_bytes(t) ? TUNDISH_BYTES : real ? TUNDISH_FLOAT : TUNDISH_INT64;
	return td_specs_add(specs, key, kind, t->what == TD_H5_VLEN ? -1 : (int64_t)(n * d->row_elements * t->count));
}

static int row_parts(struct td_parts *p, struct source *s, struct td_h5_cache *cache, struct tundish_error *e)
{
	struct td_loaded like = { 0 };
	const struct td_h5_data *d = &s->images;
	set_shape(&like, d, false);
	p->n = (uint32_t)d->n;
	p->pictures = s->pictures;
	p->alike = d->type.what != TD_H5_VLEN;
	p->dtype = like.dtype;
	p->n_axes = d->type.what == TD_H5_VLEN ? 1 : like.n_axes;
	memcpy(p->shape, like.shape, sizeof p->shape);
	p->bytes = d->type.what == TD_H5_NUMBER ? d->row_elements * d->type.count * td_elem_bytes(d->type.elem) :
	    d->type.what == TD_H5_VLEN || d->type.what == TD_H5_VTEXT ? d->file->bytes / TD_MAX(d->n, (uint64_t)1) :
	    d->type.bytes;
	for (size_t i = 0; i < s->n_columns; i++)
		if (!add_spec(&p->specs, key_of(s, i), &s->columns[i], 1))
			return td_err_memory(e);
	return s->spec_of.label ? label_rows(p, s, cache, e) : 0;
}

static int label_match(struct td_parts *p, struct source *s, const struct td_h5_match *m, struct td_h5_cache *cache,
    struct tundish_error *e)
{
	struct td_h5_data d;
	int rc = open_starred(&d, s, s->spec_of.label, m, e);
	if (rc < 0)
		return rc;
	rc = read_labels(&p->labels, &d, 1, cache, e);
	td_h5_data_close(&d, cache);
	return rc;
}

/* Items that are datasets each: they may differ. */
static int add_match(struct td_parts *p, struct source *s, uint64_t i, struct td_h5_cache *cache, struct tundish_error *e)
{
	struct td_h5_data d;
	struct td_loaded like = { 0 };
	int rc = td_h5_data_find(&d, &s->files, s->matches[i].path, s->max_bytes, e);
	if (rc < 0)
		return rc;
	rc = check_items(&d, true, e);
	if (rc == 0 && i == 0)
		rc = look_for_pictures(s, &d, true, cache, e);
	set_shape(&like, &d, true);
	if (i == 0) {
		p->dtype = like.dtype;
		p->n_axes = like.n_axes;
		memcpy(p->shape, like.shape, sizeof p->shape);
	}
	p->alike &= like.dtype == p->dtype && like.n_axes == p->n_axes && d.type.what != TD_H5_VLEN &&
	    memcmp(like.shape, p->shape, like.n_axes * sizeof *like.shape) == 0;
	p->bytes = TD_MAX(p->bytes, d.n * d.row_bytes);
	td_h5_data_close(&d, cache);
	if (rc == 0 && s->spec_of.label)
		rc = label_match(p, s, &s->matches[i], cache, e);
	return rc;
}

static int match_parts(struct td_parts *p, struct source *s, struct td_h5_cache *cache, struct tundish_error *e)
{
	int rc = s->spec_of.name ? td_err(e, TUNDISH_E_USAGE, "name=%s: the items are datasets, and have their names",
	    TD_ESC(s->spec_of.name)) : 0;
	p->n = (uint32_t)s->n_matches;
	p->alike = true;
	for (size_t i = 0; rc == 0 && i < s->n_matches; i++)
		rc = add_match(p, s, i, cache, e);
	p->pictures = s->pictures;
	for (size_t i = 0; rc == 0 && i < s->spec_of.n_columns; i++) {
		struct td_h5_data d;
		rc = open_starred(&d, s, s->spec_of.columns[i], &s->matches[0], e);
		if (rc < 0)
			return rc;
		rc = check_column(&d, s, e);
		if (rc == 0 && !add_spec(&p->specs, s->spec_of.keys[i], &d, d.n))
			rc = td_err_memory(e);
		td_h5_data_close(&d, cache);
	}
	if (rc == 0 && !td_specs_add(&p->specs, "name", TUNDISH_BYTES, 1))
		rc = td_err_memory(e);
	return rc;
}

static int find_parts(struct td_parts *p, struct source *s, struct td_h5_cache *cache, struct tundish_error *e)
{
	return s->images.path ? row_parts(p, s, cache, e) : match_parts(p, s, cache, e);
}

struct rehearsal {
	const struct td_file *file;
	const struct td_cut *cut;
};

/* All that parts() does, with nothing of what others hold, and a look at each chunk's place. */
static void rehearse(void *ctx)
{
	const struct rehearsal *r = ctx;
	struct source *s = calloc(1, sizeof *s);
	struct td_parts p = { 0 };
	struct kept *k = make_kept(r->cut);
	hsize_t n;
	if (!k || !s)
		return; /* the process ends, and its memory with it */
	if (open_all(s, r->file, r->cut, &k->cache, NULL, NULL) == 0 && find_parts(&p, s, &k->cache, NULL) == 0) {
		if (s->images.path && s->images.layout == TD_H5_CHUNKS)
			H5Dget_num_chunks(s->images.id, H5S_ALL, &n);
		for (size_t i = 0; i < s->n_columns; i++)
			if (s->columns[i].layout == TD_H5_CHUNKS)
				H5Dget_num_chunks(s->columns[i].id, H5S_ALL, &n);
	}
	free_source(s, &k->cache);
	td_parts_free(&p);
	free_kept(k);
}

static int parts(struct td_parts *ret, const struct td_file *file, const struct td_cut *cut,
    const struct tundish_listener *l, struct tundish_error *e)
{
	struct kept *k = find_kept(cut);
	struct rehearsal rehearsal = { file, cut };
	struct source *s;
	struct td_parts p = { .samples = true };
	int rc = k ? td_h5_rehearse(rehearse, &rehearsal, e) : td_err_memory(e);
	if (rc == 0)
		rc = get_source(&s, k, file, cut, l, e);
	if (rc == 0) {
		rc = find_parts(&p, s, &k->cache, e);
		put_source(k, s);
	}
	if (rc == 0)
		*ret = p;
	else
		td_parts_free(&p);
	return rc;
}

static const struct td_format format = {
	.name = "hdf5",
	.parts = parts,
	.load = load,
	.describe = td_h5_describe,
};

TUNDISH_API const struct td_module tundish_module;
const struct td_module tundish_module = { TD_MODULE_MAGIC, TD_MODULE_ABI, "source", "hdf5", &format };
