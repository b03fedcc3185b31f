/* SPDX-License-Identifier: BSD-2-Clause
 * What is done before the first record and after the last. */
#include "pack.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "append.h"
#include "base/err.h"
#include "items.h"
#include "base/thread.h"
#include "record/compress.h"
#include "tofiles.h"

/* "12" or "1%" of the items there are. */
static int parse_max_bad(struct td_pack *p, uint64_t found, struct tundish_error *e)
{
	p->bad.limit = UINT64_MAX;
	const char *s = p->o->max_bad;
	if (!s)
		return 0;
	uint64_t whole = 0, part = 0, unit = 1;
	const char *at = s;
	for (; *at >= '0' && *at <= '9' && whole < UINT64_MAX / 100; at++)
		whole = whole * 10 + (uint64_t)(*at - '0');
	bool digits = at > s;
	if (*at == '.')
		for (at++; *at >= '0' && *at <= '9' && unit < 1000000; at++, unit *= 10)
			part = part * 10 + (uint64_t)(*at - '0');
	bool percent = *at == '%' && !at[1] && whole <= 100;
	if (!digits || (!percent && (*at || unit > 1)))
		return td_err(e, TUNDISH_E_USAGE, "max-bad: \"%s\" is neither a number nor a percentage", TD_ESC(s));
	unsigned __int128 bound = (unsigned __int128)found * (whole * unit + part) / (100 * unit);
	p->bad.limit = percent ? (uint64_t)bound : whole;
	return 0;
}

int td_pack_check(struct td_pack *p, struct tundish_error *e)
{
	const struct tundish_pack_options *o = p->o;
	p->bad.listener = &o->listener;
	p->bad.on_error = o->on_error;
	int rc = o->to_files ? td_files_check(o->to_files, o->overwrite, &p->to_folder, e) :
			       td_output_parse(&p->out, o->output, e);
	if (rc == 0 && o->to_files && (o->output || o->append || o->split || o->shards || o->compression || o->clip || o->sound))
		rc = td_err(e, TUNDISH_E_USAGE, "to: files are no records: no output, split, shards, compression, clips "
		    "and sound");
	if (rc == 0)
		rc = td_plan_check(o->shards, o->split, e);
	if (rc == 0)
		rc = parse_max_bad(p, UINT64_MAX, e);
	if (rc == 0 && o->on_error != TUNDISH_SKIP && o->on_error != TUNDISH_FAIL)
		rc = td_err(e, TUNDISH_E_USAGE, "on-error: only skip and fail go with %s", p->command);
	if (rc == 0 && p->out.stream && (o->split || (o->shards && strcmp(o->shards, "1") != 0)))
		rc = td_err(e, TUNDISH_E_USAGE, "output \"-\" is one stream: no splits and shards");
	p->compression = o->compression;
	if (rc == 0 && p->tar && o->compression != TUNDISH_NONE)
		rc = td_err(e, TUNDISH_E_USAGE, "a tar is written as it is: no --compress");
	p->threads = td_threads(o->threads);
	if (rc == 0)
		rc = td_compress_check(o->compression == TUNDISH_AUTO ? TUNDISH_GZIP : o->compression, o->level, e);
	if (rc == 0 && o->append && o->overwrite)
		rc = td_err(e, TUNDISH_E_USAGE, "append: the set that is there stays: no --overwrite");
	if (rc == 0 && !o->to_files && (!o->dry_run || o->append))
		rc = o->append ? td_append_open(&p->append, &p->out, e) : td_set_check(&p->out, o->overwrite, e);
	return rc;
}

static void note_empty_shards(const struct td_pack *p)
{
	for (size_t i = 0; i < p->plan.n_splits; i++) {
		const struct td_plan_split *split = &p->plan.splits[i];
		if (split->n < split->n_shards)
			td_notice(&p->o->listener, "split %s: %zu shards for %" PRIu64 " record%s: %" PRIu64
			    " hold none", split->name, split->n_shards, split->n, split->n == 1 ? "" : "s",
			    split->n_shards - split->n);
	}
}

int td_pack_limit(struct td_pack *p, struct tundish_error *e)
{
	int rc = parse_max_bad(p, p->found, e);
	return rc ? rc : td_bad_check(&p->bad, e);
}

bool td_pack_by_class(const struct td_pack *p)
{
	return !p->o->stratify || strcmp(p->o->stratify, "none") != 0;
}

int td_pack_plan(struct td_pack *p, size_t n, struct tundish_error *e)
{
	const struct tundish_pack_options *o = p->o;
	const struct td_plan_options options = {
		.n = n,
		.classes = p->item_class,
		.groups = p->item_group,
		.n_groups = p->n_groups,
		.split_items = o->split_by && strcmp(o->split_by, "item") == 0,
		.bytes = p->item_bytes,
		.shards = p->out.stream ? "1" : o->shards,
		.shard_bytes = o->shard_bytes,
		.split = o->split,
		.stratify = td_pack_by_class(p) && p->item_class,
		.shuffle = o->shuffle,
		.seed = o->seed,
	};
	int rc = td_pack_limit(p, e);
	if (rc == 0)
		rc = td_plan_make(&p->plan, &options, e);
	if (rc == 0 && !p->out.stream)
		rc = td_names_check(o->name_template, o->count_in_name, p->out.name, &p->plan, e);
	if (rc == 0)
		note_empty_shards(p);
	if (rc == 0 && p->item_group && p->plan.n_splits > 1 && !options.split_items)
		td_notice(&o->listener, "the split is by group: %zu groups, none is divided", p->n_groups);
	return rc;
}

bool td_pack_feature(struct td_pack *p, const char *key, enum td_feature_type type, int64_t length)
{
	if (!key)
		return true;
	char *copy = strdup(key);
	if (!copy || !td_grow(&p->features, &p->features_cap, p->n_features, sizeof *p->features)) {
		free(copy);
		return false;
	}
	p->features[p->n_features++] = (struct td_feature_spec){ .key = copy, .type = type, .length = length };
	return true;
}

void td_pack_free(struct td_pack *p)
{
	td_set_close(&p->set, false);
	td_plan_free(&p->plan);
	td_bad_free(&p->bad);
	td_classes_free(&p->classes);
	td_output_free(&p->out);
	td_append_free(p->append);
	free(p->item_class);
	free(p->item_bytes);
	free(p->item_group);
	free(p->class_counts);
	free(p->names_file);
	free(p->identity);
	json_decref(p->about);
	td_pack_items_free(p->items, p->n_items);
	for (size_t i = 0; i < p->n_features; i++) {
		free(p->features[i].key);
		free(p->features[i].json);
	}
	free(p->features);
}
