/* SPDX-License-Identifier: BSD-2-Clause
 * Index side-cars written anew for files that are there. */
#include "reindex.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/err.h"
#include "base/outfile.h"
#include "base/path.h"
#include "record/reader.h"

/* Members that begin with records, as the reader has noted them. */
static int list_members(struct td_index *all, const struct tundish_reader *reader, const char *path,
    struct tundish_error *e)
{
	size_t n;
	const struct td_mark *marks = td_reader_marks(reader, &n);
	all->gzip = true;
	all->map.marks = calloc(n + 1, sizeof *marks);
	if (!all->map.marks)
		return td_err_memory(e);
	if (n > 0)
		memcpy(all->map.marks, marks, n * sizeof *marks);
	all->map.n = n;
	all->map.raw = td_reader_bytes(reader);
	if (td_index_end_map(all) && td_index_members_small(all))
		return 0;
	return td_err(e, TUNDISH_E_UNSUPPORTED, "%s: a compressed file can be indexed where it consists of small "
	    "gzip members that begin with records, as tundish writes them", TD_ESC(path));
}

static bool print_members(struct td_buf *out, const struct td_index *all)
{
	const struct td_pack_map *map = &all->map;
	bool ok = td_index_print_head(out);
	for (size_t i = 0; ok && i < map->n; i++) {
		uint64_t from = map->marks[i].number, to = i + 1 < map->n ? map->marks[i + 1].number : all->n;
		ok = td_index_print_member(out, map->marks[i].raw) &&
		    td_index_print(out, all->entries + from, (size_t)(to - from));
	}
	return ok && td_index_print_end(out, map->raw, map->bytes);
}

static int write_index(const char *path, const struct td_index *all, struct tundish_error *e)
{
	struct td_buf text = { 0 };
	char *folder = td_path_folder(path), *out = NULL;
	int rc = TUNDISH_E_MEMORY;
	if (folder && asprintf(&out, "%s/index", folder) >= 0) {
		rc = mkdir(out, 0777) == 0 || errno == EEXIST ? 0 : td_err_errno(e, errno, "%s", TD_ESC(out));
		free(out);
		out = NULL;
		if (rc == 0 && (asprintf(&out, "%s/index/%s.idx", folder, td_path_base(path)) < 0 ||
				   !(all->gzip ? print_members(&text, all) : td_index_print(&text, all->entries, all->n))))
			rc = TUNDISH_E_MEMORY;
		if (rc == 0)
			rc = td_write_file(out, text.data ? text.data : (const uint8_t *)"", text.len, e);
		free(out);
	}
	free(folder);
	td_buf_free(&text);
	return rc == TUNDISH_E_MEMORY ? td_err_memory(e) : rc;
}

static int list_file(struct td_index *all, const char *path, const struct tundish_reader_options *ro,
    struct tundish_error *e)
{
	struct tundish_reader *reader;
	int rc = tundish_reader_open(&reader, path, ro, e);
	if (rc < 0)
		return rc;
	bool gzip = tundish_reader_compression(reader) == TUNDISH_GZIP && td_reader_regular(reader);
	if (!gzip && !td_reader_seekable(reader))
		rc = td_err(e, TUNDISH_E_UNSUPPORTED, "%s: only uncompressed and GZIP files can be indexed",
		    TD_ESC(path));
	if (rc == 0 && gzip)
		td_reader_note(reader);
	if (rc == 0)
		rc = td_index_walk(all, reader, e);
	if (rc == 0 && gzip)
		rc = list_members(all, reader, path, e);
	tundish_reader_close(reader);
	return rc;
}

static int index_file(const struct tundish_survey *s, const char *path, struct tundish_error *e)
{
	const struct tundish_inspect_options *o = &s->options;
	struct tundish_reader_options ro = td_survey_reader(o);
	struct td_index all = { 0 };
	struct tundish_error why = { 0 };
	ro.on_error = TUNDISH_FAIL;
	int rc = list_file(&all, path, &ro, &why);
	if (rc == TUNDISH_E_CORRUPT || rc == TUNDISH_E_TRUNCATED || rc == TUNDISH_E_UNSUPPORTED) {
		td_notice(&o->listener, "no index: %s", why.text);
		rc = 0;
	} else if (rc == 0) {
		rc = write_index(path, &all, e);
	} else if (e) {
		*e = why;
	}
	td_index_free(&all);
	return rc;
}

int td_reindex(const struct tundish_survey *s, struct tundish_error *e)
{
	int rc = 0;
	for (size_t i = 0; i < s->paths.n && rc == 0; i++)
		rc = index_file(s, s->paths.paths[i], e);
	return rc;
}
