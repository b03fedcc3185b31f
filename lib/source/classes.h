/* SPDX-License-Identifier: BSD-2-Clause
 * The classes of a set: names to numbers, by bytewise order or by a list. */
#pragma once
#include <stdbool.h>

#include "base/map.h"
#include "base/talk.h"

struct td_class {
	char *name;	/* decimal digits when the classes are numbers */
	int64_t label;	/* what records hold */
	uint64_t items;
};

/* Zeroed memory is an empty set of classes. */
struct td_classes {
	struct td_class *list;
	size_t n, cap;
	struct td_map index; /* name -> int32_t */
	bool fixed;	 /* a list was given: no other names, its order */
	bool numbers;	 /* labels are plain numbers, names are not kept in metadata */
};

/* Reads a list with a class a line; blank lines, CRLF and a BOM do no harm, blanks
 * around a name are cut off with a notice. USAGE for a duplicate, naming its line. */
int td_classes_load(struct td_classes *c, const char *path, const struct tundish_listener *l,
    struct tundish_error *e);
/* The same from a file's content, which is changed. */
int td_classes_parse(struct td_classes *c, const char *path, struct td_buf *text,
    const struct tundish_listener *l, struct tundish_error *e);
/* The same names as a list that was loaded. */
int td_classes_copy(struct td_classes *c, const struct td_classes *from, struct tundish_error *e);
/* The index of a name, or -1. */
int32_t td_classes_find(const struct td_classes *c, const char *name, size_t len);
/* The index of a name, which is added where it is new; for a fixed list -1 then.
 * -2 without memory. */
int32_t td_classes_add(struct td_classes *c, const char *name, size_t len);
/* Of a fixed list: the class of that name, or the one whose label with the offset is that
 * number; or -1. */
int32_t td_classes_known(const struct td_classes *c, const char *name, size_t len, int64_t offset);
/* td_classes_add(), with a fixed list td_classes_known(). */
int32_t td_classes_label(struct td_classes *c, const char *name, size_t len, int64_t offset);
/* Drops classes without items and puts the rest in order (names bytewise, numbers by
 * value), unless the list is fixed; sets the labels, `offset` added to indexes. map[old]
 * becomes the new index or -1. Indexes found before are void. */
int td_classes_settle(struct td_classes *c, int64_t offset, int32_t *map, struct tundish_error *e);
void td_classes_free(struct td_classes *c);

/* A whole decimal integer, with blanks around it? */
bool td_parse_int64(const char *text, int64_t *ret);
