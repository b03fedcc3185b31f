/* SPDX-License-Identifier: BSD-2-Clause
 * The sound of a file as samples of one rate, whole or in windows. */
#include "sound.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <libavutil/opt.h>

#include "base/err.h"

/* ---- samples ---- */

int av_sound_open(struct av_sound **ret, const char *path, const struct av_want *want, const struct td_av_cut *cut,
    struct tundish_error *e)
{
	struct av_sound *sound = calloc(1, sizeof *sound);
	if (!sound)
		return td_err_memory(e);
	int rc = av_stream_open(&sound->s, path, want, e);
	if (rc < 0) {
		free(sound);
		return rc;
	}
	const AVCodecParameters *par = sound->s->stream->codecpar;
	sound->format = AV_SAMPLE_FMT_NONE;
	sound->out_format = cut->int16 ? AV_SAMPLE_FMT_S16 : AV_SAMPLE_FMT_FLT;
	sound->rate = cut->rate ? cut->rate : (uint32_t)TD_MAX(par->sample_rate, 0);
	sound->channels = cut->mono ? 1 : (uint32_t)TD_MAX(par->ch_layout.nb_channels, 0);
	if (sound->rate == 0 || sound->channels == 0 || sound->channels > 64) {
		rc = td_err(e, TUNDISH_E_CORRUPT, "sound of %d channels and rate %d", par->ch_layout.nb_channels,
		    par->sample_rate);
	} else if (cut->mono || par->ch_layout.order == AV_CHANNEL_ORDER_UNSPEC) {
		av_channel_layout_default(&sound->layout, (int)sound->channels);
	} else if (av_channel_layout_copy(&sound->layout, &par->ch_layout) < 0) {
		rc = td_err_memory(e);
	}
	if (rc < 0)
		av_sound_close(sound);
	else
		*ret = sound;
	return rc;
}

void av_sound_close(struct av_sound *sound)
{
	if (!sound)
		return;
	swr_free(&sound->resampler);
	av_channel_layout_uninit(&sound->in_layout);
	av_channel_layout_uninit(&sound->layout);
	av_stream_close(sound->s);
	td_buf_free(&sound->samples);
	free(sound);
}

/* Appends what the resampler has, and with a frame what becomes of it. */
static int resample(struct av_sound *sound, const AVFrame *frame, struct tundish_error *e)
{
	size_t bytes = av_sound_bytes(sound);
	int in = frame ? frame->nb_samples : 0, most = swr_get_out_samples(sound->resampler, in);
	if (most < 0)
		return td_err(e, TUNDISH_E_CORRUPT, "sound cannot be resampled");
	if (!td_buf_reserve(&sound->samples, (size_t)most * bytes))
		return td_err_memory(e);
	uint8_t *out = sound->samples.data + sound->samples.len;
	int n = swr_convert(sound->resampler, &out, most, frame ? (const uint8_t **)frame->extended_data : NULL, in);
	if (n == AVERROR(ENOMEM))
		return td_err_memory(e);
	if (n < 0)
		return td_err(e, TUNDISH_E_CORRUPT, "sound cannot be resampled");
	sound->samples.len += (size_t)n * bytes;
	return n;
}

static int flush(struct av_sound *sound, struct tundish_error *e)
{
	int n = 1;
	while (sound->resampler && n > 0)
		n = resample(sound, NULL, e);
	return n < 0 ? n : 0;
}

