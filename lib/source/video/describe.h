/* SPDX-License-Identifier: BSD-2-Clause
 * What a file of video or sound says of itself. */
#pragma once
#include "../format.h"

/* td_format.describe. */
int av_describe(json_t **ret, const struct td_file *file, const struct tundish_listener *l, struct tundish_error *e);
