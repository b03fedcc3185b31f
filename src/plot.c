/* SPDX-License-Identifier: BSD-2-Clause
 * Plots, drawn by gnuplot. */
#include "plot.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/outfile.h"

extern char **environ;

static const char *terminal_for(const char *path)
{
	static const struct {
		const char *suffix, *terminal;
	} kinds[] = {
		{ ".svg", "svg size 800,480 font 'sans,12'" },
		{ ".png", "png size 800,480" },
		{ ".pdf", "pdfcairo size 20cm,12cm" },
	};
	size_t n = strlen(path);
	for (size_t i = 0; i < TD_COUNT(kinds); i++)
		if (n > 4 && !strcmp(path + n - 4, kinds[i].suffix))
			return kinds[i].terminal;
	return NULL;
}

/* Starts gnuplot with these standard files; -1: the null device. */
static int start(pid_t *ret_pid, int in, int out, struct tundish_error *error)
{
	char name[] = "gnuplot", version[] = "--version", script[] = "-";
	char *const args[] = { name, in < 0 ? version : script, NULL };
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attr;
	sigset_t defaults;
	sigemptyset(&defaults);
	sigaddset(&defaults, SIGPIPE);
	posix_spawnattr_init(&attr);
	posix_spawnattr_setsigdefault(&attr, &defaults);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGDEF);
	posix_spawn_file_actions_init(&files);
	if (in >= 0)
		posix_spawn_file_actions_adddup2(&files, in, 0);
	else
		posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
	if (out >= 0)
		posix_spawn_file_actions_adddup2(&files, out, 1);
	else
		posix_spawn_file_actions_addopen(&files, 1, "/dev/null", O_WRONLY, 0);
	int rc = posix_spawnp(ret_pid, "gnuplot", &files, &attr, args, environ);
	posix_spawn_file_actions_destroy(&files);
	posix_spawnattr_destroy(&attr);
	if (rc)
		return td_err(error, TUNDISH_E_MODULE, "gnuplot cannot be run (%s); it is in package "
		    "gnuplot-nox", strerror(rc));
	return 0;
}

static int finish(pid_t pid, struct tundish_error *error)
{
	int status;
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return td_err_errno(error, errno, "gnuplot");
	if (!WIFEXITED(status) || WEXITSTATUS(status))
		return td_err(error, TUNDISH_E_IO, "gnuplot failed");
	return 0;
}

int plot_check(const char *path, struct tundish_error *error)
{
	pid_t pid;
	if (!terminal_for(path))
		return td_err(error, TUNDISH_E_USAGE, "%s: a plot's name ends with .svg, .png or .pdf",
		    TD_ESC(path));
	int rc = start(&pid, -1, -1, error);
	return rc ? rc : finish(pid, error);
}

/* The script through a pipe; gnuplot writes to `out`. */
static int run(const char *terminal, const char *script, int out, struct tundish_error *error)
{
	int ends[2];
	pid_t pid;
	if (pipe2(ends, O_CLOEXEC))
		return td_err_errno(error, errno, "pipe");
	int rc = start(&pid, ends[0], out, error);
	close(ends[0]);
	if (rc == 0) {
		dprintf(ends[1], "set terminal %s\n%s", terminal, script);
		close(ends[1]);
		return finish(pid, error);
	}
	close(ends[1]);
	return rc;
}

int plot_draw(const char *path, const char *script, struct tundish_error *error)
{
	struct td_outfile file = { 0 };
	int rc = td_outfile_open(&file, path, error);
	if (rc < 0)
		return rc;
	rc = run(terminal_for(path), script, file.fd, error);
	if (rc == 0)
		return td_outfile_commit(&file, error);
	td_outfile_abort(&file);
	return rc;
}
