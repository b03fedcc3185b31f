/* SPDX-License-Identifier: BSD-2-Clause
 * Rooms that are not furnished yet. Whoever builds one deletes its lines here. */
#include "tundish.h"
#pragma GCC diagnostic ignored "-Wunused-parameter"

__attribute__((weak)) void tundish_shard_options_init(struct tundish_pack_options *ret_options)
{}
__attribute__((weak)) int tundish_shard(const struct tundish_pack_options *options, struct tundish_pack_result **ret_result, struct tundish_error *ret_error)
{ return TUNDISH_E_UNSUPPORTED; }
__attribute__((weak)) void tundish_flow_options_init(struct tundish_flow_options *ret_options)
{}
__attribute__((weak)) int tundish_flow_open(struct tundish_flow **ret_flow, const struct tundish_flow_options *options, struct tundish_error *ret_error)
{ return TUNDISH_E_UNSUPPORTED; }
__attribute__((weak)) int tundish_flow_next(struct tundish_flow *flow, struct tundish_batch *ret_batch, struct tundish_error *ret_error)
{ return TUNDISH_E_UNSUPPORTED; }
__attribute__((weak)) void tundish_flow_release(struct tundish_flow *flow, const struct tundish_batch *batch)
{}
__attribute__((weak)) uint64_t tundish_flow_records(const struct tundish_flow *flow)
{ return 0; }
__attribute__((weak)) uint64_t tundish_flow_batches(const struct tundish_flow *flow)
{ return 0; }
__attribute__((weak)) void tundish_flow_stats(struct tundish_flow *flow, struct tundish_flow_stats *ret_stats)
{}
__attribute__((weak)) void tundish_flow_close(struct tundish_flow *flow)
{}
__attribute__((weak)) int tundish_feed_open(struct tundish_feed **ret_feed, const char *to, int fd, struct tundish_error *ret_error)
{ return TUNDISH_E_UNSUPPORTED; }
__attribute__((weak)) int tundish_feed_put(struct tundish_feed *feed, const struct tundish_batch *batch, struct tundish_error *ret_error)
{ return TUNDISH_E_UNSUPPORTED; }
__attribute__((weak)) const char *tundish_feed_digest(struct tundish_feed *feed)
{ return ""; }
__attribute__((weak)) void tundish_feed_close(struct tundish_feed *feed)
{}
