/* SPDX-License-Identifier: BSD-2-Clause
 * The frames of a video: their list, and each of them again. */
#include "frames.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <libavutil/imgutils.h>
#include <libavutil/pixdesc.h>

#include "base/crc32c.h"
#include "base/err.h"
#include "pixels.h"

/* ---- the list ---- */

/* Of all samples, without what lies behind the lines. */
static uint32_t sum_of(const AVFrame *f)
{
	const AVPixFmtDescriptor *d = av_pix_fmt_desc_get((enum AVPixelFormat)f->format);
	uint32_t sum = 0;
	for (int plane = 0; d && plane < av_pix_fmt_count_planes((enum AVPixelFormat)f->format); plane++) {
		bool chroma = (plane == 1 || plane == 2) && !(d->flags & AV_PIX_FMT_FLAG_RGB);
		int lines = chroma ? AV_CEIL_RSHIFT(f->height, d->log2_chroma_h) : f->height;
		int bytes = av_image_get_linesize((enum AVPixelFormat)f->format, f->width, plane);
		for (int y = 0; bytes > 0 && y < lines; y++)
			sum = td_crc32c(sum, f->data[plane] + (ptrdiff_t)y * f->linesize[plane], (size_t)bytes);
	}
	return sum;
}

static bool is_damaged(const AVFrame *f)
{
	return f->flags & AV_FRAME_FLAG_CORRUPT || f->decode_error_flags;
}

static int add_note(struct av_frame_list *l, const struct av_stream *s, struct tundish_error *e)
{
	const AVFrame *f = s->frame;
	if (l->n >= UINT32_MAX - 1)
		return td_err(e, TUNDISH_E_LIMIT, "more than %" PRIu32 " frames", UINT32_MAX - 1);
	if (!td_grow(&l->notes, &l->cap, l->n, sizeof *l->notes))
		return td_err_memory(e);
	if (l->n == 0)
		av_pixels_size(&l->width, &l->height, f->width, f->height, av_stream_matrix(s));
	l->seeks &= l->n == 0 || s->pts > l->notes[l->n - 1].pts;
	l->notes[l->n++] = (struct av_frame_note){ s->pts, sum_of(f),
		(f->key_frame ? AV_NOTE_KEY : 0) | (is_damaged(f) ? AV_NOTE_DAMAGED : 0) };
	return 0;
}

/* Whether frame i is shown at one of the times t(0) + j / fps: the last one that is not
 * later, give or take half a tick. All of it in whole numbers. */
static bool is_shown(const struct av_frame_list *l, const struct td_av_cut *cut, size_t i)
{
	const __int128 tick = (__int128)l->time_base.num * cut->fps_num;
	const __int128 step = (__int128)l->time_base.den * cut->fps_den * 2;
	if (i + 1 == l->n)
		return true;
	/* times of this frame and the next one since the first, in halves of a tick */
	__int128 from = ((__int128)(l->notes[i].pts - l->notes[0].pts) * 2 - 1) * tick;
	__int128 to = ((__int128)(l->notes[i + 1].pts - l->notes[0].pts) * 2 - 1) * tick;
	__int128 j = from <= 0 ? 0 : (from + step - 1) / step;
	return j * step < to;
}

static bool is_picked(const struct av_frame_list *l, const struct td_av_cut *cut, size_t i)
{
	if (l->notes[i].flags & AV_NOTE_DAMAGED)
		return false;
	switch (cut->frames) {
	case TD_FRAMES_EVERY:
		return i % cut->every == 0;
	case TD_FRAMES_FPS:
		return is_shown(l, cut, i);
	case TD_FRAMES_KEYS:
		return l->notes[i].flags & AV_NOTE_KEY;
	default:
		return true;
	}
}

static int pick(struct av_frame_list *l, const struct td_av_cut *cut, struct tundish_error *e)
{
	l->picks = malloc((l->n + 1) * sizeof *l->picks);
	if (!l->picks)
		return td_err_memory(e);
	for (size_t i = 0; i < l->n; i++)
		if (is_picked(l, cut, i))
			l->picks[l->n_picks++] = (uint32_t)i;
	return 0;
}

static void tell_loss(char ret[256], const struct av_frame_list *l, const struct av_stream *s)
{
	size_t damaged = 0, first = 0;
	for (size_t i = l->n; i-- > 0;) {
		if (l->notes[i].flags & AV_NOTE_DAMAGED) {
			damaged++;
			first = i;
		}
	}
	ret[0] = 0;
	int n = 0;
	if (s->cut)
		n = snprintf(ret, 256, "cut off or damaged: %zu frames are there", l->n);
	else if (s->lost)
		n = snprintf(ret, 256, "%" PRIu64 " packets do not decode", s->lost);
	if (s->lost && s->reason[0])
		n += snprintf(ret + n, 256 - (size_t)n, " (%s)", s->reason);
	if (damaged)
		snprintf(ret + n, 256 - (size_t)n, "%s%zu damaged frames are left out, the first is number %zu",
		    n ? ", " : "", damaged, first);
}

