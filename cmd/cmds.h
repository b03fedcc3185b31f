/* SPDX-License-Identifier: BSD-2-Clause
 * The commands, one file each. */
#pragma once
#include "cmd.h"

extern const struct cmd cmd_convert, cmd_shard, cmd_inspect, cmd_count, cmd_bench, cmd_feed;
