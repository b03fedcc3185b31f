/* SPDX-License-Identifier: BSD-2-Clause
 * Options: a table for each command, and the shared ones with one meaning everywhere. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tundish.h"

enum opt_type {
	OPT_FLAG,   /* takes no value; int, set to `value` */
	OPT_STRING, /* const char * */
	OPT_NUMBER, /* a whole number from min to max; any integer type */
	OPT_SIZE,   /* the same with K, M, G, T behind it; uint64_t */
	OPT_CHOICE, /* one of `choices`; int */
	OPT_LIST,   /* may be given several times; struct opt_list */
};

#define OPT_LIST_MAX 8

struct opt_list {
	const char *items[OPT_LIST_MAX];
	unsigned n;
};

struct opt_choice {
	const char *name; /* NULL ends the list */
	int value;
};

/* One option: where its value goes (a field of the command's settings) and what
 * it may be. A table ends with a NULL name. What it is for stands in the manual. */
struct opt {
	const char *name;
	char letter;	/* 0: none */
	unsigned char type, bytes; /* of the field */
	size_t offset;
	int value;
	int64_t min;
	uint64_t max;
	const char *word; /* "inf", "auto": stands for `word_value`; NULL: none */
	uint64_t word_value;
	const struct opt_choice *choices;
};

#define OPT_FIELD_(s, f) .bytes = sizeof(((s *)0)->f), .offset = offsetof(s, f)
#define OPT_FLAG(n, l, s, f, v) { n, l, OPT_FLAG, OPT_FIELD_(s, f), .value = v }
#define OPT_STRING(n, l, s, f) { n, l, OPT_STRING, OPT_FIELD_(s, f) }
#define OPT_NUMBER(n, l, s, f, lo, hi) { n, l, OPT_NUMBER, OPT_FIELD_(s, f), .min = lo, .max = hi }
#define OPT_WORD(n, l, s, f, lo, hi, w, v) \
	{ n, l, OPT_NUMBER, OPT_FIELD_(s, f), .min = lo, .max = hi, .word = w, .word_value = v }
#define OPT_SIZE(n, l, s, f, lo, hi) { n, l, OPT_SIZE, OPT_FIELD_(s, f), .min = lo, .max = hi }
#define OPT_CHOICE(n, l, s, f, c) { n, l, OPT_CHOICE, OPT_FIELD_(s, f), .choices = c }
#define OPT_LIST(n, l, s, f) { n, l, OPT_LIST, OPT_FIELD_(s, f) }
#define OPT_END { NULL }

/* The shared options: their values, and which of them a command takes. Each
 * command takes --help, --quiet, --verbose, --progress and --error-log. */
struct opt_shared {
	const char *output, *error_log;
	uint64_t seed, memory, skip, limit, max_record, max_pixels;
	unsigned threads;
	int json, quiet, verbose, progress, on_error;
	int crc, input_compression;
	int help;
};

/* auto, none, gzip, zlib, snappy. */
extern const struct opt_choice opt_compression[];

enum opt_share {
	SHARE_OUTPUT = 1 << 0,
	SHARE_JSON = 1 << 1,
	SHARE_THREADS = 1 << 2,
	SHARE_MEMORY = 1 << 3,
	SHARE_SEED = 1 << 4,
	SHARE_RANGE = 1 << 5,	 /* --skip, --limit */
	SHARE_ON_ERROR = 1 << 6, /* skip, fail */
	SHARE_BLANK = 1 << 7,	 /* and blank */
	SHARE_RECORDS = 1 << 8,	 /* --max-record, --input-compression */
	SHARE_CRC = 1 << 9,
	SHARE_PIXELS = 1 << 10,	 /* --max-pixels */
	SHARE_MAX_RECORD = 1 << 11, /* --max-record alone */
};

struct cmd;

/* Reads argv (argv[0] is the command) into `shared` and `settings`. 0 and the place
 * of the first operand, or EXIT_USAGE after a message. Stops early at --help. */
int opt_parse(const struct cmd *cmd, struct opt_shared *shared, void *settings, int argc,
    char **argv, int *ret_first);

/* Sets option `name`, as --name=TEXT would. 0, or EXIT_USAGE after a message. */
int opt_set(const struct cmd *cmd, struct opt_shared *shared, void *settings, const char *name,
    const char *text);

/* Calls `each` for every option that the command takes. */
void opt_each(const struct cmd *cmd, void (*each)(const struct cmd *cmd, const struct opt *o));
