/* SPDX-License-Identifier: BSD-2-Clause
 * One stream of a file, decoded from front to back by libav, on one thread. */
#include "stream.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <libavutil/avstring.h>

#include "base/err.h"
#include "base/infile.h"
#include "base/number.h"
#include "base/talk.h"
#include "media/words.h"

#define READ_BYTES (64 << 10)

/* ---- the file ---- */

static int read_some(void *ctx, uint8_t *out, int bytes)
{
	struct av_stream *s = ctx;
	if (td_stopped(s->listener))
		return AVERROR_EXIT;
	int64_t n = td_read_at(s->fd, out, (size_t)bytes, s->at, NULL);
	if (n > 0)
		s->at += (uint64_t)n;
	return n > 0 ? (int)n : n == 0 ? AVERROR_EOF : AVERROR(EIO);
}

static int64_t seek_to(void *ctx, int64_t offset, int whence)
{
	struct av_stream *s = ctx;
	whence &= ~AVSEEK_FORCE;
	if (whence == AVSEEK_SIZE)
		return (int64_t)s->bytes;
	if (whence == SEEK_CUR)
		offset += (int64_t)s->at;
	else if (whence == SEEK_END)
		offset += (int64_t)s->bytes;
	else if (whence != SEEK_SET)
		return AVERROR(EINVAL);
	if (offset < 0)
		return AVERROR(EINVAL);
	s->at = (uint64_t)offset;
	return offset;
}

/* Files that point to others are not followed. */
static int refuse(AVFormatContext *f, AVIOContext **pb, const char *url, int flags, AVDictionary **options)
{
	(void)f;
	(void)url;
	(void)flags;
	(void)options;
	*pb = NULL;
	return AVERROR(EPERM);
}

static bool prepare_file(struct av_stream *s)
{
	uint8_t *memory = av_malloc(READ_BYTES);
	AVIOContext *pb = memory ? avio_alloc_context(memory, READ_BYTES, 0, s, read_some, NULL, seek_to) : NULL;
	s->format = pb ? avformat_alloc_context() : NULL;
	if (!s->format) {
		if (pb)
			avio_context_free(&pb);
		av_free(memory);
		return false;
	}
	s->format->pb = pb;
	s->format->flags |= AVFMT_FLAG_CUSTOM_IO | AVFMT_FLAG_BITEXACT;
	s->format->io_open = refuse;
	s->format->interrupt_callback = (AVIOInterruptCB){ NULL, NULL };
	return true;
}

/* ---- opening ---- */

#define KINDS "mov,mp4,m4a,3gp,3g2,mj2,matroska,webm,avi,mpegts,mpeg,mpegvideo,flv,asf,ogg,wav,mp3,flac,aac," \
	"aiff,au,caf,ivf,yuv4mpegpipe,h264,hevc,mxf,w64,amr,wv"

static int out_of(struct tundish_error *e, int code, const char *what)
{
	if (code == AVERROR(ENOMEM))
		return td_err_memory(e);
	if (code == AVERROR_EXIT)
		return td_err(e, TUNDISH_E_STOPPED, "stopped");
	if (code == AVERROR(EIO))
		return td_err(e, TUNDISH_E_IO, "%s: cannot be read", what);
	return td_err(e, TUNDISH_E_CORRUPT, "%s: %s", what, TD_ESC(td_words(code)));
}

/* The kind by content alone, among those that are wanted. */
static int find_kind(struct av_stream *s, const AVInputFormat **ret, struct tundish_error *e)
{
	const AVInputFormat *kind = NULL;
	av_freep(&s->format->format_whitelist);
	s->format->format_whitelist = av_strdup(KINDS);
	if (!s->format->format_whitelist)
		return td_err_memory(e);
	int score = av_probe_input_buffer2(s->format->pb, &kind, "", NULL, 0, 0);
	if (score == AVERROR(ENOMEM))
		return td_err_memory(e);
	if (score < 0 || !kind || !av_match_list(kind->name, KINDS, ','))
		return td_err(e, TUNDISH_E_CORRUPT, "no known video format");
	*ret = kind;
	return 0;
}

/* Decoders that look at the first frames get the limit, too. */
static int find_streams(struct av_stream *s, const struct av_want *want, struct tundish_error *e)
{
	unsigned n = s->format->nb_streams;
	AVDictionary **options = calloc(n + 1, sizeof *options);
	int rc = options ? 0 : AVERROR(ENOMEM);
	for (unsigned i = 0; rc >= 0 && i < n; i++) {
		rc = av_dict_set_int(&options[i], "max_pixels", (int64_t)TD_MIN(want->max_pixels, (uint64_t)INT32_MAX), 0);
		if (rc >= 0)
			rc = av_dict_set(&options[i], "threads", "1", 0);
	}
	if (rc >= 0)
		rc = avformat_find_stream_info(s->format, options);
	for (unsigned i = 0; options && i < n; i++)
		av_dict_free(&options[i]);
	free(options);
	return rc < 0 ? out_of(e, rc, "no streams") : 0;
}

