/* SPDX-License-Identifier: BSD-2-Clause
 * Reading anywhere in files of our own gzip members. */
#include "packed.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/infile.h"
#include "inflate.h"
#include "members.h"

#define MOST_MEMBERS 256 /* that stay inflated */
#define SLACK 64

struct member {
	struct member *next;
	size_t file, i;
	struct td_buf data;
	uint64_t bytes; /* in the ledger */
	unsigned held;
	bool loading;
	struct tundish_error error; /* of loading it */
};

struct td_packed {
	struct td_pack_map *maps;
	size_t n;
	uint64_t keep;
	struct td_ledger *ledger;
	pthread_mutex_t lock;
	pthread_cond_t loaded;
	struct td_wait_stats waits;
	struct member *first; /* that was used last */
	unsigned n_members;
	uint64_t bytes;
};

int td_packed_new(struct td_packed **ret, size_t n, uint64_t keep, struct tundish_error *e)
{
	struct td_packed *p = calloc(1, sizeof *p);
	struct td_pack_map *maps = calloc(n, sizeof *maps);
	if (!p || !maps) {
		free(p);
		free(maps);
		return td_err_memory(e);
	}
	*p = (struct td_packed){ .maps = maps, .n = n, .keep = keep };
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->loaded, NULL);
	*ret = p;
	return 0;
}

void td_packed_account(struct td_packed *p, struct td_ledger *ledger)
{
	p->ledger = ledger;
	td_ledger_take(ledger, p->bytes);
}

void td_packed_set(struct td_packed *p, size_t file, const struct td_pack_map *map)
{
	p->maps[file] = *map;
}

bool td_packed_has(const struct td_packed *p, size_t file)
{
	return p && p->maps[file].bytes > 0;
}

void td_packed_move(struct td_packed *p, size_t to, size_t from)
{
	if (to == from)
		return;
	free(p->maps[to].marks);
	p->maps[to] = p->maps[from];
	p->maps[from] = (struct td_pack_map){ 0 };
}

bool td_packed_any(const struct td_packed *p)
{
	bool any = false;
	for (size_t i = 0; p && i < p->n && !any; i++)
		any = td_packed_has(p, i);
	return any;
}

/* ---- where members lie ---- */

/* The bytes of a member in the file, and of what it inflates to. */
static uint64_t raw_bytes(const struct td_pack_map *map, size_t i)
{
	return (i + 1 < map->n ? map->marks[i + 1].raw : map->raw) - map->marks[i].raw;
}

static uint64_t inflated_bytes(const struct td_pack_map *map, size_t i)
{
	return (i + 1 < map->n ? map->marks[i + 1].offset : map->bytes) - map->marks[i].offset;
}

static size_t member_of(const struct td_pack_map *map, uint64_t offset)
{
	size_t low = 0, high = map->n;
	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;
		if (map->marks[middle].offset <= offset)
			low = middle;
		else
			high = middle;
	}
	return low;
}

/* ---- inflating ---- */

/* One member or several, and nothing else. */
static bool inflate_all(struct inflate_state *s, const struct td_buf *in, struct td_buf *out, size_t told)
{
	for (size_t at = 0; at < in->len && out->len <= told;) {
		size_t made = 0, n = td_inflate_member(s, in->data + at, in->len - at, out->data + out->len,
		    told + SLACK - out->len, &made);
		if (n == 0)
			return false;
		out->len += made;
		at += n;
	}
	return out->len == told;
}

static int load(const struct td_pack_map *map, struct member *m, int fd, struct tundish_error *e)
{
	size_t raw = (size_t)raw_bytes(map, m->i), told = (size_t)inflated_bytes(map, m->i);
	struct td_buf in = { 0 };
	struct inflate_state *s = malloc(sizeof *s);
	int rc = s && td_buf_fit(&in, raw) && td_buf_fit(&m->data, told + SLACK) ? 0 : td_err_memory(e);
	if (rc == 0) {
		int64_t got = td_read_at(fd, in.data, raw, map->marks[m->i].raw, e);
		in.len = got > 0 ? (size_t)got : 0;
		rc = (int)TD_MIN(got, 0);
	}
	if (rc == 0 && (in.len < raw || !inflate_all(s, &in, &m->data, told)))
		rc = td_err(e, TUNDISH_E_CORRUPT, "its gzip member is damaged, or has changed since it was listed");
	td_buf_free(&in);
	free(s);
	return rc;
}

