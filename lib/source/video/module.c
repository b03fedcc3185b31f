/* SPDX-License-Identifier: BSD-2-Clause
 * The module "video": frames of videos and their sound as items. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../av.h"
#include "base/err.h"
#include "base/module.h"
#include "describe.h"
#include "frames.h"
#include "media/image.h"
#include "pixels.h"
#include "sound.h"

/* A decoder holds as many frames, about, of 12 bits a pixel. */
#define DECODER_FRAMES 18

/* ---- parts ---- */

static struct av_want want_of(const struct td_file *file, const struct td_cut *cut, const struct tundish_listener *l)
{
	return (struct av_want){ .type = AVMEDIA_TYPE_VIDEO, .spec = file->spec, .max_pixels = cut->max_pixels,
		.listener = l };
}

static double seconds_of(const struct av_frame_list *list, uint32_t number)
{
	return (double)list->notes[number].pts * (double)list->time_base.num / (double)list->time_base.den;
}

/* How many values of a kind each item has: one a frame. */
static bool add_specs(struct td_specs *s, const struct td_cut *cut)
{
	int64_t n = !cut->av.clip ? 1 : cut->edge == TD_EDGE_KEEP ? -1 : (int64_t)cut->av.clip;
	return td_specs_add(s, "frame", TUNDISH_INT64, n) && td_specs_add(s, "pts", TUNDISH_INT64, n) &&
	    td_specs_add(s, "time", TUNDISH_FLOAT, n) && td_specs_add(s, "time_base", TUNDISH_INT64, 2);
}

/* Clips that there could be. */
static uint64_t all_clips(const struct av_frame_list *list, const struct td_cut *cut)
{
	uint64_t n = list->n_picks, step = cut->av.clip_step;
	if (cut->edge != TD_EDGE_DROP)
		return (n + step - 1) / step;
	return n < cut->av.clip ? 0 : (n - cut->av.clip) / step + 1;
}

static uint64_t count_items(const struct av_frame_list *list, const struct td_cut *cut)
{
	if (!cut->av.clip)
		return list->n_picks;
	uint64_t n = all_clips(list, cut);
	return cut->av.clip_most ? TD_MIN(n, (uint64_t)cut->av.clip_most) : n;
}

/* The picks of an item: its first one, and how many there are. Clips that are fewer than
 * all are spread evenly. */
static void picks_of(uint64_t *ret_first, uint64_t *ret_n, const struct av_frame_list *list, const struct td_cut *cut,
    uint64_t part)
{
	*ret_first = part;
	*ret_n = 1;
	if (!cut->av.clip)
		return;
	uint64_t all = all_clips(list, cut), n = count_items(list, cut);
	*ret_first = (2 * part + 1) * all / (2 * n) * cut->av.clip_step;
	*ret_n = cut->av.clip;
	if (cut->edge == TD_EDGE_KEEP)
		*ret_n = TD_MIN(*ret_n, list->n_picks - *ret_first);
}

static int fill_parts(struct td_parts *ret, const struct av_frame_list *list, const struct td_cut *cut, const char *loss,
    struct tundish_error *e)
{
	uint64_t pixels = (uint64_t)list->width * list->height;
	struct td_parts p = { .n = (uint32_t)count_items(list, cut), .clips = cut->av.clip > 0, .pictures = true, .sequence = true,
		.grouped = true };
	p.timed = true;
	p.first_time = seconds_of(list, list->picks[0]);
	p.last_time = seconds_of(list, list->picks[list->n_picks - 1]);
	/* a JPEG of quality 95, about */
	p.bytes = (pixels * 3 / 8 + 256) * TD_MAX(cut->av.clip, 1u);
	p.work_bytes = pixels * 3 / 2 * DECODER_FRAMES + pixels * 6;
	if (!add_specs(&p.specs, cut) || !av_frames_pack(&p.index, list) || (loss[0] && !(p.loss = strdup(loss)))) {
		td_parts_free(&p);
		return td_err_memory(e);
	}
	*ret = p;
	return 0;
}

