/* SPDX-License-Identifier: BSD-2-Clause
 * The module that reads tar and zip archives, through libarchive. */
#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <locale.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "archiver.h"
#include "base/bits.h"
#include "base/err.h"
#include "base/infile.h"
#include "base/module.h"
#include "base/utf8.h"

/* Reads between two members are small, those within one soon large. */
#define LEAST_READ ((size_t)4096)
#define MOST_READ ((size_t)256 << 10)
#define BLOCK 512

struct reader {
	struct archive *a;
	int fd;
	const struct td_archive_feed *feed; /* of a pipe */
	struct tundish_error fed; /* its error */
	int fed_rc;
	enum td_archive_how how;
	uint64_t size, at; /* of the file; the next byte to read */
	size_t chunk;
	bool zip;
	uint64_t end; /* of the last member with its padding; 0: not known */
	bool marked;  /* there was more behind that */
	struct td_buf block, name, target;
};

/* ---- the locale: names are converted by it ---- */

static locale_t utf8_locale;

static void make_locale(void)
{
	utf8_locale = newlocale(LC_CTYPE_MASK, "C.UTF-8", NULL);
}

/* The program's own locale says nothing about what stands in an archive. */
static locale_t enter(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	pthread_once(&once, make_locale);
	return utf8_locale ? uselocale(utf8_locale) : (locale_t)0;
}

static void leave(locale_t old)
{
	if (old)
		uselocale(old);
}

/* ---- bytes for libarchive ---- */

static ssize_t read_feed(struct archive *a, struct reader *r, const void **ret)
{
	ssize_t n = r->feed->read(r->feed->ctx, r->block.data, MOST_READ, &r->fed);
	*ret = r->block.data;
	if (n >= 0)
		return n;
	r->fed_rc = (int)n;
	archive_set_error(a, ECANCELED, "%s", r->fed.text);
	return -1;
}

static ssize_t read_block(struct archive *a, void *ctx, const void **ret)
{
	struct reader *r = ctx;
	ssize_t n;
	if (!td_buf_fit(&r->block, MOST_READ)) {
		archive_set_error(a, ENOMEM, "out of memory");
		return -1;
	}
	if (r->feed)
		return read_feed(a, r, ret);
	do
		n = pread(r->fd, r->block.data, r->chunk, (off_t)r->at);
	while (n < 0 && errno == EINTR);
	if (n < 0) {
		archive_set_error(a, errno, "%s", strerror(errno));
		return -1;
	}
	r->at += (uint64_t)n;
	r->chunk = TD_MIN(r->chunk * 4, MOST_READ);
	*ret = r->block.data;
	return n;
}

static int64_t skip_bytes(struct archive *a, void *ctx, int64_t n)
{
	(void)a;
	struct reader *r = ctx;
	if (n <= 0 || r->at >= r->size)
		return 0;
	n = (int64_t)TD_MIN((uint64_t)n, r->size - r->at);
	r->at += (uint64_t)n;
	r->chunk = LEAST_READ;
	return n;
}

static int64_t seek_to(struct archive *a, void *ctx, int64_t offset, int whence)
{
	struct reader *r = ctx;
	int64_t base = whence == SEEK_SET ? 0 : whence == SEEK_CUR ? (int64_t)r->at : (int64_t)r->size;
	int64_t to;
	if (td_add_overflow(base, offset, &to) || to < 0) {
		archive_set_error(a, EINVAL, "an offset outside the file");
		return ARCHIVE_FATAL;
	}
	r->at = (uint64_t)to;
	r->chunk = LEAST_READ;
	return to;
}

/* ---- errors ---- */

static const struct {
	const char *theirs, *ours;
} methods[] = {
	{ "9: ", "Deflate64" },
	{ "8: ", "Deflate" },
	{ "12: ", "BZip2" },
	{ "14: ", "LZMA" },
	{ "93: ", "Zstandard" },
	{ "95: ", "XZ" },
	{ "98: ", "PPMd" },
};

/* "Unsupported ZIP compression method (9: deflate-64)" */
static const char *method_name(const char *text)
{
	const char *open = strstr(text, "compression method") ? strchr(text, '(') : NULL;
	for (unsigned i = 0; open && i < TD_COUNT(methods); i++)
		if (strncmp(open + 1, methods[i].theirs, strlen(methods[i].theirs)) == 0)
			return methods[i].ours;
	return NULL;
}

