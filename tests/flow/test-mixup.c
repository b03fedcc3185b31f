/* SPDX-License-Identifier: BSD-2-Clause
 * mixup and cutmix: what is drawn, who is mixed with whom, and the same for any threads. */
#include "sets.h"

#include <math.h>

#include "flow/mixup.h"

/* ---- draws ---- */

static double beta_at(double alpha, uint64_t position)
{
	struct td_rng rng;
	td_rng_at(&rng, 4, 0, position, TD_RNG_MIX);
	return td_beta(&rng, alpha);
}

/* Moments of Beta(a, a): mean 1/2, E x^2 = (a + 1) / (4 a + 2), E x^3 = (a + 2) / (8 a + 4),
 * E x^4 = (a + 2)(a + 3) / ((4 a + 2)(4 a + 6)). */
static void test_beta(void **state)
{
	(void)state;
	static const double alphas[] = { 0.01, 0.1, 0.2, 0.4, 0.5, 0.8, 1, 1.5, 2, 8, 100, 1000 };
	const int n = 40000;
	for (size_t k = 0; k < TD_COUNT(alphas); k++) {
		double a = alphas[k], sum[4] = { 0 };
		for (int i = 0; i < n; i++) {
			double x = beta_at(a, (uint64_t)i), power = x;
			assert_true(x >= 0 && x <= 1);
			for (int m = 0; m < 4; m++, power *= x)
				sum[m] += power;
		}
		const double want[4] = { 0.5, (a + 1) / (4 * a + 2), (a + 2) / (8 * a + 4),
			(a + 2) * (a + 3) / ((4 * a + 2) * (4 * a + 6)) };
		for (int m = 0; m < 4; m++) {
			/* no spread is above 1/2: five of n draws' mean */
			if (fabs(sum[m] / n - want[m]) > 5 * 0.5 / sqrt(n))
				fail_msg("alpha %g: moment %d is %g, wanted %g", a, m + 1, sum[m] / n, want[m]);
		}
	}
}

/* Kolmogorov and Smirnov: where the distribution has a plain form. */
static void check_distribution(double alpha, double (*cdf)(double))
{
	static unsigned below[101];
	const int n = 50000;
	memset(below, 0, sizeof below);
	for (int i = 0; i < n; i++)
		below[(int)ceil(beta_at(alpha, (uint64_t)i) * 100)]++;
	double sum = 0, most = 0;
	for (int i = 0; i <= 100; i++) {
		sum += below[i];
		most = fmax(most, fabs(sum / n - cdf(i / 100.)));
	}
	/* exceeded once in a million */
	if (most > 2.7 / sqrt(n))
		fail_msg("alpha %g is off by %g", alpha, most);
}

static double arcsine(double x)
{
	return 2 / M_PI * asin(sqrt(x));
}

static double even(double x)
{
	return x;
}

static double parabola(double x)
{
	return x * x * (3 - 2 * x);
}

static void test_distributions(void **state)
{
	(void)state;
	check_distribution(0.5, arcsine);
	check_distribution(1, even);
	check_distribution(2, parabola);
}

/* torchvision's cutmix: the centre is uniform, sides are the root of what is drawn, and what
 * stays is what is left of the area once the window is cut at the border. */
static void test_windows(void **state)
{
	(void)state;
	static const struct td_mix cut = { true, 1, 1 };
	struct td_mixing m = { 0 };
	assert_true(td_mixing_new(&m, 1, 1));
	double keep = 0, centre = 0, whole = 0;
	const int n = 40000;
	for (int i = 0; i < n; i++) {
		td_mixing_draw(&m, &cut, 1, 0, 200, 100, 9, 1, (uint64_t)i);
		const struct td_mix_row *r = m.rows;
		assert_true(r->x + r->width <= 200 && r->y + r->height <= 100);
		double area = (double)r->width * r->height / 20000;
		assert_true(fabs((double)r->keep - (1 - area)) < 1e-6);
		keep += (double)r->keep;
		bool inside = r->x > 0 && r->x + r->width < 200 && r->y > 0 && r->y + r->height < 100;
		centre += inside ? (r->x + r->width / 2.) / 200 : 0.5;
		whole += inside;
	}
	/* by torchvision 0.29.2, 586236 draws of the same: 0.6843 and 0.1665 */
	assert_true(fabs(keep / n - 0.6843) < 0.006);
	assert_true(fabs(whole / n - 0.1665) < 0.009);
	assert_true(fabs(centre / n - 0.5) < 0.005);
	td_mixing_free(&m);
}