/* Sets the resampler for the frames from here on. */
static int set_up(struct av_sound *sound, const AVFrame *f, struct tundish_error *e)
{
	AVChannelLayout layout = { 0 };
	int rc = flush(sound, e);
	if (rc < 0)
		return rc;
	if (f->ch_layout.order == AV_CHANNEL_ORDER_UNSPEC)
		av_channel_layout_default(&layout, f->ch_layout.nb_channels);
	else if (av_channel_layout_copy(&layout, &f->ch_layout) < 0)
		return td_err_memory(e);
	swr_free(&sound->resampler);
	rc = swr_alloc_set_opts2(&sound->resampler, &sound->layout, sound->out_format, (int)sound->rate, &layout,
	    (enum AVSampleFormat)f->format, f->sample_rate, 0, NULL);
	/* several channels in one are their mean, for floats as for integers: never louder */
	if (rc >= 0)
		rc = av_opt_set_double(sound->resampler, "rematrix_maxval", 1.0, 0);
	if (rc >= 0)
		rc = swr_init(sound->resampler);
	av_channel_layout_uninit(&layout);
	if (rc < 0)
		return td_err(e, rc == AVERROR(ENOMEM) ? TUNDISH_E_MEMORY : TUNDISH_E_UNSUPPORTED,
		    "sound of %d channels at %d Hz cannot be resampled", f->ch_layout.nb_channels, f->sample_rate);
	sound->format = f->format;
	sound->in_rate = f->sample_rate;
	return av_channel_layout_copy(&sound->in_layout, &f->ch_layout) < 0 ? td_err_memory(e) : 0;
}

/* Decodes on: 1, or 0 at the end. */
static int more(struct av_sound *sound, struct tundish_error *e)
{
	if (sound->ended)
		return 0;
	int rc = av_stream_next(sound->s, e);
	const AVFrame *f = sound->s->frame;
	if (rc == 0) {
		sound->ended = true;
		return flush(sound, e);
	}
	if (rc > 0 && (f->format != sound->format || f->sample_rate != sound->in_rate ||
	    av_channel_layout_compare(&f->ch_layout, &sound->in_layout) != 0))
		rc = set_up(sound, f, e);
	if (rc >= 0)
		rc = resample(sound, f, e);
	return rc < 0 ? rc : 1;
}

/* Forgets samples before one. */
static void drop(struct av_sound *sound, uint64_t before)
{
	size_t bytes = av_sound_bytes(sound);
	uint64_t n = TD_MIN((uint64_t)(sound->samples.len / bytes), before > sound->first ? before - sound->first : 0);
	if (n == 0)
		return;
	memmove(sound->samples.data, sound->samples.data + n * bytes, sound->samples.len - n * bytes);
	sound->samples.len -= n * bytes;
	sound->first += n;
}

/* ---- windows ---- */

/* What load needs to know again. */
struct list {
	uint64_t samples; /* of the file */
	uint32_t rate, channels;
};

struct windows {
	uint64_t length, hop, n;
};

static struct windows windows_of(const struct list *l, const struct td_cut *cut)
{
	struct windows w = { l->samples, l->samples, 1 };
	if (cut->av.window <= 0)
		return w;
	w.length = TD_MAX((uint64_t)(cut->av.window * l->rate + 0.5), (uint64_t)1);
	w.hop = cut->av.hop > 0 ? TD_MAX((uint64_t)(cut->av.hop * l->rate + 0.5), (uint64_t)1) : w.length;
	if (cut->edge != TD_EDGE_DROP)
		w.n = (l->samples + w.hop - 1) / w.hop;
	else
		w.n = l->samples < w.length ? 0 : (l->samples - w.length) / w.hop + 1;
	return w;
}

static struct av_want want_of(const struct td_file *file, const struct td_cut *cut, const struct tundish_listener *l)
{
	return (struct av_want){ .type = AVMEDIA_TYPE_AUDIO, .spec = file->spec, .max_pixels = cut->max_pixels,
		.listener = l };
}

static int count_samples(struct list *ret, struct av_sound *sound, struct tundish_error *e)
{
	struct list l = { .rate = sound->rate, .channels = sound->channels };
	int rc;
	while ((rc = more(sound, e)) > 0)
		drop(sound, UINT64_MAX);
	drop(sound, UINT64_MAX);
	l.samples = sound->first;
	if (rc == 0)
		*ret = l;
	return rc;
}

