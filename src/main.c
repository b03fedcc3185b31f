/* SPDX-License-Identifier: BSD-2-Clause
 * The program's entry: global options, dispatch, delayed errors of stdout. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/err.h"
#include "base/thread.h"
#include "cmd.h"
#include "help.h"
#include "near.h"
#include "out.h"
#include "sig.h"
#include "units.h"

#define STRING_(x) #x
#define STRING(x) STRING_(x)
#define HEADER_VERSION                                                                             \
	STRING(TUNDISH_VERSION_MAJOR) "." STRING(TUNDISH_VERSION_MINOR) "." STRING(TUNDISH_VERSION_PATCH)

static bool stdin_closed;

/* A closed standard file must not become the number of the first file that is
 * opened. What takes its place fails when it is used. */
static void occupy_standard_files(void)
{
	for (int fd = 0; fd < 3; fd++) {
		if (fcntl(fd, F_GETFD) >= 0)
			continue;
		stdin_closed |= fd == STDIN_FILENO;
		if (open("/dev/null", fd == STDOUT_FILENO ? O_RDONLY : O_WRONLY) != fd)
			_exit(EXIT_FAILED);
	}
}

static const struct cmd *find_command(const char *name)
{
	for (const struct cmd *const *c = commands; *c; c++)
		if (!strcmp((*c)->name, name))
			return *c;
	return NULL;
}

static int unknown_command(const char *name)
{
	const char *best = NULL;
	size_t distance = (size_t)-1;
	for (const struct cmd *const *c = commands; *c; c++)
		near_offer(name, (*c)->name, &best, &distance);
	fprintf(stderr, "tundish: unknown %s %s; ", *name == '-' ? "option" : "command", TD_ESC(name));
	if (best)
		fprintf(stderr, "did you mean %s?\n", best);
	else
		fputs("see tundish --help\n", stderr);
	return EXIT_USAGE;
}

static int version(void)
{
	printf("tundish %s\nlibrary %s, header %s\ncompiler %s\nfeatures %s\n", HEADER_VERSION,
	    tundish_version(), HEADER_VERSION,
#ifdef __clang__
	    "clang " __clang_version__,
#else
	    "gcc " __VERSION__,
#endif
	    tundish_features());
	return 0;
}

static void list_option(const struct cmd *cmd, const struct opt *o)
{
	char letter[3] = { '-', o->letter, 0 };
	printf("%s\t--%s\t%s\t%s\n", cmd->name, o->name, o->letter ? letter : "",
	    o->type == OPT_FLAG ? "" : "value");
}

/* For the check that code and manual name the same options. */
static int list_options(void)
{
	for (const struct cmd *const *c = commands; *c; c++)
		opt_each(*c, list_option);
	return 0;
}

static int help(const char *topic)
{
	static const char prefix[] = "tundish-";
	const char *page = topic ? topic : "tundish";
	if (!strncmp(page, prefix, strlen(prefix)))
		page += strlen(prefix);
	if (*page && help_print(stdout, strcmp(page, "tundish") ? page : ""))
		return 0;
	return unknown_command(topic);
}

static int check_stdin(struct call *call)
{
	for (size_t i = 0; stdin_closed && i < call->n_paths; i++)
		if (!strcmp(call->paths[i], "-") || !strcmp(call->paths[i], "/dev/stdin"))
			return report_error(&call->report, EXIT_FAILED, "standard input is closed");
	return 0;
}

/* With -v: what it cost. */
static void tell_cost(struct call *call, uint64_t start_ns)
{
	struct rusage use;
	getrusage(RUSAGE_SELF, &use);
	double user = (double)use.ru_utime.tv_sec + (double)use.ru_utime.tv_usec / 1e6;
	double kernel = (double)use.ru_stime.tv_sec + (double)use.ru_stime.tv_usec / 1e6;
	report_detail(&call->report,
	    "%.3f s; CPU time %.3f s, %.3f s of it in the kernel; %u cores; memory at its peak %s",
	    (double)(td_now_ns() - start_ns) / 1e9, user + kernel, kernel, tundish_usable_cores(),
	    BYTES(1024. * (double)use.ru_maxrss));
}

static int call_command(const struct cmd *cmd, int argc, char **argv)
{
	struct call call = { .cmd = cmd, .settings = calloc(1, cmd->settings_bytes + 1) };
	uint64_t start_ns = td_now_ns();
	int first, code;
	if (!call.settings)
		return EXIT_FAILED;
	cmd->init(&call);
	code = opt_parse(cmd, &call.shared, call.settings, argc, argv, &first);
	if (code == 0 && call.shared.help) {
		help_print(stdout, cmd->name);
	} else if (code == 0) {
		call.paths = (const char **)argv + first;
		call.n_paths = (size_t)(argc - first);
		code = report_open(&call.report, &call.shared, cmd->noun);
		code = code ? code : check_stdin(&call);
		if (code == 0) {
			code = cmd->run(&call);
			tell_cost(&call, start_ns);
		}
		code = report_close(&call.report, code);
	}
	free(call.settings);
	return code;
}

static int dispatch(int argc, char **argv)
{
	if (argc < 2) {
		help_print(stderr, "");
		return EXIT_USAGE;
	}
	const char *name = argv[1];
	bool wants_help = !strcmp(name, "--help") || !strcmp(name, "-h") || !strcmp(name, "help");
	bool wants_version = !strcmp(name, "--version");
	if ((wants_help && argc > 3) || (wants_version && argc > 2)) {
		fprintf(stderr, "tundish: %s is one word too many\n", TD_ESC(argv[argc - 1]));
		return EXIT_USAGE;
	}
	if (wants_help)
		return help(argv[2]);
	if (wants_version)
		return version();
	if (!strcmp(name, "--list-options"))
		return list_options();
	const struct cmd *cmd = find_command(name);
	return cmd ? call_command(cmd, argc - 1, argv + 1) : unknown_command(name);
}

/* Whoever read our output is gone. */
static bool reader_gone(void)
{
	struct pollfd p = { .fd = STDOUT_FILENO, .events = POLLOUT };
	return poll(&p, 1, 0) == 1 && (p.revents & POLLERR);
}

/* Errors of buffered output show up here at the latest. */
static int close_stdout(int code)
{
	int bad = ferror(stdout), why = out_flush();
	bad |= why != 0;
	if (bad && (why == EPIPE || (why == 0 && reader_gone())))
		return EXIT_CLOSED;
	if (!bad && fclose(stdout)) {
		bad = 1;
		why = errno;
	}
	if (!bad)
		return code;
	fprintf(stderr, "tundish: standard output: %s\n", why ? strerror(why) : "cannot be written");
	return EXIT_FAILED;
}

int main(int argc, char **argv)
{
	occupy_standard_files();
	if (strcmp(tundish_version(), HEADER_VERSION)) {
		fprintf(stderr, "tundish: built for library version %s, but %s was loaded\n",
		    HEADER_VERSION, tundish_version());
		return EXIT_FAILED;
	}
	sig_init();
	int code = close_stdout(dispatch(argc, argv));
	/* also where the run came to its end: its input may have ended by the same signal */
	if (sig_asked())
		sig_die(sig_asked());
	if (code == EXIT_CLOSED)
		sig_die(SIGPIPE);
	return code == EXIT_STOPPED ? EXIT_FAILED : code;
}
