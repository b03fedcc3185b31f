/* SPDX-License-Identifier: BSD-2-Clause
 * Archives that can be listed: their members as items, in groups where they are some. */
#include "archive.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/err.h"
#include "base/infile.h"
#include "base/map.h"
#include "base/module.h"
#include "base/path.h"
#include "group.h"
#include "inlet.h"
#include "member.h"
#include "record/foreign.h"
#include "seen.h"

/* ---- the module ---- */

const struct td_archiver *td_archiver(struct tundish_error *e)
{
	static _Atomic(const struct td_archiver *) opened;
	const struct td_archiver *known = atomic_load(&opened);
	const struct td_module *module;
	if (known || td_module_open(&module, "archive", "archive", "tundish-archive", e) < 0)
		return known;
	atomic_store(&opened, module->vtable);
	return module->vtable;
}

static bool has_suffix(const char *path, const char *const *suffixes)
{
	size_t n = strlen(path);
	for (; *suffixes; suffixes++) {
		size_t m = strlen(*suffixes);
		if (n > m && strcasecmp(path + n - m, *suffixes) == 0)
			return true;
	}
	return false;
}

static const char *const plain_suffixes[] = { ".tar", ".zip", ".zipx", NULL };

static bool looks_packed(const uint8_t *head, size_t len)
{
	static const struct {
		const char *mark;
		size_t len;
	} packed[] = {
		{ "\x1f\x8b", 2 }, { "\x1f\x9d", 2 }, { "BZh", 3 }, { "\xfd" "7zXZ", 5 }, { "LZIP", 4 },
		{ "\x28\xb5\x2f\xfd", 4 }, { "\x04\x22\x4d\x18", 4 }, { "\x5d\0\0", 3 },
	};
	for (unsigned i = 0; i < TD_COUNT(packed); i++)
		if (len > packed[i].len && memcmp(head, packed[i].mark, packed[i].len) == 0)
			return true;
	return false;
}

bool td_archive_named(const char *path)
{
	static const char *const packed[] = { ".tar.gz", ".tgz", ".tar.bz2", ".tbz2", ".tar.xz", ".txz", ".tar.zst",
		".tzst", ".tar.lz4", ".tar.lz", ".tar.Z", NULL };
	return has_suffix(path, plain_suffixes) || has_suffix(path, packed);
}

bool td_archive_looks(const char *path, const uint8_t *head, size_t len)
{
	const char *foreign = td_foreign(head, len);
	return has_suffix(path, plain_suffixes) || (foreign && (strstr(foreign, "tar ") || strstr(foreign, "ZIP")));
}

/* An old tar has no mark but its checksum: octal digits and a NUL. */
static bool looks_old(const uint8_t *head, size_t len)
{
	return len >= 512 && head[0] && head[148 + 6] == 0;
}

/* Whether what a file unpacks to begins with a member. */
static bool is_packed(const struct td_archiver *a, const char *path, const struct tundish_listener *l)
{
	struct td_inlet *in;
	struct td_entry entry;
	void *archive;
	bool found = false;
	if (td_inlet_open(&in, path, l, NULL) < 0)
		return false;
	const struct td_archive_feed feed = { td_inlet_read, in };
	if (a->open(&archive, -1, 0, TD_ARCHIVE_PIPE, &feed, NULL) == 0) {
		found = a->next(archive, &entry, NULL) == 1;
		a->close(archive);
	}
	td_inlet_close(in);
	return found;
}

static enum td_archive_kind ask(const struct td_archiver *a, const char *path, int fd, bool packed,
    const struct tundish_listener *l)
{
	enum td_archive_kind kind = packed ? TD_ARCHIVE_NONE : a->kind(fd);
	return packed && is_packed(a, path, l) ? TD_ARCHIVE_STREAM : kind;
}

int td_archive_kind(enum td_archive_kind *ret, const char *path, const struct tundish_listener *l,
    struct tundish_error *e)
{
	uint8_t head[TD_HEAD_BYTES];
	int fd = td_open_file(path, NULL, NULL);
	int64_t n = fd < 0 ? -1 : td_read_at(fd, head, sizeof head, 0, NULL);
	bool known = n <= 0 || td_format_probe(path, head, (size_t)n) >= 0;
	bool packed = !known && looks_packed(head, (size_t)n), plain = !known && !packed &&
	    td_archive_looks(path, head, (size_t)n), old = !known && !packed && !plain && looks_old(head, (size_t)n);
	bool sure = plain || (packed && td_archive_named(path));
	const struct td_archiver *a = plain || packed || old ? td_archiver(sure ? e : NULL) : NULL;
	int rc = sure && !a ? TUNDISH_E_MODULE : 0;
	if (rc == 0)
		*ret = a ? ask(a, path, fd, packed, l) : TD_ARCHIVE_NONE;
	if (fd >= 0)
		close(fd);
	return rc;
}

