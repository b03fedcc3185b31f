/* SPDX-License-Identifier: BSD-2-Clause
 * What the program says on stderr while it works: faults, notices, progress, errors;
 * and the exit code that follows. */
#include "report.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "base/err.h"
#include "out.h"
#include "sig.h"

static const struct {
	const char *name;
	int exit_code;
} codes[] = {
	[-TUNDISH_OK] = { "fine", EXIT_FINE },
	[-TUNDISH_E_INVALID] = { "invalid", EXIT_FAILED },
	[-TUNDISH_E_USAGE] = { "usage", EXIT_USAGE },
	[-TUNDISH_E_EXISTS] = { "exists", EXIT_USAGE },
	[-TUNDISH_E_NOT_FOUND] = { "not-found", EXIT_FAILED },
	[-TUNDISH_E_EMPTY] = { "empty", EXIT_FAILED },
	[-TUNDISH_E_IO] = { "io", EXIT_FAILED },
	[-TUNDISH_E_SPACE] = { "space", EXIT_FAILED },
	[-TUNDISH_E_MEMORY] = { "memory", EXIT_FAILED },
	[-TUNDISH_E_MODULE] = { "module", EXIT_FAILED },
	[-TUNDISH_E_CLOSED] = { "closed", EXIT_CLOSED },
	[-TUNDISH_E_STOPPED] = { "stopped", EXIT_STOPPED },
	[-TUNDISH_E_CORRUPT] = { "corrupt", EXIT_BAD_DATA },
	[-TUNDISH_E_TRUNCATED] = { "truncated", EXIT_BAD_DATA },
	[-TUNDISH_E_UNSUPPORTED] = { "unsupported", EXIT_BAD_DATA },
	[-TUNDISH_E_LIMIT] = { "limit", EXIT_BAD_DATA },
	[-TUNDISH_E_SCHEMA] = { "schema", EXIT_BAD_DATA },
	[-TUNDISH_E_BAD] = { "too-many-bad", EXIT_BAD_DATA },
};

const char *report_code_name(int code)
{
	return code > 0 || -code >= (int)TD_COUNT(codes) ? "unknown" : codes[-code].name;
}

/* One line, whole, where the progress line stood. */
static void line(struct report *r, const char *prefix, const char *text)
{
	pthread_mutex_lock(&r->lock);
	progress_clear(&r->progress);
	fprintf(stderr, "%s%s\n", prefix, text);
	fflush(stderr);
	pthread_mutex_unlock(&r->lock);
}

static void log_fault(struct report *r, const struct tundish_fault *fault)
{
	json_t *o = json_object();
	if (fault->path)
		out_set_text(o, "path", fault->path);
	if (fault->record >= 0)
		out_set(o, "record", json_integer(fault->record));
	if (fault->offset >= 0)
		out_set(o, "offset", json_integer(fault->offset));
	if (fault->passed_bytes)
		out_set_count(o, "passed_bytes", fault->passed_bytes);
	out_set_text(o, "kind", report_code_name(fault->code));
	out_set_text(o, "reason", fault->reason);
	json_dumpf(o, r->log, JSON_COMPACT);
	fputc('\n', r->log);
	json_decref(o);
}

static void on_fault(void *data, const struct tundish_fault *fault)
{
	struct report *r = data;
	r->faults++;
	line(r, "", fault->text);
	if (r->log)
		log_fault(r, fault);
}

static void on_notice(void *data, const char *text)
{
	struct report *r = data;
	if (!r->quiet)
		line(r, "note: ", text);
}

void report_progress(struct report *r, const struct tundish_progress *now)
{
	pthread_mutex_lock(&r->lock);
	r->latest = *now;
	progress_update(&r->progress, now);
	pthread_mutex_unlock(&r->lock);
}

static void on_progress(void *data, const struct tundish_progress *now)
{
	report_progress(data, now);
}

int report_open(struct report *r, const struct opt_shared *shared, const char *noun)
{
	*r = (struct report){
		.listener = { r, on_fault, on_notice, on_progress, sig_stop },
		.quiet = shared->quiet,
		.verbose = shared->verbose,
		.lock = PTHREAD_MUTEX_INITIALIZER,
		.log_path = shared->error_log,
	};
	progress_init(&r->progress, noun, shared->progress, shared->quiet);
	if (!r->log_path)
		return 0;
	r->log = fopen(r->log_path, "we");
	if (!r->log)
		return report_error(r, EXIT_FAILED, "%s: %s", TD_ESC(r->log_path), strerror(errno));
	setlinebuf(r->log);
	return 0;
}

int report_close(struct report *r, int code)
{
	progress_clear(&r->progress);
	if (!r->log)
		return code;
	int bad = ferror(r->log);
	errno = 0;
	if (fclose(r->log) || bad)
		return report_error(r, EXIT_FAILED, "%s: %s", TD_ESC(r->log_path),
		    errno ? strerror(errno) : "could not be written");
	return code;
}

#define FORMAT(text)                                                                               \
	char text[2048];                                                                           \
	va_list args;                                                                              \
	va_start(args, fmt);                                                                       \
	vsnprintf(text, sizeof text, fmt, args);                                                   \
	va_end(args)

void report_say(struct report *r, const char *fmt, ...)
{
	FORMAT(text);
	if (!r->quiet)
		line(r, "", text);
}

void report_detail(struct report *r, const char *fmt, ...)
{
	FORMAT(text);
	if (r->verbose)
		line(r, "", text);
}

int report_error(struct report *r, int exit_code, const char *fmt, ...)
{
	FORMAT(text);
	line(r, "tundish: ", text);
	return exit_code;
}

void report_rate(struct report *r, uint64_t n, double seconds)
{
	char text[128];
	snprintf(text, sizeof text, "%" PRIu64 " %s %.3f s %.1f /s", n, r->progress.noun, seconds,
	    seconds > 0 ? (double)n / seconds : 0);
	line(r, "", text);
}

/* The summary of a run that was asked to stop. */
static void say_stopped(struct report *r)
{
	char text[128], total[32] = "";
	const char *name = sigabbrev_np(sig_asked());
	if (r->latest.items_total)
		snprintf(total, sizeof total, " of %" PRIu64, r->latest.items_total);
	snprintf(text, sizeof text, "stopped by SIG%s after %" PRIu64 "%s %s", name ? name : "",
	    r->latest.items, total, r->progress.noun);
	line(r, "tundish: ", text);
}

int report_failure(struct report *r, int code, const struct tundish_error *error)
{
	int exit_code = code > 0 || -code >= (int)TD_COUNT(codes) ? EXIT_FAILED :
								     codes[-code].exit_code;
	if (exit_code == EXIT_CLOSED)
		return exit_code;
	if (exit_code == EXIT_STOPPED) {
		say_stopped(r);
		return exit_code;
	}
	const char *text = error->code && *error->text ? error->text : tundish_strerror(code);
	/* what is wrong with the data is told like a fault, the file name first */
	line(r, exit_code == EXIT_BAD_DATA ? "" : "tundish: ", text);
	return exit_code;
}
