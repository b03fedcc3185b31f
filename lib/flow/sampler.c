/* SPDX-License-Identifier: BSD-2-Clause
 * Which record comes at a position, where not all come once: weights, strata, mixtures. */
#include "sampler.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/infile.h"
#include "base/map.h"
#include "base/number.h"
#include "base/rng.h"

/* ---- what the user says ---- */

static int not_understood(const char *text, struct tundish_error *e)
{
	return td_err(e, TUNDISH_E_USAGE, "sampler \"%s\" is not understood: weighted:FEATURE, "
	    "weighted:FEATURE,table=FILE, stratified:FEATURE or stratified:FEATURE,equal",
	    TD_ESC(text));
}

int td_sampler_parse(struct td_sampler_spec *ret, const char *text, struct tundish_error *e)
{
	static const char weighted[] = "weighted:", stratified[] = "stratified:", table[] = ",table=";
	struct td_sampler_spec spec = { .kind = TD_SAMPLE_ALL };
	*ret = spec;
	if (!text)
		return 0;
	const char *at = text;
	if (strncmp(at, weighted, sizeof weighted - 1) == 0) {
		spec.kind = TD_SAMPLE_WEIGHTED;
		at += sizeof weighted - 1;
	} else if (strncmp(at, stratified, sizeof stratified - 1) == 0) {
		spec.kind = TD_SAMPLE_STRATIFIED;
		at += sizeof stratified - 1;
	}
	size_t len = strcspn(at, ",");
	const char *rest = at + len;
	bool tabled = spec.kind == TD_SAMPLE_WEIGHTED && strncmp(rest, table, sizeof table - 1) == 0;
	spec.equal = spec.kind == TD_SAMPLE_STRATIFIED && strcmp(rest, ",equal") == 0;
	if (spec.kind == TD_SAMPLE_ALL || len == 0 || (*rest && !tabled && !spec.equal) ||
	    (tabled && !rest[sizeof table - 1]))
		return not_understood(text, e);
	spec.feature = strndup(at, len);
	spec.table = tabled ? strdup(rest + sizeof table - 1) : NULL;
	if (!spec.feature || (tabled && !spec.table)) {
		td_sampler_spec_free(&spec);
		return td_err_memory(e);
	}
	*ret = spec;
	return 0;
}

void td_sampler_spec_free(struct td_sampler_spec *spec)
{
	free(spec->feature);
	free(spec->table);
	*spec = (struct td_sampler_spec){ 0 };
}

/* ---- weights ---- */

/* "VALUE=WEIGHT" into the weight of that value. 1, or 0 when no record has it. */
static int take_line(const struct td_map *values, double *weights, const char *line, size_t len)
{
	const char *sign = memrchr(line, '=', len);
	size_t value = sign ? (size_t)(sign - line) : 0;
	double weight;
	if (!sign || !td_parse_double(&weight, sign + 1, len - value - 1) ||
	    !(weight >= 0 && weight <= 1e100))
		return TUNDISH_E_USAGE;
	const uint32_t *at = td_map_find(values, line, value);
	if (at)
		weights[*at] = weight;
	return at != NULL;
}

static int read_lines(const struct td_buf *text, const struct td_map *values, double *weights,
    const char *path, const struct tundish_listener *l, struct tundish_error *e)
{
	uint64_t number = 0, unknown = 0;
	for (size_t at = 0, len; at < text->len; at += len + 1) {
		const char *line = (const char *)text->data + at;
		const char *end = memchr(line, '\n', text->len - at);
		len = end ? (size_t)(end - line) : text->len - at;
		size_t used = len && line[len - 1] == '\r' ? len - 1 : len;
		number++;
		if (used == 0 || *line == '#')
			continue;
		int got = take_line(values, weights, line, used);
		if (got < 0)
			return td_err(e, TUNDISH_E_USAGE, "%s: line %" PRIu64 " is no VALUE=WEIGHT",
			    TD_ESC(path), number);
		unknown += got == 0;
	}
	if (unknown)
		td_notice(l, "%s: %" PRIu64 " values that no record has", TD_ESC(path), unknown);
	return 0;
}

#define TABLE_BYTES ((uint64_t)64 << 20)

static int read_table(const struct td_strata *strata, double *weights, const char *path,
    const struct tundish_listener *l, struct tundish_error *e)
{
	struct td_map values = { .value_bytes = sizeof(uint32_t) };
	struct td_buf text = { 0 };
	int rc = td_read_named(&text, path, TABLE_BYTES, e);
	for (uint32_t i = 0; i < strata->n && rc == 0; i++) {
		uint32_t *at = td_map_at(&values, strata->values[i], strlen(strata->values[i]));
		if (at)
			*at = i;
		rc = at ? 0 : td_err_memory(e);
	}
	if (rc == 0)
		rc = read_lines(&text, &values, weights, path, l, e);
	td_map_free(&values);
	td_buf_free(&text);
	return rc;
}

