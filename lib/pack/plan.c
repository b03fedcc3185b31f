/* SPDX-License-Identifier: BSD-2-Clause
 * The plan of a set: which item goes to which split and shard, in which order. */
#include "plan.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/rng.h"

#define WHOLE 1000000000u /* parts of a split are billionths */

/* ---- the words ---- */

/* "0.9", ".9", "1", "90%" in billionths. */
static bool parse_part(const char *s, size_t len, uint64_t *ret)
{
	bool percent = len > 0 && s[len - 1] == '%';
	uint64_t value = 0, unit = WHOLE / (percent ? 100 : 1);
	bool point = false, digits = false;
	for (size_t i = 0; i < len - percent; i++) {
		if (s[i] == '.' && !point) {
			point = true;
		} else if (isdigit((unsigned char)s[i])) {
			digits = true;
			uint64_t digit = (uint64_t)(s[i] - '0');
			if (point)
				unit /= 10;
			value = point ? value + digit * unit : value * 10 + digit * unit;
			if (value > WHOLE)
				return false;
		} else {
			return false;
		}
	}
	*ret = value;
	return digits;
}

/* Names go into file names and into TFDS, which knows no other characters. */
static bool good_name(const char *s, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (!isalnum((unsigned char)s[i]) && s[i] != '_' && s[i] != '-')
			return false;
	return len > 0 && len <= 100;
}

static struct td_plan_split *find_split(struct td_plan *p, const char *name, size_t len)
{
	for (size_t i = 0; i < p->n_splits; i++)
		if (strlen(p->splits[i].name) == len && memcmp(p->splits[i].name, name, len) == 0)
			return &p->splits[i];
	return NULL;
}

static int add_split(struct td_plan *p, const char *name, size_t len, uint64_t part, struct tundish_error *e)
{
	char text[TD_ESC_MAX];
	if (!good_name(name, len))
		return td_err(e, TUNDISH_E_USAGE, "split: \"%s\": a name has letters, digits, _ and - only",
		    td_escape(text, sizeof text, name, len));
	if (find_split(p, name, len))
		return td_err(e, TUNDISH_E_USAGE, "split: %.*s is given twice", (int)len, name);
	if (part == 0)
		return td_err(e, TUNDISH_E_USAGE, "split: %.*s would get no record", (int)len, name);
	if (p->n_splits == TD_PLAN_SPLITS)
		return td_err(e, TUNDISH_E_USAGE, "split: more than %d", TD_PLAN_SPLITS);
	p->splits[p->n_splits].name = strndup(name, len);
	p->splits[p->n_splits].part = part;
	return p->splits[p->n_splits++].name ? 0 : td_err_memory(e);
}

/* "train=.9,val=.1" */
static int parse_split(struct td_plan *p, const char *spec, struct tundish_error *e)
{
	uint64_t sum = 0;
	for (const char *word = spec; word; word = strchr(word, ',') ? strchr(word, ',') + 1 : NULL) {
		size_t len = strcspn(word, ","), name = strcspn(word, "=,");
		uint64_t part;
		char text[TD_ESC_MAX];
		if (name == len || !parse_part(word + name + 1, len - name - 1, &part))
			return td_err(e, TUNDISH_E_USAGE, "split: \"%s\" is not NAME=PART with a part up to 1",
			    td_escape(text, sizeof text, word, len));
		int rc = add_split(p, word, name, part, e);
		if (rc < 0)
			return rc;
		sum += part;
	}
	if (sum < WHOLE - WHOLE / 1000 || sum > WHOLE + WHOLE / 1000)
		return td_err(e, TUNDISH_E_USAGE, "split: the parts of \"%s\" add up to %u.%03u, not 1",
		    TD_ESC(spec), (unsigned)(sum / WHOLE), (unsigned)(sum % WHOLE / (WHOLE / 1000)));
	return 0;
}

static bool parse_shards_number(const char *s, size_t len, size_t *ret)
{
	size_t value = 0;
	for (size_t i = 0; i < len; i++) {
		if (!isdigit((unsigned char)s[i]) || value > TD_PLAN_SHARDS)
			return false;
		value = value * 10 + (size_t)(s[i] - '0');
	}
	*ret = value;
	return len > 0 && value > 0 && value <= TD_PLAN_SHARDS;
}

