/* SPDX-License-Identifier: BSD-2-Clause
 * tundish convert: raw data into a set of record shards. */
#include "cmds.h"
#include "packopt.h"

static const struct opt_choice checks[] = {
	{ "header", TUNDISH_CHECK_HEADER },
	{ "structure", TUNDISH_CHECK_STRUCTURE },
	{ "decode", TUNDISH_CHECK_DECODE },
	{ NULL },
};
static const struct opt_choice orders[] = {
	{ "shuffle", 1 },
	{ "keep", 0 },
	{ NULL },
};

#define S struct tundish_pack_options
static const struct opt options[] = {
	OPT_STRING("labels", 0, S, labels),
	OPT_STRING("columns", 0, S, columns),
	OPT_STRING("class-list", 0, S, class_list),
	OPT_NUMBER("label-offset", 0, S, label_offset, INT32_MIN, INT32_MAX),
	OPT_STRING("reencode", 0, S, reencode),
	OPT_NUMBER("shorter-side", 0, S, shorter_side, 1, 65535),
	OPT_NUMBER("max-side", 0, S, max_side, 1, 65535),
	OPT_FLAG("apply-orientation", 0, S, apply_orientation, 1),
	OPT_STRING("alpha", 0, S, alpha),
	OPT_STRING("jpeg-index", 0, S, jpeg_index),
	OPT_CHOICE("check", 0, S, check, checks),
	OPT_STRING("keys", 0, S, keys),
	OPT_STRING("tile", 0, S, tile),
	OPT_STRING("edge", 0, S, edge),
	OPT_STRING("bands", 0, S, bands),
	OPT_FLAG("drop-bad-bands", 0, S, drop_bad_bands, 1),
	OPT_STRING("region", 0, S, region),
	OPT_FLAG("apply-scale", 0, S, apply_scale, 1),
	OPT_FLAG("stack", 0, S, stack, 1),
	OPT_STRING("max-nodata", 0, S, max_nodata),
	OPT_STRING("label-raster", 0, S, label_raster),
	OPT_STRING("unlabelled", 0, S, unlabelled),
	OPT_STRING("interleave", 0, S, interleave),
	OPT_NUMBER("pixel-origin", 0, S, pixel_origin, 0, 1),
	OPT_STRING("group-by", 0, S, group_by),
	OPT_STRING("split-by", 0, S, split_by),
	OPT_STRING("frames", 0, S, frames),
	OPT_STRING("clip", 0, S, clip),
	OPT_FLAG("sequence", 0, S, sequence, 1),
	OPT_FLAG("follow-external", 0, S, follow_external, 1),
	OPT_STRING("sound", 0, S, sound),
	OPT_NUMBER("rate", 0, S, rate, 1, 10000000),
	OPT_STRING("window", 0, S, window),
	OPT_FLAG("append", 0, S, append, 1),
	OPT_STRING("align", 0, S, align),
	OPT_STRING("max-gap", 0, S, max_gap),
	OPT_STRING("to", 0, S, to_files),
	OPT_CHOICE("order", 0, S, shuffle, orders),
	OPT_FLAG("list", 0, S, list, 1),
	PACK_OPTIONS,
	OPT_END,
};

static void init(struct call *call)
{
	tundish_convert_options_init(call->settings);
	packopt_init(call);
}

static int run(struct call *call)
{
	return packopt_run(call, tundish_convert);
}

const struct cmd cmd_convert = {
	.name = "convert",
	.noun = "images",
	.shared = PACK_SHARES | SHARE_PIXELS | SHARE_MAX_RECORD,
	.options = options,
	.settings_bytes = sizeof(S),
	.init = init,
	.run = run,
};
