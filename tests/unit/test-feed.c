/* SPDX-License-Identifier: BSD-2-Clause
 * Sinks: what they write, and SHA-256. */
#include "unit.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include "base/sha256.h"
#include "base/npy.h"
#include "tundish.h"

static void assert_digest(const void *data, size_t bytes, size_t step, const char *want)
{
	struct td_sha256 s;
	char hex[65];
	td_sha256_init(&s);
	for (size_t i = 0; i < bytes; i += step)
		td_sha256_add(&s, (const char *)data + i, bytes - i < step ? bytes - i : step);
	td_sha256_hex(&s, hex);
	assert_string_equal(hex, want);
	td_sha256_hex(&s, hex);
	assert_string_equal(hex, want);
}

static void test_sha256(void **state)
{
	(void)state;
	static char a[1000000];
	memset(a, 'a', sizeof a);
	assert_digest("", 0, 1, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
	assert_digest("abc", 3, 3, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
	for (size_t step = 1; step < 200; step += 9)
		assert_digest("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 56, step,
		    "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
	assert_digest(a, sizeof a, 977, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
	uint32_t h[2][8];
	for (int i = 0; i < 8; i++)
		h[0][i] = h[1][i] = (uint32_t)i * 0x9e3779b9u;
	for (size_t i = 0; i < sizeof a; i++)
		a[i] = (char)(i * i >> 3);
	td_sha256_blocks_c(h[0], (const uint8_t *)a, 1000);
	if (td_sha256_blocks_ni(h[1], (const uint8_t *)a, 1000))
		assert_memory_equal(h[0], h[1], sizeof h[0]);
	else
		print_message("this CPU has no SHA instructions\n");
}

static void test_headers(void **state)
{
	(void)state;
	struct td_npy_header h;
	const uint64_t shape[4] = { 64, 224, 224, 3 };
	td_npy_header(&h, td_npy_descr(TUNDISH_FLOAT32), shape, 4, "image");
	static const char want[] = "\x93NUMPY\x01\0v\0{'descr': '<f4', 'fortran_order': False, "
				   "'shape': (64, 224, 224, 3), }  # image";
	assert_int_equal(h.n, 128);
	assert_memory_equal(h.bytes, want, sizeof want - 1);
	assert_int_equal(h.bytes[127], '\n');
	td_npy_header(&h, "<i8", shape, 1, "a\nb\xff");
	assert_non_null(memmem(h.bytes, h.n, "(64,), }  # a\\nb\\xff ", 21));
	assert_int_equal(h.n % 64, 0);
}

/* A batch of 3 rows of 2 x 1 pixels. */
static const uint8_t pixels[18] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18 };
static const int64_t labels[3] = { 5, -1, INT64_MAX };
static const struct tundish_array arrays[3] = {
	{ .name = "image", .ndim = 4, .shape = { 3, 1, 2, 3 }, .data = pixels, .bytes = sizeof pixels },
	{ .name = "label", .dtype = TUNDISH_DTYPE_INT64, .ndim = 1, .shape = { 3 }, .data = labels,
	    .bytes = sizeof labels },
	{ .name = "none", .dtype = TUNDISH_COMPLEX128, .ndim = 2, .shape = { 3, 0 }, .data = NULL },
};
static const struct tundish_batch batch = { .count = 3, .rows = 3, .arrays = arrays, .n_arrays = 3 };

static size_t written(const char *to, uint8_t *out, size_t room)
{
	int fds[2];
	struct tundish_feed *feed;
	struct tundish_error e = { 0 };
	assert_int_equal(pipe(fds), 0);
	assert_int_equal(tundish_feed_open(&feed, to, fds[1], &e), 0);
	assert_int_equal(tundish_feed_put(feed, &batch, &e), 0);
	tundish_feed_close(feed);
	close(fds[1]);
	ssize_t n = read(fds[0], out, room);
	close(fds[0]);
	return (size_t)n;
}

static void test_sinks(void **state)
{
	(void)state;
	uint8_t npy[512], raw[512];
	size_t n = written("npy", npy, sizeof npy);
	assert_int_equal(n, 128 + sizeof pixels + 128 + sizeof labels + 128);
	assert_memory_equal(npy + 128, pixels, sizeof pixels);
	assert_memory_equal(npy + 256 + sizeof pixels, labels, sizeof labels);
	assert_int_equal(written("raw", raw, sizeof raw), sizeof pixels + sizeof labels);
	assert_memory_equal(raw, pixels, sizeof pixels);
	assert_memory_equal(raw + sizeof pixels, labels, sizeof labels);
	assert_int_equal(written("null", raw, sizeof raw), 0);
	/* hash is over what npy writes */
	struct tundish_feed *feed;
	struct td_sha256 sha;
	char hex[65];
	td_sha256_init(&sha);
	td_sha256_add(&sha, npy, n);
	td_sha256_hex(&sha, hex);
	assert_int_equal(tundish_feed_open(&feed, "hash", -1, NULL), 0);
	assert_int_equal(tundish_feed_put(feed, &batch, NULL), 0);
	assert_string_equal(tundish_feed_digest(feed), hex);
	tundish_feed_close(feed);
	struct tundish_error e = { 0 };
	assert_int_equal(tundish_feed_open(&feed, "nowhere", -1, &e), TUNDISH_E_USAGE);
	assert_non_null(strstr(e.text, "there is no sink \"nowhere\""));
}

static void test_closed(void **state)
{
	(void)state;
	int fds[2];
	struct tundish_feed *feed;
	struct tundish_error e = { 0 };
	signal(SIGPIPE, SIG_IGN);
	assert_int_equal(pipe(fds), 0);
	close(fds[0]);
	assert_int_equal(tundish_feed_open(&feed, "npy", fds[1], &e), 0);
	assert_int_equal(tundish_feed_put(feed, &batch, &e), TUNDISH_E_CLOSED);
	tundish_feed_close(feed);
	close(fds[1]);
	int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
	assert_int_equal(tundish_feed_open(&feed, "raw", full, &e), 0);
	assert_int_equal(tundish_feed_put(feed, &batch, &e), TUNDISH_E_SPACE);
	tundish_feed_close(feed);
	close(full);
}

struct drain {
	int fd;
	size_t got;
};

static void *drain(void *arg)
{
	struct drain *d = arg;
	char buf[4000];
	for (ssize_t n; (n = read(d->fd, buf, sizeof buf)) > 0;)
		d->got += (size_t)n;
	return NULL;
}

/* A pipe that is full and does not block: all of it arrives none the less. */
static void test_nonblocking(void **state)
{
	(void)state;
	static uint8_t big[3 << 20];
	struct tundish_array large[2] = { arrays[0], arrays[1] };
	const struct tundish_batch b = { .arrays = large, .n_arrays = 2 };
	int fds[2];
	struct tundish_feed *feed;
	pthread_t thread;
	large[0].data = big;
	large[0].bytes = sizeof big;
	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	fcntl(fds[1], F_SETFL, O_NONBLOCK);
	struct drain d = { fds[0], 0 };
	assert_int_equal(tundish_feed_open(&feed, "raw", fds[1], NULL), 0);
	pthread_create(&thread, NULL, drain, &d);
	for (int i = 0; i < 3; i++)
		assert_int_equal(tundish_feed_put(feed, &b, NULL), 0);
	close(fds[1]);
	pthread_join(thread, NULL);
	assert_int_equal(d.got, 3 * (sizeof big + sizeof labels));
	tundish_feed_close(feed);
	close(fds[0]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sha256),
		cmocka_unit_test(test_headers),
		cmocka_unit_test(test_sinks),
		cmocka_unit_test(test_closed),
		cmocka_unit_test(test_nonblocking),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
