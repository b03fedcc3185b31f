/* SPDX-License-Identifier: BSD-2-Clause
 * Bad items: named, counted, kept for the report, or the end of the run. */
#pragma once
#include "base/talk.h"

/* What tundish.json says of one. */
struct td_bad_note {
	int code;
	char *name;   /* below its source */
	int64_t line; /* of a list, or -1 */
	int64_t record, offset;
	char *reason;
};

struct td_bad {
	const struct tundish_listener *listener;
	int on_error;	/* TUNDISH_SKIP or TUNDISH_FAIL */
	uint64_t limit; /* more end the run; UINT64_MAX: no bound */
	uint64_t count;
	struct td_bad_note *notes; /* of the first TD_BAD_NOTES */
	size_t n_notes, cap;
};
#define TD_BAD_NOTES 1000

/* One bad item at `at`, called `name` in the report. 0: go on without it. Else the
 * error that ends the run: the item's own with TUNDISH_FAIL, BAD over the limit.
 * Called in an order that does not depend on threads. */
int td_bad_item(struct td_bad *bad, int code, struct td_place at, const char *name,
    const char *reason, struct tundish_error *e);
/* The same for a fault that a reader has told of. */
int td_bad_fault(struct td_bad *bad, const struct tundish_fault *fault, const char *name,
    struct tundish_error *e);
/* BAD when there are more than the limit. */
int td_bad_check(const struct td_bad *bad, struct tundish_error *e);
void td_bad_free(struct td_bad *bad);
