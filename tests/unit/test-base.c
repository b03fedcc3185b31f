/* SPDX-License-Identifier: BSD-2-Clause */
#include "unit.h"

#include <unistd.h>

#include "crc32c.h"
#include "err.h"
#include "exact.h"
#include "held.h"
#include "map.h"
#include "outfile.h"
#include "pool.h"
#include "rng.h"
#include "table.h"
#include "talk.h"

static void test_crc32c(void **state)
{
	(void)state;
	assert_int_equal(td_crc32c(0, "123456789", 9), 0xe3069283);
	assert_int_equal(td_crc32c(td_crc32c(0, "1234", 4), "56789", 5), 0xe3069283);
	assert_int_equal(td_crc_mask(td_crc32c(0, "\3\0\0\0\0\0\0\0", 8)), 0x0e4999b0);
}

static void test_large_buffer(void **state)
{
	(void)state;
	struct td_buf b = { 0 };
	for (size_t mib = 0; mib < 80; mib++) {
		assert_true(td_buf_reserve(&b, 1 << 20));
		assert_int_equal((uintptr_t)b.data % 64, 0);
		memset(b.data + b.len, (int)mib, 1 << 20);
		b.len += 1 << 20;
	}
	for (size_t mib = 0; mib < 80; mib++)
		assert_int_equal(b.data[(mib << 20) + 12345], mib);
	td_buf_free(&b);
}

static void test_nameless(void **state)
{
	(void)state;
	char folder[] = "/tmp/tundish-test-XXXXXX", byte = 0;
	struct tundish_error e = { 0 };
	assert_non_null(mkdtemp(folder));
	int fd = td_nameless_file(folder, &e);
	assert_true(fd >= 0);
	assert_int_equal(td_write_all(fd, "x", 1), 0);
	assert_int_equal(pread(fd, &byte, 1, 0), 1);
	assert_int_equal(byte, 'x');
	assert_int_equal(rmdir(folder), 0); /* nothing is in it */
	close(fd);
	assert_true(td_nameless_file(folder, &e) < 0);
	assert_non_null(strstr(e.text, folder));
	assert_true(td_write_all(-1, "x", 1) < 0);
}

static uint32_t crc_by_bits(uint32_t crc, const uint8_t *p, size_t bytes)
{
	crc = ~crc;
	for (; bytes > 0; bytes--) {
		crc ^= *p++;
		for (int i = 0; i < 8; i++)
			crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78 : 0);
	}
	return ~crc;
}

/* Every way through the lengths, from every start, in a block that ends where they do. */
static void test_crc32c_lengths(void **state)
{
	(void)state;
	enum { MOST = 1500 };
	struct td_rng rng;
	td_rng_at(&rng, 7, 0, 0, TD_RNG_SAMPLE);
	for (size_t n = 0; n <= MOST; n++) {
		uint8_t *data = malloc(n + 1);
		for (size_t i = 0; i < n; i++)
			data[i] = (uint8_t)td_rng_u32(&rng);
		size_t from = TD_MIN(n, n % 67);
		uint32_t before = (uint32_t)(n * 2654435761u);
		uint32_t want = crc_by_bits(before, data + from, n - from);
		assert_int_equal(td_crc32c(before, data + from, n - from), want);
		assert_int_equal(td_crc32c_isal(before, data + from, n - from), want);
		free(data);
	}
}

/* The known answers of the Random123 distribution. */
static void test_philox(void **state)
{
	(void)state;
	uint32_t out[4], zero[4] = { 0 }, ones[4] = { ~0u, ~0u, ~0u, ~0u };
	td_philox(out, zero, zero);
	const uint32_t want0[4] = { 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8 };
	assert_memory_equal(out, want0, sizeof out);
	td_philox(out, ones, ones);
	const uint32_t want1[4] = { 0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd };
	assert_memory_equal(out, want1, sizeof out);
}

