/* SPDX-License-Identifier: BSD-2-Clause
 * Reading what a member of an archive holds, by its place. */
#include "member.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/infile.h"
#include "group.h"
#include "picture.h"

static int too_large(uint64_t bytes, uint64_t max_bytes, struct tundish_error *e)
{
	return td_err(e, TUNDISH_E_LIMIT, "%" PRIu64 " bytes, more than %" PRIu64, bytes, max_bytes);
}

/* Where it is packed, or holes are left out: through the module. To be closed. */
static int open_packed(void **ret, int fd, const struct td_archived *m, struct tundish_error *e)
{
	const struct td_archiver *a = td_archiver(e);
	void *archive;
	struct td_entry entry;
	if (!a)
		return TUNDISH_E_MODULE;
	int rc = a->open(&archive, fd, m->at, TD_ARCHIVE_MEMBER, NULL, e);
	if (rc < 0)
		return rc;
	rc = a->next(archive, &entry, e);
	if (rc == 0)
		rc = td_err(e, TUNDISH_E_CORRUPT, "its header is gone");
	if (rc < 0) {
		a->close(archive);
		return rc;
	}
	*ret = archive;
	return 0;
}

static int unpack(struct td_buf *out, int fd, const struct td_archived *m, uint64_t max_bytes, bool part,
    struct tundish_error *e)
{
	void *archive;
	int rc = open_packed(&archive, fd, m, e);
	if (rc < 0)
		return rc;
	const struct td_archiver *a = td_archiver(e);
	rc = a->read(archive, out, max_bytes, part, e);
	a->close(archive);
	return rc;
}

int td_member_read(struct td_buf *out, int fd, const struct td_archived *m, uint64_t max_bytes,
    struct tundish_error *e)
{
	out->len = 0;
	if (m->bytes > max_bytes)
		return too_large(m->bytes, max_bytes, e);
	if (!m->plain)
		return unpack(out, fd, m, max_bytes, false, e);
	if (!td_buf_fit(out, (size_t)m->bytes + 1))
		return td_err_memory(e);
	int64_t n = td_read_at(fd, out->data, (size_t)m->bytes, m->at, e);
	if (n < 0)
		return (int)n;
	if ((uint64_t)n < m->bytes)
		return td_err(e, TUNDISH_E_TRUNCATED, "the archive shrank while it was read");
	out->len = (size_t)n;
	return 0;
}

static int open_archive(const struct td_listing *l, const struct td_item *item, struct tundish_error *e)
{
	return td_open_file(l->roots[item->root].folder, NULL, e);
}

int64_t td_member_head(void *out, size_t bytes, const struct td_listing *l, const struct td_item *item)
{
	const struct td_archived *m = &l->members[item->member - 1];
	struct td_buf some = { 0 };
	int fd = open_archive(l, item, NULL);
	int64_t n = fd;
	if (fd >= 0 && m->plain) {
		n = td_read_at(fd, out, (size_t)TD_MIN(m->bytes, (uint64_t)bytes), m->at, NULL);
	} else if (fd >= 0) {
		n = unpack(&some, fd, m, bytes, true, NULL);
		if (n == 0)
			memcpy(out, some.data, some.len);
		n = n < 0 ? n : (int64_t)some.len;
	}
	if (fd >= 0)
		close(fd);
	td_buf_free(&some);
	return n;
}

/* ---- a file for formats that open one ---- */

#define POUR_BYTES ((size_t)1 << 20)

int td_member_pour(int to, const struct td_archiver *a, void *archive, uint64_t done, uint64_t max_bytes,
    struct tundish_error *e)
{
	struct td_buf piece = { 0 };
	int rc;
	do {
		piece.len = 0;
		rc = a->read(archive, &piece, POUR_BYTES, true, e);
		done += piece.len;
		if (rc == 0 && done > max_bytes)
			rc = td_err(e, TUNDISH_E_LIMIT, "more than %" PRIu64 " bytes", max_bytes);
		if (rc == 0)
			rc = td_spilled_put(to, piece.data, piece.len, e);
	} while (rc == 0 && piece.len > 0);
	td_buf_free(&piece);
	return rc;
}

/* What is packed goes there piece by piece: it need not have room in memory. */
static int unpack_to(int to, int from, const struct td_archived *m, uint64_t max_bytes, struct tundish_error *e)
{
	void *archive;
	int rc = open_packed(&archive, from, m, e);
	if (rc < 0)
		return rc;
	const struct td_archiver *a = td_archiver(e);
	rc = td_member_pour(to, a, archive, 0, max_bytes, e);
	a->close(archive);
	return rc;
}

