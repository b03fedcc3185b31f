/* SPDX-License-Identifier: BSD-2-Clause
 * What a file of video or sound says of itself. */
#include "describe.h"

#include <libavutil/display.h>
#include <libavutil/pixdesc.h>

#include "base/err.h"
#include "base/json.h"
#include "pixels.h"
#include "stream.h"

static void add_text(struct td_json *j, json_t *o, const char *key, const char *text)
{
	if (text)
		td_json_string(j, o, key, text);
}

static void add_ratio(struct td_json *j, json_t *o, const char *key, AVRational r)
{
	if (r.num && r.den)
		td_json_set(j, o, key, r.den == 1 ? json_integer(r.num) : json_sprintf("%d/%d", r.num, r.den));
}

static void add_matrix(struct td_json *j, json_t *o, struct av_stream *s, const AVCodecParameters *par)
{
	const int32_t *matrix = av_stream_matrix(s);
	uint32_t width, height;
	av_pixels_size(&width, &height, par->width, par->height, matrix);
	td_json_int(j, o, "width", width);
	td_json_int(j, o, "height", height);
	if (matrix)
		td_json_set(j, o, "rotation", td_json_real(av_display_rotation_get(matrix)));
}

static void add_video(struct td_json *j, json_t *o, struct av_stream *s)
{
	const AVCodecParameters *par = s->stream->codecpar;
	add_matrix(j, o, s, par);
	add_text(j, o, "pixels", av_get_pix_fmt_name((enum AVPixelFormat)par->format));
	add_ratio(j, o, "rate", s->stream->avg_frame_rate);
	if (s->stream->disposition & AV_DISPOSITION_ATTACHED_PIC)
		td_json_set(j, o, "attached_picture", json_true());
	if (s->stream->nb_frames)
		td_json_int(j, o, "frames_claimed", (uint64_t)s->stream->nb_frames);
}

static void add_sound(struct td_json *j, json_t *o, const AVCodecParameters *par)
{
	td_json_int(j, o, "rate", (uint64_t)TD_MAX(par->sample_rate, 0));
	td_json_int(j, o, "channels", (uint64_t)TD_MAX(par->ch_layout.nb_channels, 0));
}

static json_t *stream_json(struct td_json *j, struct av_stream *s, unsigned number)
{
	json_t *o = json_object();
	s->stream = s->format->streams[number];
	const AVCodecParameters *par = s->stream->codecpar;
	td_json_int(j, o, "number", number);
	add_text(j, o, "type", av_get_media_type_string(par->codec_type));
	add_text(j, o, "codec", avcodec_get_name(par->codec_id));
	add_text(j, o, "profile", avcodec_profile_name(par->codec_id, par->profile));
	if (par->codec_type == AVMEDIA_TYPE_VIDEO)
		add_video(j, o, s);
	else if (par->codec_type == AVMEDIA_TYPE_AUDIO)
		add_sound(j, o, par);
	add_ratio(j, o, "time_base", s->stream->time_base);
	if (s->stream->duration > 0)
		td_json_set(j, o, "seconds", td_json_real((double)s->stream->duration * av_q2d(s->stream->time_base)));
	return o;
}

/* How many frames, or samples, there really are. */
static int count(struct td_json *j, json_t *o, const struct td_file *file, unsigned number, struct av_want *want,
    struct tundish_error *e)
{
	char spec[16];
	struct av_stream *s;
	uint64_t frames = 0, samples = 0;
	snprintf(spec, sizeof spec, "%u", number);
	want->spec = spec;
	int rc = av_stream_open(&s, file->path, want, e);
	if (rc < 0)
		return rc;
	while ((rc = av_stream_next(s, e)) > 0) {
		frames++;
		samples += (uint64_t)TD_MAX(s->frame->nb_samples, 0);
	}
	bool sound = want->type == AVMEDIA_TYPE_AUDIO;
	td_json_int(j, o, sound ? "samples_decoded" : "frames_decoded", sound ? samples : frames);
	if (s->lost)
		td_json_int(j, o, "packets_lost", s->lost);
	av_stream_close(s);
	return rc;
}

static int add_stream(struct td_json *j, json_t *list, struct av_stream *s, unsigned i, const struct td_file *file,
    struct av_want *want, struct tundish_error *e)
{
	json_t *o = stream_json(j, s, i);
	int rc = 0;
	want->type = s->stream->codecpar->codec_type;
	bool plays = (want->type == AVMEDIA_TYPE_VIDEO && !(s->stream->disposition & AV_DISPOSITION_ATTACHED_PIC)) ||
	    want->type == AVMEDIA_TYPE_AUDIO;
	if (file->decode && plays)
		rc = count(j, o, file, i, want, e);
	td_json_add(j, list, o);
	return rc;
}

int av_describe(json_t **ret, const struct td_file *file, const struct tundish_listener *l, struct tundish_error *e)
{
	struct av_want want = { .max_pixels = (uint64_t)1 << 28, .listener = l };
	struct td_json j = { 0 };
	struct av_stream *s;
	int rc = av_container_open(&s, file->path, &want, e);
	if (rc < 0)
		return rc;
	json_t *all = json_object(), *list = json_array();
	td_json_string(&j, all, "kind", s->format->iformat->long_name);
	if (s->format->duration > 0)
		td_json_set(&j, all, "seconds", td_json_real((double)s->format->duration / AV_TIME_BASE));
	for (unsigned i = 0; rc == 0 && i < s->format->nb_streams; i++)
		rc = add_stream(&j, list, s, i, file, &want, e);
	td_json_set(&j, all, "streams", list);
	av_stream_close(s);
	if (rc == 0 && j.lost)
		rc = td_err_memory(e);
	if (rc < 0)
		json_decref(all);
	else
		*ret = all;
	return rc;
}
