/* SPDX-License-Identifier: BSD-2-Clause
 * How many records there are, about, from a seeded sample of places. */
#include "estimate.h"

#include <math.h>
#include <stdlib.h>

#include "base/err.h"
#include "base/rng.h"
#include "record/frame.h"
#include "record/reader.h"

#define PLACES 400 /* looked at in uncompressed files */
#define RECORDS 16 /* in a row, at each place */
#define LEAST 30   /* fewer places that hold records say nothing */

/* Records in a row, and the bytes of their frames. */
struct cluster {
	double bytes, records;
};

static int open_reader(struct tundish_reader **ret, const struct td_estimate_options *o, size_t file,
    struct tundish_error *e)
{
	struct tundish_reader_options ro;
	tundish_reader_options_init(&ro);
	ro.compression = o->compression;
	ro.max_record_bytes = o->max_record_bytes;
	return tundish_reader_open(ret, o->paths->paths[file], &ro, e);
}

/* The first records behind a place. A record is met with a chance that depends on the
 * one before it, not on its own size: large ones are not preferred. */
static int look(const struct td_estimate_options *o, size_t file, uint64_t place, struct cluster *ret,
    struct tundish_error *e)
{
	struct tundish_reader *reader;
	struct tundish_record r;
	*ret = (struct cluster){ 0 };
	int rc = open_reader(&reader, o, file, e);
	if (rc < 0)
		return rc;
	rc = td_reader_seek(reader, place, 0, e);
	for (unsigned i = 0; rc == 0 && i < RECORDS; i++) {
		rc = tundish_reader_next(reader, &r, e);
		if (rc <= 0)
			break;
		ret->records++;
		ret->bytes += (double)r.bytes + TD_FRAME_EXTRA;
		rc = 0;
	}
	tundish_reader_close(reader);
	return rc;
}

/* Whole file of a place in the sampled ones laid end to end. */
static size_t file_at(const struct td_estimate *est, const struct td_paths *paths, uint64_t *place)
{
	size_t last = 0;
	for (size_t i = 0; i < paths->n; i++) {
		if (!est->sampled[i])
			continue;
		last = i;
		if (*place < paths->bytes[i])
			break;
		*place -= paths->bytes[i];
	}
	return last;
}

/* Bytes a record, and the relative error of that: the ratio of two sums over clusters. */
static void fit(const struct cluster *c, unsigned n, double *ret_mean, double *ret_error)
{
	double bytes = 0, records = 0, squares = 0;
	for (unsigned i = 0; i < n; i++) {
		bytes += c[i].bytes;
		records += c[i].records;
	}
	double mean = bytes / records;
	for (unsigned i = 0; i < n; i++) {
		double off = c[i].bytes - mean * c[i].records;
		squares += off * off;
	}
	*ret_mean = mean;
	*ret_error = sqrt(squares * n / (n - 1)) / bytes;
}

static int sample(struct td_estimate *est, const struct td_estimate_options *o, uint64_t bytes,
    struct tundish_error *e)
{
	struct cluster clusters[PLACES];
	unsigned n = 0;
	for (unsigned i = 0; i < PLACES; i++) {
		struct td_rng rng;
		td_rng_at(&rng, o->seed, 0, i, TD_RNG_SAMPLE);
		uint64_t place = td_rng_below(&rng, bytes);
		size_t file = file_at(est, o->paths, &place);
		int rc = look(o, file, place, &clusters[n], e);
		if (rc < 0)
			return rc;
		n += clusters[n].records > 0;
	}
	if (n < LEAST) {
		for (size_t i = 0; i < o->paths->n; i++)
			est->sampled[i] = false;
		return 0;
	}
	double mean, error;
	fit(clusters, n, &mean, &error);
	for (size_t i = 0; i < o->paths->n; i++)
		est->records[i] = est->sampled[i] ? (double)o->paths->bytes[i] / mean : 0;
	est->bound = ceil(1.96 * error * (double)bytes / mean);
	return 0;
}

/* Files that one can read from any place. */
static int choose(struct td_estimate *est, const struct td_estimate_options *o, uint64_t *ret_bytes,
    struct tundish_error *e)
{
	for (size_t i = 0; i < o->paths->n; i++) {
		struct tundish_reader *reader;
		if (o->paths->bytes[i] == 0)
			continue;
		int rc = open_reader(&reader, o, i, e);
		if (rc < 0)
			return rc;
		est->sampled[i] = td_reader_seekable(reader) && td_reader_faults(reader) == 0;
		*ret_bytes += est->sampled[i] ? o->paths->bytes[i] : 0;
		tundish_reader_close(reader);
	}
	return 0;
}

int td_estimate_run(struct td_estimate *ret, const struct td_estimate_options *o, struct tundish_error *e)
{
	uint64_t bytes = 0;
	struct td_estimate est = { calloc(o->paths->n + 1, sizeof(bool)),
		calloc(o->paths->n + 1, sizeof(double)), 0 };
	int rc = est.sampled && est.records ? choose(&est, o, &bytes, e) : td_err_memory(e);
	if (rc == 0 && bytes >= o->all_below)
		rc = sample(&est, o, bytes, e);
	else if (rc == 0)
		for (size_t i = 0; i < o->paths->n; i++)
			est.sampled[i] = false;
	if (rc < 0)
		td_estimate_free(&est);
	else
		*ret = est;
	return rc;
}

void td_estimate_free(struct td_estimate *est)
{
	free(est->sampled);
	free(est->records);
	*est = (struct td_estimate){ 0 };
}