/* "10" or "train=10,val=2" into the splits' n_shards; NULL leaves them 0. */
static int parse_shards(struct td_plan *p, const char *spec, struct tundish_error *e)
{
	size_t n;
	if (!spec)
		return 0;
	if (parse_shards_number(spec, strlen(spec), &n)) {
		for (size_t i = 0; i < p->n_splits; i++)
			p->splits[i].n_shards = n;
		return 0;
	}
	for (const char *word = spec; word; word = strchr(word, ',') ? strchr(word, ',') + 1 : NULL) {
		size_t len = strcspn(word, ","), name = strcspn(word, "=,");
		char text[TD_ESC_MAX];
		if (name == len || !parse_shards_number(word + name + 1, len - name - 1, &n))
			return td_err(e, TUNDISH_E_USAGE,
			    "shards: \"%s\" is neither a number from 1 to %d nor SPLIT=NUMBER",
			    td_escape(text, sizeof text, word, len), TD_PLAN_SHARDS);
		struct td_plan_split *split = find_split(p, word, name);
		if (!split || split->n_shards)
			return td_err(e, TUNDISH_E_USAGE, "shards: %s split \"%s\"",
			    split ? "twice" : "no", td_escape(text, sizeof text, word, name));
		split->n_shards = n;
	}
	for (size_t i = 0; i < p->n_splits; i++)
		if (p->splits[i].n_shards == 0)
			return td_err(e, TUNDISH_E_USAGE, "shards: no number for split %s", p->splits[i].name);
	return 0;
}

static int parse_words(struct td_plan *p, const char *shards, const char *split, struct tundish_error *e)
{
	p->splits = calloc(TD_PLAN_SPLITS, sizeof *p->splits);
	if (!p->splits)
		return td_err_memory(e);
	int rc = split ? parse_split(p, split, e) : add_split(p, "train", 5, WHOLE, e);
	return rc ? rc : parse_shards(p, shards, e);
}

int td_plan_check(const char *shards, const char *split, struct tundish_error *e)
{
	struct td_plan p = { 0 };
	int rc = parse_words(&p, shards, split, e);
	td_plan_free(&p);
	return rc;
}

/* ---- the numbers ---- */

/* Exact totals by largest remainder; the earlier split wins a tie. */
static int divide(struct td_plan *p, size_t n, const char *what, struct tundish_error *e)
{
	uint64_t whole = 0, given = 0, rest[TD_PLAN_SPLITS];
	for (size_t i = 0; i < p->n_splits; i++)
		whole += p->splits[i].part;
	for (size_t i = 0; i < p->n_splits; i++) {
		unsigned __int128 share = (unsigned __int128)n * p->splits[i].part;
		p->splits[i].n = (uint64_t)(share / whole);
		rest[i] = (uint64_t)(share % whole);
		given += p->splits[i].n;
	}
	for (; given < n; given++) {
		size_t best = 0;
		for (size_t i = 1; i < p->n_splits; i++)
			if (rest[i] > rest[best])
				best = i;
		p->splits[best].n++;
		rest[best] = 0;
	}
	for (size_t i = 0; i < p->n_splits; i++)
		if (p->splits[i].n == 0)
			return td_err(e, TUNDISH_E_USAGE, "split %s would get no %s of %zu",
			    p->splits[i].name, what, n);
	return 0;
}

/* Items by stratum, each stratum's in their order; start[k] is where stratum k begins. */
struct strata {
	size_t n;
	uint64_t *start;
	uint32_t *items;
};

static size_t stratum_of(const struct td_plan_options *o, size_t n_strata, size_t item)
{
	int32_t class = o->stratify && o->classes ? o->classes[item] : -1;
	return class < 0 ? n_strata - 1 : (size_t)class;
}

static int sort_by_stratum(struct strata *ret, const struct td_plan_options *o, struct tundish_error *e)
{
	struct strata s = { .n = 1 };
	for (size_t i = 0; o->stratify && o->classes && i < o->n; i++)
		if (o->classes[i] >= 0 && (size_t)o->classes[i] + 2 > s.n)
			s.n = (size_t)o->classes[i] + 2;
	s.start = calloc(s.n + 2, sizeof *s.start);
	s.items = malloc((o->n + 1) * sizeof *s.items);
	if (!s.start || !s.items) {
		free(s.start);
		free(s.items);
		return td_err_memory(e);
	}
	/* counted one place further on, then used as cursors: start[k] ends where k begins */
	for (size_t i = 0; i < o->n; i++)
		s.start[stratum_of(o, s.n, i) + 2]++;
	for (size_t k = 2; k < s.n + 2; k++)
		s.start[k] += s.start[k - 1];
	for (size_t i = 0; i < o->n; i++)
		s.items[s.start[stratum_of(o, s.n, i) + 1]++] = (uint32_t)i;
	*ret = s;
	return 0;
}