static int check(const struct list *l, const struct windows *w, size_t bytes, const struct td_cut *cut,
    struct tundish_error *e)
{
	uint64_t all;
	if (l->samples == 0)
		return td_err(e, TUNDISH_E_CORRUPT, "no sound decodes");
	if (w->n == 0)
		return td_err(e, TUNDISH_E_UNSUPPORTED, "%" PRIu64 " samples are too few for a window of %" PRIu64
		    " (--edge pad fills it up)", l->samples, w->length);
	if (w->n >= UINT32_MAX)
		return td_err(e, TUNDISH_E_LIMIT, "more than %" PRIu32 " windows", UINT32_MAX - 1);
	if (td_mul_overflow(w->length, bytes, &all) || all > cut->max_bytes)
		return td_err(e, TUNDISH_E_LIMIT, "%" PRIu64 " samples of %" PRIu32 " channels are more than the limit "
		    "of %" PRIu64 " bytes a record (--window)", w->length, l->channels, cut->max_bytes);
	return 0;
}

static bool add_specs(struct td_specs *s, const struct td_cut *cut)
{
	return td_specs_add(s, "rate", TUNDISH_INT64, 1) && td_specs_add(s, "channels", TUNDISH_INT64, 1) &&
	    (cut->av.window <= 0 || (td_specs_add(s, "sample", TUNDISH_INT64, 1) &&
	    td_specs_add(s, "time", TUNDISH_FLOAT, 1)));
}

static int fill_parts(struct td_parts *ret, const struct av_sound *sound, const struct list *l, const struct windows *w,
    const struct td_cut *cut, struct tundish_error *e)
{
	bool windows = cut->av.window > 0;
	struct td_parts p = { .n = (uint32_t)w->n, .sound = true, .sequence = windows, .grouped = windows };
	p.alike = cut->edge != TD_EDGE_KEEP || w->n == 1 || l->samples == (w->n - 1) * w->hop + w->length;
	p.dtype = cut->av.int16 ? TD_INT16 : TD_FLOAT32;
	p.shape[p.n_axes++] = cut->edge == TD_EDGE_KEEP ? TD_MIN(w->length, l->samples) : w->length;
	if (!cut->av.mono)
		p.shape[p.n_axes++] = l->channels;
	p.timed = windows;
	p.last_time = (double)((w->n - 1) * w->hop) / l->rate;
	p.bytes = w->length * av_sound_bytes(sound);
	p.work_bytes = p.bytes + (1 << 20);
	if (sound->s->lost &&
	    asprintf(&p.loss, "%" PRIu64 " packets are cut off, damaged or do not decode (%s)", sound->s->lost, sound->s->reason) < 0)
		p.loss = NULL;
	if ((sound->s->lost && !p.loss) || !add_specs(&p.specs, cut) || !td_buf_add(&p.index, l, sizeof *l)) {
		td_parts_free(&p);
		return td_err_memory(e);
	}
	*ret = p;
	return 0;
}

int av_sound_parts(struct td_parts *ret, const struct td_file *file, const struct td_cut *cut,
    const struct tundish_listener *l, struct tundish_error *e)
{
	struct av_want want = want_of(file, cut, l);
	struct av_sound *sound;
	struct list list;
	want.talk = true;
	int rc = av_sound_open(&sound, file->path, &want, &cut->av, e);
	if (rc < 0)
		return rc;
	rc = count_samples(&list, sound, e);
	if (rc == 0) {
		const struct windows w = windows_of(&list, cut);
		rc = check(&list, &w, av_sound_bytes(sound), cut, e);
		if (rc == 0)
			rc = fill_parts(ret, sound, &list, &w, cut, e);
	}
	av_sound_close(sound);
	return rc;
}

/* ---- reading ---- */

struct opened {
	struct av_sound *sound;
	const struct td_buf *index; /* names the file */
};

static void close_opened(void *ctx)
{
	struct opened *o = ctx;
	av_sound_close(o->sound);
	free(o);
}