int td_archive_plain(enum td_archive_kind *ret, const char *path, struct tundish_error *e)
{
	uint8_t head[TD_HEAD_BYTES];
	int fd = td_open_file(path, NULL, NULL);
	int64_t n = fd < 0 ? -1 : td_read_at(fd, head, sizeof head, 0, NULL);
	bool plain = n > 0 && td_archive_looks(path, head, (size_t)n) && !looks_packed(head, (size_t)n);
	const struct td_archiver *a = plain ? td_archiver(e) : NULL;
	int rc = plain && !a ? TUNDISH_E_MODULE : 0;
	if (rc == 0)
		*ret = a ? a->kind(fd) : TD_ARCHIVE_NONE;
	if (fd >= 0)
		close(fd);
	return rc;
}

/* ---- names ---- */

void td_member_tidy(char *name)
{
	size_t skip = strspn(name, "/");
	memmove(name, name + skip, strlen(name + skip) + 1);
	td_path_tidy(name);
}

bool td_member_litter(const char *name)
{
	for (const char *part = name; part; part = strchr(part, '/') ? strchr(part, '/') + 1 : NULL) {
		char word[16];
		size_t n = strcspn(part, "/");
		if (part[0] == '.' && strncmp(part, "../", 3) != 0)
			return true;
		snprintf(word, sizeof word, "%.*s", (int)TD_MIN(n, sizeof word - 1), part);
		if (n < sizeof word && td_is_litter(word))
			return true;
	}
	return false;
}

/* ---- listing ---- */

/* A member that waits for the others of its key. */
struct waiting {
	size_t name; /* where in `names` */
	size_t extension;
	struct td_archived m;
	const char *locked;
	int format;
};

struct hard_link {
	char *name, *target;
};

struct walk {
	const struct td_archive_walk *w;
	const struct td_archiver *a;
	const char *path;
	int fd;
	uint64_t size;
	struct tundish_error *e;
	size_t first; /* item of the listing */
	struct waiting *group;
	size_t n_group, group_cap;
	struct td_buf names; /* of the group */
	struct hard_link *links;
	size_t n_links, links_cap;
	struct td_buf text, scratch;
	struct td_extras extras;
};

static const char *waiting_name(const struct walk *k, const struct waiting *m)
{
	return (const char *)k->names.data + m->name;
}

static int bad_member(struct walk *k, int code, const char *name, uint64_t offset, const char *reason)
{
	char *path = td_path_join(k->path, name);
	if (!path)
		return td_err_memory(k->e);
	struct td_place at = TD_PLACE(path);
	at.offset = (int64_t)offset;
	int rc = td_bad_item(k->w->bad, code, at, name, reason, k->e);
	free(path);
	return rc;
}

static void leave_out(struct walk *k, const char *name)
{
	td_listing_leave_out(k->w->l, name);
}

static bool add_member(struct td_listing *l, const struct td_archived *m)
{
	if (!td_grow(&l->members, &l->members_cap, l->n_members, sizeof *l->members))
		return false;
	l->members[l->n_members++] = *m;
	return true;
}

/* The class that a .cls says. */
static int read_class(struct walk *k, struct td_item *item, const struct waiting *m)
{
	struct tundish_error why = { 0 };
	int rc = td_member_read(&k->text, k->fd, &m->m, TD_COMPANION_MAX, &why);
	if (rc == TUNDISH_E_MEMORY)
		return td_err_memory(k->e);
	if (rc < 0)
		return bad_member(k, rc, waiting_name(k, m), m->m.at, why.text);
	td_group_class(&k->text);
	if (k->text.len == 0)
		return 0;
	item->class = td_classes_label(&k->w->l->classes, (const char *)k->text.data, k->text.len,
	    k->w->o->label_offset);
	item->flags |= TD_ITEM_LABELS;
	if (item->class == -1)
		return td_err(k->e, TUNDISH_E_USAGE, "%s: class \"%.*s\" of %s is not in the class list %s",
		    TD_ESC(k->path), (int)TD_MIN(k->text.len, (size_t)100), (const char *)k->text.data,
		    TD_ESC(waiting_name(k, m)), TD_ESC(k->w->o->class_list));
	return item->class < 0 ? td_err_memory(k->e) : 0;
}

