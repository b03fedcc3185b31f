/* SPDX-License-Identifier: BSD-2-Clause
 * What the program says on stderr while it works: faults, notices, progress, errors;
 * and the exit code that follows. */
#pragma once
#include <pthread.h>
#include <stdio.h>

#include "base/attr.h"
#include "opt.h"
#include "progress.h"

/* Exit codes, tundish(1). STOPPED and CLOSED become death by a signal in main(). */
enum report_exit {
	EXIT_FINE = 0,
	EXIT_BAD_DATA = 1,
	EXIT_USAGE = 2,
	EXIT_FAILED = 3,
	EXIT_STOPPED = 100,
	EXIT_CLOSED = 101,
};

struct report {
	struct tundish_listener listener; /* hand this to the library */
	uint64_t faults;		  /* told so far */
	int quiet, verbose;
	struct progress progress;
	struct tundish_progress latest; /* heard of */
	pthread_mutex_t lock; /* the library's threads and ours both talk */
	FILE *log;
	const char *log_path;
};

/* Opens the error log where one was asked for. 0, or the exit code after a message.
 * `noun` is what the command's items are. */
int report_open(struct report *r, const struct opt_shared *shared, const char *noun);
/* Closes the log; an error of it turns `code` into EXIT_FAILED. */
int report_close(struct report *r, int code);

/* A line on stderr; with -q only errors are left. */
void report_say(struct report *r, const char *fmt, ...) td_printf_like(2, 3);
/* The same with -v only. */
void report_detail(struct report *r, const char *fmt, ...) td_printf_like(2, 3);
/* "tundish: ..." on stderr, always; returns `exit_code`. */
int report_error(struct report *r, int exit_code, const char *fmt, ...) td_printf_like(3, 4);

/* For a loop of our own: how far it is. */
void report_progress(struct report *r, const struct tundish_progress *now);
/* The closing line on stderr, "N NOUN S s R /s", with -q too: scripts read it. */
void report_rate(struct report *r, uint64_t n, double seconds);

/* Says why a call of the library failed and returns the exit code for it. */
int report_failure(struct report *r, int code, const struct tundish_error *error);

/* "corrupt", "truncated", ...: the name of a code in JSON. */
const char *report_code_name(int code);
