/* SPDX-License-Identifier: BSD-2-Clause
 * Rooms that are not furnished yet. Whoever builds one deletes its lines here. */
#include "tundish.h"
#pragma GCC diagnostic ignored "-Wunused-parameter"

__attribute__((weak)) void tundish_shard_options_init(struct tundish_pack_options *ret_options)
{}
__attribute__((weak)) int tundish_shard(const struct tundish_pack_options *options, struct tundish_pack_result **ret_result, struct tundish_error *ret_error)
{ return TUNDISH_E_UNSUPPORTED; }