static void test_escape(void **state)
{
	(void)state;
	assert_string_equal(TD_ESC("a\x1b[1m\n\xe9\xc3\xa9\\"), "a\\x1b[1m\\n\\xe9\xc3\xa9\\\\");
	char small[8];
	assert_string_equal(td_escape(small, sizeof small, "abcdefghij", 10), "abcd...");
	assert_string_equal(td_escape(small, sizeof small, "abcd", 4), "abcd");
	/* all of it, and NUL as well */
	struct td_buf whole = { 0 };
	assert_true(td_buf_escape(&whole, "\xff\xff\0a", 4) && td_buf_escape(&whole, "\xff", 1));
	assert_int_equal(whole.len, 17);
	assert_string_equal(whole.data, "\\xff\\xff\\x00a\\xff");
	td_buf_free(&whole);
}

struct count {
	uint64_t next, end, sum, put, fail_at;
};

static int take(void *ctx, void *job, uint64_t *ret_bytes, struct tundish_error *e)
{
	struct count *c = ctx;
	(void)e;
	if (c->next == c->end)
		return 0;
	*(uint64_t *)job = c->next++;
	*ret_bytes = 10;
	return 1;
}

static int work(void *ctx, void *job, unsigned worker, struct tundish_error *e)
{
	(void)ctx;
	(void)worker;
	uint64_t *n = job;
	if (*n == ((struct count *)ctx)->fail_at)
		return td_err(e, TUNDISH_E_BAD, "job %d", (int)*n);
	*n = *n * *n;
	return 0;
}

static int put(void *ctx, void *job, struct tundish_error *e)
{
	struct count *c = ctx;
	(void)e;
	assert_int_equal(*(uint64_t *)job, c->put * c->put);
	c->put++;
	c->sum += *(uint64_t *)job;
	return 0;
}

static void test_ordered(void **state)
{
	(void)state;
	static const unsigned threads[] = { 1, 2, 3, 8, 99 };
	for (size_t i = 0; i < TD_COUNT(threads); i++) {
		for (uint64_t bytes = 0; bytes < 50; bytes += 24) {
			struct td_ordered loop = { sizeof(uint64_t), threads[i], 0, bytes, take,
				work, put, NULL };
			struct count c = { .end = 1000, .fail_at = ~0u };
			assert_int_equal(td_ordered_run(&loop, &c, NULL, NULL), 0);
			assert_int_equal(c.put, 1000);
			assert_int_equal(c.sum, 332833500);
			struct tundish_error e = { 0 };
			struct count bad = { .end = 1000, .fail_at = 500 };
			assert_int_equal(td_ordered_run(&loop, &bad, NULL, &e), TUNDISH_E_BAD);
			assert_int_equal(bad.put, 500);
			assert_string_equal(e.text, "job 500");
		}
	}
}

static void hear_fault(void *data, const struct tundish_fault *f)
{
	size_t n = strlen(data);
	snprintf((char *)data + n, 400 - n, "%d %s %d %d|", f->code, f->text, (int)f->record,
	    (int)f->passed_bytes);
}

static void hear_notice(void *data, const char *text)
{
	strcat(strcat(data, text), "|");
}

static void test_held(void **state)
{
	(void)state;
	struct td_held held = { 0 };
	struct tundish_listener hold = td_held_listener(&held);
	const struct td_place at = { .path = "a", .record = 3, .line = -1, .offset = 70 };
	const struct td_place other = { .path = "a", .record = 4, .line = -1, .offset = -1 };
	td_notice(&hold, "one");
	td_fault(&hold, TUNDISH_E_CORRUPT, at, 9, "rot");
	td_fault(&hold, TUNDISH_E_LIMIT, other, 0, "rot");
	td_fault(&hold, TUNDISH_E_IO, TD_PLACE(NULL), 0, "gone");
	td_notice(&hold, "two");
	char heard[400] = "";
	const struct tundish_listener l = { .data = heard, .fault = hear_fault,
		.notice = hear_notice };
	assert_int_equal(td_held_tell(&held, &l, NULL), 0);
	assert_string_equal(heard, "one|-12 a: record 3 at byte 70: rot 3 9|"
	    "-15 a: record 4: rot 4 0|-6 gone -1 0|two|");
	heard[0] = 0;
	assert_int_equal(td_held_tell(&held, &l, NULL), 0);
	assert_string_equal(heard, "");
	td_held_free(&held);
}

