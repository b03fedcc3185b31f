/* SPDX-License-Identifier: BSD-2-Clause
 * Which items of convert belong together. */
#include "groups.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"

static bool any_group(const struct td_listing *l)
{
	bool any = l->groups.n > 0;
	for (size_t i = 0; !any && i < l->n; i++)
		any = l->items[i].flags & TD_ITEM_PART;
	return any;
}

int td_pack_groups(struct td_pack *p, const struct td_listing *l, struct tundish_error *e)
{
	if (!any_group(l))
		return 0;
	/* groups of the listing first, as they are met, then one for each file */
	uint32_t *met = calloc(l->groups.n + 1, sizeof *met);
	p->item_group = malloc((l->n + 1) * sizeof *p->item_group);
	if (!met || !p->item_group) {
		free(met);
		return td_err_memory(e);
	}
	uint32_t file = 0;
	for (size_t i = 0; i < l->n; i++) {
		const struct td_item *item = &l->items[i];
		uint32_t *number = item->group ? &met[item->group] : &file;
		bool same_file = i && item->flags & TD_ITEM_PART && l->items[i - 1].name == item->name &&
		    l->items[i - 1].group == 0;
		if (item->group ? *number == 0 : !same_file)
			*number = (uint32_t)++p->n_groups;
		p->item_group[i] = *number - 1;
	}
	free(met);
	return 0;
}

const char *td_pack_group_name(const struct td_listing *l, const struct td_item *item, size_t *ret_len)
{
	const char *name = item->flags & TD_ITEM_PART ? td_item_name(l, item) : NULL;
	if (item->group) {
		*ret_len = l->groups.entries[item->group - 1].key_bytes;
		return td_map_key(&l->groups, item->group - 1);
	}
	*ret_len = name ? strlen(name) : 0;
	return name;
}

bool td_pack_all_grouped(const struct td_listing *l)
{
	bool all = true;
	for (size_t i = 0; all && i < l->n; i++)
		all = l->items[i].group || l->items[i].flags & TD_ITEM_PART;
	return all;
}