/* What features it will have; what cannot be read is told of when it is to be written, and
 * says nothing about the others. */
static int note_extras(struct walk *k, const struct waiting *m, bool *ret_broken)
{
	int rc = td_member_read(&k->text, k->fd, &m->m, TD_COMPANION_MAX, k->e);
	if (rc == 0)
		rc = td_group_extras(&k->extras, m->m.role, (const char *)k->names.data + m->extension,
		    k->text.data, k->text.len, k->e);
	*ret_broken |= rc < 0;
	return rc == TUNDISH_E_MEMORY ? rc : 0;
}

/* The role of a member beside the picture `item`. */
static enum td_role role_of(const struct walk *k, const struct waiting *m, const struct waiting *item)
{
	enum td_role role = td_group_role((const char *)k->names.data + m->extension);
	if (m == item)
		return TD_ROLE_ITEM;
	return role == TD_ROLE_NONE && m->format >= 0 ? TD_ROLE_BYTES : role;
}

static int add_item(struct walk *k, const struct waiting *m)
{
	const struct td_archive_walk *w = k->w;
	struct td_archived member = m->m;
	if (m->locked)
		return bad_member(k, TUNDISH_E_UNSUPPORTED, waiting_name(k, m), m->m.at, m->locked);
	member.role = TD_ROLE_ITEM;
	const struct td_item item = {
		.bytes = m->m.bytes,
		.class = -1,
		.format = (uint8_t)TD_MAX(m->format, 0),
		.flags = m->format >= 0 ? 0 : w->unknown,
		.member = (uint32_t)w->l->n_members + 1,
	};
	return add_member(w->l, &member) &&
	    td_listing_add(w->l, w->l->n_roots - 1, w->prefix, waiting_name(k, m), &item) ? 0 : td_err_memory(k->e);
}

/* The picture `item` with all that belongs to it. */
static int add_group(struct walk *k, struct waiting *item)
{
	struct td_listing *l = k->w->l;
	struct td_specs specs = { 0 };
	size_t first = l->n, n_bad = k->w->bad->count;
	bool broken = false;
	int rc = add_item(k, item);
	if (rc < 0 || l->n == first)
		return rc;
	td_extras_reset(&k->extras);
	for (size_t i = 0; rc == 0 && i < k->n_group; i++) {
		struct waiting *m = &k->group[i];
		m->m.role = (uint8_t)role_of(k, m, item);
		if (m == item)
			continue;
		if (m->m.role == TD_ROLE_NONE) {
			leave_out(k, waiting_name(k, m));
			continue;
		}
		if (m->m.role == TD_ROLE_CLASS) {
			rc = k->w->o->labels ? 0 : read_class(k, &l->items[first], m);
			continue;
		}
		m->m.name = l->names.len;
		l->members[l->n_members - 1].more = true;
		if (!td_buf_add(&l->names, k->names.data + m->extension, strlen((char *)k->names.data + m->extension) + 1) ||
		    !add_member(l, &m->m))
			return td_err_memory(k->e);
		if (m->m.role != TD_ROLE_BYTES)
			rc = note_extras(k, m, &broken);
		else
			rc = td_group_extras(&k->extras, TD_ROLE_BYTES, (char *)k->names.data + m->extension, "", 0, k->e);
	}
	if (rc == 0 && k->w->bad->count > n_bad)
		l->n = first;
	else if (rc == 0 && !broken && !td_specs_of(&specs, &k->extras))
		rc = td_err_memory(k->e);
	else if (rc == 0 && !broken)
		td_specs_meet(&l->group_specs, &specs);
	l->n_grouped += l->n > first;
	return rc;
}

static int flush_group(struct walk *k)
{
	struct waiting *item = NULL;
	bool marked = false;
	int rc = 0;
	for (size_t i = 0; i < k->n_group; i++) {
		struct waiting *m = &k->group[i];
		const char *extension = (const char *)k->names.data + m->extension;
		enum td_role role = td_group_role(extension);
		if (m->format >= 0 && role == TD_ROLE_NONE &&
		    (!item || td_group_rather(extension, (const char *)k->names.data + item->extension)))
			item = m;
		marked |= role == TD_ROLE_CLASS || role == TD_ROLE_JSON;
	}
	if (item && marked)
		rc = add_group(k, item);
	for (size_t i = 0; rc == 0 && !(item && marked) && i < k->n_group; i++)
		rc = add_item(k, &k->group[i]);
	k->n_group = 0;
	k->names.len = 0;
	return rc;
}

