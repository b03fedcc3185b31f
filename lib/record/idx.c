/* SPDX-License-Identifier: BSD-2-Clause
 * The text of index side-cars, read and written. */
#include <string.h>

#include "base/err.h"
#include "frame.h"
#include "index.h"
#include "members.h"

/* The first word tells a file of gzip members, its number the version of the text. */
#define GZIP_WORD "gzip "
#define GZIP_HEAD GZIP_WORD "1\n"
#define MOST_FACTOR 1032 /* deflate makes no more of a byte */

/* What is left of a text, and what is read into. */
struct reading {
	const char *p, *end;
	struct td_index *index;
	size_t cap, marks_cap;
	uint64_t size; /* of the file */
	uint64_t at;   /* behind the entries so far */
};

static bool number(struct reading *r, uint64_t *ret)
{
	uint64_t v = 0;
	const char *start = r->p;
	for (; r->p < r->end && *r->p >= '0' && *r->p <= '9'; r->p++)
		if (td_mul_overflow(v, 10u, &v) || td_add_overflow(v, (uint64_t)(*r->p - '0'), &v))
			return false;
	*ret = v;
	return r->p > start;
}

/* A line may end with the text. */
static bool line_end(struct reading *r)
{
	if (r->p < r->end && *r->p == '\r')
		r->p++;
	return r->p == r->end || *r->p++ == '\n';
}

static bool two_numbers(struct reading *r, uint64_t *first, uint64_t *second)
{
	if (!number(r, first))
		return false;
	while (r->p < r->end && (*r->p == ' ' || *r->p == '\t'))
		r->p++;
	return number(r, second) && line_end(r);
}

static bool word(struct reading *r, const char *text)
{
	size_t n = strlen(text);
	if ((size_t)(r->end - r->p) < n || memcmp(r->p, text, n) != 0)
		return false;
	r->p += n;
	return true;
}

/* "OFFSET SIZE" */
static const char *read_entry(struct reading *r, uint64_t most)
{
	struct td_index_entry one;
	struct td_index *index = r->index;
	if (!two_numbers(r, &one.offset, &one.bytes))
		return "a line is not \"OFFSET SIZE\"";
	if (one.offset != r->at || one.bytes < TD_FRAME_EXTRA || one.bytes > most - r->at)
		return "its records do not follow each other in the file";
	if (!td_grow(&index->entries, &r->cap, index->n, sizeof *index->entries))
		return "out of memory";
	index->entries[index->n++] = one;
	r->at += one.bytes;
	return NULL;
}

/* ---- of gzip members ---- */

/* The last member ends at `raw` of the file, and at r->at of what it inflates to. */
static bool member_ends(const struct reading *r, uint64_t raw)
{
	const struct td_pack_map *map = &r->index->map;
	if (map->n == 0)
		return r->at == 0;
	const struct td_mark *last = &map->marks[map->n - 1];
	return raw > last->raw && last->number < r->index->n &&
	       (r->at - last->offset) / MOST_FACTOR <= raw - last->raw;
}

/* "@ PLACE IN THE FILE", of the member that the next record begins */
static const char *read_member(struct reading *r)
{
	struct td_pack_map *map = &r->index->map;
	uint64_t raw;
	if (!number(r, &raw) || !line_end(r))
		return "a line is not \"@ OFFSET\"";
	if (raw >= r->size || !member_ends(r, raw))
		return "its members do not follow each other in the file";
	if (!td_grow(&map->marks, &r->marks_cap, map->n, sizeof *map->marks))
		return "out of memory";
	map->marks[map->n++] = (struct td_mark){ .number = r->index->n, .offset = r->at, .raw = raw };
	return NULL;
}

static const char *read_gzip(struct reading *r)
{
	struct td_pack_map *map = &r->index->map;
	r->index->gzip = true;
	if (!word(r, GZIP_HEAD))
		return "it has a form that is not known";
	while (r->p < r->end && !word(r, "end ")) {
		bool member = word(r, "@ ");
		const char *why = !member && map->n == 0 ? "its first record has no member" :
		    member ? read_member(r) : read_entry(r, UINT64_MAX);
		if (why)
			return why;
	}
	if (!two_numbers(r, &map->raw, &map->bytes) || r->p < r->end)
		return "it is not whole";
	if (map->raw != r->size || map->bytes != r->at || !member_ends(r, map->raw))
		return "the file has another size";
	return NULL;
}

const char *td_index_parse(struct td_index *index, const char *text, size_t len, uint64_t size)
{
	struct reading r = { .p = text, .end = text + len, .index = index, .size = size };
	const char *why = NULL;
	if (len >= strlen(GZIP_WORD) && memcmp(text, GZIP_WORD, strlen(GZIP_WORD)) == 0)
		return read_gzip(&r);
	while (r.p < r.end && !why)
		why = read_entry(&r, size);
	return why || r.at == size ? why : "it ends before the file";
}

/* ---- writing ---- */

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

bool td_index_print_head(struct td_buf *out)
{
	return td_buf_add(out, GZIP_HEAD, strlen(GZIP_HEAD));
}

bool td_index_print_member(struct td_buf *out, uint64_t raw)
{
	return td_buf_printf(out, "@ %llu\n", (unsigned long long)raw);
}

bool td_index_print_end(struct td_buf *out, uint64_t raw, uint64_t bytes)
{
	return td_buf_printf(out, "end %llu %llu\n", (unsigned long long)raw, (unsigned long long)bytes);
}
