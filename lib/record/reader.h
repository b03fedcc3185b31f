/* SPDX-License-Identifier: BSD-2-Clause
 * What the other rooms may do with a tundish_reader beyond tundish.h. */
#pragma once
#include "index.h"
#include "tundish.h"

/* Like tundish_reader_next(), but only says where the record is: of a regular
 * uncompressed file nothing but headers is read, whatever `crc` is but OFF; from
 * others records are read through. Faults are those of TUNDISH_CRC_LENGTH. A reader
 * is either walked or read. */
int td_reader_walk(struct tundish_reader *r, struct td_index_entry *ret, uint64_t *ret_number,
    struct tundish_error *e);

/* From here on places are noted where reading can begin, records at the start of gzip members
 * among them (of those that follow each other closely one only), for as long as there is memory. */
void td_reader_note(struct tundish_reader *r);
const struct td_mark *td_reader_marks(const struct tundish_reader *r, size_t *ret_n);

/* What tundish.json says of it is taken from there, which must outlive it. */
struct td_metadata;
void td_reader_metadata(struct tundish_reader *r, struct td_metadata *m);

/* Like tundish_reader_next() for as many good records as lie in memory by now, but only says
 * how many they are: 1 or more; 0 at the end. With their frames' bytes. Those that start at
 * or behind `to` are left. */
int64_t td_reader_pass(struct tundish_reader *r, uint64_t to, uint64_t *ret_bytes,
    struct tundish_error *e);

/* Faults met so far, reported or (with TUNDISH_FAIL) returned. */
uint64_t td_reader_faults(const struct tundish_reader *r);

/* The size of the file; of a stream what was taken of it so far. */
uint64_t td_reader_bytes(const struct tundish_reader *r);

/* What its buffers take by now, without members that are inflated ahead. */
uint64_t td_reader_memory(const struct tundish_reader *r);

/* The number that the next record will have; behind the last one, how many there are. */
uint64_t td_reader_number(const struct tundish_reader *r);

/* A regular file. */
int td_reader_regular(const struct tundish_reader *r);

/* An uncompressed regular file. */
int td_reader_seekable(const struct tundish_reader *r);

/* Goes on at `offset` of an uncompressed regular file, where record `number` starts. */
int td_reader_seek(struct tundish_reader *r, uint64_t offset, uint64_t number,
    struct tundish_error *e);

/* The same, and the file ends for this reader at `to`, where a record starts or the file
 * ends; UINT64_MAX: where it ends. */
int td_reader_part(struct tundish_reader *r, uint64_t from, uint64_t number, uint64_t to,
    struct tundish_error *e);

/* How far a reader came: all that what it does next depends on. */
struct td_reached {
	uint64_t offset, number;
	uint64_t vain; /* payload bytes that were checked in vain */
	uint64_t room; /* with so much more of them from the start nothing would be different */
};

void td_reader_reached(const struct tundish_reader *r, struct td_reached *ret);

/* Goes on, in an uncompressed regular file, as a reader that came there, with another
 * listener and faults counted anew. What starts at `to` or behind it will not be wanted,
 * but the file does not end there. */
int td_reader_resume(struct tundish_reader *r, const struct td_reached *from, uint64_t to,
    const struct tundish_listener *l, struct tundish_error *e);

/* Where, from `from` on, the first good record starts that ends within `most` bytes: 1; 0:
 * nowhere. One may be found that lies inside another one. Leaves the reader at `from`, and an
 * error behind it that it met before. */
int td_reader_find(struct tundish_reader *r, uint64_t from, uint64_t most, uint64_t *ret_offset,
    struct tundish_error *e);

/* Reads from memory: as a file of that size, or as a stream. The bytes stay the caller's. */
int td_reader_open_memory(struct tundish_reader **ret, const void *data, size_t bytes, int stream,
    const struct tundish_reader_options *options, struct tundish_error *e);
