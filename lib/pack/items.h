/* SPDX-License-Identifier: BSD-2-Clause
 * Looking at what would be converted. */
#pragma once
#include "pack.h"
#include "source/list.h"

/* What each of p->threads threads reads with. */
struct td_item_hand {
	struct td_loaded *loaded;
	struct td_buf *path;
};

/* Reads the header of each item, in parallel, into p->items; bad ones go to p->bad. */
int td_pack_items(struct td_pack *p, const struct td_listing *l, const struct td_cut *cut,
    const struct td_item_hand *hands, struct tundish_error *e);
/* Appends them as a table. */
bool td_pack_items_table(struct td_buf *out, const struct tundish_pack_item *items, size_t n) td_must_check;
void td_pack_items_free(struct tundish_pack_item *items, size_t n);
