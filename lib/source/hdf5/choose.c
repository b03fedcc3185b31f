/* SPDX-License-Identifier: BSD-2-Clause
 * HDF5: which dataset is meant, by the user's word or by looking. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/err.h"
#include "base/path.h"
#include "inside.h"
#include "media/image.h"

#define LOOK_AT 16 /* first elements, for a picture */

/* ---- the user's word ---- */

void td_h5_spec_free(struct td_h5_spec *s)
{
	free(s->image);
	free(s->label);
	free(s->name);
	for (size_t i = 0; i < s->n_columns; i++) {
		free(s->columns[i]);
		free(s->keys[i]);
	}
	free(s->columns);
	free(s->keys);
	*s = (struct td_h5_spec){ 0 };
}

/* "/a" or "KEY=/a"; the key is the path's last name. */
static int add_column(struct td_h5_spec *s, const char *word, struct tundish_error *e)
{
	const char *equals = strchr(word, '='), *path = equals ? equals + 1 : word;
	char **columns = realloc(s->columns, (s->n_columns + 1) * sizeof *columns);
	s->columns = columns ? columns : s->columns;
	char **keys = realloc(s->keys, (s->n_columns + 1) * sizeof *keys);
	s->keys = keys ? keys : s->keys;
	char *key = equals ? strndup(word, (size_t)(equals - word)) : strdup(td_path_base(path));
	char *copy = strdup(path);
	if (!columns || !keys || !key || !copy)
		return free(key), free(copy), td_err_memory(e);
	s->columns[s->n_columns] = copy;
	s->keys[s->n_columns++] = key;
	bool taken = strcmp(key, "name") == 0;
	for (size_t i = 0; i + 1 < s->n_columns; i++)
		taken |= strcmp(key, s->keys[i]) == 0;
	if (!*key || !*copy)
		return td_err(e, TUNDISH_E_USAGE, "columns: \"%s\" is neither PATH nor KEY=PATH", TD_ESC(word));
	return taken ? td_err(e, TUNDISH_E_USAGE, "columns: two features called \"%s\": say KEY=%s", TD_ESC(key),
	    TD_ESC(path)) : 0;
}

static int set_columns(struct td_h5_spec *s, char *list, struct tundish_error *e)
{
	int rc = *list ? 0 : td_err(e, TUNDISH_E_USAGE, "columns: no PATH");
	for (char *save = NULL, *word = strtok_r(list, ":", &save); rc == 0 && word; word = strtok_r(NULL, ":", &save))
		rc = add_column(s, word, e);
	return rc;
}

static int set_word(struct td_h5_spec *s, char *word, struct tundish_error *e)
{
	char *equals = strchr(word, '='), **out = NULL;
	if (strncmp(word, "columns=", 8) == 0)
		return set_columns(s, word + 8, e);
	if (strncmp(word, "label=", 6) == 0)
		out = &s->label;
	else if (strncmp(word, "name=", 5) == 0)
		out = &s->name;
	if (!out || *out || !equals[1])
		return td_err(e, TUNDISH_E_USAGE, "\"%s\" is none of label=PATH, name=PATH, columns=PATH:PATH", TD_ESC(word));
	*out = strdup(equals + 1);
	return *out ? 0 : td_err_memory(e);
}

int td_h5_spec_parse(struct td_h5_spec *ret, const char *spec, struct tundish_error *e)
{
	struct td_h5_spec s = { 0 };
	char *copy = strdup(spec ? spec : ""), *save = NULL;
	int rc = copy ? 0 : td_err_memory(e);
	for (char *word = copy ? strtok_r(copy, ",", &save) : NULL; rc == 0 && word; word = strtok_r(NULL, ",", &save)) {
		if (word == copy && !strchr(word, '=')) {
			s.image = strdup(word);
			rc = s.image ? 0 : td_err_memory(e);
		} else {
			rc = set_word(&s, word, e);
		}
	}
	free(copy);
	if (rc < 0)
		td_h5_spec_free(&s);
	else
		*ret = s;
	return rc;
}

/* ---- looking ---- */

/* In the order of what is more likely meant. */
enum rank {
	NOTHING,
	LINE,	  /* a number a row */
	TABLE,	  /* a list of numbers a row */
	PICTURES, /* more axes than that, or encoded ones, a row */
	PICTURE,  /* one encoded picture is the dataset */
};

struct candidate {
	char *path;
	bool other_name; /* for labels only */
	enum rank rank;
	uint64_t n;
};

struct choice {
	struct td_h5_files *files;
	struct td_h5_cache *cache;
	uint64_t max_bytes;
	/* datasets and members, as they were met, and other names of theirs */
	struct candidate *list;
	size_t n, cap;
	struct td_buf member_of;
};

bool td_h5_is_picture(const void *data, size_t bytes)
{
	return td_image_probe(data, bytes) != TD_IMAGE_NONE;
}

