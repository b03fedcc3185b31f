/* SPDX-License-Identifier: BSD-2-Clause
 * Records that are frames: those of one group in a row are one item of the order. */
#include "groups.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/infile.h"
#include "base/talk.h"
#include "record/frame.h"

#define LOOKS 16
#define WINDOW 4096

static const char group_key[] = "group";

/* The text of a group in an Example that is all there. */
static bool find_group(const void *record, size_t bytes, const uint8_t **ret, size_t *ret_len)
{
	struct tundish_feature f;
	return tundish_example_find(record, bytes, group_key, strlen(group_key), &f) == 1 &&
	    f.kind == TUNDISH_BYTES && tundish_feature_bytes(&f, 0, ret, ret_len) == 1;
}

/* One record on disk, of which only the heads of its features are read. */
struct peeping {
	int fd;
	uint64_t end;
	uint8_t window[WINDOW];
};

/* What there is at an offset. */
static struct td_span look(struct peeping *p, uint64_t offset)
{
	uint64_t n = offset < p->end ? TD_MIN(p->end - offset, (uint64_t)WINDOW) : 0;
	int64_t got = n ? td_read_at(p->fd, p->window, n, offset, NULL) : 0;
	return td_span(p->window, got > 0 ? (size_t)got : 0);
}

/* The next entry of the map at *offset, which moves behind it. False where the bytes are
 * not laid out in the usual way, or there is no more. */
static bool next_entry(struct peeping *p, uint64_t *offset, struct td_span *ret_seen, uint64_t *ret_bytes)
{
	struct td_span s = look(p, *offset);
	uint64_t tag, bytes;
	if (!td_varint(&s, &tag) || tag != 0x0a || !td_varint(&s, &bytes) || bytes > p->end - *offset)
		return false;
	*offset += (uint64_t)(s.p - p->window) + bytes;
	*ret_seen = (struct td_span){ s.p, s.p + TD_MIN(bytes, td_span_bytes(s)) };
	*ret_bytes = bytes;
	return true;
}

static bool is_group(struct td_span entry)
{
	uint64_t tag, bytes;
	return td_varint(&entry, &tag) && tag == 0x0a && td_varint(&entry, &bytes) && bytes == strlen(group_key) &&
	    td_span_bytes(entry) >= bytes && memcmp(entry.p, group_key, bytes) == 0;
}

/* Without reading all of the record: true, and the text; where there is none, or it must be
 * read in full, false. */
static bool peep_group(struct peeping *p, uint64_t payload, const uint8_t **ret, size_t *ret_len)
{
	struct td_span entry;
	uint64_t bytes, offset = payload;
	struct tundish_feature f = { .key = group_key, .key_bytes = strlen(group_key) };
	/* the entries follow the head of the one field `features` */
	if (!next_entry(p, &offset, &entry, &bytes) || offset != p->end)
		return false;
	offset -= bytes;
	while (next_entry(p, &offset, &entry, &bytes)) {
		if (!is_group(entry))
			continue;
		return td_span_bytes(entry) == bytes && td_feature_of(&f, entry) == 0 && f.kind == TUNDISH_BYTES &&
		    tundish_feature_bytes(&f, 0, ret, ret_len) == 1;
	}
	return false;
}

/* The group of a record, "" when it has none or is damaged. */
static int read_group(struct tundish_flow *f, const struct td_spot *spot, int fd, struct td_buf *whole,
    const uint8_t **ret, size_t *ret_len, struct peeping *p, struct tundish_error *e)
{
	const uint8_t *data;
	uint64_t bytes;
	*ret_len = 0;
	if (spot->entry.bytes < TD_FRAME_EXTRA)
		return 0;
	p->fd = fd;
	p->end = spot->entry.offset + spot->entry.bytes - TD_FRAME_FOOTER;
	if (!td_packed_has(f->set.packed, spot->file) && peep_group(p, spot->entry.offset + TD_FRAME_HEADER, ret, ret_len))
		return 0;
	int rc = td_record_read(whole, &f->set, f->files, NULL, spot, &data, &bytes, e);
	if (rc == 0 && !find_group(data, bytes, ret, ret_len))
		*ret_len = 0;
	return rc == TUNDISH_E_IO || rc == TUNDISH_E_MEMORY ? rc : 0;
}

