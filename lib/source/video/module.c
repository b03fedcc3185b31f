/* SPDX-License-Identifier: BSD-2-Clause
 * The module "video": frames of videos as items. */
#include <stdlib.h>
#include <string.h>

#include "../av.h"
#include "base/err.h"
#include "base/module.h"
#include "describe.h"
#include "frames.h"
#include "media/image.h"
#include "pixels.h"

/* A decoder holds as many frames, about, of 12 bits a pixel. */
#define DECODER_FRAMES 18

/* ---- parts ---- */

static struct av_want want_of(const struct td_file *file, const struct td_cut *cut, const struct tundish_listener *l)
{
	return (struct av_want){ .type = AVMEDIA_TYPE_VIDEO, .spec = file->spec, .max_pixels = cut->max_pixels,
		.listener = l };
}

static bool add_specs(struct td_specs *s)
{
	return td_specs_add(s, "frame", TUNDISH_INT64, 1) && td_specs_add(s, "pts", TUNDISH_INT64, 1) &&
	    td_specs_add(s, "time", TUNDISH_FLOAT, 1) && td_specs_add(s, "time_base", TUNDISH_INT64, 2) &&
	    td_specs_add(s, "group", TUNDISH_BYTES, 1);
}

static int fill_parts(struct td_parts *ret, const struct av_frame_list *list, const char *loss, struct tundish_error *e)
{
	uint64_t pixels = (uint64_t)list->width * list->height;
	struct td_parts p = { .n = list->n_picks, .pictures = true, .sequence = true,
		.grouped = true };
	/* a JPEG of quality 95, about */
	p.bytes = pixels * 3 / 8 + 256;
	p.work_bytes = pixels * 3 / 2 * DECODER_FRAMES + pixels * 6;
	if (!add_specs(&p.specs) || !av_frames_pack(&p.index, list) || (loss[0] && !(p.loss = strdup(loss)))) {
		td_parts_free(&p);
		return td_err_memory(e);
	}
	*ret = p;
	return 0;
}

static int parts(struct td_parts *ret, const struct td_file *file, const struct td_cut *cut,
    const struct tundish_listener *l, struct tundish_error *e)
{
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
	if (rc == 0)
		rc = fill_parts(ret, &list, loss, e);
	av_frames_free(&list);
	av_stream_close(s);
	return rc;
}

/* ---- reading ---- */

struct opened {
	struct av_cursor cursor;
	struct av_pixels pixels;
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
	if (out->opened)
		out->close(out->opened);
	out->opened = *ret;
	out->close = close_opened;
	free(out->opened_path);
	out->opened_path = NULL;
	return 0;
}

static bool add_times(struct td_extras *x, const struct av_frame_list *list, uint32_t number)
{
	int64_t pts = list->notes[number].pts;
	const int64_t base[2] = { list->time_base.num, list->time_base.den };
	float time = (float)((double)pts * (double)base[0] / (double)base[1]);
	return td_extra_ints(x, "frame", &(int64_t){ number }, 1) && td_extra_ints(x, "pts", &pts, 1) &&
	    td_extra_floats(x, "time", &time, 1) && td_extra_ints(x, "time_base", base, 2);
}

static int load(struct td_loaded *out, const struct td_file *file, uint32_t part, const struct td_cut *cut,
    struct tundish_error *e)
{
	struct av_frame_list list;
	struct opened *o = NULL;
	if (!av_frames_unpack(&list, file->index) || part >= list.n_picks)
		return td_err(e, TUNDISH_E_INVALID, "the file was not listed");
	int rc = need_open(&o, out, file, cut, e);
	if (rc == 0)
		rc = av_frames_seek(&o->cursor, &list, list.picks[part], e);
	if (rc == 0)
		rc = av_pixels_make(&o->pixels, o->cursor.s->frame, av_stream_matrix(o->cursor.s), e);
	if (rc < 0)
		return rc;
	const struct td_pixels pixels = { .data = o->pixels.data, .width = o->pixels.width,
		.height = o->pixels.height, .channels = 3, .step = 3, .stride = (size_t)o->pixels.width * 3 };
	out->array = false;
	out->encoded = true;
	out->data.len = 0;
	rc = out->encode(out->encode_ctx, &out->data, &pixels, e);
	return rc == 0 && !add_times(&out->extras, &list, list.picks[part]) ? td_err_memory(e) : rc;
}

static const struct td_format format = {
	.name = "video",
	.parts = parts,
	.load = load,
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
