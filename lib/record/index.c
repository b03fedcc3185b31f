/* SPDX-License-Identifier: BSD-2-Clause
 * Where the records of a file are, by its side-car or a walk. */
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
#include "base/infile.h"
#include "frame.h"
#include "inflate.h"
#include "input.h"
#include "members.h"
#include "reader.h"
#include "unpack.h"
#include "base/rng.h"

#define DRAWS 8
#define PEEP_BYTES 4096 /* of a member: more than its header and the first code tables have */
/* Ours have 1 MiB and the rest of one record. */
#define MEMBER_BYTES ((uint64_t)16 << 20)
#define TEXT_MAX ((uint64_t)1 << 30)

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

static bool header_fits(const uint8_t *header, const struct td_index_entry *entry)
{
	return td_frame_length_ok(header) && td_le64(header) == entry->bytes - TD_FRAME_EXTRA;
}

static bool entry_fits(struct td_input *in, const struct td_index_entry *entry)
{
	uint8_t header[TD_FRAME_HEADER];
	return td_input_read(in, entry->offset, header, sizeof header, NULL) == sizeof header &&
	       header_fits(header, entry);
}

/* Does the member begin with the record that it should? */
static bool member_fits(struct td_input *in, const struct td_index *index, size_t i)
{
	const struct td_mark *mark = &index->map.marks[i];
	const struct td_index_entry *entry = &index->entries[mark->number];
	uint8_t raw[PEEP_BYTES], header[TD_FRAME_HEADER];
	int ended;
	ssize_t n = td_input_read(in, mark->raw, raw, sizeof raw, NULL);
	return n >= 4 && td_gzip_header(raw) &&
	       td_inflate_start(ISAL_GZIP, raw, (size_t)n, header, sizeof header, &ended) == sizeof header &&
	       header_fits(header, entry);
}

static bool part_fits(struct td_input *in, const struct td_index *index, size_t i)
{
	return index->gzip ? member_fits(in, index, i) : entry_fits(in, &index->entries[i]);
}

/* First, last and a few drawn entries, or members, stand for all. */
static bool parts_fit(struct td_input *in, const struct td_index *index)
{
	struct td_rng rng;
	size_t n = index->gzip ? index->map.n : index->n;
	td_rng_at(&rng, 0, 0, n, TD_RNG_SAMPLE);
	if (n == 0)
		return true;
	bool fit = part_fits(in, index, 0) && part_fits(in, index, n - 1);
	for (int i = 0; fit && i < DRAWS; i++)
		fit = part_fits(in, index, td_rng_below(&rng, n));
	return fit;
}

static bool is_gzip(struct td_input *in)
{
	uint8_t start[TD_FRAME_HEADER];
	ssize_t n = td_input_read(in, 0, start, sizeof start, NULL);
	return n == sizeof start && td_gzip_header(start) && !td_frame_length_ok(start);
}

