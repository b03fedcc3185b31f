/* SPDX-License-Identifier: BSD-2-Clause
 * The cache in a folder: the same batches, from one run to the next, whatever befalls it. */
#include "sets.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#define OPS "resize:40 normalize:seed hflip random_crop:20"

static const char *set;
static char plain_digest[65];
static struct td_buf notices;

static void on_notice(void *data, const char *text)
{
	(void)data;
	assert_true(td_buf_printf(&notices, "%s\n", text));
}

static bool noticed(const char *words)
{
	return notices.len && strstr((const char *)notices.data, words);
}

static void setup_run(struct run *r, const char *cache)
{
	run_init(r, set, OPS);
	r->o.epochs = 2;
	r->o.shuffle = "full";
	r->o.batch = 5;
	r->o.prefetch = 1;
	r->o.cache = cache;
	r->o.listener.notice = on_notice;
	notices.len = 0;
}

/* Right batches; the bytes of records that were read. */
static uint64_t check_run(const char *cache)
{
	static struct run r;
	setup_run(&r, cache);
	run_flow(&r);
	assert_int_equal(r.rc, 0);
	assert_string_equal(r.digest, plain_digest);
	td_buf_free(&r.faults);
	return r.stats.record_bytes;
}

static int make_set(void **state)
{
	static struct run r;
	int rc = make_scratch(state);
	set = write_set("set", 41, 3, true, NULL);
	setup_run(&r, NULL);
	run_flow(&r);
	assert_each(&r, 41, 2);
	strcpy(plain_digest, r.digest);
	td_buf_free(&r.faults);
	return rc;
}

/* The files in a cache's folder; the last one's path in `path`. */
static unsigned files_in(const char *folder, char path[512])
{
	unsigned n = 0;
	DIR *dir = opendir(folder);
	for (struct dirent *d; dir && (d = readdir(dir));) {
		if (d->d_name[0] == '.')
			continue;
		snprintf(path, 512, "%s/%.200s", folder, d->d_name);
		n++;
	}
	closedir(dir);
	return n;
}

static void test_kinds(void **state)
{
	(void)state;
	static const char *const kinds[] = { "", ":decoded", ":ops", ":raw" };
	const char *folder = in_scratch("kinds");
	char cache[128], path[512];
	for (int k = 0; k < 4; k++) {
		snprintf(cache, sizeof cache, "%s%s", folder, kinds[k]);
		uint64_t first = check_run(cache);
		assert_true(k == 1 ? first == 0 : first > 0);
		for (int again = 0; again < 2; again++)
			assert_int_equal(check_run(cache), 0);
		assert_int_equal(notices.len, 0);
	}
	assert_int_equal(files_in(folder, path), 3);
}

static void change(const char *path, int64_t offset, bool cut)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);
	uint8_t byte;
	off_t at = offset < 0 ? lseek(fd, 0, SEEK_END) + offset : offset;
	assert_int_equal(pread(fd, &byte, 1, at), 1);
	byte ^= 1;
	assert_int_equal(cut ? ftruncate(fd, at) : pwrite(fd, &byte, 1, at) - 1, 0);
	close(fd);
}

static void test_damage(void **state)
{
	(void)state;
	const char *folder = in_scratch("damage");
	char path[512];
	check_run(folder);
	assert_int_equal(files_in(folder, path), 1);
	/* in the data of the first entry: that record is read again, and kept again */
	change(path, 128 + 64 + 100, false);
	uint64_t read = check_run(folder);
	assert_true(read > 0 && read < 20000);
	assert_true(noticed("1 entries were damaged"));
	assert_int_equal(check_run(folder), 0);
	/* in its head: nothing behind it can be found */
	change(path, 128 + 20, false);
	check_run(folder);
	assert_true(noticed("the end is damaged"));
	assert_int_equal(check_run(folder), 0);
	/* cut short */
	change(path, -200, true);
	assert_true(check_run(folder) > 0);
	assert_int_equal(check_run(folder), 0);
	/* the file's own head */
	change(path, 40, false);
	check_run(folder);
	assert_true(noticed("stale or damaged, made anew"));
	assert_int_equal(check_run(folder), 0);
}