static bool note_path(struct choice *c, const char *path, const char *member, bool other_name)
{
	char *copy = NULL;
	if (asprintf(&copy, "%s%s%s", path, member ? "/" : "", member ? member : "") < 0)
		return false;
	if (!td_grow(&c->list, &c->cap, c->n, sizeof *c->list)) {
		free(copy);
		return false;
	}
	c->list[c->n++] = (struct candidate){ .path = copy, .other_name = other_name };
	return true;
}

static int note_other_name(void *ctx, const char *path, const char *target, struct tundish_error *e)
{
	(void)target;
	return note_path(ctx, path, NULL, true) ? 0 : td_err_memory(e);
}

static bool note_member(void *ctx, const char *member)
{
	struct choice *c = ctx;
	return strchr(member, '/') || note_path(c, (const char *)c->member_of.data, member, false);
}

static int note_dataset(void *ctx, const char *path, H5O_type_t type, hid_t object, struct tundish_error *e)
{
	struct choice *c = ctx;
	if (type != H5O_TYPE_DATASET)
		return 0;
	hid_t elements = H5Dget_type(object);
	bool ok = true;
	c->member_of.len = 0;
	if (elements >= 0 && H5Tget_class(elements) == H5T_COMPOUND && !td_h5_is_complex(elements))
		ok = td_buf_printf(&c->member_of, "%s", path) && td_h5_members(elements, note_member, c);
	else if (elements >= 0)
		ok = note_path(c, path, NULL, false);
	if (elements >= 0)
		H5Tclose(elements);
	H5Eclear2(H5E_DEFAULT);
	return ok ? 0 : td_err_memory(e);
}

/* The first element that is not empty is an encoded picture. */
static bool begins_with_picture(struct choice *c, struct td_h5_data *d)
{
	struct td_buf row = { 0 }, element = { 0 };
	bool found = false, decided = false;
	const struct td_h5_type *t = &d->type;
	for (uint64_t i = 0; !decided && i < TD_MIN(d->n, (uint64_t)LOOK_AT); i++) {
		element.len = 0;
		if (d->row_bytes > c->max_bytes || !td_buf_fit(&row, d->row_bytes) ||
		    td_h5_rows(d, c->cache, i, 1, row.data, NULL) < 0)
			break;
		const uint8_t *data = row.data + t->offset;
		size_t bytes = t->bytes;
		if (t->what == TD_H5_VLEN || t->what == TD_H5_VTEXT) {
			decided = td_h5_heap_read(&element, d, data, c->max_bytes, NULL) < 0;
			data = element.data;
			bytes = element.len;
		}
		if (bytes && !decided) {
			decided = true;
			found = td_h5_is_picture(data, bytes);
		}
	}
	td_buf_free(&row);
	td_buf_free(&element);
	return found;
}

/* A list of bytes that is one encoded picture. */
static bool is_one_picture(struct choice *c, struct td_h5_data *d)
{
	struct td_buf head = { 0 };
	uint64_t n = TD_MIN(d->n, (uint64_t)TD_HEAD_BYTES);
	bool found = td_buf_fit(&head, n) && td_h5_rows(d, c->cache, 0, n, head.data, NULL) == 0 &&
	    td_h5_is_picture(head.data, n);
	td_buf_free(&head);
	return found;
}

static enum rank rank_of(struct choice *c, struct td_h5_data *d)
{
	const struct td_h5_type *t = &d->type;
	unsigned axes = d->rank + t->n_dims;
	if (d->n == 0)
		return NOTHING;
	bool texts = t->what == TD_H5_OPAQUE || t->what == TD_H5_TEXT || t->what == TD_H5_VTEXT ||
	    (t->what == TD_H5_VLEN && t->elem == TD_UINT8);
	if (texts && d->row_elements == 1 && axes <= 1 && begins_with_picture(c, d))
		return d->rank ? PICTURES : PICTURE;
	if (t->what != TD_H5_NUMBER || axes == 0)
		return t->what == TD_H5_VLEN && d->rank == 1 ? TABLE : NOTHING;
	if (axes == 1 && t->elem == TD_UINT8 && is_one_picture(c, d))
		return PICTURE;
	return axes >= 3 ? PICTURES : axes == 2 ? TABLE : LINE;
}

static int rank_all(struct choice *c, struct tundish_error *e)
{
	for (size_t i = 0; i < c->n; i++) {
		struct td_h5_data d;
		struct tundish_error why = { 0 };
		struct candidate *at = &c->list[i];
		int rc = td_h5_data_find(&d, c->files, at->path, c->max_bytes, &why);
		if (rc == TUNDISH_E_MEMORY)
			return td_err_memory(e);
		/* one that cannot be read may be the one that is meant: it is told of then */
		at->rank = at->other_name || rc == TUNDISH_E_EMPTY ? NOTHING : PICTURES;
		if (rc < 0)
			continue;
		at->n = d.n;
		if (!at->other_name)
			at->rank = rank_of(c, &d);
		td_h5_data_close(&d, c->cache);
	}
	return 0;
}