int av_container_open(struct av_stream **ret, const char *path, const struct av_want *want, struct tundish_error *e)
{
	const AVInputFormat *kind = NULL;
	struct av_stream *s = calloc(1, sizeof *s);
	if (!s)
		return td_err_memory(e);
	td_words_keep();
	s->listener = want->listener;
	s->pts = AV_NOPTS_VALUE;
	td_words_forget();
	s->fd = td_open_file(path, &s->bytes, e);
	int rc = s->fd < 0 ? s->fd : 0;
	if (rc == 0 && s->bytes == 0)
		rc = td_err(e, TUNDISH_E_TRUNCATED, "empty file");
	if (rc == 0 && !prepare_file(s))
		rc = td_err_memory(e);
	if (rc == 0)
		rc = find_kind(s, &kind, e);
	if (rc == 0) {
		AVIOContext *pb = s->format->pb;
		td_words_forget();
		int code = avformat_open_input(&s->format, "", kind, NULL);
		if (code < 0) {
			av_freep(&pb->buffer);
			avio_context_free(&pb);
			rc = out_of(e, code, "cannot be opened");
		}
	}
	if (rc == 0)
		rc = find_streams(s, want, e);
	if (rc < 0)
		av_stream_close(s);
	else
		*ret = s;
	return rc;
}

static bool is_wanted(const AVStream *stream, enum AVMediaType type)
{
	return stream->codecpar->codec_type == type && !(stream->disposition & AV_DISPOSITION_ATTACHED_PIC);
}

/* Sound where pictures are wanted. */
static bool has_other(const struct av_stream *s, const struct av_want *want)
{
	bool any = false;
	for (unsigned i = 0; i < s->format->nb_streams; i++)
		any |= s->format->streams[i]->codecpar->codec_type == AVMEDIA_TYPE_AUDIO;
	return any && want->type == AVMEDIA_TYPE_VIDEO;
}

static int choose_stream(struct av_stream *s, const struct av_want *want, struct tundish_error *e)
{
	const char *what = want->type == AVMEDIA_TYPE_VIDEO ? "video" : "sound";
	unsigned n = 0, first = 0;
	uint64_t asked;
	for (unsigned i = s->format->nb_streams; i-- > 0;) {
		if (is_wanted(s->format->streams[i], want->type)) {
			first = i;
			n++;
		}
	}
	if (n == 0)
		return td_err(e, TUNDISH_E_UNSUPPORTED, "no %s stream%s", what, has_other(s, want) ?
		    " (--sound takes its sound)" : "");
	if (want->spec) {
		if (!td_parse_u64(&asked, want->spec, strlen(want->spec)) || asked >= s->format->nb_streams ||
		    !is_wanted(s->format->streams[asked], want->type))
			return td_err(e, TUNDISH_E_UNSUPPORTED, "no %s stream \"%s\"", what, TD_ESC(want->spec));
		first = (unsigned)asked;
	} else if (n > 1 && want->talk) {
		td_notice(want->listener, "%u %s streams, number %u is taken", n, what, first);
	}
	s->stream = s->format->streams[first];
	for (unsigned i = 0; i < s->format->nb_streams; i++)
		s->format->streams[i]->discard = i == first ? AVDISCARD_DEFAULT : AVDISCARD_ALL;
	return 0;
}

static int check_size(const AVCodecParameters *par, uint64_t max_pixels, struct tundish_error *e)
{
	if (par->codec_type != AVMEDIA_TYPE_VIDEO || par->width <= 0 || par->height <= 0)
		return 0; /* not known yet: the decoder has the limit, too */
	if ((uint64_t)par->width * (uint64_t)par->height <= max_pixels)
		return 0;
	return td_err(e, TUNDISH_E_LIMIT, "%d x %d is above the limit of %" PRIu64 " pixels", par->width,
	    par->height, max_pixels);
}

static int open_codec(struct av_stream *s, const struct av_want *want, struct tundish_error *e)
{
	const AVCodecParameters *par = s->stream->codecpar;
	const AVCodec *codec = avcodec_find_decoder(par->codec_id);
	if (!codec)
		return td_err(e, TUNDISH_E_UNSUPPORTED, "no decoder for %s", avcodec_get_name(par->codec_id));
	int rc = check_size(par, want->max_pixels, e);
	if (rc < 0)
		return rc;
	s->codec = avcodec_alloc_context3(codec);
	s->packet = av_packet_alloc();
	s->frame = av_frame_alloc();
	if (!s->codec || !s->packet || !s->frame)
		return td_err_memory(e);
	rc = avcodec_parameters_to_context(s->codec, par);
	s->codec->pkt_timebase = s->stream->time_base;
	s->codec->thread_count = 1;
	s->codec->flags |= AV_CODEC_FLAG_BITEXACT;
	s->codec->max_pixels = (int64_t)TD_MIN(want->max_pixels, (uint64_t)INT32_MAX);
	td_words_forget();
	if (rc >= 0)
		rc = avcodec_open2(s->codec, codec, NULL);
	return rc < 0 ? out_of(e, rc, "cannot be decoded") : 0;
}

