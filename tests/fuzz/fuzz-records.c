/* SPDX-License-Identifier: BSD-2-Clause
 * Record files with any damage: as a file and as a stream, going on or stopping. */
#include "fuzz.h"

#include "base/bits.h"
#include "base/crc32c.h"
#include "record/reader.h"

#define MOST (1u << 24)

struct tally {
	uint64_t records, faults, bytes;
	uint32_t crc, told; /* of payloads and of what was said */
};

static void fault(void *ctx, const struct tundish_fault *f)
{
	struct tally *t = ctx;
	MUST(f->code < 0 && f->reason && f->reason[0] && f->text && f->text[0]);
	MUST(!strchr(f->text, '\n'));
	t->faults++;
	t->told = td_crc32c(t->told, f->text, strlen(f->text));
}

static int open_all(struct tundish_reader **ret_reader, struct tally *t, const uint8_t *data, size_t len, int stream,
    int on_error, int crc, struct tundish_error *e)
{
	struct tundish_reader_options o;
	tundish_reader_options_init(&o);
	o.on_error = on_error;
	o.crc = crc;
	o.max_record_bytes = MOST;
	o.listener = (struct tundish_listener){ .data = t, .fault = fault };
	*t = (struct tally){ 0 };
	int ret = td_reader_open_memory(ret_reader, data, len, stream, &o, e);
	if (ret)
		must_be_told(ret, e);
	return ret;
}

/* Reads all; 0 or the error that ended it. */
static int read_all(struct tally *t, const uint8_t *data, size_t len, int stream, int on_error, int crc)
{
	struct tundish_reader *r;
	struct tundish_record record;
	struct tundish_error e = { 0 };
	int ret = open_all(&r, t, data, len, stream, on_error, crc, &e);
	if (ret)
		return ret;
	uint64_t behind = 0;
	while ((ret = tundish_reader_next(r, &record, &e)) == 1) {
		MUST(record.bytes <= MOST);
		MUST(record.offset >= behind);
		behind = record.offset + record.bytes + 16;
		if (tundish_reader_compression(r) == TUNDISH_NONE) {
			MUST(behind <= len);
			MUST(td_le64(data + record.offset) == record.bytes);
			MUST(!memcmp(data + record.offset + 12, record.data, record.bytes));
		}
		if (crc == TUNDISH_CRC_FULL && tundish_reader_compression(r) == TUNDISH_NONE)
			MUST(td_le32(data + behind - 4) == td_crc_mask(td_crc32c(0, record.data, record.bytes)));
		t->records++;
		t->bytes += record.bytes;
		t->crc = td_crc32c(t->crc, record.data, record.bytes);
	}
	if (ret)
		must_be_told(ret, &e);
	MUST(on_error == TUNDISH_FAIL || ret == 0);
	tundish_reader_close(r);
	return ret;
}

/* The same, many records at a time. */
static int pass_all(struct tally *t, const uint8_t *data, size_t len, int stream, int on_error, int crc)
{
	struct tundish_reader *r;
	struct tundish_error e = { 0 };
	int ret = open_all(&r, t, data, len, stream, on_error, crc, &e);
	if (ret)
		return ret;
	int64_t n;
	uint64_t bytes;
	while ((n = td_reader_pass(r, UINT64_MAX, &bytes, &e)) > 0) {
		t->records += (uint64_t)n;
		t->bytes += bytes - (uint64_t)n * 16;
	}
	if (n)
		must_be_told((int)n, &e);
	tundish_reader_close(r);
	return (int)n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct tally file, stream, first, passed;
	for (int crc = TUNDISH_CRC_FULL; crc <= TUNDISH_CRC_OFF; crc++) {
		int r = read_all(&file, data, len, 0, TUNDISH_SKIP, crc);
		int s = read_all(&stream, data, len, 1, TUNDISH_SKIP, crc);
		MUST(r == s && file.records == stream.records && file.crc == stream.crc);
		MUST(file.faults == stream.faults);
		int p = pass_all(&passed, data, len, 0, TUNDISH_SKIP, crc);
		MUST(p == r && passed.records == file.records && passed.bytes == file.bytes);
		MUST(passed.faults == file.faults && passed.told == file.told);
		r = read_all(&first, data, len, 0, TUNDISH_FAIL, crc);
		MUST(first.records <= file.records && first.bytes <= file.bytes);
		MUST((r == 0) == (file.faults == 0));
	}
	return 0;
}
