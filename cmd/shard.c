/* SPDX-License-Identifier: BSD-2-Clause
 * tundish shard: records into another set of shards. */
#include "cmds.h"
#include "packopt.h"

static const struct opt_choice forms[] = {
	{ "tfrecord", TUNDISH_TO_TFRECORD },
	{ "tar", TUNDISH_TO_TAR },
	{ NULL },
};

#define S struct tundish_pack_options
static const struct opt options[] = {
	OPT_FLAG("shuffle", 0, S, shuffle, 1),
	OPT_CHOICE("to", 0, S, to, forms),
	OPT_STRING("filter", 0, S, filter),
	OPT_STRING("jpeg-index", 0, S, jpeg_index),
	OPT_STRING("group-by", 0, S, group_by),
	PACK_OPTIONS,
	OPT_END,
};

static void init(struct call *call)
{
	tundish_shard_options_init(call->settings);
	packopt_init(call);
}

static int run(struct call *call)
{
	return packopt_run(call, tundish_shard);
}

const struct cmd cmd_shard = {
	.name = "shard",
	.noun = "records",
	.shared = PACK_SHARES | SHARE_RECORDS | SHARE_CRC,
	.options = options,
	.settings_bytes = sizeof(S),
	.init = init,
	.run = run,
};
