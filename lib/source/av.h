/* SPDX-License-Identifier: BSD-2-Clause
 * Videos and sound: what is taken out of them. Reading them is the work of the module "video". */
#pragma once
#include <stdbool.h>

#include "base/attr.h"
#include "tundish.h"

struct td_format;
extern const struct td_format td_format_video;

enum td_frames {
	TD_FRAMES_ALL,
	TD_FRAMES_EVERY, /* frame 0, K, 2K, ... */
	TD_FRAMES_FPS,	 /* the frames that are shown at even steps of time */
	TD_FRAMES_KEYS,	 /* those that depend on no other */
};

struct td_av_cut {
	enum td_frames frames;
	uint32_t every;
	int64_t fps_num, fps_den;
	uint32_t clip, clip_step, clip_most; /* frames in one, between the first ones of two; clips a file */
	bool sequence; /* clips are SequenceExamples */
	bool sound, mono, int16; /* sound instead of frames, all channels in one, not float32 */
	uint32_t rate;		 /* samples a second; 0: as it is */
	double window, hop;	 /* seconds; 0: whole, 0: side by side */
};

/* "all", "every:5", "fps:2.5", "fps:30000/1001", "keys"; "16:8:4"; "mono", "all:int16";
 * "0.5:0.25". NULL leaves the defaults. USAGE. */
int td_av_parse(struct td_av_cut *ret, const struct tundish_pack_options *o, struct tundish_error *e);

/* Whether the first bytes are those of a container of video or sound: 0 to 100. */
int td_av_probe(const char *path, const uint8_t *head, size_t len);
