/* SPDX-License-Identifier: BSD-2-Clause
 * What goes out of a record besides pictures: features, texts, frames and raw tensors. */
#include "fuzz.h"

#include "base/err.h"
#include "flow/clip.h"
#include "flow/outs.h"
#include "flow/tensor.h"

/* Names in the seeds. */
static const char all[] = "ids,box,tags=ragged,name,image=bytes,box4/label";
static const struct td_keys keys = { "image", "label" };

static void arrays(const struct td_column *columns, const struct td_outs *outs, unsigned rows)
{
	for (unsigned i = 0; i < outs->n; i++) {
		struct tundish_array a[2];
		if (outs->list[i].source != TD_OUT_FEATURE)
			continue;
		unsigned n = td_columns_arrays(columns, outs, i, rows, a);
		for (unsigned k = 0; k < n; k++) {
			size_t bytes = td_dtype_bytes(a[k].dtype);
			for (unsigned d = 0; d < a[k].ndim; d++)
				bytes *= a[k].shape[d];
			MUST(bytes == a[k].bytes);
		}
	}
}

/* The record is the one that was looked at, and three rows of the batch. */
static void features(const uint8_t *data, size_t len)
{
	struct tundish_error e = { 0 };
	struct td_seen seen = { 0 };
	struct td_sequence sequence;
	struct td_feature_list list;
	struct td_outs outs = { .classes = 7 };
	struct td_ledger ledger = { .budget = (uint64_t)64 << 20 };
	struct tundish_feature f;
	size_t at = 0;
	while (tundish_example_next(data, len, &at, &f) > 0)
		MUST(td_schema_feature(&seen.features, &f));
	td_sequence_start(&sequence, data, len);
	while (td_sequence_next(&sequence, &list) > 0) {
		struct tundish_feature steps = { .key = list.key, .key_bytes = list.key_bytes, .kind = list.kind,
			.count = list.steps };
		MUST(td_schema_feature(&seen.lists, &steps));
		steps.count = 2;
		MUST(td_schema_feature(&seen.steps, &steps));
	}
	MUST(td_schema_record(&seen.features, NULL, 0));
	MUST(td_schema_record(&seen.lists, NULL, 0));
	MUST(td_schema_record(&seen.steps, NULL, 0));
	int r = td_outs_open(&outs, all, strlen(all), &keys, &seen, &e);
	struct td_column *columns = r < 0 ? NULL : td_columns_new(&outs, 3, &ledger);
	if (r < 0)
		must_be_told(r, &e);
	for (unsigned row = 0; columns && row < 3; row++) {
		td_columns_blank(columns, &outs, row);
		r = td_columns_read(columns, &outs, row, data, len, &ledger, &e);
		if (r < 0) {
			must_be_told(r, &e);
			td_columns_blank(columns, &outs, row);
		}
	}
	if (columns && td_columns_pack(columns, &outs, 3, &ledger, &e) == 0)
		arrays(columns, &outs, 3);
	if (columns)
		td_columns_free(columns, &outs, 3);
	td_outs_close(&outs);
	td_schema_free(&seen.features);
	td_schema_free(&seen.lists);
	td_schema_free(&seen.steps);
}

static void frames(const uint8_t *data, size_t len)
{
	struct tundish_error e = { 0 };
	struct td_frames f;
	struct td_bytes taken[3];
	struct td_rng rng;
	const struct td_clip clip = { 3, 2, -1 };
	uint64_t first;
	td_rng_at(&rng, 1, 0, len, TD_RNG_CLIP);
	if (td_frames_find(&f, "image", data, len) <= 0)
		return;
	int r = td_clip_start(&clip, f.n, &rng, &first, &e);
	if (r == 0)
		r = td_frames_take(&f, first, clip.stride, clip.frames, taken, &e);
	if (r < 0) {
		must_be_told(r, &e);
		return;
	}
	for (int i = 0; i < 3; i++)
		MUST((const uint8_t *)taken[i].data >= data && taken[i].len <= len);
}

static void tensor(const uint8_t *data, size_t len)
{
	struct tundish_error e = { 0 };
	static const struct td_chain chain;
	struct tundish_feature f;
	const uint8_t *value;
	size_t bytes;
	const char *key = "image/value";
	if (tundish_example_find(data, len, key, strlen(key), &f) != 1)
		key = "image";
	if (tundish_example_find(data, len, key, strlen(key), &f) != 1 || f.kind != TUNDISH_BYTES ||
	    tundish_feature_bytes(&f, 0, &value, &bytes) != 1)
		return;
	struct td_tensor t = { 0 };
	struct td_raw raw;
	td_tensor_look(&t, key, data, len, value, bytes);
	if (td_tensor_settle(&t, &chain, key, "none", &e) < 0 || !t.on)
		return;
	td_tensor_fix(&t, key, data, len, bytes);
	int r = td_tensor_take(&t, &raw, key, data, len, value, bytes, 1 << 20, &e);
	if (r < 0)
		must_be_told(r, &e);
	else
		MUST((size_t)raw.width * raw.height * raw.channels * td_elem_bytes(raw.elem) == bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	features(data, len);
	frames(data, len);
	tensor(data, len);
	return 0;
}
