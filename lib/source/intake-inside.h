/* SPDX-License-Identifier: BSD-2-Clause
 * The parts of the intake of streams. */
#pragma once
#include "archive.h"
#include "naming.h"

/* A member that was read, waiting for the others of its key. */
struct td_waiting {
	struct td_buf name, data;
	size_t key;
	int format;	/* -1: none that is known */
	struct td_spilled *file; /* what its format opens, where that is a file */
	bool header;	/* of ENVI, in data: its numbers are another member */
	bool numbers;	/* that may be those of a header: in data, or in its file */
	int code;	/* it cannot be read */
	struct td_buf reason;
	int64_t offset;
};
void td_waiting_free(struct td_waiting *w);
/* For the next member, with its memory. */
void td_waiting_reset(struct td_waiting *w);

/* hold.c: ENVI headers and numbers that have not met. */
struct td_hold {
	struct td_waiting *headers, *numbers;
	size_t n_headers, headers_cap, n_numbers, numbers_cap;
	uint64_t bytes, most; /* in memory, and how many there may be */
};
/* Whether numbers of that name are waited for. */
bool td_hold_wants(const struct td_hold *h, const char *name);
/* What belongs to it, taken out of those that wait: 1; or it waits from now on, its memory taken
 * over: 0. LIMIT where there is no more room. */
int td_hold_header(struct td_hold *h, struct td_waiting *header, struct td_waiting *ret_numbers,
    struct tundish_error *e);
int td_hold_numbers(struct td_hold *h, struct td_waiting *numbers, struct td_waiting *ret_header,
    struct tundish_error *e);
/* A file of both. */
int td_hold_join(struct td_spilled **ret, const struct td_waiting *header, struct td_waiting *numbers,
    struct tundish_error *e);
/* The first header that waits: false when none is left. Its memory is the caller's. */
bool td_hold_orphan(struct td_hold *h, struct td_waiting *ret);
void td_hold_free(struct td_hold *h);
