/* SPDX-License-Identifier: BSD-2-Clause
 * The same coefficients as a plain baseline file, with or without restart markers. */
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>
#include <jerror.h>

#include "base/err.h"
#include "jpeg.h"

#define STRIP_BYTES (64u << 20) /* of pixels that are compared at once */

struct transcoder {
	struct jpeg_decompress_struct in;
	struct jpeg_compress_struct out;
	struct jpeg_error_mgr err;
	struct jpeg_progress_mgr progress;
	jmp_buf jump;
	bool restarts;
	int code;
	char message[JMSG_LENGTH_MAX];
	uint8_t *data;
	unsigned long len;
};

static void on_error(j_common_ptr c)
{
	struct transcoder *t = c->client_data;
	c->err->format_message(c, t->message);
	t->code = c->err->msg_code == JERR_OUT_OF_MEMORY ? TUNDISH_E_MEMORY : TUNDISH_E_CORRUPT;
	longjmp(t->jump, 1);
}

/* A file with a warning stays as it is: what is lost here nobody gets back. */
static void on_message(j_common_ptr c, int level)
{
	if (level < 0)
		on_error(c);
}

static void on_progress(j_common_ptr c)
{
	struct transcoder *t = c->client_data;
	if (t->in.input_scan_number > TD_JPEG_MAX_SCANS) {
		snprintf(t->message, sizeof t->message, "JPEG has too many scans");
		t->code = TUNDISH_E_LIMIT;
		longjmp(t->jump, 1);
	}
}

/* libjpeg writes JFIF's and Adobe's marker by itself where it has to. */
static bool is_own_marker(
    const struct jpeg_compress_struct *c, const struct jpeg_marker_struct *m)
{
	if (m->marker == JPEG_APP0)
		return c->write_JFIF_header && m->data_length >= 5 &&
		       memcmp(m->data, "JFIF", 5) == 0;
	return m->marker == JPEG_APP0 + 14 && c->write_Adobe_marker && m->data_length >= 5 &&
	       memcmp(m->data, "Adobe", 5) == 0;
}

static void transcode(struct transcoder *t, const void *data, size_t len)
{
	jpeg_create_decompress(&t->in);
	jpeg_create_compress(&t->out);
	t->in.progress = &t->progress;
	jpeg_mem_src(&t->in, data, len);
	jpeg_save_markers(&t->in, JPEG_COM, 0xffff);
	for (int i = 0; i < 16; i++)
		jpeg_save_markers(&t->in, JPEG_APP0 + i, 0xffff);
	jpeg_read_header(&t->in, TRUE);
	jvirt_barray_ptr *coefficients = jpeg_read_coefficients(&t->in);
	jpeg_copy_critical_parameters(&t->in, &t->out);
	t->out.restart_in_rows = t->restarts;
	t->out.restart_interval = 0;
	t->out.optimize_coding = TRUE;
	jpeg_mem_dest(&t->out, &t->data, &t->len);
	jpeg_write_coefficients(&t->out, coefficients);
	for (jpeg_saved_marker_ptr m = t->in.marker_list; m; m = m->next)
		if (!is_own_marker(&t->out, m))
			jpeg_write_marker(&t->out, m->marker, m->data, m->data_length);
	jpeg_finish_compress(&t->out);
	jpeg_finish_decompress(&t->in);
}

static int guarded_transcode(struct transcoder *t, const void *data, size_t len)
{
	t->in.err = t->out.err = jpeg_std_error(&t->err);
	t->in.client_data = t->out.client_data = t;
	t->err.error_exit = on_error;
	t->err.emit_message = on_message;
	t->progress.progress_monitor = on_progress;
	if (setjmp(t->jump) == 0)
		transcode(t, data, len);
	jpeg_destroy_compress(&t->out);
	jpeg_destroy_decompress(&t->in);
	return t->code;
}

static int compare_strip(struct td_jpeg *j, struct td_buf pixels[2],
    const struct td_image_info *info, const uint8_t *const data[2], const size_t len[2],
    const struct td_window *w, struct tundish_error *e)
{
	struct td_pixels p[2];
	for (int i = 0; i < 2; i++) {
		int r =
		    td_jpeg_decode(j, &p[i], &pixels[i], info, data[i], len[i], w, false, e);
		if (r < 0)
			return r;
	}
	for (uint32_t y = 0; y < w->height; y++)
		if (memcmp(p[0].data + y * p[0].stride, p[1].data + y * p[1].stride,
			(size_t)w->width * 4) != 0)
			return td_err(e, TUNDISH_E_CORRUPT,
			    "JPEG would change when its coefficients are written anew");
	return 0;
}

static int compare(struct td_jpeg *j, const struct td_image_info *info,
    const uint8_t *const data[2], const size_t len[2], struct tundish_error *e)
{
	struct td_image_info made;
	struct td_buf pixels[2] = { { 0 } };
	int r = td_jpeg_header(&made, data[1], len[1], UINT64_MAX, e);
	if (r == 0 && (made.width != info->width || made.height != info->height ||
			  made.channels != info->channels))
		r = td_err(e, TUNDISH_E_CORRUPT, "JPEG would change its size");
	uint32_t rows = TD_MAX(STRIP_BYTES / 4 / info->width, 1u);
	for (uint32_t y = 0; r == 0 && y < info->height; y += rows) {
		struct td_window w = { 0, y, info->width, TD_MIN(rows, info->height - y) };
		r = compare_strip(j, pixels, info, data, len, &w, e);
	}
	for (int i = 0; i < 2; i++)
		td_buf_free(&pixels[i]);
	return r;
}

int td_jpeg_rewrite(struct td_jpeg *j, struct td_buf *out, const void *data, size_t len,
    bool restarts, uint64_t max_pixels, struct tundish_error *e)
{
	struct td_image_info info;
	int r = td_jpeg_header(&info, data, len, max_pixels, e);
	if (r < 0)
		return r;
	struct transcoder t = { .restarts = restarts };
	r = guarded_transcode(&t, data, len);
	if (r < 0) {
		td_err(e, r, "%s", t.message);
	} else {
		const uint8_t *both[2] = { data, t.data };
		const size_t lens[2] = { len, t.len };
		r = compare(j, &info, both, lens, e);
	}
	if (r == 0 && !td_buf_add(out, t.data, t.len))
		r = td_err_memory(e);
	free(t.data);
	return r;
}
