/* SPDX-License-Identifier: BSD-2-Clause
 * Giving each item its class: by folder, by expression, by table. */
#pragma once
#include "labels.h"
#include "list.h"

/* `folders` are all folders of the first level, for hints about those that are no class. */
int td_assign_folders(struct td_listing *l, const struct td_map *folders,
    const struct td_list_options *o, struct td_bad *bad, struct tundish_error *e);
int td_assign_regex(struct td_listing *l, const char *pattern, const struct td_list_options *o,
    struct td_bad *bad, struct tundish_error *e);
/* Items that no row names are left out; rows without a file are bad. */
int td_assign_table(struct td_listing *l, const char *table, const struct td_csv *csv,
    const struct td_list_options *o, struct td_bad *bad, struct tundish_error *e);

/* For items that are not listed: the classes that the rows name, in their order, become a fixed
 * list; rows that are numbers need none. */
int td_assign_rows(struct td_listing *l, const char *table, const struct td_csv *csv,
    const struct td_list_options *o, struct tundish_error *e);
/* In NFC, to be freed; NULL where it is plain ASCII, or no UTF-8. */
char *td_name_composed(const char *name);

/* From a JSON file beside each item; items without one are bad. */
int td_assign_sidecars(struct td_listing *l, const struct td_labels *labels, const struct td_list_options *o,
    struct td_bad *bad, struct tundish_error *e);

/* The label that a side-car's text says, with a NUL; false where it says none that can be. */
bool td_sidecar_label(struct td_buf *out, const struct td_labels *labels, const void *json, size_t bytes) td_must_check;

/* Counts the items of each class, puts the classes in order, and renumbers the items. */
int td_settle_items(struct td_listing *l, const struct td_list_options *o, struct tundish_error *e);
