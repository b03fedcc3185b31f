/* SPDX-License-Identifier: BSD-2-Clause
 * What an archive holds, by its headers. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "archive.h"
#include "base/err.h"
#include "base/infile.h"
#include "base/json.h"
#include "base/map.h"
#include "base/talk.h"
#include "group.h"

/* More kinds of names than these are not told apart. */
#define MOST_EXTENSIONS 50

struct count {
	uint64_t members, bytes, links, encrypted, others;
	struct td_map extensions; /* behind the key -> uint64_t */
	struct td_buf first;
	struct tundish_error damage;
};

static bool count_extension(struct count *c, const char *name)
{
	size_t key = td_group_key(name);
	const char *extension = name[key] == '.' ? name + key + 1 : "";
	uint64_t *n = td_map_find(&c->extensions, extension, strlen(extension));
	if (!n && c->extensions.n == MOST_EXTENSIONS) {
		c->others++;
		return true;
	}
	n = td_map_at(&c->extensions, extension, strlen(extension));
	if (n)
		++*n;
	return n;
}

static bool count_member(struct count *c, const struct td_entry *entry)
{
	if (entry->what == TD_ENTRY_OTHER)
		return true;
	if (entry->what != TD_ENTRY_FILE) {
		c->links++;
		return true;
	}
	if (c->members++ == 0 && !td_buf_printf(&c->first, "%s", entry->name))
		return false;
	c->bytes += entry->bytes;
	c->encrypted += entry->locked != NULL;
	return count_extension(c, entry->name);
}

/* All of it: 0, or the error that ends the run. Damage is part of what is said. */
static int count_all(struct count *c, const char *path, const struct tundish_listener *l, struct tundish_error *e)
{
	const struct td_archiver *a = td_archiver(e);
	void *archive;
	struct td_entry entry;
	if (!a)
		return TUNDISH_E_MODULE;
	int fd = td_open_file(path, NULL, e), rc = fd;
	if (fd < 0)
		return rc;
	rc = a->open(&archive, fd, 0, TD_ARCHIVE_LIST, NULL, e);
	while (rc == 0) {
		int got = a->next(archive, &entry, &c->damage);
		if (got <= 0)
			break;
		rc = !count_member(c, &entry) ? td_err_memory(e) : td_stopped(l) ? td_err(e, TUNDISH_E_STOPPED, "stopped") : 0;
		if (rc < 0)
			break;
	}
	if (rc == 0)
		a->close(archive);
	close(fd);
	return rc;
}

static json_t *tell(const struct count *c, enum td_archive_kind kind, struct td_json *j)
{
	json_t *o = json_object(), *extensions = json_object();
	td_json_string(j, o, "kind", kind == TD_ARCHIVE_ZIP ? "zip archive" : "tar archive");
	td_json_int(j, o, "members", c->members);
	td_json_int(j, o, "bytes", c->bytes);
	if (c->links)
		td_json_int(j, o, "links", c->links);
	if (c->encrypted)
		td_json_int(j, o, "encrypted", c->encrypted);
	for (size_t i = 0; i < c->extensions.n; i++) {
		char name[64];
		td_escape(name, sizeof name, td_map_key(&c->extensions, i), c->extensions.entries[i].key_bytes);
		td_json_int(j, extensions, *name ? name : "none", *(const uint64_t *)td_map_value(&c->extensions, i));
	}
	if (c->others)
		td_json_int(j, extensions, "others", c->others);
	td_json_set(j, o, "extensions", extensions);
	if (c->first.len)
		td_json_set(j, o, "first", td_json_text(c->first.data, c->first.len));
	if (c->damage.text[0])
		td_json_string(j, o, "damage", c->damage.text);
	return o;
}

int td_archive_describe(json_t **ret, const char *path, enum td_archive_kind kind, const struct tundish_listener *l,
    struct tundish_error *e)
{
	struct count c = { .extensions.value_bytes = sizeof(uint64_t) };
	struct td_json j = { 0 };
	int rc = count_all(&c, path, l, e);
	if (rc == 0) {
		json_t *about = tell(&c, kind, &j);
		if (j.lost) {
			json_decref(about);
			rc = td_err_memory(e);
		} else {
			*ret = about;
		}
	}
	td_map_free(&c.extensions);
	td_buf_free(&c.first);
	return rc;
}
