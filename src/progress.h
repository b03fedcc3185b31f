/* SPDX-License-Identifier: BSD-2-Clause
 * The line on stderr that says how far it is, how fast it goes and how long it takes. */
#pragma once
#include <stdbool.h>

#include "tundish.h"

struct progress {
	const char *noun; /* "records": what the items are */
	bool on, terminal, shown;
	uint64_t start_ns, last_ns;
};

/* On a terminal, or where it is `forced`; then, away from a terminal, a line a second. */
void progress_init(struct progress *p, const char *noun, bool forced, bool quiet);
void progress_update(struct progress *p, const struct tundish_progress *now);
/* Takes the line away, so that something else can be written. */
void progress_clear(struct progress *p);
