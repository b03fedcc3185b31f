/* SPDX-License-Identifier: BSD-2-Clause
 * What goes out for each record, as it is asked for. */
#include "outs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/number.h"

#define OUTS_MOST 64
#define NAME_MOST 200

/* What stands behind the = of a name. */
struct asked {
	bool ragged, bytes;
	uint64_t count; /* 0: not given */
};

static bool equals(const char *name, const char *s, size_t len)
{
	return name && strlen(name) == len && memcmp(name, s, len) == 0;
}

static bool read_count(const char *s, size_t len, uint64_t *ret)
{
	return td_parse_u64(ret, s, len) && *ret > 0 && *ret <= 10000000;
}

static const struct td_feature_facts *facts_of(const struct td_schema *s, const char *name, size_t len)
{
	return td_map_find(&s->features, name, len);
}

static bool is_there(const struct td_seen *seen, const char *name, size_t len)
{
	return facts_of(&seen->features, name, len) || facts_of(&seen->lists, name, len);
}

/* Of the steps looked at all have as many values. */
static int read_steps(struct td_out *out, const struct td_seen *seen, struct tundish_error *e)
{
	const struct td_feature_facts *f = facts_of(&seen->steps, out->key, strlen(out->key));
	const struct td_kind_facts *facts = f ? &f->kinds[out->kind] : NULL;
	out->step = facts && facts->most ? facts->most : 1;
	if (out->kind == TUNDISH_BYTES && out->step > 1)
		return td_err(e, TUNDISH_E_USAGE, "select: the steps of list %s hold several texts each", TD_ESC(out->key));
	return 0;
}

/* Of the records looked at: the kind, and whether all have the same number of values. Of
 * lists that is never taken for granted. */
static int read_facts(struct td_out *out, const struct td_seen *seen, const struct asked *asked,
    struct tundish_error *e)
{
	const struct td_feature_facts *f = facts_of(&seen->features, out->key, strlen(out->key));
	bool listed = !f;
	if (listed)
		f = facts_of(&seen->lists, out->key, strlen(out->key));
	uint64_t least = UINT64_MAX, most = 0, best = 0;
	for (int k = TUNDISH_BYTES; f && k <= TUNDISH_INT64; k++) {
		const struct td_kind_facts *facts = &f->kinds[k];
		if (facts->records > best) {
			best = facts->records;
			out->kind = k;
		}
		least = facts->records ? TD_MIN(least, facts->least) : least;
		most = TD_MAX(most, facts->most);
	}
	if (best == 0)
		return td_err(e, TUNDISH_E_USAGE, "select: no feature %s in the records looked at",
		    TD_ESC(out->key));
	bool always = !listed && f->records == seen->features.records && f->kinds[TUNDISH_KIND_NONE].records == 0;
	out->ragged = asked->ragged || (!asked->count && (!always || least != most || most == 0));
	out->count = asked->count ? asked->count : most;
	return listed ? read_steps(out, seen, e) : 0;
}

/* Bytes a row, where that is known; else there will be lengths. */
static int plan_feature(struct td_outs *outs, struct td_out *out, const struct td_seen *seen,
    struct tundish_error *e)
{
	const struct td_schema *schema = out->step ? &seen->lists : &seen->features;
	const struct td_feature_facts *f = facts_of(schema, out->key, strlen(out->key));
	bool text = out->kind == TUNDISH_BYTES;
	size_t each = text ? f->most_bytes + sizeof(uint64_t) :
	    (out->kind == TUNDISH_FLOAT ? 4 : 8) * TD_MAX(out->step, (uint64_t)1);
	if (!out->ragged && !text) {
		out->row_bytes = out->count * each;
		return 0;
	}
	outs->loose_bytes += f->kinds[out->kind].most * each;
	return asprintf(&out->lengths, "%s/lengths", out->name) < 0 ? td_err_memory(e) : 0;
}

static int add_out(struct td_outs *outs, const char *name, size_t len, const struct asked *asked,
    const struct td_keys *keys, const struct td_seen *seen, struct tundish_error *e)
{
	if (outs->n == OUTS_MOST || len == 0 || len > NAME_MOST)
		return td_err(e, TUNDISH_E_USAGE, "select takes 1 to %d names of 1 to %d bytes", OUTS_MOST,
		    NAME_MOST);
	struct td_out *out = &outs->list[outs->n++];
	*out = (struct td_out){ .source = TD_OUT_FEATURE, .name = strndup(name, len) };
	if (!out->name)
		return td_err_memory(e);
	for (unsigned i = 0; i + 1 < outs->n; i++) {
		if (equals(outs->list[i].name, name, len))
			return td_err(e, TUNDISH_E_USAGE, "select names %s twice", TD_ESC(out->name));
	}
	bool plain = !asked->ragged && !asked->bytes && !asked->count;
	bool there = seen && is_there(seen, name, len);
	if (plain && (equals(keys->image, name, len) || (!there && keys->image && equals("image", name, len))))
		out->source = TD_OUT_IMAGE;
	else if (plain && (equals(keys->label, name, len) || (!there && equals("label", name, len))))
		out->source = TD_OUT_LABEL;
	else if (plain && !there && equals("valid", name, len))
		out->source = TD_OUT_VALID;
	if (out->source != TD_OUT_FEATURE)
		return 0;
	bool usual = !there && keys->image && equals("image", name, len);
	out->key = usual ? strdup(keys->image) : strndup(name, len);
	if (!out->key)
		return td_err_memory(e);
	int rc = read_facts(out, seen, asked, e);
	if (rc == 0 && asked->bytes && out->kind != TUNDISH_BYTES)
		rc = td_err(e, TUNDISH_E_USAGE, "select: feature %s is no bytes", TD_ESC(out->key));
	return rc < 0 ? rc : plan_feature(outs, out, seen, e);
}

