/* SPDX-License-Identifier: BSD-2-Clause
 * A look at a few records before the start: under which names, and how large. */
#include "probe.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "groups.h"
#include "plan.h"
#include "stream.h"

#define LOOKS 16
#define TENSOR_LOOKS 1000

/* One record that is looked at. */
struct look {
	const uint8_t *data;
	uint64_t bytes;
	struct td_spot spot;
};

static bool hard(int rc)
{
	return rc == TUNDISH_E_IO || rc == TUNDISH_E_NOT_FOUND || rc == TUNDISH_E_MEMORY;
}

static int keep_key(const char **key, const struct tundish_feature *f, struct tundish_error *e)
{
	if (*key || !f)
		return 0;
	*key = strndup(f->key, f->key_bytes);
	return *key ? 0 : td_err_memory(e);
}

/* What is looked for, and what was found so far. */
struct search {
	const struct td_keys *asked;
	struct td_origin *origins;
	struct td_seen *seen; /* NULL: features do not matter */
	bool clips;
};

/* A list: its steps, and the largest of them. */
static bool note_list(struct td_seen *seen, struct td_feature_list *list)
{
	const struct tundish_feature steps = { .key = list->key, .key_bytes = list->key_bytes, .kind = list->kind,
		.count = list->steps };
	struct tundish_feature step, most = steps;
	most.count = 0;
	while (td_sequence_step(&list->features, &step) > 0)
		most.count = TD_MAX(most.count, step.count);
	return td_schema_feature(&seen->lists, &steps) && td_schema_feature(&seen->steps, &most);
}

static int note_features(struct td_seen *seen, const struct look *look, struct tundish_error *e)
{
	struct tundish_feature feature;
	struct td_sequence sequence;
	struct td_feature_list list;
	size_t at = 0;
	bool ok = true;
	while (ok && tundish_example_next(look->data, look->bytes, &at, &feature) > 0)
		ok = td_schema_feature(&seen->features, &feature);
	td_sequence_start(&sequence, look->data, look->bytes);
	while (ok && td_sequence_next(&sequence, &list) > 0)
		ok = note_list(seen, &list);
	ok = ok && td_schema_record(&seen->features, NULL, 0) && td_schema_record(&seen->lists, NULL, 0) &&
	    td_schema_record(&seen->steps, NULL, 0);
	return ok ? 0 : td_err_memory(e);
}

/* "NAME/value", where convert puts arrays of different shapes. */
static bool find_value(const char *image, const struct look *look, struct tundish_feature *ret)
{
	char key[256];
	int n = snprintf(key, sizeof key, "%s/value", image ? image : td_image_keys[0]);
	return n < (int)sizeof key &&
	    tundish_example_find(look->data, look->bytes, key, (size_t)n, ret) == 1;
}

/* A list of frames, of a SequenceExample or not. */
static bool find_list(const struct td_keys *asked, const struct look *look, struct tundish_feature *ret)
{
	struct td_frames frames;
	/* the names of pictures, and the one that convert gives to clips of videos */
	const char *const usual[] = { td_image_keys[0], td_image_keys[1], "frames" };
	const char *const *keys = asked->image ? &asked->image : usual;
	struct td_bytes first;
	for (size_t i = 0; i < (asked->image ? 1 : TD_COUNT(usual)); i++) {
		if (td_frames_find(&frames, keys[i], look->data, look->bytes) != 1 || frames.n == 0 ||
		    td_frames_take(&frames, 0, 1, 1, &first, NULL) < 0)
			continue;
		*ret = (struct tundish_feature){ .key = keys[i], .key_bytes = strlen(keys[i]) };
		return true;
	}
	return false;
}

/* The first picture or array that is met; all of them are of its kind. */
static int note_image(struct td_origin *o, const struct look *look, const struct tundish_feature *f,
    struct tundish_error *e)
{
	if (o->keys.image || !f)
		return 0;
	int rc = keep_key(&o->keys.image, f, e);
	struct td_frames frames;
	struct td_bytes first;
	if (rc == 0 && td_frames_find(&frames, o->keys.image, look->data, look->bytes) == 1 && frames.n &&
	    td_frames_take(&frames, 0, 1, 1, &first, NULL) == 0)
		td_tensor_look(&o->tensor, o->keys.image, look->data, look->bytes, first.data, first.len);
	return rc;
}

