/* SPDX-License-Identifier: BSD-2-Clause
 * Frames as files of their own, whose names tell where they were. */
#include "times.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/number.h"
#include "picture.h"

char *td_frame_name(const char *video, int64_t frame, double seconds, const char *suffix)
{
	char *name;
	return asprintf(&name, "%s.%06" PRId64 ".t%.9f.%s", video, frame, seconds, suffix) < 0 ? NULL : name;
}

/* The dot before the last one of s[0 ... len), or NULL. */
static const char *dot_before(const char *s, size_t len)
{
	while (len > 0 && s[len - 1] != '.')
		len--;
	return len > 1 ? s + len - 1 : NULL;
}

bool td_frame_read(const char *name, size_t *ret_video, int64_t *ret_frame, double *ret_seconds)
{
	const char *suffix = dot_before(name, strlen(name));
	const char *point = suffix ? dot_before(name, (size_t)(suffix - name)) : NULL;
	const char *time = point ? dot_before(name, (size_t)(point - name)) : NULL;
	const char *number = time && time[1] == 't' ? dot_before(name, (size_t)(time - name)) : NULL;
	uint64_t frame;
	if (!number || suffix - point != 10 || time - number < 7 || number == name || number[-1] == '/')
		return false;
	for (const char *s = point + 1; s < suffix; s++)
		if (!isdigit((unsigned char)*s))
			return false;
	if (!td_parse_u64(&frame, number + 1, (size_t)(time - number - 1)) || frame > INT64_MAX ||
	    !td_parse_double(ret_seconds, time + 2, (size_t)(suffix - time - 2)))
		return false;
	*ret_video = (size_t)(number - name);
	*ret_frame = (int64_t)frame;
	return true;
}

static int settle_item(struct td_listing *l, struct td_item *item, bool *ret_is)
{
	const char *name = td_item_name(l, item);
	size_t video;
	int64_t frame;
	double seconds;
	*ret_is = td_formats[item->format] == &td_format_picture && td_frame_read(name, &video, &frame, &seconds);
	if (!*ret_is || item->group)
		return 0;
	char *group = strndup(name, video);
	bool ok = group && td_listing_group(l, group, &item->group);
	free(group);
	return ok ? 0 : -1;
}

int td_frames_settle(struct td_listing *l, const struct td_aligns *aligns, struct tundish_error *e)
{
	size_t n = 0;
	for (size_t i = 0; i < l->n; i++) {
		bool is;
		if (settle_item(l, &l->items[i], &is) < 0)
			return td_err_memory(e);
		n += is;
	}
	l->sequences |= n > 1;
	for (size_t k = 0; n && aligns && k < aligns->n; k++)
		l->files = td_series_sum(&aligns->list[k].series, l->files);
	if (n == 0 || n < l->n || l->specs.met)
		return 0;
	l->specs.met = true;
	bool ok = td_specs_add(&l->specs, "frame", TUNDISH_INT64, 1) && td_specs_add(&l->specs, "time", TUNDISH_FLOAT, 1) &&
	    (!aligns || td_aligns_specs(aligns, &l->specs, 1));
	return ok ? 0 : td_err_memory(e);
}

bool td_frame_extras(struct td_loaded *out, const char *name)
{
	size_t video;
	int64_t frame;
	double seconds;
	if (!td_frame_read(name, &video, &frame, &seconds))
		return true;
	float time = (float)seconds;
	return td_extra_ints(&out->extras, "frame", &frame, 1) && td_extra_floats(&out->extras, "time", &time, 1) &&
	    td_buf_add(&out->times, &seconds, sizeof seconds);
}
