/* SPDX-License-Identifier: BSD-2-Clause
 * Settings to try: one option after the other, or all combinations. */
#pragma once
#include "opt.h"

/* "NAME=a,b,c" taken apart; `text` holds all strings. */
struct sweep {
	char *text;
	const char *name, *values[OPT_LIST_MAX * 8];
	unsigned n;
};

struct sweeps {
	struct sweep list[OPT_LIST_MAX];
	unsigned n;
	bool grid;	 /* all combinations */
	bool levels;	 /* made by sweeps_levels() */
	unsigned points; /* how many settings that makes; 1 without a sweep */
};

/* 0, or EXIT_USAGE after a message. Free it in any case. */
int sweeps_parse(struct sweeps *sweeps, const struct opt_list *texts, bool grid);
/* Instead: the operations one by one, "", "a", "a b" ... as values of ops; "" is reading
 * alone. NULL operations are "decode". */
int sweeps_levels(struct sweeps *sweeps, const char *ops);
void sweeps_free(struct sweeps *sweeps);

/* The value of sweep `k` in setting `point`; NULL: as it is without the sweep. */
const char *sweeps_value(const struct sweeps *sweeps, unsigned point, unsigned k);
