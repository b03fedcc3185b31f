/* SPDX-License-Identifier: BSD-2-Clause
 * Archives among the sources: their members as items, and reading them. */
#pragma once
#include <jansson.h>

#include "archiver.h"
#include "list.h"

/*
 * Members of an archive are items as if it were a folder; a name with ".." or from the
 * root is a name, nothing is written there. Members of one key (the name up to the first
 * dot of its last part) that stand one after another, a picture and a KEY.cls or KEY.json
 * among them, are one item, as WebDataset writes them: the class of the .cls where no
 * other labels are asked for, the values of the .json and the text of the .txt as extra
 * features, and whatever else is a picture or KEY.NAME.bin as one of that name.
 */

/* A tar or zip, by mark or name. */
bool td_archive_looks(const char *path, const uint8_t *head, size_t len);
/* By its name alone, also one that is packed. */
bool td_archive_named(const char *path);
/* What the file is, by its content: NONE also for what opens as another format. MODULE
 * when it is plainly an archive and the module is missing. */
int td_archive_kind(enum td_archive_kind *ret, const char *path, const struct tundish_listener *l,
    struct tundish_error *e);
/* The same where mark or name tell of a tar or zip that can be listed; else NONE, and nothing
 * is opened. */
int td_archive_plain(enum td_archive_kind *ret, const char *path, struct tundish_error *e);
/* What such a one holds: "kind", "members", ... */
int td_archive_describe(json_t **ret, const char *path, enum td_archive_kind kind, const struct tundish_listener *l,
    struct tundish_error *e);
/* The module's functions; NULL without it. */
const struct td_archiver *td_archiver(struct tundish_error *e);

struct td_archive_walk {
	struct td_listing *l; /* its last root is the archive */
	const struct td_list_options *o;
	struct td_bad *bad;
	struct td_map *folders; /* first level of the sources */
	const char *prefix;	/* before each name */
	uint8_t unknown;	/* flags of members whose name tells nothing */
};
/* Adds the members of a file that can be listed, of that kind. What is damaged is bad, with
 * all that follows it; good members before it stay. */
int td_archive_list(const struct td_archive_walk *w, const char *path, enum td_archive_kind kind,
    struct tundish_error *e);

/* A member's name as an item's: without "./" and a slash in front. In place. */
void td_member_tidy(char *name);
/* One of the folders in it, or itself, is what folders of pictures have lying about. */
bool td_member_litter(const char *name);

/* Reads an item that is a member and its companions, like td_format_load(); the file is as
 * td_item_file() has it. */
int td_member_load(struct td_loaded *out, struct td_file file, const struct td_listing *l,
    const struct td_item *item, const struct td_cut *cut, struct tundish_error *e);
/* Its first bytes: how many, or an error. */
int64_t td_member_head(void *out, size_t bytes, const struct td_listing *l, const struct td_item *item);
/* Copies a member to a file without a name that formats can open, which takes the place of
 * the path in *file; it stays until another one is copied there. */
int td_member_spill(struct td_spill *s, struct td_file *file, const struct td_listing *l,
    const struct td_item *item, uint64_t max_bytes, struct tundish_error *e);
/* Finds the members that hold the numbers of ENVI headers, which are marked TD_ITEM_HEADER:
 * one of the right size goes before one with a more usual name. They are no items of their
 * own, and not left out. */
int td_members_pair(struct td_listing *l, struct tundish_error *e);