static int parts(struct td_parts *ret, const struct td_file *file, const struct td_cut *cut,
    const struct tundish_listener *l, struct tundish_error *e)
{
	if (cut->av.sound)
		return av_sound_parts(ret, file, cut, l, e);
	struct av_want want = want_of(file, cut, l);
	struct av_frame_list list = { 0 };
	struct av_stream *s;
	char loss[256];
	want.talk = true;
	int rc = av_stream_open(&s, file->path, &want, e);
	if (rc < 0)
		return rc;
	rc = av_frames_list(&list, s, &cut->av, loss, e);
	if (rc == 0 && list.n_picks == 0)
		rc = td_err(e, TUNDISH_E_CORRUPT, "no frame decodes%s%s", loss[0] ? ": " : "", loss);
	if (rc == 0 && count_items(&list, cut) == 0)
		rc = td_err(e, TUNDISH_E_UNSUPPORTED, "%" PRIu32 " frames are too few for a clip of %" PRIu32
		    " (--edge pad repeats the last one)", list.n_picks, cut->av.clip);
	if (rc == 0)
		rc = fill_parts(ret, &list, cut, loss, e);
	av_frames_free(&list);
	av_stream_close(s);
	return rc;
}

/* ---- reading ---- */

struct opened {
	struct av_cursor cursor;
	struct av_pixels pixels;
	struct td_buf numbers; /* of the item at hand */
	char *path;
	const struct td_buf *index; /* names the file: a path may come back for another one */
};

static void close_opened(void *ctx)
{
	struct opened *o = ctx;
	if (!o)
		return;
	av_stream_close(o->cursor.s);
	av_pixels_free(&o->pixels);
	td_buf_free(&o->numbers);
	free(o->path);
	free(o);
}

static int open_file(struct opened **ret, const struct td_file *file, const struct td_cut *cut, struct tundish_error *e)
{
	struct opened *o = calloc(1, sizeof *o);
	if (!o)
		return td_err_memory(e);
	o->path = strdup(file->path);
	o->index = file->index;
	o->cursor.path = o->path;
	o->cursor.want = want_of(file, cut, NULL);
	int rc = o->path ? av_stream_open(&o->cursor.s, o->path, &o->cursor.want, e) : td_err_memory(e);
	if (rc < 0)
		close_opened(o);
	else
		*ret = o;
	return rc;
}

/* The file that is open, or this one. */
static int need_open(struct opened **ret, struct td_loaded *out, const struct td_file *file, const struct td_cut *cut,
    struct tundish_error *e)
{
	struct opened *o = out->opened;
	if (o && out->close == close_opened && o->index == file->index) {
		*ret = o;
		return 0;
	}
	int rc = open_file(ret, file, cut, e);
	if (rc < 0)
		return rc;
	td_loaded_close(out);
	out->opened = *ret;
	out->close = close_opened;
	return 0;
}

/* Numbers and times of the frames, one value each. */
static bool add_times(struct opened *o, struct td_extras *x, const struct av_frame_list *list, uint64_t n)
{
	const int64_t base[2] = { list->time_base.num, list->time_base.den };
	const int64_t *numbers = (const void *)o->numbers.data, *pts = numbers + n;
	const float *times = (const void *)(pts + n);
	if (!td_extra_ints(x, "time_base", base, 2) || !td_extra_ints(x, "frame", numbers, n))
		return false;
	td_extra_step(x, 1);
	if (!td_extra_ints(x, "pts", pts, n))
		return false;
	td_extra_step(x, 1);
	if (!td_extra_floats(x, "time", times, n))
		return false;
	td_extra_step(x, 1);
	return true;
}

static int encode_frame(struct td_loaded *out, struct opened *o, const struct av_frame_list *list, uint32_t number,
    struct tundish_error *e)
{
	int rc = av_frames_seek(&o->cursor, list, number, e);
	if (rc == 0)
		rc = av_pixels_make(&o->pixels, o->cursor.s->frame, av_stream_matrix(o->cursor.s), e);
	if (rc < 0)
		return rc;
	const struct td_pixels pixels = { .data = o->pixels.data, .width = o->pixels.width,
		.height = o->pixels.height, .channels = 3, .step = 3, .stride = (size_t)o->pixels.width * 3 };
	return out->encode(out->encode_ctx, &out->data, &pixels, e);
}

