/* SPDX-License-Identifier: BSD-2-Clause
 * Pictures as files of their own instead of records: --to jpg:DIR. */
#pragma once
#include "pack.h"

struct td_listing;
struct td_item;

/* A picture's bytes and its name below the folder; to be freed. As td_pack.make. */
typedef int td_picture_fn(void *ctx, uint32_t item, unsigned worker, struct td_buf *bytes, char **ret_name,
    struct tundish_error *e);

/* "jpg:DIR", "png:DIR": the folder in *ret_folder, which points into spec. USAGE; EXISTS when
 * something is in the folder and it is not to be overwritten. */
int td_files_check(const char *spec, bool overwrite, const char **ret_folder, struct tundish_error *e);
/* What the picture of an item is called, with the suffix of what it is now; NULL without
 * memory. */
char *td_file_name(const struct td_listing *l, const struct td_item *item, bool png);
/* EXISTS when two items would be files of one name, or one the folder of another. */
int td_files_differ(const struct td_listing *l, bool png, struct tundish_error *e);
/* Writes the pictures of n items; each appears whole. p->written counts them. */
int td_files_run(struct td_pack *p, size_t n, const char *folder, td_picture_fn *picture, struct tundish_error *e);
