/* SPDX-License-Identifier: BSD-2-Clause
 * For tests of the flow: small sets of records, and whole runs over them. */
#pragma once
#include "../unit/unit.h"

#include <stdbool.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/sha256.h"
#include "media/image.h"
#include "record/example.h"
#include "tundish.h"

/* A folder that goes away with clear_scratch(). */
static char scratch[64];

static inline int make_scratch(void **state)
{
	(void)state;
	strcpy(scratch, "/tmp/tundish-flow-XXXXXX");
	return mkdtemp(scratch) ? 0 : -1;
}

static inline int clear_scratch(void **state)
{
	char command[128];
	(void)state;
	snprintf(command, sizeof command, "rm -rf '%s'", scratch);
	return system(command);
}

/* NAME in the scratch folder; valid to the end of the test program. */
static inline const char *in_scratch(const char *name)
{
	static char text[256][96];
	static unsigned used;
	char *t = text[used++];
	assert_in_range(used, 1, 256);
	snprintf(t, sizeof text[0], "%s/%s", scratch, name);
	return t;
}

/* A picture of one colour that tells its id, as PNG, or as JPEG of a size that differs
 * from id to id. */
static inline void add_picture(struct td_buf *out, unsigned id, bool jpeg)
{
	uint32_t w = jpeg ? 40 + id % 7 * 9 : 6, h = jpeg ? 30 + id % 5 * 11 : 6;
	uint8_t *pixels = malloc((size_t)w * h * 3);
	for (size_t i = 0; i < (size_t)w * h * 3; i++)
		pixels[i] = jpeg ? (uint8_t)(id * 7 + i * i / 91) : (uint8_t)(id * 7);
	const struct td_pixels p = { .data = pixels, .width = w, .height = h, .channels = 3,
		.step = 3, .stride = (size_t)w * 3 };
	out->len = 0;
	assert_int_equal(jpeg ? td_jpeg_encode(out, &p, 90, NULL) : td_png_encode(out, &p, NULL), 0);
	free(pixels);
}

enum flaw {
	GOOD,
	NO_LABEL,	/* the feature is missing */
	FLOAT_LABEL,
	NO_PICTURE,	/* bytes that are none */
	CUT_PICTURE,	/* a JPEG that ends early */
	NO_EXAMPLE,
};

static inline void make_record(struct td_buf *out, unsigned id, bool jpeg, enum flaw flaw)
{
	struct td_buf picture = { 0 };
	add_picture(&picture, id, jpeg);
	const int64_t label = id;
	const float number = 1;
	struct td_bytes image = { picture.data, picture.len };
	if (flaw == CUT_PICTURE)
		image.len = image.len * 2 / 3;
	if (flaw == NO_PICTURE)
		memset(picture.data, 'x', picture.len);
	struct td_field fields[2] = {
		{ .key = "image", .kind = TUNDISH_BYTES, .n = 1, .bytes = &image },
		{ .key = "label", .kind = TUNDISH_INT64, .n = 1, .ints = &label },
	};
	if (flaw == FLOAT_LABEL) {
		fields[1].kind = TUNDISH_FLOAT;
		fields[1].floats = &number;
	}
	out->len = 0;
	assert_int_equal(td_example_encode(out, fields, flaw == NO_LABEL ? 1 : 2, 1 << 30, NULL), 0);
	if (flaw == NO_EXAMPLE)
		memset(out->data, 0xff, out->len);
	td_buf_free(&picture);
}

/* Ids first .. first + n - 1 in one file; `flaw` says what is wrong with an id, or is NULL. */
static inline void write_file(const char *path, unsigned first, unsigned n, bool jpeg,
    enum flaw (*flaw)(unsigned id))
{
	struct tundish_writer *w;
	struct td_buf record = { 0 };
	assert_int_equal(tundish_writer_open(&w, path, TUNDISH_NONE, 0, NULL), 0);
	for (unsigned id = first; id < first + n; id++) {
		make_record(&record, id, jpeg, flaw ? flaw(id) : GOOD);
		assert_int_equal(tundish_writer_append(w, record.data, record.len, NULL), 0);
	}
	assert_int_equal(tundish_writer_close(w, NULL), 0);
	td_buf_free(&record);
}

/* Ids 0 .. n-1 dealt out to `files` files in the folder NAME; an empty one among them when
 * n < files. */
static inline const char *write_set(const char *name, unsigned n, unsigned files, bool jpeg,
    enum flaw (*flaw)(unsigned id))
{
	const char *folder = in_scratch(name);
	char path[512];
	unsigned first = 0;
	assert_int_equal(mkdir(folder, 0755), 0);
	for (unsigned i = 0; i < files; i++) {
		unsigned count = n / files + (i < n % files);
		snprintf(path, sizeof path, "%s/s-%05u-of-%05u", folder, i, files);
		write_file(path, first, count, jpeg, flaw);
		first += count;
	}
	return folder;
}

/* One run from open to close, and what came of it. */
struct run {
	struct tundish_flow_options o;
	const char *path;
	unsigned batches, counts[512], rows[512];
	unsigned samples, repeats;
	int64_t labels[4096], sources[4096]; /* sources: of a mix */
	char digest[65];
	struct td_buf faults; /* a line each, folders left out */
	struct tundish_flow_stats stats;
	struct tundish_error e;
	int rc; /* of the last call */
	unsigned stop_after;  /* batches; 0: all */
	unsigned sleep_us;    /* after each batch */
	char cursor[64];
};

