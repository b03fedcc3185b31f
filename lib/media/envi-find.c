/* SPDX-License-Identifier: BSD-2-Clause
 * Where the pixels of an ENVI header are. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "base/err.h"
#include "base/outfile.h"
#include "base/path.h"
#include "envi.h"

/* In the order of preference; the first is the header's name without its suffix. */
static const char *const suffixes[] = { "", ".img", ".dat", ".raw", ".sli", ".hyspex", ".bsq",
	".bil", ".bip", ".bin", ".lan", ".rad", ".rfl", ".ref", ".cub", ".cube", ".slc", ".int",
	".pix" };

struct search {
	const struct td_raster *r;
	struct stat header;
	uint64_t want; /* bytes, 0 for any */
	char *found, *other; /* the best file so far, and another that would do */
	bool fits;
};

static bool file_size(const struct search *s, const char *path, uint64_t *ret)
{
	struct stat st;
	if (stat(path, &st) != 0 || !S_ISREG(st.st_mode) ||
	    (st.st_ino == s->header.st_ino && st.st_dev == s->header.st_dev))
		return false;
	*ret = (uint64_t)st.st_size;
	return true;
}

/* A file of the right size wins over those before it. */
static int consider(struct search *s, const char *path, struct tundish_error *e)
{
	uint64_t size;
	if (!file_size(s, path, &size))
		return 0;
	bool fits = size == s->want || s->want == 0;
	char *copy = strdup(path);
	if (!copy)
		return td_err_memory(e);
	if (!s->found || (fits && !s->fits)) {
		free(s->found);
		s->found = copy;
		s->fits = fits;
	} else if (fits && !s->other) {
		s->other = copy;
	} else {
		free(copy);
	}
	return 0;
}

static int try_names(struct search *s, const char *stem, struct tundish_error *e)
{
	struct td_buf name = { 0 };
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < TD_COUNT(suffixes); i++) {
		name.len = 0;
		if (!td_buf_printf(&name, "%s%s", stem, suffixes[i])) {
			rc = td_err_memory(e);
			break;
		}
		rc = consider(s, (const char *)name.data, e);
		for (size_t k = strlen(stem); k < name.len; k++)
			if (name.data[k] >= 'a' && name.data[k] <= 'z')
				name.data[k] = (uint8_t)(name.data[k] - 'a' + 'A');
		if (rc == 0 && *suffixes[i])
			rc = consider(s, (const char *)name.data, e);
	}
	td_buf_free(&name);
	return rc;
}

/* Its place in the list from 1 on, or 0. */
static unsigned known_suffix(const char *suffix)
{
	for (unsigned i = 0; i < TD_COUNT(suffixes); i++)
		if (strcasecmp(suffix, suffixes[i]) == 0)
			return i + 1;
	return 0;
}

unsigned td_raster_is_data(const char *header, const char *name)
{
	size_t len = strlen(header) - strlen(td_path_suffix(header));
	if (strncasecmp(header, name, len) != 0 || strcmp(header, name) == 0)
		return 0;
	unsigned at = known_suffix(name + len);
	return at ? TD_COUNT(suffixes) + 1 - at : 0;
}

bool td_raster_data_named(const char *name)
{
	return known_suffix(td_path_suffix(name)) > 0;
}

/* A list of the folder: names that differ by case, and of unknown suffixes the one that
 * alone has the right size. */
static int try_folder(struct search *s, const char *stem, struct tundish_error *e)
{
	const char *base = td_path_base(stem);
	size_t len = strlen(base);
	char *folder = td_path_folder(stem);
	struct td_names names = { 0 };
	int rc = folder ? td_list_folder(&names, folder, e) : td_err_memory(e);
	for (size_t i = 0; rc == 0 && i < names.n; i++) {
		const char *suffix = names.names[i] + len;
		if (strncasecmp(names.names[i], base, len) != 0 || (*suffix && *suffix != '.'))
			continue;
		uint64_t size;
		char *path = td_path_join(folder, names.names[i]);
		if (!path)
			rc = td_err_memory(e);
		else if (known_suffix(suffix) ||
		    (s->want && file_size(s, path, &size) && size == s->want))
			rc = consider(s, path, e);
		free(path);
	}
	td_names_free(&names);
	free(folder);
	return rc;
}

static int not_found(const char *stem, struct tundish_error *e)
{
	struct td_buf list = { 0 };
	const char *base = td_path_base(stem);
	for (size_t i = 0; i < TD_COUNT(suffixes); i++)
		if (!td_buf_printf(&list, "%s%s%s", i ? ", " : "", TD_ESC(i ? "" : base), suffixes[i]))
			break;
	int rc = td_err(e, TUNDISH_E_NOT_FOUND,
	    "no data file beside the ENVI header: looked for %s, in any case", list.data ? (const char *)list.data : "");
	td_buf_free(&list);
	return rc;
}

