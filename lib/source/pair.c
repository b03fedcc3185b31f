/* SPDX-License-Identifier: BSD-2-Clause
 * ENVI headers in archives and the members that hold their numbers. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "archive.h"
#include "base/err.h"
#include "base/infile.h"
#include "base/map.h"
#include "base/path.h"
#include "media/raster.h"
#include "member.h"


struct pairing {
	struct td_listing *l;
	struct td_map named; /* what a header of theirs is called, in small letters -> first place + 1 */
	uint32_t *next;	     /* another of that name + 1; two places an item */
	struct td_buf key, text;
	struct tundish_error *e;
};

/* An archive and a name there. */
static bool make_key(struct pairing *p, uint32_t root, const char *name, size_t len)
{
	p->key.len = 0;
	if (!td_buf_add(&p->key, &root, sizeof root) || !td_buf_add(&p->key, name, len))
		return false;
	for (size_t i = sizeof root; i < p->key.len; i++)
		if (p->key.data[i] >= 'A' && p->key.data[i] <= 'Z')
			p->key.data[i] = (uint8_t)(p->key.data[i] - 'A' + 'a');
	return true;
}

static int add_name(struct pairing *p, size_t place, size_t len)
{
	const struct td_item *item = &p->l->items[place / 2];
	uint32_t *first = make_key(p, item->root, td_item_name(p->l, item), len) ?
	    td_map_at(&p->named, p->key.data, p->key.len) : NULL;
	if (!first)
		return td_err_memory(p->e);
	p->next[place] = *first;
	*first = (uint32_t)place + 1;
	return 0;
}

/* Members that may be numbers: cube.img is that of cube.hdr, or of cube.img.hdr. */
static int index_names(struct pairing *p)
{
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < p->l->n; i++) {
		const struct td_item *item = &p->l->items[i];
		const char *name = td_item_name(p->l, item);
		size_t len = strlen(name), suffix = strlen(td_path_suffix(name));
		if (!item->member || !(item->flags & TD_ITEM_PROBE) || !td_raster_data_named(name))
			continue;
		rc = add_name(p, 2 * i, len);
		if (rc == 0 && suffix)
			rc = add_name(p, 2 * i + 1, len - suffix);
	}
	return rc;
}

/* What the numbers take by the header, 0 where it cannot be told. */
static uint64_t wanted_bytes(struct pairing *p, const struct td_item *item)
{
	const struct td_archived *m = &p->l->members[item->member - 1];
	uint64_t bytes = 0;
	int fd = td_open_file(p->l->roots[item->root].folder, NULL, NULL);
	if (fd < 0)
		return 0;
	if (td_member_read(&p->text, fd, m, TD_COMPANION_MAX, NULL) == 0)
		bytes = td_raster_data_bytes(p->text.data, p->text.len);
	close(fd);
	return bytes;
}

static int pair(struct pairing *p, const struct td_item *header)
{
	const char *name = td_item_name(p->l, header);
	uint64_t want = wanted_bytes(p, header);
	unsigned best = 0;
	struct td_item *found = NULL;
	if (!make_key(p, header->root, name, strlen(name) - strlen(td_path_suffix(name))))
		return td_err_memory(p->e);
	const uint32_t *first = td_map_find(&p->named, p->key.data, p->key.len);
	for (uint32_t at = first ? *first : 0; at; at = p->next[at - 1]) {
		struct td_item *item = &p->l->items[(at - 1) / 2];
		unsigned rank = td_raster_is_data(name, td_item_name(p->l, item));
		if (rank && want && p->l->members[item->member - 1].bytes == want)
			rank += 1000;
		if (rank > best)
			found = item;
		best = TD_MAX(best, rank);
	}
	if (found) {
		p->l->members[header->member - 1].data = found->member;
		found->flags |= TD_ITEM_TAKEN;
	}
	return 0;
}

int td_members_pair(struct td_listing *l, struct tundish_error *e)
{
	struct pairing p = { .l = l, .named.value_bytes = sizeof(uint32_t), .e = e };
	size_t headers = 0, n = 0;
	for (size_t i = 0; i < l->n; i++)
		headers += (l->items[i].flags & TD_ITEM_HEADER) != 0;
	if (headers == 0 || l->n >= UINT32_MAX / 2)
		return 0;
	p.next = calloc(l->n, 2 * sizeof *p.next);
	int rc = p.next ? index_names(&p) : td_err_memory(e);
	for (size_t i = 0; rc == 0 && i < l->n; i++)
		if (l->items[i].flags & TD_ITEM_HEADER)
			rc = pair(&p, &l->items[i]);
	for (size_t i = 0; rc == 0 && i < l->n; i++)
		if (!(l->items[i].flags & TD_ITEM_TAKEN))
			l->items[n++] = l->items[i];
	if (rc == 0)
		l->n = n;
	td_map_free(&p.named);
	td_buf_free(&p.key);
	td_buf_free(&p.text);
	free(p.next);
	return rc;
}
