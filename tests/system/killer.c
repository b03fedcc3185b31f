/* SPDX-License-Identifier: BSD-2-Clause
 * Preloaded: death by SIGKILL just before call number KILL_AT of those that change files. */
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static void count(void)
{
	static _Atomic long calls;
	const char *at = getenv("KILL_AT");
	if (at && atomic_fetch_add(&calls, 1) + 1 == atol(at))
		kill(getpid(), SIGKILL);
}

/* The standard streams are no files of a set. */
#define NEXT(type, name, parameters, arguments, counts)                                                  \
	__attribute__((visibility("default"))) type name parameters;                                     \
	type name parameters                                                                             \
	{                                                                                                \
		type(*next) parameters = (type(*) parameters)dlsym(RTLD_NEXT, #name);                    \
		if (counts)                                                                              \
			count();                                                                         \
		return next arguments;                                                                   \
	}

NEXT(ssize_t, write, (int fd, const void *data, size_t bytes), (fd, data, bytes), fd > 2)
NEXT(ssize_t, pwrite64, (int fd, const void *data, size_t bytes, off64_t at), (fd, data, bytes, at), fd > 2)
NEXT(int, fsync, (int fd), (fd), 1)
NEXT(int, rename, (const char *from, const char *to), (from, to), 1)
NEXT(int, unlink, (const char *path), (path), 1)
NEXT(int, mkdir, (const char *path, mode_t mode), (path, mode), 1)
NEXT(int, ftruncate64, (int fd, off64_t bytes), (fd, bytes), 1)