/* 1 when the side-car fits, 0 when there is none or it does not. */
static int try_sidecar(struct td_index *index, const char *idx, const char *path,
    struct td_input *in, const struct tundish_listener *l)
{
	struct td_buf text = { 0 };
	bool gzip = is_gzip(in);
	/* a line has 43 bytes at most, and a record 16 at least */
	uint64_t limit = gzip ? TEXT_MAX : in->size / TD_FRAME_EXTRA * 43 + 64;
	struct tundish_error e = { 0 };
	int rc = td_read_file(&text, idx, limit, &e);
	if (rc == TUNDISH_E_NOT_FOUND)
		return 0;
	const char *why = rc < 0 ? e.text : td_index_parse(index, text.len ? (const char *)text.data : "", text.len,
	    in->size);
	td_buf_free(&text);
	if (!why && index->gzip != gzip)
		why = gzip ? "the file is compressed" : "the file is not of gzip members";
	if (!why && !parts_fit(in, index))
		why = "lengths in the file differ";
	if (!why) {
		index->from_sidecar = true;
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

int td_index_walk(struct td_index *index, struct tundish_reader *r, struct tundish_error *e)
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
	if (rc > 0 && index.gzip) {
		td_index_free(&index);
		rc = 0;
	}
	if (rc == 0)
		rc = td_index_walk(&index, r, e);
	tundish_reader_close(r);
	if (rc < 0) {
		td_index_free(&index);
		return rc;
	}
	*ret = index;
	return 0;
}

/* ---- gzip members ---- */

/* Each mark must be where a record was met. */
static bool marks_agree(const struct td_index *index)
{
	const struct td_pack_map *map = &index->map;
	for (size_t i = 0; i < map->n; i++) {
		const struct td_mark *mark = &map->marks[i];
		if (mark->number >= index->n || index->entries[mark->number].offset != mark->offset)
			return false;
	}
	return true;
}

bool td_index_end_map(struct td_index *index)
{
	const struct td_index_entry *last = index->n ? &index->entries[index->n - 1] : NULL;
	index->map.bytes = last ? last->offset + last->bytes : 0;
	return (index->map.n > 0) == (index->n > 0) && marks_agree(index);
}

bool td_index_members_small(const struct td_index *index)
{
	const struct td_pack_map *map = &index->map;
	for (size_t i = 0; i < map->n; i++) {
		bool last = i + 1 == map->n;
		const struct td_mark *mark = &map->marks[i], *next = last ? NULL : mark + 1;
		uint64_t raw = (last ? map->raw : next->raw) - mark->raw;
		uint64_t bytes = (last ? map->bytes : next->offset) - mark->offset;
		const struct td_index_entry *end = &index->entries[(last ? index->n : next->number) - 1];
		if (end->offset - mark->offset > MEMBER_BYTES || bytes > UINT32_MAX - PEEP_BYTES || raw > UINT32_MAX ||
		    raw / 2 > bytes + MEMBER_BYTES)
			return false;
	}
	return true;
}

/* 1 where the file can be entered at the marks. */
static int walk_members(struct td_index *index, const char *path, const struct tundish_listener *l,
    struct tundish_error *e)
{
	struct tundish_reader_options o;
	struct tundish_reader *r;
	tundish_reader_options_init(&o);
	o.crc = TUNDISH_CRC_LENGTH;
	int rc = tundish_reader_open(&r, path, &o, e);
	if (rc < 0)
		return rc;
	index->gzip = tundish_reader_compression(r) == TUNDISH_GZIP;
	if (index->gzip)
		rc = td_index_walk(index, r, e);
	tundish_reader_close(r);
	if (rc < 0 || !index->gzip || index->faults)
		return rc;
	if (td_index_end_map(index))
		return 1;
	td_notice(l, "the members in tundish.json do not fit %s; they are ignored", TD_ESC(path));
	return 0;
}

int td_index_members(struct td_index *ret, struct td_pack_map *ret_map, const char *path,
    struct td_metadata *m, const struct tundish_listener *l, struct tundish_error *e)
{
	struct td_index index = { 0 };
	struct td_input in;
	int rc = td_index_sidecar(&index, path, l, e);
	if (rc < 0 || (rc = td_input_open(&in, path, e)) < 0) {
		td_index_free(&index);
		return rc;
	}
	rc = index.gzip;
	if (rc == 0 && in.size != TD_SIZE_UNKNOWN) {
		td_index_free(&index);
		index.map.raw = in.size;
		rc = td_members_sidecar(&index.map.marks, &index.map.n, path, &in, m, l, e);
		if (rc > 0)
			rc = walk_members(&index, path, l, e);
	}
	td_input_close(&in);
	if (rc <= 0 || !td_index_members_small(&index)) {
		td_index_free(&index);
		return TD_MIN(rc, 0);
	}
	*ret_map = index.map;
	index.map = (struct td_pack_map){ 0 };
	*ret = index;
	return 1;
}

void td_index_free(struct td_index *index)
{
	free(index->entries);
	free(index->map.marks);
	*index = (struct td_index){ 0 };
}