/* Where groups begin in a file: n + 1 numbers of records. */
static int find_runs(struct tundish_flow *f, size_t file, struct td_group_runs *runs, struct tundish_error *e)
{
	struct td_index *index = &f->set.indexes[file];
	struct td_buf whole = { 0 }, last = { 0 };
	struct peeping peeping;
	int fd = -1, rc = 0;
	runs->first = calloc(index->n + 1, sizeof *runs->first);
	if (!runs->first)
		return td_err_memory(e);
	if (index->n)
		rc = td_files_get(f->files, file, &fd, e);
	for (size_t i = 0; i < index->n && rc == 0; i++) {
		const struct td_spot spot = { .file = file, .number = i, .entry = index->entries[i] };
		const uint8_t *text;
		size_t len;
		rc = read_group(f, &spot, fd, &whole, &text, &len, &peeping, e);
		bool same = i > 0 && len > 0 && len == last.len && memcmp(text, last.data, len) == 0;
		if (rc == 0 && !same)
			runs->first[runs->n++] = i;
		last.len = 0;
		if (rc == 0 && !td_buf_add(&last, text, len))
			rc = td_err_memory(e);
	}
	if (fd >= 0)
		td_files_put(f->files, file);
	runs->first[runs->n] = index->n;
	td_buf_free(&whole);
	td_buf_free(&last);
	return rc;
}

/* The index of a file then has the groups' first records alone. */
static int fold_file(struct tundish_flow *f, size_t file, struct tundish_error *e)
{
	struct td_records *set = &f->set;
	struct td_group_runs *runs = &set->groups[file];
	int rc = find_runs(f, file, runs, e);
	if (rc == 0 && runs->n) {
		runs->entries = set->indexes[file].entries;
		set->indexes[file].entries = malloc(runs->n * sizeof *runs->entries);
		if (!set->indexes[file].entries)
			return td_err_memory(e);
		for (size_t g = 0; g < runs->n; g++)
			set->indexes[file].entries[g] = runs->entries[runs->first[g]];
		set->indexes[file].n = runs->n;
	}
	return rc;
}

/* Of raw data a group may go on in the next files. */
static int fold_items(struct td_records *set, const struct td_part *part, size_t file, struct tundish_error *e)
{
	struct td_group_runs *runs = &set->groups[file];
	size_t first = set->items[file] - set->items[part->file], n = set->items[file + 1] - set->items[file];
	size_t i = first, all = td_items_n(part->items);
	runs->first = calloc(n + 1, sizeof *runs->first);
	if (!runs->first)
		return td_err_memory(e);
	for (; i < first + n; i++) {
		if (!td_items_same_group(part->items, i))
			runs->first[runs->n++] = i - first;
	}
	while (runs->n > 0 && i < all && td_items_same_group(part->items, i))
		i++;
	runs->first[runs->n] = i - first;
	return 0;
}

static int fold_source(struct tundish_flow *f, size_t file, size_t end, struct tundish_error *e)
{
	struct td_records *set = &f->set;
	const struct td_part *part = td_records_part(set, file);
	size_t bytes = (set->files.n + 1) * sizeof *set->first;
	if (!set->groups) {
		set->groups = calloc(set->files.n, sizeof *set->groups);
		set->items = malloc(bytes);
		if (!set->groups || !set->items)
			return td_err_memory(e);
		memcpy(set->items, set->first, bytes);
	}
	for (int rc; file < end; file++) {
		rc = part ? fold_items(set, part, file, e) : fold_file(f, file, e);
		if (rc < 0)
			return rc;
	}
	return 0;
}

/* Records are then groups, where they belong to some. */
static int count_again(struct td_records *set, struct tundish_error *e)
{
	for (size_t i = 0; i < set->files.n; i++)
		set->first[i + 1] = set->first[i] +
		    (set->groups[i].first ? set->groups[i].n : set->items[i + 1] - set->items[i]);
	return td_records_count(set, e);
}