/* The file that is open, where sample `first` has not gone by yet; else from its beginning. */
static int need_open(struct td_loaded *out, const struct td_file *file, const struct td_cut *cut, uint64_t first,
    struct tundish_error *e)
{
	struct opened *o = out->opened;
	struct av_want want = want_of(file, cut, NULL);
	struct av_sound *sound;
	bool same = o && out->close == close_opened && o->index == file->index;
	if (same && o->sound->first <= first)
		return 0;
	int rc = av_sound_open(&sound, file->path, &want, &cut->av, e);
	if (rc < 0)
		return rc;
	if (same) {
		av_sound_close(o->sound);
		o->sound = sound;
		return 0;
	}
	td_loaded_close(out);
	o = malloc(sizeof *o);
	if (!o) {
		av_sound_close(sound);
		return td_err_memory(e);
	}
	*o = (struct opened){ sound, file->index };
	out->opened = o;
	out->close = close_opened;
	return 0;
}

static int read_window(struct td_loaded *out, struct av_sound *sound, uint64_t first, uint64_t n, uint64_t all,
    struct tundish_error *e)
{
	size_t bytes = av_sound_bytes(sound);
	int rc = 1;
	do
		drop(sound, first);
	while ((sound->first < first || sound->samples.len / bytes < n) && (rc = more(sound, e)) > 0);
	if (rc < 0)
		return rc;
	drop(sound, first);
	if (sound->first != first || sound->samples.len / bytes < n)
		return td_err(e, TUNDISH_E_CORRUPT, "the file has changed");
	if (!td_buf_fit(&out->data, all * bytes))
		return td_err_memory(e);
	memcpy(out->data.data, sound->samples.data, n * bytes);
	memset(out->data.data + n * bytes, 0, (all - n) * bytes);
	out->data.len = all * bytes;
	return 0;
}

/* The place of a window: its first sample, those that are there, and all that it has. */
struct place {
	struct list l;
	uint64_t first, n, all;
};

/* And what its array is. */
static int find_place(struct place *ret, struct td_loaded *out, const struct td_file *file, uint32_t part,
    const struct td_cut *cut, struct tundish_error *e)
{
	struct list l;
	if (!file->index || file->index->len != sizeof l)
		return td_err(e, TUNDISH_E_INVALID, "the file was not listed");
	memcpy(&l, file->index->data, sizeof l);
	const struct windows w = windows_of(&l, cut);
	uint64_t first = part * w.hop, n = TD_MIN(w.length, l.samples - first);
	*ret = (struct place){ l, first, n, cut->edge == TD_EDGE_KEEP ? n : w.length };
	out->array = true;
	out->dtype = cut->av.int16 ? TD_INT16 : TD_FLOAT32;
	out->n_axes = 0;
	out->shape[out->n_axes++] = ret->all;
	if (!cut->av.mono)
		out->shape[out->n_axes++] = l.channels;
	return 0;
}

int av_sound_look(struct td_loaded *out, const struct td_file *file, uint32_t part, const struct td_cut *cut,
    struct tundish_error *e)
{
	struct place p;
	out->kind = "sound";
	return find_place(&p, out, file, part, cut, e);
}

int av_sound_load(struct td_loaded *out, const struct td_file *file, uint32_t part, const struct td_cut *cut,
    struct tundish_error *e)
{
	struct place p = { .n = 0 };
	int rc = find_place(&p, out, file, part, cut, e);
	if (rc == 0)
		rc = need_open(out, file, cut, p.first, e);
	if (rc == 0)
		rc = read_window(out, ((struct opened *)out->opened)->sound, p.first, p.n, p.all, e);
	if (rc < 0)
		return rc;
	struct td_extras *x = &out->extras;
	double seconds = (double)p.first / p.l.rate;
	float time = (float)seconds;
	const int64_t rate = p.l.rate, channels = p.l.channels, first = (int64_t)p.first;
	if (cut->av.window > 0 && !td_buf_add(&out->times, &seconds, sizeof seconds))
		return td_err_memory(e);
	bool ok = td_extra_ints(x, "rate", &rate, 1) && td_extra_ints(x, "channels", &channels, 1) &&
	    (cut->av.window <= 0 || (td_extra_ints(x, "sample", &first, 1) &&
	    td_extra_floats(x, "time", &time, 1)));
	return ok ? 0 : td_err_memory(e);
}
