/* SPDX-License-Identifier: BSD-2-Clause
 * The frames of a video: their list, and each of them again. */
#pragma once
#include "../format.h"
#include "stream.h"

/*
 * Headers lie about the number of frames, and a time does not name a frame where times
 * repeat. So a file is decoded once to list its frames, and what each one looked like is
 * noted as a checksum. To get at a frame later, decoding starts at a key frame before it
 * and what comes out is compared; where it differs (frames that refer to others before
 * the key frame, containers that seek to the wrong place) it starts anew at an earlier one,
 * in the end at the beginning. So a frame is the same from wherever it is reached.
 *
 * Packets alone would be listed twenty times as fast, but they are not the frames: one may be
 * hidden, hold half a picture or refer to what is not there, and one that is damaged gives
 * none, which moves the numbers of all behind it. That is seen by decoding only. It is a
 * seventh of the work where all frames are wanted: 10 s of 1920 x 1080 H.264 are listed in
 * 1.25 s of CPU, and encoded as JPEG in 8.5 s more.
 */
struct av_frame_note {
	int64_t pts;
	uint32_t sum;
	uint32_t flags;
};
enum {
	AV_NOTE_KEY = 1,
	AV_NOTE_DAMAGED = 2,
};

struct av_frame_list {
	struct av_frame_note *notes;
	size_t n, cap;
	uint32_t *picks; /* numbers of the frames that are wanted */
	uint32_t n_picks;
	AVRational time_base;
	uint32_t width, height; /* upright */
	bool seeks;		/* times ascend: they name frames */
};

/* Decodes all of a file. What is missing goes to *ret_loss: "" if nothing is. */
int av_frames_list(struct av_frame_list *ret, struct av_stream *s, const struct td_av_cut *cut, char ret_loss[256],
    struct tundish_error *e);
void av_frames_free(struct av_frame_list *list);

/* As bytes, to be kept by the listing, and back; false if they are none. */
bool av_frames_pack(struct td_buf *out, const struct av_frame_list *list) td_must_check;
/* Points into the bytes. */
bool av_frames_unpack(struct av_frame_list *ret, const struct td_buf *bytes) td_must_check;

/* A position among the frames of an open stream. */
struct av_cursor {
	struct av_stream *s; /* may be closed and opened anew */
	uint32_t next;	     /* number of the frame that av_stream_next() gives */
	const char *path;
	struct av_want want;
};
/* Makes frame `number` the stream's last one. */
int av_frames_seek(struct av_cursor *c, const struct av_frame_list *list, uint32_t number, struct tundish_error *e);