/* A name; or several with slashes between, when no feature is called like that: of those
 * that there are, the longest first. */
static int add_names(struct td_outs *outs, const char *name, size_t len, const struct td_keys *keys,
    const struct td_seen *seen, struct tundish_error *e)
{
	const struct asked plain = { 0 };
	while (len > 0) {
		size_t n = len;
		bool known = false;
		while (n > 0 && !known) {
			known = (seen && is_there(seen, name, n)) || equals("image", name, n) ||
			    equals("label", name, n) || equals("valid", name, n);
			const char *slash = known ? NULL : memrchr(name, '/', n);
			n = known ? n : slash ? (size_t)(slash - name) : 0;
		}
		n = known ? n : len;
		int rc = add_out(outs, name, n, &plain, keys, seen, e);
		if (rc < 0)
			return rc;
		size_t used = n < len ? n + 1 : n;
		name += used;
		len -= used;
	}
	return 0;
}

static int add_part(struct td_outs *outs, const char *part, size_t len, const struct td_keys *keys,
    const struct td_seen *seen, struct tundish_error *e)
{
	const char *sign = memchr(part, '=', len);
	struct asked asked = { 0 };
	if (!sign && len)
		return add_names(outs, part, len, keys, seen, e);
	size_t name = sign ? (size_t)(sign - part) : 0, rest = sign ? len - name - 1 : 0;
	asked.ragged = sign && equals("ragged", sign + 1, rest);
	asked.bytes = sign && equals("bytes", sign + 1, rest);
	if (sign && !asked.ragged && !asked.bytes && !read_count(sign + 1, rest, &asked.count))
		return td_err(e, TUNDISH_E_USAGE, "select: \"%s\" is none of NAME, NAME=N, NAME=ragged, NAME=bytes",
		    td_escape((char[256]){ 0 }, 256, part, len));
	return add_out(outs, part, name, &asked, keys, seen, e);
}

static int add_usual(struct td_outs *outs, const struct td_keys *keys, struct tundish_error *e)
{
	const struct asked plain = { 0 };
	const struct td_keys usual = { keys->image ? "image" : NULL, "label" };
	int rc = keys->image ? add_out(outs, "image", 5, &plain, &usual, NULL, e) : 0;
	return rc < 0 ? rc : add_out(outs, "label", 5, &plain, &usual, NULL, e);
}

int td_outs_open(struct td_outs *ret, const char *text, size_t len, const struct td_keys *keys,
    const struct td_seen *seen, struct tundish_error *e)
{
	int rc = 0;
	ret->list = calloc(OUTS_MOST, sizeof *ret->list);
	if (!ret->list)
		return td_err_memory(e);
	if (!text)
		rc = add_usual(ret, keys, e);
	for (size_t at = 0; text && at <= len && rc == 0;) {
		const char *comma = memchr(text + at, ',', len - at);
		size_t n = comma ? (size_t)(comma - text) - at : len - at;
		rc = add_part(ret, text + at, n, keys, seen, e);
		at += n + 1;
	}
	for (unsigned i = 0; i < ret->n; i++) {
		struct td_out *out = &ret->list[i];
		if (out->source == TD_OUT_LABEL)
			out->row_bytes = ret->classes * sizeof(float);
		if (out->source == TD_OUT_VALID)
			out->row_bytes = 1;
		ret->row_bytes += out->row_bytes;
		ret->n_arrays += out->lengths ? 2 : 1;
	}
	return rc;
}

bool td_outs_have(const struct td_outs *outs, enum td_out_source source)
{
	for (unsigned i = 0; i < outs->n; i++) {
		if (outs->list[i].source == source)
			return true;
	}
	return false;
}

void td_outs_close(struct td_outs *outs)
{
	for (unsigned i = 0; i < outs->n; i++) {
		free(outs->list[i].name);
		free(outs->list[i].key);
		free(outs->list[i].lengths);
	}
	free(outs->list);
	*outs = (struct td_outs){ 0 };
}
