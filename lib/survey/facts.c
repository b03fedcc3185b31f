/* SPDX-License-Identifier: BSD-2-Clause
 * What a pass over records finds, of one file or of all merged so far. */
#include "facts.h"

#include "base/err.h"
#include "record/sequence.h"

static bool count_size(struct td_image_facts *facts, const struct td_image_info *info, size_t bytes)
{
	return td_tally_add(&facts->widths, info->width, 1) &&
	    td_tally_add(&facts->heights, info->height, 1) &&
	    td_tally_add(&facts->bytes, (int64_t)bytes, 1) &&
	    td_tally_add(&facts->channels, info->channels, 1) &&
	    td_tally_add(&facts->bits, info->bits, 1);
}

static int decode(struct td_facts *f, const struct td_look *look, const struct td_image_info *info,
    const uint8_t *data, size_t bytes, struct td_decoder *d, struct tundish_error *e)
{
	struct td_image_info again;
	struct td_pixels pixels;
	int rc = look->levels ? td_decode(d, &pixels, info, data, bytes, NULL, false, e) :
	    td_image_check(&again, data, bytes, TUNDISH_CHECK_DECODE, look->max_pixels, d, e);
	if (rc < 0)
		return rc;
	if (look->levels)
		td_levels_add(&f->levels, &pixels);
	f->images.decoded++;
	return 0;
}

static int count_picture(struct td_facts *f, const struct td_look *look, const uint8_t *data,
    size_t bytes, struct td_decoder *d, struct tundish_error *e)
{
	struct td_image_facts *facts = &f->images;
	if (bytes == 0) {
		facts->empty++;
		return look->decode || look->levels ?
		    td_err(e, TUNDISH_E_CORRUPT, "the picture is empty") : 0;
	}
	enum td_image_kind kind = td_image_probe(data, bytes);
	facts->kinds[kind % TD_IMAGE_KINDS]++;
	if (kind == TD_IMAGE_NONE)
		return 0;
	/* a header is read at no cost, whatever it says */
	struct td_image_info info;
	bool decodes = look->decode || look->levels;
	int rc = td_image_header(&info, data, bytes, decodes ? look->max_pixels : UINT64_MAX, e);
	if (rc == 0 && decodes)
		rc = decode(f, look, &info, data, bytes, d, e);
	facts->large += rc == 0 && (uint64_t)info.width * info.height > look->max_pixels;
	if (rc < 0) {
		facts->bad++;
		return rc;
	}
	return count_size(facts, &info, bytes) ? 1 : td_err_memory(e);
}

/* All values of the picture feature: the error of the first bad one; else whether the first
 * is a picture. */
static int count_pictures(struct td_facts *facts, const struct td_look *look,
    const struct tundish_feature *f, struct td_decoder *d, struct tundish_error *e)
{
	const uint8_t *data;
	size_t bytes;
	int first = 0;
	struct tundish_error ignored;
	for (uint64_t i = 0; f->kind == TUNDISH_BYTES && i < f->count; i++) {
		int rc = tundish_feature_bytes(f, i, &data, &bytes);
		if (rc > 0)
			rc = count_picture(facts, look, data, bytes, d, first < 0 ? &ignored : e);
		if (rc == TUNDISH_E_MEMORY)
			return rc;
		if (i == 0 || (rc < 0 && first >= 0))
			first = rc;
	}
	return first;
}

static void count_other(struct td_facts *f, const char *path, const struct tundish_record *r)
{
	if (f->others++ == 0)
		f->other = (struct td_where){ path, r->number };
}

static bool count_features(struct td_schema *s, const char *path, const struct tundish_record *r)
{
	struct tundish_feature f;
	for (size_t at = 0; tundish_example_next(r->data, r->bytes, &at, &f) > 0;) {
		if (!td_schema_feature(s, &f))
			return false;
	}
	return td_schema_record(s, path, r->number);
}

/* The static name, or the one asked for, of what has it; NULL: it is called otherwise. */
static const char *known_name(const char *key, size_t bytes, const char *asked,
    const char *const usual[TD_KEYS])
{
	int rank = td_key_rank(key, bytes, asked, usual);
	return rank < 0 ? NULL : asked ? asked : usual[rank];
}

/* Those in the steps of a list: the error of the first bad one, or 0. */
static int count_list_pictures(struct td_facts *f, const struct td_look *look,
    const struct td_feature_list *list, struct td_decoder *d, struct tundish_error *e)
{
	struct td_steps rest = list->features;
	struct tundish_feature step;
	struct tundish_error ignored;
	int first = 0;
	while (td_sequence_step(&rest, &step) > 0) {
		int rc = count_pictures(f, look, &step, d, first < 0 ? &ignored : e);
		if (rc == TUNDISH_E_MEMORY)
			return rc;
		if (rc < 0 && first >= 0)
			first = rc;
	}
	return first;
}