static int note_record(const struct search *search, const struct look *look, struct tundish_error *e)
{
	struct td_origin *o = &search->origins[look->spot.source];
	struct td_sample s;
	if (td_sample_find(&s, search->asked, look->data, look->bytes) < 0)
		return 0;
	if (!s.image && find_value(search->asked->image, look, &s.image_feature))
		s.image = &s.image_feature;
	if (!s.image && search->clips && !o->grouped && find_list(search->asked, look, &s.image_feature))
		s.image = &s.image_feature;
	int rc = note_image(o, look, s.image, e);
	if (rc == 0)
		rc = keep_key(&o->keys.label, s.label, e);
	return rc == 0 && search->seen ? note_features(search->seen, look, e) : rc;
}

/* Record `record` of the set: 1 and the record, 0 when it is bad, or a hard error. */
static int look_at(struct tundish_flow *f, uint64_t record, struct look *ret, struct tundish_error *e)
{
	ret->spot = td_records_spot(&f->set, record);
	int rc = td_record_read(&f->hands[0].spare, &f->set, f->files, f->item_desks ? f->item_desks[0] : NULL, &ret->spot, &ret->data,
	    &ret->bytes, e);
	return rc == 0 ? 1 : hard(rc) ? rc : 0;
}

static struct td_given given_of(const struct look *look, uint64_t position)
{
	return (struct td_given){ look->data, look->bytes, look->spot.source, TD_NO_RECORD, 0, position };
}

/* Some of n records from `first` on: spread, first and last among them. */
static int search_records(struct tundish_flow *f, const struct search *search, uint64_t first, uint64_t records,
    struct tundish_error *e)
{
	struct look look;
	uint64_t n = TD_MIN(records, LOOKS);
	for (uint64_t i = 0; i < n; i++) {
		uint64_t record = n > 1 ? (uint64_t)((unsigned __int128)i * (records - 1) / (n - 1)) : 0;
		int rc = look_at(f, first + record, &look, e);
		if (rc > 0)
			rc = note_record(search, &look, e);
		if (rc < 0)
			return rc;
	}
	return 0;
}

static int search_files(struct tundish_flow *f, const struct search *search, struct tundish_error *e)
{
	const struct td_records *set = &f->set;
	if (!set->n_sources)
		return search_records(f, search, 0, set->records, e);
	int rc = 0;
	for (unsigned i = 0; i < set->n_sources && rc == 0; i++) {
		uint64_t first = set->first[set->sources[i]];
		rc = search_records(f, search, first, set->first[set->sources[i + 1]] - first, e);
	}
	return rc;
}

/* The same for a stream: its first records, which are kept. The first good one gives
 * the size, too. */
static int search_stream(struct tundish_flow *f, const struct search *search, struct tundish_error *e)
{
	struct look look;
	int rc;
	while ((rc = td_stream_peek(f, &look.data, &look.bytes, &look.spot, e)) > 0) {
		rc = note_record(search, &look, e);
		if (rc < 0)
			return rc;
	}
	if (rc == 0 && f->on_error != TUNDISH_FAIL)
		rc = td_held_tell(&f->stream.early, &f->listener, e);
	return rc;
}

/* Takes the size from this record if it is good: 1, 0 when not. */
static int measure(struct tundish_flow *f, const struct look *look, uint64_t position,
    struct tundish_error *e)
{
	struct td_recipe *r = &f->recipe;
	const struct td_given given = given_of(look, position);
	struct td_size size;
	int rc = td_recipe_measure(r, &f->hands[0].desk, &given, &size, e);
	if (rc < 0)
		return rc == TUNDISH_E_MEMORY ? rc : 0;
	char number[32] = "";
	if (!td_records_part(&f->set, look->spot.file))
		snprintf(number, sizeof number, "record %llu: ", (unsigned long long)look->spot.number);
	snprintf(r->first, sizeof r->first, "%s: %s%ux%u",
	    TD_ESC(f->set.files.paths[look->spot.file]), number, size.height, size.width);
	rc = td_recipe_set_size(r, size, e);
	return rc < 0 ? rc : 1;
}

/* The first good record in the order of epoch 0; all ranks look at the same ones. */
static int find_size(struct tundish_flow *f, struct tundish_error *e)
{
	for (uint64_t i = 0; i < f->share.records; i++) {
		struct look look;
		struct td_pick pick;
		int rc = td_sampler_at(&f->sampler, 0, i, &pick) < 0 ? td_err_memory(e) : 1;
		if (rc > 0)
			rc = look_at(f, pick.record, &look, e);
		if (rc > 0)
			rc = measure(f, &look, i, e);
		if (rc != 0)
			return rc < 0 ? rc : 0;
	}
	return td_recipe_set_size(&f->recipe, (struct td_size){ 1, 1 }, e);
}