static int by_item(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	return x < y ? -1 : x > y;
}

static void shuffle(uint32_t *items, uint64_t n, uint64_t seed, uint64_t position, uint32_t purpose)
{
	struct td_rng rng;
	td_rng_at(&rng, seed, 0, position, purpose);
	td_rng_shuffle(&rng, items, (size_t)n, sizeof *items);
}

/* The split of each group, and the splits' sizes in items from then on. */
static int draw_groups(struct td_plan *p, const struct td_plan_options *o, uint8_t **ret, struct tundish_error *e)
{
	uint32_t *order = malloc((o->n_groups + 1) * sizeof *order);
	uint8_t *split_of = malloc(o->n_groups + 1);
	if (!order || !split_of) {
		free(order);
		free(split_of);
		return td_err_memory(e);
	}
	for (size_t i = 0; i < o->n_groups; i++)
		order[i] = (uint32_t)i;
	shuffle(order, o->n_groups, o->seed, 0, TD_RNG_SPLIT);
	size_t at = 0;
	for (size_t s = 0; s < p->n_splits; s++) {
		for (uint64_t k = 0; k < p->splits[s].n; k++)
			split_of[order[at++]] = (uint8_t)s;
		p->splits[s].n = 0;
	}
	for (size_t i = 0; i < o->n; i++)
		p->splits[split_of[o->groups[i]]].n++;
	free(order);
	*ret = split_of;
	return 0;
}

/* Like pick_split(), by the groups that a split has. */
static void pick_groups(const struct td_plan_options *o, const struct strata *s, const uint8_t *split_of,
    size_t split, uint32_t *out)
{
	for (size_t k = 0; k < s->n; k++) {
		uint64_t n = 0;
		for (uint64_t i = s->start[k]; i < s->start[k + 1]; i++)
			if (split_of[o->groups[s->items[i]]] == split)
				out[n++] = s->items[i];
		if (o->shuffle)
			shuffle(out, n, o->seed, (uint64_t)split << 32 | k, TD_RNG_ORDER);
		out += n;
	}
}

/* Items of one split, stratum after stratum, into `out`. counts is the table of
 * td_plan_round(); `taken` how many of each stratum earlier splits have. */
static void pick_split(const struct td_plan_options *o, const struct strata *s, const uint64_t *counts,
    size_t split, size_t n_splits, uint64_t *taken, uint32_t *out)
{
	for (size_t k = 0; k < s->n; k++) {
		uint64_t n = counts[k * n_splits + split];
		memcpy(out, s->items + s->start[k] + taken[k], n * sizeof *out);
		taken[k] += n;
		if (o->shuffle)
			shuffle(out, n, o->seed, (uint64_t)split << 32 | k, TD_RNG_ORDER);
		else
			qsort(out, n, sizeof *out, by_item);
		out += n;
	}
}

static struct td_plan_shard *start_shard(struct td_plan *p, const struct td_plan_split *split, size_t i,
    uint64_t n)
{
	struct td_plan_shard *shard = &p->shards[split->first_shard + i];
	*shard = (struct td_plan_shard){ .n = n, .split = (size_t)(split - p->splits), .number = i };
	if (split->first_shard + i)
		shard->first = shard[-1].first + shard[-1].n;
	return shard;
}

/* What becomes of a group in a split that keeps groups together. */
struct group {
	uint64_t n;    /* items in the split */
	uint32_t first;/* of them */
	uint32_t shard;
	bool dealt;
};

static struct group *count_groups(const struct td_plan_options *o, const uint32_t *picked, uint64_t n)
{
	struct group *groups = calloc(o->n_groups + 1, sizeof *groups);
	for (uint64_t i = 0; groups && i < n; i++) {
		struct group *g = &groups[o->groups[picked[i]]];
		g->first = g->n ? TD_MIN(g->first, picked[i]) : picked[i];
		g->n++;
	}
	return groups;
}

/* Of the shards that have no group of this round yet, the one with the fewest items. */
static size_t next_shard(const uint64_t *n, const uint8_t *used, size_t n_shards)
{
	size_t best = n_shards;
	for (size_t i = 0; i < n_shards; i++)
		if (!used[i] && (best == n_shards || n[i] < n[best]))
			best = i;
	return best;
}

