/* SPDX-License-Identifier: BSD-2-Clause
 * Options: a table for each command, and the shared ones with one meaning everywhere. */
#include "opt.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "cmd.h"
#include "near.h"
#include "units.h"

static const struct opt_choice on_error[] = {
	{ "skip", TUNDISH_SKIP },
	{ "fail", TUNDISH_FAIL },
	{ NULL },
};
static const struct opt_choice on_error_blank[] = {
	{ "skip", TUNDISH_SKIP },
	{ "fail", TUNDISH_FAIL },
	{ "blank", TUNDISH_BLANK },
	{ NULL },
};
static const struct opt_choice crc[] = {
	{ "full", TUNDISH_CRC_FULL },
	{ "length", TUNDISH_CRC_LENGTH },
	{ "off", TUNDISH_CRC_OFF },
	{ NULL },
};
const struct opt_choice opt_compression[] = {
	{ "auto", TUNDISH_AUTO },
	{ "none", TUNDISH_NONE },
	{ "gzip", TUNDISH_GZIP },
	{ "zlib", TUNDISH_ZLIB },
	{ "snappy", TUNDISH_SNAPPY },
	{ NULL },
};

#define S struct opt_shared
static const struct {
	unsigned share; /* 0: everyone takes it */
	struct opt opt;
} shared_options[] = {
	{ 0, OPT_FLAG("help", 'h', S, help, 1) },
	{ 0, OPT_FLAG("quiet", 'q', S, quiet, 1) },
	{ 0, OPT_FLAG("verbose", 'v', S, verbose, 1) },
	{ 0, OPT_FLAG("progress", 0, S, progress, 1) },
	{ 0, OPT_STRING("error-log", 0, S, error_log) },
	{ SHARE_OUTPUT, OPT_STRING("output", 'o', S, output) },
	{ SHARE_JSON, OPT_FLAG("json", 0, S, json, 1) },
	{ SHARE_THREADS, OPT_WORD("threads", 'j', S, threads, 1, 1024, "auto", 0) },
	{ SHARE_MEMORY, OPT_SIZE("memory", 0, S, memory, 1 << 20, INT64_MAX) },
	{ SHARE_SEED, OPT_NUMBER("seed", 0, S, seed, 0, UINT64_MAX) },
	{ SHARE_RANGE, OPT_NUMBER("skip", 0, S, skip, 0, UINT64_MAX) },
	{ SHARE_RANGE, OPT_NUMBER("limit", 0, S, limit, 1, UINT64_MAX) },
	{ SHARE_ON_ERROR, OPT_CHOICE("on-error", 0, S, on_error, on_error) },
	{ SHARE_BLANK, OPT_CHOICE("on-error", 0, S, on_error, on_error_blank) },
	{ SHARE_RECORDS | SHARE_MAX_RECORD, OPT_SIZE("max-record", 0, S, max_record, 1, INT64_MAX) },
	{ SHARE_RECORDS, OPT_CHOICE("input-compression", 0, S, input_compression, opt_compression) },
	{ SHARE_CRC, OPT_CHOICE("crc", 0, S, crc, crc) },
	{ SHARE_PIXELS, OPT_SIZE("max-pixels", 0, S, max_pixels, 1, INT64_MAX) },
};
#undef S

#define MOST 128

/* All options of a command, its own first. `*ret_own` of them are its own. */
static unsigned collect(const struct cmd *cmd, const struct opt *all[MOST], unsigned *ret_own)
{
	unsigned n = 0;
	for (const struct opt *o = cmd->options; o->name && n < MOST; o++)
		all[n++] = o;
	*ret_own = n;
	for (size_t i = 0; i < TD_COUNT(shared_options) && n < MOST; i++) {
		unsigned share = shared_options[i].share;
		if (share == 0 || (cmd->shared & share))
			all[n++] = &shared_options[i].opt;
	}
	return n;
}

void opt_each(const struct cmd *cmd, void (*each)(const struct cmd *cmd, const struct opt *o))
{
	const struct opt *all[MOST];
	unsigned own, n = collect(cmd, all, &own);
	for (unsigned i = 0; i < n; i++)
		each(cmd, all[i]);
}

static void set_number(void *field, unsigned bytes, uint64_t value)
{
	if (bytes == 4)
		*(uint32_t *)field = (uint32_t)value;
	else
		*(uint64_t *)field = value;
}

/* Each of these says what is wrong, or returns 0. */
static int bad_value(const struct cmd *cmd, const struct opt *o, const char *text, const char *want)
{
	fprintf(stderr, "tundish %s: --%s %s: %s\n", cmd->name, o->name, *text ? TD_ESC(text) : "\"\"",
	    want);
	return EXIT_USAGE;
}

static int set_choice(const struct cmd *cmd, const struct opt *o, void *field, const char *text)
{
	char want[256] = "";
	size_t n = 0;
	for (const struct opt_choice *c = o->choices; c->name; c++) {
		if (!strcmp(c->name, text)) {
			*(int *)field = c->value;
			return 0;
		}
		n += (size_t)snprintf(want + n, sizeof want - n, "%s%s",
		    c == o->choices ? "must be one of " : ", ", c->name);
	}
	return bad_value(cmd, o, text, want);
}

