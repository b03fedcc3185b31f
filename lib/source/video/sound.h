/* SPDX-License-Identifier: BSD-2-Clause
 * The sound of a file as samples of one rate, whole or in windows. */
#pragma once
#include <libswresample/swresample.h>

#include "../format.h"
#include "stream.h"

/*
 * Resamplers and many decoders have a memory, so a sample depends on all before it: samples
 * are always reached by decoding from the beginning. Windows in the order of the file
 * are read in one pass.
 */
struct av_sound {
	struct av_stream *s;
	struct SwrContext *resampler;
	/* what it is set for */
	int format, in_rate;
	AVChannelLayout in_layout, layout;
	enum AVSampleFormat out_format;
	uint32_t rate, channels;
	struct td_buf samples; /* those at hand; channels interleaved */
	uint64_t first;	       /* number of the first of them */
	bool ended;
};

int av_sound_open(struct av_sound **ret, const char *path, const struct av_want *want, const struct td_av_cut *cut,
    struct tundish_error *e);
void av_sound_close(struct av_sound *sound);
/* Bytes of the samples of one moment. */
static inline size_t av_sound_bytes(const struct av_sound *sound)
{
	return sound->channels * (sound->out_format == AV_SAMPLE_FMT_S16 ? sizeof(int16_t) : sizeof(float));
}

/* For td_format. */
int av_sound_parts(struct td_parts *ret, const struct td_file *file, const struct td_cut *cut,
    const struct tundish_listener *l, struct tundish_error *e);
int av_sound_look(struct td_loaded *out, const struct td_file *file, uint32_t part, const struct td_cut *cut,
    struct tundish_error *e);
int av_sound_load(struct td_loaded *out, const struct td_file *file, uint32_t part, const struct td_cut *cut,
    struct tundish_error *e);
