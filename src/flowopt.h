/* SPDX-License-Identifier: BSD-2-Clause
 * The options of a flow, the same for bench and feed. */
#pragma once
#include "cmd.h"

extern const struct opt_choice flowopt_last[], flowopt_rank_by[], flowopt_uneven[];

/* For the option table of a command whose settings `S` hold the library's options as `o`, and
 * a list `mix`. */
#define FLOW_OPTIONS(S)                                                                            \
	OPT_STRING("ops", 0, S, o.ops), OPT_NUMBER("batch", 0, S, o.batch, 1, 1 << 20),            \
	    OPT_STRING("shuffle", 0, S, o.shuffle),                                                \
	    OPT_STRING("sampler", 0, S, o.sampler), OPT_LIST("mix", 0, S, mix),                    \
	    OPT_NUMBER("min-per-source", 0, S, o.min_per_source, 0, 1 << 20),                      \
	    OPT_WORD("epochs", 0, S, o.epochs, 1, UINT64_MAX - 1, "inf", UINT64_MAX),              \
	    OPT_CHOICE("last", 0, S, o.last, flowopt_last),                                        \
	    OPT_WORD("prefetch", 0, S, o.prefetch, 1, 1 << 16, "auto", 0),                         \
	    OPT_NUMBER("rank", 0, S, o.rank, 0, INT32_MAX),                                        \
	    OPT_NUMBER("world", 0, S, o.world, 1, INT32_MAX),                                      \
	    OPT_CHOICE("rank-by", 0, S, o.rank_by, flowopt_rank_by),                               \
	    OPT_CHOICE("uneven", 0, S, o.uneven, flowopt_uneven),                                  \
	    OPT_NUMBER("cycle-length", 0, S, o.cycle_length, 1, 1 << 20),                          \
	    OPT_NUMBER("block-length", 0, S, o.block_length, 1, 1 << 30),                          \
	    OPT_FLAG("no-reshuffle", 0, S, o.no_reshuffle, 1),                                     \
	    OPT_FLAG("flow-epochs", 0, S, o.flow_epochs, 1),                                         \
	    OPT_STRING("labels", 0, S, o.labels), OPT_STRING("columns", 0, S, o.columns),          \
	    OPT_STRING("group-by", 0, S, o.group_by),                                              \
	    OPT_STRING("class-list", 0, S, o.class_list),                                          \
	    OPT_NUMBER("label-offset", 0, S, o.label_offset, INT32_MIN, INT32_MAX),                \
	    OPT_STRING("tile", 0, S, o.tile), OPT_STRING("edge", 0, S, o.edge),                    \
	    OPT_STRING("bands", 0, S, o.bands), OPT_STRING("region", 0, S, o.region),              \
	    OPT_FLAG("drop-bad-bands", 0, S, o.drop_bad_bands, 1),                                 \
	    OPT_FLAG("apply-scale", 0, S, o.apply_scale, 1), OPT_FLAG("stack", 0, S, o.stack, 1),  \
	    OPT_STRING("frames", 0, S, o.frames), OPT_STRING("max-nodata", 0, S, o.max_nodata),    \
	    OPT_STRING("label-raster", 0, S, o.label_raster),                                      \
	    OPT_STRING("unlabelled", 0, S, o.unlabelled),                                          \
	    OPT_STRING("interleave", 0, S, o.interleave),                                          \
	    OPT_NUMBER("pixel-origin", 0, S, o.pixel_origin, 0, 1),                                \
	    OPT_STRING("cache", 0, S, o.cache),                                                   \
	    OPT_STRING("image-key", 0, S, o.image_key), OPT_STRING("label-key", 0, S, o.label_key)

#define FLOW_SHARES                                                                                \
	(SHARE_THREADS | SHARE_MEMORY | SHARE_SEED | SHARE_RANGE | SHARE_BLANK | SHARE_RECORDS |   \
	    SHARE_PIXELS)

/* Defaults of the library into both. */
void flowopt_init(struct tundish_flow_options *o, struct opt_shared *shared);
/* Settles rank and world, also from the environment. 0, or EXIT_USAGE after a message. */
int flowopt_ranks(struct tundish_flow_options *o, struct call *call);
/* Sets o->mix, whose texts `mix` holds, and sees that there are operands or a mix. 0, or
 * EXIT_USAGE after a message. */
int flowopt_mix(struct tundish_flow_options *o, const struct opt_list *mix, struct call *call);
/* Says how long it took to find where the records are, where no index told it. */
void flowopt_say_walk(struct call *call, const struct tundish_flow_stats *stats);
/* The operands and shared options into `o`. */
void flowopt_apply(struct tundish_flow_options *o, struct call *call);
