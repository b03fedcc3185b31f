/* SPDX-License-Identifier: BSD-2-Clause
 * A cache in a file, which outlives the run. */
#include "shelf.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/crc32c.h"
#include "base/err.h"
#include "base/infile.h"
#include "base/path.h"

#define ALIGN ((uint64_t)64)
#define MAGIC 0x74646365u

/* In the byte order of the machine, which the file's head tells. */
struct file_head {
	char what[24];
	uint32_t order, entry_bytes;
	char content[64];
	uint8_t spare[32];
};

struct entry_head {
	uint32_t magic, crc; /* over all of the head behind it */
	uint64_t record;
	uint32_t data_crc, spare[3];
	struct td_cached what;
};
_Static_assert(sizeof(struct entry_head) % 16 == 0 && sizeof(struct file_head) % ALIGN == 0,
    "data stand aligned in memory");

struct spot {
	_Atomic uint64_t offset; /* 0: none */
	_Atomic uint64_t bytes;	 /* of data */
};

struct td_shelf {
	char *path;
	int fd;
	bool writes;
	struct spot *spots;
	uint64_t n;
	_Atomic uint64_t end, limit; /* behind the last entry; no further */
	_Atomic uint64_t damaged, refused;
	_Atomic int error; /* the first that writing met */
};

static uint64_t whole(uint64_t data_bytes)
{
	return (sizeof(struct entry_head) + data_bytes + ALIGN - 1) / ALIGN * ALIGN;
}

static uint32_t head_crc(const struct entry_head *h)
{
	return td_crc32c(0, &h->record, sizeof *h - offsetof(struct entry_head, record));
}

/* ---- opening ---- */

static struct file_head expected_head(const struct td_shelf_key *key)
{
	char content[65];
	struct file_head h = { .what = "tundish cache 1\n", .order = 0x01020304,
		.entry_bytes = sizeof(struct entry_head) };
	td_sha256_hex(&key->content, content);
	memcpy(h.content, content, sizeof h.content);
	return h;
}

