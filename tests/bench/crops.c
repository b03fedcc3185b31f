/* SPDX-License-Identifier: BSD-2-Clause
 * How much CPU time one thread takes for random_resized_crop:224 hflip normalize samples,
 * against libjpeg's entropy decoding alone on the same files, in turn. Not a test.
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
	struct td_buf index[2]; /* a row; 8 MCUs */
};

enum mode {
	LIBJPEG,
	OWN,
	ROW_INDEX,
	MCU_INDEX,
	EVAL_LIBJPEG,
	EVAL_OWN,
	EVAL_ROW_INDEX,
	MODES,
};

static const char *const names[MODES] = { "train, libjpeg", "train, own", "train, row index",
	"train, index of 8", "eval, libjpeg", "eval, own", "eval, row index" };

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

static struct td_window central(const struct td_image_info *info)
{
	struct td_window w = { (uint32_t)(info->width * 0.125 / 2),
		(uint32_t)(info->height * 0.125 / 2), 0, 0 };
	w.width = info->width - 2 * w.x;
	w.height = info->height - 2 * w.y;
	return w;
}

static double rate(int n, uint64_t start)
{
	return n / ((double)(td_thread_cpu_ns() - start) * 1e-9);
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
	return rate(n, start);
}

static double crop_rate(const struct file *files, int n, struct td_decoder *d, enum mode mode,
    float *batch, uint64_t round)
{
	static struct td_scratch scratch;
	int index = mode == MCU_INDEX				  ? 1
		    : mode == ROW_INDEX || mode == EVAL_ROW_INDEX ? 0
								  : -1;
	uint64_t start = td_thread_cpu_ns();
	for (int i = 0; i < n; i++) {
		const struct file *f = &files[i];
		struct td_rng r;
		td_rng_at(&r, round, 0, (uint64_t)i, TD_RNG_OP);
		struct td_window w =
		    mode >= EVAL_LIBJPEG ? central(&f->info) : draw_crop(&f->info, &r);
		struct td_pixels p;
		struct tundish_error e = { 0 };
		if (index >= 0)
			td_decoder_index(d, f->index[index].data, f->index[index].len);
		if (td_decode(d, &p, &f->info, f->data, f->len, &w, true, &e) < 0 ||
		    (index >= 0 && td_decoder_index_refused(d))) {
			fprintf(stderr, "file %d: %s\n", i, e.text);
			exit(1);
		}
		struct td_store s = { .width = 224,
			.height = 224,
			.dtype = TUNDISH_FLOAT32,
			.hflip = td_rng_u32(&r) & 1,
			.scale = (const float[3]){ 0.0171f, 0.0175f, 0.0174f },
			.bias = (const float[3]){ -2.1f, -2.0f, -1.8f },
			.out = batch + (size_t)(i % 64) * 224 * 224 * 3 };
		td_store_pixels(&p, &s, &scratch, &e);
	}
	return rate(n, start);
}

static double index_rate(struct file *files, int n, struct td_decoder *d, int which)
{
	uint64_t start = td_thread_cpu_ns();
	for (int i = 0; i < n; i++)
		td_jpeg_index(d, &files[i].index[which], files[i].data, files[i].len,
		    which ? 8 : 0, NULL);
	return rate(n, start);
}

static int load(struct file *files, char **paths, int n)
{
	int kept = 0;
	for (int i = 0; i < n; i++) {
		struct file *to = &files[kept];
		FILE *f = fopen(paths[i], "rb");
		if (!f)
			continue;
		fseek(f, 0, SEEK_END);
		to->len = (size_t)ftell(f);
		rewind(f);
		to->data = malloc(to->len);
		if (fread(to->data, 1, to->len, f) == to->len &&
		    td_image_header(&to->info, to->data, to->len, 1 << 28, NULL) == 0)
			kept++;
		fclose(f);
	}
	return kept;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
	int rounds = argc > 2 ? atoi(argv[1]) : 0;
	struct file *files = calloc((size_t)argc, sizeof *files);
	struct td_decoder *own, *plain;
	if (rounds < 1 || !files || td_decoder_new(&own, NULL) < 0 ||
	    td_decoder_new(&plain, NULL) < 0)
		return 2;
	td_decoder_plain(plain);
	int n = load(files, argv + 2, argc - 2);
	float *batch = aligned_alloc(64, (size_t)64 * 224 * 224 * 3 * sizeof *batch);
	memset(batch, 0, (size_t)64 * 224 * 224 * 3 * sizeof *batch);
	double build = index_rate(files, n, own, 0);
	index_rate(files, n, own, 1);
	double *ratios[MODES], *rates[MODES];
	for (int m = 0; m < MODES; m++) {
		ratios[m] = calloc((size_t)rounds, sizeof *ratios[m]);
		rates[m] = calloc((size_t)rounds, sizeof *rates[m]);
	}
	for (int i = 0; i < rounds; i++) {
		double base = floor_rate(files, n);
		for (int m = 0; m < MODES; m++) {
			struct td_decoder *d = m == LIBJPEG || m == EVAL_LIBJPEG ? plain : own;
			rates[m][i] = crop_rate(files, n, d, (enum mode)m, batch, (uint64_t)i);
			ratios[m][i] = rates[m][i] / base;
		}
	}
	printf("%d files; an index of rows for %.0f /s\n", n, build);
	for (int m = 0; m < MODES; m++) {
		qsort(ratios[m], (size_t)rounds, sizeof *ratios[m], by_value);
		qsort(rates[m], (size_t)rounds, sizeof *rates[m], by_value);
		printf("%-18s %6.0f /s, %.3f of libjpeg's entropy decoding\n", names[m],
		    rates[m][rounds / 2], ratios[m][rounds / 2]);
	}
	return 0;
}
