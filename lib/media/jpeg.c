/* SPDX-License-Identifier: BSD-2-Clause
 * JPEG pixels through libjpeg-turbo: any window, exactly as in a full decode. */
#include "jpeg.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>
#include <jerror.h>

#include "base/err.h"
#include "jpeg-index.h"

#define GIVE_UP 1 /* our own entropy decoder did: once more with libjpeg's */

struct td_jpeg {
	struct td_entropy_client client; /* first: client_data points here */
	struct jpeg_decompress_struct c;
	struct jpeg_error_mgr err;
	struct jpeg_progress_mgr progress;
	struct jpeg_source_mgr src;
	jmp_buf jump;
	int code;	 /* of the error that jumped, or GIVE_UP */
	bool own;	 /* our entropy decoder may be used */
	bool attached;	 /* and is */
	bool ended;	 /* libjpeg asked for more than there is */
	unsigned damage; /* warnings that mean wrong pixels */
	char message[JMSG_LENGTH_MAX];
	struct td_buf row; /* rows that nobody wants */
	const void *index; /* for the next picture */
	size_t index_len;
	bool index_refused;
	uint32_t least_width, least_height; /* of the next picture's window; 0: as it is */

	/* the picture at hand */
	const struct td_image_info *info;
	struct td_window want;
	unsigned shrink; /* sides are divided by it */
	struct td_buf *pixels; /* NULL: nobody wants them */
	struct td_pixels out;
	struct td_entries entries; /* of the index; n is 0 if there is none */
	bool try_own;
	struct td_buf *index_out; /* an index is wanted and no pixels */
	uint32_t spacing;
};

static int code_of(int message)
{
	switch (message) {
	case JERR_OUT_OF_MEMORY:
		return TUNDISH_E_MEMORY;
	case JERR_FRACT_SAMPLE_NOTIMPL:
	case JERR_CCIR601_NOTIMPL:
	case JERR_CONVERSION_NOTIMPL:
	case JERR_ARITH_NOTIMPL:
	case JERR_SOF_UNSUPPORTED:
	case JERR_NOT_COMPILED:
		return TUNDISH_E_UNSUPPORTED;
	default:
		return TUNDISH_E_CORRUPT;
	}
}

static void on_error(j_common_ptr c)
{
	struct td_jpeg *j = c->client_data;
	c->err->format_message(c, j->message);
	j->code = code_of(c->err->msg_code);
	longjmp(j->jump, 1);
}

static void fail(struct td_jpeg *j, int code, const char *text)
{
	snprintf(j->message, sizeof j->message, "%s", text);
	j->code = code;
	longjmp(j->jump, 1);
}

static void on_give_up(j_decompress_ptr c)
{
	struct td_jpeg *j = c->client_data;
	j->code = GIVE_UP;
	longjmp(j->jump, 1);
}

/* Only what spoils pixels is damage: odd headers and stray bytes are not. */
static void on_message(j_common_ptr c, int level)
{
	struct td_jpeg *j = c->client_data;
	if (level >= 0)
		return;
	switch (c->err->msg_code) {
	case JWRN_ARITH_BAD_CODE:
	case JWRN_BOGUS_PROGRESSION:
	case JWRN_HIT_MARKER:
	case JWRN_HUFF_BAD_CODE:
	case JWRN_MUST_RESYNC:
	case JWRN_NOT_SEQUENTIAL:
		if (j->damage++ == 0)
			c->err->format_message(c, j->message);
		break;
	default:
		break;
	}
}

static void on_progress(j_common_ptr c)
{
	struct td_jpeg *j = c->client_data;
	if (j->c.input_scan_number > TD_JPEG_MAX_SCANS)
		fail(j, TUNDISH_E_LIMIT, "JPEG has too many scans");
}

static void src_nothing(j_decompress_ptr c)
{
	(void)c;
}

