/* SPDX-License-Identifier: BSD-2-Clause
 * Examples read in place: every feature, every value, and each key found again. */
#include "fuzz.h"

static void values(const struct tundish_feature *f)
{
	MUST(f->kind >= TUNDISH_KIND_NONE && f->kind <= TUNDISH_INT64);
	const uint8_t *data;
	size_t bytes;
	int64_t whole;
	float real;
	for (uint64_t i = 0; i <= f->count; i++) {
		int want = i < f->count;
		int r = tundish_feature_bytes(f, i, &data, &bytes);
		MUST(f->kind == TUNDISH_BYTES ? r == want : r <= 0);
		if (r == 1)
			MUST(data >= f->list && data + bytes <= f->list + f->list_bytes);
		r = tundish_feature_int64(f, i, &whole);
		MUST(f->kind == TUNDISH_INT64 ? r == want : r <= 0);
		r = tundish_feature_float(f, i, &real);
		MUST(f->kind == TUNDISH_FLOAT ? r == want : r <= 0);
		if (i == 40 && f->count > 80)
			i = f->count - 40; /* each look-up may be a walk */
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct tundish_feature f, found;
	size_t position = 0;
	int r;
	while ((r = tundish_example_next(data, len, &position, &f)) == 1) {
		MUST(position <= len);
		const uint8_t *key = (const uint8_t *)f.key;
		MUST(!f.key_bytes || (key >= data && key + f.key_bytes <= data + len));
		values(&f);
	}
	MUST(r == 0 || r == TUNDISH_E_CORRUPT);
	if (r)
		return 0;
	for (position = 0; tundish_example_next(data, len, &position, &f) == 1;) {
		MUST(tundish_example_find(data, len, f.key, f.key_bytes, &found) == 1);
		MUST(found.key_bytes == f.key_bytes && !memcmp(found.key, f.key, f.key_bytes));
		MUST(!f.key_bytes || found.key >= f.key); /* of repeated keys the last counts */
	}
	return 0;
}