/* Chances other than 1, and one picture alone. */
static void test_chance(void **state)
{
	(void)state;
	static const struct td_mix mixes[2] = { { false, 1, 0.25 }, { true, 1, 0 } };
	struct td_mixing m = { 0 };
	struct td_buf spare = { 0 };
	unsigned mixed = 0;
	assert_true(td_mixing_new(&m, 2, 2));
	for (unsigned i = 0; i < 20000; i++) {
		td_mixing_draw(&m, mixes, 2, 0, 8, 8, 9, 1, i);
		mixed += m.rows[0].keep < 1;
		assert_true(m.rows[2].keep == 1);
	}
	assert_in_range(mixed, 4700, 5300);
	const struct td_mix_shape shape = { 4, 1, 1, 1, 1, TUNDISH_FLOAT32 };
	float one = 5;
	td_mixing_pair(&m, 2, 1, 3);
	assert_true(td_mixing_lines(&m, mixes, 2, &shape, (uint8_t *)&one, 0, 1, &spare));
	assert_true(one == 5);
	td_mixing_free(&m);
	td_buf_free(&spare);
}

/* ---- batches ---- */

/* One batch of a flow over pictures of one colour each: id * 7. */
struct taken {
	struct tundish_batch b;
	float images[64 * 36 * 3], labels[64 * 64];
	uint64_t bytes;
};

static void take(struct taken *t, const char *set, const char *ops, unsigned threads)
{
	struct tundish_flow_options o;
	struct tundish_flow *flow;
	struct tundish_error e = { 0 };
	tundish_flow_options_init(&o);
	o.paths = &set;
	o.n_paths = 1;
	o.ops = ops;
	o.threads = threads;
	if (tundish_flow_open(&flow, &o, &e) < 0 || tundish_flow_next(flow, &t->b, &e) != 1)
		fail_msg("%s: %s", ops, e.text);
	assert_true(t->b.images_bytes <= sizeof t->images && t->b.arrays[1].bytes <= sizeof t->labels);
	memcpy(t->images, t->b.images, t->b.images_bytes);
	memcpy(t->labels, t->b.arrays[1].data, t->b.arrays[1].bytes);
	tundish_flow_release(flow, &t->b);
	tundish_flow_close(flow);
}

/* What row i was mixed with: the other class of its label, or itself. */
static unsigned partner(const struct taken *t, unsigned n, unsigned i, double *ret_keep)
{
	const float *row = t->labels + i * n;
	double sum = 0;
	unsigned other = i;
	for (unsigned k = 0; k < n; k++) {
		sum += (double)row[k];
		if (k != i && row[k] > 0)
			other = k;
	}
	assert_true(fabs(sum - 1) < 1e-6);
	*ret_keep = (double)row[i];
	return other;
}

static void test_mixup(void **state)
{
	(void)state;
	static struct taken t;
	const unsigned n = 30;
	unsigned seen[30] = { 0 }, mixed = 0;
	take(&t, write_set("up", n, 3, false, NULL), "one_hot:30 mixup:1", 3);
	assert_int_equal(t.b.dtype, TUNDISH_FLOAT32);
	for (unsigned i = 0; i < n; i++) {
		double keep;
		unsigned other = partner(&t, n, i, &keep);
		seen[other]++;
		mixed += other != i;
		for (unsigned k = 0; k < 108; k++)
			assert_true(fabs((double)t.images[i * 108 + k] - (7. * i * keep + 7. * other * (1 - keep))) < 1e-3);
	}
	/* one cycle through all */
	assert_int_equal(mixed, n);
	for (unsigned i = 0; i < n; i++)
		assert_int_equal(seen[i], 1);
}

