/* SPDX-License-Identifier: BSD-2-Clause
 * A look at a few records before the start: under which names, and how large. */
#include "probe.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
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
	struct td_keys *keys;
	struct td_schema *seen; /* NULL: features do not matter */
	struct td_tensor *tensor;
	bool clips;
};

static int note_features(struct td_schema *seen, const struct look *look, struct tundish_error *e)
{
	struct tundish_feature feature;
	size_t at = 0;
	bool ok = true;
	while (ok && tundish_example_next(look->data, look->bytes, &at, &feature) > 0)
		ok = td_schema_feature(seen, &feature);
	return ok && td_schema_record(seen, NULL, 0) ? 0 : td_err_memory(e);
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
static int note_image(const struct search *search, const struct look *look, const struct tundish_feature *f,
    struct tundish_error *e)
{
	if (search->keys->image || !f)
		return 0;
	int rc = keep_key(&search->keys->image, f, e);
	struct td_frames frames;
	struct td_bytes first;
	if (rc == 0 && td_frames_find(&frames, search->keys->image, look->data, look->bytes) == 1 && frames.n &&
	    td_frames_take(&frames, 0, 1, 1, &first, NULL) == 0)
		td_tensor_look(search->tensor, search->keys->image, look->data, look->bytes, first.data, first.len);
	return rc;
}

static int note_record(const struct search *search, const struct look *look, struct tundish_error *e)
{
	struct td_sample s;
	if (td_sample_find(&s, search->asked, look->data, look->bytes) < 0)
		return 0;
	if (!s.image && find_value(search->asked->image, look, &s.image_feature))
		s.image = &s.image_feature;
	if (!s.image && search->clips && find_list(search->asked, look, &s.image_feature))
		s.image = &s.image_feature;
	int rc = note_image(search, look, s.image, e);
	if (rc == 0)
		rc = keep_key(&search->keys->label, s.label, e);
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

static int search_files(struct tundish_flow *f, const struct search *search, struct tundish_error *e)
{
	struct look look;
	uint64_t n = TD_MIN(f->set.records, LOOKS);
	for (uint64_t i = 0; i < n; i++) {
		/* spread over the set, first and last among them */
		uint64_t record = n > 1 ?
		    (uint64_t)((unsigned __int128)i * (f->set.records - 1) / (n - 1)) : 0;
		int rc = look_at(f, record, &look, e);
		if (rc > 0)
			rc = note_record(search, &look, e);
		if (rc < 0)
			return rc;
	}
	return 0;
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
	struct td_size size;
	int rc = td_recipe_measure(r, &f->hands[0].desk, look->data, look->bytes, 0, position, &size, e);
	if (rc < 0)
		return rc == TUNDISH_E_MEMORY ? rc : 0;
	char number[32] = "";
	if (!f->set.items)
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

/* The first good array in that order tells how many channels all have. */
static int find_tensor(struct tundish_flow *f, struct tundish_error *e)
{
	for (uint64_t i = 0; i < f->share.records && i < TENSOR_LOOKS; i++) {
		struct look look;
		struct td_pick pick;
		int rc = td_sampler_at(&f->sampler, 0, i, &pick) < 0 ? td_err_memory(e) : 1;
		if (rc > 0)
			rc = look_at(f, pick.record, &look, e);
		if (rc < 0 || (rc > 0 && td_recipe_try_tensor(&f->recipe, look.data, look.bytes)))
			return rc;
	}
	return 0;
}

static void find_stream_tensor(struct tundish_flow *f)
{
	for (unsigned i = 0; i < f->stream.n_peeked; i++) {
		if (td_recipe_try_tensor(&f->recipe, f->stream.peeked[i].data.data, f->stream.peeked[i].data.len))
			return;
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

/* Finds out what goes out; of the rest the names are not needed. */
static int find_outs(struct tundish_flow *f, const struct td_schema *seen, struct tundish_error *e)
{
	struct td_recipe *r = &f->recipe;
	r->outs.classes = r->chain.classes;
	int rc = td_outs_open(&r->outs, r->chain.select, r->chain.select_len, &r->keys, seen, e);
	if (rc < 0)
		return rc;
	if (!td_outs_have(&r->outs, TD_OUT_IMAGE))
		forget(&r->keys.image);
	if (!td_outs_have(&r->outs, TD_OUT_LABEL))
		forget(&r->keys.label);
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
	struct td_schema seen = { 0 };
	const struct search search = { asked, &r->keys, r->chain.select ? &seen : NULL, &r->tensor,
		r->chain.clip.frames > 0 && !r->grouped };
	int rc = f->set.stream ? search_stream(f, &search, e) : search_files(f, &search, e);
	if (rc == 0)
		rc = take_asked(&r->keys, asked, e);
	if (rc == 0)
		rc = find_outs(f, &seen, e);
	td_schema_free(&seen);
	return rc;
}

static int find_channels(struct tundish_flow *f, struct tundish_error *e)
{
	struct td_recipe *r = &f->recipe;
	int rc = td_tensor_settle(&r->tensor, &r->chain, r->keys.image, f->set.files.paths[0], e);
	if (rc == 0 && r->tensor.on && f->set.stream)
		find_stream_tensor(f);
	else if (rc == 0 && r->tensor.on)
		rc = find_tensor(f, e);
	return rc < 0 ? rc : td_recipe_set_channels(r, e);
}

static int check_clips(const struct td_recipe *r, struct tundish_error *e)
{
	if (!r->keys.image)
		return td_err(e, TUNDISH_E_USAGE, "clip needs a list of frames that goes out: image, image/encoded "
		    "or frames, a feature or a list of SequenceExamples; name it");
	if (r->cache && (r->cache->kind != TD_CACHE_RAW || r->grouped))
		return td_err(e, TUNDISH_E_USAGE, r->grouped ? "clips of several records are not kept in a cache" :
		    "with clip the cache can be raw only");
	return 0;
}

static int check_mixes(const struct td_recipe *r, struct tundish_error *e)
{
	if (!r->keys.image)
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
	f->has_images = r->keys.image != NULL;
	if (!f->has_images && r->chain.n > 0)
		return td_err(e, TUNDISH_E_USAGE, "there are operations, but no %s", r->chain.select ?
		    "picture that goes out: select image, too" :
		    "feature image or image/encoded in the records for them; name it");
	if (r->chain.n_mixes)
		rc = check_mixes(r, e);
	if (rc == 0 && r->chain.clip.frames)
		rc = check_clips(r, e);
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