/* Of all values, in steps: a draw falls on the first sum above it. */
static int add_up(struct td_sampler *s, const double *weights, const struct td_sampler_spec *spec,
    const struct tundish_listener *l, struct tundish_error *e)
{
	const struct td_strata *strata = &s->strata;
	uint64_t never = 0;
	double sum = 0;
	for (unsigned i = 0; i < strata->n; i++) {
		uint64_t n = strata->first[i + 1] - strata->first[i];
		sum += spec->table ? weights[i] * (double)n : 1;
		s->sums[i] = sum;
		never += spec->table && weights[i] == 0 ? n : 0;
	}
	if (!(sum > 0))
		return td_err(e, TUNDISH_E_USAGE, "%s gives no record a weight", TD_ESC(spec->table));
	if (never)
		td_notice(l, "%" PRIu64 " records have no weight in %s and never come", never,
		    TD_ESC(spec->table));
	return 0;
}

static int weigh(struct td_sampler *s, const struct td_sampler_spec *spec,
    const struct tundish_listener *l, struct tundish_error *e)
{
	double *weights = calloc(s->strata.n, sizeof *weights);
	s->sums = calloc(s->strata.n, sizeof *s->sums);
	int rc = weights && s->sums ? 0 : td_err_memory(e);
	if (rc == 0 && spec->table)
		rc = read_table(&s->strata, weights, spec->table, l, e);
	if (rc == 0)
		rc = add_up(s, weights, spec, l, e);
	free(weights);
	return rc;
}

static struct td_pick draw(const struct td_sampler *s, uint64_t epoch, uint64_t position)
{
	const struct td_strata *strata = &s->strata;
	struct td_rng r;
	td_rng_at(&r, s->seed, (uint32_t)epoch, position, TD_RNG_DRAW);
	double at = td_rng_unit(&r) * s->sums[strata->n - 1];
	unsigned low = 0, high = strata->n - 1;
	while (low < high) {
		unsigned middle = low + (high - low) / 2;
		if (s->sums[middle] > at)
			high = middle;
		else
			low = middle + 1;
	}
	uint64_t first = strata->first[low], n = strata->first[low + 1] - first;
	return (struct td_pick){ .record = strata->records[first + td_rng_below(&r, n)] };
}

/* ---- opening ---- */

int td_sampler_order(struct td_sampler *s, const struct td_order_spec *order, struct tundish_error *e)
{
	s->positions = order->records;
	s->orders = calloc(1, sizeof(struct td_order *));
	if (!s->orders)
		return td_err_memory(e);
	int rc = td_order_open(&s->orders[0], order, e);
	s->n_orders = rc == 0;
	return rc;
}

static int start_deal(struct td_sampler *s, unsigned n, uint64_t batch, struct tundish_error *e)
{
	s->deal = (struct td_deal){ .seed = s->seed, .batch = batch, .n_strata = n,
		.starts = calloc((size_t)n + 1, sizeof *s->deal.starts) };
	return s->deal.starts ? 0 : td_err_memory(e);
}

int td_sampler_strata(struct td_sampler *s, const struct td_sampler_spec *spec,
    struct td_strata *strata, uint64_t batch, const struct td_order_spec *order,
    const struct tundish_listener *l, struct tundish_error *e)
{
	if ((order->kind != TD_ORDER_OFF && order->kind != TD_ORDER_FULL) || order->shards ||
	    order->group || order->cycle > 1)
		return td_err(e, TUNDISH_E_USAGE, "a sampler says what comes when: shuffle can be off or "
		    "full with it, and files are not read in turn");
	s->kind = spec->kind;
	s->seed = order->seed;
	s->shuffled = order->kind == TD_ORDER_FULL;
	s->strata = *strata;
	*strata = (struct td_strata){ 0 };
	unsigned n = s->strata.n;
	s->positions = s->strata.first[n];
	if (spec->kind == TD_SAMPLE_WEIGHTED)
		return weigh(s, spec, l, e);
	int rc = start_deal(s, n, batch, e);
	for (unsigned i = 0; i < n && rc == 0; i++) {
		uint64_t same = s->positions / n + (i < s->positions % n);
		uint64_t own = s->strata.first[i + 1] - s->strata.first[i];
		s->deal.starts[i + 1] = s->deal.starts[i] + (spec->equal ? same : own);
	}
	return rc;
}

/* Slots by weight, by the largest remainder; `starts` then adds up to n. */
static void apportion(uint64_t *starts, const double *weights, unsigned n_sources, uint64_t n)
{
	double sum = 0;
	uint64_t given = 0;
	for (unsigned i = 0; i < n_sources; i++)
		sum += weights[i];
	for (unsigned i = 0; i < n_sources; i++) {
		starts[i + 1] = (uint64_t)((double)n * weights[i] / sum);
		given += starts[i + 1];
	}
	for (; given < n; given++) {
		unsigned best = 0;
		double most = -1e300;
		for (unsigned i = 0; i < n_sources; i++) {
			double rest = (double)n * weights[i] / sum - (double)starts[i + 1];
			if (rest > most) {
				most = rest;
				best = i;
			}
		}
		starts[best + 1]++;
	}
	for (unsigned i = 0; i < n_sources; i++)
		starts[i + 1] += starts[i];
}

