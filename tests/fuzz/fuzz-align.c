/* SPDX-License-Identifier: BSD-2-Clause
 * Tables of times of --align. The input: a line with what stands behind "KEY=FILE,", then
 * the file. */
#include "fuzz.h"

#include <math.h>
#include <sys/mman.h>
#include <unistd.h>

#include "source/align.h"
#include "source/format.h"

#define FRAMES 5

/* Times before, at, between and behind those of the table. */
static void check_values(const struct td_aligns *all)
{
	const struct td_align *a = &all->list[0];
	const struct td_series *s = &a->series;
	struct tundish_error e = { 0 };
	struct td_loaded out = { 0 };
	const double at[FRAMES] = { s->times[0] - 1, s->times[0], (s->times[0] + s->times[s->n - 1]) / 2,
		s->times[s->n - 1], s->times[s->n - 1] + 1 };
	for (size_t i = 0; i < FRAMES; i++)
		MUST(td_buf_add(&out.times, &(double){ at[i] - a->offset }, sizeof(double)));
	MUST(td_aligns_load(all, &out, "a/b.mp4", &e) == 0);
	MUST(out.extras.n == 1);
	const struct td_field f = td_extra_field(&out.extras, 0);
	MUST(strcmp(f.key, "imu") == 0 && f.n == FRAMES * s->n_columns);
	for (size_t i = 0; a->offset == 0 && i < s->n_columns; i++) {
		float first = (float)s->values[i], last = (float)s->values[(s->n - 1) * s->n_columns + i];
		/* behind the last row; far from zero a second more is none */
		MUST(f.floats[4 * s->n_columns + i] == last || isnan(last));
		MUST(at[0] >= s->times[0] || f.floats[i] == first || isnan(first));
	}
	td_loaded_free(&out);
}

static void check(const struct td_aligns *all)
{
	MUST(all->n == 1);
	const struct td_series *s = &all->list[0].series;
	struct tundish_error e = { 0 };
	MUST(s->n > 0 && s->n_columns > 0);
	for (size_t i = 0; i < s->n; i++)
		MUST(isfinite(s->times[i]) && (i == 0 || s->times[i] >= s->times[i - 1]));
	struct td_parts p = { .first_time = s->times[0] - 1, .last_time = s->times[s->n - 1] + 1 };
	MUST(td_aligns_check(all, &p, "a/b.mp4", 1, NULL, &e) == 0);
	MUST(p.specs.n == 1 && p.specs.list[0].length == (int64_t)s->n_columns);
	td_parts_free(&p);
	check_values(all);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	const uint8_t *end = memchr(data, '\n', len);
	if (!end)
		return 0;
	size_t head = (size_t)(end - data) + 1;
	int fd = memfd_create("table", MFD_CLOEXEC), spec_bytes = (int)TD_MIN(head - 1, (size_t)1000);
	char spec[1100];
	MUST(fd >= 0 && write(fd, data + head, len - head) == (ssize_t)(len - head));
	snprintf(spec, sizeof spec, "imu=/proc/self/fd/%d%s%.*s", fd, spec_bytes ? "," : "", spec_bytes, (const char *)data);
	/* no second series, which could name any file */
	for (char *s = spec; (s = strchr(s, ';')); s++)
		*s = ',';
	struct tundish_pack_options o = { .align = spec, .max_gap = "0.5" };
	struct tundish_error e = { 0 };
	struct td_aligns *all = NULL;
	int rc = td_aligns_parse(&all, &o, &e);
	if (rc < 0)
		must_be_told(rc, &e);
	else
		check(all);
	td_aligns_free(all);
	close(fd);
	return 0;
}