static void test_cutmix(void **state)
{
	(void)state;
	static struct taken t, planes;
	const unsigned n = 30;
	const char *set = write_set("cut", n, 3, false, NULL);
	take(&t, set, "one_hot:30 cutmix:1", 3);
	assert_int_equal(t.b.dtype, TUNDISH_UINT8);
	for (unsigned i = 0; i < n; i++) {
		double keep;
		unsigned other = partner(&t, n, i, &keep), own = 0;
		const uint8_t *v = (const uint8_t *)t.images + i * 108;
		for (unsigned k = 0; k < 108; k++) {
			assert_true(v[k] == (uint8_t)(i * 7) || v[k] == (uint8_t)(other * 7));
			own += v[k] == (uint8_t)(i * 7);
		}
		assert_int_equal((int)rint(keep * 108), (int)own);
	}
	take(&planes, set, "one_hot:30 cutmix:1 layout:nchw", 2);
	for (unsigned i = 0; i < n * 108; i++)
		assert_int_equal(((uint8_t *)t.images)[i], ((uint8_t *)planes.images)[i / 108 * 108 + i % 3 * 36 + i % 108 / 3]);
}

/* Small floats are weighed as float32; both operations one after the other; both types of
 * layout; another place of a cast. */
static void test_types(void **state)
{
	(void)state;
	static struct taken a, b;
	const char *set = write_set("types", 20, 2, false, NULL);
	take(&a, set, "normalize one_hot:20 mixup:0.4 cutmix:1", 1);
	take(&b, set, "normalize one_hot:20 mixup:0.4 cutmix:1 cast:bfloat16", 3);
	for (unsigned i = 0; i < 20 * 108; i++) {
		uint32_t bits = (uint32_t)((uint16_t *)(void *)b.images)[i] << 16;
		float v;
		memcpy(&v, &bits, 4);
		assert_true(fabsf(v - a.images[i]) < 0.03f);
	}
	assert_memory_equal(a.labels, b.labels, sizeof a.labels);
	take(&b, set, "normalize one_hot:20 mixup:0.4 cutmix:1 cast:float16", 3);
	for (unsigned i = 0; i < 20 * 108; i++) {
		uint16_t h = ((uint16_t *)(void *)b.images)[i];
		double v = (h >> 10 & 31) ? ldexp(1024 + (h & 1023), (h >> 10 & 31) - 25) : ldexp(h & 1023, -24);
		assert_true(fabs((h >> 15 ? -v : v) - (double)a.images[i]) < 0.004);
	}
	take(&a, set, "one_hot:20 resize:5 cast:uint8 mixup:1", 1);
	take(&b, set, "one_hot:20 resize:5 mixup:1", 1);
	for (unsigned i = 0; i < 20 * 75; i++)
		assert_true(fabsf(a.images[i] - b.images[i]) < 1);
}

static enum flaw every_fifth(unsigned id)
{
	return id % 5 == 3 ? NO_PICTURE : GOOD;
}

