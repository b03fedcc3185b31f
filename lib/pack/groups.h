/* SPDX-License-Identifier: BSD-2-Clause
 * Which items of convert belong together. */
#pragma once
#include "pack.h"
#include "source/list.h"

/* Fills in p->item_group: what was cut from one file is one group, or the groups that
 * the listing has. Nothing where each item stands alone. */
int td_pack_groups(struct td_pack *p, const struct td_listing *l, struct tundish_error *e);
/* The name that a record carries, not terminated; NULL for an item that stands alone. */
const char *td_pack_group_name(const struct td_listing *l, const struct td_item *item, size_t *ret_len);
bool td_pack_all_grouped(const struct td_listing *l);