/* The first good array in that order tells how many channels all of its source have. */
static int find_tensors(struct tundish_flow *f, struct tundish_error *e)
{
	struct td_recipe *r = &f->recipe;
	for (uint64_t i = 0; i < f->share.records && i < TENSOR_LOOKS; i++) {
		struct look look;
		struct td_pick pick;
		bool open = false;
		for (unsigned k = 0; k < r->n_origins; k++)
			open |= r->origins[k].tensor.on && !r->origins[k].channels;
		if (!open)
			return 0;
		if (td_sampler_at(&f->sampler, 0, i, &pick) < 0)
			return td_err_memory(e);
		const struct td_origin *o = &r->origins[pick.source];
		if (!o->tensor.on || o->channels)
			continue;
		int rc = look_at(f, pick.record, &look, e);
		const struct td_given given = given_of(&look, i);
		if (rc > 0)
			td_recipe_try_tensor(r, &given);
		if (rc < 0)
			return rc;
	}
	return 0;
}

static void find_stream_tensors(struct tundish_flow *f)
{
	for (unsigned i = 0; i < f->stream.n_peeked; i++) {
		const struct td_peek *p = &f->stream.peeked[i];
		const struct look look = { p->data.data, p->data.len, p->spot };
		const struct td_given given = given_of(&look, i);
		if (!f->recipe.origins[p->spot.source].channels)
			td_recipe_try_tensor(&f->recipe, &given);
	}
}

static int find_stream_size(struct tundish_flow *f, struct tundish_error *e)
{
	for (unsigned i = 0; i < f->stream.n_peeked; i++) {
		const struct td_peek *p = &f->stream.peeked[i];
		const struct look look = { p->data.data, p->data.len, p->spot };
		int rc = measure(f, &look, i, e);
		if (rc != 0)
			return rc < 0 ? rc : 0;
	}
	return td_recipe_set_size(&f->recipe, (struct td_size){ 1, 1 }, e);
}

/* Names that were asked for are wanted in each record, found here or not. */
static int take_asked(struct td_keys *keys, const struct td_keys *asked, struct tundish_error *e)
{
	if (asked->image && !keys->image && !(keys->image = strdup(asked->image)))
		return td_err_memory(e);
	if (asked->label && !keys->label && !(keys->label = strdup(asked->label)))
		return td_err_memory(e);
	return 0;
}

static void forget(const char **key)
{
	free((char *)*key);
	*key = NULL;
}

static bool any_image(const struct td_recipe *r)
{
	for (unsigned i = 0; i < r->n_origins; i++) {
		if (r->origins[i].keys.image)
			return true;
	}
	return false;
}

/* Batches of pictures are of pictures from all sources. */
static int check_sources(const struct tundish_flow *f, struct tundish_error *e)
{
	const struct td_recipe *r = &f->recipe;
	bool images = td_outs_have(&r->outs, TD_OUT_IMAGE);
	for (unsigned i = 0; i < r->n_origins && images && f->set.n_sources; i++) {
		if (!r->origins[i].keys.image)
			return td_err(e, TUNDISH_E_USAGE, "source %s of the mix holds no pictures as the others do",
			    TD_ESC(f->set.mix[i].name));
	}
	return 0;
}

/* Finds out what goes out, under the names of the first source that has them; of the rest the
 * names are not needed. */
static int find_outs(struct tundish_flow *f, const struct td_seen *seen, struct tundish_error *e)
{
	struct td_recipe *r = &f->recipe;
	struct td_keys keys = { 0 };
	r->outs.classes = r->chain.classes;
	for (unsigned i = 0; i < r->n_origins; i++) {
		keys.image = keys.image ? keys.image : r->origins[i].keys.image;
		keys.label = keys.label ? keys.label : r->origins[i].keys.label;
	}
	int rc = td_outs_open(&r->outs, r->chain.select, r->chain.select_len, &keys, seen, e);
	if (rc == 0)
		rc = check_sources(f, e);
	if (rc < 0)
		return rc;
	for (unsigned i = 0; i < r->n_origins; i++) {
		if (!td_outs_have(&r->outs, TD_OUT_IMAGE))
			forget(&r->origins[i].keys.image);
		if (!td_outs_have(&r->outs, TD_OUT_LABEL))
			forget(&r->origins[i].keys.label);
	}
	if (r->chain.classes && !td_outs_have(&r->outs, TD_OUT_LABEL))
		return td_err(e, TUNDISH_E_USAGE, "one_hot needs labels that go out");
	if (td_outs_have(&r->outs, TD_OUT_FEATURE) && r->cache && r->cache->kind >= TD_CACHE_DECODED)
		return td_err(e, TUNDISH_E_USAGE, "cache decoded and ops keep pictures and labels alone; with "
		    "other features that go out it can be raw or index");
	return 0;
}