/* The frame that was encoded last, once more. */
static int repeat_frame(struct td_loaded *out, struct tundish_error *e)
{
	const size_t *ends = (const void *)out->ends.data;
	size_t n = out->ends.len / sizeof *ends, start = n > 1 ? ends[n - 2] : 0, bytes = ends[n - 1] - start;
	if (!td_buf_reserve(&out->data, bytes))
		return td_err_memory(e);
	memcpy(out->data.data + out->data.len, out->data.data + start, bytes);
	out->data.len += bytes;
	return 0;
}

static int encode_frames(struct td_loaded *out, struct opened *o, const struct av_frame_list *list,
    const struct td_cut *cut, uint32_t part, struct tundish_error *e)
{
	uint64_t first, n, shown = UINT64_MAX;
	int rc = 0;
	picks_of(&first, &n, list, cut, part);
	if (!td_buf_fit(&o->numbers, n * (2 * sizeof(int64_t) + sizeof(float))))
		return td_err_memory(e);
	int64_t *numbers = (void *)o->numbers.data, *pts = numbers + n;
	float *times = (void *)(pts + n);
	for (uint64_t i = 0; rc == 0 && i < n; i++) {
		uint64_t pick = TD_MIN(first + i, (uint64_t)list->n_picks - 1);
		uint32_t number = list->picks[pick];
		numbers[i] = number;
		pts[i] = list->notes[number].pts;
		double seconds = seconds_of(list, number);
		times[i] = (float)seconds;
		if (!td_buf_add(&out->times, &seconds, sizeof seconds))
			return td_err_memory(e);
		rc = pick == shown ? repeat_frame(out, e) : encode_frame(out, o, list, number, e);
		shown = pick;
		if (rc == 0 && cut->av.clip && !td_buf_add(&out->ends, &out->data.len, sizeof out->data.len))
			rc = td_err_memory(e);
	}
	return rc == 0 && !add_times(o, &out->extras, list, n) ? td_err_memory(e) : rc;
}

static int load(struct td_loaded *out, const struct td_file *file, uint32_t part, const struct td_cut *cut,
    struct tundish_error *e)
{
	struct av_frame_list list;
	struct opened *o = NULL;
	if (cut->av.sound)
		return av_sound_load(out, file, part, cut, e);
	if (!av_frames_unpack(&list, file->index) || part >= count_items(&list, cut))
		return td_err(e, TUNDISH_E_INVALID, "the file was not listed");
	int rc = need_open(&o, out, file, cut, e);
	out->array = false;
	out->encoded = true;
	out->data.len = 0;
	return rc < 0 ? rc : encode_frames(out, o, &list, cut, part, e);
}

static int look(struct td_loaded *out, const struct td_file *file, uint32_t part, const struct td_cut *cut,
    struct tundish_error *e)
{
	struct av_frame_list list;
	uint64_t first, n;
	if (cut->av.sound)
		return av_sound_look(out, file, part, cut, e);
	if (!av_frames_unpack(&list, file->index) || part >= count_items(&list, cut))
		return td_err(e, TUNDISH_E_INVALID, "the file was not listed");
	picks_of(&first, &n, &list, cut, part);
	out->array = true;
	out->kind = cut->av.clip ? "clip" : "frame";
	out->dtype = TD_UINT8;
	out->n_axes = 0;
	if (cut->av.clip)
		out->shape[out->n_axes++] = n;
	out->shape[out->n_axes++] = list.height;
	out->shape[out->n_axes++] = list.width;
	out->shape[out->n_axes++] = 3;
	return 0;
}

static const struct td_format format = {
	.name = "video",
	.parts = parts,
	.load = load,
	.look = look,
	.describe = av_describe,
};

TUNDISH_API const struct td_module tundish_module;
const struct td_module tundish_module = {
	TD_MODULE_MAGIC,
	TD_MODULE_ABI,
	"source",
	"video",
	&format,
};
