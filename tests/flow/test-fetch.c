/* SPDX-License-Identifier: BSD-2-Clause
 * Records fetched through io_uring or by threads: the same batches, the same faults, and
 * the same where the kernel refuses the one. */
#include "sets.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/ring.h"

static const char *set;

static int setup(void **state)
{
	if (make_scratch(state) < 0)
		return -1;
	set = write_set("set", 90, 12, true, NULL);
	return 0;
}

static void fetch_by(const char *how)
{
	if (how)
		setenv("TUNDISH_FETCH", how, 1);
	else
		unsetenv("TUNDISH_FETCH");
}

static void digest_of(char out[65], const char *shuffle, unsigned threads)
{
	static struct run r;
	run_init(&r, set, "random_resized_crop:16 hflip normalize");
	r.o.shuffle = shuffle;
	r.o.threads = threads;
	r.o.batch = 7;
	r.o.epochs = 2;
	run_flow(&r);
	assert_int_equal(r.rc, 0);
	assert_string_equal(FAULTS(&r), "");
	assert_each(&r, 90, 2);
	strcpy(out, r.digest);
	td_buf_free(&r.faults);
}

static void test_same(void **state)
{
	(void)state;
	static const char *const hows[] = { "threads", "uring", NULL };
	static const char *const shuffles[] = { "off", "full", "shards+buffer:20" };
	static const unsigned threads[] = { 1, 3, 8 };
	for (size_t k = 0; k < 3; k++) {
		char first[65] = "", digest[65];
		for (size_t i = 0; i < 9; i++) {
			fetch_by(hows[i / 3]);
			digest_of(digest, shuffles[k], threads[i % 3]);
			if (!*first)
				strcpy(first, digest);
			assert_string_equal(digest, first);
		}
	}
	fetch_by(NULL);
}

/* More files than may be open at a time. */
static void test_few_files(void **state)
{
	(void)state;
	struct rlimit before, few;
	char all[65], digest[65];
	digest_of(all, "full", 3);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	for (rlim_t most = 16; most <= 40; most += 8) {
		few = before;
		few.rlim_cur = most;
		assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
		digest_of(digest, "full", 8);
		assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
		assert_string_equal(digest, all);
	}
}

/* The same faults for a file that shrinks, and for one that goes, between listing and reading. */
static void test_faults(void **state)
{
	(void)state;
	char text[2][4096];
	for (int how = 0; how < 2; how++) {
		static struct run r;
		struct tundish_flow *flow;
		struct tundish_batch b;
		const char *folder = write_set(how ? "less-1" : "less-0", 40, 4, true, NULL);
		char path[512];
		fetch_by(how ? "uring" : "threads");
		run_init(&r, folder, "resize:8");
		r.o.paths = &r.path;
		r.o.n_paths = 1;
		r.o.batch = 8;
		assert_int_equal(tundish_flow_open(&flow, &r.o, &r.e), 0);
		snprintf(path, sizeof path, "%s/s-00002-of-00004", folder);
		struct stat st;
		assert_int_equal(stat(path, &st), 0);
		assert_int_equal(truncate(path, st.st_size / 2), 0);
		while ((r.rc = tundish_flow_next(flow, &b, &r.e)) == 1) {
			r.samples += b.count;
			tundish_flow_release(flow, &b);
		}
		tundish_flow_close(flow);
		assert_int_equal(r.rc, 0);
		assert_in_range(r.samples, 33, 36);
		assert_non_null(strstr(FAULTS(&r), "the file ends early"));
		snprintf(text[how], sizeof text[how], "%s", FAULTS(&r));
		td_buf_free(&r.faults);
	}
	assert_string_equal(text[0], text[1]);
	fetch_by(NULL);
}

/* From here on a call of the kernel fails with EPERM, as in most containers. */
static void refuse(unsigned call)
{
	struct sock_filter program[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog filter = { .len = 4, .filter = program };
	assert_int_equal(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
	assert_int_equal(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter), 0);
}

static void test_refused(void **state)
{
	(void)state;
	static const unsigned calls[] = { SYS_io_uring_setup, SYS_io_uring_enter };
	char allowed[65];
	digest_of(allowed, "full", 3);
	for (size_t i = 0; i < 2; i++) {
		pid_t child = fork();
		assert_int_not_equal(child, -1);
		if (child == 0) {
			char digest[65];
			refuse(calls[i]);
			struct td_ring *ring = td_ring_open(4);
			digest_of(digest, "full", 3);
			_exit(ring ? 2 : strcmp(digest, allowed) != 0);
		}
		int status;
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_true(WIFEXITED(status));
		assert_int_equal(WEXITSTATUS(status), 0);
	}
}

/* Reads of all kinds, more than fit, against what is in the file. */
static void test_ring(void **state)
{
	(void)state;
	enum { BYTES = 100000, READS = 50 };
	static uint8_t content[BYTES], out[READS][3000];
	const char *path = in_scratch("bytes");
	for (size_t i = 0; i < BYTES; i++)
		content[i] = (uint8_t)(i * i / 7);
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	assert_int_equal(write(fd, content, BYTES), BYTES);
	struct td_ring *ring = td_ring_open(16);
	for (int round = 0; round < 20; round++) {
		struct td_read reads[READS];
		for (unsigned i = 0; i < READS; i++) {
			reads[i] = (struct td_read){ i % 10 == 9 ? -1 : fd, out[i], i * 61 % 3000,
				(i * 7919 + (unsigned)round * 131) % (BYTES + 1000), 0, false };
			td_ring_start(ring, &reads[i]);
		}
		td_ring_submit(ring);
		for (unsigned i = 0; i < READS; i++) {
			const struct td_read *r = &reads[i];
			uint64_t there = r->offset < BYTES ? TD_MIN(BYTES - r->offset, r->bytes) : 0;
			td_ring_finish(ring, &reads[i]);
			if (r->fd < 0) {
				assert_int_equal(r->got, r->bytes ? -EBADF : 0);
				continue;
			}
			assert_int_equal(r->got, there);
			if (there)
				assert_memory_equal(out[i], content + r->offset, there);
		}
	}
	td_ring_close(ring);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ring),
		cmocka_unit_test(test_same),
		cmocka_unit_test(test_few_files),
		cmocka_unit_test(test_faults),
		cmocka_unit_test(test_refused),
	};
	return cmocka_run_group_tests(tests, setup, clear_scratch);
}