static int open_found(struct td_raster *r, const struct search *s, struct tundish_error *e)
{
	if (s->other)
		td_raster_notice(r, "data are taken from %s, though %s would fit as well",
		    TD_ESC(td_path_base(s->found)), TD_ESC(td_path_base(s->other)));
	struct tundish_error why = { 0 };
	int rc = td_bytes_open(&r->pixels, s->found, &why);
	if (rc < 0)
		return td_err(e, rc, "%s: %s", TD_ESC(td_path_base(s->found)), why.text);
	return 0;
}

int td_envi_find_data(struct td_raster *r, struct tundish_error *e)
{
	const struct td_envi *v = r->own;
	struct search s = { .r = r, .want = v->gzip ? 0 : v->bytes };
	char *stem = strdup(r->name ? r->name : r->path);
	if (!stem)
		return td_err_memory(e);
	stem[strlen(stem) - strlen(td_path_suffix(stem))] = '\0';
	/* what only messages call so lies beside nothing */
	int rc = r->name ? not_found(stem, e) : stat(r->path, &s.header) != 0 ? td_err_errno(e, errno, "header") : 0;
	if (rc == 0)
		rc = try_names(&s, stem, e);
	if (rc == 0 && !s.found)
		rc = try_folder(&s, stem, e);
	if (rc == 0 && !s.found)
		rc = not_found(stem, e);
	if (rc == 0)
		rc = open_found(r, &s, e);
	if (rc == 0) {
		r->pixels_path = s.found;
		s.found = NULL;
	}
	free(s.found);
	free(s.other);
	free(stem);
	return rc;
}

/* One more piece of the packed file. */
static int refill(z_stream *z, const struct td_bytes *from, uint64_t *at, uint8_t *buffer,
    size_t bytes, struct tundish_error *e)
{
	size_t n = (size_t)TD_MIN((uint64_t)bytes, from->size - *at);
	if (n == 0)
		return td_err(e, TUNDISH_E_TRUNCATED, "gzip'ed data end early");
	int rc = td_bytes_read(from, buffer, n, *at, e);
	*at += n;
	z->next_in = buffer;
	z->avail_in = (uInt)n;
	return rc;
}

/* Unpacks `bytes` bytes, however many gzip members they take, and the last of these to
 * its checksum. */
static int inflate_to(int fd, const struct td_bytes *from, uint64_t bytes, uint8_t *buffer,
    size_t half, struct tundish_error *e)
{
	z_stream z = { 0 };
	uint64_t at = 0;
	int rc = 0, status = Z_OK;
	if (inflateInit2(&z, 15 + 16) != Z_OK)
		return td_err_memory(e);
	while (rc == 0 && (bytes > 0 || status != Z_STREAM_END)) {
		if (z.avail_in == 0)
			rc = refill(&z, from, &at, buffer, half, e);
		if (rc < 0)
			break;
		if (status == Z_STREAM_END)
			inflateReset(&z);
		z.next_out = buffer + half;
		z.avail_out = (uInt)half;
		status = inflate(&z, Z_NO_FLUSH);
		if (status != Z_OK && status != Z_STREAM_END && status != Z_BUF_ERROR)
			rc = td_err(e, TUNDISH_E_CORRUPT, "gzip'ed data: %s",
			    z.msg ? z.msg : "damaged");
		size_t got = (size_t)TD_MIN((uint64_t)(half - z.avail_out), bytes);
		int written = rc == 0 ? td_write_all(fd, buffer + half, got) : 0;
		if (written < 0)
			rc = td_err_errno(e, -written, "unpacked ENVI data");
		bytes -= got;
	}
	inflateEnd(&z);
	return rc;
}

static int unpack(struct td_raster *r, struct tundish_error *e)
{
	const struct td_envi *v = r->own;
	/* deflate does not pack tighter than 1032 to 1 */
	if (v->bytes / 1032 > r->pixels.size)
		return td_err(e, TUNDISH_E_TRUNCATED,
		    "%" PRIu64 " bytes of data cannot be in a gzip file of %" PRIu64, v->bytes,
		    r->pixels.size);
	size_t half = 1 << 18;
	uint8_t *buffer = malloc(2 * half);
	int fd = buffer ? td_nameless_file(NULL, e) : td_err_memory(e);
	int rc = fd < 0 ? fd : inflate_to(fd, &r->pixels, v->bytes, buffer, half, e);
	free(buffer);
	if (rc < 0) {
		if (fd >= 0)
			close(fd);
		return rc;
	}
	td_bytes_close(&r->pixels);
	r->pixels = (struct td_bytes){ .fd = fd, .size = v->bytes };
	return 0;
}

int td_envi_unpack(struct td_raster *r, struct tundish_error *e)
{
	struct td_envi *v = r->own;
	pthread_mutex_lock(&v->lock);
	int rc = v->unpacked ? 0 : unpack(r, e);
	v->unpacked = rc == 0;
	pthread_mutex_unlock(&v->lock);
	return rc;
}
