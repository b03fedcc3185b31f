/* SPDX-License-Identifier: BSD-2-Clause
 * A look at a few records before the start: under which names, and how large. */
#include "probe.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "stream.h"

#define LOOKS 16

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

static int note_keys(struct td_keys *keys, const struct td_keys *asked, const struct look *look,
    struct tundish_error *e)
{
	struct td_sample s;
	if (td_sample_find(&s, asked, look->data, look->bytes) < 0)
		return 0;
	int rc = keep_key(&keys->image, s.image, e);
	return rc < 0 ? rc : keep_key(&keys->label, s.label, e);
}

/* Record `record` of the set: 1 and the record, 0 when it is bad, or a hard error. */
static int look_at(struct tundish_flow *f, uint64_t record, struct look *ret, struct tundish_error *e)
{
	ret->spot = td_records_spot(&f->set, record);
	int rc = td_record_read(&f->hands[0].spare, &f->set, f->files, &ret->spot, &ret->data,
	    &ret->bytes, e);
	return rc == 0 ? 1 : hard(rc) ? rc : 0;
}

static int find_keys(struct tundish_flow *f, const struct td_keys *asked, struct tundish_error *e)
{
	struct look look;
	uint64_t n = TD_MIN(f->set.records, LOOKS);
	for (uint64_t i = 0; i < n; i++) {
		/* spread over the set, first and last among them */
		uint64_t record = n > 1 ?
		    (uint64_t)((unsigned __int128)i * (f->set.records - 1) / (n - 1)) : 0;
		int rc = look_at(f, record, &look, e);
		if (rc > 0)
			rc = note_keys(&f->recipe.keys, asked, &look, e);
		if (rc < 0)
			return rc;
	}
	return 0;
}

/* The same for a stream: its first records, which are kept. The first good one gives
 * the size, too. */
static int peek_stream(struct tundish_flow *f, const struct td_keys *asked, struct tundish_error *e)
{
	struct look look;
	int rc;
	while ((rc = td_stream_peek(f, &look.data, &look.bytes, &look.spot, e)) > 0) {
		rc = note_keys(&f->recipe.keys, asked, &look, e);
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
	if (!f->set.raw)
		snprintf(number, sizeof number, "record %llu: ", (unsigned long long)look->spot.number);
	snprintf(r->first, sizeof r->first, "%s: %s%ux%u",
	    TD_ESC(f->set.files.paths[look->spot.file]), number, size.height, size.width);
	rc = td_recipe_set_size(r, size, e);
	return rc < 0 ? rc : 1;
}

/* The first good record in the order of epoch 0; all ranks look at the same ones. */
static int find_size(struct tundish_flow *f, struct tundish_error *e)
{
	for (uint64_t i = 0; i < f->set.records; i++) {
		struct look look;
		uint64_t record;
		int rc = td_order_at(f->order, 0, i, &record) < 0 ? td_err_memory(e) : 1;
		if (rc > 0)
			rc = look_at(f, record, &look, e);
		if (rc > 0)
			rc = measure(f, &look, i, e);
		if (rc != 0)
			return rc < 0 ? rc : 0;
	}
	return td_recipe_set_size(&f->recipe, (struct td_size){ 1, 1 }, e);
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

int td_probe(struct tundish_flow *f, const struct td_keys *asked, struct tundish_error *e)
{
	struct td_recipe *r = &f->recipe;
	static const struct td_keys picture = { "picture", NULL };
	r->raw = f->set.raw;
	asked = r->raw ? &picture : asked;
	int rc = f->set.stream ? peek_stream(f, asked, e) : r->raw ? 0 : find_keys(f, asked, e);
	if (rc == 0)
		rc = take_asked(&r->keys, asked, e);
	if (rc < 0)
		return rc;
	f->has_images = r->keys.image != NULL;
	if (!f->has_images && r->chain.n > 0)
		return td_err(e, TUNDISH_E_USAGE, "there are operations, but no feature image or "
		    "image/encoded in the records for them; name it");
	if (!f->has_images)
		return 0;
	struct td_size size = td_chain_size(&r->chain);
	if (size.width && size.height)
		return td_recipe_set_size(r, size, e);
	return f->set.stream ? find_stream_size(f, e) : find_size(f, e);
}
