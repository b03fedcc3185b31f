/* SPDX-License-Identifier: BSD-2-Clause
 * Clips: some frames in a row, of a record that holds many. */
#include "clip.h"

#include <string.h>

#include "base/err.h"

int td_frames_find(struct td_frames *ret, const char *key, const void *record, size_t bytes)
{
	struct td_frames f = { 0 };
	struct td_feature_list list;
	int rc = tundish_example_find(record, bytes, key, strlen(key), &f.feature);
	if (rc < 0)
		return rc;
	if (rc > 0 && f.feature.kind == TUNDISH_BYTES) {
		f.n = f.feature.count;
		*ret = f;
		return 1;
	}
	rc = td_sequence_find(&list, key, record, bytes);
	if (rc <= 0)
		return rc;
	f.listed = true;
	f.steps = list.features;
	f.n = list.steps;
	*ret = f;
	return 1;
}

int td_clip_start(const struct td_clip *clip, uint64_t n, struct td_rng *rng, uint64_t *ret_first,
    struct tundish_error *e)
{
	uint64_t length = (uint64_t)(clip->frames - 1) * clip->stride + 1;
	uint64_t start = clip->start < 0 ? 0 : (uint64_t)clip->start;
	if (start + length > n)
		return td_err(e, TUNDISH_E_SCHEMA, "%llu frames are too few for a clip of %llu%s",
		    (unsigned long long)n, (unsigned long long)length, start ? " behind the start" : "");
	*ret_first = clip->start < 0 ? td_rng_below(rng, n - length + 1) : start;
	return 0;
}

static int next_frame(struct td_steps *steps, struct td_values *values, bool listed, struct td_bytes *ret,
    struct tundish_error *e)
{
	struct tundish_feature step;
	const uint8_t *data;
	int rc = listed ? td_sequence_step(steps, &step) : td_values_bytes(values, &data, &ret->len);
	if (rc > 0 && listed) {
		if (step.kind != TUNDISH_BYTES || step.count != 1)
			return td_err(e, TUNDISH_E_SCHEMA, "a step of the frames is not one value of bytes");
		rc = tundish_feature_bytes(&step, 0, &data, &ret->len);
	}
	if (rc <= 0)
		return td_err(e, TUNDISH_E_CORRUPT, "not an Example");
	ret->data = data;
	return 0;
}

int td_frames_take(const struct td_frames *f, uint64_t first, uint32_t stride, uint32_t count,
    struct td_bytes *ret, struct tundish_error *e)
{
	struct td_steps steps = f->steps;
	struct td_values values;
	if (!f->listed)
		td_values_start(&values, &f->feature);
	for (uint64_t i = 0, taken = 0; taken < count; i++) {
		struct td_bytes frame;
		int rc = next_frame(&steps, &values, f->listed, &frame, e);
		if (rc < 0)
			return rc;
		if (i >= first && (i - first) % stride == 0)
			ret[taken++] = frame;
	}
	return 0;
}