static int set_integer(const struct cmd *cmd, const struct opt *o, void *field, const char *text)
{
	uint64_t value = 0;
	bool negative = false, fits;
	char want[128];
	if (o->word && !strcmp(o->word, text)) {
		set_number(field, o->bytes, o->word_value);
		return 0;
	}
	bool ok = o->type == OPT_SIZE ? units_parse_size(text, &value) :
					units_parse_number(text, &value, &negative);
	if (!ok)
		return bad_value(cmd, o, text, o->type == OPT_SIZE ?
		    "must be a size like 4096, 64K or 1.5G" : "must be a whole number");
	if (negative)
		fits = o->min < 0 && value <= (uint64_t)-o->min;
	else
		fits = value <= o->max && (o->min < 0 || value >= (uint64_t)o->min);
	if (!fits) {
		snprintf(want, sizeof want, "must be from %" PRId64 " to %" PRIu64, o->min, o->max);
		return bad_value(cmd, o, text, want);
	}
	set_number(field, o->bytes, negative ? -value : value);
	return 0;
}

static int add_item(const struct cmd *cmd, const struct opt *o, struct opt_list *list, const char *text)
{
	if (list->n == OPT_LIST_MAX)
		return bad_value(cmd, o, text, "is given too often");
	list->items[list->n++] = text;
	return 0;
}

static int set_value(const struct cmd *cmd, const struct opt *o, void *base, const char *text)
{
	void *field = (char *)base + o->offset;
	switch (o->type) {
	case OPT_FLAG:
		*(int *)field = o->value;
		return 0;
	case OPT_STRING:
		if (!*text)
			return bad_value(cmd, o, text, "must not be empty");
		*(const char **)field = text;
		return 0;
	case OPT_LIST:
		return add_item(cmd, o, field, text);
	case OPT_CHOICE:
		return set_choice(cmd, o, field, text);
	default:
		return set_integer(cmd, o, field, text);
	}
}

static int unknown(const struct cmd *cmd, const struct opt *const *all, unsigned n, const char *arg)
{
	const char *best = NULL;
	size_t distance = (size_t)-1;
	if (strncmp(arg, "--", 2)) {
		fprintf(stderr, "tundish %s: unknown option -%c\n", cmd->name, optopt);
		return EXIT_USAGE;
	}
	char name[64];
	snprintf(name, sizeof name, "%.*s", (int)strcspn(arg + 2, "="), arg + 2);
	for (unsigned i = 0; i < n; i++)
		near_offer(name, all[i]->name, &best, &distance);
	fprintf(stderr, "tundish %s: unknown option --%s", cmd->name, TD_ESC(name));
	if (best)
		fprintf(stderr, "; did you mean --%s?\n", best);
	else
		fprintf(stderr, "; see tundish %s --help\n", cmd->name);
	return EXIT_USAGE;
}

/* The table in getopt_long()'s form: values are 256 + the place in `all`. */
static void make_getopt(const struct opt *const *all, unsigned n, struct option *longs, char *letters)
{
	*letters++ = ':';
	for (unsigned i = 0; i < n; i++) {
		int has = all[i]->type == OPT_FLAG ? no_argument : required_argument;
		longs[i] = (struct option){ all[i]->name, has, NULL, 256 + (int)i };
		if (!all[i]->letter)
			continue;
		*letters++ = all[i]->letter;
		if (has == required_argument)
			*letters++ = ':';
	}
	longs[n] = (struct option){ 0 };
	*letters = 0;
}

static unsigned place_of(const struct opt *const *all, unsigned n, int value)
{
	if (value >= 256)
		return (unsigned)value - 256;
	for (unsigned i = 0; i < n; i++)
		if (all[i]->letter == value)
			return i;
	return 0;
}

/* What getopt_long() did not take: an unknown name, or a known one misused. */
static int misused(const struct cmd *cmd, const struct opt *const *all, unsigned n, int c,
    const char *arg)
{
	if (c == '?' && optopt < 256)
		return unknown(cmd, all, n, arg);
	fprintf(stderr, "tundish %s: --%s %s\n", cmd->name, all[place_of(all, n, optopt)]->name,
	    c == ':' ? "needs a value" : "takes no value");
	return EXIT_USAGE;
}

int opt_parse(const struct cmd *cmd, struct opt_shared *shared, void *settings, int argc,
    char **argv, int *ret_first)
{
	const struct opt *all[MOST];
	struct option longs[MOST + 1];
	char letters[2 * MOST + 2];
	unsigned own, n = collect(cmd, all, &own);
	make_getopt(all, n, longs, letters);
	opterr = 0;
	for (int c, at = 0; (c = getopt_long(argc, argv, letters, longs, &at)) != -1;) {
		if (c == '?' || c == ':')
			return misused(cmd, all, n, c, argv[optind - 1]);
		unsigned i = place_of(all, n, c);
		const char *arg = argv[optind - 1 - (optarg && optarg == argv[optind - 1])];
		/* a shortened name: it would mean another one as soon as there are more options */
		if (c >= 256 && strcspn(arg + 2, "=") != strlen(all[i]->name))
			return unknown(cmd, all, n, arg);
		int rc = set_value(cmd, all[i], i < own ? settings : (void *)shared, optarg);
		if (rc)
			return rc;
		if (shared->help)
			break;
	}
	*ret_first = optind;
	return 0;
}

int opt_set(const struct cmd *cmd, struct opt_shared *shared, void *settings, const char *name,
    const char *text)
{
	const struct opt *all[MOST];
	unsigned own, n = collect(cmd, all, &own);
	for (unsigned i = 0; i < n; i++)
		if (!strcmp(all[i]->name, name))
			return set_value(cmd, all[i], i < own ? settings : (void *)shared, text);
	return EXIT_USAGE;
}
