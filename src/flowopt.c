/* SPDX-License-Identifier: BSD-2-Clause
 * The options of a flow, the same for bench and feed. */
#include "flowopt.h"

#include <inttypes.h>

#include "ranks.h"

#define RANK_NOT_GIVEN UINT32_MAX

const struct opt_choice flowopt_last[] = {
	{ "keep", TUNDISH_LAST_KEEP },
	{ "drop", TUNDISH_LAST_DROP },
	{ "pad", TUNDISH_LAST_PAD },
	{ NULL },
};

const struct opt_choice flowopt_rank_by[] = {
	{ "record", TUNDISH_RANK_RECORD },
	{ "file", TUNDISH_RANK_FILE },
	{ NULL },
};

const struct opt_choice flowopt_uneven[] = {
	{ "error", TUNDISH_UNEVEN_ERROR },
	{ "keep", TUNDISH_UNEVEN_KEEP },
	{ "drop", TUNDISH_UNEVEN_DROP },
	{ "pad", TUNDISH_UNEVEN_PAD },
	{ NULL },
};

void flowopt_init(struct tundish_flow_options *o, struct opt_shared *shared)
{
	tundish_flow_options_init(o);
	o->rank = RANK_NOT_GIVEN;
	o->world = 0;
	shared->seed = o->seed;
	shared->on_error = o->on_error;
	shared->input_compression = o->compression;
	shared->max_record = o->max_record_bytes;
	shared->max_pixels = o->max_pixels;
}

int flowopt_ranks(struct tundish_flow_options *o, struct call *call)
{
	const char *from;
	bool given = o->rank != RANK_NOT_GIVEN;
	if (given && o->world == 0)
		return report_error(&call->report, EXIT_USAGE, "%s: --rank needs --world", call->cmd->name);
	if (o->world > 1 && !given)
		return report_error(&call->report, EXIT_USAGE, "%s: --world needs --rank", call->cmd->name);
	if (!given)
		o->rank = 0;
	if (o->world)
		return 0;
	o->world = 1;
	if (ranks_from_environment(&o->rank, &o->world, &from) && o->world > 1)
		report_say(&call->report, "note: rank %u of %u, from %s; --world 1 for all records",
		    o->rank, o->world, from);
	return 0;
}

int flowopt_mix(struct tundish_flow_options *o, const struct opt_list *mix, struct call *call)
{
	o->mix = mix->items;
	o->n_mix = mix->n;
	if (mix->n == 0)
		return call_needs_paths(call);
	if (call->n_paths)
		return report_error(&call->report, EXIT_USAGE, "%s: --mix names what to read; no other "
		    "path can be given with it", call->cmd->name);
	return 0;
}

void flowopt_apply(struct tundish_flow_options *o, struct call *call)
{
	const struct opt_shared *shared = &call->shared;
	o->paths = call->paths;
	o->n_paths = call->n_paths;
	o->seed = shared->seed;
	o->skip = shared->skip;
	o->limit = shared->limit;
	o->on_error = shared->on_error;
	o->compression = shared->input_compression;
	o->threads = shared->threads;
	o->memory = shared->memory;
	o->max_record_bytes = shared->max_record;
	o->max_pixels = shared->max_pixels;
	o->listener = call->report.listener;
}

void flowopt_say_walk(struct call *call, const struct tundish_flow_stats *stats)
{
	if (stats->files_walked == 0)
		return;
	/* who waits for it wants to know why */
	(stats->listing_ns >= 1000000000 ? report_say : report_detail)(&call->report,
	    "note: files without an index that fits: %" PRIu64 "; finding their records took %.3f s "
	    "(inspect --index writes one)", stats->files_walked, (double)stats->listing_ns / 1e9);
}
