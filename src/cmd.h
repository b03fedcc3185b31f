/* SPDX-License-Identifier: BSD-2-Clause
 * What a command is, and what it gets when it is called. */
#pragma once
#include "opt.h"
#include "report.h"

/* One call of a command, options read and standard files in order. */
struct call {
	const struct cmd *cmd;
	struct opt_shared shared;
	void *settings;	     /* the command's own, see struct cmd */
	const char **paths;  /* operands */
	size_t n_paths;
	struct report report;
};

struct cmd {
	const char *name;
	const char *noun;	   /* what it works through: "records" */
	unsigned shared;	   /* enum opt_share */
	const struct opt *options; /* its own */
	size_t settings_bytes;	   /* zeroed before init */
	void (*init)(struct call *call); /* defaults, of the shared options too */
	int (*run)(struct call *call);	 /* returns an exit code */
};

/* All commands in the order of the help; a NULL ends it. cmd/cmds.c */
extern const struct cmd *const commands[];

/* Each of these checks one thing that a command cannot do without: 0, or
 * EXIT_USAGE after a message. */
int call_needs_paths(struct call *call);
/* Refuses to write binary data to a terminal. */
int call_refuse_terminal(struct call *call);