static boolean src_fill(j_decompress_ptr c)
{
	static const JOCTET eoi[2] = { 0xff, JPEG_EOI };
	struct td_jpeg *j = c->client_data;
	j->ended = true;
	j->src.next_input_byte = eoi;
	j->src.bytes_in_buffer = sizeof eoi;
	return TRUE;
}

static void src_skip(j_decompress_ptr c, long n)
{
	struct td_jpeg *j = c->client_data;
	if (n <= 0)
		return;
	if ((size_t)n > j->src.bytes_in_buffer) {
		src_fill(c);
		return;
	}
	j->src.next_input_byte += n;
	j->src.bytes_in_buffer -= (size_t)n;
}

int td_jpeg_new(struct td_jpeg **ret, struct tundish_error *e)
{
	struct td_jpeg *j = calloc(1, sizeof *j);
	if (!j)
		return td_err_memory(e);
	jpeg_std_error(&j->err);
	j->err.error_exit = on_error;
	j->err.emit_message = on_message;
	j->client.give_up = on_give_up;
	j->progress.progress_monitor = on_progress;
	j->src = (struct jpeg_source_mgr){ .init_source = src_nothing,
		.fill_input_buffer = src_fill,
		.skip_input_data = src_skip,
		.resync_to_restart = jpeg_resync_to_restart,
		.term_source = src_nothing };
	*ret = j;
	return 0;
}

void td_jpeg_free(struct td_jpeg *j)
{
	if (!j)
		return;
	td_entropy_free(&j->client.entropy);
	td_buf_free(&j->row);
	free(j);
}

void td_jpeg_use_own(struct td_jpeg *j, bool own)
{
	j->own = own;
}

bool td_jpeg_used_own(const struct td_jpeg *j)
{
	return j->attached;
}

/* True where libjpeg can leave out columns and rows and still be exact: what it keeps
 * as coefficients (progressive) it may smooth across the window's border. */
static bool can_crop(const struct td_jpeg *j)
{
	return !jpeg_has_multiple_scans((j_decompress_ptr)&j->c) && !j->c.arith_code;
}

/* Fancy upsampling looks one chroma sample to each side and takes the border of the
 * decoded part for that of the picture: two pixels more keep it from our window. */
static uint32_t context(const struct td_jpeg *j)
{
	for (int i = 0; i < j->c.num_components; i++)
		if (j->c.comp_info[i].h_samp_factor != j->c.max_h_samp_factor)
			return 2;
	return 0;
}

/* A decompressor of its own for each picture: one that is used again would lend tables
 * of the last picture to a damaged one without any. */
static void read_header(struct td_jpeg *j)
{
	struct jpeg_decompress_struct *c = &j->c;
	c->client_data = j;
	jpeg_create_decompress(c);
	c->src = &j->src;
	c->progress = &j->progress;
	jpeg_read_header(c, TRUE);
	if (c->image_width != j->info->width || c->image_height != j->info->height ||
	    (unsigned)c->num_components != j->info->channels)
		fail(j, TUNDISH_E_CORRUPT, "JPEG holds two different frame headers");
}

static void start(struct td_jpeg *j)
{
	struct jpeg_decompress_struct *c = &j->c;
	read_header(j);
	c->out_color_space = c->num_components == 4 ? JCS_CMYK : JCS_EXT_RGBX;
	/* four to one, some of it left to the upsampler: libjpeg is not exact in parts then */
	if (c->max_h_samp_factor > 2 || c->max_v_samp_factor > 2)
		j->shrink = 1;
	c->dct_method = JDCT_ISLOW;
	c->scale_num = 1;
	c->scale_denom = j->shrink;
	c->do_fancy_upsampling = TRUE;
	jpeg_start_decompress(c);
}

static uint8_t *fit(struct td_jpeg *j, struct td_buf *b, size_t stride, size_t rows)
{
	size_t bytes;
	if (td_mul_overflow(stride, rows, &bytes) || !td_buf_fit(b, bytes))
		fail(j, TUNDISH_E_MEMORY, "out of memory");
	return b->data;
}