/* Whether the member at hand goes with those that wait. */
static bool same_key(const struct walk *k, const char *name)
{
	const char *first = k->n_group ? waiting_name(k, k->group) : "";
	size_t n = td_group_key(name);
	return k->n_group > 0 && k->n_group < TD_GROUP_MOST && td_group_key(first) == n && memcmp(first, name, n) == 0;
}

static int add_waiting(struct walk *k, const char *name, const struct td_entry *entry)
{
	size_t key = td_group_key(name), at = k->names.len;
	if (!td_grow(&k->group, &k->group_cap, k->n_group, sizeof *k->group) ||
	    !td_buf_add(&k->names, name, strlen(name) + 1))
		return td_err_memory(k->e);
	k->group[k->n_group++] = (struct waiting){
		.name = at,
		.extension = at + key + (name[key] == '.'),
		.m = { .at = entry->plain ? entry->data : entry->at, .bytes = entry->bytes, .plain = entry->plain },
		.locked = entry->locked,
		.format = td_format_named(name),
	};
	return 0;
}

static int pass_over(struct walk *k, const char *name, const char *why)
{
	char *path = td_path_join(k->path, name);
	if (!path)
		return td_err_memory(k->e);
	td_notice(k->w->o->listener, "%s: %s, passed over", TD_ESC(path), why);
	free(path);
	leave_out(k, name);
	return 0;
}

static int note_link(struct walk *k, const char *name, const char *target)
{
	if (!td_grow(&k->links, &k->links_cap, k->n_links, sizeof *k->links))
		return td_err_memory(k->e);
	struct hard_link *link = &k->links[k->n_links++];
	*link = (struct hard_link){ strdup(name), strdup(target) };
	if (!link->name || !link->target)
		return td_err_memory(k->e);
	td_member_tidy(link->target);
	return 0;
}

/* A folder at the top of the archive may be a class without pictures. */
static int note_folder(struct walk *k, const char *name)
{
	size_t n = strcspn(name, "/");
	bool first = n && (!name[n] || !name[n + 1]);
	return first && strncmp(name, "..", 3) != 0 && !td_map_at(k->w->folders, name, n) ? td_err_memory(k->e) : 0;
}

/* One member: 0 to go on, 1 where what follows cannot be reached. */
static int visit(struct walk *k, const struct td_entry *entry)
{
	k->scratch.len = 0;
	if (!td_buf_add(&k->scratch, entry->name, strlen(entry->name) + 1))
		return td_err_memory(k->e);
	char *name = (char *)k->scratch.data;
	td_member_tidy(name);
	if (entry->what == TD_ENTRY_OTHER)
		return td_member_litter(name) ? 0 : note_folder(k, name);
	if (!*name)
		return bad_member(k, TUNDISH_E_CORRUPT, "", entry->at, "a member without a name");
	if (td_member_litter(name))
		return 0;
	k->w->l->looked_at++;
	if (entry->what == TD_ENTRY_LINK)
		return pass_over(k, name, "a link");
	if (entry->what == TD_ENTRY_HARD)
		return note_link(k, name, entry->target);
	int rc = same_key(k, name) ? 0 : flush_group(k);
	uint64_t end;
	if (rc == 0 && entry->plain && (td_add_overflow(entry->data, entry->bytes, &end) || end > k->size)) {
		rc = bad_member(k, TUNDISH_E_TRUNCATED, name, entry->data, "the archive ends within it");
		return rc ? rc : 1;
	}
	return rc ? rc : add_waiting(k, name, entry);
}

static int fault(struct walk *k, int code, uint64_t offset, const char *reason)
{
	struct td_place at = TD_PLACE(k->path);
	at.offset = (int64_t)offset;
	return td_bad_item(k->w->bad, code, at, td_path_base(k->path), reason, k->e);
}