static int fail(const struct reader *r, struct tundish_error *e)
{
	const char *text = archive_error_string(r->a);
	int number = archive_errno(r->a);
	if (!text)
		return td_err(e, TUNDISH_E_CORRUPT, "damaged archive");
	if (number == ENOMEM)
		return td_err_memory(e);
	if (r->fed_rc < 0)
		return td_err(e, r->fed_rc, "%s", r->fed.text);
	if (number == EIO || number == EISDIR || number == EBADF)
		return td_err(e, TUNDISH_E_IO, "%s", text);
	if (method_name(text))
		return td_err(e, TUNDISH_E_UNSUPPORTED, "%s is not supported", method_name(text));
	if (strcasestr(text, "unsupported") || strcasestr(text, "not supported"))
		return td_err(e, TUNDISH_E_UNSUPPORTED, "%s", text);
	return td_err(e, strcasestr(text, "trunc") ? TUNDISH_E_TRUNCATED : TUNDISH_E_CORRUPT, "%s", text);
}

/* ---- opening ---- */

static void close_reader(void *archive)
{
	struct reader *r = archive;
	locale_t old = enter();
	archive_read_free(r->a);
	leave(old);
	td_buf_free(&r->block);
	td_buf_free(&r->name);
	td_buf_free(&r->target);
	free(r);
}

/* Only what libarchive does itself: it would start other programs for the rest. What is
 * gzip was unpacked before. */
static void choose(struct reader *r)
{
	struct archive *a = r->a;
	archive_read_support_format_tar(a);
	archive_read_set_format_option(a, "tar", "read_concatenated_archives", "1");
	if (r->how == TD_ARCHIVE_LIST)
		archive_read_support_format_zip_seekable(a);
	else
		archive_read_support_format_zip_streamable(a);
	if (r->how != TD_ARCHIVE_PIPE)
		return;
	archive_read_support_filter_bzip2(a);
	archive_read_support_filter_compress(a);
	archive_read_support_filter_lz4(a);
	archive_read_support_filter_lzip(a);
	archive_read_support_filter_lzma(a);
	archive_read_support_filter_xz(a);
	archive_read_support_filter_zstd(a);
}

static int start(struct reader *r, struct tundish_error *e)
{
	struct stat st;
	r->a = archive_read_new();
	if (!r->a)
		return td_err_memory(e);
	if (!r->feed && fstat(r->fd, &st) == 0)
		r->size = (uint64_t)st.st_size;
	choose(r);
	archive_read_set_read_callback(r->a, read_block);
	archive_read_set_callback_data(r->a, r);
	if (!r->feed) {
		archive_read_set_skip_callback(r->a, skip_bytes);
		archive_read_set_seek_callback(r->a, seek_to);
	}
	return archive_read_open1(r->a) == ARCHIVE_OK ? 0 : fail(r, e);
}

static int open_reader(void **ret, int fd, uint64_t at, enum td_archive_how how,
    const struct td_archive_feed *feed, struct tundish_error *e)
{
	struct reader *r = calloc(1, sizeof *r);
	if (!r)
		return td_err_memory(e);
	r->fd = fd;
	r->how = how;
	r->feed = feed;
	r->at = at;
	r->chunk = how == TD_ARCHIVE_MEMBER ? 8 * LEAST_READ : LEAST_READ;
	locale_t old = enter();
	int rc = start(r, e);
	leave(old);
	if (rc < 0)
		close_reader(r);
	else
		*ret = r;
	return rc;
}

/* ---- names ---- */

