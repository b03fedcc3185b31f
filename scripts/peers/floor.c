/* SPDX-License-Identifier: BSD-2-Clause
 * The yardsticks: libjpeg-turbo doing nothing but entropy decoding, or nothing but decoding
 * the windows of central_crop:0.875 to RGBX, on some threads.
 *
 * floor entropy|windows THREADS EPOCHS FILE... prints the closing line that `compare` reads. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <jpeglib.h>

static struct file {
	unsigned char *data;
	unsigned long len;
} *files;
static size_t n_files, n_jobs;
static atomic_size_t next_job;

static bool windows;

static void entropy(struct jpeg_decompress_struct *c)
{
	jpeg_read_coefficients(c);
}

/* Exact pixels of the middle; columns as wide as the MCUs that they lie in. */
static void window(struct jpeg_decompress_struct *c)
{
	c->out_color_space = JCS_EXT_RGBX;
	c->dct_method = JDCT_ISLOW;
	jpeg_start_decompress(c);
	JDIMENSION left = c->output_width / 16, top = c->output_height / 16;
	JDIMENSION width = c->output_width - 2 * left, end = c->output_height - top;
	jpeg_crop_scanline(c, &left, &width);
	unsigned char *row = malloc((size_t)c->output_width * 4);
	if (!row)
		exit(1);
	jpeg_skip_scanlines(c, top);
	while (c->output_scanline < end)
		jpeg_read_scanlines(c, &row, 1);
	free(row);
}

static void decode(const struct file *f)
{
	struct jpeg_decompress_struct c;
	struct jpeg_error_mgr err;
	c.err = jpeg_std_error(&err);
	jpeg_create_decompress(&c);
	jpeg_mem_src(&c, f->data, f->len);
	jpeg_read_header(&c, TRUE);
	if (windows)
		window(&c);
	else
		entropy(&c);
	jpeg_destroy_decompress(&c);
}

static void *work(void *nothing)
{
	for (size_t job; (job = atomic_fetch_add(&next_job, 1)) < n_jobs;)
		decode(&files[job % n_files]);
	return nothing;
}

static void load(struct file *f, const char *path)
{
	FILE *in = fopen(path, "rb");
	if (!in || fseek(in, 0, SEEK_END) != 0) {
		perror(path);
		exit(1);
	}
	f->len = (unsigned long)ftell(in);
	rewind(in);
	f->data = malloc(f->len);
	if (!f->data || fread(f->data, 1, f->len, in) != f->len) {
		perror(path);
		exit(1);
	}
	fclose(in);
}

int main(int argc, char **argv)
{
	int threads = argc > 4 ? atoi(argv[2]) : 0;
	pthread_t *ids = calloc((size_t)(threads > 0 ? threads : 1), sizeof *ids);
	files = calloc((size_t)argc, sizeof *files);
	if (threads < 1 || !ids || !files)
		return 2;
	windows = strcmp(argv[1], "windows") == 0;
	for (int i = 4; i < argc; i++)
		load(&files[n_files++], argv[i]);
	n_jobs = n_files * strtoul(argv[3], NULL, 10);
	struct timespec from, to;
	clock_gettime(CLOCK_MONOTONIC, &from);
	for (int i = 0; i < threads; i++)
		if (pthread_create(&ids[i], NULL, work, NULL) != 0)
			return 1;
	for (int i = 0; i < threads; i++)
		pthread_join(ids[i], NULL);
	clock_gettime(CLOCK_MONOTONIC, &to);
	double seconds = (double)(to.tv_sec - from.tv_sec) + (double)(to.tv_nsec - from.tv_nsec) / 1e9;
	printf("%zu images %.6f s %.1f /s\n", n_jobs, seconds, (double)n_jobs / seconds);
	return 0;
}