static int open_file(struct td_shelf *s, const char *folder, const struct td_shelf_key *key,
    struct tundish_error *e)
{
	char name[65], file[80];
	td_sha256_hex(&key->name, name);
	snprintf(file, sizeof file, "%.32s.tundish-cache", name);
	s->path = td_path_join(folder, file);
	if (!s->path)
		return td_err_memory(e);
	if (mkdir(folder, 0777) < 0 && errno != EEXIST)
		return td_err_errno(e, errno, "%s", TD_ESC(folder));
	s->fd = open(s->path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
	s->writes = s->fd >= 0;
	int refused = errno;
	if (s->fd < 0 && (refused == EACCES || refused == EROFS))
		s->fd = open(s->path, O_RDONLY | O_CLOEXEC);
	/* that there is no file yet is not what is wrong */
	return s->fd < 0 ? td_err_errno(e, refused, "%s", TD_ESC(s->path)) : 0;
}

/* From the start, with the right head. A disk that has no room even for that gives a cache
 * that keeps nothing. */
static void begin(struct td_shelf *s, const struct file_head *head)
{
	s->end = sizeof *head;
	if (ftruncate(s->fd, 0) == 0 && pwrite(s->fd, head, sizeof *head, 0) == sizeof *head)
		return;
	s->error = errno ? errno : ENOSPC;
	s->writes = false;
}

/* Takes entries up to the first that is not whole. */
static void scan(struct td_shelf *s, uint64_t size)
{
	uint64_t at = sizeof(struct file_head);
	struct entry_head h;
	while (at + sizeof h <= size && pread(s->fd, &h, sizeof h, (off_t)at) == sizeof h) {
		uint64_t data = h.what.bytes;
		if (h.magic != MAGIC || h.crc != head_crc(&h) || h.record >= s->n ||
		    data > size - at - sizeof h)
			break;
		s->spots[h.record].bytes = data;
		s->spots[h.record].offset = at;
		at += whole(data);
	}
	s->end = at;
}

static int load(struct td_shelf *s, const struct td_shelf_key *key, const struct tundish_listener *l,
    struct tundish_error *e)
{
	const struct file_head want = expected_head(key);
	struct file_head have = { 0 };
	struct stat st;
	if (s->writes && flock(s->fd, LOCK_EX | LOCK_NB) < 0) {
		td_notice(l, "cache %s: another process is writing it; what it adds is not seen here",
		    TD_ESC(s->path));
		s->writes = false;
	}
	/* what others wrote before they let go of the lock counts as well */
	if (fstat(s->fd, &st) < 0)
		return td_err_errno(e, errno, "%s", TD_ESC(s->path));
	bool right = pread(s->fd, &have, sizeof have, 0) == sizeof have &&
	    memcmp(&have, &want, sizeof want) == 0;
	if (right)
		scan(s, (uint64_t)st.st_size);
	else if (st.st_size > 0)
		td_notice(l, "cache %s: stale or damaged, %s", TD_ESC(s->path),
		    s->writes ? "made anew" : "not used");
	if (right && s->end < (uint64_t)st.st_size && s->writes)
		td_notice(l, "cache %s: the end is damaged and left out, from byte %" PRIu64,
		    TD_ESC(s->path), s->end);
	if (!right && s->writes)
		begin(s, &want);
	else if (right && s->writes && ftruncate(s->fd, (off_t)s->end) < 0)
		s->writes = false;
	return 0;
}

/* A twentieth of the disk stays free. */
static void set_limit(struct td_shelf *s)
{
	struct statvfs v;
	uint64_t room = UINT64_MAX / 2;
	if (fstatvfs(s->fd, &v) == 0) {
		uint64_t unit = v.f_frsize, spare = v.f_blocks / 20;
		room = v.f_bavail > spare ? (v.f_bavail - spare) * unit : 0;
	}
	s->limit = s->end + room;
}

int td_shelf_open(struct td_shelf **ret, const char *folder, const struct td_shelf_key *key,
    uint64_t n, const struct tundish_listener *l, struct tundish_error *e)
{
	struct td_shelf *s = calloc(1, sizeof *s);
	if (!s)
		return td_err_memory(e);
	s->fd = -1;
	s->n = n;
	s->spots = calloc(n, sizeof *s->spots);
	int rc = s->spots ? open_file(s, folder, key, e) : td_err_memory(e);
	if (rc == 0)
		rc = load(s, key, l, e);
	if (rc < 0) {
		td_shelf_close(s, NULL);
		return rc;
	}
	set_limit(s);
	*ret = s;
	return 0;
}

/* ---- entries ---- */

uint64_t td_shelf_bytes(const struct td_shelf *s, uint64_t record)
{
	const struct spot *spot = &s->spots[record];
	return atomic_load_explicit(&spot->offset, memory_order_acquire) ? whole(spot->bytes) : 0;
}

/* A picture whose bytes are those of its shape. */
static bool is_picture(const struct td_cached *c)
{
	size_t bytes = c->width;
	return c->elem <= TD_COMPLEX128 && !td_mul_overflow(bytes, c->height, &bytes) &&
	    !td_mul_overflow(bytes, c->channels, &bytes) &&
	    !td_mul_overflow(bytes, td_elem_bytes(c->elem), &bytes) && bytes > 0 && bytes == c->bytes;
}

const struct td_cached *td_shelf_read(struct td_shelf *s, uint64_t record, bool pictures, void *out)
{
	struct spot *spot = &s->spots[record];
	uint64_t offset = atomic_load_explicit(&spot->offset, memory_order_acquire);
	uint64_t bytes = sizeof(struct entry_head) + spot->bytes;
	struct entry_head *h = out;
	struct tundish_error e;
	if (offset == 0)
		return NULL;
	int64_t got = td_read_at(s->fd, out, bytes, offset, &e);
	if (got == (int64_t)bytes && h->magic == MAGIC && h->crc == head_crc(h) && h->record == record &&
	    h->what.bytes == spot->bytes && h->data_crc == td_crc32c(0, h->what.data, h->what.bytes) &&
	    (!pictures || is_picture(&h->what)))
		return &h->what;
	if (atomic_exchange(&spot->offset, 0) != 0)
		s->damaged++;
	return NULL;
}

bool td_shelf_takes(const struct td_shelf *s)
{
	return s->writes && !s->error && s->end < s->limit;
}

static bool write_all(struct td_shelf *s, const struct entry_head *h, const struct td_cached *entry,
    uint64_t offset)
{
	static const uint8_t zeros[64];
	uint64_t bytes = sizeof *h + entry->bytes, done = 0;
	while (done < whole(entry->bytes)) {
		struct iovec pieces[3];
		int n = 0;
		if (done < sizeof *h)
			pieces[n++] = (struct iovec){ (char *)h + done, sizeof *h - done };
		uint64_t in = done > sizeof *h ? done - sizeof *h : 0;
		if (in < entry->bytes)
			pieces[n++] = (struct iovec){ (uint8_t *)entry->data + in, entry->bytes - in };
		uint64_t padded = done > bytes ? done - bytes : 0;
		pieces[n++] = (struct iovec){ (uint8_t *)zeros, whole(entry->bytes) - bytes - padded };
		ssize_t got = pwritev(s->fd, pieces, n, (off_t)(offset + done));
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0) {
			s->error = errno ? errno : ENOSPC;
			return false;
		}
		done += (uint64_t)got;
	}
	return true;
}

void td_shelf_add(struct td_shelf *s, uint64_t record, const struct td_cached *entry)
{
	struct spot *spot = &s->spots[record];
	uint64_t need = whole(entry->bytes);
	if (!td_shelf_takes(s) || atomic_load(&spot->offset) != 0)
		return;
	uint64_t offset = atomic_fetch_add(&s->end, need);
	if (offset + need > s->limit) {
		/* who comes later is refused as well: no hole is left before an entry */
		s->refused++;
		return;
	}
	struct entry_head h = { .magic = MAGIC, .record = record, .what = *entry,
		.data_crc = td_crc32c(0, entry->data, entry->bytes) };
	h.crc = head_crc(&h);
	if (!write_all(s, &h, entry, offset))
		return;
	spot->bytes = entry->bytes;
	atomic_store_explicit(&spot->offset, offset, memory_order_release);
}

void td_shelf_close(struct td_shelf *s, const struct tundish_listener *l)
{
	if (!s)
		return;
	if (s->damaged)
		td_notice(l, "cache %s: %" PRIu64 " entries were damaged; they were read again from their "
		    "files", TD_ESC(s->path), s->damaged);
	if (s->error)
		td_notice(l, "cache %s: %s; it went on without more of it", TD_ESC(s->path),
		    strerror(s->error));
	else if (s->refused)
		td_notice(l, "cache %s: no room for more on this disk; it went on without",
		    TD_ESC(s->path));
	if (s->fd >= 0)
		close(s->fd);
	free(s->spots);
	free(s->path);
	free(s);
}
