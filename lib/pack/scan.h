/* SPDX-License-Identifier: BSD-2-Clause
 * The first of shard's two passes: where the good records are, and what class each has. */
#pragma once
#include "filter.h"
#include "record/paths.h"
#include "record/schema.h"
#include "source/bad.h"

/*
 * Every record is read and checked once, files in parallel, and only its place is kept.
 * Records of uncompressed files are fetched from there in the second pass; those of
 * compressed files and of streams, which cannot be read at any place, are kept in a
 * nameless temporary file meanwhile.
 */
struct td_scan_record {
	uint64_t offset; /* of the frame, in the file or in the spool */
	uint32_t bytes;	 /* of the frame */
	uint32_t file;
	uint32_t number; /* in the file */
	int32_t class;	 /* -1: none */
	int32_t group;	 /* by the value of group_key; -1: none */
};

struct td_scan_options {
	const struct td_paths *paths;
	const char *class_key; /* NULL: the label under its usual names */
	const char *group_key; /* NULL: there are no groups */
	const struct td_filter *filter;
	const char *spool_folder;
	const struct tundish_pack_options *pack;
};

struct td_scan {
	struct td_scan_record *records; /* in the order of the files */
	size_t n, cap;
	bool *spooled; /* of each file */
	int spool;
	struct td_classes classes; /* not settled */
	struct td_map groups;	   /* kind and value -> int32_t, its number + 1 */
	struct td_schema schema;
	uint64_t left_out;	   /* by the filter */
	bool sequences, others;	   /* there are SequenceExamples; records that are neither */
};

/* Damage goes to `bad`, in the order of the files. Errors: IO, MEMORY, SPACE, STOPPED,
 * and what `bad` says. */
int td_scan(struct td_scan *ret, const struct td_scan_options *options, struct td_bad *bad,
    struct tundish_error *e);
void td_scan_free(struct td_scan *scan);
