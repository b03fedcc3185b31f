/* SPDX-License-Identifier: BSD-2-Clause
 * What convert and shard have in common: options, and how the result is told. */
#pragma once
#include "cmd.h"

/* For the option table of a command whose settings are struct tundish_pack_options. */
#define PACK_STRING_(n, f) OPT_STRING(n, 0, struct tundish_pack_options, f)
#define PACK_FLAG_(n, f) OPT_FLAG(n, 0, struct tundish_pack_options, f, 1)
#define PACK_OPTIONS                                                                               \
	PACK_STRING_("shards", shards),                                                            \
	    OPT_SIZE("shard-size", 0, struct tundish_pack_options, shard_bytes, 1, INT64_MAX),     \
	    PACK_STRING_("split", split), PACK_STRING_("stratify", stratify),                      \
	    PACK_STRING_("name-template", name_template),                                          \
	    PACK_FLAG_("count-in-name", count_in_name), PACK_STRING_("max-bad", max_bad),          \
	    OPT_CHOICE("compress", 0, struct tundish_pack_options, compression, opt_compression),  \
	    OPT_NUMBER("level", 0, struct tundish_pack_options, level, 1, 9),                      \
	    PACK_FLAG_("dry-run", dry_run), PACK_FLAG_("overwrite", overwrite),                    \
	    PACK_FLAG_("resume", resume)

#define PACK_SHARES                                                                                \
	(SHARE_OUTPUT | SHARE_JSON | SHARE_THREADS | SHARE_MEMORY | SHARE_SEED | SHARE_RANGE |     \
	    SHARE_ON_ERROR)

/* Copies the library's defaults to the shared options. */
void packopt_init(struct call *call);

typedef int packopt_fn(const struct tundish_pack_options *options,
    struct tundish_pack_result **ret_result, struct tundish_error *ret_error);

/* Fills in operands and shared options, calls `pack` and tells the result: text on
 * stdout, or on stderr where stdout is the output. Returns the exit code. */
int packopt_run(struct call *call, packopt_fn *pack);
