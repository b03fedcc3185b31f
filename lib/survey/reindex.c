/* SPDX-License-Identifier: BSD-2-Clause
 * Index side-cars written anew for files that are there. */
#include "reindex.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/err.h"
#include "base/outfile.h"
#include "base/path.h"
#include "record/reader.h"

struct entries {
	struct td_index_entry *list;
	size_t n, cap;
};

/* All frames by their headers; an error where one is damaged. */
static int list_frames(struct tundish_reader *reader, struct entries *all, struct tundish_error *e)
{
	uint64_t number;
	int rc = 1;
	while (rc > 0) {
		if (!td_grow(&all->list, &all->cap, all->n, sizeof *all->list))
			return td_err_memory(e);
		rc = td_reader_walk(reader, &all->list[all->n], &number, e);
		all->n += rc > 0;
	}
	return rc;
}

static int write_index(const char *path, const struct entries *all, struct tundish_error *e)
{
	struct td_buf text = { 0 };
	char *folder = td_path_folder(path), *out = NULL;
	int rc = TUNDISH_E_MEMORY;
	if (folder && asprintf(&out, "%s/index", folder) >= 0) {
		rc = mkdir(out, 0777) == 0 || errno == EEXIST ? 0 : td_err_errno(e, errno, "%s", TD_ESC(out));
		free(out);
		out = NULL;
		if (rc == 0 && (asprintf(&out, "%s/index/%s.idx", folder, td_path_base(path)) < 0 ||
				   !td_index_print(&text, all->list, all->n)))
			rc = TUNDISH_E_MEMORY;
		if (rc == 0)
			rc = td_write_file(out, text.data ? text.data : (const uint8_t *)"", text.len, e);
		free(out);
	}
	free(folder);
	td_buf_free(&text);
	return rc == TUNDISH_E_MEMORY ? td_err_memory(e) : rc;
}

static int index_file(const struct tundish_survey *s, const char *path, struct tundish_error *e)
{
	const struct tundish_inspect_options *o = &s->options;
	struct tundish_reader_options ro = td_survey_reader(o);
	struct tundish_reader *reader;
	struct entries all = { 0 };
	struct tundish_error why = { 0 };
	ro.on_error = TUNDISH_FAIL;
	int rc = tundish_reader_open(&reader, path, &ro, &why);
	if (rc == 0) {
		bool seekable = td_reader_seekable(reader);
		rc = seekable ? list_frames(reader, &all, &why) :
		    td_err(&why, TUNDISH_E_UNSUPPORTED, "%s: only uncompressed files can be indexed",
			TD_ESC(path));
		tundish_reader_close(reader);
	}
	if (rc == TUNDISH_E_CORRUPT || rc == TUNDISH_E_TRUNCATED || rc == TUNDISH_E_UNSUPPORTED) {
		td_notice(&o->listener, "no index: %s", why.text);
		rc = 0;
	} else if (rc == 0) {
		rc = write_index(path, &all, e);
	} else if (e) {
		*e = why;
	}
	free(all.list);
	return rc;
}

int td_reindex(const struct tundish_survey *s, struct tundish_error *e)
{
	int rc = 0;
	for (size_t i = 0; i < s->paths.n && rc == 0; i++)
		rc = index_file(s, s->paths.paths[i], e);
	return rc;
}
