/* SPDX-License-Identifier: BSD-2-Clause
 * Small records read, checked and parsed to label and bytes by one thread, through the
 * public functions alone: parse make FILE COUNT BYTES, parse read FILE... */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/thread.h"
#include "record/example.h"
#include "tundish.h"

static int fail(const struct tundish_error *e)
{
	fprintf(stderr, "parse: %s\n", e->text);
	return 3;
}

/* Examples with `image` of so many bytes and `label`. */
static int make(const char *path, uint64_t count, size_t bytes)
{
	struct tundish_writer *w;
	struct tundish_error e = { 0 };
	struct td_buf record = { 0 };
	uint8_t *data = malloc(bytes + 256);
	if (!data || tundish_writer_open(&w, path, TUNDISH_NONE, 0, &e) < 0)
		return fail(&e);
	for (size_t i = 0; i < bytes + 256; i++)
		data[i] = (uint8_t)(i * 2654435761u >> 13);
	for (uint64_t i = 0; i < count; i++) {
		const struct td_bytes image = { data + i % 256, bytes };
		const int64_t label = (int64_t)(i % 1000);
		const struct td_field fields[] = {
			{ .key = "image", .kind = TUNDISH_BYTES, .n = 1, .bytes = &image },
			{ .key = "label", .kind = TUNDISH_INT64, .n = 1, .ints = &label },
		};
		record.len = 0;
		if (td_example_encode(&record, fields, TD_COUNT(fields), 1 << 30, &e) < 0 ||
		    tundish_writer_append(w, record.data, record.len, &e) < 0)
			return fail(&e);
	}
	td_buf_free(&record);
	free(data);
	return tundish_writer_close(w, &e) < 0 ? fail(&e) : 0;
}

static bool parse(const struct tundish_record *r, uint64_t *sum)
{
	struct tundish_feature image, label;
	const uint8_t *data;
	size_t bytes;
	int64_t value;
	if (tundish_example_find(r->data, r->bytes, "image", 5, &image) != 1 ||
	    tundish_example_find(r->data, r->bytes, "label", 5, &label) != 1 ||
	    tundish_feature_bytes(&image, 0, &data, &bytes) != 1 ||
	    tundish_feature_int64(&label, 0, &value) != 1 || bytes == 0)
		return false;
	*sum += data[0] + (uint64_t)value;
	return true;
}

static int read_file(const char *path, uint64_t *count, uint64_t *sum)
{
	struct tundish_reader *r;
	struct tundish_record record;
	struct tundish_error e = { 0 };
	int rc = tundish_reader_open(&r, path, NULL, &e);
	if (rc < 0)
		return fail(&e);
	while ((rc = tundish_reader_next(r, &record, &e)) == 1) {
		if (!parse(&record, sum)) {
			fprintf(stderr, "parse: %s: record %" PRIu64 " lacks image or label\n", path, record.number);
			return 1;
		}
		++*count;
	}
	tundish_reader_close(r);
	return rc < 0 ? fail(&e) : 0;
}

int main(int argc, char **argv)
{
	uint64_t count = 0, sum = 0, start = td_now_ns();
	if (argc == 5 && strcmp(argv[1], "make") == 0)
		return make(argv[2], strtoull(argv[3], NULL, 10), strtoull(argv[4], NULL, 10));
	if (argc < 3 || strcmp(argv[1], "read") != 0)
		return 2;
	for (int i = 2; i < argc; i++) {
		int rc = read_file(argv[i], &count, &sum);
		if (rc)
			return rc;
	}
	printf("%" PRIu64 " images %.6f s (sum %" PRIu64 ")\n", count, (double)(td_now_ns() - start) / 1e9, sum);
	return 0;
}