/* The order of one source, which has a seed of its own. */
static int open_source(struct td_sampler *s, const struct td_records *set, unsigned i,
    const struct td_order_spec *order, struct tundish_error *e)
{
	struct td_order_spec own = *order;
	size_t first_file = set->sources[i], n = set->sources[i + 1] - first_file;
	uint64_t *first = calloc(n + 1, sizeof *first);
	if (!first)
		return td_err_memory(e);
	s->first[i] = set->first[first_file];
	s->first[i + 1] = set->first[first_file + n];
	for (size_t k = 0; k <= n; k++)
		first[k] = set->first[first_file + k] - s->first[i];
	own.first = first;
	own.n_files = n;
	own.records = first[n];
	own.seed = order->seed + i * 0x9e3779b97f4a7c15u;
	int rc = own.records ? td_order_open(&s->orders[i], &own, e) :
			       td_err(e, TUNDISH_E_EMPTY, "source %s of the mix: no records",
				   TD_ESC(set->mix[i].name));
	s->n_orders += rc == 0;
	free(first);
	return rc;
}

int td_sampler_mix(struct td_sampler *s, const struct td_records *set,
    const struct td_sampler_batches *batches, const struct td_order_spec *order,
    struct tundish_error *e)
{
	unsigned n = set->n_sources;
	double *weights = calloc(n, sizeof *weights);
	s->kind = TD_SAMPLE_MIX;
	s->seed = order->seed;
	s->positions = order->records;
	s->orders = calloc(n, sizeof(struct td_order *));
	s->first = calloc((size_t)n + 1, sizeof *s->first);
	int rc = weights && s->orders && s->first ? start_deal(s, n, batches->positions, e) :
						    td_err_memory(e);
	s->deal.least = batches->least;
	for (unsigned i = 0; i < n && rc == 0; i++) {
		weights[i] = set->mix[i].weight;
		rc = open_source(s, set, i, order, e);
	}
	if (rc == 0)
		apportion(s->deal.starts, weights, n, s->positions);
	free(weights);
	return rc;
}

/* ---- asking ---- */

/* Records of a stratum come again and again, each once before any comes once more,
 * from one epoch to the next. */
static uint64_t turn_of(const struct td_deal *d, const struct td_dealt *dealt, uint64_t epoch,
    uint64_t records, uint64_t *ret_place)
{
	uint64_t slots = d->starts[dealt->stratum + 1] - d->starts[dealt->stratum];
	unsigned __int128 number = (unsigned __int128)epoch * slots + dealt->number;
	*ret_place = (uint64_t)(number % records);
	return (uint64_t)(number / records);
}

static struct td_pick from_stratum(const struct td_sampler *s, const struct td_dealt *dealt,
    uint64_t epoch)
{
	const struct td_strata *strata = &s->strata;
	uint64_t first = strata->first[dealt->stratum], n = strata->first[dealt->stratum + 1] - first;
	uint64_t place, turn = turn_of(&s->deal, dealt, epoch, n, &place);
	if (s->shuffled) {
		struct td_permutation p;
		td_permutation_init(&p, n, s->seed, turn, (uint64_t)dealt->stratum + 1);
		place = td_permutation_at(&p, place);
	}
	return (struct td_pick){ .record = strata->records[first + place] };
}

static int from_source(const struct td_sampler *s, const struct td_dealt *dealt, uint64_t epoch,
    uint64_t position, struct td_pick *ret)
{
	uint64_t first = s->first[dealt->stratum], n = s->first[dealt->stratum + 1] - first, place, at;
	*ret = (struct td_pick){ .source = dealt->stratum, .extra = dealt->extra };
	if (dealt->extra) {
		struct td_rng r;
		td_rng_at(&r, s->seed, (uint32_t)epoch, position, TD_RNG_DRAW);
		ret->record = first + td_rng_below(&r, n);
		return 0;
	}
	uint64_t turn = turn_of(&s->deal, dealt, epoch, n, &place);
	int rc = td_order_at(s->orders[dealt->stratum], turn, place, &at);
	ret->record = first + at;
	return rc;
}

int td_sampler_at(const struct td_sampler *s, uint64_t epoch, uint64_t position, struct td_pick *ret)
{
	struct td_dealt dealt;
	switch (s->kind) {
	case TD_SAMPLE_ALL:
		*ret = (struct td_pick){ 0 };
		return td_order_at(s->orders[0], epoch, position, &ret->record);
	case TD_SAMPLE_WEIGHTED:
		*ret = draw(s, epoch, position);
		return 0;
	case TD_SAMPLE_STRATIFIED:
		dealt = td_deal_at(&s->deal, epoch, position);
		*ret = from_stratum(s, &dealt, epoch);
		return 0;
	default:
		dealt = td_deal_at(&s->deal, epoch, position);
		return from_source(s, &dealt, epoch, position, ret);
	}
}

void td_sampler_close(struct td_sampler *s)
{
	for (unsigned i = 0; i < s->n_orders; i++)
		td_order_close(s->orders[i]);
	free(s->orders);
	free(s->first);
	free(s->sums);
	free(s->deal.starts);
	td_strata_free(&s->strata);
	*s = (struct td_sampler){ 0 };
}
