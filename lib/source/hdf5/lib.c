/* SPDX-License-Identifier: BSD-2-Clause
 * The HDF5 library: its one lock, and what it says when it fails. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "inside.h"

static struct {
	pthread_mutex_t lock;
	pthread_cond_t left;
	bool inside, begun;
	struct td_wait_stats waits;
} library = { .lock = PTHREAD_MUTEX_INITIALIZER, .left = PTHREAD_COND_INITIALIZER };

void td_h5_enter(void)
{
	pthread_mutex_lock(&library.lock);
	while (library.inside)
		td_wait(&library.left, &library.lock, &library.waits);
	library.inside = true;
	pthread_mutex_unlock(&library.lock);
	/* there is nothing to write, and closing forged files at exit crashes */
	if (!library.begun)
		H5dont_atexit();
	library.begun = true;
	/* the library keeps this for each thread */
	H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
}

void td_h5_leave(void)
{
	pthread_mutex_lock(&library.lock);
	library.inside = false;
	pthread_cond_signal(&library.left);
	pthread_mutex_unlock(&library.lock);
}

#define CPU_SECONDS 20
#define WALL_SECONDS 30

/* The child has but this thread, and the lock is in whatever state others left it. */
static void play_alone(void (*play)(void *ctx), void *ctx)
{
	static const int deadly[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGALRM };
	sigset_t none;
	setrlimit(RLIMIT_CORE, &(struct rlimit){ 0 });
	setrlimit(RLIMIT_CPU, &(struct rlimit){ CPU_SECONDS, CPU_SECONDS });
	for (unsigned i = 0; i < TD_COUNT(deadly); i++)
		signal(deadly[i], SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	alarm(WALL_SECONDS);
	pthread_mutex_init(&library.lock, NULL);
	pthread_cond_init(&library.left, NULL);
	library.inside = false;
	play(ctx);
	_exit(0);
}

/* What another thread held when the process was copied is never let go there: not every
 * allocator sees to that. */
static bool stood_still(int status, const struct rusage *used)
{
	return WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM &&
	    used->ru_utime.tv_sec + used->ru_stime.tv_sec == 0;
}

int td_h5_rehearse(void (*play)(void *ctx), void *ctx, struct tundish_error *e)
{
	int status = 0;
	struct rusage used = { 0 };
	td_h5_enter(); /* so nobody is in the library when it is copied */
	pid_t child = fork(), ended = child;
	if (child == 0)
		play_alone(play, ctx);
	while (child > 0 && (ended = wait4(child, &status, 0, &used)) < 0 && errno == EINTR)
		;
	td_h5_leave();
	/* without processes, or with the caller collecting them, it is done without */
	if (ended <= 0 || status == 0 || stood_still(status, &used))
		return 0;
	if (!WIFSIGNALED(status))
		return td_err(e, TUNDISH_E_CORRUPT, "damaged: the HDF5 library gives up on it");
	int by = WTERMSIG(status);
	if (by == SIGXCPU || by == SIGKILL || by == SIGALRM)
		return td_err(e, TUNDISH_E_CORRUPT, "damaged: the HDF5 library comes to no end with it");
	return td_err(e, TUNDISH_E_CORRUPT, "damaged: the HDF5 library crashes on it (signal %d)", by);
}

/* The innermost reason comes first. */
static herr_t first_reason(unsigned n, const H5E_error2_t *error, void *data)
{
	char *out = data;
	if (n == 0 && error->desc)
		snprintf(out, 200, "%s", error->desc);
	return 0;
}

int td_h5_fail(struct tundish_error *e, int code, const char *fmt, ...)
{
	char what[TD_ESC_MAX], why[200] = "";
	va_list args;
	va_start(args, fmt);
	vsnprintf(what, sizeof what, fmt, args);
	va_end(args);
	H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, first_reason, why);
	H5Eclear2(H5E_DEFAULT);
	unsigned major = 0, minor = 0, release = 0;
	H5get_libversion(&major, &minor, &release);
	if (strstr(why, "version"))
		return td_err(e, code, "%s: %s: does it need a newer HDF5 library than %u.%u.%u?", what, TD_ESC(why), major,
		    minor, release);
	return td_err(e, code, "%s%s%s", what, why[0] ? ": " : "", why[0] ? TD_ESC(why) : "");
}

const char *td_h5_filter_name(int id, const char *in_file)
{
	static const struct {
		int id;
		const char *name;
	} known[] = { { 1, "deflate" }, { 2, "shuffle" }, { 3, "fletcher32" }, { 4, "szip" }, { 5, "nbit" },
		{ 6, "scaleoffset" }, { 305, "LZO" }, { 307, "bzip2" }, { 32000, "LZF" }, { 32001, "Blosc" },
		{ 32004, "LZ4" }, { 32008, "bitshuffle" }, { 32013, "ZFP" }, { 32015, "Zstandard" },
		{ 32017, "SZ" }, { 32026, "Blosc2" } };
	for (unsigned i = 0; i < TD_COUNT(known); i++)
		if (known[i].id == id)
			return known[i].name;
	return in_file;
}
