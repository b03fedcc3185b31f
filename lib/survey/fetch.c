/* SPDX-License-Identifier: BSD-2-Clause
 * Single records of a set that was read once already, by file and number. */
#include "fetch.h"

#include <inttypes.h>

#include "base/err.h"

static int move_to(struct td_fetch *f, size_t file, uint64_t record, uint64_t offset,
    struct tundish_error *e)
{
	if (f->reader && (f->file != file || record < f->next))
		td_fetch_end(f);
	if (!f->reader) {
		int rc = tundish_reader_open(&f->reader, f->paths->paths[file], &f->options, e);
		if (rc < 0)
			return rc;
		f->file = file;
	}
	return td_reader_seekable(f->reader) ? td_reader_seek(f->reader, offset, record, e) : 0;
}

int td_fetch(struct td_fetch *f, size_t file, uint64_t record, uint64_t offset,
    struct tundish_record *ret, struct tundish_error *e)
{
	struct tundish_record r;
	int rc = move_to(f, file, record, offset, e);
	if (rc < 0)
		return rc;
	while ((rc = tundish_reader_next(f->reader, &r, e)) > 0 && r.number < record)
		continue;
	if (rc < 0)
		return rc;
	if (rc == 0 || r.number != record)
		return td_err(e, TUNDISH_E_CORRUPT, "%s: record %" PRIu64 " is not there any more",
		    TD_ESC(f->paths->paths[file]), record);
	f->next = record + 1;
	*ret = r;
	return 0;
}

void td_fetch_end(struct td_fetch *f)
{
	tundish_reader_close(f->reader);
	f->reader = NULL;
	f->next = 0;
}
