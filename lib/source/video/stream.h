/* SPDX-License-Identifier: BSD-2-Clause
 * One stream of a file, decoded from front to back by libav, on one thread. */
#pragma once
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>

#include "base/buf.h"
#include "tundish.h"

/* The file is read by pread() alone: no protocol of libav is at work, no other file that
 * one names is opened, and only kinds that hold video or sound are recognised. */
struct av_stream {
	AVFormatContext *format;
	AVCodecContext *codec;
	AVStream *stream;
	AVPacket *packet;
	AVFrame *frame; /* the last one */
	int64_t pts;	/* of it, in the stream's time base */
	uint64_t lost;	/* packets that were damaged, or could not be decoded */
	char reason[160]; /* why, of the first */
	bool cut;	/* the file ended within a packet */
	bool ended, drained;
	int fd;
	uint64_t bytes, at;
	const struct tundish_listener *listener;
};

struct av_want {
	enum AVMediaType type; /* AVMEDIA_TYPE_VIDEO or _AUDIO */
	const char *spec;      /* the number of the stream; NULL: the first one of its type */
	uint64_t max_pixels;
	const struct tundish_listener *listener; /* `stop`, and notices with `talk` */
	bool talk;
};

/* Opens the container alone, for looking at it. */
int av_container_open(struct av_stream **ret, const char *path, const struct av_want *want, struct tundish_error *e);
/* And a stream of it. Reasons without the path; UNSUPPORTED where there is none. */
int av_stream_open(struct av_stream **ret, const char *path, const struct av_want *want, struct tundish_error *e);
/* 1 and s->frame, 0 at the end; MEMORY, LIMIT, STOPPED. Damage is counted and passed over. */
int av_stream_next(struct av_stream *s, struct tundish_error *e);
/* Goes on at a key frame at or before pts, if the container can; false if not: then open anew. */
bool av_stream_seek(struct av_stream *s, int64_t pts);
void av_stream_close(struct av_stream *s);

/* The display matrix of the stream, or else of the frame; NULL: none. */
const int32_t *av_stream_matrix(const struct av_stream *s);