static void test_map(void **state)
{
	(void)state;
	struct td_map m = { .value_bytes = sizeof(uint64_t) };
	for (unsigned round = 0; round < 3; round++) {
		for (uint32_t i = 0; i < 1000; i++) {
			uint64_t *v = td_map_at(&m, &i, 1 + i % 4);
			assert_non_null(v);
			*v += i;
		}
	}
	/* 1 to 4 bytes of i: 250 residues mod 256 and so on collide on purpose */
	assert_true(m.n > 700 && m.n < 1000);
	uint32_t key = 999;
	assert_int_equal(*(uint64_t *)td_map_find(&m, &key, 4), 2997);
	assert_null(td_map_find(&m, "none", 4));
	assert_memory_equal(td_map_key(&m, 0), "", 1);
	*(uint64_t *)td_map_at(&m, "", 0) = 7;
	assert_int_equal(*(uint64_t *)td_map_find(&m, NULL, 0), 7);
	td_map_clear(&m);
	assert_int_equal(m.n, 0);
	assert_null(td_map_find(&m, &key, 4));
	assert_int_equal(*(uint64_t *)td_map_at(&m, &key, 4), 0);
	td_map_free(&m);
}

static void test_table(void **state)
{
	(void)state;
	struct td_table t = { .columns = 3, .align = "lrl" };
	static const char *const cells[] = { "name", "n", "note", "\u00e9t\u00e9", "12", "",
		"\u6f22", "3", "x", "odd" };
	for (size_t i = 0; i < TD_COUNT(cells); i++)
		assert_true(td_table_cell(&t, "%s", cells[i]));
	struct td_buf out = { 0 };
	assert_true(td_table_print(&t, &out, 1));
	assert_string_equal(out.data, " name   n  note\n \u00e9t\u00e9   12\n \u6f22     3  x\n");
	assert_int_equal(t.n, 0);
	td_table_free(&t);
	td_buf_free(&out);
}

/* Numbers are taken; each put of an even one makes two more jobs, which put themselves. */
struct breeder {
	pthread_mutex_t lock;
	unsigned next, made, given, out[64], n_out;
};

static int breed_take(void *ctx, void *job, uint64_t *ret_bytes, struct tundish_error *e)
{
	(void)e;
	struct breeder *b = ctx;
	int rc = 1;
	*ret_bytes = 1;
	pthread_mutex_lock(&b->lock);
	if (b->given < b->made)
		*(unsigned *)job = 100 + b->given++;
	else if (b->next < 10)
		*(unsigned *)job = b->next++;
	else
		rc = b->n_out == 20 ? 0 : TD_TAKE_LATER;
	pthread_mutex_unlock(&b->lock);
	return rc;
}

static int breed_work(void *ctx, void *job, unsigned worker, struct tundish_error *e)
{
	(void)ctx;
	(void)job;
	(void)worker;
	(void)e;
	td_stall();
	return 0;
}

static int breed_put(void *ctx, void *job, struct tundish_error *e)
{
	(void)e;
	struct breeder *b = ctx;
	unsigned value = *(unsigned *)job;
	pthread_mutex_lock(&b->lock);
	b->out[b->n_out++] = value;
	b->made += value < 100 && value % 2 == 0 ? 2 : 0;
	pthread_mutex_unlock(&b->lock);
	return 0;
}

static void test_ordered_later(void **state)
{
	(void)state;
	for (unsigned threads = 1; threads < 20; threads += 3) {
		struct breeder b = { .lock = PTHREAD_MUTEX_INITIALIZER };
		const struct td_ordered loop = { .job_bytes = sizeof(unsigned), .threads = threads,
			.slots = 3, .take = breed_take, .work = breed_work, .put = breed_put };
		assert_int_equal(td_ordered_run(&loop, &b, NULL, NULL), 0);
		assert_int_equal(b.n_out, 20);
		unsigned plain = 0, bred = 100;
		for (unsigned i = 0; i < 20; i++)
			assert_int_equal(b.out[i], b.out[i] < 100 ? plain++ : bred++);
	}
}

/* Jobs that hold more than was said when they were taken. */
struct surprise {
	unsigned next;
	uint64_t more;
	_Atomic uint64_t held, most;
};

