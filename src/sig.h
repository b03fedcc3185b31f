/* SPDX-License-Identifier: BSD-2-Clause
 * Signals: asked to stop, we clean up first and then die of that very signal. */
#pragma once

/* SIGINT, SIGTERM and SIGHUP become a request that sig_asked() tells; the same signal
 * once more, two seconds later, kills at once. SIGPIPE becomes EPIPE. */
void sig_init(void);

/* The signal that asked us to stop; 0: none did. */
int sig_asked(void);

/* The listener's `stop`. */
int sig_stop(void *data);

/* Ends the process by that signal with its default action: what a shell expects. */
_Noreturn void sig_die(int number);
