/* SPDX-License-Identifier: BSD-2-Clause
 * The --labels option. */
#include "labels.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"

static bool delimiter_of(const char *word, char *ret)
{
	static const struct {
		const char *name;
		char c;
	} known[] = { { "comma", ',' }, { "semicolon", ';' }, { "tab", '\t' }, { "space", ' ' },
		{ "pipe", '|' } };
	for (size_t i = 0; i < TD_COUNT(known); i++) {
		if (strcmp(word, known[i].name) == 0) {
			*ret = known[i].c;
			return true;
		}
	}
	*ret = word[0];
	return word[0] && word[0] != '"' && word[0] != '\n' && !word[1];
}

static int set_word(struct td_labels *l, const char *word, struct tundish_error *e)
{
	char **out = NULL;
	if (strncmp(word, "path=", 5) == 0)
		out = &l->path_column;
	else if (strncmp(word, "label=", 6) == 0)
		out = &l->label_column;
	const char *value = strchr(word, '=') + 1;
	if (!out)
		return delimiter_of(value, &l->delimiter) ? 0 :
		    td_err(e, TUNDISH_E_USAGE, "labels: no delimiter: \"%s\"", TD_ESC(value));
	if (!*value)
		return td_err(e, TUNDISH_E_USAGE, "labels: empty column in \"%s\"", TD_ESC(word));
	free(*out);
	*out = NULL;
	if (out == &l->label_column && strcmp(value, "none") == 0) {
		l->no_labels = true;
		return 0;
	}
	*out = strdup(value);
	return *out ? 0 : td_err_memory(e);
}

static bool is_setting(const char *word)
{
	return strncmp(word, "path=", 5) == 0 || strncmp(word, "label=", 6) == 0 ||
	    strncmp(word, "delim=", 6) == 0;
}

/* Settings are taken from the end, so that a file's name may hold commas. */
static int parse_csv(struct td_labels *l, const char *spec, struct tundish_error *e)
{
	l->file = strdup(spec);
	if (!l->file)
		return td_err_memory(e);
	for (char *comma; (comma = strrchr(l->file, ',')) != NULL;) {
		/* "delim=," ends in an empty word of its own */
		if (!comma[1] && comma - l->file >= 7 && memcmp(comma - 7, ",delim=", 7) == 0) {
			l->delimiter = ',';
			comma[-7] = 0;
			continue;
		}
		if (!is_setting(comma + 1))
			break;
		int rc = set_word(l, comma + 1, e);
		if (rc < 0)
			return rc;
		*comma = 0;
	}
	return *l->file ? 0 : td_err(e, TUNDISH_E_USAGE, "labels: csv: needs a file");
}

int td_labels_parse(struct td_labels *ret, const char *spec, struct tundish_error *e)
{
	struct td_labels l = { .from = TD_LABELS_FOLDER, .delimiter = ',' };
	int rc = 0;
	if (!spec || strcmp(spec, "folder") == 0) {
		l.from = TD_LABELS_FOLDER;
	} else if (strcmp(spec, "none") == 0) {
		l.from = TD_LABELS_NONE;
	} else if (strncmp(spec, "csv:", 4) == 0) {
		l.from = TD_LABELS_CSV;
		rc = parse_csv(&l, spec + 4, e);
	} else if (strcmp(spec, "json") == 0 || strncmp(spec, "json:label=", 11) == 0) {
		l.from = TD_LABELS_JSON;
		if (spec[4])
			rc = set_word(&l, spec + 5, e);
	} else if (strncmp(spec, "regex:", 6) == 0) {
		l.from = TD_LABELS_REGEX;
		l.pattern = strdup(spec + 6);
		rc = l.pattern ? 0 : td_err_memory(e);
	} else {
		rc = td_err(e, TUNDISH_E_USAGE,
		    "labels: \"%s\" is none of folder, none, csv:FILE, json, regex:RE", TD_ESC(spec));
	}
	if (rc < 0)
		td_labels_free(&l);
	else
		*ret = l;
	return rc;
}

void td_labels_free(struct td_labels *l)
{
	free(l->file);
	free(l->path_column);
	free(l->label_column);
	free(l->pattern);
	*l = (struct td_labels){ 0 };
}