/* Gives each group its shard: stretches of about equal length, or in turn. */
static int deal_groups(const struct td_plan_options *o, const struct td_plan_split *split,
    const uint32_t *picked, bool stretches, struct group *groups, uint64_t *shard_n, struct tundish_error *e)
{
	uint8_t *used = calloc(split->n_shards, 1);
	uint64_t before = 0;
	size_t round = 0;
	if (!used)
		return td_err_memory(e);
	for (uint64_t i = 0; i < split->n; i++) {
		struct group *g = &groups[o->groups[picked[i]]];
		if (g->dealt)
			continue;
		if (!stretches && round == split->n_shards) {
			memset(used, 0, split->n_shards);
			round = 0;
		}
		/* by where its middle lies */
		size_t shard = stretches ? (size_t)((unsigned __int128)(before + g->n / 2) * split->n_shards / split->n) :
					   next_shard(shard_n, used, split->n_shards);
		used[shard] = 1;
		round++;
		g->dealt = true;
		g->shard = (uint32_t)shard;
		shard_n[shard] += g->n;
		before += g->n;
	}
	free(used);
	return 0;
}

/* An item behind the first one of its group, for sorting. */
struct place {
	uint32_t shard, first, item;
};

static int by_place(const void *a, const void *b)
{
	const struct place *x = a, *y = b;
	if (x->shard != y->shard)
		return x->shard < y->shard ? -1 : 1;
	if (x->first != y->first)
		return x->first < y->first ? -1 : 1;
	return x->item < y->item ? -1 : x->item > y->item;
}

static void fill_shards(const struct td_plan_options *o, struct td_plan *p, const struct td_plan_split *split,
    const uint32_t *picked, const struct group *groups, const uint64_t *shard_n, struct place *places)
{
	for (uint64_t i = 0; i < split->n; i++) {
		const struct group *g = &groups[o->groups[picked[i]]];
		places[i] = (struct place){ g->shard, g->first, picked[i] };
	}
	qsort(places, split->n, sizeof *places, by_place);
	for (size_t i = 0; i < split->n_shards; i++)
		start_shard(p, split, i, shard_n[i]);
	uint32_t *out = p->order + p->shards[split->first_shard].first;
	for (uint64_t i = 0; i < split->n; i++)
		out[i] = places[i].item;
}

/* Deals whole groups to the shards of a split. */
static int deal_together(const struct td_plan_options *o, struct td_plan *p, const struct td_plan_split *split,
    const uint32_t *picked, struct tundish_error *e)
{
	bool stretches = !(o->stratify && o->classes);
	struct group *groups = count_groups(o, picked, split->n);
	uint64_t *shard_n = calloc(split->n_shards, sizeof *shard_n);
	struct place *places = malloc((split->n + 1) * sizeof *places);
	int rc = groups && shard_n && places ? 0 : td_err_memory(e);
	if (rc == 0)
		rc = deal_groups(o, split, picked, stretches, groups, shard_n, e);
	if (rc == 0)
		fill_shards(o, p, split, picked, groups, shard_n, places);
	free(groups);
	free(shard_n);
	free(places);
	return rc;
}

/* Deals a split's items to its shards in turn. `picked` is in strata; without strata and
 * shuffle the shards are stretches of it. */
static void deal(const struct td_plan_options *o, struct td_plan *p, const struct td_plan_split *split,
    const uint32_t *picked)
{
	bool stretches = !o->shuffle && !(o->stratify && o->classes);
	uint64_t from = 0;
	for (size_t i = 0; i < split->n_shards; i++) {
		uint64_t n = split->n / split->n_shards + (i < split->n % split->n_shards);
		struct td_plan_shard *shard = start_shard(p, split, i, n);
		uint32_t *out = p->order + shard->first;
		for (uint64_t j = 0; j < n; j++)
			out[j] = picked[stretches ? from + j : i + j * split->n_shards];
		from += n;
		if (o->shuffle)
			shuffle(out, n, o->seed, (uint64_t)shard->split << 32 | i, TD_RNG_SHARD);
		else
			qsort(out, n, sizeof *out, by_item);
	}
}