bool td_groups_frame_of(const void *record, size_t bytes, const struct td_keys *asked)
{
	struct td_sample s;
	const uint8_t *text;
	size_t len;
	return find_group(record, bytes, &text, &len) && td_sample_find(&s, asked, record, bytes) == 0 && s.image &&
	    s.image->count == 1;
}

/* Whether the first records of a source have a group. */
static int look_for_groups(struct tundish_flow *f, size_t file, size_t end, const struct td_keys *asked,
    bool *ret, struct tundish_error *e)
{
	uint64_t first = f->set.first[file], n = f->set.first[end] - first;
	struct td_buf whole = { 0 };
	int rc = 0;
	for (uint64_t i = 0; i < n && i < LOOKS && rc == 0 && !*ret; i++) {
		struct td_spot at = { .file = td_records_file(&f->set, f->set.first, first + i) };
		const uint8_t *data;
		uint64_t bytes;
		at.number = first + i - f->set.first[at.file];
		at.entry = f->set.indexes[at.file].entries[at.number];
		rc = td_record_read(&whole, &f->set, f->files, NULL, &at, &data, &bytes, e);
		*ret = rc == 0 && td_groups_frame_of(data, bytes, asked);
		if (rc == 0)
			break;
		rc = rc == TUNDISH_E_IO || rc == TUNDISH_E_MEMORY ? rc : 0;
	}
	td_buf_free(&whole);
	return rc;
}

/* The files of a source, or all. */
static int open_source(struct tundish_flow *f, size_t file, size_t end, const struct td_keys *asked,
    struct tundish_error *e)
{
	const struct td_part *part = td_records_part(&f->set, file);
	bool grouped = part && td_items_grouped(part->items);
	if (part && !grouped)
		return td_err(e, TUNDISH_E_USAGE, "%s: clips need frames that belong together: of one file, pictures "
		    "named as the frames of a video, or a table with a column for --group-by",
		    TD_ESC(f->set.files.paths[file]));
	int rc = part ? 0 : look_for_groups(f, file, end, asked, &grouped, e);
	return rc == 0 && grouped ? fold_source(f, file, end, e) : rc;
}

int td_groups_open(struct tundish_flow *f, const struct td_keys *asked, struct tundish_error *e)
{
	struct td_records *set = &f->set;
	int rc = 0;
	if (!set->n_sources)
		rc = open_source(f, 0, set->files.n, asked, e);
	for (unsigned i = 0; i < set->n_sources && rc == 0; i++)
		rc = open_source(f, set->sources[i], set->sources[i + 1], asked, e);
	return rc == 0 && set->groups ? count_again(set, e) : rc;
}

void td_groups_start(const struct tundish_flow *f, struct td_spot *spot, uint64_t epoch, uint64_t position)
{
	struct td_rng rng;
	uint64_t first;
	td_rng_at(&rng, f->recipe.seed, (uint32_t)epoch, position, TD_RNG_CLIP);
	if (spot->frames && td_clip_start(&f->recipe.chain.clip, spot->frames, &rng, &first, NULL) == 0)
		*spot = td_groups_frame(f, spot, first);
}

struct td_spot td_groups_frame(const struct tundish_flow *f, const struct td_spot *spot, uint64_t steps)
{
	const struct td_records *set = &f->set;
	const struct td_group_runs *runs = &set->groups[spot->file];
	struct td_spot frame = *spot;
	frame.number += steps;
	frame.frames -= steps;
	if (runs->entries) {
		frame.entry = runs->entries[frame.number];
		return frame;
	}
	uint64_t item = set->items[spot->file] + frame.number;
	const struct td_part *part = td_records_part(set, spot->file);
	frame.file = td_records_file(set, set->items, item);
	frame.number = item - set->items[frame.file];
	frame.entry.bytes = td_items_bytes(part->items, item - set->items[part->file]);
	return frame;
}
