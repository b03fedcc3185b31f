/* SPDX-License-Identifier: BSD-2-Clause
 * Names of shard files, of the set, and of features. */
#pragma once
#include <stdbool.h>

#include "base/attr.h"
#include "plan.h"
#include "tundish.h"

/* What "OUT/NAME" says. "-" has no folder: records go to standard output. */
struct td_output {
	char *folder;
	char *name;
	bool stream;
};
int td_output_parse(struct td_output *ret, const char *output, struct tundish_error *e);
void td_output_free(struct td_output *o);

/* Checks a template and the names it gives: its words are {name} {split} {shard} {shards}
 * {count}, it must tell the files of the plan apart, and none may be called like what
 * readers pass over, or what JSON cannot hold. NULL: the default, with a count or without. */
int td_names_check(const char *template, bool with_count, const char *name, const struct td_plan *plan,
    struct tundish_error *e);
/* The file name of a shard, without the folder. To be freed; NULL without memory. */
char *td_shard_file(const char *template, bool with_count, const char *name, const struct td_plan *plan,
    size_t shard, uint64_t count);
/* TFDS's words for the same, to be freed; NULL where it has none. */
char *td_names_tfds(const char *template, bool with_count);

/* Names of the features that a record of a picture gets; NULL: it gets none. */
struct td_key_names {
	char *image, *label, *height, *width, *filename, *format, *text;
};
/* "default", "slim", or either of them changed: "[slim,]image=NAME,label=NAME...". An
 * empty NAME leaves the feature out. */
int td_key_names_parse(struct td_key_names *ret, const char *spec, struct tundish_error *e);
void td_key_names_free(struct td_key_names *k);
