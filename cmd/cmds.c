/* SPDX-License-Identifier: BSD-2-Clause
 * The table of commands. */
#include "cmds.h"

const struct cmd *const commands[] = {
	&cmd_convert,
	&cmd_shard,
	&cmd_inspect,
	&cmd_count,
	&cmd_bench,
	&cmd_feed,
	NULL,
};