static int count_sequence_pictures(struct td_facts *f, const struct td_look *look,
    const struct tundish_record *r, struct td_decoder *d, struct tundish_error *e)
{
	struct td_sequence sequence;
	struct td_feature_list list;
	int rc = 0;
	td_sequence_start(&sequence, r->data, r->bytes);
	while (rc == 0 && td_sequence_next(&sequence, &list) > 0) {
		const char *name = known_name(list.key, list.key_bytes, look->keys.image, td_image_keys);
		if (!name || list.kind != TUNDISH_BYTES)
			continue;
		f->image_key = f->image_key ? f->image_key : name;
		rc = count_list_pictures(f, look, &list, d, e);
	}
	return rc;
}

static bool count_sequence(struct td_facts *f, const char *path, const struct tundish_record *r)
{
	struct td_sequence sequence;
	struct td_feature_list list;
	f->sequences++;
	td_sequence_start(&sequence, r->data, r->bytes);
	while (td_sequence_next(&sequence, &list) > 0) {
		const struct tundish_feature steps = { .key = list.key, .key_bytes = list.key_bytes,
			.kind = list.kind, .count = list.steps };
		if (!td_schema_feature(&f->lists, &steps))
			return false;
	}
	return td_schema_record(&f->lists, path, r->number) && count_features(&f->context, path, r);
}

int td_facts_record(struct td_facts *f, const struct td_look *look, const char *path,
    const struct tundish_record *r, struct td_decoder *d, struct tundish_error *e)
{
	f->payload_bytes += r->bytes;
	if (!td_tally_add(&f->sizes, (int64_t)r->bytes, 1))
		return td_err_memory(e);
	/* looked through first: a record that turns out bad must not leave half its features */
	struct td_sample sample;
	if (td_sample_find(&sample, &look->keys, r->data, r->bytes) < 0) {
		count_other(f, path, r);
		return 0;
	}
	if (td_message_kind(r->data, r->bytes) == TD_MESSAGE_SEQUENCE)
		return count_sequence(f, path, r) ? count_sequence_pictures(f, look, r, d, e) :
						    td_err_memory(e);
	f->examples++;
	f->empty += r->bytes == 0;
	f->labels.values.value_bytes = sizeof(struct td_by_value);
	f->has_label = sample.label != NULL;
	if (sample.label && !f->label_key)
		f->label_key = known_name(sample.label->key, sample.label->key_bytes, look->keys.label,
		    td_label_keys);
	if (sample.image && !f->image_key)
		f->image_key = known_name(sample.image->key, sample.image->key_bytes, look->keys.image,
		    td_image_keys);
	if (!count_features(&f->example, path, r) || !td_by_add(&f->labels, sample.label) ||
	    (sample.label && !td_order_add(&f->order, f->labels.text.data, f->labels.text.len)))
		return td_err_memory(e);
	return sample.image ? count_pictures(f, look, sample.image, d, e) : 0;
}

static bool merge_images(struct td_image_facts *f, struct td_image_facts *part)
{
	for (size_t i = 0; i < TD_IMAGE_KINDS; i++) {
		f->kinds[i] += part->kinds[i];
		part->kinds[i] = 0;
	}
	f->empty += part->empty;
	f->bad += part->bad;
	f->decoded += part->decoded;
	f->large += part->large;
	part->empty = part->bad = part->decoded = part->large = 0;
	return td_tally_merge(&f->widths, &part->widths) &&
	    td_tally_merge(&f->heights, &part->heights) &&
	    td_tally_merge(&f->bytes, &part->bytes) &&
	    td_tally_merge(&f->channels, &part->channels) && td_tally_merge(&f->bits, &part->bits);
}

bool td_facts_merge(struct td_facts *f, struct td_facts *part)
{
	if (f->others == 0)
		f->other = part->other;
	f->image_key = f->image_key ? f->image_key : part->image_key;
	f->label_key = f->label_key ? f->label_key : part->label_key;
	part->image_key = part->label_key = NULL;
	f->examples += part->examples;
	f->sequences += part->sequences;
	f->others += part->others;
	f->empty += part->empty;
	f->payload_bytes += part->payload_bytes;
	part->examples = part->sequences = part->others = part->empty = part->payload_bytes = 0;
	f->labels.values.value_bytes = sizeof(struct td_by_value);
	if (part->levels.images)
		td_levels_merge(&f->levels, &part->levels);
	return td_schema_merge(&f->example, &part->example) &&
	    td_schema_merge(&f->context, &part->context) &&
	    td_schema_merge(&f->lists, &part->lists) && td_tally_merge(&f->sizes, &part->sizes) &&
	    merge_images(&f->images, &part->images) &&
	    td_order_merge(&f->order, &part->order) && td_by_merge(&f->labels, &part->labels);
}

void td_facts_renumber(struct td_facts *f, uint64_t by)
{
	f->other.record += by;
	td_schema_renumber(&f->example, by);
	td_schema_renumber(&f->context, by);
	td_schema_renumber(&f->lists, by);
}

void td_facts_free(struct td_facts *f)
{
	td_schema_free(&f->example);
	td_schema_free(&f->context);
	td_schema_free(&f->lists);
	td_tally_free(&f->sizes);
	td_tally_free(&f->images.widths);
	td_tally_free(&f->images.heights);
	td_tally_free(&f->images.bytes);
	td_tally_free(&f->images.channels);
	td_tally_free(&f->images.bits);
	td_order_free(&f->order);
	td_by_free(&f->labels);
}