static void shards_by_size(const struct td_plan_options *o, struct td_plan_split *split,
    const uint32_t *picked)
{
	uint64_t bytes = 0;
	for (uint64_t i = 0; i < split->n; i++)
		if (td_add_overflow(bytes, o->bytes[picked[i]], &bytes))
			bytes = UINT64_MAX;
	uint64_t each = TD_MAX(o->shard_bytes, (uint64_t)1), n = bytes / each + (bytes % each != 0);
	split->n_shards = (size_t)TD_MAX(TD_MIN(TD_MIN(n, split->n), (uint64_t)TD_PLAN_SHARDS), (uint64_t)1);
}

static int add_shards(struct td_plan *p, struct td_plan_split *split, struct tundish_error *e)
{
	struct td_plan_shard *more = realloc(p->shards, (p->n_shards + split->n_shards) * sizeof *more);
	if (!more)
		return td_err_memory(e);
	p->shards = more;
	split->first_shard = p->n_shards;
	p->n_shards += split->n_shards;
	return 0;
}

static int fill(struct td_plan *p, const struct td_plan_options *o, const struct strata *s,
    struct tundish_error *e)
{
	uint64_t *class_n = calloc(s->n, sizeof *class_n), *taken = calloc(s->n, sizeof *taken);
	uint64_t *counts = calloc(s->n * p->n_splits, sizeof *counts);
	uint32_t *picked = malloc((o->n + 1) * sizeof *picked);
	uint8_t *split_of = NULL;
	int rc = class_n && taken && counts && picked ? 0 : td_err_memory(e);
	if (rc == 0 && o->groups && !o->split_items && p->n_splits > 1)
		rc = draw_groups(p, o, &split_of, e);
	for (size_t k = 0; rc == 0 && !split_of && k < s->n; k++) {
		class_n[k] = s->start[k + 1] - s->start[k];
		if (p->n_splits > 1)
			shuffle(s->items + s->start[k], class_n[k], o->seed, k, TD_RNG_SPLIT);
	}
	if (rc == 0 && !split_of && !td_plan_round(counts, class_n, s->n, p->splits, p->n_splits))
		rc = td_err_memory(e);
	for (size_t i = 0; rc == 0 && i < p->n_splits; i++) {
		if (split_of)
			pick_groups(o, s, split_of, i, picked);
		else
			pick_split(o, s, counts, i, p->n_splits, taken, picked);
		if (!o->shards)
			shards_by_size(o, &p->splits[i], picked);
		rc = add_shards(p, &p->splits[i], e);
		if (rc == 0 && o->groups && !o->shuffle)
			rc = deal_together(o, p, &p->splits[i], picked, e);
		else if (rc == 0)
			deal(o, p, &p->splits[i], picked);
	}
	free(class_n);
	free(taken);
	free(counts);
	free(picked);
	free(split_of);
	return rc;
}

int td_plan_make(struct td_plan *ret, const struct td_plan_options *o, struct tundish_error *e)
{
	struct td_plan p = { .n = o->n };
	struct strata s = { 0 };
	int rc = parse_words(&p, o->shards, o->split, e);
	bool grouped = o->groups && !o->split_items && p.n_splits > 1;
	if (rc == 0)
		rc = grouped ? divide(&p, o->n_groups, "group", e) : divide(&p, o->n, "record", e);
	p.order = malloc((o->n + 1) * sizeof *p.order);
	if (rc == 0 && !p.order)
		rc = td_err_memory(e);
	if (rc == 0)
		rc = sort_by_stratum(&s, o, e);
	if (rc == 0)
		rc = fill(&p, o, &s, e);
	free(s.start);
	free(s.items);
	if (rc < 0)
		td_plan_free(&p);
	else
		*ret = p;
	return rc;
}

int td_plan_stream(struct td_plan *ret, const char *shards, const char *split, struct tundish_error *e)
{
	struct td_plan p = { 0 };
	int rc = parse_words(&p, shards, split, e);
	for (size_t i = 0; rc == 0 && i < p.n_splits; i++) {
		rc = add_shards(&p, &p.splits[i], e);
		for (size_t k = 0; rc == 0 && k < p.splits[i].n_shards; k++)
			p.shards[p.splits[i].first_shard + k] = (struct td_plan_shard){ .split = i, .number = k };
	}
	if (rc < 0)
		td_plan_free(&p);
	else
		*ret = p;
	return rc;
}

void td_plan_free(struct td_plan *p)
{
	for (size_t i = 0; p->splits && i < p->n_splits; i++)
		free(p->splits[i].name);
	free(p->splits);
	free(p->order);
	free(p->shards);
	*p = (struct td_plan){ 0 };
}