/* ---- those that stay; the lock is held ---- */

static void account(struct td_packed *p, uint64_t more, uint64_t less)
{
	p->bytes += more - less;
	if (p->ledger && more)
		td_ledger_take(p->ledger, more);
	if (p->ledger && less)
		td_ledger_give(p->ledger, less);
}

static void drop(struct td_packed *p, struct member **link)
{
	struct member *m = *link;
	*link = m->next;
	p->n_members--;
	account(p, 0, m->bytes);
	td_buf_free(&m->data);
	free(m);
}

/* Drops what was not used for longest, until there is room or all are held. */
static void make_room(struct td_packed *p, uint64_t bytes)
{
	while (p->n_members >= MOST_MEMBERS || p->bytes + bytes > p->keep) {
		struct member **idle = NULL;
		for (struct member **m = &p->first; *m; m = &(*m)->next)
			idle = (*m)->held ? idle : m;
		if (!idle)
			return;
		drop(p, idle);
	}
}

static struct member *find(struct td_packed *p, size_t file, size_t i)
{
	for (struct member **link = &p->first; *link; link = &(*link)->next) {
		struct member *m = *link;
		if (m->file != file || m->i != i)
			continue;
		*link = m->next;
		m->next = p->first;
		p->first = m;
		return m;
	}
	return NULL;
}

static struct member *add(struct td_packed *p, size_t file, size_t i)
{
	uint64_t bytes = inflated_bytes(&p->maps[file], i) + SLACK;
	struct member *m = calloc(1, sizeof *m);
	if (!m)
		return NULL;
	make_room(p, bytes);
	m->file = file;
	m->i = i;
	m->bytes = bytes;
	m->loading = true;
	m->next = p->first;
	p->first = m;
	p->n_members++;
	account(p, bytes, 0);
	return m;
}

/* Loads it, or waits until another has; held. */
static struct member *get(struct td_packed *p, size_t file, size_t i, int fd)
{
	pthread_mutex_lock(&p->lock);
	struct member *m = find(p, file, i);
	bool found = m;
	if (!m)
		m = add(p, file, i);
	if (m)
		m->held++;
	while (m && found && m->loading)
		td_wait(&p->loaded, &p->lock, &p->waits);
	pthread_mutex_unlock(&p->lock);
	if (!m || found)
		return m;
	struct tundish_error e = { 0 };
	td_stall();
	load(&p->maps[file], m, fd, &e);
	pthread_mutex_lock(&p->lock);
	m->error = e;
	m->loading = false;
	pthread_cond_broadcast(&p->loaded);
	pthread_mutex_unlock(&p->lock);
	return m;
}

static void put(struct td_packed *p, struct member *m)
{
	pthread_mutex_lock(&p->lock);
	m->held--;
	make_room(p, 0);
	pthread_mutex_unlock(&p->lock);
}

int td_packed_read(struct td_packed *p, size_t file, int fd, uint64_t offset, uint64_t bytes,
    uint8_t *out, struct tundish_error *e)
{
	const struct td_pack_map *map = &p->maps[file];
	size_t i = member_of(map, offset);
	struct member *m = get(p, file, i, fd);
	if (!m)
		return td_err_memory(e);
	int rc = m->error.code;
	if (rc < 0 && e)
		*e = m->error;
	else if (rc == 0)
		memcpy(out, m->data.data + (offset - map->marks[i].offset), (size_t)bytes);
	put(p, m);
	return rc;
}

void td_packed_free(struct td_packed *p)
{
	if (!p)
		return;
	while (p->first)
		drop(p, &p->first);
	for (size_t i = 0; i < p->n; i++)
		free(p->maps[i].marks);
	free(p->maps);
	pthread_cond_destroy(&p->loaded);
	pthread_mutex_destroy(&p->lock);
	free(p);
}
