/* SPDX-License-Identifier: BSD-2-Clause
 * Names of shard files, of the set, and of features. */
#include "names.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/path.h"
#include "base/utf8.h"
#include "record/paths.h"

int td_output_parse(struct td_output *ret, const char *output, struct tundish_error *e)
{
	if (!output || !*output)
		return td_err(e, TUNDISH_E_USAGE, "no output is given");
	if (strcmp(output, "-") == 0) {
		*ret = (struct td_output){ .stream = true };
		return 0;
	}
	const char *base = td_path_base(output);
	if (!*base || strcmp(base, ".") == 0 || strcmp(base, "..") == 0)
		return td_err(e, TUNDISH_E_USAGE, "output \"%s\": a name must stand behind the folder, OUT/NAME",
		    TD_ESC(output));
	struct td_output o = { .folder = td_path_folder(output), .name = strdup(base) };
	if (!o.folder || !o.name) {
		td_output_free(&o);
		return td_err_memory(e);
	}
	*ret = o;
	return 0;
}

void td_output_free(struct td_output *o)
{
	free(o->folder);
	free(o->name);
	*o = (struct td_output){ 0 };
}

/* ---- templates ---- */

#define DEFAULT_TEMPLATE "{name}-{split}.tfrecord-{shard}-of-{shards}"
#define COUNT_TEMPLATE "{name}-{split}-{shard}-of-{shards}_{count}.tfrecord"
#define COUNT_TEMPLATE_ONE "{split}_{count}.tfrecord"

static const char *template_of(const char *template, bool with_count, const struct td_plan_split *split)
{
	if (template)
		return template;
	if (!with_count)
		return DEFAULT_TEMPLATE;
	return split->n_shards == 1 ? COUNT_TEMPLATE_ONE : COUNT_TEMPLATE;
}

static const char *const words[] = { "{name}", "{split}", "{shard}", "{shards}", "{count}" };
enum { WORD_NAME, WORD_SPLIT, WORD_SHARD, WORD_SHARDS, WORD_COUNT, WORDS };

static unsigned word_at(const char *s)
{
	unsigned i = 0;
	while (i < WORDS && strncmp(s, words[i], strlen(words[i])) != 0)
		i++;
	return i;
}

static int check_characters(const char *template, struct tundish_error *e)
{
	if (template[0] == 0 || template[0] == '.' || strchr(template, '/'))
		return td_err(e, TUNDISH_E_USAGE, "name template \"%s\": no file name", TD_ESC(template));
	for (const char *p = template; *p; p++) {
		unsigned word = *p == '{' ? word_at(p) : WORDS;
		if (word < WORDS)
			p += strlen(words[word]) - 1;
		else if (*p == '{' || *p == '}')
			return td_err(e, TUNDISH_E_USAGE, "name template \"%s\": words are {name} {split} "
			    "{shard} {shards} {count}", TD_ESC(template));
	}
	return 0;
}

static int check_template(const char *template, bool with_count, const struct td_plan *plan,
    struct tundish_error *e)
{
	if (with_count && !strstr(template, words[WORD_COUNT]))
		return td_err(e, TUNDISH_E_USAGE, "name template \"%s\" has no {count}", TD_ESC(template));
	int rc = check_characters(template, e);
	if (rc < 0)
		return rc;
	if (plan->n_splits > 1 && !strstr(template, words[WORD_SPLIT]))
		return td_err(e, TUNDISH_E_USAGE, "name template \"%s\" does not tell splits apart: no {split}",
		    TD_ESC(template));
	for (size_t i = 0; i < plan->n_splits; i++)
		if (plan->splits[i].n_shards > 1 && !strstr(template, words[WORD_SHARD]))
			return td_err(e, TUNDISH_E_USAGE,
			    "name template \"%s\" does not tell shards apart: no {shard}", TD_ESC(template));
	return 0;
}

static bool print_word(struct td_buf *out, unsigned word, const char *name,
    const struct td_plan_split *split, size_t number, uint64_t count)
{
	switch (word) {
	case WORD_NAME:
		return td_buf_printf(out, "%s", name);
	case WORD_SPLIT:
		return td_buf_printf(out, "%s", split->name);
	case WORD_SHARD:
		return td_buf_printf(out, "%05zu", number);
	case WORD_SHARDS:
		return td_buf_printf(out, "%05zu", split->n_shards);
	default:
		return td_buf_printf(out, "%08" PRIu64, count);
	}
}

char *td_shard_file(const char *template, bool with_count, const char *name, const struct td_plan *plan,
    size_t shard, uint64_t count)
{
	struct td_buf out = { 0 };
	const struct td_plan_shard *s = &plan->shards[shard];
	const struct td_plan_split *split = &plan->splits[s->split];
	bool ok = true;
	for (const char *p = template_of(template, with_count, split); ok && *p; p++) {
		unsigned word = *p == '{' ? word_at(p) : WORDS;
		if (word < WORDS) {
			ok = print_word(&out, word, name, split, s->number, count);
			p += strlen(words[word]) - 1;
		} else {
			ok = td_buf_add(&out, p, 1);
		}
	}
	char *result = ok && td_buf_add(&out, "", 1) ? strdup((char *)out.data) : NULL;
	td_buf_free(&out);
	return result;
}

/* A shard must not be taken for a side-car, nor be left out by readers. */
static int check_file(const char *file, struct tundish_error *e)
{
	if (!td_utf8_valid(file, strlen(file)))
		return td_err(e, TUNDISH_E_USAGE, "shards would be called \"%s\", which is no UTF-8", TD_ESC(file));
	if (td_path_is_litter(file) || strcmp(file, "index") == 0)
		return td_err(e, TUNDISH_E_USAGE,
		    "shards would be called \"%s\", which readers pass over", TD_ESC(file));
	return 0;
}

