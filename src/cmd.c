/* SPDX-License-Identifier: BSD-2-Clause
 * Checks that several commands make before they start. */
#include "cmd.h"

#include <unistd.h>

int call_needs_paths(struct call *call)
{
	if (call->n_paths)
		return 0;
	return report_error(&call->report, EXIT_USAGE, "%s: no path given; see tundish %s --help",
	    call->cmd->name, call->cmd->name);
}

int call_refuse_terminal(struct call *call)
{
	if (!isatty(STDOUT_FILENO))
		return 0;
	return report_error(&call->report, EXIT_USAGE,
	    "standard output is a terminal; binary data go to a file or a pipe");
}