int av_frames_list(struct av_frame_list *ret, struct av_stream *s, const struct td_av_cut *cut, char ret_loss[256],
    struct tundish_error *e)
{
	struct av_frame_list l = { .time_base = s->stream->time_base, .seeks = true };
	int rc;
	while ((rc = av_stream_next(s, e)) > 0 && (rc = add_note(&l, s, e)) == 0)
		;
	if (rc == 0)
		rc = pick(&l, cut, e);
	if (rc < 0) {
		av_frames_free(&l);
		return rc;
	}
	tell_loss(ret_loss, &l, s);
	*ret = l;
	return 0;
}

void av_frames_free(struct av_frame_list *l)
{
	free(l->notes);
	free(l->picks);
	*l = (struct av_frame_list){ 0 };
}

/* ---- as bytes ---- */

bool av_frames_pack(struct td_buf *out, const struct av_frame_list *l)
{
	return td_buf_add(out, l, sizeof *l) && td_buf_add(out, l->notes, l->n * sizeof *l->notes) &&
	    td_buf_add(out, l->picks, l->n_picks * sizeof *l->picks);
}

bool av_frames_unpack(struct av_frame_list *ret, const struct td_buf *bytes)
{
	struct av_frame_list l;
	if (!bytes || bytes->len < sizeof l)
		return false;
	memcpy(&l, bytes->data, sizeof l);
	l.notes = (void *)(bytes->data + sizeof l);
	l.picks = (void *)(l.notes + l.n);
	*ret = l;
	return bytes->len == sizeof l + l.n * sizeof *l.notes + l.n_picks * sizeof *l.picks;
}

/* ---- getting at one ---- */

/* The key frame at or before a frame; 0 if there is none. */
static uint32_t key_before(const struct av_frame_list *l, uint32_t number)
{
	while (number > 0 && !(l->notes[number].flags & AV_NOTE_KEY))
		number--;
	return number;
}

/* The frame that has this time, or SIZE_MAX. */
static size_t find_time(const struct av_frame_list *l, int64_t pts)
{
	size_t low = 0, high = l->n;
	while (low < high) {
		size_t middle = (low + high) / 2;
		if (l->notes[middle].pts < pts)
			low = middle + 1;
		else
			high = middle;
	}
	return low < l->n && l->notes[low].pts == pts ? low : SIZE_MAX;
}

static int changed(struct tundish_error *e, uint32_t number)
{
	return td_err(e, TUNDISH_E_CORRUPT, "frame %" PRIu32 " is not what it was: the file has changed", number);
}

static int restart(struct av_cursor *c, struct tundish_error *e)
{
	struct av_stream *s;
	int rc = av_stream_open(&s, c->path, &c->want, e);
	if (rc < 0)
		return rc;
	av_stream_close(c->s);
	c->s = s;
	c->next = 0;
	return 0;
}

/* Decodes on to a frame. 1: it is the one that was noted; 0: not. */
static int go_on(struct av_cursor *c, const struct av_frame_list *l, uint32_t number, struct tundish_error *e)
{
	int rc = 1;
	while (c->next <= number && (rc = av_stream_next(c->s, e)) > 0) {
		size_t found = l->seeks ? find_time(l, c->s->pts) : c->next;
		if (found == SIZE_MAX || found > number)
			return 0;
		c->next = (uint32_t)found + 1;
	}
	if (rc <= 0)
		return rc;
	return c->next == number + 1 && sum_of(c->s->frame) == l->notes[number].sum;
}

int av_frames_seek(struct av_cursor *c, const struct av_frame_list *l, uint32_t number, struct tundish_error *e)
{
	if (number >= l->n)
		return changed(e, number);
	uint32_t key = key_before(l, number);
	int rc = 0;
	if (c->next <= number && (c->next >= key || !l->seeks))
		rc = go_on(c, l, number, e);
	for (int tries = 0; rc == 0 && l->seeks && key > 0 && tries < 2; tries++) {
		if (av_stream_seek(c->s, l->notes[key].pts)) {
			c->next = 0;
			rc = go_on(c, l, number, e);
		}
		key = key_before(l, key - 1);
	}
	if (rc == 0)
		rc = restart(c, e);
	else
		return rc < 0 ? rc : 0;
	if (rc == 0)
		rc = go_on(c, l, number, e);
	return rc < 0 ? rc : rc == 1 ? 0 : changed(e, number);
}
