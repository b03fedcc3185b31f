/* SPDX-License-Identifier: BSD-2-Clause
 * Records on their way from the files to the work, a few at a time. */
#include "chunk.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/infile.h"
#include "record/frame.h"
#include "shelf.h"

#define READING "%s: reading from byte %llu"

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
	if (td_records_part(set, item->spot.file))
		return TD_PLACE(set->files.paths[item->spot.file]);
	return (struct td_place){
		.path = set->files.paths[item->spot.file],
		.record = (int64_t)item->spot.number,
		.line = -1,
		.offset = (int64_t)item->spot.entry.offset,
	};
}

/* An entry stands aligned, and the record has room in its place where it is damaged. */
#define SHELF_ALIGN ((uint64_t)64)

uint64_t td_item_read_bytes(const struct td_records *set, const struct td_item *item)
{
	uint64_t bytes = item->spot.entry.bytes;
	if (item->kept)
		return 0;
	/* a record of this size is not read; of raw data it is an estimate */
	if (bytes > set->max_bytes && !td_records_part(set, item->spot.file))
		bytes = 0;
	return item->shelved ? TD_MAX(item->shelved, bytes) + SHELF_ALIGN : bytes;
}

static int check_size(const struct td_records *set, uint64_t bytes, struct tundish_error *e)
{
	if (bytes <= set->max_bytes)
		return 0;
	return td_err(e, TUNDISH_E_LIMIT, "%llu bytes are over the limit of %llu",
	    (unsigned long long)bytes, (unsigned long long)set->max_bytes);
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

/* Items that lie one behind the other in a file: one read. */
struct run {
	struct td_item *items;
	unsigned n;
};

/* A chunk's runs under way. */
struct runs {
	const struct td_records *set;
	struct td_files *files;
	struct run list[TD_CHUNK_ITEMS];
	struct td_read reads[TD_CHUNK_ITEMS];
	unsigned n;
};

/* What the system refuses is no fault of the record. */
static void note_failure(const struct td_records *set, struct td_item *item, int code, bool refused,
    const struct tundish_error *e)
{
	struct td_place at = refused ? (struct td_place){ NULL, -1, -1, -1 } : td_item_place(set, item);
	item->note = td_note_new(code, at, refused, e->text);
	item->lost = !item->note;
	item->data = NULL;
}

static void run_failed(const struct td_records *set, const struct run *run, int code,
    const struct tundish_error *e)
{
	for (unsigned i = 0; i < run->n; i++)
		note_failure(set, &run->items[i], code, true, e);
}

/* A look at each record of a run that was read. */
static void check_run(const struct td_records *set, const struct run *run, const uint8_t *data,
    uint64_t got)
{
	uint64_t start = run->items[0].spot.entry.offset;
	for (unsigned i = 0; i < run->n; i++) {
		struct td_item *item = &run->items[i];
		struct tundish_error e;
		uint64_t skipped = item->spot.entry.offset - start;
		const uint8_t *frame = data + skipped;
		int rc = check_frame(frame, got > skipped ? got - skipped : 0,
		    item->spot.entry.bytes, &e);
		if (rc < 0) {
			note_failure(set, item, rc, false, &e);
			continue;
		}
		item->data = frame + TD_FRAME_HEADER;
		item->bytes = item->spot.entry.bytes - TD_FRAME_EXTRA;
	}
}

/* Reads what was gathered and lets go of the files. */
static void finish_runs(struct runs *r)
{
	td_files_read(r->files, r->reads, r->n);
	for (unsigned i = 0; i < r->n; i++) {
		const struct run *run = &r->list[i];
		const struct td_spot *spot = &run->items[0].spot;
		const struct td_read *read = &r->reads[i];
		struct tundish_error e;
		td_files_put(r->files, spot->file);
		if (read->got >= 0)
			check_run(r->set, run, read->out, (uint64_t)read->got);
		else
			run_failed(r->set, run, td_err_errno(&e, (int)-read->got, READING,
			    TD_ESC(r->set->files.paths[spot->file]),
			    (unsigned long long)spot->entry.offset), &e);
	}
	r->n = 0;
}

/* From members that are inflated: each record by itself, so that what is wrong with one is
 * no other's. */
static void read_packed(const struct td_records *set, const struct run *run, int fd, uint8_t *out)
{
	uint64_t start = run->items[0].spot.entry.offset;
	for (unsigned i = 0; i < run->n; i++) {
		struct td_item *item = &run->items[i];
		const struct td_index_entry *entry = &item->spot.entry;
		struct tundish_error e;
		uint8_t *frame = out + (entry->offset - start);
		int rc = td_packed_read(set->packed, item->spot.file, fd, entry->offset, entry->bytes, frame, &e);
		if (rc == 0)
			check_run(set, &(struct run){ item, 1 }, frame, entry->bytes);
		else
			note_failure(set, item, rc, rc != TUNDISH_E_CORRUPT, &e);
	}
}

static void add_run(struct runs *r, struct run run, uint8_t *out)
{
	const struct td_spot *spot = &run.items[0].spot, *last = &run.items[run.n - 1].spot;
	struct tundish_error e = { 0 };
	int fd, rc = td_files_try(r->files, spot->file, &fd, &e);
	if (rc > 0) {
		/* whoever waits for a file to be free holds none */
		finish_runs(r);
		rc = td_files_get(r->files, spot->file, &fd, &e);
	}
	if (rc < 0) {
		run_failed(r->set, &run, rc, &e);
		return;
	}
	if (td_packed_has(r->set->packed, spot->file)) {
		read_packed(r->set, &run, fd, out);
		td_files_put(r->files, spot->file);
		return;
	}
	r->list[r->n] = run;
	r->reads[r->n++] = (struct td_read){ .fd = fd, .out = out, .offset = spot->entry.offset,
		.bytes = last->entry.offset + last->entry.bytes - spot->entry.offset };
}

static bool behind(const struct td_spot *a, const struct td_spot *b)
{
	return a->file == b->file && a->entry.offset + a->entry.bytes == b->entry.offset;
}

/* From the shelf, behind `out` where it stands aligned; NULL: that entry is damaged. */
static const struct td_cached *read_shelved(const struct td_item *item, uint8_t *out, const struct td_cache *cache)
{
	uint8_t *aligned = (uint8_t *)(((uintptr_t)out + SHELF_ALIGN - 1) / SHELF_ALIGN * SHELF_ALIGN);
	return td_shelf_read(cache->shelf, item->record, cache->kind >= TD_CACHE_DECODED, aligned);
}

/* How many items from there on lie one behind the other in a file. */
static unsigned run_of(const struct td_chunk *chunk, unsigned i, const struct td_records *set)
{
	unsigned n = 1;
	for (; i + n < chunk->n; n++) {
		const struct td_item *item = &chunk->items[i + n];
		if (item->shelved || td_item_read_bytes(set, item) == 0 ||
		    !behind(&chunk->items[i + n - 1].spot, &item->spot))
			break;
	}
	return n;
}

/* Where the chunk's buffer, which moves as it grows, holds an item. */
struct lies {
	bool shelved;
	size_t offset, bytes;
};

/* Raw data: one after the other, each made into a record. What an item has on the shelf
 * stands aligned among them. */
static int make_item(struct td_chunk *chunk, struct td_item *item, const struct td_records *set,
    struct td_items_desk *desk, const struct td_cache *cache, struct lies *ret)
{
	const struct td_part *part = td_records_part(set, item->spot.file);
	struct td_buf *b = &chunk->buf;
	struct tundish_error e = { 0 };
	if (item->shelved) {
		if (!td_buf_reserve(b, SHELF_ALIGN + item->shelved))
			return TUNDISH_E_MEMORY;
		const struct td_cached *kept = read_shelved(item, b->data + b->len, cache);
		if (kept) {
			*ret = (struct lies){ true, (size_t)((const uint8_t *)kept - b->data), item->shelved };
			b->len += SHELF_ALIGN + item->shelved;
			return 0;
		}
	}
	size_t start = b->len;
	int rc = td_items_read(part->items, desk, td_records_item(set, part, &item->spot), b, &e);
	*ret = (struct lies){ false, start, b->len - start };
	if (rc == TUNDISH_E_MEMORY)
		return rc;
	if (rc < 0) {
		b->len = start;
		item->note = td_note_new(rc, td_item_place(set, item), false, e.text);
		item->lost = !item->note;
	}
	return 0;
}

/* Behind the records that were read into the chunk before. */
static int make_items(struct td_chunk *chunk, const struct td_records *set, struct td_items_desk *desk,
    const struct td_cache *cache, struct tundish_error *e)
{
	struct lies lies[TD_CHUNK_ITEMS];
	struct td_buf *b = &chunk->buf;
	for (unsigned i = 0; i < chunk->n; i++) {
		struct td_item *item = &chunk->items[i];
		bool shelved = item->shelved && item->kept;
		const uint8_t *at = shelved ? (const void *)item->kept : item->data;
		if (at)
			lies[i] = (struct lies){ shelved, (size_t)(at - b->data), item->bytes };
	}
	for (unsigned i = 0; i < chunk->n; i++) {
		struct td_item *item = &chunk->items[i];
		if (!item->kept && td_records_part(set, item->spot.file) &&
		    make_item(chunk, item, set, desk, cache, &lies[i]) < 0)
			return td_err_memory(e);
	}
	for (unsigned i = 0; i < chunk->n; i++) {
		struct td_item *item = &chunk->items[i];
		if ((item->kept && !item->shelved) || item->note || item->lost)
			continue;
		const uint8_t *at = b->data + lies[i].offset;
		if (lies[i].shelved) {
			item->kept = (const void *)at;
		} else {
			item->data = at;
			item->bytes = lies[i].bytes;
		}
	}
	return 0;
}

/* Those that are records. False without memory. */
static bool read_records(struct td_chunk *chunk, const struct td_records *set, struct td_files *files,
    const struct td_cache *cache)
{
	uint64_t bytes = 0;
	for (unsigned i = 0; i < chunk->n; i++) {
		if (!td_records_part(set, chunk->items[i].spot.file))
			bytes += td_item_read_bytes(set, &chunk->items[i]);
	}
	chunk->buf.len = 0;
	if (!td_buf_fit(&chunk->buf, bytes))
		return false;
	chunk->buf.len = bytes;
	uint8_t *out = chunk->buf.data;
	struct runs runs = { .set = set, .files = files, .n = 0 };
	for (unsigned i = 0, n; i < chunk->n; i += n) {
		struct td_item *item = &chunk->items[i];
		struct tundish_error size;
		n = 1;
		if (item->kept || td_records_part(set, item->spot.file))
			continue;
		int rc = check_size(set, item->spot.entry.bytes, &size);
		if (rc < 0) {
			item->note = td_note_new(rc, td_item_place(set, item), false, size.text);
			item->lost = !item->note;
			continue;
		}
		uint64_t room = td_item_read_bytes(set, item);
		if (!item->shelved)
			n = run_of(chunk, i, set);
		for (unsigned k = i + 1; k < i + n; k++)
			room += td_item_read_bytes(set, &chunk->items[k]);
		item->kept = item->shelved ? read_shelved(item, out, cache) : NULL;
		if (!item->kept)
			add_run(&runs, (struct run){ item, n }, out);
		out += room;
	}
	finish_runs(&runs);
	return true;
}

int td_chunk_read(struct td_chunk *chunk, const struct td_records *set, struct td_files *files,
    struct td_items_desk *desk, const struct td_cache *cache, struct tundish_error *e)
{
	chunk->buf.len = 0;
	if (!td_records_all_raw(set) && !read_records(chunk, set, files, cache))
		return td_err_memory(e);
	return set->n_parts ? make_items(chunk, set, desk, cache, e) : 0;
}

static int make_record(struct td_buf *buf, const struct td_records *set, const struct td_part *part,
    struct td_items_desk *desk, const struct td_spot *spot, const uint8_t **ret_data, uint64_t *ret_bytes,
    struct tundish_error *e)
{
	buf->len = 0;
	int rc = td_items_read(part->items, desk, td_records_item(set, part, spot), buf, e);
	if (rc < 0)
		return rc;
	*ret_data = buf->data;
	*ret_bytes = buf->len;
	return 0;
}

int td_record_read(struct td_buf *buf, const struct td_records *set, struct td_files *files,
    struct td_items_desk *desk, const struct td_spot *spot, const uint8_t **ret_data, uint64_t *ret_bytes,
    struct tundish_error *e)
{
	const struct td_part *part = td_records_part(set, spot->file);
	if (part)
		return make_record(buf, set, part, desk, spot, ret_data, ret_bytes, e);
	int fd, rc = check_size(set, spot->entry.bytes, e);
	if (rc == 0 && !td_buf_fit(buf, spot->entry.bytes))
		rc = td_err_memory(e);
	uint64_t got = 0;
	if (rc == 0)
		rc = td_files_get(files, spot->file, &fd, e);
	if (rc < 0)
		return rc;
	if (td_packed_has(set->packed, spot->file)) {
		rc = td_packed_read(set->packed, spot->file, fd, spot->entry.offset, spot->entry.bytes, buf->data, e);
		got = spot->entry.bytes;
	} else {
		int64_t n = td_read_at(fd, buf->data, spot->entry.bytes, spot->entry.offset, e);
		if (n < 0)
			td_err_prefix(e, READING, TD_ESC(set->files.paths[spot->file]),
			    (unsigned long long)spot->entry.offset);
		rc = n < 0 ? (int)n : 0;
		got = n < 0 ? 0 : (uint64_t)n;
	}
	td_files_put(files, spot->file);
	if (rc == 0)
		rc = check_frame(buf->data, got, spot->entry.bytes, e);
	if (rc == 0) {
		*ret_data = buf->data + TD_FRAME_HEADER;
		*ret_bytes = spot->entry.bytes - TD_FRAME_EXTRA;
	}
	return rc;
}