/* What lies there as it is. */
static int copy_to(int to, int from, const struct td_archived *m, struct tundish_error *e)
{
	struct td_buf piece = { 0 };
	int rc = td_buf_fit(&piece, POUR_BYTES) ? 0 : td_err_memory(e);
	for (uint64_t done = 0; rc == 0 && done < m->bytes;) {
		size_t want = (size_t)TD_MIN(m->bytes - done, (uint64_t)POUR_BYTES);
		int64_t n = td_read_at(from, piece.data, want, m->at + done, e);
		if (n < 0)
			rc = (int)n;
		else if ((size_t)n < want)
			rc = td_err(e, TUNDISH_E_TRUNCATED, "the archive shrank while it was read");
		else
			rc = td_spilled_put(to, piece.data, want, e);
		done += want;
	}
	td_buf_free(&piece);
	return rc;
}

static int fill_spill(int to, int from, const struct td_archived *m, uint64_t max_bytes, struct tundish_error *e)
{
	if (m->bytes > max_bytes)
		return too_large(m->bytes, max_bytes, e);
	return m->plain ? copy_to(to, from, m, e) : unpack_to(to, from, m, max_bytes, e);
}

static int spill_member(struct td_spilled **ret, const struct td_listing *l, const struct td_item *item,
    uint64_t max_bytes, struct tundish_error *e)
{
	const struct td_archived *m = &l->members[item->member - 1];
	struct td_spilled *s;
	int from = open_archive(l, item, e);
	if (from < 0)
		return from;
	int rc = td_spilled_new(&s, e);
	if (rc == 0) {
		rc = fill_spill(s->fd, from, m, max_bytes, e);
		if (rc == 0 && m->data)
			rc = td_spilled_add_data(s, e);
		if (rc == 0 && m->data)
			rc = fill_spill(s->data_fd, from, &l->members[m->data - 1], max_bytes, e);
		if (rc < 0)
			td_spilled_drop(s);
		else
			*ret = s;
	}
	close(from);
	return rc;
}

int td_member_spill(struct td_spill *s, struct td_file *file, const struct td_listing *l,
    const struct td_item *item, uint64_t max_bytes, struct tundish_error *e)
{
	int rc = 0;
	if (s->member != item->member) {
		td_spill_free(s);
		rc = spill_member(&s->file, l, item, max_bytes, e);
		s->member = rc == 0 ? item->member : 0;
	}
	if (rc == 0)
		td_spilled_file(file, s->file);
	return rc;
}

/* ---- items ---- */

/* What stands behind the item's own member. */
static int load_companions(struct td_loaded *out, const struct td_listing *l, int fd, const struct td_archived *m,
    struct tundish_error *e)
{
	int rc = 0;
	while (rc == 0 && m->more) {
		m++;
		rc = td_member_read(&out->scratch, fd, m, m->role == TD_ROLE_BYTES ? UINT32_MAX : TD_COMPANION_MAX, e);
		if (rc == 0)
			rc = td_group_extras(&out->extras, m->role, (const char *)l->names.data + m->name,
			    out->scratch.data, out->scratch.len, e);
	}
	return rc;
}

int td_member_load(struct td_loaded *out, struct td_file file, const struct td_listing *l,
    const struct td_item *item, const struct td_cut *cut, struct tundish_error *e)
{
	const struct td_archived *m = &l->members[item->member - 1];
	int rc = 0;
	if (td_formats[item->format] != &td_format_picture) {
		if (out->spill.member != item->member)
			td_loaded_close(out);
		rc = td_member_spill(&out->spill, &file, l, item, cut->max_bytes, e);
		if (rc == 0)
			rc = td_format_load(out, item->format, &file, item->part, cut, e);
		if (rc < 0 || !m->more)
			return rc;
	}
	int fd = open_archive(l, item, e);
	if (fd < 0)
		return fd;
	if (td_formats[item->format] == &td_format_picture) {
		td_extras_reset(&out->extras);
		out->array = out->encoded = false;
		out->ends.len = out->times.len = 0;
		rc = td_member_read(&out->data, fd, m, cut->max_bytes, e);
		if (rc == 0 && out->data.len == 0)
			rc = td_err(e, TUNDISH_E_CORRUPT, "empty file");
	}
	if (rc == 0)
		rc = load_companions(out, l, fd, m, e);
	close(fd);
	return rc;
}
