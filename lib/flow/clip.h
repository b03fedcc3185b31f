/* SPDX-License-Identifier: BSD-2-Clause
 * Clips: some frames in a row, of a record that holds many. */
#pragma once
#include "base/rng.h"
#include "record/example.h"
#include "record/sequence.h"

struct td_clip {
	uint32_t frames; /* 0: records are pictures */
	uint32_t stride;
	int64_t start;   /* -1: drawn */
};

/* The frames of a record: values of a feature, or steps of a SequenceExample's list. */
struct td_frames {
	uint64_t n;
	struct tundish_feature feature;
	struct td_steps steps;
	bool listed;
};

/* The list called `key`: 1, 0 when there is none, CORRUPT. */
int td_frames_find(struct td_frames *ret, const char *key, const void *record, size_t bytes);
/* The first frame of a clip of n frames; SCHEMA when there are too few. */
int td_clip_start(const struct td_clip *clip, uint64_t n, struct td_rng *rng, uint64_t *ret_first,
    struct tundish_error *e);
/* The frames first, first + stride and so on. CORRUPT, or SCHEMA for a step that is no bytes. */
int td_frames_take(const struct td_frames *f, uint64_t first, uint32_t stride, uint32_t count,
    struct td_bytes *ret, struct tundish_error *e);
