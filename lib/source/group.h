/* SPDX-License-Identifier: BSD-2-Clause
 * Members of an archive that are one sample, as WebDataset names them. */
#pragma once
#include "extra.h"
#include "tundish.h"

/* More members than these are no group. */
#define TD_GROUP_MOST 64

enum td_role {
	TD_ROLE_NONE,  /* nothing that a record keeps */
	TD_ROLE_ITEM,  /* the picture itself; also what is no group */
	TD_ROLE_CLASS, /* KEY.cls: a class, by number or name */
	TD_ROLE_JSON,  /* KEY.json: an object of features */
	TD_ROLE_TEXT,  /* KEY.txt */
	TD_ROLE_BYTES, /* KEY.NAME.bin, or another picture */
};

/* The bytes of a name that are its key: up to the first dot of its last part. */
size_t td_group_key(const char *name);
/* What a member is beside a picture, by what stands behind the key and its dot. */
enum td_role td_group_role(const char *extension);
/* Whether a picture is the one that the group is about rather than another one, by what stands
 * behind the key: the first without a dot in it (KEY.png before KEY.mask.png). */
bool td_group_rather(const char *extension, const char *than);
/* The name of the feature that a TD_ROLE_BYTES member becomes, to be freed. */
char *td_group_feature(const char *extension);

/* Cuts the class out of the text of a .cls, in place: its first line without blanks. */
void td_group_class(struct td_buf *text);
/* Adds what a companion says to the extras; a class says nothing here. Whole numbers of
 * JSON become int64, others float, true and false 1 and 0, texts and what is nested (as
 * JSON) bytes; lists of one kind become lists. CORRUPT for what is no object. */
int td_group_extras(struct td_extras *x, enum td_role role, const char *extension, const void *data,
    size_t bytes, struct tundish_error *e);