static int check_files(const char *template, bool with_count, const char *name,
    const struct td_plan *plan, struct tundish_error *e)
{
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < plan->n_shards; i++) {
		if (plan->shards[i].number)
			continue;
		char *file = td_shard_file(template, with_count, name, plan, i, 0);
		rc = file ? check_file(file, e) : td_err_memory(e);
		free(file);
	}
	return rc;
}

int td_names_check(const char *template, bool with_count, const char *name, const struct td_plan *plan,
    struct tundish_error *e)
{
	int rc = template ? check_template(template, with_count, plan, e) : 0;
	return rc < 0 ? rc : check_files(template, with_count, name, plan, e);
}

char *td_names_tfds(const char *template, bool with_count)
{
	static const struct {
		const char *ours, *theirs;
	} map[] = {
		{ "{shard}-of-{shards}", "{SHARD_X_OF_Y}" }, { "{name}", "{DATASET}" },
		{ "{split}", "{SPLIT}" }, { "tfrecord", "{FILEFORMAT}" },
	};
	struct td_buf out = { 0 };
	const char *p = template ? template : DEFAULT_TEMPLATE;
	bool ok = !strstr(p, words[WORD_COUNT]) && !(with_count && !template), sharded = false, typed = false;
	while (ok && *p) {
		size_t i = 0;
		while (i < TD_COUNT(map) && (strncmp(p, map[i].ours, strlen(map[i].ours)) != 0 || (i == 3 && typed)))
			i++;
		bool known = i < TD_COUNT(map);
		/* a number by itself has no word there */
		ok = (known || *p != '{') && td_buf_add(&out, known ? map[i].theirs : p, known ? strlen(map[i].theirs) : 1);
		sharded |= i == 0;
		typed |= i == 3;
		p += known ? strlen(map[i].ours) : 1;
	}
	char *result = ok && sharded && typed && td_buf_add(&out, "", 1) ? strdup((char *)out.data) : NULL;
	td_buf_free(&out);
	return result;
}

/* ---- features ---- */

#define KEYS 7
static const char *const key_words[KEYS] = { "image", "label", "height", "width", "filename", "format",
	"text" };
static const char *const default_keys[KEYS] = { "image", "label", "height", "width", "filename", NULL,
	NULL };
static const char *const slim_keys[KEYS] = { "image/encoded", "image/class/label", "image/height",
	"image/width", "image/filename", "image/format", "image/class/text" };

static char **key_slot(struct td_key_names *k, size_t i)
{
	char **const slots[KEYS] = { &k->image, &k->label, &k->height, &k->width, &k->filename, &k->format,
		&k->text };
	return slots[i];
}

static bool set_keys(struct td_key_names *k, const char *const *names)
{
	for (size_t i = 0; i < KEYS; i++) {
		char **slot = key_slot(k, i);
		free(*slot);
		*slot = names[i] ? strdup(names[i]) : NULL;
		if (names[i] && !*slot)
			return false;
	}
	return true;
}

static int set_key(struct td_key_names *k, const char *word, size_t len, struct tundish_error *e)
{
	char text[TD_ESC_MAX];
	size_t n = strcspn(word, "=,"), i = 0;
	while (i < KEYS && !(strlen(key_words[i]) == n && memcmp(key_words[i], word, n) == 0))
		i++;
	if (n == len || i == KEYS)
		return td_err(e, TUNDISH_E_USAGE, "keys: \"%s\" is none of default, slim, and image, label, height, "
		    "width, filename, format or text=NAME", td_escape(text, sizeof text, word, len));
	if (i == 0 && n + 1 == len)
		return td_err(e, TUNDISH_E_USAGE, "keys: the image needs a name");
	char **slot = key_slot(k, i);
	free(*slot);
	*slot = n + 1 == len ? NULL : strndup(word + n + 1, len - n - 1);
	return n + 1 == len || *slot ? 0 : td_err_memory(e);
}

static int check_distinct(struct td_key_names *k, struct tundish_error *e)
{
	for (size_t i = 0; i < KEYS; i++)
		for (size_t j = i + 1; j < KEYS; j++)
			if (*key_slot(k, i) && *key_slot(k, j) && strcmp(*key_slot(k, i), *key_slot(k, j)) == 0)
				return td_err(e, TUNDISH_E_USAGE, "keys: %s and %s are both called \"%s\"",
				    key_words[i], key_words[j], TD_ESC(*key_slot(k, i)));
	return 0;
}

int td_key_names_parse(struct td_key_names *ret, const char *spec, struct tundish_error *e)
{
	struct td_key_names k = { 0 };
	int rc = set_keys(&k, default_keys) ? 0 : td_err_memory(e);
	for (const char *word = spec; rc == 0 && word; word = strchr(word, ',') ? strchr(word, ',') + 1 : NULL) {
		size_t len = strcspn(word, ",");
		if (word == spec && (strncmp(word, "default", len) == 0 || strncmp(word, "slim", len) == 0) &&
		    (len == 7 || len == 4))
			rc = set_keys(&k, len == 4 ? slim_keys : default_keys) ? 0 : td_err_memory(e);
		else
			rc = set_key(&k, word, len, e);
	}
	if (rc == 0)
		rc = check_distinct(&k, e);
	if (rc < 0)
		td_key_names_free(&k);
	else
		*ret = k;
	return rc;
}

void td_key_names_free(struct td_key_names *k)
{
	for (size_t i = 0; i < KEYS; i++)
		free(*key_slot(k, i));
	*k = (struct td_key_names){ 0 };
}