/* The upper half of code page 437, in which zip has names that are marked as nothing else. */
static const uint16_t cp437[128] = {
	0xc7, 0xfc, 0xe9, 0xe2, 0xe4, 0xe0, 0xe5, 0xe7, 0xea, 0xeb, 0xe8, 0xef, 0xee, 0xec, 0xc4, 0xc5,
	0xc9, 0xe6, 0xc6, 0xf4, 0xf6, 0xf2, 0xfb, 0xf9, 0xff, 0xd6, 0xdc, 0xa2, 0xa3, 0xa5, 0x20a7, 0x192,
	0xe1, 0xed, 0xf3, 0xfa, 0xf1, 0xd1, 0xaa, 0xba, 0xbf, 0x2310, 0xac, 0xbd, 0xbc, 0xa1, 0xab, 0xbb,
	0x2591, 0x2592, 0x2593, 0x2502, 0x2524, 0x2561, 0x2562, 0x2556,
	0x2555, 0x2563, 0x2551, 0x2557, 0x255d, 0x255c, 0x255b, 0x2510,
	0x2514, 0x2534, 0x252c, 0x251c, 0x2500, 0x253c, 0x255e, 0x255f,
	0x255a, 0x2554, 0x2569, 0x2566, 0x2560, 0x2550, 0x256c, 0x2567,
	0x2568, 0x2564, 0x2565, 0x2559, 0x2558, 0x2552, 0x2553, 0x256b,
	0x256a, 0x2518, 0x250c, 0x2588, 0x2584, 0x258c, 0x2590, 0x2580,
	0x3b1, 0xdf, 0x393, 0x3c0, 0x3a3, 0x3c3, 0xb5, 0x3c4, 0x3a6, 0x398, 0x3a9, 0x3b4, 0x221e, 0x3c6, 0x3b5, 0x2229,
	0x2261, 0xb1, 0x2265, 0x2264, 0x2320, 0x2321, 0xf7, 0x2248, 0xb0, 0x2219, 0xb7, 0x221a, 0x207f, 0xb2, 0x25a0, 0xa0,
};

static bool add_character(struct td_buf *out, unsigned c)
{
	const uint8_t bytes[3] = { (uint8_t)(0xe0 | c >> 12), (uint8_t)(0x80 | (c >> 6 & 0x3f)),
		(uint8_t)(0x80 | (c & 0x3f)) };
	const uint8_t two[2] = { (uint8_t)(0xc0 | c >> 6), bytes[2] };
	if (c < 0x80)
		return td_buf_add(out, &(uint8_t){ (uint8_t)c }, 1);
	return c < 0x800 ? td_buf_add(out, two, 2) : td_buf_add(out, bytes, 3);
}

/* Copies a name. Of zip, what is no UTF-8 is taken for code page 437. */
static bool copy_name(const struct reader *r, struct td_buf *out, const char *name)
{
	size_t len = strlen(name);
	bool ok = true;
	out->len = 0;
	if (!r->zip || td_utf8_valid(name, len))
		return td_buf_add(out, name, len + 1);
	for (size_t i = 0; ok && i < len; i++) {
		uint8_t c = (uint8_t)name[i];
		ok = add_character(out, c < 0x80 ? c : cp437[c - 0x80]);
	}
	return ok && td_buf_add(out, "", 1);
}

/* ---- members ---- */

#define LOCAL_HEADER 30 /* bytes of a zip's before its name */

/* Where the header of a zip's member begins, whose bytes begin at `data`: libarchive does
 * not tell, so its mark is looked for, with lengths that lead to there. */
static bool find_header(const struct reader *r, uint64_t data, uint64_t *ret)
{
	struct td_buf near = { 0 };
	bool found = false;
	for (size_t reach = 1024; !found; reach *= 16) {
		size_t n = (size_t)TD_MIN((uint64_t)reach, data);
		if (!td_buf_fit(&near, n) || td_read_at(r->fd, near.data, n, data - n, NULL) != (int64_t)n)
			break;
		for (size_t i = LOCAL_HEADER; !found && i <= n; i++) {
			const uint8_t *p = near.data + n - i;
			found = memcmp(p, "PK\3\4", 4) == 0 &&
			    LOCAL_HEADER + (size_t)td_le16(p + 26) + td_le16(p + 28) == i;
			*ret = data - i;
		}
		if (n < reach || reach > 1 << 17)
			break;
	}
	td_buf_free(&near);
	return found;
}

static enum td_entry_what what_of(struct archive_entry *entry)
{
	if (archive_entry_hardlink(entry) && archive_entry_size(entry) == 0)
		return TD_ENTRY_HARD;
	switch (archive_entry_filetype(entry)) {
	case AE_IFREG:
		return TD_ENTRY_FILE;
	case AE_IFLNK:
		return TD_ENTRY_LINK;
	case 0:
		return archive_entry_hardlink(entry) ? TD_ENTRY_FILE : TD_ENTRY_OTHER;
	default:
		return TD_ENTRY_OTHER;
	}
}

