/* SPDX-License-Identifier: BSD-2-Clause
 * The table of commands. */
#include "cmds.h"

const struct cmd *const commands[] = {
	&cmd_count,
	NULL,
};
