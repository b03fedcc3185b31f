/* SPDX-License-Identifier: BSD-2-Clause
 * Frames as files of their own, whose names tell where they were. */
#include "times.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/crc32c.h"
#include "base/err.h"
#include "base/map.h"
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

/* The frames of one video among the pictures. */
struct stretch {
	bool begun;
	double first, last;
};

/* Made when it is first asked for; its key is the video's path. */
static struct stretch *stretch_of(struct td_map *videos, struct td_buf *path, const struct td_listing *l,
    const struct td_item *item, size_t video)
{
	if (!td_item_path(path, l, item))
		return NULL;
	size_t tail = strlen(td_item_name(l, item)) - video;
	return td_map_at(videos, path->data, strlen((const char *)path->data) - tail);
}

static int settle_item(struct td_listing *l, struct td_item *item, struct td_map *videos, struct td_buf *path, bool *ret_is)
{
	const char *name = td_item_name(l, item);
	size_t video;
	int64_t frame;
	double seconds;
	*ret_is = td_formats[item->format] == &td_format_picture && td_frame_read(name, &video, &frame, &seconds);
	if (!*ret_is)
		return 0;
	struct stretch *s = stretch_of(videos, path, l, item, video);
	if (!s)
		return -1;
	*s = (struct stretch){ true, s->begun ? TD_MIN(s->first, seconds) : seconds,
		s->begun ? TD_MAX(s->last, seconds) : seconds };
	if (item->group)
		return 0;
	char *group = strndup(name, video);
	bool ok = group && td_listing_group(l, group, &item->group);
	free(group);
	return ok ? 0 : -1;
}

/* A video whose table cannot be read is passed over here: that is told of each frame. */
static int check_tables(struct td_listing *l, const struct td_list_options *o, const struct td_map *videos,
    struct td_specs *specs, struct tundish_error *e)
{
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < videos->n; i++) {
		const struct stretch *s = td_map_value(videos, i);
		struct td_parts p = { .timed = true, .first_time = s->first, .last_time = s->last };
		struct tundish_error why = { 0 };
		char *path = strndup(td_map_key(videos, i), videos->entries[i].key_bytes);
		rc = path ? td_aligns_check(o->cut->align, &p, path, 1, o->listener, &why) : td_err_memory(e);
		if (rc == 0) {
			l->files = td_crc32c(l->files, &p.sum, sizeof p.sum);
			td_specs_meet(specs, &p.specs);
		} else if (path) {
			rc = rc == TUNDISH_E_MEMORY ? td_err_memory(e) : 0;
		}
		td_parts_free(&p);
		free(path);
	}
	return rc;
}

/* Where no item but frames is there, all have these features. */
static int take_specs(struct td_listing *l, struct td_specs *tables, struct tundish_error *e)
{
	if (!td_specs_add(tables, "frame", TUNDISH_INT64, 1) || !td_specs_add(tables, "time", TUNDISH_FLOAT, 1))
		return td_err_memory(e);
	l->specs = *tables;
	l->specs.met = true;
	*tables = (struct td_specs){ 0 };
	return 0;
}

int td_frames_settle(struct td_listing *l, const struct td_list_options *o, struct tundish_error *e)
{
	size_t n = 0;
	struct td_map videos = { .value_bytes = sizeof(struct stretch) };
	struct td_buf path = { 0 };
	struct td_specs tables = { 0 };
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < l->n; i++) {
		bool is;
		rc = settle_item(l, &l->items[i], &videos, &path, &is) < 0 ? td_err_memory(e) : 0;
		n += is;
	}
	l->sequences |= n > 1;
	if (rc == 0 && o->cut && o->cut->align)
		rc = check_tables(l, o, &videos, &tables, e);
	if (rc == 0 && n > 0 && n == l->n && !l->specs.met)
		rc = take_specs(l, &tables, e);
	td_specs_free(&tables);
	td_map_free(&videos);
	td_buf_free(&path);
	return rc;
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
