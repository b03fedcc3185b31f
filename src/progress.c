/* SPDX-License-Identifier: BSD-2-Clause
 * The line on stderr that says how far it is, how fast it goes and how long it takes. */
#include "progress.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "base/thread.h"
#include "units.h"

void progress_init(struct progress *p, const char *noun, bool forced, bool quiet)
{
	*p = (struct progress){ .noun = noun, .terminal = isatty(STDERR_FILENO) };
	p->on = forced || (p->terminal && !quiet);
	p->start_ns = p->last_ns = td_now_ns();
}

/* Seconds to go: by bytes where their total is known, else by items; -1: unknown. */
static double remaining(const struct tundish_progress *now, double seconds)
{
	uint64_t done = now->bytes_total ? now->bytes : now->items;
	uint64_t total = now->bytes_total ? now->bytes_total : now->items_total;
	if (total == 0 || done == 0)
		return -1;
	return done >= total ? 0 : seconds * (double)(total - done) / (double)done;
}

static void write_line(const struct progress *p, const struct tundish_progress *now, double seconds)
{
	char line[256];
	int n = snprintf(line, sizeof line, "%s%" PRIu64, p->terminal ? "\r" : "", now->items);
	if (now->items_total)
		n += snprintf(line + n, sizeof line - (size_t)n, " of %" PRIu64, now->items_total);
	n += snprintf(line + n, sizeof line - (size_t)n, " %s, %s/s", p->noun,
	    COUNT((double)now->items / seconds));
	if (now->bytes)
		n += snprintf(line + n, sizeof line - (size_t)n, ", %s/s",
		    BYTES((double)now->bytes / seconds));
	double rest = remaining(now, seconds);
	if (rest >= 0)
		n += snprintf(line + n, sizeof line - (size_t)n, ", %s left", CLOCK(rest));
	/* \033[K: the rest of a longer line that stood here */
	snprintf(line + n, sizeof line - (size_t)n, "%s", p->terminal ? "\033[K" : "\n");
	fputs(line, stderr);
	fflush(stderr);
}

void progress_update(struct progress *p, const struct tundish_progress *now)
{
	if (!p->on)
		return;
	uint64_t at = td_now_ns();
	if (at - p->last_ns < (p->terminal ? 100000000u : 1000000000u))
		return;
	p->last_ns = at;
	write_line(p, now, (double)(at - p->start_ns) / 1e9);
	p->shown = p->terminal;
}

void progress_clear(struct progress *p)
{
	if (p->shown)
		fputs("\r\033[K", stderr);
	p->shown = false;
}