static int surprise_take(void *ctx, void *job, uint64_t *ret_bytes, struct tundish_error *e)
{
	struct surprise *s = ctx;
	(void)e;
	*(unsigned *)job = s->next++;
	*ret_bytes = 10;
	return s->next <= 300;
}

static int surprise_work(void *ctx, void *job, unsigned worker, struct tundish_error *e)
{
	struct surprise *s = ctx;
	(void)job;
	(void)worker;
	(void)e;
	td_ordered_more(s->more);
	uint64_t held = s->held += s->more + 10, most = s->most;
	while (held > most && !atomic_compare_exchange_weak(&s->most, &most, held))
		;
	return 0;
}

static int surprise_put(void *ctx, void *job, struct tundish_error *e)
{
	struct surprise *s = ctx;
	(void)job;
	(void)e;
	s->held -= s->more + 10;
	return 0;
}

static void test_ordered_more(void **state)
{
	(void)state;
	static const uint64_t more[] = { 0, 25, 50, 1000 };
	for (unsigned threads = 1; threads < 20; threads += 3)
		for (size_t i = 0; i < TD_COUNT(more); i++) {
			struct surprise s = { .more = more[i] };
			const struct td_ordered loop = { .job_bytes = sizeof(unsigned), .threads = threads,
				.max_bytes = 100, .take = surprise_take, .work = surprise_work,
				.put = surprise_put };
			assert_int_equal(td_ordered_run(&loop, &s, NULL, NULL), 0);
			/* the oldest may come on top of what fits; alone it is when nothing does */
			assert_in_range(s.most, more[i] + 10, more[i] > 100 ? more[i] + 10 : 100 + more[i] + 10);
		}
	td_ordered_more(1000); /* outside of a loop: nothing */
}

static void add_exact(struct td_exact *sum, struct td_exact *squares, double v)
{
	int exponent;
	uint64_t value = td_exact_parts(v, &exponent);
	td_exact_add(sum, v < 0, value, exponent);
	td_exact_add(squares, false, (unsigned __int128)value * value, 2 * exponent);
}

/* What doubles would lose, of the largest and the smallest numbers, in any order. */
static void test_exact(void **state)
{
	(void)state;
	static const double list[][4] = {
		{ 1e300, 1, -1e300, 1 },
		{ 0x1p-1074, 0x1p-1074, 0x1p-1074, 0x3p-1074 },
		{ 1e15 + 1, 1e15 + 2, 1e15 + 3, 1e15 + 2 },
		{ 0x1.fffffffffffffp1023, 0x1.fffffffffffffp1023, 0x1.fffffffffffffp1023, 0x1.fffffffffffffp1023 },
		{ -3, -3, -3, -3 },
	};
	const double mean[] = { .5, 0x1p-1073, 1e15 + 2, 0x1.fffffffffffffp1023, -3 };
	const double std[] = { 0, 0x1p-1074, 0x1.6a09e667f3bcdp-1, 0, 0 };
	for (size_t i = 0; i < TD_COUNT(mean); i++) {
		for (unsigned split = 0; split <= 4; split++) {
			struct td_exact sum = { .pending = 0 }, squares = sum, more_sum = sum, more_squares = sum;
			double got_mean, got_std;
			for (unsigned k = 0; k < 4; k++)
				add_exact(k < split ? &sum : &more_sum, k < split ? &squares : &more_squares, list[i][k]);
			td_exact_merge(&sum, &more_sum);
			td_exact_merge(&squares, &more_squares);
			td_exact_spread(&sum, &squares, 4, &got_mean, &got_std);
			assert_true(got_mean == mean[i]);
			assert_true(i ? got_std == std[i] : got_std > 7.0710678118e299 && got_std < 7.0710678119e299);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_crc32c),
		cmocka_unit_test(test_crc32c_lengths),
		cmocka_unit_test(test_philox),
		cmocka_unit_test(test_escape),
		cmocka_unit_test(test_large_buffer),
		cmocka_unit_test(test_nameless),
		cmocka_unit_test(test_ordered),
		cmocka_unit_test(test_ordered_later),
		cmocka_unit_test(test_ordered_more),
		cmocka_unit_test(test_held),
		cmocka_unit_test(test_exact),
		cmocka_unit_test(test_map),
		cmocka_unit_test(test_table),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