/* Names, and which of all that records hold goes out. */
static int find_keys(struct tundish_flow *f, const struct td_keys *asked, struct tundish_error *e)
{
	struct td_recipe *r = &f->recipe;
	struct td_seen seen = { 0 };
	r->n_origins = TD_MAX(f->set.n_sources, 1u);
	r->origins = calloc(r->n_origins, sizeof *r->origins);
	if (!r->origins)
		return td_err_memory(e);
	for (unsigned i = 0; i < r->n_origins && f->set.groups; i++)
		r->origins[i].grouped = f->set.groups[f->set.n_sources ? f->set.sources[i] : 0].first;
	const struct search search = { asked, r->origins, r->chain.select ? &seen : NULL,
		r->chain.clip.frames > 0 };
	int rc = f->set.stream ? search_stream(f, &search, e) : search_files(f, &search, e);
	for (unsigned i = 0; i < r->n_origins && rc == 0; i++)
		rc = take_asked(&r->origins[i].keys, asked, e);
	if (rc == 0)
		rc = find_outs(f, &seen, e);
	td_schema_free(&seen.features);
	td_schema_free(&seen.lists);
	td_schema_free(&seen.steps);
	return rc;
}

static int find_channels(struct tundish_flow *f, struct tundish_error *e)
{
	struct td_recipe *r = &f->recipe;
	bool tensors = false;
	for (unsigned i = 0; i < r->n_origins; i++) {
		struct td_origin *o = &r->origins[i];
		const char *path = f->set.files.paths[f->set.n_sources ? f->set.sources[i] : 0];
		int rc = td_tensor_settle(&o->tensor, &r->chain, o->keys.image, path, e);
		if (rc < 0)
			return rc;
		tensors |= o->tensor.on;
	}
	int rc = 0;
	if (tensors && f->set.stream)
		find_stream_tensors(f);
	else if (tensors)
		rc = find_tensors(f, e);
	return rc < 0 ? rc : td_recipe_set_channels(r, e);
}

static int check_clips(const struct tundish_flow *f, const struct td_keys *asked, struct tundish_error *e)
{
	const struct td_recipe *r = &f->recipe;
	const struct td_peek *first = f->stream.n_peeked ? &f->stream.peeked[0] : NULL;
	bool grouped = f->set.groups;
	if (first && td_groups_frame_of(first->data.data, first->data.len, asked))
		return td_err(e, TUNDISH_E_USAGE, "a clip of several records needs %s", td_by_position);
	if (!any_image(r))
		return td_err(e, TUNDISH_E_USAGE, "clip needs a list of frames that goes out: image, image/encoded "
		    "or frames, a feature or a list of SequenceExamples; name it");
	if (r->cache && (r->cache->kind != TD_CACHE_RAW || grouped))
		return td_err(e, TUNDISH_E_USAGE, grouped ? "clips of several records are not kept in a cache" :
		    "with clip the cache can be raw only");
	return 0;
}

static int check_mixes(const struct td_recipe *r, struct tundish_error *e)
{
	if (!any_image(r))
		return td_err(e, TUNDISH_E_USAGE, "mixup and cutmix need pictures that go out");
	if (td_outs_have(&r->outs, TD_OUT_LABEL) && !r->outs.classes)
		return td_err(e, TUNDISH_E_USAGE, "mixup and cutmix need labels as classes: one_hot:N; or select "
		    "without label");
	return 0;
}

int td_probe(struct tundish_flow *f, const struct td_keys *asked, struct tundish_error *e)
{
	struct td_recipe *r = &f->recipe;
	int rc = find_keys(f, asked, e);
	if (rc < 0)
		return rc;
	f->has_images = any_image(r);
	if (!f->has_images && r->chain.n > 0)
		return td_err(e, TUNDISH_E_USAGE, "there are operations, but no %s", r->chain.select ?
		    "picture that goes out: select image, too" :
		    "feature image or image/encoded in the records for them; name it");
	if (r->chain.n_mixes)
		rc = check_mixes(r, e);
	if (rc == 0 && r->chain.clip.frames)
		rc = check_clips(f, asked, e);
	if (rc < 0 || !f->has_images)
		return rc;
	rc = find_channels(f, e);
	if (rc < 0)
		return rc;
	struct td_size size = td_chain_size(&r->chain);
	if (size.width && size.height)
		return td_recipe_set_size(r, size, e);
	return f->set.stream ? find_stream_size(f, e) : find_size(f, e);
}
