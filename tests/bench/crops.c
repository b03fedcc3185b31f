/* SPDX-License-Identifier: BSD-2-Clause
 * How much CPU time one thread takes for random_resized_crop:224 hflip normalize samples, against
 * libjpeg's entropy decoding alone on the same files, in turn. Not a test.
 *
 * crops ROUNDS FILE... */
#include <math.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>

#include "base/rng.h"
#include "base/thread.h"
#include "media/resize.h"

struct file {
	uint8_t *data;
	size_t len;
	struct td_image_info info;
};

static struct td_window draw_crop(const struct td_image_info *info, struct td_rng *r)
{
	double area = (double)info->width * info->height;
	for (int i = 0; i < 10; i++) {
		double target = area * (0.08 + 0.92 * td_rng_unit(r));
		double ratio = exp(log(3 / 4.0) + td_rng_unit(r) * log(16 / 9.0));
		uint32_t w = (uint32_t)lrint(sqrt(target * ratio));
		uint32_t h = (uint32_t)lrint(sqrt(target / ratio));
		if (w == 0 || h == 0 || w > info->width || h > info->height)
			continue;
		return (struct td_window){ (uint32_t)td_rng_below(r, info->width - w + 1),
			(uint32_t)td_rng_below(r, info->height - h + 1), w, h };
	}
	return (struct td_window){ 0, 0, info->width, info->height };
}

static double floor_rate(const struct file *files, int n)
{
	uint64_t start = td_thread_cpu_ns();
	for (int i = 0; i < n; i++) {
		struct jpeg_decompress_struct c;
		struct jpeg_error_mgr e;
		c.err = jpeg_std_error(&e);
		jpeg_create_decompress(&c);
		jpeg_mem_src(&c, files[i].data, files[i].len);
		jpeg_read_header(&c, TRUE);
		jpeg_read_coefficients(&c);
		jpeg_destroy_decompress(&c);
	}
	return n / ((double)(td_thread_cpu_ns() - start) * 1e-9);
}

struct rates {
	double all, decode;
};

static struct rates crop_rate(const struct file *files, int n, struct td_decoder *d, float *batch,
    uint64_t round)
{
	static struct td_scratch scratch;
	uint64_t start = td_thread_cpu_ns(), decode = 0;
	for (int i = 0; i < n; i++) {
		struct td_rng r;
		td_rng_at(&r, round, 0, (uint64_t)i, TD_RNG_OP);
		struct td_window w = draw_crop(&files[i].info, &r);
		struct td_pixels p;
		struct tundish_error e = { 0 };
		uint64_t t = td_thread_cpu_ns();
		if (td_decode(d, &p, &files[i].info, files[i].data, files[i].len, &w, true, &e) < 0) {
			fprintf(stderr, "file %d: %s\n", i, e.text);
			exit(1);
		}
		decode += td_thread_cpu_ns() - t;
		struct td_store s = { .width = 224, .height = 224, .dtype = TUNDISH_FLOAT32,
			.hflip = td_rng_u32(&r) & 1, .scaled = true,
			.scale = { 0.0171f, 0.0175f, 0.0174f }, .bias = { -2.1f, -2.0f, -1.8f },
			.out = batch + (size_t)(i % 64) * 224 * 224 * 3 };
		td_store_pixels(&p, &s, &scratch, &e);
	}
	double all = (double)(td_thread_cpu_ns() - start);
	return (struct rates){ n / (all * 1e-9), n / ((double)decode * 1e-9) };
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
	int rounds = argc > 2 ? atoi(argv[1]) : 0, n = 0;
	struct file *files = calloc((size_t)argc, sizeof *files);
	struct td_decoder *d;
	if (rounds < 1 || !files || td_decoder_new(&d, NULL) < 0)
		return 2;
	for (int i = 2; i < argc; i++) {
		FILE *f = fopen(argv[i], "rb");
		fseek(f, 0, SEEK_END);
		files[n].len = (size_t)ftell(f);
		rewind(f);
		files[n].data = malloc(files[n].len);
		if (fread(files[n].data, 1, files[n].len, f) == files[n].len &&
		    td_image_header(&files[n].info, files[n].data, files[n].len, 1 << 28, NULL) == 0)
			n++;
		fclose(f);
	}
	float *batch = aligned_alloc(64, (size_t)64 * 224 * 224 * 3 * sizeof *batch);
	memset(batch, 0, (size_t)64 * 224 * 224 * 3 * sizeof *batch);
	double *ratio = calloc((size_t)rounds, sizeof *ratio);
	for (int i = 0; i < rounds; i++) {
		double base = floor_rate(files, n);
		struct rates r = crop_rate(files, n, d, batch, (uint64_t)i);
		ratio[i] = r.all / base;
		printf("entropy %.0f /s, crops %.0f /s (%.3f), decode alone %.0f /s\n", base, r.all,
		    ratio[i], r.decode);
	}
	qsort(ratio, (size_t)rounds, sizeof *ratio, by_value);
	printf("median %.3f\n", ratio[rounds / 2]);
	td_decoder_free(d);
	return 0;
}
