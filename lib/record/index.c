/* SPDX-License-Identifier: BSD-2-Clause
 * Where the records of an uncompressed file are: DALI's text side-car, or a header walk. */
#include "index.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "frame.h"
#include "input.h"
#include "members.h"
#include "reader.h"
#include "base/rng.h"

#define DRAWS 8

static int append(struct td_index *index, size_t *cap, struct td_index_entry entry,
    struct tundish_error *e)
{
	if (!td_grow(&index->entries, cap, index->n, sizeof *index->entries))
		return td_err_memory(e);
	index->entries[index->n++] = entry;
	return 0;
}

/* ---- side-cars ---- */

/* The names an index of `path` may have: ours, then those that others use. */
static char *sidecar(const char *path, unsigned number)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	const char *end = strstr(name, ".tfrecord");
	int folder = (int)(name - path);
	char *out = NULL;
	int n = -1;
	if (number == 0)
		n = asprintf(&out, "%.*sindex/%s.idx", folder, path, name);
	else if (number == 1)
		n = asprintf(&out, "%s.idx", path);
	else if (number == 2 && end)
		n = asprintf(&out, "%.*s.idx", (int)(end - path), path);
	return n < 0 ? NULL : out;
}

/* "OFFSET SIZE\n" at *p. */
static bool parse_line(const char **p, const char *end, struct td_index_entry *ret)
{
	uint64_t v[2] = { 0 };
	for (int i = 0; i < 2; i++) {
		const char *start = *p;
		while (*p < end && **p >= '0' && **p <= '9') {
			if (td_mul_overflow(v[i], 10u, &v[i]) ||
			    td_add_overflow(v[i], (uint64_t)(**p - '0'), &v[i]))
				return false;
			++*p;
		}
		if (*p == start)
			return false;
		while (i == 0 && *p < end && (**p == ' ' || **p == '\t'))
			++*p;
	}
	*ret = (struct td_index_entry){ v[0], v[1] };
	if (*p < end && **p == '\r')
		++*p;
	if (*p < end && *(*p)++ != '\n')
		return false;
	return true;
}

const char *td_index_parse(struct td_index *index, const char *text, size_t len, uint64_t size)
{
	uint64_t at = 0;
	size_t cap = 0;
	for (const char *p = text, *end = text + len; p < end;) {
		struct td_index_entry one;
		if (!parse_line(&p, end, &one))
			return "a line is not \"OFFSET SIZE\"";
		if (one.offset != at || one.bytes < TD_FRAME_EXTRA || one.bytes > size - at)
			return "its records do not follow each other in the file";
		at += one.bytes;
		if (append(index, &cap, one, NULL) < 0)
			return "out of memory";
	}
	return at == size ? NULL : "it ends before the file";
}

static bool entry_fits(struct td_input *in, const struct td_index_entry *entry)
{
	uint8_t header[TD_FRAME_HEADER];
	return td_input_read(in, entry->offset, header, sizeof header, NULL) == sizeof header &&
	       td_frame_length_ok(header) && td_le64(header) == entry->bytes - TD_FRAME_EXTRA;
}

/* First, last and a few drawn entries stand for all. */
static bool entries_fit(struct td_input *in, const struct td_index *index)
{
	struct td_rng rng;
	td_rng_at(&rng, 0, 0, index->n, TD_RNG_SAMPLE);
	if (index->n == 0)
		return true;
	if (!entry_fits(in, index->entries) || !entry_fits(in, index->entries + index->n - 1))
		return false;
	for (int i = 0; i < DRAWS; i++)
		if (!entry_fits(in, index->entries + td_rng_below(&rng, index->n)))
			return false;
	return true;
}

static int read_text(const char *path, uint64_t limit, char **ret, size_t *ret_len)
{
	struct td_input in;
	int rc = td_input_open(&in, path, NULL);
	if (rc < 0)
		return rc;
	char *text = in.size <= limit ? malloc((size_t)in.size + 1) : NULL;
	size_t n = 0;
	while (text && n < in.size) {
		ssize_t got = td_input_read(&in, n, text + n, (size_t)in.size - n, NULL);
		if (got <= 0)
			break;
		n += (size_t)got;
	}
	bool whole = text && n == in.size;
	td_input_close(&in);
	if (!whole) {
		free(text);
		return TUNDISH_E_CORRUPT;
	}
	*ret = text;
	*ret_len = n;
	return 0;
}

/* 1 when the side-car fits, 0 when there is none or it does not. */
static int try_sidecar(struct td_index *index, const char *idx, const char *path,
    struct td_input *in, const struct tundish_listener *l)
{
	char *text;
	size_t len;
	/* a line has 43 bytes at most, and a record 16 at least */
	uint64_t limit = in->size / TD_FRAME_EXTRA * 43 + 64;
	int rc = read_text(idx, limit, &text, &len);
	if (rc == TUNDISH_E_NOT_FOUND)
		return 0;
	const char *why = rc < 0 ? "it cannot be read, or is too large" : NULL;
	if (rc == 0) {
		why = td_index_parse(index, text, len, in->size);
		free(text);
	}
	if (!why && !entries_fit(in, index))
		why = "lengths in the file differ";
	if (!why) {
		index->from_sidecar = 1;
		return 1;
	}
	td_notice(l, "index %s does not fit %s: %s; it is ignored", TD_ESC(idx), TD_ESC(path), why);
	td_index_free(index);
	return 0;
}

