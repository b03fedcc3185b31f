/* SPDX-License-Identifier: BSD-2-Clause
 * Which features the records of a set have: kinds, numbers of values, what is missing where. */
#include "schema.h"

#include <stdlib.h>
#include <string.h>

static struct td_feature_facts *facts_at(const struct td_schema *s, size_t i)
{
	return td_map_value(&s->features, i);
}

const char *td_kind_name(int kind)
{
	static const char *const names[] = { "none", "bytes", "float", "int64" };
	return kind >= 0 && kind < (int)TD_COUNT(names) ? names[kind] : "none";
}

static size_t number_of(const struct td_schema *s, const struct td_feature_facts *f)
{
	return (size_t)(f - facts_at(s, 0));
}

bool td_schema_feature(struct td_schema *s, const struct tundish_feature *f)
{
	s->features.value_bytes = sizeof(struct td_feature_facts);
	struct td_feature_facts *facts = td_map_find(&s->features, f->key, f->key_bytes);
	if (!facts && s->features.n >= TD_SCHEMA_FEATURES) {
		s->left_out++;
		return true;
	}
	if (!facts)
		facts = td_map_at(&s->features, f->key, f->key_bytes);
	if (!facts)
		return false;
	facts->now = *f;
	if (facts->seen == s->records + 1)
		return true;
	facts->seen = s->records + 1;
	if (!td_grow(&s->touched, &s->touched_cap, s->n_touched, sizeof *s->touched))
		return false;
	s->touched[s->n_touched++] = number_of(s, facts);
	return true;
}

static void add_kind(struct td_kind_facts *k, const struct td_kind_facts *from)
{
	if (from->records == 0)
		return;
	if (k->records == 0) {
		*k = *from;
		return;
	}
	k->records += from->records;
	k->empty += from->empty;
	k->least = TD_MIN(k->least, from->least);
	k->most = TD_MAX(k->most, from->most);
}

static void count_bytes(struct td_feature_facts *facts)
{
	const uint8_t *data;
	size_t bytes;
	/* lists without bytes come from feature lists */
	if (facts->now.kind != TUNDISH_BYTES || !facts->now.list ||
	    tundish_feature_bytes(&facts->now, 0, &data, &bytes) <= 0)
		return;
	bool first = facts->kinds[TUNDISH_BYTES].most == 0;
	facts->least_bytes = first ? bytes : TD_MIN(facts->least_bytes, bytes);
	facts->most_bytes = TD_MAX(facts->most_bytes, bytes);
}

static bool keep_steady(struct td_schema *s, size_t i)
{
	if (!td_grow(&s->steady, &s->steady_cap, s->n_steady, sizeof *s->steady))
		return false;
	s->steady[s->n_steady++] = i;
	return true;
}

/* Features that were in all records so far and are not in this one. */
static void find_missing(struct td_schema *s, const char *path, uint64_t record)
{
	for (size_t i = 0; i < s->n_steady;) {
		struct td_feature_facts *f = facts_at(s, s->steady[i]);
		if (f->seen == s->records + 1) {
			i++;
			continue;
		}
		f->missing = (struct td_where){ path, record };
		s->steady[i] = s->steady[--s->n_steady];
	}
}

bool td_schema_record(struct td_schema *s, const char *path, uint64_t record)
{
	if (s->records == 0)
		s->first = (struct td_where){ path, record };
	for (size_t i = 0; i < s->n_touched; i++) {
		struct td_feature_facts *f = facts_at(s, s->touched[i]);
		bool fresh = f->records == 0;
		count_bytes(f);
		uint64_t n = f->now.count;
		add_kind(&f->kinds[f->now.kind & 3], &(struct td_kind_facts){ 1, n, n, n == 0, path });
		f->records++;
		if (fresh && s->records > 0)
			f->missing = s->first;
		else if (fresh && !keep_steady(s, s->touched[i]))
			return false;
	}
	find_missing(s, path, record);
	s->n_touched = 0;
	s->records++;
	return true;
}

static bool merge_feature(struct td_schema *s, const struct td_schema *part, size_t i)
{
	const struct td_feature_facts *from = facts_at(part, i);
	if (s->features.n >= TD_SCHEMA_FEATURES &&
	    !td_map_find(&s->features, td_map_key(&part->features, i),
		part->features.entries[i].key_bytes)) {
		s->left_out += from->records;
		return true;
	}
	struct td_feature_facts *f = td_map_at(&s->features, td_map_key(&part->features, i),
	    part->features.entries[i].key_bytes);
	if (!f)
		return false;
	bool bytes_known = f->kinds[TUNDISH_BYTES].most > 0;
	if (from->kinds[TUNDISH_BYTES].most > 0) {
		f->least_bytes = bytes_known ? TD_MIN(f->least_bytes, from->least_bytes) :
					       from->least_bytes;
		f->most_bytes = TD_MAX(f->most_bytes, from->most_bytes);
	}
	for (size_t k = 0; k < TD_COUNT(f->kinds); k++)
		add_kind(&f->kinds[k], &from->kinds[k]);
	if (!f->missing.path)
		f->missing = f->records == 0 && s->records ? s->first : from->missing;
	f->records += from->records;
	f->seen = part->records; /* marks: this part has it */
	return true;
}

void td_schema_renumber(struct td_schema *s, uint64_t by)
{
	s->first.record += by;
	for (size_t i = 0; i < s->features.n; i++)
		facts_at(s, i)->missing.record += by;
}

bool td_schema_merge(struct td_schema *s, struct td_schema *part)
{
	if (part->records == 0)
		return true;
	s->features.value_bytes = sizeof(struct td_feature_facts);
	for (size_t i = 0; i < s->features.n; i++)
		facts_at(s, i)->seen = 0;
	for (size_t i = 0; i < part->features.n; i++) {
		if (!merge_feature(s, part, i))
			return false;
	}
	for (size_t i = 0; i < s->features.n; i++) {
		struct td_feature_facts *f = facts_at(s, i);
		if (f->seen == 0 && !f->missing.path)
			f->missing = part->first;
	}
	if (s->records == 0)
		s->first = part->first;
	s->records += part->records;
	s->left_out += part->left_out;
	td_map_clear(&part->features);
	part->records = part->left_out = part->n_steady = part->n_touched = 0;
	return true;
}

struct named {
	const uint8_t *key;
	size_t bytes, number;
};

static int by_name(const void *pa, const void *pb)
{
	const struct named *a = pa, *b = pb;
	int rc = memcmp(a->key, b->key, TD_MIN(a->bytes, b->bytes));
	return rc ? rc : (a->bytes > b->bytes) - (a->bytes < b->bytes);
}

size_t *td_schema_sorted(const struct td_schema *s)
{
	size_t n = s->features.n;
	struct named *names = calloc(n + 1, sizeof *names);
	size_t *order = calloc(n + 1, sizeof *order);
	if (names && order) {
		for (size_t i = 0; i < n; i++)
			names[i] = (struct named){ td_map_key(&s->features, i),
				s->features.entries[i].key_bytes, i };
		qsort(names, n, sizeof *names, by_name);
		for (size_t i = 0; i < n; i++)
			order[i] = names[i].number;
	} else {
		free(order);
		order = NULL;
	}
	free(names);
	return order;
}

void td_schema_free(struct td_schema *s)
{
	td_map_free(&s->features);
	free(s->steady);
	free(s->touched);
	*s = (struct td_schema){ 0 };
}
