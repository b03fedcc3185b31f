/* SPDX-License-Identifier: BSD-2-Clause
 * SequenceExamples, read in place: their feature lists, and how to tell them. */
#include "sequence.h"

#include <string.h>

void td_sequence_start(struct td_sequence *s, const void *data, size_t bytes)
{
	*s = (struct td_sequence){ .all = td_span(data, bytes) };
}

int td_sequence_find(struct td_feature_list *ret, const char *key, const void *data, size_t bytes)
{
	struct td_sequence s;
	struct td_feature_list list;
	size_t len = strlen(key);
	int rc;
	td_sequence_start(&s, data, bytes);
	while ((rc = td_sequence_next(&s, &list)) > 0) {
		if (list.key_bytes == len && memcmp(list.key, key, len) == 0) {
			*ret = list;
			return 1;
		}
	}
	return rc;
}

int td_sequence_step(struct td_steps *rest, struct tundish_feature *ret)
{
	struct td_span feature;
	int rc;
	while ((rc = td_wire_message(&rest->list, 1, &feature)) == 0)
		if ((rc = td_wire_message(&rest->entry, 2, &rest->list)) <= 0)
			return rc;
	if (rc < 0)
		return rc;
	struct tundish_feature f = { .key = "" };
	rc = td_feature_of_message(&f, feature);
	if (rc < 0)
		return rc;
	*ret = f;
	return 1;
}

/* A map entry: key and FeatureList. */
static int read_entry(struct td_span entry, struct td_feature_list *ret)
{
	struct td_wire_field f;
	struct td_feature_list list = { .key = "", .features.entry = entry };
	while (entry.p < entry.end) {
		if (!td_wire_next(&entry, &f))
			return TUNDISH_E_CORRUPT;
		if (f.type == TD_WIRE_BYTES && f.number == 1) {
			list.key = (const char *)f.body.p;
			list.key_bytes = td_span_bytes(f.body);
		}
	}
	struct td_steps rest = list.features;
	struct tundish_feature step;
	int rc;
	while ((rc = td_sequence_step(&rest, &step)) > 0) {
		list.steps++;
		list.kind = list.kind ? list.kind : step.kind;
	}
	if (rc == 0)
		*ret = list;
	return rc;
}

int td_sequence_next(struct td_sequence *s, struct td_feature_list *ret)
{
	for (;;) {
		struct td_span entry;
		int rc = td_wire_message(&s->lists, 1, &entry);
		if (rc > 0) {
			rc = read_entry(entry, ret);
			return rc < 0 ? rc : 1;
		}
		if (rc == 0)
			rc = td_wire_message(&s->all, 2, &s->lists);
		if (rc <= 0)
			return rc;
	}
}

enum td_message td_message_kind(const void *data, size_t bytes)
{
	struct tundish_feature f;
	size_t at = 0;
	int rc;
	while ((rc = tundish_example_next(data, bytes, &at, &f)) > 0)
		continue;
	if (rc < 0)
		return TD_MESSAGE_OTHER;
	struct td_sequence s;
	struct td_feature_list list;
	td_sequence_start(&s, data, bytes);
	rc = td_sequence_next(&s, &list);
	if (rc <= 0)
		return TD_MESSAGE_EXAMPLE;
	while (rc > 0)
		rc = td_sequence_next(&s, &list);
	return rc < 0 ? TD_MESSAGE_OTHER : TD_MESSAGE_SEQUENCE;
}

const char *td_message_name(enum td_message kind)
{
	static const char *const names[] = { "not an Example", "Example", "SequenceExample" };
	return names[kind];
}