static size_t count(const struct choice *c, enum rank rank, const struct candidate **ret)
{
	size_t n = 0;
	for (size_t i = 0; i < c->n; i++) {
		if (c->list[i].rank != rank)
			continue;
		n++;
		*ret = &c->list[i];
	}
	return n;
}

static bool called(const char *path, const char *const *names, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (strcasecmp(td_path_base(path), names[i]) == 0)
			return true;
	return false;
}

static const char *const image_names[] = { "images", "image" };
static const char *const label_names[] = { "labels", "label", "classes", "class", "targets", "target", "y" };

/* The only one that is called so. */
static const struct candidate *by_name(const struct choice *c, enum rank rank)
{
	const struct candidate *found = NULL;
	for (size_t i = 0; i < c->n; i++) {
		if (c->list[i].rank != rank || !called(c->list[i].path, image_names, TD_COUNT(image_names)))
			continue;
		if (found)
			return NULL;
		found = &c->list[i];
	}
	return found;
}

static size_t parent_bytes(const char *path)
{
	return (size_t)(strrchr(path, '/') - path);
}

/* Pictures that are a dataset each: all in one group. */
static bool one_group(const struct choice *c, const struct candidate *one)
{
	size_t n = parent_bytes(one->path);
	for (size_t i = 0; i < c->n; i++)
		if (c->list[i].rank == PICTURE &&
		    (parent_bytes(c->list[i].path) != n || strncmp(c->list[i].path, one->path, n) != 0))
			return false;
	return true;
}

static int undecided(const struct choice *c, enum rank rank, struct tundish_error *e)
{
	struct td_buf names = { 0 };
	size_t n = 0;
	bool ok = td_buf_printf(&names, "%s", "");
	for (size_t i = 0; ok && i < c->n; i++)
		if ((rank == NOTHING || c->list[i].rank == rank) && !c->list[i].other_name) {
			if (n++ < 8)
				ok = td_buf_printf(&names, "%s%s", n > 1 ? ", " : "", TD_ESC(c->list[i].path));
		}
	if (ok && n > 8)
		ok = td_buf_printf(&names, " and %zu more", n - 8);
	int rc = !ok ? td_err_memory(e) : n == 0 ? td_err(e, TUNDISH_E_UNSUPPORTED, "no dataset in it") :
	    td_err(e, TUNDISH_E_UNSUPPORTED, "which dataset? %s: say FILE:DATASET", (const char *)names.data);
	td_buf_free(&names);
	return rc;
}

/* Labels of the same length beside the images. */
static const struct candidate *find_labels(const struct choice *c, const struct candidate *images)
{
	size_t n = parent_bytes(images->path);
	for (unsigned k = 0; k < TD_COUNT(label_names); k++)
		for (size_t i = 0; i < c->n; i++) {
			const struct candidate *l = &c->list[i];
			if (l != images && l->n == images->n && parent_bytes(l->path) == n &&
			    strncmp(l->path, images->path, n) == 0 && called(l->path, &label_names[k], 1))
				return l;
		}
	return NULL;
}

static int choose(struct td_h5_spec *s, struct choice *c, struct tundish_error *e)
{
	const struct candidate *one = NULL, *labels;
	enum rank rank = PICTURES;
	size_t n = count(c, PICTURES, &one);
	if (n == 0 && count(c, PICTURE, &one) > 0 && one_group(c, one)) {
		s->image = strndup(one->path, TD_MAX(parent_bytes(one->path), (size_t)1));
		return s->image ? 0 : td_err_memory(e);
	}
	for (; n == 0 && rank > NOTHING; rank--)
		n = count(c, rank - 1, &one);
	if (n > 1)
		one = by_name(c, rank);
	if (n == 0 || !one)
		return undecided(c, n ? rank : NOTHING, e);
	labels = s->label ? NULL : find_labels(c, one);
	s->image = strdup(one->path);
	s->label = labels ? strdup(labels->path) : s->label;
	return s->image && (!labels || s->label) ? 0 : td_err_memory(e);
}

int td_h5_choose(struct td_h5_spec *spec, struct td_h5_files *files, struct td_h5_cache *cache, uint64_t max_bytes,
    struct tundish_error *e)
{
	struct choice c = { .files = files, .cache = cache, .max_bytes = max_bytes };
	int rc = td_h5_walk(files, note_dataset, note_other_name, &c, e);
	if (rc == 0)
		rc = rank_all(&c, e);
	if (rc == 0)
		rc = choose(spec, &c, e);
	for (size_t i = 0; i < c.n; i++)
		free(c.list[i].path);
	free(c.list);
	td_buf_free(&c.member_of);
	return rc;
}