/* A bit anywhere, and a cut anywhere: other bytes are read, the batches stay the same. */
static void test_anywhere(void **state)
{
	(void)state;
	static const char *const kinds[] = { "", ":raw" };
	const char *folder = in_scratch("anywhere");
	char cache[128], path[512];
	struct stat st;
	uint32_t draw = 1;
	for (int k = 0; k < 2; k++) {
		snprintf(cache, sizeof cache, "%s%s", folder, kinds[k]);
		check_run(cache);
		files_in(folder, path);
		for (int i = 0; i < 40; i++) {
			assert_int_equal(stat(path, &st), 0);
			draw = draw * 1664525u + 1013904223u;
			/* every other one among the heads at the start */
			change(path, (draw >> 8) % (i % 2 ? st.st_size : 512), i % 4 == 3);
			check_run(cache);
		}
		assert_int_equal(check_run(cache), 0);
		assert_int_equal(unlink(path), 0);
	}
}

/* Several processes begin and use one cache at the same time. */
static void test_together(void **state)
{
	(void)state;
	const char *folder = in_scratch("together");
	pid_t children[4];
	for (int round = 0; round < 5; round++) {
		char path[512];
		int status;
		for (int i = 0; i < 4; i++) {
			children[i] = fork();
			if (children[i] == 0) {
				static struct run r;
				setup_run(&r, folder);
				run_flow(&r);
				_exit(r.rc != 0 || strcmp(r.digest, plain_digest) != 0);
			}
		}
		for (int i = 0; i < 4; i++) {
			assert_int_equal(waitpid(children[i], &status, 0), children[i]);
			assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
		}
		check_run(folder);
		assert_int_equal(check_run(folder), 0);
		assert_int_equal(files_in(folder, path), 1);
		assert_int_equal(unlink(path), 0);
	}
}

/* As a user who may read the folder alone: 0 when all is as it should be. */
static int read_only(const char *folder, const char *empty)
{
	static struct run r;
	if (geteuid() == 0 && (setgid(65534) < 0 || setuid(65534) < 0))
		return 1;
	setup_run(&r, folder);
	run_flow(&r);
	if (r.rc != 0 || strcmp(r.digest, plain_digest) != 0 || r.stats.record_bytes != 0)
		return 2;
	setup_run(&r, empty);
	run_flow(&r);
	return r.rc == TUNDISH_E_IO && strstr(r.e.text, "Permission denied") ? 0 : 3;
}

