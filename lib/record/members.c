/* SPDX-License-Identifier: BSD-2-Clause
 * Where the gzip members of a shard start, as the tundish.json beside it says. */
#include "members.h"

#include <stdbool.h>
#include <stdlib.h>

#include "base/err.h"
#include "base/rng.h"
#include "base/talk.h"
#include "metadata.h"
#include "unpack.h"

#define DRAWS 8

/* [MEMBER'S OFFSET, RECORD, OFFSET OF ITS FRAME], each behind the one before; all begin at 0. */
static bool parse_mark(const json_t *triple, const struct td_mark *before, uint64_t size,
    struct td_mark *ret)
{
	uint64_t v[3];
	for (size_t i = 0; i < 3; i++) {
		const json_t *value = json_array_get(triple, i);
		if (!json_is_integer(value) || json_integer_value(value) < 0)
			return false;
		v[i] = (uint64_t)json_integer_value(value);
	}
	*ret = (struct td_mark){ .raw = v[0], .number = v[1], .offset = v[2] };
	if (!before)
		return v[0] == 0 && v[1] == 0 && v[2] == 0;
	return ret->raw < size && ret->raw > before->raw && ret->number > before->number &&
	       ret->offset > before->offset;
}

static bool starts_member(struct td_input *in, const struct td_mark *mark)
{
	uint8_t start[4];
	return td_input_read(in, mark->raw, start, sizeof start, NULL) == sizeof start &&
	       td_gzip_header(start);
}

static bool marks_fit(struct td_input *in, const struct td_mark *marks, size_t n)
{
	struct td_rng rng;
	td_rng_at(&rng, 0, 0, n, TD_RNG_SAMPLE);
	bool fit = starts_member(in, marks) && starts_member(in, marks + n - 1);
	for (int i = 0; fit && i < DRAWS; i++)
		fit = starts_member(in, marks + td_rng_below(&rng, n));
	return fit;
}

static int read_marks(struct td_mark **ret, size_t *ret_n, const json_t *list, struct td_input *in,
    struct tundish_error *e)
{
	size_t n = json_array_size(list);
	struct td_mark *marks = calloc(n, sizeof *marks);
	if (!marks)
		return td_err_memory(e);
	bool fit = true;
	for (size_t i = 0; fit && i < n; i++)
		fit = parse_mark(json_array_get(list, i), i ? marks + i - 1 : NULL, in->size, marks + i);
	if (!fit || !marks_fit(in, marks, n)) {
		free(marks);
		return 0;
	}
	*ret = marks;
	*ret_n = n;
	return 1;
}

int td_members_sidecar(struct td_mark **ret, size_t *ret_n, const char *path, struct td_input *in,
    struct td_metadata *m, const struct tundish_listener *l, struct tundish_error *e)
{
	const json_t *shard = NULL;
	int rc = td_metadata_shard(m, &shard, path, e);
	const json_t *list = json_object_get(shard, "members"), *bytes = json_object_get(shard, "bytes");
	const json_t *records = json_object_get(shard, "records");
	bool empty = json_is_integer(records) && json_integer_value(records) == 0;
	if (rc < 0 || (json_array_size(list) == 0 && !empty))
		return rc;
	bool sized = json_is_integer(bytes) && (uint64_t)json_integer_value(bytes) == in->size;
	if (sized && empty) {
		*ret = NULL;
		*ret_n = 0;
		return 1;
	}
	if (sized)
		rc = read_marks(ret, ret_n, list, in, e);
	if (rc == 0)
		td_notice(l, "the members in tundish.json do not fit %s; they are ignored", TD_ESC(path));
	return rc;
}

struct td_mark td_mark_before(const struct td_mark *marks, size_t n, uint64_t number)
{
	size_t low = 0, high = n;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (marks[middle].number <= number)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? marks[low - 1] : (struct td_mark){ 0 };
}
