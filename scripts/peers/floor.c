/* SPDX-License-Identifier: BSD-2-Clause
 * The yardstick: libjpeg-turbo doing nothing but entropy decoding, on some threads.
 *
 * floor THREADS EPOCHS FILE... prints the closing line that `compare` reads. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <jpeglib.h>

static struct file {
	unsigned char *data;
	unsigned long len;
} *files;
static size_t n_files, n_jobs;
static atomic_size_t next_job;

static void decode(const struct file *f)
{
	struct jpeg_decompress_struct c;
	struct jpeg_error_mgr err;
	c.err = jpeg_std_error(&err);
	jpeg_create_decompress(&c);
	jpeg_mem_src(&c, f->data, f->len);
	jpeg_read_header(&c, TRUE);
	jpeg_read_coefficients(&c);
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
	int threads = argc > 3 ? atoi(argv[1]) : 0;
	pthread_t *ids = calloc((size_t)(threads > 0 ? threads : 1), sizeof *ids);
	files = calloc((size_t)argc, sizeof *files);
	if (threads < 1 || !ids || !files)
		return 2;
	for (int i = 3; i < argc; i++)
		load(&files[n_files++], argv[i]);
	n_jobs = n_files * strtoul(argv[2], NULL, 10);
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