/* Rows until output_scanline is `end`, each to its place, or all to one. */
static void read_rows(struct td_jpeg *j, uint8_t *to, size_t step, uint32_t end)
{
	while (j->c.output_scanline < end) {
		JSAMPROW rows[4];
		uint32_t n = TD_MIN(end - j->c.output_scanline, 4u);
		for (uint32_t i = 0; i < n; i++)
			rows[i] = to + i * step;
		n = jpeg_read_scanlines(&j->c, rows, n);
		to += n * step;
	}
}

/* CMYK as TensorFlow and libvips turn it: Adobe's files hold inverted inks. */
static void cmyk_to_rgbx(uint8_t *p, size_t pixels, bool inverted)
{
	unsigned flip = inverted ? 0 : 255;
	for (; pixels > 0; pixels--, p += 4) {
		unsigned k = p[3] ^ flip;
		for (int i = 0; i < 3; i++)
			p[i] = (uint8_t)(k * (p[i] ^ flip) / 255);
		p[3] = 255;
	}
}

/* The columns of MCUs that libjpeg will turn into pixels. */
static void attach(struct td_jpeg *j, uint32_t x, uint32_t width)
{
	uint32_t side = 8 / j->shrink;
	if (j->c.num_components > 1)
		side *= (uint32_t)j->c.max_h_samp_factor;
	j->attached = td_entropy_attach(
	    &j->c, x / side, (x + width - 1) / side, j->entries.n ? &j->entries : NULL);
}

/* The window in the smaller picture: whole pixels around it. */
static struct td_window shrunk(const struct td_window *w, unsigned by)
{
	struct td_window s = { w->x / by, w->y / by, 0, 0 };
	s.width = (w->x + w->width - 1) / by + 1 - s.x;
	s.height = (w->y + w->height - 1) / by + 1 - s.y;
	return s;
}

static void note_place(struct td_pixels *p, const struct td_window *w, unsigned by)
{
	p->left = (double)(w->x % by) / by;
	p->top = (double)(w->y % by) / by;
	p->across = (double)w->width / by;
	p->down = (double)w->height / by;
}

static void make_pixels(struct td_jpeg *j)
{
	struct jpeg_decompress_struct *c = &j->c;
	start(j);
	struct td_window here = shrunk(&j->want, j->shrink), *want = &here;
	JDIMENSION x = 0, width = c->output_width;
	if (can_crop(j) && want->width < width) {
		uint32_t more = context(j), left = TD_MIN(want->x, more);
		x = want->x - left;
		width = TD_MIN(want->width + left + more, width - x);
		jpeg_crop_scanline(c, &x, &width);
	}
	if (j->try_own)
		attach(j, x, width);
	size_t stride = (size_t)width * 4;
	uint8_t *spare = fit(j, &j->row, stride, 1), *to = spare;
	if (j->pixels)
		to = fit(j, j->pixels, stride, want->height);
	if (can_crop(j) && want->y > 0)
		jpeg_skip_scanlines(c, want->y);
	read_rows(j, spare, 0, want->y);
	read_rows(j, to, j->pixels ? stride : 0, want->y + want->height);
	if (c->num_components == 4 && j->pixels)
		cmyk_to_rgbx(to, (size_t)width * want->height, c->saw_Adobe_marker);
	if (jpeg_has_multiple_scans(c) && j->ended && j->damage++ == 0)
		snprintf(j->message, sizeof j->message, "JPEG ends before its last scan");
	j->out = (struct td_pixels){ .data = to + (size_t)(want->x - x) * 4,
		.width = want->width,
		.height = want->height,
		.channels = 3,
		.step = 4,
		.stride = stride,
		.grey = c->num_components == 1,
		.warnings = j->damage };
	if (j->shrink > 1)
		note_place(&j->out, &j->want, j->shrink);
}

