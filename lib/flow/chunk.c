/* SPDX-License-Identifier: BSD-2-Clause
 * Records on their way from the files to the work, a few at a time. */
#include "chunk.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "record/frame.h"

struct td_note *td_note_new(int code, struct td_place at, bool fatal, const char *reason)
{
	size_t n = strlen(reason) + 1;
	struct td_note *note = malloc(sizeof *note + n);
	if (!note)
		return NULL;
	*note = (struct td_note){ .code = code, .at = at, .fatal = fatal };
	memcpy(note->reason, reason, n);
	return note;
}

struct td_place td_item_place(const struct td_records *set, const struct td_item *item)
{
	return (struct td_place){
		.path = set->files.paths[item->spot.file],
		.record = (int64_t)item->spot.number,
		.line = -1,
		.offset = (int64_t)item->spot.entry.offset,
	};
}

/* Reads `bytes` at `offset`; fewer arrive only at the end of the file. */
static int read_at(int fd, uint8_t *out, uint64_t bytes, uint64_t offset, uint64_t *ret_got,
    const char *path, struct tundish_error *e)
{
	uint64_t got = 0;
	while (got < bytes) {
		ssize_t n = pread(fd, out + got, (size_t)TD_MIN(bytes - got, (uint64_t)1 << 30),
		    (off_t)(offset + got));
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return td_err_errno(e, errno, "%s: reading at byte %llu", TD_ESC(path),
			    (unsigned long long)(offset + got));
		if (n == 0)
			break;
		got += (uint64_t)n;
	}
	*ret_got = got;
	return 0;
}

/* Is it the whole record that the index speaks of? Reason only. */
static int check_frame(const uint8_t *frame, uint64_t got, uint64_t bytes, struct tundish_error *e)
{
	if (got < bytes)
		return td_err(e, TUNDISH_E_TRUNCATED, "the file ends early (%llu of %llu bytes)",
		    (unsigned long long)got, (unsigned long long)bytes);
	if (!td_frame_length_ok(frame))
		return td_err(e, TUNDISH_E_CORRUPT, "length checksum mismatch");
	uint64_t length = td_le64(frame);
	if (bytes < TD_FRAME_EXTRA || length != bytes - TD_FRAME_EXTRA)
		return td_err(e, TUNDISH_E_CORRUPT, "the file has changed since it was listed");
	uint8_t footer[TD_FRAME_FOOTER];
	td_frame_footer(footer, frame + TD_FRAME_HEADER, length);
	if (memcmp(footer, frame + TD_FRAME_HEADER + length, sizeof footer) != 0)
		return td_err(e, TUNDISH_E_CORRUPT, "data checksum mismatch");
	return 0;
}

/* Items first .. first + n - 1 lie one behind the other: one read, then a look at each. */
static void read_run(struct td_chunk *chunk, unsigned first, unsigned n, uint8_t *out,
    const struct td_records *set, struct td_files *files)
{
	struct td_item *items = chunk->items + first;
	const struct td_spot *spot = &items[0].spot, *last = &items[n - 1].spot;
	uint64_t bytes = last->entry.offset + last->entry.bytes - spot->entry.offset, got = 0;
	struct tundish_error e = { 0 };
	int fd, rc = td_files_get(files, spot->file, &fd, &e);
	if (rc == 0) {
		rc = read_at(fd, out, bytes, spot->entry.offset, &got,
		    set->files.paths[spot->file], &e);
		td_files_put(files, spot->file);
	}
	for (unsigned i = 0; i < n; i++) {
		struct td_item *item = &items[i];
		uint64_t skipped = item->spot.entry.offset - spot->entry.offset;
		const uint8_t *frame = out + skipped;
		int one = rc;
		if (one == 0)
			one = check_frame(frame, got > skipped ? got - skipped : 0,
			    item->spot.entry.bytes, &e);
		if (one < 0) {
			/* what the system refuses is no fault of the record */
			struct td_place at = rc < 0 ? (struct td_place){ NULL, -1, -1, -1 } :
						      td_item_place(set, item);
			item->note = td_note_new(one, at, rc < 0, e.text);
			item->lost = !item->note;
			item->data = NULL;
			continue;
		}
		item->data = frame + TD_FRAME_HEADER;
		item->bytes = item->spot.entry.bytes - TD_FRAME_EXTRA;
	}
}

static bool behind(const struct td_spot *a, const struct td_spot *b)
{
	return a->file == b->file && a->entry.offset + a->entry.bytes == b->entry.offset;
}

int td_chunk_read(struct td_chunk *chunk, const struct td_records *set, struct td_files *files,
    struct tundish_error *e)
{
	uint64_t bytes = 0;
	for (unsigned i = 0; i < chunk->n; i++)
		bytes += chunk->items[i].kept ? 0 : chunk->items[i].spot.entry.bytes;
	if (!td_buf_fit(&chunk->buf, bytes))
		return td_err_memory(e);
	uint8_t *out = chunk->buf.data;
	for (unsigned i = 0, n; i < chunk->n; i += n) {
		uint64_t run = chunk->items[i].spot.entry.bytes;
		n = 1;
		if (chunk->items[i].kept)
			continue;
		for (; i + n < chunk->n && !chunk->items[i + n].kept &&
		     behind(&chunk->items[i + n - 1].spot, &chunk->items[i + n].spot);
		     n++)
			run += chunk->items[i + n].spot.entry.bytes;
		read_run(chunk, i, n, out, set, files);
		out += run;
	}
	return 0;
}

int td_record_read(struct td_buf *buf, const struct td_records *set, struct td_files *files,
    const struct td_spot *spot, const uint8_t **ret_data, uint64_t *ret_bytes,
    struct tundish_error *e)
{
	int fd, rc = td_buf_fit(buf, spot->entry.bytes) ? 0 : td_err_memory(e);
	uint64_t got = 0;
	if (rc == 0)
		rc = td_files_get(files, spot->file, &fd, e);
	if (rc < 0)
		return rc;
	rc = read_at(fd, buf->data, spot->entry.bytes, spot->entry.offset, &got,
	    set->files.paths[spot->file], e);
	td_files_put(files, spot->file);
	if (rc == 0)
		rc = check_frame(buf->data, got, spot->entry.bytes, e);
	if (rc == 0) {
		*ret_data = buf->data + TD_FRAME_HEADER;
		*ret_bytes = spot->entry.bytes - TD_FRAME_EXTRA;
	}
	return rc;
}