static inline void on_fault(void *data, const struct tundish_fault *f)
{
	struct run *r = data;
	const char *slash = strrchr(f->text, '/');
	assert_true(td_buf_printf(&r->faults, "%s\n", slash ? slash + 1 : f->text));
}

static inline void run_init(struct run *r, const char *path, const char *ops)
{
	memset(r, 0, sizeof *r);
	tundish_flow_options_init(&r->o);
	r->path = path;
	r->o.ops = ops;
	r->o.threads = 3;
	r->o.listener = (struct tundish_listener){ .data = r, .fault = on_fault };
}

/* The same for one that has run before, or is zeroed. */
static inline void again(struct run *r, const char *path, const char *ops)
{
	td_buf_free(&r->faults);
	run_init(r, path, ops);
}

static inline void take_batch(struct run *r, struct td_sha256 *sha, const struct tundish_batch *b)
{
	assert_in_range(r->batches, 0, 511);
	r->counts[r->batches] = b->count;
	r->rows[r->batches++] = b->rows;
	const struct tundish_array *last = &b->arrays[b->n_arrays - 1];
	for (unsigned i = 0; i < b->count && r->samples < 4096; i++) {
		if (strcmp(last->name, "source_id") == 0)
			r->sources[r->samples] = ((const int64_t *)last->data)[i];
		r->labels[r->samples++] = b->labels[i];
	}
	r->repeats += b->repeats;
	for (unsigned i = 0; i < b->n_arrays; i++) {
		const struct tundish_array *a = &b->arrays[i];
		td_sha256_add(sha, a->name, strlen(a->name));
		td_sha256_add(sha, a->shape, sizeof a->shape);
		td_sha256_add(sha, a->data, a->bytes);
	}
	td_sha256_add(sha, &b->epoch, sizeof b->epoch);
}

static inline void run_flow(struct run *r)
{
	struct tundish_flow *flow;
	struct tundish_batch b;
	struct td_sha256 sha;
	td_sha256_init(&sha);
	r->o.paths = &r->path;
	r->o.n_paths = r->o.n_mix ? 0 : 1;
	r->batches = r->samples = r->repeats = 0;
	r->faults.len = 0;
	assert_true(td_buf_printf(&r->faults, "%s", ""));
	r->rc = tundish_flow_open(&flow, &r->o, &r->e);
	if (r->rc < 0)
		return;
	while ((r->rc = tundish_flow_next(flow, &b, &r->e)) == 1) {
		take_batch(r, &sha, &b);
		tundish_flow_release(flow, &b);
		if (r->sleep_us)
			usleep(r->sleep_us);
		if (r->batches == r->stop_after)
			break;
	}
	if (r->rc >= 0)
		snprintf(r->cursor, sizeof r->cursor, "%s", tundish_flow_cursor(flow));
	tundish_flow_stats(flow, &r->stats);
	td_sha256_hex(&sha, r->digest);
	tundish_flow_close(flow);
}

/* Stops behind so many batches and goes on from there, which must give the same labels.
 * The faults of ret_part are the caller's to free. */
static inline void run_parts(const struct run *whole, unsigned stop, struct run *ret_part, struct run *ret_rest)
{
	*ret_part = *whole;
	ret_part->faults = (struct td_buf){ 0 };
	ret_part->stop_after = stop;
	run_flow(ret_part);
	*ret_rest = *whole;
	ret_rest->faults = (struct td_buf){ 0 };
	ret_rest->o.start = ret_part->cursor;
	ret_rest->o.threads = 1 + stop % 4;
	run_flow(ret_rest);
	assert_int_equal(ret_rest->rc, 0);
	assert_int_equal(ret_part->samples + ret_rest->samples, whole->samples);
	assert_memory_equal(ret_rest->labels, whole->labels + ret_part->samples,
	    ret_rest->samples * sizeof *ret_rest->labels);
	td_buf_free(&ret_rest->faults);
}

/* The first batch, its images copied. */
static inline struct tundish_batch first_batch(const char *path, const char *ops, uint64_t seed, struct td_buf *ret)
{
	struct tundish_flow_options o;
	struct tundish_flow *flow;
	struct tundish_batch b;
	struct tundish_error e = { 0 };
	tundish_flow_options_init(&o);
	o.paths = &path;
	o.n_paths = 1;
	o.ops = ops;
	o.seed = seed;
	if (tundish_flow_open(&flow, &o, &e) < 0 || tundish_flow_next(flow, &b, &e) != 1)
		fail_msg("%s: %s", ops ? ops : "no ops", e.text);
	ret->len = 0;
	assert_true(td_buf_add(ret, b.images, b.images_bytes));
	tundish_flow_release(flow, &b);
	tundish_flow_close(flow);
	return b;
}

#define FAULTS(r) ((const char *)(r)->faults.data)

/* Labels, sorted, are 0 .. n-1, each `times` times. */
static inline void assert_each(const struct run *r, unsigned n, unsigned times)
{
	unsigned seen[4096] = { 0 };
	assert_int_equal(r->samples, n * times);
	for (unsigned i = 0; i < r->samples; i++) {
		assert_in_range(r->labels[i], 0, n - 1);
		seen[r->labels[i]]++;
	}
	for (unsigned i = 0; i < n; i++)
		assert_int_equal(seen[i], times);
}
