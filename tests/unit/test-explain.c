/* SPDX-License-Identifier: BSD-2-Clause
 * What holds a pipeline back: made-up passes and what must be said of them. */
#include "unit.h"

#include "explain.h"

#define S 1000000000ull

/* 10 s on 2 threads: fetch and decode busy for so many seconds. */
static struct pass make(uint64_t fetch, uint64_t decode, uint64_t idle, uint64_t consumer_wait)
{
	struct pass p = { .images = 1000, .seconds = 10 };
	p.stats.threads = 2;
	p.stats.n_stages = 2;
	p.stats.stages[0] = (struct tundish_flow_stage){ .name = "fetch", .busy_ns = fetch * S };
	p.stats.stages[1] = (struct tundish_flow_stage){ .name = "decode", .busy_ns = decode * S };
	p.stats.workers_wait_ns = idle * S;
	p.stats.consumer_wait_ns = consumer_wait * S;
	return p;
}

static void a_stage(void **state)
{
	(void)state;
	struct pass p = make(4, 16, 0, 10);
	struct explain e;
	explain_pass(&e, &p, 2);
	assert_int_equal(e.kind, EXPLAIN_CPU);
	assert_string_equal(e.bottleneck, "decode");
	assert_float_equal(e.share, .8, 1e-9);
	assert_int_equal(e.n_gains, 2);
	assert_string_equal(e.gains[0].what, "decode took no time");
	assert_float_equal(e.gains[0].factor, 5, 1e-9);
	assert_float_equal(e.gains[1].factor, 1.25, 1e-9);
}

/* Offered where the pictures fit into half of the memory. */
static void a_cache(void **state)
{
	(void)state;
	struct pass p = make(4, 16, 0, 10);
	struct explain e;
	p.stats.memory = 1000 << 20;
	p.stats.decoded_bytes = 400 << 20;
	explain_pass(&e, &p, 2);
	assert_int_equal(e.n_gains, 3);
	unsigned at = strstr(e.gains[0].what, "--cache") ? 0 : 1;
	assert_string_equal(e.gains[at].what, "--cache memory:decoded held 400 MiB of pictures");
	assert_float_equal(e.gains[at].factor, 5, 1e-9);
	p.stats.decoded_bytes = 600 << 20;
	explain_pass(&e, &p, 2);
	assert_int_equal(e.n_gains, 2);
}

static void more_threads(void **state)
{
	(void)state;
	struct pass p = make(4, 16, 0, 10);
	struct explain e;
	explain_pass(&e, &p, 20);
	assert_string_equal(e.gains[0].what, "--threads were 20");
	assert_float_equal(e.gains[0].factor, 10, 1e-9);
}

/* The consumer works 4 s of the 10: nothing can make it more than 2.5 times as fast. */
static void bounded_by_consumer(void **state)
{
	(void)state;
	struct pass p = make(4, 16, 0, 6);
	struct explain e;
	explain_pass(&e, &p, 2);
	assert_string_equal(e.gains[0].what, "decode took no time");
	assert_float_equal(e.gains[0].factor, 2.5, 1e-9);
}

static void waiting(void **state)
{
	(void)state;
	struct pass p = make(2, 8, 10, 10);
	struct explain e;
	explain_pass(&e, &p, 2);
	assert_int_equal(e.kind, EXPLAIN_INPUT);
	assert_string_equal(e.bottleneck, "too little work in flight");
	assert_float_equal(e.gains[0].factor, 2, 1e-9);
	p = make(2, 8, 0, 10);
	p.stats.stages[0].wait_ns = 10 * S;
	explain_pass(&e, &p, 2);
	assert_int_equal(e.kind, EXPLAIN_INPUT);
	assert_string_equal(e.bottleneck, "reading");
}

static void others(void **state)
{
	(void)state;
	struct pass p = make(2, 8, 0, 10);
	struct explain e;
	explain_pass(&e, &p, 2);
	assert_int_equal(e.kind, EXPLAIN_MACHINE);
	assert_float_equal(e.share, .5, 1e-9);
	p = make(1, 1, 18, 0);
	explain_pass(&e, &p, 2);
	assert_int_equal(e.kind, EXPLAIN_CONSUMER);
	assert_int_equal(e.n_gains, 0);
}

static void nothing_measured(void **state)
{
	(void)state;
	struct pass p = { 0 };
	struct explain e;
	explain_pass(&e, &p, 2);
	assert_string_equal(e.bottleneck, "");
	assert_int_equal(e.n_gains, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_stage),
		cmocka_unit_test(a_cache),
		cmocka_unit_test(more_threads),
		cmocka_unit_test(bounded_by_consumer),
		cmocka_unit_test(waiting),
		cmocka_unit_test(others),
		cmocka_unit_test(nothing_measured),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
