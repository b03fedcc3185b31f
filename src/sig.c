/* SPDX-License-Identifier: BSD-2-Clause
 * Signals: asked to stop, we clean up first and then die of that very signal. */
#include "sig.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t asked;
static struct timespec asked_at; /* written once, before `asked` */

_Noreturn void sig_die(int number)
{
	sigset_t set;
	signal(number, SIG_DFL);
	sigemptyset(&set);
	sigaddset(&set, number);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	kill(getpid(), number);
	_exit(128 + number);
}

/* timeout(1) and terminals deliver one wish twice: the second must come later to count. */
static void on_signal(int number)
{
	int saved = errno;
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	if (!asked) {
		asked_at = now;
		asked = number;
	} else if (now.tv_sec - asked_at.tv_sec > 1) {
		sig_die(number);
	}
	errno = saved;
}

void sig_init(void)
{
	static const int numbers[] = { SIGINT, SIGTERM, SIGHUP };
	for (unsigned i = 0; i < sizeof numbers / sizeof *numbers; i++) {
		struct sigaction action = { .sa_handler = on_signal }, old;
		/* nohup and background jobs: what was ignored stays so */
		if (sigaction(numbers[i], NULL, &old) == 0 && old.sa_handler == SIG_IGN)
			continue;
		sigaction(numbers[i], &action, NULL);
	}
	signal(SIGPIPE, SIG_IGN);
}

int sig_asked(void)
{
	return asked;
}

int sig_stop(void *data)
{
	(void)data;
	return asked != 0;
}