static int describe(struct reader *r, struct archive_entry *entry, struct td_entry *ret, struct tundish_error *e)
{
	const char *name = archive_entry_pathname(entry), *target = archive_entry_hardlink(entry);
	int64_t bytes = archive_entry_size_is_set(entry) ? archive_entry_size(entry) : 0;
	if (!copy_name(r, &r->name, name ? name : "") || !copy_name(r, &r->target, target ? target : ""))
		return td_err_memory(e);
	if (bytes < 0)
		return td_err(e, TUNDISH_E_CORRUPT, "a member of less than nothing");
	*ret = (struct td_entry){
		.name = (const char *)r->name.data,
		.target = (const char *)r->target.data,
		.what = what_of(entry),
		.bytes = (uint64_t)bytes,
		.at = (uint64_t)archive_read_header_position(r->a),
		.data = (uint64_t)archive_filter_bytes(r->a, 0),
		.plain = !r->zip && archive_entry_sparse_count(entry) == 0,
		.locked = archive_entry_is_data_encrypted(entry) ? "it is encrypted" : NULL,
	};
	if (r->zip && r->how == TD_ARCHIVE_LIST && !find_header(r, ret->data, &ret->at))
		ret->locked = "its header is not where the directory says";
	r->end = ret->plain ? ret->data + (ret->bytes + BLOCK - 1) / BLOCK * BLOCK : 0;
	return 1;
}

static int next(struct reader *r, struct td_entry *ret, struct tundish_error *e)
{
	struct archive_entry *entry;
	int status = archive_read_next_header(r->a, &entry);
	if (status == ARCHIVE_EOF) {
		r->marked = r->end == 0 || (uint64_t)archive_filter_bytes(r->a, 0) > r->end;
		return 0;
	}
	if (status != ARCHIVE_OK && status != ARCHIVE_WARN)
		return fail(r, e);
	r->zip = (archive_format(r->a) & ARCHIVE_FORMAT_BASE_MASK) == ARCHIVE_FORMAT_ZIP;
	return describe(r, entry, ret, e);
}

static int next_entry(void *archive, struct td_entry *ret, struct tundish_error *e)
{
	locale_t old = enter();
	int rc = next(archive, ret, e);
	leave(old);
	return rc;
}

static int read_entry(void *archive, struct td_buf *out, uint64_t max_bytes, bool part, struct tundish_error *e)
{
	struct reader *r = archive;
	uint64_t done = 0;
	for (;;) {
		size_t room = (size_t)TD_MIN(MOST_READ, max_bytes - done + !part);
		if (room == 0)
			return 0;
		if (!td_buf_reserve(out, room))
			return td_err_memory(e);
		ssize_t n = archive_read_data(r->a, out->data + out->len, room);
		if (n < 0)
			return fail(r, e);
		if (n == 0)
			return 0;
		done += (uint64_t)n;
		if (done > max_bytes)
			return td_err(e, TUNDISH_E_LIMIT, "more than %llu bytes", (unsigned long long)max_bytes);
		out->len += (size_t)n;
	}
}

static bool ended(const void *archive)
{
	return ((const struct reader *)archive)->marked;
}

/* ---- kinds ---- */

static enum td_archive_kind kind(int fd)
{
	struct reader r = { .fd = fd, .how = TD_ARCHIVE_LIST, .chunk = LEAST_READ };
	struct archive_entry *entry;
	int format = 0;
	locale_t old = enter();
	if (start(&r, NULL) == 0) {
		int status = archive_read_next_header(r.a, &entry);
		if (status == ARCHIVE_OK || status == ARCHIVE_WARN || status == ARCHIVE_EOF)
			format = archive_format(r.a) & ARCHIVE_FORMAT_BASE_MASK;
	}
	archive_read_free(r.a);
	leave(old);
	td_buf_free(&r.block);
	return format == ARCHIVE_FORMAT_TAR ? TD_ARCHIVE_TAR : format == ARCHIVE_FORMAT_ZIP ? TD_ARCHIVE_ZIP :
	    TD_ARCHIVE_NONE;
}

static const struct td_archiver archiver = {
	.kind = kind,
	.open = open_reader,
	.next = next_entry,
	.read = read_entry,
	.ended = ended,
	.close = close_reader,
};

__attribute__((visibility("default"))) const struct td_module tundish_module = {
	.magic = TD_MODULE_MAGIC,
	.abi = TD_MODULE_ABI,
	.kind = "archive",
	.name = "archive",
	.vtable = &archiver,
};