int av_stream_open(struct av_stream **ret, const char *path, const struct av_want *want, struct tundish_error *e)
{
	struct av_stream *s;
	int rc = av_container_open(&s, path, want, e);
	if (rc < 0)
		return rc;
	rc = choose_stream(s, want, e);
	if (rc == 0)
		rc = open_codec(s, want, e);
	if (rc < 0)
		av_stream_close(s);
	else
		*ret = s;
	return rc;
}

void av_stream_close(struct av_stream *s)
{
	if (!s)
		return;
	avcodec_free_context(&s->codec);
	av_packet_free(&s->packet);
	av_frame_free(&s->frame);
	if (s->format) {
		AVIOContext *pb = s->format->pb;
		avformat_close_input(&s->format);
		av_freep(&pb->buffer);
		avio_context_free(&pb);
	}
	if (s->fd >= 0)
		close(s->fd);
	free(s);
}

/* ---- frames ---- */

static void note_loss(struct av_stream *s, const char *why)
{
	if (s->lost++ == 0)
		snprintf(s->reason, sizeof s->reason, "%s", why);
}

/* Gives the decoder a packet of the stream, or the end. */
static int feed(struct av_stream *s, struct tundish_error *e)
{
	int rc = 0;
	while (!s->ended && (rc = av_read_frame(s->format, s->packet)) >= 0 &&
	    s->packet->stream_index != s->stream->index)
		av_packet_unref(s->packet);
	if (rc == AVERROR(ENOMEM) || rc == AVERROR_EXIT || rc == AVERROR(EIO))
		return out_of(e, rc, "decoding");
	if (s->ended || rc < 0) {
		if (rc < 0 && rc != AVERROR_EOF) {
			note_loss(s, td_words(rc));
			s->cut = true;
		}
		s->ended = s->drained = true;
		avcodec_send_packet(s->codec, NULL);
		return 0;
	}
	if (s->packet->flags & AV_PKT_FLAG_CORRUPT) {
		note_loss(s, "a packet is cut off or damaged");
		s->cut = true;
	}
	td_words_forget();
	rc = avcodec_send_packet(s->codec, s->packet);
	av_packet_unref(s->packet);
	if (rc == AVERROR(ENOMEM))
		return td_err_memory(e);
	if (rc < 0)
		note_loss(s, td_words(rc));
	return 0;
}

/* Time goes on where the container gives none. */
static int64_t time_of(const struct av_stream *s)
{
	int64_t pts = s->frame->best_effort_timestamp;
	if (pts != AV_NOPTS_VALUE)
		return pts;
	AVRational rate = s->stream->avg_frame_rate.num ? s->stream->avg_frame_rate : (AVRational){ 25, 1 };
	int64_t step = av_rescale_q(1, av_inv_q(rate), s->stream->time_base);
	return s->pts == AV_NOPTS_VALUE ? 0 : s->pts + TD_MAX(step, 1);
}

int av_stream_next(struct av_stream *s, struct tundish_error *e)
{
	for (;;) {
		td_words_forget();
		int rc = avcodec_receive_frame(s->codec, s->frame);
		if (rc >= 0) {
			s->pts = time_of(s);
			return 1;
		}
		if (rc == AVERROR_EOF || (rc == AVERROR(EAGAIN) && s->drained))
			return 0;
		if (rc == AVERROR(ENOMEM))
			return td_err_memory(e);
		if (rc != AVERROR(EAGAIN))
			note_loss(s, td_words(rc));
		if (rc != AVERROR(EAGAIN) && s->drained)
			return 0;
		if (td_stopped(s->listener))
			return td_err(e, TUNDISH_E_STOPPED, "stopped");
		rc = rc == AVERROR(EAGAIN) ? feed(s, e) : 0;
		if (rc < 0)
			return rc;
	}
}

bool av_stream_seek(struct av_stream *s, int64_t pts)
{
	if (av_seek_frame(s->format, s->stream->index, pts, AVSEEK_FLAG_BACKWARD) < 0)
		return false;
	avcodec_flush_buffers(s->codec);
	s->ended = s->drained = false;
	s->pts = AV_NOPTS_VALUE;
	return true;
}

const int32_t *av_stream_matrix(const struct av_stream *s)
{
	size_t bytes = 0;
	const void *matrix = av_stream_get_side_data(s->stream, AV_PKT_DATA_DISPLAYMATRIX, &bytes);
	if (matrix && bytes >= 9 * sizeof(int32_t))
		return matrix;
	const AVFrameSideData *side = s->frame ? av_frame_get_side_data(s->frame, AV_FRAME_DATA_DISPLAYMATRIX) : NULL;
	return side && side->size >= 9 * sizeof(int32_t) ? (const void *)side->data : NULL;
}