/* The same for any number of threads, bad records left out or blank, and from any batch on. */
static void test_same(void **state)
{
	(void)state;
	static struct run r, rest;
	static const char *const ops = "random_resized_crop:40 hflip normalize one_hot:70 mixup:0.2,p=0.7 cutmix:1";
	const char *set = write_set("same", 70, 4, true, every_fifth);
	for (int policy = TUNDISH_SKIP; policy <= TUNDISH_BLANK; policy += 2) {
		char digest[65] = "";
		for (unsigned i = 0; i < 7; i++) {
			again(&r, set, ops);
			r.o.threads = (unsigned[]){ 1, 2, 3, 8, 99, 2, 5 }[i];
			r.o.memory = i == 5 ? 1 : 0;
			r.o.prefetch = i == 6 ? 1 : 0;
			r.o.shuffle = "full";
			r.o.epochs = 2;
			r.o.batch = 16;
			r.o.on_error = policy;
			run_flow(&r);
			assert_int_equal(r.rc, 0);
			assert_int_equal(r.samples, policy == TUNDISH_SKIP ? 112 : 140);
			if (i)
				assert_string_equal(r.digest, digest);
			strcpy(digest, r.digest);
		}
	}
	/* the last batch of each epoch is the same when the flow starts with it */
	again(&r, set, ops);
	r.o.batch = 16;
	r.stop_after = 4;
	run_flow(&r);
	for (int i = 0; i < 2; i++) {
		again(&rest, set, ops);
		rest.o.batch = 16;
		rest.o.start = r.cursor;
		rest.o.threads = i ? 8 : 1;
		run_flow(&rest);
		assert_int_equal(rest.batches, 1);
		if (i)
			assert_string_equal(rest.digest, r.digest);
		strcpy(r.digest, rest.digest);
	}
	td_buf_free(&r.faults);
	td_buf_free(&rest.faults);
}

static void test_last(void **state)
{
	(void)state;
	static struct run r;
	const char *set = write_set("last", 21, 1, false, NULL);
	for (int last = TUNDISH_LAST_KEEP; last <= TUNDISH_LAST_PAD; last++) {
		again(&r, set, "one_hot:21 mixup:1");
		r.o.batch = 5;
		r.o.last = last;
		run_flow(&r);
		assert_int_equal(r.rc, 0);
		assert_int_equal(r.samples, last == TUNDISH_LAST_DROP ? 20 : 21);
	}
	td_buf_free(&r.faults);
}

static void test_usage(void **state)
{
	(void)state;
	static struct run r;
	static const char *const wrong[][2] = {
		{ "mixup:1", "mixup and cutmix need labels as classes: one_hot:N" },
		{ "select:label one_hot:9 mixup:1", "mixup and cutmix need pictures that go out" },
		{ "one_hot:9 mixup", "a value is missing" },
		{ "one_hot:9 mixup:0", "out of range" },
		{ "one_hot:9 mixup:1 hflip", "only cast to floats and layout may follow mixup and cutmix" },
		{ "one_hot:9 mixup:1 cast:uint8", "only cast to floats and layout may follow" },
		{ "one_hot:9 cast:float16 mixup:1", "stands before cast:float16" },
		{ "mixup:1 mixup:1 mixup:1 mixup:1 cutmix:1", "too many of them" },
	};
	const char *set = write_set("usage", 9, 1, false, NULL);
	for (size_t i = 0; i < TD_COUNT(wrong); i++) {
		again(&r, set, wrong[i][0]);
		run_flow(&r);
		assert_int_equal(r.rc, TUNDISH_E_USAGE);
		if (!strstr(r.e.text, wrong[i][1]))
			fail_msg("%s: %s", wrong[i][0], r.e.text);
	}
	again(&r, set, "select:image mixup:1");
	run_flow(&r);
	assert_int_equal(r.samples, 9);
	again(&r, set, "one_hot:9 cutmix:1 cast:uint8 layout:nchw");
	run_flow(&r);
	assert_int_equal(r.samples, 9);
	td_buf_free(&r.faults);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_beta),
		cmocka_unit_test(test_distributions),
		cmocka_unit_test(test_windows),
		cmocka_unit_test(test_chance),
		cmocka_unit_test(test_mixup),
		cmocka_unit_test(test_cutmix),
		cmocka_unit_test(test_types),
		cmocka_unit_test(test_same),
		cmocka_unit_test(test_last),
		cmocka_unit_test(test_usage),
	};
	return cmocka_run_group_tests(tests, make_scratch, clear_scratch);
}
