/* SPDX-License-Identifier: BSD-2-Clause
 * SequenceExamples read in place, and the picture and label of a sample. */
#include "fuzz.h"

#include "record/sample.h"
#include "record/sequence.h"

static void inside(const struct tundish_feature *f, const uint8_t *data, size_t len)
{
	MUST(f->kind >= TUNDISH_KIND_NONE && f->kind <= TUNDISH_INT64);
	MUST(!f->list || (f->list >= data && f->list + f->list_bytes <= data + len));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct td_sequence s;
	struct td_feature_list list;
	struct tundish_feature f = { 0 };
	struct td_sample sample;
	struct td_keys keys = { NULL, NULL };
	int r;
	td_sequence_start(&s, data, len);
	while ((r = td_sequence_next(&s, &list)) == 1) {
		uint64_t n = 0;
		while (td_sequence_step(&list.features, &f) == 1) {
			inside(&f, data, len);
			n++;
		}
		MUST(n == list.steps);
	}
	MUST(r == 0 || r == TUNDISH_E_CORRUPT);
	if (td_sample_find(&sample, &keys, data, len) == 0) {
		if (sample.image)
			inside(sample.image, data, len);
		if (sample.label)
			inside(sample.label, data, len);
	}
	return 0;
}
