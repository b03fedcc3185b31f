/* SPDX-License-Identifier: BSD-2-Clause
 * Frames as files of their own, whose names tell where they were: clip.mp4.000012.t0.480000000.jpg */
#pragma once
#include "list.h"

/* The name of a frame's file: that of the video, its number and time; to be freed, NULL
 * without memory. */
char *td_frame_name(const char *video, int64_t frame, double seconds, const char *suffix);
/* Reads one: the length of the video's name, number and time. False where it is none. */
bool td_frame_read(const char *name, size_t *ret_video, int64_t *ret_frame, double *ret_seconds);

/* Pictures in a listing that are frames: those of one video are a group and follow one
 * another, and where all are, their features are known. Gaps in the tables beside each
 * video are told. */
int td_frames_settle(struct td_listing *l, const struct td_list_options *o, struct tundish_error *e);
/* The number and time of an item's picture, if its name tells them. False without memory. */
bool td_frame_extras(struct td_loaded *out, const char *name) td_must_check;