static int walk_members(struct walk *k, void *archive, bool tar)
{
	struct td_entry entry = { 0 };
	uint64_t polled = 0, last = 0;
	for (;;) {
		struct tundish_error why = { 0 };
		if (++polled % 256 == 0 && td_stopped(k->w->o->listener))
			return td_err(k->e, TUNDISH_E_STOPPED, "stopped");
		int rc = k->a->next(archive, &entry, &why);
		if (rc == TUNDISH_E_MEMORY || rc == TUNDISH_E_IO)
			return td_err(k->e, rc, "%s: %s", TD_ESC(k->path), why.text);
		if (rc < 0)
			return fault(k, rc, last, why.text);
		if (rc == 0 && tar && !k->a->ended(archive))
			td_notice(k->w->o->listener, "%s: no end mark: it may have been cut", TD_ESC(k->path));
		if (rc > 0) {
			rc = visit(k, &entry);
			last = entry.plain ? entry.data + (entry.bytes + 511) / 512 * 512 : entry.at;
		}
		if (rc != 0 || entry.name == NULL)
			return TD_MIN(rc, 0);
		if (k->w->l->n_members >= UINT32_MAX - 1)
			return td_err(k->e, TUNDISH_E_LIMIT, "%s: too many members", TD_ESC(k->path));
		entry.name = NULL;
	}
}

/* ---- what is said of all ---- */

/* Hard links are their target's bytes under another name. */
static int add_links(struct walk *k)
{
	struct td_listing *l = k->w->l;
	struct td_map known = { .value_bytes = sizeof(uint32_t) };
	size_t n = l->n, skip = strlen(k->w->prefix);
	int rc = 0;
	for (size_t i = k->first; rc == 0 && k->n_links && i < n; i++) {
		const char *name = td_item_name(l, &l->items[i]) + skip;
		uint32_t *value = td_map_at(&known, name, strlen(name));
		rc = value ? 0 : td_err_memory(k->e);
		if (value)
			*value = (uint32_t)i;
	}
	for (size_t i = 0; rc == 0 && i < k->n_links; i++) {
		const struct hard_link *link = &k->links[i];
		const uint32_t *found = td_map_find(&known, link->target, strlen(link->target));
		if (!found) {
			rc = pass_over(k, link->name, "a link to what is no item");
			continue;
		}
		const struct td_item item = l->items[*found];
		if (!td_listing_add(l, l->n_roots - 1, k->w->prefix, link->name, &item))
			rc = td_err_memory(k->e);
		l->n_grouped += rc == 0 && l->members[item.member - 1].more;
	}
	td_map_free(&known);
	return rc;
}

/* Two members of one name are two items; that is said, since other tools keep one. */
static int note_twice(struct walk *k)
{
	const struct td_listing *l = k->w->l;
	struct td_seen seen = { .most = SIZE_MAX };
	size_t skip = strlen(k->w->prefix);
	bool ok = true;
	for (size_t i = k->first; ok && i < l->n; i++)
		ok = td_seen_add(&seen, td_item_name(l, &l->items[i]) + skip);
	td_seen_tell(&seen, k->path, k->w->o->listener);
	return ok ? 0 : td_err_memory(k->e);
}

int td_archive_list(const struct td_archive_walk *w, const char *path, enum td_archive_kind kind,
    struct tundish_error *e)
{
	struct walk k = { .w = w, .a = td_archiver(e), .path = path, .e = e, .first = w->l->n };
	void *archive = NULL;
	if (!k.a)
		return TUNDISH_E_MODULE;
	k.fd = td_open_file(path, &k.size, e);
	if (k.fd < 0) {
		td_err_prefix(e, "%s", TD_ESC(path));
		return k.fd;
	}
	int rc = k.a->open(&archive, k.fd, 0, TD_ARCHIVE_LIST, NULL, e);
	if (rc < 0)
		td_err_prefix(e, "%s", TD_ESC(path));
	if (rc == 0)
		rc = walk_members(&k, archive, kind == TD_ARCHIVE_TAR);
	if (rc == 0)
		rc = flush_group(&k);
	if (rc == 0)
		rc = add_links(&k);
	if (rc == 0)
		rc = note_twice(&k);
	if (archive)
		k.a->close(archive);
	close(k.fd);
	for (size_t i = 0; i < k.n_links; i++) {
		free(k.links[i].name);
		free(k.links[i].target);
	}
	free(k.links);
	free(k.group);
	td_buf_free(&k.names);
	td_buf_free(&k.text);
	td_buf_free(&k.scratch);
	td_extras_free(&k.extras);
	return rc;
}