int td_index_sidecar(struct td_index *ret, const char *path, const struct tundish_listener *l,
    struct tundish_error *e)
{
	struct td_index index = { 0 };
	struct td_input in;
	int rc = td_input_open(&in, path, e);
	if (rc < 0)
		return rc;
	for (unsigned i = 0; i < 3 && rc == 0 && in.size != TD_SIZE_UNKNOWN; i++) {
		char *idx = sidecar(path, i);
		rc = idx ? try_sidecar(&index, idx, path, &in, l) : 0;
		free(idx);
	}
	td_input_close(&in);
	if (rc > 0)
		*ret = index;
	return rc;
}

/* ---- the walk ---- */

static int walk(struct td_index *index, struct tundish_reader *r, struct tundish_error *e)
{
	struct td_index_entry one;
	uint64_t number;
	size_t cap = 0;
	int rc;
	while ((rc = td_reader_walk(r, &one, &number, e)) == 1)
		if ((rc = append(index, &cap, one, e)) < 0)
			break;
	index->faults = td_reader_faults(r);
	return rc;
}

int td_index_open(struct td_index *ret, const char *path, const struct tundish_listener *l,
    struct tundish_error *e)
{
	struct td_index index = { 0 };
	struct tundish_reader_options o;
	struct tundish_reader *r;
	tundish_reader_options_init(&o);
	o.crc = TUNDISH_CRC_LENGTH;
	if (l)
		o.listener = *l;
	int rc = tundish_reader_open(&r, path, &o, e);
	if (rc < 0)
		return rc;
	if (!td_reader_seekable(r))
		rc = td_err(e, TUNDISH_E_UNSUPPORTED, "%s: compressed files and streams have no index",
		    TD_ESC(path));
	else if (td_reader_faults(r) == 0)
		rc = td_index_sidecar(&index, path, l, e);
	if (rc == 0)
		rc = walk(&index, r, e);
	tundish_reader_close(r);
	if (rc < 0) {
		td_index_free(&index);
		return rc;
	}
	*ret = index;
	return 0;
}

/* Each mark must be where a record was met. */
static bool marks_agree(const struct td_index *index, const struct td_pack_map *map)
{
	for (size_t i = 0; i < map->n; i++) {
		const struct td_mark *mark = &map->marks[i];
		if (mark->number >= index->n || index->entries[mark->number].offset != mark->offset)
			return false;
	}
	return true;
}

/* 1 where the file can be entered at the marks. */
static int walk_members(struct td_index *index, struct td_pack_map *map, const char *path,
    const struct tundish_listener *l, struct tundish_error *e)
{
	struct tundish_reader_options o;
	struct tundish_reader *r;
	tundish_reader_options_init(&o);
	o.crc = TUNDISH_CRC_LENGTH;
	int rc = tundish_reader_open(&r, path, &o, e);
	if (rc < 0)
		return rc;
	bool gzip = tundish_reader_compression(r) == TUNDISH_GZIP;
	if (gzip)
		rc = walk(index, r, e);
	tundish_reader_close(r);
	if (rc < 0 || !gzip || index->faults || index->n == 0)
		return rc;
	const struct td_index_entry *last = &index->entries[index->n - 1];
	map->bytes = last->offset + last->bytes;
	if (marks_agree(index, map))
		return td_pack_map_fits(map);
	td_notice(l, "the members in tundish.json do not fit %s; they are ignored", TD_ESC(path));
	return 0;
}

int td_index_members(struct td_index *ret, struct td_pack_map *ret_map, const char *path,
    struct td_metadata *m, const struct tundish_listener *l, struct tundish_error *e)
{
	struct td_index index = { 0 };
	struct td_pack_map map = { 0 };
	struct td_input in;
	int rc = td_input_open(&in, path, e);
	if (rc < 0)
		return rc;
	map.raw = in.size;
	if (in.size != TD_SIZE_UNKNOWN)
		rc = td_members_sidecar(&map.marks, &map.n, path, &in, m, l, e);
	td_input_close(&in);
	if (rc > 0)
		rc = walk_members(&index, &map, path, l, e);
	if (rc <= 0) {
		td_index_free(&index);
		free(map.marks);
		return rc;
	}
	*ret = index;
	*ret_map = map;
	return 1;
}

void td_index_free(struct td_index *index)
{
	free(index->entries);
	*index = (struct td_index){ 0 };
}

static uint8_t *print_number(uint8_t *out, uint64_t value, char end)
{
	uint8_t digits[20];
	unsigned n = 0;
	do
		digits[n++] = (uint8_t)('0' + value % 10);
	while (value /= 10);
	while (n > 0)
		*out++ = digits[--n];
	*out++ = (uint8_t)end;
	return out;
}

/* By hand: small records come by the million. */
bool td_index_print(struct td_buf *out, const struct td_index_entry *entries, size_t n)
{
	size_t most;
	if (td_mul_overflow(n, 42u, &most) || !td_buf_reserve(out, most))
		return false;
	uint8_t *at = out->data + out->len;
	for (size_t i = 0; i < n; i++) {
		at = print_number(at, entries[i].offset, ' ');
		at = print_number(at, entries[i].bytes, '\n');
	}
	out->len = (size_t)(at - out->data);
	return true;
}