static void make_index(struct td_jpeg *j, const void *data, size_t len)
{
	read_header(j);
	if (jpeg_has_multiple_scans(&j->c))
		fail(j, TUNDISH_E_UNSUPPORTED, "no index can be made of this JPEG");
	jpeg_start_decompress(&j->c);
	uint32_t spacing = TD_MIN(j->spacing ? j->spacing : UINT32_MAX, j->c.MCUs_per_row);
	if (!td_jpeg_index_head(j->index_out, data, len, spacing) ||
	    !td_entropy_index(&j->c, spacing, j->index_out))
		fail(j, TUNDISH_E_UNSUPPORTED, "no index can be made of this JPEG");
}

static int guarded_run(struct td_jpeg *j, const void *data, size_t len)
{
	memset(&j->c, 0, sizeof j->c);
	j->c.err = &j->err;
	j->attached = false;
	j->ended = false;
	j->damage = 0;
	j->src.next_input_byte = data;
	j->src.bytes_in_buffer = len;
	j->code = 0;
	if (setjmp(j->jump) == 0) {
		if (j->index_out)
			make_index(j, data, len);
		else
			make_pixels(j);
	}
	jpeg_destroy_decompress(&j->c);
	return j->code;
}

/* Takes the index that was set, once. */
static bool open_index(struct td_jpeg *j, const void *data, size_t len)
{
	bool given = j->index != NULL;
	j->entries.n = 0;
	if (given && j->try_own &&
	    !td_jpeg_index_open(&j->entries, j->index, j->index_len, data, len))
		j->entries.n = 0;
	j->index = NULL;
	return given;
}

/* By how much the window may shrink and still be as large as was said, once. */
static unsigned take_shrink(struct td_jpeg *j)
{
	unsigned by = j->least_width && j->least_height ? 8 : 1;
	while (by > 1 && (j->want.width / by < j->least_width ||
			     j->want.height / by < j->least_height))
		by /= 2;
	j->least_width = j->least_height = 0;
	return by;
}

int td_jpeg_decode(struct td_jpeg *j, struct td_pixels *ret, struct td_buf *pixels,
    const struct td_image_info *info, const void *data, size_t len,
    const struct td_window *window, bool lenient, struct tundish_error *e)
{
	j->info = info;
	j->want = *window;
	j->pixels = pixels;
	j->index_out = NULL;
	j->try_own = j->own;
	j->shrink = take_shrink(j);
	bool given = open_index(j, data, len);
	int r = guarded_run(j, data, len);
	j->index_refused =
	    given && (r == GIVE_UP || !j->attached || !j->client.entropy.entries);
	if (r == GIVE_UP) {
		j->try_own = false;
		r = guarded_run(j, data, len);
	}
	if (r == 0 && j->damage && !lenient)
		r = j->ended ? TUNDISH_E_TRUNCATED : TUNDISH_E_CORRUPT;
	if (r < 0)
		return td_err(e, r, "%s", j->message);
	if (pixels)
		*ret = j->out;
	return 0;
}

void td_jpeg_set_index(struct td_jpeg *j, const void *index, size_t len)
{
	j->index = index;
	j->index_len = len;
}

void td_jpeg_set_least(struct td_jpeg *j, uint32_t width, uint32_t height)
{
	j->least_width = width;
	j->least_height = height;
}

bool td_jpeg_index_refused(const struct td_jpeg *j)
{
	return j->index_refused;
}

int td_jpeg_build_index(struct td_jpeg *j, struct td_buf *out, const void *data, size_t len,
    uint32_t spacing, struct tundish_error *e)
{
	struct td_image_info info;
	size_t before = out->len;
	int r = td_jpeg_header(&info, data, len, UINT64_MAX, e);
	if (r < 0)
		return r;
	j->info = &info;
	j->index_out = out;
	j->spacing = spacing;
	r = guarded_run(j, data, len);
	j->info = NULL;
	if (r == 0)
		return 0;
	out->len = before;
	return td_err(e, r, "%s", j->message);
}
