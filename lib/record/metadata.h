/* SPDX-License-Identifier: BSD-2-Clause
 * The tundish.json of the folders that a run reads from, each loaded once. */
#pragma once
#include "base/json.h"

struct td_metadata;
struct td_metadata *td_metadata_new(void);
void td_metadata_free(struct td_metadata *m);
/* What is said of a shard in the tundish.json beside it; NULL: nothing. Valid until all is
 * freed. Any thread. Errors: MEMORY. */
int td_metadata_shard(struct td_metadata *m, const json_t **ret, const char *path,
    struct tundish_error *e);