static void test_read_only(void **state)
{
	(void)state;
	const char *folder = in_scratch("readonly"), *empty = in_scratch("empty");
	char path[512], *slash;
	int status;
	check_run(folder);
	files_in(folder, path);
	assert_int_equal(chmod(path, 0444), 0);
	assert_int_equal(chmod(folder, 0555), 0);
	assert_int_equal(mkdir(empty, 0555), 0);
	/* the scratch folder is closed to others */
	snprintf(path, sizeof path, "%s", folder);
	slash = strrchr(path, '/');
	*slash = 0;
	assert_int_equal(chmod(path, 0755), 0);
	pid_t child = fork();
	if (child == 0)
		_exit(read_only(folder, empty));
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(chmod(folder, 0755), 0);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

static void test_stale(void **state)
{
	(void)state;
	const char *folder = in_scratch("stale");
	char path[512];
	check_run(folder);
	snprintf(path, sizeof path, "%s/s-00001-of-00003", set);
	assert_int_equal(utimensat(AT_FDCWD, path, NULL, 0), 0);
	assert_true(check_run(folder) > 0);
	assert_true(noticed("stale or damaged, made anew"));
	assert_int_equal(check_run(folder), 0);
	assert_int_equal(files_in(folder, path), 1);
}

/* Parts of a set, and ranks, have caches of their own. */
static void test_apart(void **state)
{
	(void)state;
	static struct run r;
	const char *folder = in_scratch("apart");
	char path[512];
	for (unsigned i = 0; i < 4; i++) {
		setup_run(&r, folder);
		r.o.skip = i == 1 ? 30 : 0;
		r.o.limit = i == 0 ? 30 : 0;
		r.o.world = i > 1 ? 2 : 1;
		r.o.rank = i > 1 ? i - 2 : 0;
		r.o.uneven = TUNDISH_UNEVEN_KEEP;
		run_flow(&r);
		assert_int_equal(r.rc, 0);
		assert_true(r.stats.record_bytes > 0);
		assert_int_equal(files_in(folder, path), i + 1);
		td_buf_free(&r.faults);
	}
}

/* Killed in the middle: what was kept is kept. */
static void test_killed(void **state)
{
	(void)state;
	static struct run r;
	const char *folder = in_scratch("killed");
	int status;
	uint64_t all = check_run(NULL);
	pid_t child = fork();
	if (child == 0) {
		struct tundish_flow *flow;
		struct tundish_batch b;
		setup_run(&r, folder);
		r.o.paths = &set;
		r.o.n_paths = 1;
		if (tundish_flow_open(&flow, &r.o, NULL) == 0) {
			for (int i = 0; i < 5 && tundish_flow_next(flow, &b, NULL) == 1; i++)
				tundish_flow_release(flow, &b);
		}
		raise(SIGKILL);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status));
	uint64_t read = check_run(folder);
	assert_true(read > 0 && read < all / 2);
	assert_int_equal(check_run(folder), 0);
}

/* No room: it goes on without, and says so. */
static void test_full(void **state)
{
	(void)state;
	const char *folder = in_scratch("full");
	struct rlimit old, few;
	void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &old);
	few = old;
	few.rlim_cur = 50000;
	setrlimit(RLIMIT_FSIZE, &few);
	check_run(folder);
	bool said = noticed("it went on without more of it");
	setrlimit(RLIMIT_FSIZE, &old);
	signal(SIGXFSZ, handler);
	assert_true(said);
	uint64_t read = check_run(folder);
	assert_true(read > 0);
	assert_int_equal(check_run(folder), 0);
}

/* Two at once: one writes, the other goes on with what there is. */
static void test_lock(void **state)
{
	(void)state;
	static struct run r;
	const char *folder = in_scratch("lock");
	struct tundish_flow *flow;
	setup_run(&r, folder);
	r.o.paths = &set;
	r.o.n_paths = 1;
	assert_int_equal(tundish_flow_open(&flow, &r.o, NULL), 0);
	assert_true(check_run(folder) > 0);
	assert_true(noticed("another process is writing it"));
	tundish_flow_close(flow);
	assert_true(check_run(folder) > 0);
	assert_int_equal(check_run(folder), 0);
}

static void test_refusals(void **state)
{
	(void)state;
	static struct run r;
	static const char *const wrong[] = { "", ":raw", "folder:index", "folder:more", "/x/y:" };
	for (int i = 0; i < 5; i++) {
		setup_run(&r, wrong[i]);
		run_flow(&r);
		assert_int_equal(r.rc, TUNDISH_E_USAGE);
		td_buf_free(&r.faults);
	}
	setup_run(&r, "/proc/nowhere/cache");
	run_flow(&r);
	assert_true(r.rc == TUNDISH_E_IO || r.rc == TUNDISH_E_NOT_FOUND);
	td_buf_free(&r.faults);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kinds),
		cmocka_unit_test(test_damage),
		cmocka_unit_test(test_anywhere),
		cmocka_unit_test(test_together),
		cmocka_unit_test(test_read_only),
		cmocka_unit_test(test_stale),
		cmocka_unit_test(test_apart),
		cmocka_unit_test(test_killed),
		cmocka_unit_test(test_full),
		cmocka_unit_test(test_lock),
		cmocka_unit_test(test_refusals),
	};
	int rc = cmocka_run_group_tests(tests, make_set, clear_scratch);
	td_buf_free(&notices);
	return rc;
}
